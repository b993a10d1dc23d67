"""The packet simulation on scenes that CODES on ROSS played on tori, meshes and dragonflies."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from measured.judge import Judged, close
from measured.packets import BANDWIDTH, CONTENDED, errors
from netsim.common.arrays import Floats, Ints
from netsim.flows.contention import Traffic
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.routings import make_routing
from netsim.routing.base import Routing
from netsim.routing.dragonfly import Minimal, Valiant
from netsim.routing.multipath import as_routed
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly, build_dragonfly
from netsim.topology.fattree import fat_tree_of_radix
from netsim.topology.routes import Routes
from netsim.topology.switches import Switch, switch_of
from netsim.topology.torus import build_torus
from scheduler.traffic import RankFlows

KEPT = Path(__file__).parents[2] / "benchmarks" / "contention" / "codes_fabrics.json"
SEEDS = 4  # orders of messages in a NIC; the other program draws one
_AT_ONCE = 1e13  # bytes per second of cables that take no time
_APART_S = 1e-12  # between the starts of small flows
SAME = (  # runs in which CODES does what the simulation says it does
    "dragonfly, minimal, channels first come",
    "dragonfly, Valiant, channels first come",
    "dragonfly, adaptive, queues times links",
    "mesh, no bubble",
    "torus, dateline",
    "torus, dateline, channels first come",
    "full tree, adaptive, ties by turns",
)
QUOTED = {  # runs that results quote, of CODES as it is: machine, routing and nodes
    "dragonfly, minimal": ("dragonfly", "minimal", 72),
    "dragonfly, Valiant": ("dragonfly", "valiant", 72),
    "dragonfly, adaptive": ("dragonfly", "adaptive", 72),
    "full tree, adaptive": ("full fat-tree", "adaptive", 128),
}
BARS = (  # run, quantity, least, most
    *((name, "alone mean", 0.0, 0.6) for name in SAME),
    *((name, "mean", 0.0, 0.8) for name in SAME),
    *((name, "contended", 0.0, 1.0) for name in SAME),
    *((name, "bias", 0.97, 1.03) for name in SAME),
    ("dragonfly, minimal, channels first come", "small", 1.0, 1.0),
    ("dragonfly, Valiant, channels first come", "small", 1.0, 1.0),
    ("mesh, no bubble", "small", 1.0, 1.0),
    ("torus, dateline, channels first come", "small", 1.0, 1.0),
    ("full tree, adaptive", "small", 0.9, 1.0),
    ("dragonfly, minimal", "mean", 0.0, 2.0),
    ("dragonfly, minimal", "bias", 0.95, 1.05),
    ("dragonfly of 342 nodes, minimal", "mean", 0.0, 2.0),
    ("dragonfly of 342 nodes, minimal", "bias", 0.95, 1.05),
    ("full tree, adaptive", "mean", 0.0, 1.5),
    ("mesh, adaptive, one escape", "mean", 0.0, 2.5),
    ("mesh, adaptive, one escape", "bias", 0.9, 1.1),
)


class _MinimalInside(Dragonfly):
    """A dragonfly whose packets go minimally inside a group, as CODES has it."""

    def thirds(self, rule: str) -> tuple[int, int]:
        """Return the groups by a third one of which packets may go."""
        return super().thirds(rule)[0], 0


def _dragonfly(routers: int) -> Dragonfly:
    """
    Return a dragonfly with the cables of CODES' `dragonfly`.

    A group's cable to group t is at router ``t mod routers``; that to the last group at router
    ``own number mod routers``.
    """
    groups = routers * (routers // 2) + 1
    own = np.arange(groups)[:, None]
    peer = np.arange(groups - 1) + (np.arange(groups - 1) >= own)
    gateways = np.where(peer == groups - 1, own, peer) % routers
    built = build_dragonfly(
        groups,
        routers,
        BANDWIDTH,
        nodes_per_router=routers // 2,
        gateways=gateways[:, :, None],
    )
    return _MinimalInside(**{field.name: getattr(built, field.name) for field in fields(built)})


FABRICS: Mapping[str, Callable[[], Topology]] = {
    "dragonfly of 72 nodes": lambda: _dragonfly(4),
    "dragonfly of 342 nodes": lambda: _dragonfly(6),
    "mesh 4x4x4, 2 nodes a router": lambda: build_torus(
        [4, 4, 4], BANDWIDTH, nodes_per_router=2, wrap=[False] * 3
    ),
    "torus 5x5x5": lambda: build_torus([5, 5, 5], BANDWIDTH),
    "torus 5x5x5, nodes in the routers": lambda: build_torus([5, 5, 5], (_AT_ONCE, BANDWIDTH)),
    "full tree of 128 nodes": lambda: fat_tree_of_radix(8, BANDWIDTH),
}
"""By the names in the file; on the torus no two ways round a ring are equally long."""


@dataclass(frozen=True, slots=True)
class Between:
    """Valiant routing between groups, minimal routing within one, as CODES does."""

    minimal: Minimal
    valiant: Valiant

    def routes(self, src: Ints, dst: Ints) -> Routes:
        """Route flows between nodes."""
        topology = self.minimal.topology
        size = topology.routers_per_group * topology.nodes_per_router
        near, far = self.minimal.routes(src, dst), self.valiant.routes(src, dst)
        rows = [
            (near if here else far).of_flow(flow).tolist()
            for flow, here in enumerate((src // size == dst // size).tolist())
        ]
        return Routes.from_lists(rows, near.n_links)


def routing_of(name: str, fabric: Topology) -> Routing | Between:
    """Return the routing of a run."""
    if name != "valiant":
        return make_routing(name, fabric)
    return Between(Minimal.on(fabric), Valiant.on(fabric, 0))


def traffic_of(routing: Routing | Between, job: Mapping[str, Any]) -> Traffic:
    """Return the traffic of a job of the file."""
    flows = [
        (number, *flow)
        for number, step in enumerate(job["steps"])
        for flow in zip(*step, strict=True)
    ]
    step, src, dst = (np.array(column) for column in zip(*flows, strict=True))
    found = RankFlows(step, src, dst, np.full(step.size, float(job["bytes"])))
    nodes = np.array(job["nodes"])
    routes = routing.routes(nodes[found.src], nodes[found.dst])
    sender, none = nodes[found.src], np.zeros(step.size)
    return Traffic(step, sender, found.nbytes, routes, 1e-9 * job["compute_ns"], none)


@dataclass(frozen=True, slots=True)
class Small:
    """A few flows that start at once: how far their ends are off, and CODES from itself."""

    name: str
    packets: float
    relative: float
    again: float

    @property
    def close(self) -> bool:
        """Whether the ends are as near as wanted, or as CODES is to itself."""
        return close(self.packets, self.relative) or self.packets <= self.again


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Jobs of a run of both programs, the same of CODES run twice, and the small scenes."""

    own: Judged
    again: Judged
    small: Sequence[Small]

    @property
    def contended(self) -> int:
        """Jobs that CODES slows by more than a twentieth."""
        return int(np.count_nonzero(self.own.true > CONTENDED))

    def quantities(self) -> dict[str, float]:
        """Return what bars are about, errors in per cent."""
        rank = errors(self.own.true, self.own.together).rank
        noise = self.again.quantities()
        return self.own.quantities() | {
            "rank": rank,
            "small": float(np.mean([one.close for one in self.small])),
            "noise": noise["mean"],
            "noise contended": noise["contended"],
            "noise worst": noise["worst"],
        }


