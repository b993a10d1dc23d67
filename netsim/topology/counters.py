"""Up-ports towards every node of a tree with holes, counted as OpenSM's ftree counts them."""

from math import prod

import numpy as np

from netsim.common.arrays import Bools, Ints

Shape = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def occurrence_numbers(key: Ints) -> Ints:
    """Return how many earlier entries are equal (n,): 0 for the first of its kind."""
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    number = np.arange(key.size) - np.repeat(first, np.diff(first, append=key.size))
    found = np.empty_like(number)
    found[order] = number
    return found


def counted_ports(shape: Shape, order: Ints, leaf_there: Bools) -> Ints:
    """
    Return the up-ports towards every node (h, n_nodes); 0 for missing nodes.

    OpenSM takes the numbers one after another, dummies included, and lets each climb from its own
    leaf: every switch on the way gives it the up-port it has given away least. So the n-th number
    that climbs through a level-l switch gets port ``n mod (w[l] * p[l])`` there, and the switches
    elsewhere use the same port towards it. Without holes this is ``floor(d / (w[0]*...*w[l-1])) mod
    (w[l] * p[l])``. Checked against OpenSM 3.3.23 with missing nodes, missing leaves and leaves
    without nodes.
    """
    m, w, p = shape
    present = np.flatnonzero(order >= 0)
    leaf = present // m[0]
    on_leaf = np.bincount(leaf, minlength=leaf_there.size)
    most = int(on_leaf.max())
    leaf_of_block = np.full(np.count_nonzero(leaf_there | (on_leaf > 0)), -1)
    leaf_of_block[order[present] // most] = leaf
    empty = np.flatnonzero(leaf_there & (on_leaf == 0))
    leaf_of_block[leaf_of_block < 0] = _in_order(empty, int(leaf_of_block[0]), m)
    leaf_of_number = np.repeat(leaf_of_block, most)
    number = np.arange(leaf_of_number.size)
    ports = np.zeros((len(m), order.size), dtype=np.int64)
    below = np.zeros_like(number)
    for level in range(len(m)):
        low, width = prod(w[:level]), w[level] * p[level]
        switch = below + low * (leaf_of_number // prod(m[1:level]))
        port = (occurrence_numbers(switch) if level else number) % width
        ports[level, present] = port[order[present]]
        below += low * (port % w[level])
    return ports


def _in_order(leaves: Ints, start: int, m: tuple[int, ...]) -> list[int]:
    """Sort leaves as they are numbered from a first one: at every level its subtree leads."""
    sizes = [prod(m[1:level]) for level in range(len(m), 0, -1)]
    keys = {
        x: [-1 if start >= 0 and x // size == start // size else x // size for size in sizes]
        for x in leaves.tolist()
    }
    return sorted(keys, key=keys.__getitem__)
