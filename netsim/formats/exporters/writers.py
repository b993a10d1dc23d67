"""Fabrics as text of other tools: tables, GraphML, `topology.conf`, platforms of SimGrid."""

from collections.abc import Iterator

import numpy as np

from fabricsim.checking.sheets import sheet
from netsim.common.errors import TopologyError
from netsim.common.hostlist import fold_hostlist
from netsim.formats.exporters.drawing import Bundle, Drawing, beside_the_file, check_xml_names, draw
from netsim.routing.base import Routing
from netsim.routing.multipath import single_paths
from netsim.topology.base import Topology
from netsim.topology.levels import vertex_levels
from netsim.topology.rails import flow_endpoints

Written = tuple[str, tuple[str, ...]]

_HEADER = ("source", "target", "bandwidth_bytes_per_s", "cables", "source_kind", "target_kind")


def write_edge_csv(topology: Topology) -> Written:
    """Write a table of cables, which ``edge-csv`` reads back, and what it does not hold."""
    drawing = draw(topology)
    rows = []
    seen = set()
    for bundle in drawing.bundles:
        a, b = topology.vertex_name(bundle.a), topology.vertex_name(bundle.b)
        if frozenset((a, b)) in seen:
            raise TopologyError(f"cables between {a} and {b} differ in capacity; write GraphML.")
        seen.add(frozenset((a, b)))
        kinds = drawing.kind(bundle.a), drawing.kind(bundle.b)
        rows.append((a, b, bundle.rate, len(bundle.links), *kinds))
    return sheet(_HEADER, rows), (*drawing.remarks, *beside_the_file(topology))


def write_graphml(topology: Topology) -> Written:
    """Write GraphML, which ``graphml`` reads back, and what the graph does not hold."""
    import networkx as nx  # noqa: PLC0415 (slow to import, and needed here only)

    drawing = draw(topology)
    check_xml_names(drawing)
    graph = nx.MultiGraph(name=topology.name)
    for vertex in drawing.vertices:
        graph.add_node(topology.vertex_name(vertex), kind=drawing.kind(vertex))
    for number, bundle in enumerate(drawing.bundles):
        graph.add_edge(
            topology.vertex_name(bundle.a),
            topology.vertex_name(bundle.b),
            key=number,  # written as the edge's id, which GraphML wants unique
            bandwidth_bytes_per_s=bundle.rate,
            cables=len(bundle.links),
            **{"class": topology.link_class(bundle.links[0])},
        )
    text = "\n".join(nx.generate_graphml(graph, named_key_ids=True)) + "\n"
    return text, (*drawing.remarks, *beside_the_file(topology))


def write_slurm_conf(topology: Topology) -> Written:
    """Write `topology.conf`, leaves first, and what Slurm does not know of the fabric."""
    drawing = draw(topology)
    level = vertex_levels(topology).tolist()
    below: dict[int, list[int]] = {v: [] for v in drawing.vertices if drawing.kind(v) == "switch"}
    parents: dict[int, int] = {}
    for bundle in drawing.bundles:
        low, high = sorted((bundle.a, bundle.b), key=lambda v: level[v])
        if level[low] == level[high] or level[low] < 0:
            names = f"{topology.vertex_name(low)} and {topology.vertex_name(high)}"
            raise TopologyError(
                f"topology.conf holds trees of switches, but {names} of "
                f"the fabric ({topology.summary}) are joined "
                f"on one level."
            )
        if low not in below[high]:
            below[high].append(low)
            parents[low] = parents.get(low, 0) + 1
    lines = []
    for switch in sorted(below, key=lambda v: (level[v], v)):
        key = "Nodes" if level[switch] == 1 else "Switches"
        names = fold_hostlist(topology.vertex_name(v) for v in sorted(below[switch]))
        lines.append(f"SwitchName={topology.vertex_name(switch)} {key}={names}")
    remarks = ["capacities are not in the file"]
    if any(len(bundle.links) > 1 for bundle in drawing.bundles):
        remarks.append("parallel cables are not in the file")
    several = sum(count > 1 for v, count in parents.items() if v in below)
    if several:
        remarks.append(f"switches under several others ({several}): Slurm takes any of them")
    return "\n".join(lines) + "\n", (*drawing.remarks, *remarks)


_MOST_ROUTES = 4_000_000  # a file of a gigabyte
# plain max-min sharing without TCP's corrections, as everywhere in this package
PLAIN_MAX_MIN = {
    "network/model": "CM02",
    "network/crosstraffic": "0",
    "network/TCP-gamma": "0",
    "network/bandwidth-factor": "1",
    "network/latency-factor": "1",
    "network/weight-S": "0",
}
XML_HEAD = (
    "<?xml version='1.0'?>",
    '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
)


