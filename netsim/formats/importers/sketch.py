"""Sketch: nodes, switches and cables by name, as a file lists them, and the fabric they make."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from netsim.common.arrays import Floats, Ints, occurrence_numbers
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.building import cable_rates, latency_seconds
from netsim.topology.fattree import FatTree
from netsim.topology.levels import vertex_levels
from netsim.topology.names import Origin
from netsim.topology.structure.embed import embed_tree
from netsim.topology.structure.recognise import Recognition, recognise_tree

DEFAULT_BANDWIDTH = 12.5e9  # bytes per second: 100 Gb/s, where neither file nor user says
_UNFIT = str.maketrans(dict.fromkeys(" \t\r\n,[]>#", "_"))  # letters of lists and link names


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user says of a fabric besides its file."""

    # bytes per second or ``"100 Gb/s"`` of all cables, or of each level's from the node link up;
    # the file's own where None
    bandwidth: float | tuple[float, ...] | None = None
    half_duplex: bool = False  # both directions of a cable share one capacity
    # latency_base_s, latency_per_link_s: latency of a path of n links: base + per_link * (n - 1),
    # in seconds or as ``"315 ns"``
    latency_base_s: float = 0.0
    latency_per_link_s: float = 0.0
    states_latency: bool = False  # whether the user says these; else the file's own hold
    # better names than those in the file, by the file's name or GUID
    names: dict[str, str] = field(default_factory=dict)
    host_pattern: str | None = None  # what the host is in the names of adapters

    def __post_init__(self) -> None:
        """Read quantities with units."""
        for name in ("latency_base_s", "latency_per_link_s"):
            object.__setattr__(self, name, latency_seconds(getattr(self, name)))
        if self.bandwidth is not None:
            rates = cable_rates(self.bandwidth)
            one = isinstance(self.bandwidth, (int, float, str))
            object.__setattr__(self, "bandwidth", rates[0] if one else rates)


@dataclass(slots=True)
class Sketch:
    """A fabric while its file is read."""

    source: str
    form: str
    # nodes, switches: number of every node and switch among its kind, in the order of the file
    nodes: dict[str, int] = field(default_factory=dict)
    switches: dict[str, int] = field(default_factory=dict)
    # ends of every cable, and its bytes per second where the file gives them
    cables: list[tuple[str, str, float | None]] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)  # what had to be assumed
    # switches that stand for a network which the file does not show
    fake_roots: list[str] = field(default_factory=list)
    included: list[str] = field(default_factory=list)  # other files that this one includes

    def add_node(self, name: str) -> None:
        """Take note of a node."""
        self.nodes.setdefault(name, len(self.nodes))

    def add_switch(self, name: str) -> None:
        """Take note of a switch."""
        self.switches.setdefault(name, len(self.switches))

    def join(self, a: str, b: str, rate: float | None = None, count: int = 1) -> None:
        """Take note of parallel cables, with bytes per second of each where the file says."""
        self.cables += [(a, b, rate)] * count

    def build(self, settings: Settings) -> Topology:
        """Return the fabric: a fat-tree where the wiring is a PGFT, else a graph."""
        if not self.nodes or not self.cables:
            what = "node" if not self.nodes else "cable"
            raise TopologyError(f"{self.source}: no {what} in it, read as {self.form!r}.")
        graph = self._graph(settings)
        labels = fit_labels(
            [*self.nodes, *self.switches], settings.names, self.assumed, self.source
        )
        roots = tuple(len(self.nodes) + self.switches[name] for name in self.fake_roots)
        aliases = other_names([*self.nodes, *self.switches], labels)
        origin = Origin(self.source, self.form, labels, tuple(self.assumed), "", roots, aliases)
        graph = replace(graph, origin=replace(origin, included=tuple(self.included)))
        return as_tree(graph)

    def _graph(self, settings: Settings) -> Topology:
        """Return the vertices and cables as arrays."""
        number = {**{name: len(self.nodes) + i for name, i in self.switches.items()}, **self.nodes}
        ends = np.array([(number[a], number[b]) for a, b, _ in self.cables], dtype=np.int64)
        low, high = ends.min(axis=1), ends.max(axis=1)
        order = np.lexsort((high, low))  # stable: parallel cables stay in the order of the file
        a, b = ends[order].T
        n_cables = order.size
        graph = Topology(
            name=f"{self.form} {self.source.rpartition('/')[2]}",
            n_nodes=len(self.nodes),
            n_switches=len(self.switches),
            link_tail=np.concatenate([a, b]),
            link_head=np.concatenate([b, a]),
            link_cable=np.tile(occurrence_numbers((low * len(number) + high)[order]), 2),
            capacity=np.ones(2 * n_cables),
            channel=np.tile(np.arange(n_cables), 2)
            if settings.half_duplex
            else np.arange(2 * n_cables),
            latency_base_s=settings.latency_base_s,
            latency_per_link_s=settings.latency_per_link_s,
        )
        rates = [self.cables[i][2] for i in order.tolist()] * 2
        graph = replace(graph, capacity=fit_capacities(graph, rates, settings, self.assumed))
        idle = np.setdiff1d(np.arange(graph.n_nodes), graph.link_tail)
        if idle.size:
            names = list(self.nodes)
            self.assumed.append(
                f"nodes without a cable ({idle.size}, {names[idle[0]]} first) take no jobs"
            )
            usable = np.setdiff1d(np.arange(graph.n_nodes), idle)
            graph = replace(graph, usable=usable)
        return graph


