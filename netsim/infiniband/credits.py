"""Credit loops: whether links can wait for each other in a circle under forwarding tables."""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from netsim.common.arrays import Bools, Ints
from netsim.infiniband.lft import LFT
from netsim.topology.levels import links_in_service


def credit_loop(tables: Sequence[LFT]) -> Ints:
    """
    Return links (k,) that can wait for each other in a circle; empty where there are none.

    With several `tables` each switch may have any at any moment, as while new ones are loaded. Only
    ways that packets from nodes take count, as with `ibdmchk` (Dally and Seitz 1987).
    """
    topology = tables[0].topology
    n_nodes, n_links = topology.n_nodes, topology.n_links
    works = links_in_service(topology)
    first = np.flatnonzero(works & (topology.link_tail < n_nodes))
    pairs: list[Ints] = []
    for dst in range(n_nodes):
        outs = [table.out[:, dst].astype(np.int64) for table in tables]
        if all((out < 0).all() for out in outs):
            continue
        pairs.append(
            _waits(outs, first[topology.link_tail[first] != dst], topology.link_head, n_nodes)
        )
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


def _waits(outs: Sequence[Ints], first: Ints, head: Ints, n_nodes: int) -> Ints:
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
