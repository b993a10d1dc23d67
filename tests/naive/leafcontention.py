"""Equations (2) to (6) of Mishra20 on node numbers and exact fractions, one pair at a time."""

from fractions import Fraction


def level_of(a, b, children):
    """Return the level of the lowest common switch of two nodes; 1 on one leaf."""
    level, below = 1, children[0]
    while a // below != b // below:
        below *= children[level]
        level += 1
    return level


def contention(a, b, communicating, per_leaf):
    """Return C(a, b) by counting the communicating nodes around a and b."""

    def on(leaf):
        return sum(node // per_leaf == leaf for node in communicating)

    i, j = a // per_leaf, b // per_leaf
    if i == j:
        return Fraction(on(i), per_leaf)
    shared = Fraction(on(i) + on(j), 2 * per_leaf)
    return Fraction(on(i), per_leaf) + Fraction(on(j), per_leaf) + shared / 2


def cost_of_placement(nodes, communicating, steps, children):
    """Return the sum over steps of the most effective hops of a pair of ranks."""
    return sum(
        max(
            2
            * level_of(nodes[a], nodes[b], children)
            * (1 + contention(nodes[a], nodes[b], communicating, children[0]))
            for a, b in step
        )
        for step in steps
    )
