"""Inspect a fabric: counts per level, taper, capacities, what is missing or unreachable."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.changes import LeafTapers, leaf_tapers
from netsim.topology.levels import links_in_service, vertex_levels
from netsim.topology.limits import require_topology
from netsim.topology.reach import Unreachable, unreachable
from netsim.topology.structure.irregular import irregularities, link_bundles
from netsim.topology.switches import assumptions_of


@dataclass(frozen=True, slots=True)
class LevelReport:
    """The switches of one level."""

    # links to the nearest node: 1 for leaves and routers with nodes; 0 for switches from which no
    # node can be reached
    level: int
    switches: int
    # down, up, across: cables to lower levels or nodes, to higher levels, and within the level, in
    # all
    down: int
    up: int
    across: int
    # fewest and most parallel cables between a switch and another at its level or above; both 0
    # where it has none
    parallel: tuple[int, int]
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
            "levels": [
                {
                    "level": level.level,
                    "switches": level.switches,
                    "cables_down": level.down,
                    "cables_up": level.up,
                    "cables_across": level.across,
                    "parallel_cables": list(level.parallel),
                    "taper": level.taper,
                }
                for level in self.levels
            ],
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
    level = vertex_levels(topology)
    return TopologyReport(
        topology,
        (*assumed, *assumptions_of(topology)),
        _level_reports(topology, level),
        _link_reports(topology),
        irregularities(topology, level),
        _missing(topology),
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
                down=int(np.count_nonzero(from_below)),
                up=int(np.count_nonzero(up)),
                across=int(np.count_nonzero((tail == number) & (head == number))) // 2,
                parallel=(int(parallel.min()), int(parallel.max())) if parallel.size else (0, 0),
                taper=float(capacity[from_below].sum()) / above if above else None,
            )
        )
    idle = int(np.count_nonzero(switches < 0))
    return reports + ([LevelReport(0, idle, 0, 0, 0, (0, 0), None)] if idle else [])


def _link_reports(topology: Topology) -> list[LinkReport]:
    """Count the links of every kind, and list their capacities."""
    links = np.flatnonzero(links_in_service(topology))
    names, kind = topology.link_kinds(links)
    parts = [topology.capacity[links[kind == number]] for number in range(len(names))]
    return [
        LinkReport(name, rates.size, float(rates.min()), float(rates.max()))
        for name, rates in zip(names, parts, strict=True)
    ]


def _missing(topology: Topology) -> list[int]:
    """Return the vertices that have no cable in service."""
    gone: Bools = np.ones(topology.n_nodes + topology.n_switches, dtype=np.bool_)
    gone[topology.link_tail[links_in_service(topology)]] = False
    return np.flatnonzero(gone).tolist()
