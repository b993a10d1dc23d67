"""Inspect a fabric: counts per level, taper, capacities, what is missing or unreachable."""

import re
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from fabricsim.checking import first_names
from netsim.common.arrays import Bools, Ints
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology, require_topology
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.levels import links_in_service, vertex_levels
from netsim.topology.outage import LeafTapers, leaf_tapers
from netsim.topology.reach import Unreachable, unreachable
from netsim.topology.switches import assumptions_of

_listed_names = partial(first_names, most=20)
_FEW = 0.1  # more slow links than this share of a kind are meant to be so
_GUID = re.compile(r"[HS]-[0-9a-f]{16}")  # as importers call what has no other name


def irregularities(topology: Topology, level: Ints) -> list[str]:
    """Name what is irregular: of importers, roots, hosts, switches, cables unlike their kind."""
    origin = topology.origin
    found = [origin.irregularity] if origin is not None and origin.irregularity else []
    if origin is not None and origin.fake_roots:
        names = _listed_names([topology.vertex_name(root) for root in origin.fake_roots])
        found.append(f"switches that stand for a network the file does not show: {names}")
    found += _nameless_hosts(topology)
    found += _odd_switches(topology, level) + _odd_bundles(topology, level)
    return found + _slow_cables(topology) + _one_way(topology)


def link_bundles(topology: Topology) -> tuple[Ints, Ints]:
    """Return a link of each bundle of parallel links in service, and its number of links."""
    links = np.flatnonzero(links_in_service(topology))
    size = topology.n_nodes + topology.n_switches
    pair = topology.link_tail[links] * size + topology.link_head[links]
    _, first, count = np.unique(pair, return_index=True, return_counts=True)
    return links[first], count


def _nameless_hosts(topology: Topology) -> list[str]:
    """Name the hosts known by a GUID alone."""
    if topology.origin is None:
        return []
    named = (topology.vertex_name(node) for node in range(topology.n_nodes))
    nameless = [name for name in named if _GUID.fullmatch(name)]
    if not nameless:
        return []
    return [
        f"hosts without a name, called by their GUID ({len(nameless)}): {_listed_names(nameless)}"
    ]


def _slow_cables(topology: Topology) -> list[str]:
    """Name the cables that carry less than nearly all of their kind: some of their lanes failed."""
    links = np.flatnonzero(links_in_service(topology))
    names, kind = topology.link_kinds(links)
    lines = []
    for number, name in enumerate(names):
        here = links[kind == number]
        rates, count = np.unique(topology.capacity[here], return_counts=True)
        usual = rates[count.argmax()]
        slow = here[topology.capacity[here] < usual]
        if 0 < slow.size <= _FEW * here.size:
            parts = [
                f"{topology.link_name(link)} {_written_rate(topology.capacity[link])}"
                for link in slow.tolist()
            ]
            lines.append(
                f"{name}: most links carry {_written_rate(usual)} Gb/s, {_listed_names(parts)}"
            )
    return lines


def _one_way(topology: Topology) -> list[str]:
    """Name the cables of which one direction is out of service."""
    works = links_in_service(topology)
    half = np.flatnonzero(works & ~works[topology.reverse])
    if not half.size:
        return []
    names = _listed_names([topology.link_name(x) for x in half.tolist()])
    return [f"cables that work one way only: {names}"]


def _written_rate(rate: float) -> str:
    """Write a capacity in Gb/s."""
    return f"{8 * rate / 1e9:g}"


def _odd_switches(topology: Topology, level: Ints) -> list[str]:
    """Name the switches of a level that have other numbers of cables than most."""
    works = links_in_service(topology)
    tail, head = topology.link_tail[works], topology.link_head[works]
    cables = np.bincount(tail, minlength=level.size)
    uplinks = np.bincount(tail[level[head] > level[tail]], minlength=level.size)
    lines = []
    for number in sorted(set(level[topology.n_nodes :].tolist())):
        here = topology.n_nodes + np.flatnonzero(level[topology.n_nodes :] == number)
        if number < 0:
            names = _listed_names([topology.vertex_name(int(s)) for s in here])
            lines.append(f"no node can be reached from {names}")
            continue
        for count, word in ((cables, "cables"), (uplinks, "cables upwards")):
            usual = Counter(count[here].tolist()).most_common(1)[0][0]
            odd = here[count[here] != usual]
            if odd.size:
                parts = [f"{topology.vertex_name(int(s))} has {count[s]}" for s in odd]
                lines.append(
                    f"level {number}: most switches have {usual} {word}, {_listed_names(parts)}"
                )
    return lines


