"""GraphML: any graph, as NetworkX, Gephi or yEd write it."""

import warnings
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx

from netsim.errors import TopologyError
from netsim.formats.importers.edges import (
    Edge,
    count_of,
    each_cable_once,
    edge_sketch,
    kind_of,
    rate_of,
)
from netsim.formats.importers.sketch import Settings
from netsim.topology.base import Topology

FORM = "graphml"
_RATES = ("bandwidth", "bandwidth_bytes_per_s", "capacity")


def read_graphml(text: str, source: str, settings: Settings) -> Topology:
    """
    Read a graph.

    Parameters
    ----------
    text : str
        GraphML. Vertices may have ``kind`` (node or switch) and ``name``; edges ``bandwidth``
        (with units, or bytes per second) and ``cables``, the number of parallel ones. Edges of a
        directed graph that go both ways are one cable.
    source : str
        Name of the file, for messages.
    settings : Settings
        What the user says.

    Returns
    -------
    Topology
        The fabric.

    Raises
    ------
    TopologyError
        If it is no GraphML, or an attribute cannot be read.
    """
    graph = _parsed(text, source)
    names = _names(graph)
    kinds = {
        names[vertex]: kind_of(str(data.get("kind", "")), f"{source}: vertex {vertex!r}")
        for vertex, data in graph.nodes(data=True)
    }
    edges = [
        _edge(names[a], names[b], data, f"{source}: edge {a!r} - {b!r}")
        for a, b, data in graph.edges(data=True)
    ]
    if graph.is_directed() and not graph.is_multigraph():
        edges = each_cable_once(edges, "parallel cables are counted by 'cables'")
    return edge_sketch(edges, kinds, source, FORM).build(settings)


def _parsed(text: str, source: str) -> Any:  # noqa: ANN401 (NetworkX publishes no types)
    """Let NetworkX read the graph."""
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


def _names(graph: Any) -> Mapping[Any, str]:  # noqa: ANN401 (NetworkX publishes no types)
    """Return the name of each vertex: ``name`` or ``label`` where all have different ones."""
    vertices = list(graph.nodes(data=True))
    for key in ("name", "label"):
        names = [str(data.get(key, "")) for _, data in vertices]
        if all(names) and len(set(names)) == len(names):
            return {vertex: name for (vertex, _), name in zip(vertices, names, strict=True)}
    return {vertex: str(vertex) for vertex, _ in vertices}


def _edge(a: str, b: str, data: Mapping[str, Any], place: str) -> Edge:
    """Read an edge."""
    name = next((key for key in _RATES if key in data), "")
    rate = rate_of(data.get(name, ""), place, name)
    return Edge(place, a, b, rate, count_of(data.get("cables", ""), place))
