"""Receivers that many senders saturate on dragonflies, where fluid models say too little."""

from collections.abc import Iterable

import numpy as np

from netsim.flows.contention import Traffic
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly

FEWEST_SENDERS = 8
_ONCE = 1.0 + 1e-9  # rounding of an all-to-all


def hot_spot(topology: Topology, jobs: Iterable[Traffic], before: str = "") -> str:
    """
    Name the receiver that most senders of a job saturate at once, as ``17 senders to n5``.

    `before`: what was found so far. Result: empty where there is none; only dragonflies are looked
    at. Senders saturate a link if they could fill it more than once.
    """
    most, found = int(before.split(maxsplit=1)[0]) if before else FEWEST_SENDERS - 1, before
    if not isinstance(topology, Dragonfly):
        return found
    for own in jobs:
        indptr = own.routes.indptr
        sent = np.flatnonzero(np.diff(indptr))
        node = topology.link_head[own.routes.links[indptr[sent + 1] - 1]]
        by_sender = np.stack((own.step[sent], own.sender[sent]))
        _, which, flows = np.unique(by_sender, axis=1, return_inverse=True, return_counts=True)
        weight = 1.0 / flows[which.ravel()]
        by_pair = np.stack((own.step[sent], node, own.sender[sent]))
        pairs, which = np.unique(by_pair, axis=1, return_inverse=True)
        share = np.bincount(which.ravel(), weight, pairs.shape[1])
        ends, which, senders = np.unique(pairs[:2], axis=1, return_inverse=True, return_counts=True)
        total = np.bincount(which.ravel(), share, ends.shape[1])
        for place in np.flatnonzero((senders > most) & (total > _ONCE)):
            if senders[place] > most:
                most = int(senders[place])
                found = f"{most} senders to {topology.vertex_name(int(ends[1, place]))}"
    return found
