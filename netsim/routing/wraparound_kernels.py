"""
Compiled routes on links that a job owns, for trees without parallel cables.

Nodes of a leaf and up-ports of a switch are bits of a number, so there are 64 at most. Import
through `netsim.common.jit`.
"""

from typing import NamedTuple

import numpy as np
from numba import int64, types

from netsim.common.arrays import Bits, Ints
from netsim.common.jit import njit

_INTS = types.Array(int64, 1, "C", readonly=True)
_TABLE = types.Array(int64, 2, "C", readonly=True)
_PATHS = types.Tuple((int64[::1], int64[::1]))
_ONE = np.uint64(1)
_TWO_LEVELS = 2


class Owned(NamedTuple):
    """What a job owns: bits of its nodes by leaf, of up-ports by leaf and by L2 switch."""

    nodes: Bits
    leaf_up: Bits
    leaf_down: Bits
    l2_up: Bits
    l2_down: Bits
    rank: Ints  # of each leaf among the job's leaves of its pod
    per_leaf: int  # nodes of the job on a leaf, at most
    width: int  # of them, those that up-ports leave apart


@njit(cache=True)
def _count_bits(mask: np.uint64) -> int:
    """Return how many bits are set."""
    count = 0
    while mask:
        mask &= mask - _ONE
        count += 1
    return count


@njit(cache=True)
def _pick_bit(mask: np.uint64, key: int) -> int:
    """Return the set bit at place ``key mod count``, the lowest first; -1 where none is set."""
    if not mask:
        return -1
    for _ in range(key % _count_bits(mask)):
        mask &= mask - _ONE
    bit = 0
    while not (mask >> np.uint64(bit)) & _ONE:
        bit += 1
    return bit


@njit(cache=True)
def _owned_ports(links: Ints, first: int, count: int, ports: int) -> Bits:
    """Return the ports of so many switches whose links, numbered from the first on, are owned."""
    masks = np.zeros(count, np.uint64)
    for link in links:
        if first <= link < first + count * ports:
            masks[(link - first) // ports] |= _ONE << np.uint64((link - first) % ports)
    return masks


@njit(cache=True)
def _owned_parts(nodes: Ints, links: Ints, shape: Ints) -> Owned:
    """Return what a job owns of a tree."""
    n_levels, per_leaf, width = shape.shape[1], 0, 0
    n_leaves = 1
    for level in range(1, n_levels):
        n_leaves *= shape[0, level]
    on_leaf = np.zeros(n_leaves, np.uint64)
    for node in nodes:
        on_leaf[node // shape[0, 0]] |= _ONE << np.uint64(node % shape[0, 0])
    leaf_up = _owned_ports(links, shape[3, 1], n_leaves, shape[1, 1])
    leaf_down = _owned_ports(links, shape[4, 1], n_leaves, shape[1, 1])
    l2_up = l2_down = np.zeros(0, np.uint64)
    if n_levels > _TWO_LEVELS:
        n_l2 = n_leaves // shape[0, 1] * shape[1, 1]
        l2_up = _owned_ports(links, shape[3, 2], n_l2, shape[1, 2])
        l2_down = _owned_ports(links, shape[4, 2], n_l2, shape[1, 2])
    rank = np.zeros(n_leaves, np.int64)
    before = 0
    for leaf in range(n_leaves):
        if leaf % shape[0, 1] == 0:
            before = 0
        if on_leaf[leaf]:
            rank[leaf] = before
            before += 1
            per_leaf = max(per_leaf, _count_bits(on_leaf[leaf]))
            width = max(width, _count_bits(leaf_up[leaf]))
    return Owned(on_leaf, leaf_up, leaf_down, l2_up, l2_down, rank, per_leaf, min(per_leaf, width))


@njit(cache=True)
def _node_slot(node: int, leaf: int, shape: Ints, own: Owned) -> int:
    """Return the rank of a node among the job's nodes on its leaf, -1 where it is not the job's."""
    bit = _ONE << np.uint64(node % shape[0, 0])
    if not own.nodes[leaf] & bit:
        return -1
    return _count_bits(own.nodes[leaf] & (bit - _ONE))


@njit(cache=True)
def _owned_way(src_leaf: int, dst_leaf: int, slot: int, shape: Ints, own: Owned) -> tuple[int, int]:
    """Return the up-port at the leaf, and at the L2 switch or -1 in one pod; -1, -1: no way."""
    candidates = own.leaf_up[src_leaf] & own.leaf_down[dst_leaf]
    src_pod, dst_pod = src_leaf // shape[0, 1], dst_leaf // shape[0, 1]
    w = shape[1, 1]
    if src_pod == dst_pod:
        return _pick_bit(candidates, slot), -1
    for port in range(w):
        if not own.l2_up[src_pod * w + port] & own.l2_down[dst_pod * w + port]:
            candidates &= ~(_ONE << np.uint64(port))
    port = _pick_bit(candidates, slot)
    if port < 0:
        return -1, -1
    key = (own.rank[dst_leaf] * own.per_leaf + slot) // own.width
    spines = own.l2_up[src_pod * w + port] & own.l2_down[dst_pod * w + port]
    return port, _pick_bit(spines, key)


@njit(_PATHS(_INTS, _INTS, _INTS, _INTS, _TABLE), cache=True)
def owned_paths(src: Ints, dst: Ints, nodes: Ints, links: Ints, shape: Ints) -> tuple[Ints, Ints]:
    """
    Return the links of paths on owned links in compressed rows; empty where there is no way.

    Links of `nodes` are taken for granted. `shape` (5, h): as of `up_down_paths`, of 2 or 3 levels.
    """
    own = _owned_parts(nodes, links, shape)
    indptr = np.zeros(src.size + 1, np.int64)
    found = np.empty(2 * shape.shape[1] * src.size, np.int64)
    at = 0
    for f in range(src.size):
        a, b = src[f] // shape[0, 0], dst[f] // shape[0, 0]
        slot = _node_slot(dst[f], b, shape, own)
        port, spine = _owned_way(a, b, slot, shape, own) if a != b and slot >= 0 else (-1, -1)
        far = a // shape[0, 1] != b // shape[0, 1]
        lost = (a != b and port < 0) or (far and spine < 0)
        if lost or slot < 0 or _node_slot(src[f], a, shape, own) < 0:
            return np.empty(0, np.int64), found[:0]
        if src[f] != dst[f]:
            w = shape[1, 1]
            found[at] = shape[3, 0] + src[f]
            at += 1
            if a != b:
                found[at] = shape[3, 1] + a * w + port
                at += 1
            if far:
                up, down = a // shape[0, 1] * w + port, b // shape[0, 1] * w + port
                found[at] = shape[3, 2] + up * shape[1, 2] + spine
                found[at + 1] = shape[4, 2] + down * shape[1, 2] + spine
                at += 2
            if a != b:
                found[at] = shape[4, 1] + b * w + port
                at += 1
            found[at] = shape[4, 0] + dst[f]
            at += 1
        indptr[f + 1] = at
    return indptr, found[:at].copy()
