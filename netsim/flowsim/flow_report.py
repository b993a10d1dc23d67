"""What given flows get: routes, loads, rates at the start and finish times."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from netsim.common.arrays import Floats, Ints, Tabled, numbers_from
from netsim.common.errors import NetsimError
from netsim.flows.contention import Traffic
from netsim.flows.latency import LatencyOf
from netsim.flows.limiters import limited_links, limited_routes
from netsim.flows.partition import Partition
from netsim.flowsim.cosimulation import CoSimulation, Links
from netsim.routing.base import Routing, flow_ends, queue_pairs
from netsim.routing.multipath import as_routed, require_paths
from netsim.topology.base import Topology, require_topology
from netsim.topology.rails import senders
from netsim.topology.routes import Routes


def link_flows(routes: Routes) -> Ints:
    """Count the flows on every directed link (E,)."""
    return np.bincount(routes.links, minlength=routes.n_links)


def link_bytes(routes: Routes, nbytes: Floats) -> Floats:
    """Add up the bytes on every directed link (E,)."""
    carried = np.repeat(np.asarray(nbytes, dtype=np.float64), routes.hops)
    load = np.bincount(routes.links, weights=carried, minlength=routes.n_links)
    return load.astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class FlowReport(Tabled):
    """What flows that start together get."""

    routes: Routes  # links crossed by each of the F flows
    link_flows: Ints  # (E,): flows on each directed link
    link_bytes: Floats  # (E,): bytes on each directed link
    rates: Floats  # (F,): bytes per second of each flow at the start; ``inf`` inside a node
    # (F,): when each flow's last byte arrives, seconds after the start; 0 inside a node
    finish_s: Floats

    def __repr__(self) -> str:
        end_s = self.finish_s.max(initial=0.0)
        return f"<FlowReport: {self.rates.size} flows, over after {end_s:g} s>"

    def _table_rows(self) -> list[dict[str, Any]]:
        """Return the flows: links crossed, bytes per second at the start, seconds to the end."""
        columns = (self.routes.hops.tolist(), self.rates.tolist(), self.finish_s.tolist())
        return [
            {"hops": hops, "rate": rate, "finish_s": finish_s}
            for hops, rate, finish_s in zip(*columns, strict=True)
        ]


def report_flows(
    topology: Topology,
    routing: Routing,
    src: Ints,
    dst: Ints,
    nbytes: Floats,
    *,
    fairness: str = "per-sender",
    partition: Partition | None = None,
) -> FlowReport:
    """
    Route flows that start together and simulate them to their ends.

    Parameters
    ----------
    topology : Topology
        The fabric.
    routing : Routing
        Chooses the paths.
    src, dst : (F,) int array
        Source and destination of each, as `Topology.endpoints` numbers them: nodes where each has
        one link.
    nbytes : (F,) float array
        Bytes of each flow, positive.
    fairness : {"per-sender", "per-flow"}
        Weight of a flow: 1 / (flows open at its source now), or 1. Where nodes have several
        links, each counts as a source.
    partition : Partition, optional
        What the flows' job owns, for a routing that keeps to it.

    Returns
    -------
    FlowReport
        Routes, loads, rates and finish times.

    Raises
    ------
    NetsimError
        If the arrays differ in length or name nodes that do not exist, or a flow has no
        bytes.
    """
    require_topology(topology, NetsimError)
    src, dst = flow_ends(src, dst, topology)
    nbytes = numbers_from("nbytes", nbytes, 0.0, NetsimError)
    if nbytes.size != src.size:
        raise NetsimError(
            f"nbytes: expected one number for each of {src.size} flows, got {nbytes.size}."
        )
    topology = as_routed(topology, routing)
    if queue_pairs(routing) > 1:
        raise NetsimError("routing option qps: rates of flows need one path for each, so qps = 1.")
    require_paths(topology, "rates of flows need", NetsimError)
    routes = routing.routes(src, dst, partition)
    channel, capacity = limited_links(topology)
    rates, finish_s = finish_times(
        limited_routes(routes, topology),
        senders(topology, topology.endpoints.node[src], routes),
        nbytes,
        capacity,
        channel=channel,
        latency_s=LatencyOf(topology)(routes).of(nbytes),
        fairness=fairness,
    )
    if topology.loopback_bw:
        inside = routes.hops == 0
        rates[inside] = topology.loopback_bw
        finish_s[inside] = topology.loopback_lat + nbytes[inside] / topology.loopback_bw
    loads = link_flows(routes), link_bytes(routes, nbytes)
    return FlowReport(routes, *loads, rates, finish_s)


def finish_times(
    routes: Routes,
    sender: Ints,
    nbytes: Floats,
    capacity: Floats,
    *,
    channel: Ints | None = None,
    latency_s: Floats | None = None,
    fairness: str = "per-sender",
) -> tuple[Floats, Floats]:
    """
    Return rates at the start, and finish times with rates re-shared at each completion.

    `routes`: links crossed by each of the F flows; all start at time 0. `sender` (F,): node that
    sends each flow. `nbytes` (F,): bytes of each flow, positive. `capacity` (E,): bytes per second
    of each directed link's channel. `channel` (E,) or None: channel of each link
    (`Topology.channel`); absent: a channel for every link. `latency_s` (F,) or None: added to a
    flow's finish time when its bytes have gone; 0 when absent. `fairness` {"per-sender",
    "per-flow"}: weight of a flow: 1 / (flows open at its source now), or 1. Result: `rates` (F,):
    bytes per second while all flows are open; ``inf`` inside a node; `finish_s` (F,): arrival of
    each flow's last byte, in seconds; 0 inside a node.

    Examples
    --------
    Two flows of 8 bytes share a link of 4 B/s; a third, half as long, has its own.

    >>> routes = Routes.from_lists([[0], [0], [1]], n_links=2)
    >>> finish_times(routes, np.arange(3), np.array([8.0, 8, 4]), np.array([4.0, 4]))
    (array([2., 2., 4.]), array([4., 4., 1.]))
    """
    latency_s = np.zeros(routes.n_flows) if latency_s is None else latency_s
    step = np.zeros(routes.n_flows, dtype=np.int64)
    links = Links(capacity, channel, 1 + int(sender.max(initial=0)))
    solo = CoSimulation(links, fairness=fairness).solo_run(
        Traffic(step, sender, nbytes, routes, 0.0, latency_s)
    )
    rates, finish_s = np.full(routes.n_flows, np.inf), np.zeros(routes.n_flows)
    if solo is not None:
        outside, flows, changes = routes.hops > 0, solo.rows.flows, solo.rows.changes
        _, first = np.unique(changes["flow"], return_index=True)
        rates[outside] = changes["rate"][first]
        finish_s[outside] = flows["solo_sent_s"] + flows["latency_s"]
    return rates, finish_s
