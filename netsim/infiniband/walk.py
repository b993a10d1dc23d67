"""Walks through forwarding tables: faults, reach, and credit loops."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from netsim.common.arrays import Bools, Ints, occurrence_numbers
from netsim.common.errors import RoutingError
from netsim.infiniband.lft import LFT
from netsim.infiniband.wiring import Wiring
from netsim.topology.fattree import FatTree
from netsim.topology.levels import links_in_service

_BATCH = 200_000  # flows routed at once: tens of MB


def walk_fault(tables: LFT, wiring: Wiring) -> str:
    """Walk from every switch with nodes to all nodes; return the first fault, or nothing."""
    nodes = np.flatnonzero(wiring.device[: wiring.topology.n_nodes] >= 0)
    try:
        for src, dst in leaf_flows(wiring, nodes, per_leaf=2):
            tables.routes(src, dst)
    except RoutingError as error:
        return str(error)
    return ""


def leaf_flows(wiring: Wiring, nodes: Ints, per_leaf: int) -> Iterator[tuple[Ints, Ints]]:
    """Iterate over flows from a few of each leaf's nodes to all that it can reach."""
    topology, points = wiring.topology, wiring.topology.endpoints
    works = links_in_service(topology)[points.link] & (points.link >= 0)
    leaf = np.where(works, topology.link_head[points.link] - topology.n_nodes, 0)
    ends = nodes if points.one_each else np.flatnonzero(works & np.isin(points.node, nodes))
    order = ends[np.argsort(leaf[ends], kind="stable")]
    starts = np.sort(order[occurrence_numbers(leaf[order]) < per_leaf])
    reach = up_down_reach(topology) if isinstance(topology, FatTree) else None
    rows = max(1, _BATCH // max(1, ends.size))
    for first in range(0, starts.size, rows):
        some = starts[first : first + rows]
        src, dst = np.repeat(some, ends.size), np.tile(ends, some.size)
        if reach is not None:
            joined = reach[leaf[src], leaf[dst]]
            src, dst = src[joined], dst[joined]
        yield src, dst


def up_down_reach(tree: FatTree) -> Bools:
    """Find from which switch a path up and then down leads to each leaf (n_switches, n_leaves)."""
    works = links_in_service(tree)
    reach = np.zeros((tree.n_switches, tree.n_leaves), dtype=np.float32)
    reach[: tree.n_leaves] = np.eye(tree.n_leaves)
    for step in range(1, tree.levels):  # down: a parent reaches what its children lie above
        reach += _level_links(tree, works, tree.down_base[step], step) @ np.minimum(reach, 1)
    for step in range(tree.levels - 1, 0, -1):
        reach += _level_links(tree, works, tree.up_base[step], step) @ np.minimum(reach, 1)
    found: Bools = reach > 0
    return found


def _level_links(tree: FatTree, works: Bools, first: int, step: int) -> csr_array:
    """Return the links of a level that work, as a matrix from tails to heads."""
    links = first + np.arange(tree.counts[step] * tree.ports[step])
    links = links[works[links]]
    ends = tree.link_tail[links] - tree.n_nodes, tree.link_head[links] - tree.n_nodes
    shape = (tree.n_switches, tree.n_switches)
    return csr_array((np.ones(links.size, dtype=np.float32), ends), shape=shape)


def credit_loop(tables: Sequence[LFT]) -> Ints:
    """
    Return links (k,) that can wait for each other in a circle; empty where there are none.

    With several `tables` each switch may have any at any moment, as while new ones are loaded. Only
    ways that packets from nodes take count, as with `ibdmchk` (Dally and Seitz 1987).
    """
    topology = tables[0].topology
    n_nodes, n_links = topology.n_nodes, topology.n_links
    works = links_in_service(topology)
    first, node = np.flatnonzero(works & (topology.link_tail < n_nodes)), topology.endpoints.node
    pairs: list[Ints] = []
    for dst in range(topology.endpoints.size):
        outs = [table.out[:, dst].astype(np.int64) for table in tables]
        if all((out < 0).all() for out in outs):
            continue
        others = first[topology.link_tail[first] != node[dst]]
        pairs.append(_link_waits(outs, others, topology.link_head, n_nodes))
    if not pairs:
        return np.empty(0, dtype=np.int64)
    pair = np.unique(np.concatenate(pairs))
    before, after = divmod(pair, n_links)
    graph = csr_array(
        (np.ones(pair.size, dtype=np.int8), (before, after)), shape=(n_links, n_links)
    )
    _, label = connected_components(graph, directed=True, connection="strong")
    size = np.bincount(label)
    looped: Bools = size[label] > 1
    looped[before[before == after]] = True
    if not looped.any():
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(label == label[np.flatnonzero(looped)[0]])


def _link_waits(outs: Sequence[Ints], first: Ints, head: Ints, n_nodes: int) -> Ints:
    """Return which link waits for which on the ways to a node: before * links + after."""
    n_links = head.size
    seen = np.zeros(n_links, dtype=np.bool_)
    links, found = first, list[Ints]()
    while links.size:
        seen[links] = True
        links = links[head[links] >= n_nodes]
        following = []
        for out in outs:
            after = out[head[links] - n_nodes]
            known = after >= 0
            found.append(links[known] * n_links + after[known])
            following.append(after[known])
        links = np.unique(np.concatenate(following))
        links = links[~seen[links]]
    return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.int64)
