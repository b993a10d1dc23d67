"""Pollard18, section V-B: how much faster isolated jobs are, in workloads of four patterns."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from coupling.papers.paper import Frames
from coupling.papers.runs import Runs
from netsim.common.arrays import Floats
from netsim.flows.contention import Traffic, step_rounds
from netsim.flowsim.snapshot import simulate_jobs
from netsim.registries.contention_models import make_contention_model
from netsim.registries.topologies import make_topology
from netsim.routing.dmodk import DModK
from netsim.topology.base import Topology
from patterns.base import Pattern
from patterns.registry import make_pattern
from scheduler.allocation import Allocation
from scheduler.allocators import make_allocator
from scheduler.allocators.base import require_tree
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.traffic import TrafficOf, rank_flows

PATTERNS = ("stencil", "unstructured-mesh", "pairs", "sub-all-to-all")
TITLES = ("Stencil 4D", "Unstr-mesh", "Pairs", "Sub-a2a")
MODEL = "fluid"
CHECKED = 1e5  # flow starts, an iteration of the slowest job: larger workloads are not simulated
ALL_JOBS = "all jobs"
EXACT = "flow-level"
BUFFERED = f"{MODEL}, with buffers"
QUICK, FULL = 3, 15  # workloads; the paper's simulations have fifteen
_DRAWS = 2000
_LEVELS = (0.025, 0.975)
REFUSALS = 10  # draws in a row that do not fit until a workload counts as full


@dataclass(frozen=True, slots=True)
class Setting:
    """An experiment of the paper."""

    name: str  # What it is called here
    machine: str  # Name of the topology
    sizes: tuple[int, int]  # Fewest and most nodes of a job
    over: tuple[int, ...]  # Dimensions of the 3D grid along which sub-a2a goes
    fraction: float  # Communication share of the iteration alone on the isolated placement
    # Mean speed-up per pattern, and over all jobs, where the paper gives it
    paper: tuple[float | None, ...]


ALL = (0, 1, 2)
SETTINGS = (
    Setting(
        "10,648 nodes, 512-4096, always communicating",
        "fattree-10648",
        (512, 4096),
        (0, 1),
        1.0,
        (1.58, 1.68, 1.06, 1.14, 1.36),
    ),
    Setting(
        "Cab, 4-512, always communicating",
        "cab",
        (4, 512),
        ALL,
        1.0,
        (1.26, 1.14, 1.10, 1.55, 1.30),
    ),
    Setting(
        "Cab, 4-128, always communicating",
        "cab",
        (4, 128),
        ALL,
        1.0,
        (1.32, 1.29, 1.08, 1.74, 1.35),
    ),
    Setting("Cab, 4-128, 70 % communication", "cab", (4, 128), ALL, 0.7, (None,) * 5),
    Setting("Cab, 4-128, 50 % communication", "cab", (4, 128), ALL, 0.5, (None,) * 5),
    Setting("Cab, 4-128, 30 % communication", "cab", (4, 128), ALL, 0.3, (*(None,) * 4, 1.08)),
)


@dataclass(frozen=True, slots=True)
class WorkloadGain:
    """What isolation gave one job; speed-up = own * interference."""

    workload: int
    pattern: int
    speedup: float
    interference: float
    own: float  # alone on random nodes / alone on the isolated ones
    exact: bool  # interference on the isolated placement is exactly 1


class WorkloadRunner:
    """Places and evaluates the workloads of one setting. `setting`: The experiment."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        table = {"kind": setting.machine, "bandwidth": "40 Gb/s", "latency": "codes"}
        self.tree = tree = require_tree("ta", make_topology(table))
        self._traffic_of = TrafficOf(tree, DModK(tree))
        options: dict[str, dict[str, object]] = {
            "stencil": {"dims": 4},
            "sub-all-to-all": {"dims": 3, "over": setting.over},
        }
        self.patterns: tuple[Pattern, ...] = tuple(
            make_pattern({"name": name, **options.get(name, {})}) for name in PATTERNS
        )

    def gains(self, workload: int) -> list[WorkloadGain]:
        """Return the gains of the jobs of one workload."""
        isolated, kinds = self._drawn_jobs(workload)
        jobs = [allocation.job for allocation in isolated]
        scattered = self._scatter_jobs(jobs, workload)
        home, home_s = self._traffic_of_jobs(isolated, kinds, None)
        away, away_s = self._traffic_of_jobs(scattered, kinds, [own.compute_s for own in home])
        here, there = self._solved_interference(home), self._solved_interference(away)
        own = away_s / home_s
        return [
            WorkloadGain(
                workload,
                kind,
                float(own[i] * there[i] / here[i]),
                float(there[i]),
                float(own[i]),
                bool(here[i] == 1.0),
            )
            for i, kind in enumerate(kinds)
        ]

    def on_random_nodes(self, workload: int) -> tuple[list[Traffic], Floats]:
        """Return the jobs of a workload on random nodes, and their iterations' times alone."""
        isolated, kinds = self._drawn_jobs(workload)
        scattered = self._scatter_jobs([allocation.job for allocation in isolated], workload)
        return self._traffic_of_jobs(scattered, kinds, None)

    def against_exact(self, workload: int) -> list[tuple[float, ...]] | None:
        """Return interference by `flow-level`, and by `fluid` without and with buffers."""
        # `flow-level` models no buffers; None where it takes too long.
        traffic, alone_s = self.on_random_nodes(workload)
        flows = sum(
            step_rounds(own)[own.step].sum() * alone_s.max() / s
            for own, s in zip(traffic, alone_s, strict=True)
        )
        if flows > CHECKED:
            return None
        rng = np.random.default_rng((3, workload))
        start_s = dict(enumerate(rng.uniform(0.0, alone_s.min(), len(traffic)).tolist()))
        times = simulate_jobs(
            dict(enumerate(traffic)),
            self.tree.capacity,
            self.tree.channel,
            start_s=start_s,
            slowest_does=4,
        )
        true = [own.interference for own in times.values()]
        bare = replace(self.tree, buffer_bytes=0.0)
        said = self._solved_interference(traffic, bare), self._solved_interference(traffic)
        return list(zip(true, *(values.tolist() for values in said), strict=True))

    def _drawn_jobs(self, workload: int) -> tuple[list[Allocation], list[int]]:
        """Return the isolated jobs of a workload and the pattern of each."""
        rng = np.random.default_rng((1, workload))
        isolated = self._pack_jobs(rng)
        return isolated, rng.integers(len(PATTERNS), size=len(isolated)).tolist()

    def _pack_jobs(self, rng: np.random.Generator) -> list[Allocation]:
        """Fill the machine with isolated jobs of log-uniform (Cab) or uniform sizes."""
        cluster, allocator = Cluster(self.tree), make_allocator("ta", {}, 0)
        low, high = self.setting.sizes
        placed: list[Allocation] = []
        refused = 0
        while refused < REFUSALS:
            if self.setting.machine == "cab":
                size = round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))
            else:
                size = int(rng.integers(low, high + 1))
            allocation = None
            if size <= cluster.n_free:
                allocation = allocator.allocate(_plain_job(len(placed), size), cluster)
            if allocation is None:
                refused += 1
                continue
            refused = 0
            cluster.place(allocation)
            placed.append(allocation)
        return placed

    def _scatter_jobs(self, jobs: Sequence[Job], seed: int) -> list[Allocation]:
        """Place the same jobs on random nodes."""
        cluster, allocator = Cluster(self.tree), make_allocator("random", {}, seed)
        placed = []
        for job in jobs:
            allocation = cast("Allocation", allocator.allocate(job, cluster))  # as many were free
            cluster.place(allocation)
            placed.append(allocation)
        return placed

    def _traffic_of_jobs(
        self,
        placed: Sequence[Allocation],
        kinds: Sequence[int],
        compute_s: Sequence[float] | None,
    ) -> tuple[list[Traffic], Floats]:
        """Return the traffic of placed jobs, and the times of their iterations alone."""
        traffic, alone_s = [], []
        for i, (allocation, kind) in enumerate(zip(placed, kinds, strict=True)):
            partition = allocation.partition()
            flows = rank_flows(self.patterns[kind], partition.nodes.size)
            own = self._traffic_of.of_flows(flows, partition, compute_s=0.0)
            if own is None:  # no pattern here sends nothing among two nodes and more
                continue
            fraction = self.setting.fraction
            idle_s = own.alone_s * (1.0 / fraction - 1.0) if compute_s is None else compute_s[i]
            traffic.append(replace(own.traffic, compute_s=idle_s))
            alone_s.append(own.alone_s + idle_s)
        return traffic, np.array(alone_s)

    def _solved_interference(
        self, traffic: Sequence[Traffic], fabric: Topology | None = None
    ) -> Floats:
        """Return together / alone of each job; `fabric`: another than that of the traffic."""
        solver = make_contention_model(MODEL, fabric or self.tree)
        for job, own in enumerate(traffic):
            solver.start(job, own)
        values = solver.solve()
        return np.array([values[job] for job in range(len(traffic))])


