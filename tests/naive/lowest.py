"""
Lowest switch with enough free nodes on any tree of switches, with sets and searches in breadth.

A fabric is a list of pairs (a, b) of vertices that a cable joins; those below `n_nodes` are nodes.
"""


def leaves_of(n_nodes, pairs):
    """Return {switch: its nodes}; a node hangs on the first switch that the list names."""
    at = {}
    for a, b in pairs:
        if a < n_nodes <= b:
            at.setdefault(a, b)
    found = {}
    for node, switch in sorted(at.items()):
        found.setdefault(switch, []).append(node)
    return found


def neighbours(n_nodes, pairs):
    """Return {switch: switches that it has a cable to}."""
    found = {}
    for a, b in pairs:
        if min(a, b) >= n_nodes:
            found.setdefault(a, set()).add(b)
            found.setdefault(b, set()).add(a)
    return found


def reach(start, joined, steps):
    """Return the vertices at most so many cables away."""
    seen = {start}
    for _ in range(steps):
        seen |= {other for vertex in seen for other in joined.get(vertex, ())}
    return seen


def best_fit(n_nodes, pairs, free, size):
    """Return the nodes that a job gets, None where no switch has enough."""
    leaves, joined = leaves_of(n_nodes, pairs), neighbours(n_nodes, pairs)
    count = {leaf: sum(node in free for node in nodes) for leaf, nodes in leaves.items()}
    for below in sets_by_level(leaves, joined):
        enough = [leaf_set for leaf_set in below if sum(count[x] for x in leaf_set) >= size]
        if enough:
            chosen = min(enough, key=lambda leaf_set: sum(count[x] for x in leaf_set))
            given = []
            for leaf in sorted(chosen, key=lambda x: (count[x], x)):
                given += [node for node in leaves[leaf] if node in free]
            return sorted(given[:size])
    return None


def sets_by_level(leaves, joined):
    """Yield for level 1, 2, ... the sets of leaves below the switches of it, in their order."""
    yield [{leaf} for leaf in sorted(leaves)]
    beside = {leaf: joined.get(leaf, set()) & set(leaves) for leaf in leaves}
    above = [
        switch
        for switch in sorted(joined)
        if switch not in leaves
        or any(len(beside[other]) < len(beside[switch]) for other in beside[switch])
    ]
    for steps in range(1, len(joined) + 1):
        yield [reach(switch, joined, steps) & set(leaves) for switch in above]
    yield [reach(leaf, joined, len(joined)) & set(leaves) for leaf in sorted(leaves)]
