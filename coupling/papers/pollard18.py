"""Pollard18: TA against scattered nodes; hops, utilisation, makespan, waits."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from coupling.papers.paper import ATLAS, THUNDER, Axis, Chart, Claim, Frames, Paper, Published
from coupling.papers.runs import Runs
from coupling.results.columns import finished
from coupling.results.over_time import utilization_per_minute
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


TO, TA = "TO", "TA"  # the paper's words: topology-oblivious, topology-aware
LOADS = ("1x on cab", "2x on cab", "2x on pinot", "3x on pinot")
OVERLOADED = ("2x on cab", "3x on pinot")
QUICK_LOAD = 0.4  # of the experiment file, for once the work
APH_CLASSES = (2, 19, 64, 128, 325, 10**6)  # first sizes: one leaf, ..., more than a pod
WAIT_CLASSES = (1, 19, 64, 257, 10**6)  # those of Figure 10 that its text names
SMALL, POD = ("2-18", "19-63", "64-127"), "128-324"
ALL_SIZES = "all"
WITHIN_POD = 2.0  # hops at most under TA, up to 127 nodes; near it up to 324
DROP, LONGER = 10.0, 1.09  # points of utilisation; makespan, where the machine is overloaded
PAPER_WAIT_H = {  # Table I, August
    (load, run): hours
    for load, own in zip(
        LOADS,
        ((0.15, 0.98, 0.8, 0.3), (269, 322, 296, 270), (0.15, 1.2, 0.65, 0.29),
         (110, 148, 126, 103)),
        strict=True,
    )
    for run, hours in zip((TO, TA, "TA V1", "TA V2"), own, strict=True)
}  # fmt: skip
PAPER_MIDDLE_H = {TO: 10 / 60, TA: 8.0, "TA 20%": 0.5}  # waits of 64-256 nodes, August, V-E
PAPER_SPEEDUP = {
    (one.name, title): value
    for one in SETTINGS
    for title, value in zip((*TITLES, ALL_JOBS), one.paper, strict=True)
    if value is not None
}


def _run_of(allocator: str, model: str) -> str:
    """Return what the paper calls a policy with its speed-ups."""
    policy = TO if allocator == "first-free" else TA
    return policy if model == "null" else f"{policy} {model}"


def _log_of(row: Mapping[str, object]) -> str:
    """Return what the jobs of a cell are called."""
    path = row.get("workload.path")
    return Path(path).name.split("-")[1].lower() if isinstance(path, str) else "synthetic"


def study(runs: Runs) -> Frames:
    """Find hops, utilisation, makespan and waits in the runs."""
    cells = runs.cells("loads")
    summary, hops, waits = [], [], []
    for row in cells.to_dict("records"):
        scale = row.get("workload.scale_nodes") or round(row["workload.load"] / QUICK_LOAD)
        own = {
            "log": _log_of({str(key): one for key, one in row.items()}),
            "load": f"{scale:g}x on {row['topology']}",
            "run": _run_of(row["scheduler.allocator"], row["network.model"]),
        }
        jobs = runs.jobs("loads", row["cell"])
        jobs = finished(jobs)
        minutes = utilization_per_minute(jobs, int(row["nodes"]))["utilization"]
        quartiles = np.percentile(100 * minutes, (25, 50, 75))
        summary.append(
            own
            | {"jobs": len(jobs), "wait_h": row["mean_wait_s"] / 3600.0}
            | {"makespan_h": row["makespan_s"] / 3600.0}
            | {"steady": 100 * row["utilization_steady"]}
            | dict(zip(("q1", "median", "q3"), quartiles.tolist(), strict=True))
        )
        waits += _mean_waits(own, jobs)
        if own["run"] in (TO, TA) and own["load"].startswith("2x"):
            hops += _hops_by_size(own, jobs)
    return {
        "summary": pd.DataFrame(summary),
        "hops": pd.DataFrame(hops),
        "waits": pd.DataFrame(waits),
        **isolation(runs),
    }


def _size_class(first: int, beyond: int) -> str:
    """Return the name of a size class."""
    return f"{first}-{beyond - 1}" if beyond < APH_CLASSES[-1] else f"{first}+"


def _hops_by_size(own: Mapping[str, str], jobs: pd.DataFrame) -> list[dict[str, object]]:
    """Return minimum, quartiles and maximum of the APH by size of the job (Figure 7)."""
    found = []
    for first, beyond in pairwise(APH_CLASSES):
        aph = jobs[(jobs["n_nodes"] >= first) & (jobs["n_nodes"] < beyond)]["aph"]
        if len(aph):
            values = np.percentile(aph, (0, 25, 50, 75, 100)).tolist()
            names = ("least", "q1", "median", "q3", "most")
            found.append({**own, "sizes": _size_class(first, beyond), "jobs": len(aph),
                          **dict(zip(names, values, strict=True))})  # fmt: skip
    return found


def _mean_waits(own: Mapping[str, str], jobs: pd.DataFrame) -> list[dict[str, object]]:
    """Return the mean wait by size of the job (Figure 10)."""
    found: list[dict[str, object]] = []
    for first, beyond in pairwise(WAIT_CLASSES):
        wait = jobs[(jobs["n_nodes"] >= first) & (jobs["n_nodes"] < beyond)]["wait_s"]
        if len(wait):
            found.append(
                {**own, "sizes": _size_class(first, beyond), "wait_h": float(wait.mean()) / 3600.0}
            )
    return found


def derive(found: Frames) -> Frames:
    """Return the summary over that of scattered nodes, and further columns and rows."""
    summary = found["summary"]
    runs = summary[~summary["run"].isin([TO, "TO emergent"])]
    runs = runs.assign(base=np.where(runs["run"] == "TA emergent", "TO emergent", TO))
    base = summary.rename(columns={"run": "base"})
    runs = runs.merge(base, on=["log", "load", "base"], suffixes=("", " below"))
    relative = runs.assign(
        makespan=runs["makespan_h"] / runs["makespan_h below"],
        wait=runs["wait_h"] / runs["wait_h below"].where(lambda own: own > 0),
        lost=runs["steady below"] - runs["steady"],
    )
    waits = pd.concat([found["waits"], summary]).fillna({"sizes": ALL_SIZES})
    gains = found["isolation"]
    share = gains["setting"].str.extract(r"(\d+ %) communication")[0].fillna("100 %")
    short = gains["setting"].str.removesuffix(", always communicating")
    isolated = pd.DataFrame({"jobs": [ALL_JOBS], "percent": [100 * gains["isolated"].min()]})
    return {
        "relative": relative[["log", "load", "run", "makespan", "wait", "lost"]],
        "waits": waits[["log", "load", "run", "sizes", "wait_h"]],
        "isolation": gains.assign(share=share, short=short, all=ALL_JOBS),
        "isolated": isolated,
    }


def _overload_claim(where: str, sentence: str, value: str, run: str, most: float) -> Claim:
    """Return a claim about a run where the machine is overloaded."""
    return Claim(where, sentence, "relative", value, ("log", "load"),
                 rows={"run": (run,), "load": OVERLOADED}, most=most, quick=False,
                 why=_SHORTER)  # fmt: skip


def _speedup_claim(sentence: str, settings: tuple[str, ...], *, quick: bool, why: str) -> Claim:
    """Return a claim about the speed-ups of isolated jobs."""
    return Claim("V-B", sentence, "isolation", MODEL, ("setting", "pattern"),
                 rows={"setting": settings}, paper=PAPER_SPEEDUP, near=0.1, quick=quick,
                 why=why)  # fmt: skip


_SHORTER = "another log, shorter than a month: it drains for a larger part of its time"
_NEVER = "jobs that never compute are the upper limit; proxies on Cab also pack and synchronise"
_NAMES = tuple(one.name for one in SETTINGS)
CLAIMS = (
    Claim(
        "V-A, Figure 7", "Under TA jobs of less than 128 nodes have less than two hops.", "hops",
        "most", ("log", "load", "sizes"), "hops", {"run": (TA,), "sizes": SMALL}, most=WITHIN_POD,
    ),
    Claim(
        "V-A, Figure 7",
        "Under TA jobs of 128 to 324 nodes come near the fewest hops possible (below 1.9).",
        "hops", "median", ("log", "load"), "hops", {"run": (TA,), "sizes": (POD,)}, most=1.9,
    ),
    Claim(
        "V-A, Figure 7", "On scattered nodes jobs of 128 to 324 nodes have more (above 2).",
        "hops", "median", ("log", "load"), "hops", {"run": (TO,), "sizes": (POD,)}, least=2.0,
        why="our scattered nodes are the lowest free ones, more compact than Cab's",
    ),
    _speedup_claim("On 10,648 nodes isolation makes jobs that always communicate so much faster.",
              _NAMES[:1], quick=False, why=_NEVER),
    _speedup_claim("On Cab isolation makes jobs that always communicate so much faster.",
              _NAMES[1:3], quick=True, why=_NEVER),
    _speedup_claim("On Cab jobs that communicate for 30 % of their time are 1.08 times as fast.",
              _NAMES[-1:], quick=True, why="random nodes are the worst that a manager can do"),
    Claim(
        "V-B", "The largest of these speed-ups is 1.31.", "isolation", f"{MODEL} most",
        ("pattern",), rows={"setting": _NAMES[-1:]}, paper={ALL_JOBS: 1.31}, near=0.1,
        why="ours are random pairs",
    ),
    Claim(
        "V-B", "Isolated jobs have no interference.", "isolated", "percent", ("jobs",), "%",
        paper={"*": 100}, least=100,
    ),
    Claim(
        "V-C, Figure 8", "TA loses about 10 points of utilisation where the machine is overloaded.",
        "relative", "lost", ("log", "load"), "points", {"run": (TA,), "load": OVERLOADED},
        {("*", "*"): DROP}, near=0.5, quick=False, why=_SHORTER,
    ),
    _overload_claim("V-D, Figure 9", "There its makespan is up to 1.09 times as long.", "makespan",
                TA, LONGER),
    _overload_claim("V-D, Figure 9", "With speed-ups V2 it is close to the same, at worst 1.04.",
                "makespan", "TA V2", 1.04),
    _overload_claim("our network", "The simulated network gives TA as much.", "makespan",
                "TA emergent", 1.04),
    Claim(
        "V-E, Table I", "Jobs wait so many hours in the mean.", "summary", "wait_h",
        ("load", "run", "log"), "h",
        paper={(load, run, "*"): hours for (load, run), hours in PAPER_WAIT_H.items()}, near=0.5,
        quick=False, why="Cab's logs are not public: another log at the same offered load",
    ),
)  # fmt: skip
_MIDDLE: dict[tuple[str, ...], Published] = {
    ("*", "64-256", run): hours for run, hours in PAPER_MIDDLE_H.items()
}


def _wait_chart(load: str, name: str, middle: dict[tuple[str, ...], Published]) -> Chart:
    """Return Figure 10: waits by size, and of all jobs."""
    runs = (TO, TA, "TA 5%", "TA 10%", "TA 20%", "TA V1", "TA V2", "TA emergent")
    paper = {("*", ALL_SIZES, run): hours
             for (one, run), hours in PAPER_WAIT_H.items() if one == load}  # fmt: skip
    return Chart(name, f"Mean wait, {{log}} {load} (Fig. 10)", "waits", "wait_h", "sizes", "run",
                 Axis("hours", log=True), "Marks: August, of the text and of Table I.",
                 each=("log",), rows={"load": (load,), "run": runs},
                 paper={**middle, **paper})  # fmt: skip


CHARTS = (
    Chart(
        "aph-{log}-{load}", "Largest APH, {log} {load} (Fig. 7)", "hops", "most", "sizes", "run",
        Axis("hops"), "Marks: below 2 up to 127 nodes, close to it up to 324, says the paper.",
        each=("log", "load"),
        paper={("*", "*", sizes, TA): WITHIN_POD for sizes in (*SMALL, POD)},
    ),
    Chart(
        "isolation", "Speed-up when isolated (V-B)", "isolation", MODEL, "pattern", "short",
        Axis("scattered / isolated", line=1.0), "Jobs that always communicate; model `fluid`.",
        rows={"setting": _NAMES[:3]},
        paper={(title, name.removesuffix(", always communicating")): value
               for (name, title), value in PAPER_SPEEDUP.items()},
    ),
    Chart(
        "isolation-shares", "Speed-up by share of communication (V-B)", "isolation", MODEL,
        "share", "all", Axis("scattered / isolated", line=1.0),
        "All jobs of 4 to 128 nodes on Cab.", rows={"setting": _NAMES[2:], "pattern": (ALL_JOBS,)},
        paper={("30 %", ALL_JOBS): 1.08, ("100 %", ALL_JOBS): 1.35},
    ),
    Chart(
        "utilisation-{log}", "Utilisation lost to TO, {log} (Fig. 8)", "relative", "lost", "load",
        "run", Axis("points"), "Steady utilisation of TO less that of each run.", each=("log",),
        paper={("*", load, TA): DROP for load in OVERLOADED},
    ),
    Chart(
        "makespan-{log}", "Makespan / TO, {log} (Fig. 9)", "relative", "makespan", "load", "run",
        Axis("makespan / TO", line=1.0), "Marks: the most that the text names.", each=("log",),
        paper={("*", load, TA): LONGER for load in OVERLOADED},
    ),
    Chart(
        "wait-{log}", "Mean wait / TO, {log} (Table I)", "relative", "wait", "load", "run",
        Axis("wait / TO", line=1.0), "Where the machine is overloaded.", each=("log",),
        rows={"load": OVERLOADED},
        paper={("*", load, run): hours / PAPER_WAIT_H[load, TO]
               for (load, run), hours in PAPER_WAIT_H.items() if run != TO},
    ),
    _wait_chart(LOADS[0], "waits-{log}", _MIDDLE),
    _wait_chart(LOADS[-1], f"waits-{{log}}-{LOADS[-1]}", {}),
)  # fmt: skip
POLLARD18 = Paper(
    "pollard18",
    "Pollard18",
    "Interference-free nodes on Cab and Pinot (Pollard et al., SC'18)",
    (THUNDER, ATLAS),
    study,
    derive,
    CLAIMS,
    CHARTS,
    (("loads",),),
)