def write_simgrid(topology: Topology, routing: Routing | None = None) -> Written:
    """
    Write a SimGrid platform that shares max-min, and what SimGrid will see otherwise.

    With a `routing` it has a route for every pair of nodes; else SimGrid searches shortest paths. A
    path of n links takes base + per_link * (n - 1): half of base + per_link is on the link of each
    node, per_link on those between switches. A stated packet adds its time to per_link.
    """
    drawing = draw(topology)
    check_xml_names(drawing)
    body = _routed_by_search(drawing) if routing is None else _routed_by_pair(drawing, routing)
    kind = "DijkstraCache" if routing is None else "Full"
    config = [
        f"    <prop id={_quoted(key)} value={_quoted(value)}/>"
        for key, value in PLAIN_MAX_MIN.items()
    ]
    lines = [
        *XML_HEAD,
        '<platform version="4.1">',
        "  <config>",
        *config,
        "  </config>",
        f'  <zone id="fabric" routing="{kind}">',
        *(f"    {line}" for line in body),
        "  </zone>",
        "</platform>",
    ]
    remarks = list(drawing.remarks)
    if routing is None:
        remarks.append(
            "SimGrid takes one shortest path for each pair, which may leave cables unused: name a "
            "routing to write its routes"
        )
        if any(len(bundle.links) > 1 for bundle in drawing.bundles):
            remarks.append("parallel cables are one link of their joint capacity")
    if topology.limiter_link or topology.loopback_bw:
        remarks.append("limiters and loopback of hosts are left out")
    if topology.latency_per_link_s or topology.latency_base_s or topology.packet_bytes:
        remarks.append("SimGrid weighs flows by 1 / latency and adds it to their time")
    if topology.packet_bytes:
        remarks.append("latency is that of messages of a packet or more")
        if np.ptp(topology.capacity) > 0.0:
            remarks.append(
                "links differ in speed: a path has the latency of a packet on each link, half of "
                "it on those of nodes, not of all but its slowest"
            )
    return "\n".join(lines) + "\n", tuple(remarks)


def _host_lines(drawing: Drawing) -> Iterator[str]:
    """Write the nodes."""
    for vertex in drawing.vertices:
        if drawing.kind(vertex) == "node":
            yield f'<host id={_name_attribute(drawing, vertex)} speed="1Gf"/>'


def _routed_by_search(drawing: Drawing) -> Iterator[str]:
    """Write hosts, routers, links and the two routes over each bundle of cables."""
    yield from _host_lines(drawing)
    joint: dict[tuple[int, int], list[Bundle]] = {}
    for vertex in drawing.vertices:
        if drawing.kind(vertex) == "switch":
            yield f"<router id={_name_attribute(drawing, vertex)}/>"
    for bundle in drawing.bundles:
        joint.setdefault((min(bundle.a, bundle.b), max(bundle.a, bundle.b)), []).append(bundle)
    routes = []
    for (a, b), bundles in joint.items():
        rate = sum(bundle.rate * len(bundle.links) for bundle in bundles)
        names = [drawing.topology.vertex_name(v) for v in (a, b)]
        there, back = _quoted(f"{names[0]}>{names[1]}"), _quoted(f"{names[1]}>{names[0]}")
        half = bundles[0].half
        latency = _link_latency(drawing.topology, a, bundles[0].rate)
        yield _link_line(there, rate, latency)
        if not half:
            yield _link_line(back, rate, latency)
        routes.append(_route_line(drawing, a, b, [there]))
        routes.append(_route_line(drawing, b, a, [there if half else back]))
    yield from routes


def _routed_by_pair(drawing: Drawing, routing: Routing) -> Iterator[str]:
    """Write hosts, links and the route of every pair of nodes that take jobs."""
    topology = drawing.topology
    single_paths(routing, "routes in a file need", TopologyError)
    nodes = np.intersect1d(drawing.vertices, topology.usable_nodes)
    if nodes.size**2 > _MOST_ROUTES:
        raise TopologyError(
            f"{nodes.size} nodes have {nodes.size**2} routes, too many for a file; leave the "
            f"routing out."
        )
    yield from _host_lines(drawing)
    named: dict[int, str] = {}
    for bundle in drawing.bundles:
        for link in bundle.links:
            back = int(topology.reverse[link])
            latency = _link_latency(topology, min(bundle.a, bundle.b), bundle.rate)
            named[link] = named[back] = _quoted(topology.link_name(link))
            yield _link_line(named[link], bundle.rate, latency)
            if not bundle.half:
                named[back] = _quoted(topology.link_name(back))
                yield _link_line(named[back], bundle.rate, latency)
    for source in nodes.tolist():
        others = nodes[nodes != source]
        ends = flow_endpoints(topology, np.full(others.size, source), others)
        routes = routing.routes(*ends)
        for i, target in enumerate(others.tolist()):
            links = routes.links[routes.indptr[i] : routes.indptr[i + 1]].tolist()
            yield _route_line(drawing, source, target, [named[link] for link in links])


def _name_attribute(drawing: Drawing, vertex: int) -> str:
    """Return the name of a vertex as an attribute."""
    return _quoted(drawing.topology.vertex_name(vertex))


def _link_latency(topology: Topology, lower: int, rate: float) -> float:
    """Return the latency of a link of a rate whose lower end, or a node, is a vertex."""
    per_link_s = topology.latency_per_link_s + topology.packet_bytes / rate
    return (topology.latency_base_s + per_link_s) / 2 if lower < topology.n_nodes else per_link_s


def _link_line(name: str, rate: float, latency: float) -> str:
    """Write a link."""
    return (
        f'<link id={name} bandwidth="{rate!r}Bps" latency="{latency!r}s" sharing_policy="SHARED"/>'
    )


def _route_line(drawing: Drawing, src: int, dst: int, links: list[str]) -> str:
    """Write a route in one direction."""
    steps = "".join(f"<link_ctn id={link}/>" for link in links)
    ends = f"src={_name_attribute(drawing, src)} dst={_name_attribute(drawing, dst)}"
    return f'<route {ends} symmetrical="NO">{steps}</route>'


def _quoted(text: str) -> str:
    """Return a text as the value of an attribute."""
    from xml.sax.saxutils import quoteattr  # noqa: PLC0415 (imports clients of HTTP)

    return quoteattr(text)
