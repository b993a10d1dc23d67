"""Drawing: the part of a fabric that a file shows, as bundles of parallel cables."""

import re
from dataclasses import dataclass

import numpy as np

from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.levels import links_in_service

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAMED = 5  # vertices that a remark names


@dataclass(frozen=True, slots=True)
class Bundle:
    """Parallel cables of one capacity."""

    # a, b: vertices that they join; in `a`'s direction the links have smaller numbers
    a: int
    b: int
    rate: float  # bytes per second of each, in each direction
    half: bool  # whether both directions of a cable share the capacity
    links: tuple[int, ...]  # link from `a` to `b` of each cable


@dataclass(frozen=True, slots=True)
class Drawing:
    """What of a fabric can be drawn."""

    topology: Topology
    vertices: list[int]  # nodes and switches that a cable in service ends at, ascending
    bundles: list[Bundle]  # cables in service, in the order of their first links
    remarks: list[str]  # what a file cannot hold, a sentence each

    @property
    def names(self) -> list[str]:
        """Names of the vertices."""
        return [self.topology.vertex_name(vertex) for vertex in self.vertices]

    def kind(self, vertex: int) -> str:
        """Return ``node`` or ``switch``."""
        return "node" if vertex < self.topology.n_nodes else "switch"


def draw(topology: Topology) -> Drawing:
    """Return the cables in service and what they join."""
    there = links_in_service(topology)
    if not there.any():
        raise TopologyError(
            f"the fabric ({topology.summary}) has no cable in service to be written."
        )
    reverse = topology.reverse
    if np.any(topology.capacity != topology.capacity[reverse]):
        raise TopologyError(
            f"the fabric ({topology.summary}) has cables whose two directions differ in capacity."
        )
    groups: dict[tuple[int, int, float, bool], list[int]] = {}
    for link in np.flatnonzero(there & (np.arange(reverse.size) < reverse)).tolist():
        ends = int(topology.link_tail[link]), int(topology.link_head[link])
        half = bool(topology.channel[link] == topology.channel[reverse[link]])
        key = (*sorted(ends), float(topology.capacity[link]), half)
        groups.setdefault(key, []).append(link)  # type: ignore[arg-type]
    bundles = []
    for (_, _, rate, half), links in groups.items():
        a, b = int(topology.link_tail[links[0]]), int(topology.link_head[links[0]])
        onward = [x if topology.link_tail[x] == a else int(reverse[x]) for x in links]
        bundles.append(Bundle(a, b, rate, half, tuple(onward)))
    vertices = np.unique(topology.link_tail[there]).tolist()
    return Drawing(topology, vertices, bundles, _left_out_remarks(topology, vertices))


def _left_out_remarks(topology: Topology, vertices: list[int]) -> list[str]:
    """Say what is left out, or only the table of a topology can say."""
    remarks = []
    out = np.setdiff1d(np.arange(topology.n_nodes + topology.n_switches), vertices)
    if out.size:
        names = ", ".join(topology.vertex_name(v) for v in out[:_NAMED].tolist())
        more = ", ..." if out.size > _NAMED else ""
        remarks.append(f"left out, having no cable in service ({out.size}): {names}{more}")
    idle = np.setdiff1d(vertices, topology.usable_nodes)
    idle = idle[idle < topology.n_nodes]
    if idle.size:
        names = ", ".join(topology.vertex_name(v) for v in idle[:_NAMED].tolist())
        more = ", ..." if idle.size > _NAMED else ""
        remarks.append(
            f"nodes that take no jobs ({idle.size}) are written like others; name them in "
            f"'excluded': {names}{more}"
        )
    return remarks


def check_xml_names(drawing: Drawing) -> None:
    """Refuse names of nodes and switches with letters that XML cannot hold."""
    for vertex in drawing.vertices:
        name = drawing.topology.vertex_name(vertex)
        if _NOT_XML.search(name):
            raise TopologyError(f"{name!r}: XML cannot hold a letter of this name; rename it.")


def beside_the_file(topology: Topology) -> list[str]:
    """Say what a file of cables and capacities leaves out: shared directions, latency."""
    remarks = []
    if topology.half_duplex:
        remarks.append("both directions of a cable share its capacity: give duplex = 'half'")
    if topology.limiter_link:
        remarks.append(f"hosts are limited: give limiter_link = {topology.limiter_link:g}")
    if topology.loopback_bw:
        remarks.append("messages inside hosts take time: give loopback_bw and loopback_lat")
    if topology.latency_base_s or topology.latency_per_link_s or topology.packet_bytes:
        keys = "latency_base_s, latency_per_link_s and packet"
        remarks.append(f"latency is not in the file: give {keys}")
    if topology.buffer_bytes:
        remarks.append("what a port buffers is not in the file: give buffer")
    return remarks
