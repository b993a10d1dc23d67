"""Load of the network: flows and bytes per directed link, per step, and in closed form."""

from dataclasses import dataclass
from math import prod

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes


@dataclass(frozen=True, slots=True, eq=False)
class StepLoad:
    """Load of each link in each step, for the pairs (step, link) that carry any."""

    # step, link: (K,): step and directed link, ascending by step, then link; every pair once
    step: Ints
    link: Ints
    flows: Ints  # (K,): flows of the step that cross the link
    nbytes: Floats


def link_flows(routes: Routes) -> Ints:
    """Count the flows on every directed link (E,)."""
    return np.bincount(routes.links, minlength=routes.n_links)


def link_bytes(routes: Routes, nbytes: Floats) -> Floats:
    """Add up the bytes on every directed link (E,)."""
    carried = np.repeat(np.asarray(nbytes, dtype=np.float64), routes.hops)
    load = np.bincount(routes.links, weights=carried, minlength=routes.n_links)
    return load.astype(np.float64, copy=False)


def step_loads(routes: Routes, nbytes: Floats, step: Ints) -> StepLoad:
    """Add up flows and bytes on every link in every step."""
    pair = np.repeat(step, routes.hops) * routes.n_links + routes.links
    found, place, flows = np.unique(pair, return_inverse=True, return_counts=True)
    weights = np.repeat(np.asarray(nbytes, dtype=np.float64), routes.hops)
    carried = np.bincount(place, weights=weights, minlength=found.size)
    carried_bytes = carried.astype(np.float64, copy=False)
    return StepLoad(found // routes.n_links, found % routes.n_links, flows, carried_bytes)


def all_to_all_link_flows(tree: FatTree, nodes: Ints) -> Ints:
    """
    Count the flows of an all-to-all on every directed link under D-mod-k, in closed form.

    D-mod-k chooses each up-port from the destination alone. So an upward link out of a subtree X
    carries n_X (c - c_X) flows: its n_X ranks times the ranks outside X whose destination number
    leads to that link. The link down into X that mirrors it carries c_X (n - n_X). Cost O(n + E),
    against O(n^2) for enumeration. Ranks may share nodes.
    """
    load = np.zeros(tree.n_links, dtype=np.int64)
    low = 1  # w[0] * ... * w[l-1]
    below = np.zeros_like(nodes)  # digits 0..l-1 of the switch on the way to each rank
    for level, parents in enumerate(tree.parents):
        ports = tree.ports[level]
        port = (nodes // low) % ports
        subtree = nodes // prod(tree.children[:level])
        key = below * ports + port  # switch and port, chosen by the destination
        within = _count(subtree, key, (tree.counts[level] // low, low * ports))
        inside = within.sum(axis=1, keepdims=True)
        outgoing = inside * (within.sum(axis=0) - within)
        up, down = tree.up_base[level], tree.down_base[level]
        load[up : up + outgoing.size] = outgoing.ravel()
        if tree.down_cable == "mirror" or tree.parallel[level] == 1:
            incoming = within * (nodes.size - inside)
        else:
            incoming = _incoming_by_source(nodes, subtree, within, parents, tree.parallel[level])
        load[down : down + incoming.size] = incoming.ravel()
        below += low * (port % parents)
        low *= parents
    return load


def _incoming_by_source(nodes: Ints, subtree: Ints, within: Ints, w: int, p: int) -> Ints:
    """Return flows down into each subtree where the source chooses among p cables."""
    sources = _count(subtree, nodes % p, (within.shape[0], p))
    outside = sources.sum(axis=0) - sources  # ranks outside that send on cable k
    towards = within.reshape(within.shape[0], -1, p, w).sum(axis=2)  # by switch and parent
    incoming: Ints = towards[:, :, None, :] * outside[:, None, :, None]
    return incoming


def _count(row: Ints, column: Ints, shape: tuple[int, int]) -> Ints:
    """Count pairs of row and column into a table."""
    return np.bincount(row * shape[1] + column, minlength=shape[0] * shape[1]).reshape(shape)