def as_tree(graph: Topology) -> Topology:
    """Return an imported graph as a fat-tree; where it is none, its origin says why."""
    origin = graph.origin
    if origin is None:
        return graph
    try:
        found = recognise_tree(graph)
    except TopologyError as error:
        return replace(graph, origin=replace(origin, irregularity=str(error)))
    return _labelled(found, origin, ())


def in_tree(graph: Topology) -> Topology:
    """Return an imported graph in the smallest fat-tree that holds it; the rest is lost."""
    origin = graph.origin
    if isinstance(graph, FatTree) or origin is None:
        return graph
    found, n_lost = embed_tree(graph)
    tree = found.tree
    cables = np.count_nonzero(found.link[tree.up_base[1] : tree.down_base[1]] >= 0)
    places = tree.counts[1] * tree.ports[1]
    assumed = [
        f"taken as a {tree.summary}, of which {cables} of {places} uplinks of leaves are there"
    ]
    if n_lost:
        assumed.append(f"cables that this tree has no place for ({n_lost}) are left out")
    return _labelled(found, replace(origin, irregularity=""), assumed)


def _labelled(found: Recognition, origin: Origin, more: Sequence[str]) -> FatTree:
    """Return a tree with the names of the file."""
    tree = found.tree
    place = {int(v): x for x, v in enumerate(found.vertex.tolist()) if v >= 0}
    own = [origin.labels[v] if v >= 0 else None for v in found.vertex.tolist()]
    assumed = [*more, *origin.assumed]
    if tree.absent is not None:
        assumed.append("places that the tree has and the file has not come last on their switches")
    return replace(
        tree,
        origin=replace(
            origin,
            labels=complete_labels(tree, own),
            assumed=tuple(assumed),
            fake_roots=tuple(place[root] for root in origin.fake_roots if root in place),
            aliases=tuple((name, place[at]) for name, at in origin.aliases if at in place),
        ),
    )


def complete_labels(topology: Topology, own: Sequence[str | None]) -> tuple[str, ...]:
    """Give usual names to vertices without one; ``~`` before those that the file uses elsewhere."""
    taken = {name for name in own if name is not None}
    labels = []
    for vertex, name in enumerate(own):
        label = topology.vertex_name(vertex) if name is None else name
        while name is None and label in taken:
            label = f"~{label}"
        labels.append(label)
    return tuple(labels)


def fit_labels(
    names: Sequence[str], better: dict[str, str], assumed: list[str], source: str
) -> tuple[str, ...]:
    """Return names that links and lists can be written with; `assumed` takes the changes."""
    labels = [better.get(name, name).translate(_UNFIT) for name in names]
    pairs = zip(names, labels, strict=True)
    changed = [name for name, label in pairs if better.get(name, name) != label]
    if changed:
        assumed.append(
            f"blanks and ,[]># in names ({len(changed)}, {changed[0]!r} first) are written '_'"
        )
    seen: dict[str, str] = {}
    for name, label in zip(names, labels, strict=True):
        if seen.get(label) == name:
            raise TopologyError(f"{source}: {name!r} is the name of a node and of a switch.")
        if label in seen:
            raise TopologyError(
                f"{source}: {seen[label]!r} and {name!r} would both be called {label!r}."
            )
        seen[label] = name
    if "" in seen:
        raise TopologyError(
            f"{source}: expected a name for every node and switch, got an empty one."
        )
    if any(label.isdecimal() for label in labels):
        assumed.append("a number in quotes is the file's name, one without is a node's number")
    return tuple(labels)


def other_names(names: Sequence[str], labels: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Return the names of a file that its labels do not have."""
    pairs = enumerate(zip(names, labels, strict=True))
    return tuple((name, vertex) for vertex, (name, label) in pairs if name != label)


def fit_capacities(
    graph: Topology,
    rates: Sequence[float | None],
    settings: Settings,
    assumed: list[str],
) -> Floats:
    """Return the capacity of every link (E,), in bytes per second."""
    if settings.bandwidth is None:
        silent = sum(rate is None for rate in rates)
        if silent:
            cables = "all" if silent == len(rates) else f"{silent // 2}"
            assumed.append(
                f"cables without a capacity in the file ({cables}): 100 Gb/s in each direction"
            )
        return np.array([DEFAULT_BANDWIDTH if rate is None else rate for rate in rates])
    given = settings.bandwidth
    step = link_levels(graph)
    n_levels = int(step.max()) + 1
    values = given if isinstance(given, tuple) else (given,) * n_levels
    if len(values) != n_levels:
        raise TopologyError(
            f"bandwidth must be one value, or one for each of {n_levels} levels, got {len(values)}."
        )
    if any(rate is not None for rate in rates):
        assumed.append("the bandwidth given goes before that of the file")
    return np.array(values, dtype=float)[step]


def link_levels(graph: Topology) -> Ints:
    """Return the level of each link's lower end (E,): 0 for links of nodes, 1 of leaves, ..."""
    level = vertex_levels(graph)
    level = np.where(level < 0, level.max(), level)  # where no node is near, as the farthest
    step: Ints = np.minimum(level[graph.link_tail], level[graph.link_head])
    return step
