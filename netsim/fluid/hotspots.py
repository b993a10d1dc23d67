"""Receivers that many senders saturate, where fluid models say too little of what waits behind."""

from collections.abc import Iterable

import numpy as np

from netsim.common.arrays import Ints
from netsim.flows.contention import Traffic
from netsim.topology.base import Topology

FEWEST_SENDERS = 4
_ONCE = 1.0 + 1e-9  # rounding of an all-to-all
_BY_A_SWITCH = 2  # links of a path that no other job's packets wait on


def hot_spot(topology: Topology, jobs: Iterable[Traffic], before: str = "") -> str:
    """
    Name the receiver that most senders of a job saturate at once, as ``17 senders to n5``.

    `before`: what was found so far. Result: empty where there is none. Senders saturate a link if
    they could fill it more than once; those on the receiver's own switch do not count, as nothing
    of other jobs waits behind their packets.
    """
    most, found = int(before.split(maxsplit=1)[0]) if before else FEWEST_SENDERS - 1, before
    for own in jobs:
        senders, node = _most_senders(topology, own, most)
        if senders > most:
            most, found = senders, f"{senders} senders to {topology.vertex_name(node)}"
    return found


def _most_senders(topology: Topology, own: Traffic, least: int) -> tuple[int, int]:
    """Return how many senders saturate a receiver of a job in a step, and which; 0 for `least`."""
    indptr, links = own.routes.indptr, own.routes.links
    hops = np.diff(indptr)
    node = np.full(hops.size, -1, dtype=np.int64)
    node[hops > 0] = topology.link_head[links[indptr[1:][hops > 0] - 1]]
    across = hops > _BY_A_SWITCH
    if not across.any() or np.bincount(node[across]).max() <= least:
        return 0, 0
    sender = _numbered(own.step, own.sender)
    weight = np.where(hops > 0, 1.0 / np.bincount(sender[hops > 0], minlength=hops.size)[sender], 0)
    receiver = _numbered(own.step[across], node[across])
    total = np.bincount(receiver, weight[across])
    pairs = np.unique(receiver * hops.size + sender[across])
    senders = np.bincount(pairs // hops.size, minlength=total.size) * (total > _ONCE)
    place = int(np.argmax(senders))
    first = int(np.argmax(receiver == place))
    return int(senders[place]), int(node[across][first])


def _numbered(step: Ints, end: Ints) -> Ints:
    """Return the number of the pair of step and end of each flow, from 0."""
    found: Ints = np.unique(step * (int(end.max()) + 1) + end, return_inverse=True)[1].reshape(-1)
    return found