def _plain_job(number: int, size: int) -> Job:
    """Return a job of so many nodes; times play no part."""
    return Job(id=number, submit_s=0.0, n_nodes=size, runtime_s=1.0, requested_s=1.0)


def isolation(runs: Runs) -> Frames:
    """Compute the workloads, and how far the model is from the flow-level simulation."""
    # The first takes tens of seconds of CPU a workload.
    settings = SETTINGS[1:] if runs.quick else SETTINGS
    count = QUICK if runs.quick else FULL

    def gains() -> pd.DataFrame:
        return pd.concat(
            [_gain_table(one.name, _gains_of_all(WorkloadRunner(one), count)) for one in settings],
            ignore_index=True,
        )

    asked = [asdict(one) for one in settings]
    found = {"isolation": runs.stored("isolation", [asked, MODEL, count], gains)}
    if not runs.quick:
        found["exact"] = runs.stored(
            "exact",
            [asdict(SETTINGS[0]), MODEL, CHECKED, count],
            lambda: _exact_table(WorkloadRunner(SETTINGS[0]), count),
        )
    return found


def _gains_of_all(bench: WorkloadRunner, workloads: int) -> list[WorkloadGain]:
    """Return the gains of all jobs of some workloads."""
    return [gain for workload in range(workloads) for gain in bench.gains(workload)]


