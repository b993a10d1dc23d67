"""Edge tables: a row for each pair of joined names."""

from netsim.common.errors import TopologyError
from netsim.formats.importers.edges import (
    Edge,
    count_of,
    each_cable_once,
    edge_sketch,
    kind_of,
    rate_of,
)
from netsim.formats.importers.rows import find_column, need_column, read_rows
from netsim.formats.importers.sketch import Settings
from netsim.topology.base import Topology

FORM = "edge-csv"
ENDS = (("source", "from", "a", "src", "tail"), ("target", "to", "b", "dst", "head"))
KIND = (("source_kind",), ("target_kind",))
RATE = ("bandwidth", "bandwidth_bytes_per_s", "capacity")
COUNT = ("cables", "count", "links")


def read_edge_csv(text: str, source: str, settings: Settings) -> Topology:
    """
    Read CSV with a header ``source``, ``target``, and any of the further columns.

    ``bandwidth`` (with units, or bytes per second), ``cables`` (parallel ones), ``source_kind`` and
    ``target_kind`` (node or switch).
    """
    header, rows = read_rows(text, source)
    ends = [need_column(header, names, source) for names in ENDS]
    kind = [find_column(header, names, source) for names in KIND]
    rate, count = find_column(header, RATE, source), find_column(header, COUNT, source)
    kinds: dict[str, str] = {}
    edges: list[Edge] = []
    for line, row in rows:
        place = f"{source}:{line}"
        a, b = (row[end] for end in ends)
        if not a or not b:
            raise TopologyError(f"{place}: expected two names, got {a!r} and {b!r}.")
        for name, column in zip((a, b), kind, strict=True):
            said = "" if column is None else kind_of(row[column], place)
            known = kinds.setdefault(name, said) or said
            if said and said != known:
                raise TopologyError(f"{place}: {name!r} is a {said} here, before a {known}.")
            kinds[name] = known
        value = None if rate is None else rate_of(row[rate], place, header[rate])
        edges.append(Edge(place, a, b, value, 1 if count is None else count_of(row[count], place)))
    hint = "parallel cables are counted in a column 'cables'"
    return edge_sketch(each_cable_once(edges, hint), kinds, source, FORM).build(settings)
