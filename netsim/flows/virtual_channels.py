"""Which virtual channel packets take on each link of a path, so that none wait in a circle."""

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import ContentionError
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.hyperx import HyperX
from netsim.topology.routes import Routes
from netsim.topology.slimfly import SlimFly
from netsim.topology.torus import Torus


def has_virtual_channels(topology: Topology) -> bool:
    """Say whether paths on a fabric take several virtual channels of a link."""
    return isinstance(topology, Torus | Dragonfly | HyperX | SlimFly)


def channels_in_order(topology: Topology, routes: Routes) -> Ints:
    """
    Return the virtual channel of every link of some routes (nnz,), from 0.

    On a torus a packet changes to channel 1 where it has crossed the cable that closes the ring of
    a dimension, and back to 0 in the next dimension (the dateline of W. J. Dally and C. L. Seitz,
    *Deadlock-free message routing in multiprocessor interconnection networks*, 1987). On a
    dragonfly links are taken in the order green, black, blue; a packet changes to the next channel
    where a link does not follow in that order: after the global cable, and where Valiant routing
    turns. So it is on a HyperX with the order of its axes, and on a Slim Fly, whose links are all
    of one class, at every hop. Anything else has one channel.
    """
    if isinstance(topology, Torus):
        return _after_dateline(topology, routes)
    if isinstance(topology, Dragonfly | HyperX | SlimFly):
        return _by_order(topology, routes)
    return np.zeros(routes.links.size, dtype=np.int64)


def virtual_channels(topology: Topology, routes: Routes, most: int | None = None) -> Ints:
    """
    Return the virtual channel of every link, by `channels_in_order`, at most `most`.

    Whatever that rule says, the graph of which channel waits for which is searched for circles.
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
            f"switch: virtual_channels: expected {needed} for these routes on the fabric "
            f"({topology.summary}), "
            f"got {most}, with which packets could wait for each other in a circle, as on link "
            f"{topology.link_name(link)}."
        )
    raise ContentionError(
        f"packets on these routes could wait for each other in a circle, as on link "
        f"{topology.link_name(link)}: no rule of virtual channels is known for this routing "
        f"on the fabric ({topology.summary})."
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
    shared = np.bincount(part) > 1
    guilty = np.append(np.flatnonzero(shared[part]), waits[waits == waited])
    return int(used[guilty[0]] // (int(channels.max()) + 1))


def _after_dateline(torus: Torus, routes: Routes) -> Ints:
    """Return 1 for links after the one that closes the ring of their dimension, else 0."""
    links = routes.links
    axis = np.full(links.size, -1, dtype=np.int64)
    closing = np.zeros(links.size, dtype=bool)
    for number, (plus, minus) in enumerate(zip(torus.plus_base, torus.minus_base, strict=True)):
        count = minus - plus
        cable = links - np.where(links >= minus, minus, plus)
        on_axis = (links >= plus) & (links < minus + count)
        axis[on_axis] = number
        own, stride = torus.owners[number], torus.strides[number]
        last = cable // stride % max(1, own) == torus.dims[number] - 1
        closing |= on_axis & last & torus.wrap[number]
    flow = np.repeat(np.arange(routes.n_flows), routes.hops)
    fresh = _run_starts(flow, axis)
    crossed = np.cumsum(closing) - closing  # before this link
    start = np.maximum.accumulate(np.where(fresh, np.arange(links.size), 0))
    channels: Ints = ((crossed - crossed[start] > 0) & (axis >= 0)).astype(np.int64)
    return channels


def _by_order(fabric: Dragonfly | HyperX | SlimFly, routes: Routes) -> Ints:
    """Return how often a path has left the order of the classes of links."""
    links = routes.links
    rank = np.searchsorted(np.array(fabric.bases), links, side="right")  # 0: a link of a node
    flow = np.repeat(np.arange(routes.n_flows), routes.hops)
    before, after = rank[:-1], rank[1:]
    turns = np.zeros(links.size, dtype=np.int64)
    turns[1:] = (flow[1:] == flow[:-1]) & (before > 0) & (after > 0) & (after <= before)
    total = np.cumsum(turns)
    start = np.maximum.accumulate(np.where(_run_starts(flow, flow), np.arange(links.size), 0))
    channels: Ints = np.where(rank > 0, total - total[start], 0)
    return channels


def _run_starts(flow: Ints, kind: Ints) -> Bools:
    """Return where another flow or another kind of link begins."""
    fresh = np.ones(flow.size, dtype=bool)
    fresh[1:] = (flow[1:] != flow[:-1]) | (kind[1:] != kind[:-1])
    return fresh
