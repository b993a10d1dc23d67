"""Scenes on every kind of machine under several routings, and what packets say of them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from measured.draws import draw_pattern
from measured.packets import as_sized
from netsim.common.arrays import Floats, Ints
from netsim.flows.contention import Traffic, rounds_written_out
from netsim.flows.latency import LatencyOf
from netsim.flows.partition import Partition
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.routing.base import Routing
from netsim.routing.multipath import as_routed
from netsim.topology.base import Topology
from netsim.topology.switches import Switch
from patterns.base import Pattern, slot_of_rank
from scheduler.traffic import RankFlows, TrafficOf, rank_flows

ITERATIONS = 12  # of the slowest job of a scene; the first does not count
FRACTION = (0.1, 1.0)
ITERATION_S = (1e-4, 6e-4)  # ideal, drawn log-uniformly; shorter where a scene would take long
JOBS = (3, 8)
PER_NODE = (1, 1, 2, 4, 8)
FILL = (0.6, 1.0)  # of the nodes that jobs ask for
_LONG_HOPS = 6e6
_RATE = 12.5e9


def _tree(children: list[int], parents: list[int]) -> Mapping[str, Any]:
    """Describe a tree of single cables."""
    return {
        "kind": "fat-tree",
        "children": children,
        "parents": parents,
        "parallel": [1] * len(children),
    }


_TREES = ("d-mod-k", "ecmp", "adaptive", "spray")
_PLAIN = tuple({"kind": "fat-tree", "radix": radix} for radix in (8, 8, 12))
MACHINES: Mapping[str, tuple[tuple[str, ...], tuple[Mapping[str, Any], ...]]] = {
    "full tree, 3 levels": (
        _TREES,
        tuple({"kind": "fat-tree", "radix": radix} for radix in (8, 8, 12, 16)),
    ),
    "full tree, 2 levels": (
        _TREES[:3],
        (_tree([8, 16], [1, 8]), _tree([16, 16], [1, 16]), _tree([16, 32], [1, 16])),
    ),
    "tapered tree, 3 levels": (
        _TREES,
        (
            _tree([8, 4, 4], [1, 4, 4]),
            _tree([4, 4, 8], [1, 4, 2]),
            _tree([6, 6, 12], [1, 6, 3]),
            _tree([16, 8, 8], [1, 8, 8]),
        ),
    ),
    "tapered tree, 2 levels": (
        _TREES[:3],
        (_tree([16, 8], [1, 8]), _tree([16, 16], [1, 8]), _tree([24, 16], [1, 8])),
    ),
    "rail tree": (
        _TREES[:3],
        tuple(
            {
                "kind": "fat-tree",
                "children": [size, groups],
                "parents": [rails, size],
                "parallel": [1, 1],
            }
            for rails, size, groups in ((4, 16, 8), (8, 16, 8), (4, 16, 16))
        ),
    ),
    "torus": (
        ("dimension-order", "adaptive"),
        tuple({"kind": "torus", "dims": dims} for dims in ([4, 4, 8], [6, 6, 6], [8, 8, 8])),
    ),
    "dragonfly": (
        ("minimal", "valiant", "adaptive"),
        (
            {"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 4},
            {"kind": "dragonfly", "groups": 9, "routers": 8, "nodes_per_router": 4},
            {"kind": "dragonfly", "groups": 17, "routers": 8, "nodes_per_router": 4},
        ),
    ),
    "damaged tree": (_TREES[:2], _PLAIN),
    "short beside long": (_TREES[:1], _PLAIN),
    "unequal messages": (_TREES[:1], _PLAIN),
}
"""
By name: routings, and sizes of machines that scenes take in turn.

