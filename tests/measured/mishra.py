"""The experiments of Mishra20: its logs, machines, cost and times under its allocators."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from coupling.pace.network import NetworkPace
from netsim.contention.compared.leaves import modified_runtime
from netsim.contention_models import make_contention_model
from netsim.routings import make_routing
from netsim.topology.fattree import FatTree, build_fat_tree
from patterns.algorithms import Binomial, RecursiveDoubling, RecursiveHalvingVectorDoubling
from patterns.base import Pattern
from scheduler.allocation import Allocation
from scheduler.allocators import make_allocator
from scheduler.allocators.base import Allocator
from scheduler.allocators.leaves.leafwise import placement_cost
from scheduler.cluster import Cluster
from scheduler.job import Communication, Job
from scheduler.queues import make_policy
from scheduler.rates import Pace, RateModel
from scheduler.simulator import Schedule, simulate

DEFAULT = "slurm-best-fit"
OURS = ("greedy", "balanced", "adaptive")
MUST_WIN = ("balanced", "adaptive")
N_JOBS = 1000
SEED = 1
CORI_NODES, CORI_LEAVES = 12_076, 34
LEAF_LEAST, LEAF_MOST = 330, 380  # nodes per leaf of the paper's larger tree, section 2
BANDWIDTH = 12.5e9  # bytes per second, for the coupled runs alone
STATES, TRIALS, BUSY_FIRST, BUSY_THEN = 5, 200, 0.75, 0.5


@dataclass(frozen=True)
class Log:
    """One log of the paper: the first of a thousand rows, and what divides node counts."""

    name: str
    first_row: int
    scale: int


THETA = Log("theta", 0, 2)
LOGS = (Log("intrepid", 1132, 4), THETA, Log("mira", 7, 4))


@dataclass(frozen=True)
class Setting:
    """A collective, and whether effective hops are weighed with its bytes."""

    name: str
    pattern: Pattern
    hop_bytes: bool


RHVD = Setting("RHVD", RecursiveHalvingVectorDoubling(), hop_bytes=True)
RD = Setting("RD", RecursiveDoubling(), hop_bytes=False)
BINOMIAL = Setting("binomial", Binomial(), hop_bytes=False)
PAPER_HOURS = {  # Table 3: execution hours, then wait hours, of default, greedy, balanced, adaptive
    ("intrepid", "RHVD"): ((1382, 1351, 1256, 1251), (57, 49, 27, 27)),
    ("intrepid", "RD"): ((1382, 1345, 1264, 1257), (57, 52, 32, 33)),
    ("theta", "RHVD"): ((2189, 1740, 1700, 1663), (45303, 31190, 34539, 33092)),
    ("theta", "RD"): ((2189, 1810, 1731, 1706), (45303, 34901, 35874, 31809)),
    ("mira", "RHVD"): ((3289, 3956, 2342, 2435), (17387, 34966, 3685, 4751)),
    ("mira", "RD"): ((3289, 3285, 2559, 2637), (17387, 15845, 6336, 5631)),
}
PAPER_INDIVIDUAL = {  # Table 4: mean improvement of execution time in per cent
    ("intrepid", "RHVD"): (3.65, 7.23, 7.81),
    ("intrepid", "RD"): (1.70, 8.12, 8.29),
    ("theta", "RHVD"): (9.65, 9.65, 9.65),
    ("theta", "RD"): (13.56, 13.56, 13.56),
    ("mira", "RHVD"): (10.84, 19.69, 21.71),
    ("mira", "RD"): (9.45, 24.32, 24.91),
}
PAPER_COST = {  # Section 6.4: mean reduction of the cost in per cent, over all three algorithms
    "intrepid": {"RHVD": 5.72, "RD": 5.56, "binomial": 5.72},
    "theta": {"RHVD": 17.84, "RD": 15.88, "binomial": 15.87},
    "mira": {"RHVD": 6.09, "RD": 5.48, "binomial": 5.40},
}


def machine(log: Log) -> FatTree:
    """Return IIT Kanpur's tree for Theta, one like Cori's for the others."""
    if log.name == "theta":
        return build_fat_tree((16, 32), (1, 16), (1, 1), BANDWIDTH)
    rng = np.random.default_rng(SEED)
    sizes = rng.integers(LEAF_LEAST, LEAF_MOST, CORI_LEAVES, endpoint=True)
    while (missing := CORI_NODES - int(sizes.sum())) != 0:
        leaf, change = rng.integers(CORI_LEAVES), np.sign(missing)
        if LEAF_LEAST <= sizes[leaf] + change <= LEAF_MOST:
            sizes[leaf] += change
    tree = build_fat_tree((LEAF_MOST, CORI_LEAVES), (1, 1), (1, 1), BANDWIDTH)
    usable = [LEAF_MOST * leaf + np.arange(size) for leaf, size in enumerate(sizes)]
    return replace(tree, usable=np.concatenate(usable))


def read_jobs(folder: Path, log: Log, setting: Setting, share: float | None) -> list[Job]:
    """Return the jobs of a log; without a share, those communicate that the log marks."""
    with (folder / f"{log.name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))[log.first_row : log.first_row + N_JOBS]
    drawn = np.random.default_rng(SEED).permutation(N_JOBS)
    jobs = []
    for number, row in enumerate(rows):
        n_nodes = max(1, int(row["nodes"]) // log.scale)
        chosen = row["comm"] == "1" if share is None else drawn[number] < share * N_JOBS
        fraction = 1.0 if share is not None else int(row["comm_perc"]) / 100
        communication = None
        if chosen and n_nodes > 1:
            communication = Communication(setting.name, setting.pattern, fraction)
        submit_s = float(row["submit"]) - float(rows[0]["submit"])
        runtime_s = float(row["runtime"])
        jobs.append(
            Job(number, submit_s, n_nodes, runtime_s, runtime_s, communication=communication)
        )
    return jobs


def allocator_of(name: str, setting: Setting) -> Allocator:
    """Return an allocator that counts cost as the setting does."""
    weighed = name == "adaptive" and setting.hop_bytes
    return make_allocator(name, {"cost": "hop-bytes"} if weighed else {}, SEED)


def factor_of(allocation: Allocation, cluster: Cluster, hop_bytes: bool) -> tuple[float, float]:
    """Return run time and cost of a placement over those of the default in the same state."""
    job = allocation.job
    default = make_allocator(DEFAULT, {}, SEED).allocate(job, cluster)
    if job.communication is None or default is None:
        return 1.0, 1.0
    cost, cost_default = (
        placement_cost(job.communication.pattern, each, cluster, hop_bytes=hop_bytes)
        for each in (allocation, default)
    )
    return modified_runtime(
        1.0, job.communication.fraction, cost, cost_default
    ), cost / cost_default


class Priced(Cluster):
    """A cluster that notes, as a job starts, what its placement costs against the default."""

    def __init__(self, tree: FatTree, hop_bytes: bool) -> None:
        super().__init__(tree)
        self.hop_bytes = hop_bytes
        self.factors: dict[int, tuple[float, float]] = {}

    def place(self, allocation: Allocation) -> None:
        """Note the factors and take the nodes."""
        self.factors[allocation.job.id] = factor_of(allocation, self, self.hop_bytes)
        super().place(allocation)


class CostPace:
    """Equation (7) as a rate model: a job takes T' / T as long as the log says."""

    def __init__(self, cluster: Priced) -> None:
        self._factors = cluster.factors

    def change(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> Mapping[int, Pace]:
        """Return the pace of the jobs that start; it stays."""
        del ended, now_s
        return {
            each.job.id: Pace(placement_factor=self._factors[each.job.id][0]) for each in started
        }


@dataclass(frozen=True)
class Outcome:
    """Hours in all, and the mean cost of jobs that communicate against the default."""

    execution_h: float
    wait_h: float
    cost_ratio: float


def hours(schedule: Schedule) -> tuple[float, float]:
    """Return the hours that jobs ran and waited."""
    ran = sum(each.end_s - each.start_s for each in schedule.records)
    waited = sum(each.start_s - each.job.submit_s for each in schedule.records)
    return ran / 3600, waited / 3600


def continuous(tree: FatTree, jobs: Sequence[Job], name: str, setting: Setting) -> Outcome:
    """Run the jobs as the log submits them, under EASY."""
    cluster = Priced(tree, setting.hop_bytes)
    policy = make_policy("easy", {})
    schedule = simulate(jobs, cluster, allocator_of(name, setting), policy, rates=CostPace(cluster))
    ratios = [cluster.factors[job.id][1] for job in jobs if job.communication is not None]
    return Outcome(*hours(schedule), float(np.mean(ratios)))


def occupied(tree: FatTree, jobs: Sequence[Job], rng: np.random.Generator) -> Cluster:
    """Return a machine filled by the default with random jobs, of which random ones have ended."""
    cluster = Cluster(tree)
    default = make_allocator(DEFAULT, {}, SEED)
    for number in rng.permutation(len(jobs)).tolist():
        if cluster.n_free <= (1 - BUSY_FIRST) * cluster.n_nodes:
            break
        placement = default.allocate(jobs[number], cluster)
        if placement is not None:
            cluster.place(placement)
    for number in rng.permutation(list(cluster.running)).tolist():
        if cluster.n_free >= (1 - BUSY_THEN) * cluster.n_nodes:
            break
        cluster.release(number)
    return cluster


def individual(tree: FatTree, jobs: Sequence[Job], setting: Setting) -> dict[str, Outcome]:
    """Return mean execution time and cost of random jobs, each alone on the same states."""
    factors: dict[str, list[tuple[float, float]]] = {name: [] for name in OURS}
    ratios: dict[str, list[float]] = {name: [] for name in OURS}
    for state in range(STATES):
        rng = np.random.default_rng((SEED, state))
        cluster = occupied(tree, jobs, rng)
        fitting = [job for job in jobs if job.n_nodes <= cluster.n_free]
        for pick in rng.choice(len(fitting), TRIALS, replace=False).tolist():
            job = replace(fitting[pick], id=-1)
            for name in OURS:
                placement = allocator_of(name, setting).allocate(job, cluster)
                assert placement is not None
                pair = factor_of(placement, cluster, setting.hop_bytes)
                factors[name].append(pair)
                if job.communication is not None:
                    ratios[name].append(pair[1])
    return {
        name: Outcome(
            float(np.mean([f for f, _ in factors[name]])), 0.0, float(np.mean(ratios[name]))
        )
        for name in OURS
    }


def coupled(jobs: Sequence[Job], name: str, tree: FatTree) -> tuple[float, float, float]:
    """Return execution and wait hours and node-weighted slowdown on our own network model."""
    cluster = Cluster(tree)
    model = make_contention_model("fast", tree)
    routing = make_routing("d-mod-k", tree)
    rates: RateModel = NetworkPace(tree, routing, model)
    allocator = make_allocator(name, {}, SEED)
    schedule = simulate(jobs, cluster, allocator, make_policy("easy", {}), rates=rates)
    ran = sum(each.job.n_nodes * (each.end_s - each.start_s) for each in schedule.records)
    wanted = sum(each.job.n_nodes * each.job.runtime_s for each in schedule.records)
    return *hours(schedule), ran / wanted
