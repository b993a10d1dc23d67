"""Inspect a topology: counts per level, taper, capacities, what is irregular or unreachable."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from netsim.arrays import Bools, Ints
from netsim.topology.base import Topology
from netsim.topology.outage import Unreachable, unreachable

_LISTED = 20  # names of each kind that are given


@dataclass(frozen=True, slots=True)
class LevelReport:
    """
    The switches of one level.

    Parameters
    ----------
    level : int
        Links to the nearest node: 1 for leaves and routers with nodes; 0 for switches from
        which no node can be reached.
    switches : int
        Switches.
    down, up, across : int
        Cables to lower levels or nodes, to higher levels, and within the level, in all.
    taper : float or None
        Capacity from below / capacity to above; None at the top.
    """

    level: int
    switches: int
    down: int
    up: int
    across: int
    taper: float | None


@dataclass(frozen=True, slots=True)
class LinkReport:
    """
    The links of one kind.

    Parameters
    ----------
    name : str
        Kind of link.
    links : int
        Directed links that work.
    slowest, fastest : float
        Bytes per second.
    """

    name: str
    links: int
    slowest: float
    fastest: float


@dataclass(frozen=True, slots=True, eq=False)
class Inspection:
    """
    What a topology is made of.

    Parameters
    ----------
    topology : Topology
        The fabric.
    assumed : tuple of str
        What was not said and had to be assumed.
    levels : list of LevelReport
        From the leaves up.
    links : list of LinkReport
        By kind.
    irregular : list of str
        What a regular fabric would not have, a sentence each.
    lost : Unreachable
        Nodes and pairs of nodes that no path connects.
    """

    topology: Topology
    assumed: tuple[str, ...]
    levels: list[LevelReport]
    links: list[LinkReport]
    irregular: list[str]
    lost: Unreachable

    def to_dict(self) -> dict[str, Any]:
        """
        Return what `fabricsim topology inspect --json` prints.

        Returns
        -------
        dict
            Fields as in docs/commands.md.
        """
        topology = self.topology
        absent = 0 if topology.absent is None else topology.absent.size
        names = [topology.vertex_name(node) for node in self.lost.nodes.tolist()]
        return {
            "name": topology.name,
            "nodes": topology.n_nodes,
            "usable_nodes": int(topology.usable_nodes.size),
            "switches": topology.n_switches,
            "links": topology.n_links,
            "absent_links": absent,
            "half_duplex": topology.half_duplex,
            "latency_base_s": topology.latency_base_s,
            "latency_per_link_s": topology.latency_per_link_s,
            "levels": [
                {
                    "level": level.level,
                    "switches": level.switches,
                    "cables_down": level.down,
                    "cables_up": level.up,
                    "cables_across": level.across,
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
            "unreachable": {"nodes": names, "pairs": int(self.lost.pairs.shape[0])},
        }


def inspect(topology: Topology, assumed: tuple[str, ...] = ()) -> Inspection:
    """
    Look at a topology.

    Parameters
    ----------
    topology : Topology
        The fabric.
    assumed : tuple of str
        What its description left open, besides what the topology says itself.

    Returns
    -------
    Inspection
        Counts, capacities and what is not as it should be.
    """
    works = np.ones(topology.n_links, dtype=np.bool_)
    if topology.absent is not None:
        works[topology.absent] = False
    level = _levels(topology, works)
    origin = topology.origin
    irregular = [origin.irregularity] if origin is not None and origin.irregularity else []
    if origin is not None and origin.fake_roots:
        names = _listed([topology.vertex_name(root) for root in origin.fake_roots])
        irregular.append(f"switches that stand for a network the file does not show: {names}")
    return Inspection(
        topology,
        (*assumed, *(origin.assumed if origin is not None else ())),
        _level_reports(topology, works, level),
        _link_reports(topology, works),
        irregular + _odd_switches(topology, works, level),
        unreachable(topology),
    )


def _levels(topology: Topology, works: Bools) -> Ints:
    """Return for every vertex the links to the nearest node: 0 for nodes, -1 where none is."""
    level = np.full(topology.n_nodes + topology.n_switches, -1, dtype=np.int64)
    level[: topology.n_nodes] = 0
    tail, head = topology.link_tail[works], topology.link_head[works]
    for depth in range(topology.n_switches):
        ring = np.unique(head[(level[tail] == depth) & (level[head] < 0)])
        if not ring.size:
            break
        level[ring] = depth + 1
    return level


def _level_reports(topology: Topology, works: Bools, level: Ints) -> list[LevelReport]:
    """Count the switches of every level, and the cables between levels."""
    tail, head = level[topology.link_tail[works]], level[topology.link_head[works]]
    capacity = topology.capacity[works]
    reports = []
    switches = level[topology.n_nodes :]
    for number in sorted(set(switches[switches > 0].tolist())):
        up = (tail == number) & (head > number)
        from_below = (head == number) & (tail < number)
        above = float(capacity[up].sum())
        reports.append(
            LevelReport(
                level=number,
                switches=int(np.count_nonzero(switches == number)),
                down=int(np.count_nonzero(from_below)),
                up=int(np.count_nonzero(up)),
                across=int(np.count_nonzero((tail == number) & (head == number))) // 2,
                taper=float(capacity[from_below].sum()) / above if above else None,
            )
        )
    idle = int(np.count_nonzero(switches < 0))
    return reports + ([LevelReport(0, idle, 0, 0, 0, None)] if idle else [])


def _link_reports(topology: Topology, works: Bools) -> list[LinkReport]:
    """Count the links of every kind, and tell their capacities."""
    kinds: dict[str, list[float]] = {}
    for link in np.flatnonzero(works).tolist():
        kinds.setdefault(topology.link_class(link), []).append(float(topology.capacity[link]))
    return [LinkReport(name, len(found), min(found), max(found)) for name, found in kinds.items()]


def _odd_switches(topology: Topology, works: Bools, level: Ints) -> list[str]:
    """Name the switches of a level that have other numbers of cables than most."""
    cables = np.bincount(topology.link_tail[works], minlength=level.size)
    lines = []
    for number in sorted(set(level[topology.n_nodes :].tolist())):
        here = topology.n_nodes + np.flatnonzero(level[topology.n_nodes :] == number)
        if number < 0:
            names = _listed([topology.vertex_name(int(s)) for s in here])
            lines.append(f"no node can be reached from {names}")
            continue
        usual = Counter(cables[here].tolist()).most_common(1)[0][0]
        odd = here[cables[here] != usual]
        if odd.size:
            parts = [f"{topology.vertex_name(int(s))} has {cables[s]}" for s in odd]
            lines.append(f"level {number}: most switches have {usual} cables, {_listed(parts)}")
    return lines


def _listed(names: list[str]) -> str:
    """Join names, and count those after the first."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