def read(path: Path = KEPT) -> dict[str, Any]:
    """Return the scenes and what CODES said of them."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def compared(document: Mapping[str, Any], name: str, every: int = 1) -> Compared:
    """Simulate the scenes of a run, or every n-th of them."""
    said = document["runs"][name]
    fabric = FABRICS[said["fabric"]]()
    routing = routing_of(said["routing"], fabric)
    seen = as_routed(fabric, routing) if not isinstance(routing, Between) else fabric
    scenes, switch = document["scenes"][said["scenes"]], switch_of(None, said["switch"])
    rows = []
    for number in range(0, len(scenes), every):
        jobs = scenes[number]
        times = simulate_packets(
            {place: traffic_of(routing, job) for place, job in enumerate(jobs)},
            seen,
            switch,
            start_s={place: 1e-9 * job["start_ns"] for place, job in enumerate(jobs)},
            slowest_does=document["iterations"]["together"],
            seed=number,
        ).jobs
        for place in range(len(jobs)):
            true = (said[key][number][place] for key in ("alone_ns", "together_ns", "again_ns"))
            rows.append((1e9 * times[place].alone_s, times[place].interference, *true))
    alone, together, alone_ns, together_ns, again_ns = np.array(rows).T
    true, again = together_ns / alone_ns, again_ns / alone_ns
    n_scenes = len(range(0, len(scenes), every))
    small = [
        _small(
            (routing, seen, switch), scene, said["small_ns"][number], said["small_again_ns"][number]
        )
        for number, scene in enumerate(document["small"][said["scenes"]])
    ]
    return Compared(
        Judged(n_scenes, alone, alone_ns, together, true),
        Judged(n_scenes, alone_ns, alone_ns, again, true),
        small,
    )


def _small(
    machine: tuple[Routing | Between, Topology, Switch],
    scene: Mapping[str, Any],
    true: Sequence[float],
    again: Sequence[float],
) -> Small:
    """Compare the ends of some flows, the best of several orders in the NICs."""
    routing, fabric, switch = machine
    ends, packet_ns = np.sort(true), 1e9 * switch.packet_bytes / BANDWIDTH
    parts = {
        number: traffic_of(
            routing, {"nodes": [src, dst], "steps": [[[0], [1]]], "bytes": size, "compute_ns": 0.0}
        )
        for number, (src, dst, size) in enumerate(scene["flows"])
    }
    best = (np.inf, np.inf)
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(len(parts))
        off = np.abs(np.sort(_ends_ns(parts, fabric, switch, order, seed)) - ends)
        best = min(best, (float(off.max() / packet_ns), float((off / ends).max())))
    noise = np.abs(np.sort(again) - ends).max() / packet_ns
    return Small(scene["name"], *best, float(noise))


def _ends_ns(
    parts: Mapping[int, Traffic], fabric: Topology, switch: Switch, order: Ints, seed: int
) -> Floats:
    """Return when flows end that start in some order, as good as at once."""
    times = simulate_packets(
        parts,
        fabric,
        switch,
        start_s={number: _APART_S * float(order[number]) for number in parts},
        iterations=dict.fromkeys(parts, 1),
        seed=seed,
    ).jobs
    return np.array([1e9 * float(times[number].end_s or 0.0) for number in parts])
