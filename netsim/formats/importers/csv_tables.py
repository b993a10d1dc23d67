"""Tables of cables, and of nodes with their leaf switches."""

import csv
from collections.abc import Sequence
from dataclasses import replace

from fabricsim.checking.sheets import plain_cell
from netsim.common.errors import TopologyError
from netsim.formats.importers.edges import (
    Edge,
    count_of,
    each_cable_once,
    edge_sketch,
    kind_of,
    rate_of,
)
from netsim.formats.importers.sketch import (
    DEFAULT_BANDWIDTH,
    Settings,
    complete_labels,
    fit_labels,
)
from netsim.formats.importers.slurm import names_in
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree, build_fat_tree
from netsim.topology.names import Origin
from netsim.topology.outage import depopulate

Row = tuple[int, list[str]]


def read_rows(text: str, source: str) -> tuple[list[str], list[Row]]:
    """Read a header and rows parted by commas, semicolons or tabs; ``#`` starts a comment line."""
    lines = text.split("\n")
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    comma = next((mark for mark in ",;\t" if mark in first), ",")
    header: list[str] = []
    rows: list[Row] = []
    reader = csv.reader(lines, delimiter=comma, strict=True)
    try:
        for values in reader:
            row = [plain_cell(value.strip()) for value in values]
            if not any(row) or row[0].startswith("#"):
                continue
            if not header:
                header = [name.lower() for name in row]
                if len(set(header)) < len(header):
                    raise TopologyError(f"{source}:{reader.line_num}: two columns of one name.")
            elif len(row) != len(header):
                raise TopologyError(
                    f"{source}:{reader.line_num}: expected {len(header)} values, got {len(row)}."
                )
            else:
                rows.append((reader.line_num, row))
    except csv.Error as error:
        raise TopologyError(f"{source}:{reader.line_num}: expected CSV: {error}.") from None
    if not header:
        raise TopologyError(f"{source}: expected a table with a header, got nothing.")
    return header, rows


def find_column(header: Sequence[str], names: Sequence[str], source: str) -> int | None:
    """Return the number of a column; None where it is absent."""
    found = [i for i, name in enumerate(header) if name in names]
    if len(found) > 1:
        twice = " and ".join(repr(header[i]) for i in found)
        raise TopologyError(f"{source}: expected one column {names[0]!r}, got {twice}.")
    return found[0] if found else None


def need_column(header: Sequence[str], names: Sequence[str], source: str) -> int:
    """Find a column that must be there."""
    found = find_column(header, names, source)
    if found is None:
        got = ", ".join(header)[:80]
        raise TopologyError(f"{source}: expected a column {names[0]!r}, got {got!r}.")
    return found


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
    return edge_sketch(each_cable_once(edges, hint), kinds, source, "edge-csv").build(settings)


NODE = ("node", "host", "hostname", "nodename")
LEAF = ("leaf_switch", "leaf", "switch", "l1_switch", "edge_switch")
POD = ("pod", "tree", "island", "cell", "rack_group")

Leaves = dict[str, list[str]]


def read_node_csv(text: str, source: str, settings: Settings) -> Topology:
    """Read CSV with ``node``, ``leaf_switch`` and, where there are three levels, ``pod``."""
    header, rows = read_rows(text, source)
    node, leaf = need_column(header, NODE, source), need_column(header, LEAF, source)
    pod = find_column(header, POD, source)
    pods: dict[str, Leaves] = {}
    home: dict[str, str] = {}
    seen: dict[str, int] = {}
    for line, row in rows:
        name, switch, over = row[node], row[leaf], "" if pod is None else row[pod]
        if not name or not switch or (pod is not None and not over):
            raise TopologyError(f"{source}:{line}: expected a name in every column, got {row}.")
        if home.setdefault(switch, over) != over:
            raise TopologyError(
                f"{source}:{line}: leaf {switch!r} in pod {over!r}, before in {home[switch]!r}."
            )
        for host in names_in(name, f"{source}:{line}", len(seen)):
            if host in seen:
                raise TopologyError(f"{source}:{line}: {host!r} again, first in line {seen[host]}.")
            seen[host] = line
            pods.setdefault(over, {}).setdefault(switch, []).append(host)
    if not pods:
        raise TopologyError(f"{source}: no node in it, read as 'node-csv'.")
    return _named_tree(list(pods.values()), source, settings)


def untapered_shape(
    nodes: int, leaves: int, pods: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return m, w, p of an untapered tree with few switches, of 2 * nodes ports if possible."""
    radix = 2 * nodes
    if pods == 1:
        p = _bundle_size(nodes, radix // leaves)
        return (nodes, leaves), (1, nodes // p), (1, p)
    p = _bundle_size(nodes, nodes // leaves)
    up = leaves * p
    q = _bundle_size(up, radix // pods)
    return (nodes, leaves, pods), (1, nodes // p, up // q), (1, p, q)


def _bundle_size(ports: int, most: int) -> int:
    """Return the largest divisor of a number of ports up to a bound, 1 at least."""
    return max((d for d in range(1, ports + 1) if ports % d == 0 and d <= most), default=1)


def _named_tree(pods: list[Leaves], source: str, settings: Settings) -> Topology:
    """Build the tree and name its nodes and leaves."""
    nodes = max(len(names) for leaves in pods for names in leaves.values())
    most_leaves = max(map(len, pods))
    m, w, p = untapered_shape(nodes, most_leaves, len(pods))
    tree = build_fat_tree(
        m,
        w,
        p,
        DEFAULT_BANDWIDTH if settings.bandwidth is None else settings.bandwidth,
        half_duplex=settings.half_duplex,
        latency_base_s=settings.latency_base_s,
        latency_per_link_s=settings.latency_per_link_s,
    )
    names: dict[int, str] = {}
    for pod, leaves in enumerate(pods):
        for i, (leaf, members) in enumerate(leaves.items()):
            place = pod * most_leaves + i
            names[tree.n_nodes + place] = leaf
            names.update({place * nodes + k: name for k, name in enumerate(members)})
    tree, assumed = _with_holes(tree, names)
    if settings.bandwidth is None:
        assumed.append("cables without a capacity in the file (all): 100 Gb/s in each direction")
    fitted = fit_labels(list(names.values()), settings.names, assumed, source)
    own: list[str | None] = [None] * (tree.n_nodes + tree.n_switches)
    for vertex, label in zip(names, fitted, strict=True):
        own[vertex] = label
    labels = complete_labels(tree, own)
    pairs = zip(names.items(), fitted, strict=True)
    aliases = tuple((name, vertex) for (vertex, name), label in pairs if name != label)
    return replace(tree, origin=Origin(source, "node-csv", labels, tuple(assumed), aliases=aliases))


def _with_holes(tree: FatTree, names: dict[int, str]) -> tuple[FatTree, list[str]]:
    """Take out the places that no row names, and say what was assumed."""
    above = tree.n_switches - tree.n_leaves
    made_up = (
        f"the file ends at the leaves: {above} switches above them, as in a "
        f"{tree.summary}, with no "
        f"taper and at most {2 * tree.children[0]} ports where possible"
    )
    assumed = [made_up]
    holes = [v for v in range(tree.n_nodes + tree.n_leaves) if v not in names]
    if holes:
        assumed.append("places that the tree has and the file has not come last on their switches")
    return depopulate(tree, [tree.vertex_name(v) for v in holes]), assumed