def _gain_table(setting: str, gains: Sequence[WorkloadGain]) -> pd.DataFrame:
    """Return a row per pattern, and one of all jobs."""
    rows: list[dict[str, Any]] = []
    for kind, title in enumerate((*TITLES, ALL_JOBS)):
        part = [gain for gain in gains if kind in (gain.pattern, len(TITLES))]
        if not part:
            continue
        own: dict[str, Any] = {"setting": setting, "pattern": title, "jobs": len(part)}
        own["workloads"] = 1 + max(gain.workload for gain in gains)
        mean, low, high = interval(part)
        own |= {MODEL: mean, f"{MODEL} low": low, f"{MODEL} high": high}
        own[f"{MODEL} most"] = max(gain.speedup for gain in part)
        own["own"] = float(np.mean([gain.own for gain in part]))
        own["interference"] = float(np.mean([gain.interference for gain in part]))
        own["slower"] = float(np.mean([gain.speedup < 1.0 for gain in part]))
        own["isolated"] = float(np.mean([gain.exact for gain in part]))
        rows.append(own)
    return pd.DataFrame(rows)


def interval(gains: Sequence[WorkloadGain]) -> tuple[float, float, float]:
    """Return the mean speed-up over jobs and its 95 % interval, workloads resampled."""
    workloads = sorted({gain.workload for gain in gains})
    total = np.array([sum(g.speedup for g in gains if g.workload == w) for w in workloads])
    count = np.array([sum(g.workload == w for g in gains) for w in workloads])
    drawn = np.random.default_rng(0).integers(len(workloads), size=(_DRAWS, len(workloads)))
    means = total[drawn].sum(axis=1) / count[drawn].sum(axis=1)
    low, high = np.quantile(means, _LEVELS)
    return float(total.sum() / count.sum()), float(low), float(high)


def _exact_table(bench: WorkloadRunner, workloads: int) -> pd.DataFrame:
    """Return interference on random nodes, simulated and predicted, where that is affordable."""
    found = [bench.against_exact(workload) for workload in range(workloads)]
    rows = [row for one in found for row in one or ()]
    return pd.DataFrame(rows, columns=[EXACT, MODEL, BUFFERED])