def _odd_bundles(topology: Topology, level: Ints) -> list[str]:
    """Name the switches whose parents do not all have the same number of cables."""
    first, count = link_bundles(topology)
    tail, head = topology.link_tail[first], topology.link_head[first]
    up = (tail >= topology.n_nodes) & (level[head] > level[tail])
    sizes: dict[int, set[int]] = {}
    for switch, size in zip(tail[up].tolist(), count[up].tolist(), strict=True):
        sizes.setdefault(switch, set()).add(size)
    odd = {switch: sorted(own) for switch, own in sizes.items() if len(own) > 1}
    if not odd:
        return []
    parts = [
        f"{topology.vertex_name(switch)} ({', '.join(map(str, own))})"
        for switch, own in odd.items()
    ]
    return [f"unequal bundles of cables to the switches above: {_listed_names(parts)}"]


@dataclass(frozen=True, slots=True)
class LevelReport:
    """The switches of one level."""

    # links to the nearest node: 1 for leaves and routers with nodes; 0 for switches from which no
    # node can be reached
    level: int
    switches: int
    # cables_down, cables_up, cables_across: to lower levels or nodes, to higher levels, and within
    # the level, in all
    cables_down: int
    cables_up: int
    cables_across: int
    # fewest and most parallel cables between a switch and another at its level or above; both 0
    # where it has none
    parallel_cables: list[int]
    taper: float | None  # capacity from below / capacity to above; None at the top


@dataclass(frozen=True, slots=True)
class LinkReport:
    """The links of one kind."""

    name: str  # kind of link
    links: int  # directed links that work
    # slowest, fastest: bytes per second
    slowest: float
    fastest: float


@dataclass(frozen=True, slots=True, eq=False)
class TopologyReport:
    """What a topology is made of."""

    topology: Topology
    assumed: tuple[str, ...]  # what was not said and had to be assumed
    levels: list[LevelReport]  # from the leaves up
    links: list[LinkReport]  # by kind
    irregular: list[str]  # what a regular fabric would not have, a sentence each
    # nodes and switches of the numbering that are not there: never installed, or without a cable in
    # service
    missing: list[int]
    lost: Unreachable  # nodes and pairs of nodes that no path connects
    leaves: LeafTapers  # capacity of every switch with nodes from these, and to other switches

    @property
    def n_nodes(self) -> int:
        """Nodes with a cable: places of a tree that nothing fills are not counted."""
        return self.topology.n_nodes - sum(own < self.topology.n_nodes for own in self.missing)

    @property
    def n_switches(self) -> int:
        """Switches with a cable: those of a tree that are not there are not counted."""
        return self.topology.n_switches - sum(own >= self.topology.n_nodes for own in self.missing)

    def to_dict(self) -> dict[str, Any]:
        """Return what `fabricsim topology inspect --json` prints."""
        topology = self.topology
        absent = 0 if topology.absent is None else topology.absent.size
        lost = [topology.vertex_name(node) for node in self.lost.nodes.tolist()]
        roots = topology.origin.fake_roots if topology.origin is not None else ()
        return {
            "name": topology.name,
            "nodes": self.n_nodes,
            "usable_nodes": int(topology.usable_nodes.size),
            "switches": self.n_switches,
            "links": topology.n_links,
            "absent_links": absent,
            "half_duplex": topology.half_duplex,
            "latency_base_s": topology.latency_base_s,
            "latency_per_link_s": topology.latency_per_link_s,
            "buffer_bytes": topology.buffer_bytes,
            "packet_bytes": topology.packet_bytes,
            "levels": [asdict(level) for level in self.levels],
            "link_classes": [
                {
                    "class": kind.name,
                    "links": kind.links,
                    "slowest_bytes_per_s": kind.slowest,
                    "fastest_bytes_per_s": kind.fastest,
                }
                for kind in self.links
            ],
            "assumed": list(self.assumed),
            "irregular": self.irregular,
            "fake_roots": [topology.vertex_name(root) for root in roots],
            "missing": [topology.vertex_name(vertex) for vertex in self.missing],
            "unreachable": {"nodes": lost, "pairs": self.lost.n_pairs},
            "leaves": [
                {
                    "leaf": topology.vertex_name(leaf),
                    "from_nodes_bytes_per_s": below,
                    "to_switches_bytes_per_s": above,
                    "taper": taper if above else None,
                }
                for leaf, below, above, taper in zip(
                    *(part.tolist() for part in self.leaves.columns), strict=True
                )
            ],
        }


