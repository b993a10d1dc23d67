"""NetworkX graphs as fabrics: one's own, or what GraphML holds."""

import warnings
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import ParseError

from fabricsim.checking.errors import public
from netsim.common.errors import TopologyError
from netsim.common.units import Bandwidth
from netsim.formats.importers.edges import (
    Edge,
    count_of,
    each_cable_once,
    edge_sketch,
    kind_of,
    rate_of,
)
from netsim.formats.importers.sketch import Settings
from netsim.topology.base import Topology, require_sane
from netsim.topology.building import cable_rates

_RATES = ("bandwidth", "bandwidth_bytes_per_s", "capacity")
FORM = "graphml"


@public
def from_networkx(
    graph: Any,  # noqa: ANN401 (NetworkX publishes no types)
    *,
    bandwidth: Bandwidth | None = None,
    name: str = "graph",
    half_duplex: bool = False,
    latency_base_s: float = 0.0,
    latency_per_link_s: float = 0.0,
) -> Topology:
    """
    Make a fabric of a NetworkX graph.

    Parameters
    ----------
    graph : networkx.Graph
        Vertices may have ``kind`` (node or switch; by default a vertex with one edge is a node)
        and ``name``; edges ``bandwidth`` ("100 Gb/s", or bytes per second) and ``cables``, the
        number of parallel ones. Edges of a directed graph that go both ways are one cable.
    bandwidth : Bandwidth, optional
        Bytes per second or ``"100 Gb/s"`` of all cables; by default what the edges say.
    name : str, default "graph"
        What messages call the graph.
    half_duplex : bool, default False
        Both directions of a cable share one capacity.
    latency_base_s, latency_per_link_s : float, default 0
        Latency of a path of n links: base + per_link * (n - 1), seconds.

    Returns
    -------
    Topology
        The fabric; a `FatTree` where the wiring is one.

    Raises
    ------
    TopologyError
        If it is no graph, or an attribute cannot be read.

    Examples
    --------
    >>> import networkx as nx
    >>> from_networkx(nx.star_graph(4), bandwidth="100 Gb/s").n_nodes
    4
    """
    if not is_graph(graph):
        raise TopologyError(f"{name}: expected a NetworkX graph, got {type(graph).__name__}.")
    rates = None if bandwidth is None else cable_rates(bandwidth)
    one = rates[0] if rates is not None and len(rates) == 1 else rates
    settings = Settings(one, half_duplex, latency_base_s, latency_per_link_s)
    return require_sane(graph_topology(graph, name, "networkx", settings))


def is_graph(value: object) -> bool:
    """Say whether something looks like a NetworkX graph."""
    return hasattr(value, "nodes") and hasattr(value, "edges")


def graph_topology(
    graph: Any,  # noqa: ANN401 (NetworkX publishes no types)
    source: str,
    form: str,
    settings: Settings,
) -> Topology:
    """Make a fabric of a graph that came from a file or from a user."""
    names = _vertex_names(graph)
    kinds = {
        names[vertex]: kind_of(str(data.get("kind", "")), f"{source}: vertex {vertex!r}")
        for vertex, data in graph.nodes(data=True)
    }
    edges = [
        _read_edge(names[a], names[b], data, f"{source}: edge {a!r} - {b!r}")
        for a, b, data in graph.edges(data=True)
    ]
    if graph.is_directed() and not graph.is_multigraph():
        edges = each_cable_once(edges, "parallel cables are counted by 'cables'")
    return edge_sketch(edges, kinds, source, form).build(settings)


def _vertex_names(graph: Any) -> Mapping[Any, str]:  # noqa: ANN401 (NetworkX publishes no types)
    """Return the name of each vertex: ``name`` or ``label`` where all have different ones."""
    vertices = list(graph.nodes(data=True))
    for key in ("name", "label"):
        names = [str(data.get(key, "")) for _, data in vertices]
        if all(names) and len(set(names)) == len(names):
            return {vertex: name for (vertex, _), name in zip(vertices, names, strict=True)}
    return {vertex: str(vertex) for vertex, _ in vertices}


def _read_edge(a: str, b: str, data: Mapping[str, Any], place: str) -> Edge:
    """Read an edge."""
    name = next((key for key in _RATES if key in data), "")
    rate = rate_of(data.get(name, ""), place, name)
    return Edge(place, a, b, rate, count_of(data.get("cables", ""), place))


def read_graphml(text: str, source: str, settings: Settings) -> Topology:
    """Read GraphML: vertices with ``kind``, ``name``, edges with ``bandwidth``, ``cables``."""
    return graph_topology(_parsed_graph(text, source), source, FORM, settings)


def _parsed_graph(text: str, source: str) -> Any:  # noqa: ANN401 (NetworkX publishes no types)
    """Let NetworkX read the graph."""
    import networkx as nx  # noqa: PLC0415 (a tenth of a second that few fabrics need)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # attributes without a type are texts, which will do
            return nx.parse_graphml(text)
    except ParseError as error:
        line = error.position[0]
        reason = str(error).partition(":")[0]
        raise TopologyError(f"{source}:{line}: expected XML: {reason}.") from None
    except (nx.NetworkXError, LookupError, ValueError, AttributeError, TypeError) as error:
        # what NetworkX raises where XML is no GraphML
        reason = str(error)[:80] or type(error).__name__
        raise TopologyError(f"{source}: expected GraphML: {reason}.") from None
