"""Virtual channels of routes, such that packets never wait for each other in a circle."""

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import ContentionError
from netsim.flows.virtual_channels import channels_in_order
from netsim.topology.base import Topology
from netsim.topology.routes import Routes


def virtual_channels(topology: Topology, routes: Routes, most: int | None = None) -> Ints:
    """
    Return the virtual channel of every link of some routes.

    `most`: virtual channels of a link; absent: as many as needed. Result (nnz,): from 0, along
    ``routes.links``.

    The rule is that of `netsim.flows.virtual_channels.channels_in_order`. Whatever it says, the
    graph of which channel waits for which is searched for circles.
    """
    channels = channels_in_order(topology, routes)
    needed = int(channels.max(initial=0)) + 1
    if most is not None and most < needed:
        channels = np.minimum(channels, most - 1)
    link = _link_in_a_circle(routes, channels)
    if link < 0:
        return channels
    if most is not None and most < needed:
        raise ContentionError(
            f"switch: virtual_channels: expected {needed} for these routes on {topology.name}, "
            f"got {most}, with which packets could wait for each other in a circle, as on link "
            f"{topology.link_name(link)}."
        )
    raise ContentionError(
        f"packets on these routes could wait for each other in a circle, as on link "
        f"{topology.link_name(link)}: no rule of virtual channels is known for this routing "
        f"on {topology.name}."
    )


def _link_in_a_circle(routes: Routes, channels: Ints) -> int:
    """Return a link whose packets may wait for themselves; -1 if there is none."""
    from scipy.sparse import coo_array  # noqa: PLC0415 (slow to load)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    if not routes.links.size:
        return -1
    node = routes.links * (int(channels.max()) + 1) + channels
    used, place = np.unique(node, return_inverse=True)
    flow = np.repeat(np.arange(routes.n_flows), routes.hops)
    within = np.flatnonzero(flow[1:] == flow[:-1])
    waits, waited = place[within], place[within + 1]
    graph = coo_array((np.ones(within.size), (waits, waited)), shape=(used.size, used.size))
    n_parts, part = connected_components(graph, connection="strong")
    if n_parts == used.size and not np.any(waits == waited):
        return -1
    crowded = np.bincount(part) > 1
    guilty = np.append(np.flatnonzero(crowded[part]), waits[waits == waited])
    return int(used[guilty[0]] // (int(channels.max()) + 1))
