"""Node tables: which leaf, and which pod, each node is in; the cables above are made up."""

from dataclasses import replace

from netsim.common.errors import TopologyError
from netsim.formats.importers.rows import find_column, need_column, read_rows
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
from netsim.topology.partial import depopulate

FORM = "node-csv"
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
        raise TopologyError(f"{source}: no node in it, read as {FORM!r}.")
    return _tree(list(pods.values()), source, settings)


def untapered_shape(
    nodes: int, leaves: int, pods: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return m, w, p of an untapered tree with few switches, of 2 * nodes ports if possible."""
    radix = 2 * nodes
    if pods == 1:
        p = _bundle(nodes, radix // leaves)
        return (nodes, leaves), (1, nodes // p), (1, p)
    p = _bundle(nodes, nodes // leaves)
    up = leaves * p
    q = _bundle(up, radix // pods)
    return (nodes, leaves, pods), (1, nodes // p, up // q), (1, p, q)


def _bundle(ports: int, most: int) -> int:
    """Return the largest divisor of a number of ports up to a bound, 1 at least."""
    return max((d for d in range(1, ports + 1) if ports % d == 0 and d <= most), default=1)


def _tree(pods: list[Leaves], source: str, settings: Settings) -> Topology:
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
    return replace(tree, origin=Origin(source, FORM, labels, tuple(assumed), aliases=aliases))


def _with_holes(tree: FatTree, names: dict[int, str]) -> tuple[FatTree, list[str]]:
    """Take out the places that no row names, and say what was assumed."""
    above = tree.n_switches - tree.n_leaves
    made_up = (
        f"the file ends at the leaves: {above} switches above them, as in {tree.name}, with no "
        f"taper and at most {2 * tree.children[0]} ports where possible"
    )
    assumed = [made_up]
    holes = [v for v in range(tree.n_nodes + tree.n_leaves) if v not in names]
    if holes:
        assumed.append("places that the tree has and the file has not come last on their switches")
    return depopulate(tree, [tree.vertex_name(v) for v in holes]), assumed