def inspect_topology(topology: Topology, assumed: tuple[str, ...] = ()) -> TopologyReport:
    """
    Look at a fabric.

    Parameters
    ----------
    topology : Topology
        The fabric.
    assumed : tuple of str
        What its description left open, besides what the topology says itself.

    Returns
    -------
    TopologyReport
        Counts, capacities and what is not as it should be.

    Examples
    --------
    >>> from netsim.registries.topologies import make_topology
    >>> report = inspect_topology(make_topology("cab"))
    >>> [(level.switches, level.taper) for level in report.levels]
    [(72, 1.0), (72, 1.0), (36, None)]
    """
    require_topology(topology, TopologyError)
    if isinstance(topology, GpuCluster):
        topology = topology.between_hosts()
    level = vertex_levels(topology)
    return TopologyReport(
        topology,
        (*assumed, *assumptions_of(topology)),
        _level_reports(topology, level),
        _link_reports(topology),
        irregularities(topology, level),
        _missing_vertices(topology),
        unreachable(topology),
        leaf_tapers(topology),
    )


def _level_reports(topology: Topology, level: Ints) -> list[LevelReport]:
    """Count the switches of every level, and the cables between levels."""
    works = links_in_service(topology)
    tail, head = level[topology.link_tail[works]], level[topology.link_head[works]]
    capacity = topology.capacity[works]
    first, count = link_bundles(topology)
    a, b = level[topology.link_tail[first]], level[topology.link_head[first]]
    switches = level[topology.n_nodes :]
    reports = []
    for number in sorted(set(switches[switches > 0].tolist())):
        up = (tail == number) & (head > number)
        from_below = (head == number) & (tail < number)
        above = float(capacity[up].sum())
        parallel = count[(a == number) & (b >= number)]
        reports.append(
            LevelReport(
                level=number,
                switches=int(np.count_nonzero(switches == number)),
                cables_down=int(np.count_nonzero(from_below)),
                cables_up=int(np.count_nonzero(up)),
                cables_across=int(np.count_nonzero((tail == number) & (head == number))) // 2,
                parallel_cables=[int(parallel.min()), int(parallel.max())]
                if parallel.size
                else [0, 0],
                taper=float(capacity[from_below].sum()) / above if above else None,
            )
        )
    idle = int(np.count_nonzero(switches < 0))
    return reports + ([LevelReport(0, idle, 0, 0, 0, [0, 0], None)] if idle else [])


def _link_reports(topology: Topology) -> list[LinkReport]:
    """Count the links of every kind, and list their capacities."""
    links = np.flatnonzero(links_in_service(topology))
    names, kind = topology.link_kinds(links)
    parts = [topology.capacity[links[kind == number]] for number in range(len(names))]
    return [
        LinkReport(name, rates.size, float(rates.min()), float(rates.max()))
        for name, rates in zip(names, parts, strict=True)
    ]


def _missing_vertices(topology: Topology) -> list[int]:
    """Return the vertices that have no cable in service."""
    gone: Bools = np.ones(topology.n_nodes + topology.n_switches, dtype=np.bool_)
    gone[topology.link_tail[links_in_service(topology)]] = False
    return np.flatnonzero(gone).tolist()