The last three are full trees with a switch of the last level or every twentieth cable between
switches lost; with iterations that differ by a hundred; and with messages of unequal size.
"""
LONGEST_BY_SHORTEST = {"short beside long": 100.0}  # of iterations; 6 elsewhere
UNEQUAL = 1.0  # standard deviation of the logarithm of sizes of messages
LOST_CABLES = 0.05

CELLS = tuple((name, way) for name, (ways, _) in MACHINES.items() for way in ways)


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A job of a scene: pattern, node of each rank, share of communication and ideal iteration."""

    name: str
    pattern: Pattern
    nodes: Ints
    per_node: int
    fraction: float
    iteration_s: float


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Jobs on a machine under a routing; `dry` is the fabric without what it says of buffers."""

    machine: str
    routing: str
    number: int
    topology: Topology
    jobs: tuple[Job, ...]
    traffic: dict[int, Traffic]

    @property
    def digest(self) -> str:
        """Digest of all that decides what packets do."""
        known = hashlib.sha256(f"{self.routing} {ITERATIONS} {self.topology.name}".encode())
        for own in self.traffic.values():
            for part in (own.step, own.sender, own.nbytes, own.routes.links):
                known.update(np.ascontiguousarray(part).tobytes())
            known.update(np.float64(own.compute_s).tobytes())
        return known.hexdigest()[:16]

    @property
    def has_incast(self) -> bool:
        """Whether a node gets messages of several others at once, more than any sends."""
        for own in self.traffic.values():
            routes = own.routes
            src = self.topology.link_tail[routes.links[routes.indptr[:-1]]]
            dst = self.topology.link_head[routes.links[routes.indptr[1:] - 1]]
            for step in np.unique(own.step):
                mine = own.step == step
                got, sent = np.bincount(dst[mine]).max(), np.bincount(src[mine]).max()
                if got >= INCAST and got > 2 * sent:
                    return True
        return False


INCAST = 4  # messages to one node


def scene(machine: str, routing: str, number: int) -> Scene:
    """Draw a scene; under all routings of a machine the same jobs lie on the same nodes."""
    specs = MACHINES[machine][1]
    spec = {**specs[number % len(specs)], "bandwidth": "100 Gb/s", "latency": "codes"}
    rng = np.random.default_rng((1313, list(MACHINES).index(machine), number))
    built = make_topology(spec)
    if machine == "damaged tree":
        built = make_topology({**spec, **_draw_damage(rng, built, one_switch=number % 4 < 2)})
    jobs = _draw_jobs(rng, built, LONGEST_BY_SHORTEST.get(machine, ITERATION_S[1] / ITERATION_S[0]))
    ways = make_routing(routing, built, number)
    fabric = as_routed(built, ways)
    traffic_of, latency_of = _sizing(fabric, ways), LatencyOf(fabric)
    traffic = {}
    for place, job in enumerate(jobs):
        placed = traffic_of.of_flows(
            _rounds_written_out(rank_flows(job.pattern, job.nodes.size)),
            Partition(job.nodes, None),
            fraction=job.fraction,
            iteration_s=job.iteration_s,
        )
        if placed is not None:
            own = placed.traffic
            if machine == "unequal messages":
                factor = np.exp(UNEQUAL * rng.standard_normal(own.nbytes.size))
                own = replace(own, nbytes=own.nbytes * factor / factor.mean())
            latency_s = latency_of(own.routes, own.step, own.nonminimal).of(own.nbytes)
            traffic[place] = replace(own, latency_s=latency_s)
    kept = tuple(jobs[place] for place in traffic)
    return Scene(machine, routing, number, fabric, kept, dict(enumerate(traffic.values())))


def _rounds_written_out(flows: RankFlows) -> RankFlows:
    """Return flows with a step for each round: those of which the stored truths are."""
    if flows.rounds is None:
        return flows
    flow, step = rounds_written_out(flows.step, flows.rounds)
    nbytes = flows.nbytes[flow] / flows.rounds[flows.step[flow]]
    return RankFlows(step, flows.src[flow], flows.dst[flow], nbytes)


def _sizing(fabric: Topology, ways: Routing) -> TrafficOf:
    """Return what sizes messages; where packets go round, latency is that of the minimal way."""
    sized = as_sized(fabric)
    traffic_of, latency_of = TrafficOf(sized, ways), LatencyOf(sized)
    traffic_of._latency_of = lambda routes, *_: latency_of(routes)
    return traffic_of


def _draw_damage(
    rng: np.random.Generator, topology: Topology, *, one_switch: bool
) -> Mapping[str, list[str]]:
    """Draw a switch of the last level, or cables between switches, that have failed."""
    between = np.flatnonzero(
        (topology.link_tail >= topology.n_nodes)
        & (topology.link_head >= topology.n_nodes)
        & (topology.link_tail < topology.link_head)
    )
    names = [topology.link_name(int(link)) for link in between]
    if one_switch:
        last = sorted({name.split(">")[1] for name in names if ">s3." in name})
        return {"failed_switches": [str(rng.choice(last))]}
    lost = rng.choice(len(names), max(1, int(LOST_CABLES * len(names))), replace=False)
    return {"failed_links": [names[place] for place in lost]}


def _draw_jobs(rng: np.random.Generator, topology: Topology, ratio: float) -> list[Job]:
    """Draw jobs on random nodes of a part of the machine."""
    n_nodes, room = topology.n_nodes, int(topology.n_nodes * rng.uniform(*FILL))
    drawn, asked = [], 0
    for _ in range(int(rng.integers(JOBS[0], JOBS[1] + 1))):
        per_node = int(PER_NODE[rng.integers(len(PER_NODE))])
        name, pattern, n_ranks = draw_pattern(rng, n_nodes * per_node // 2, PATTERN_FLOWS)
        slot = slot_of_rank(("block", "round-robin")[rng.integers(2)], n_ranks, per_node)
        n_slots = int(slot.max()) + 1
        if n_slots > 1 and asked + n_slots <= room:
            drawn.append((name, pattern, slot, per_node))
            asked += n_slots
    spread = rng.uniform()  # of the part of the machine that the jobs lie in
    n_part = min(n_nodes, asked + int(spread * (n_nodes - asked)))
    first = int(rng.integers(n_nodes - n_part + 1))
    idle = first + rng.permutation(n_part)
    longest_s = min(ITERATION_S[1], _LONG_HOPS * 4096 / (_RATE * 5 * ITERATIONS * max(1, asked)))
    jobs = []
    for name, pattern, slot, per_node in drawn:
        n_slots = int(slot.max()) + 1
        nodes, idle = np.sort(idle[:n_slots]), idle[n_slots:]
        fraction = 1.0 if rng.uniform() < ALWAYS else float(rng.uniform(*FRACTION))
        low, high = np.log(longest_s / ratio), np.log(longest_s)
        seconds = float(np.exp(rng.uniform(low, high)))
        jobs.append(Job(name, pattern, nodes[slot], per_node, fraction, seconds))
    return jobs


PATTERN_FLOWS = 4000
ALWAYS = 0.1  # share of jobs that never compute


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """What packets say: interference and seconds alone of each job."""

    interference: Floats
    alone_s: Floats


def truth(
    found: Scene, switch: Switch | None = None, *, stepping: str = "barrier", seed: int = 0
) -> Truth:
    """Simulate the packets of a scene; starts depend on its number, random delays on `seed` too."""
    rng = np.random.default_rng((77, found.number))
    start_s = {job: float(rng.uniform(0.0, own.compute_s)) for job, own in found.traffic.items()}
    times = simulate_packets(
        found.traffic,
        found.topology,
        switch or Switch(),
        start_s=start_s,
        slowest_does=ITERATIONS,
        seed=found.number + seed,
        stepping=stepping,
    ).jobs
    jobs = [times[job] for job in found.traffic]
    return Truth(
        np.array([own.interference for own in jobs]), np.array([own.alone_s for own in jobs])
    )
