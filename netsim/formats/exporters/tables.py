"""Edge tables and GraphML: cables between names, with kinds and capacities."""

from fabricsim.checking.sheets import sheet
from netsim.common.errors import TopologyError
from netsim.formats.exporters.drawing import beside_the_file, check_xml_names, draw
from netsim.topology.base import Topology

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
