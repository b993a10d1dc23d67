"""GraphML: any graph, as NetworkX, Gephi or yEd write it."""

import warnings
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx

from netsim.common.errors import TopologyError
from netsim.formats.importers.graphs import graph_topology
from netsim.formats.importers.sketch import Settings
from netsim.topology.base import Topology

FORM = "graphml"


def read_graphml(text: str, source: str, settings: Settings) -> Topology:
    """Read GraphML: vertices with ``kind``, ``name``, edges with ``bandwidth``, ``cables``."""
    return graph_topology(_parsed(text, source), source, FORM, settings)


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
