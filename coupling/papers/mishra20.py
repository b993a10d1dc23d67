"""Mishra20: greedy, balanced and adaptive against Slurm's best fit, by its cost and by ours."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from coupling.inputs.experiment import Experiment
from coupling.papers.claims import summarise
from coupling.papers.paper import (
    INTREPID,
    MIRA,
    THETA,
    Axis,
    Chart,
    Claim,
    Frames,
    Paper,
    Published,
)
from coupling.papers.runs import Runs
from coupling.rates.baseline_rates import REFERENCE, cost_ratio_of
from coupling.results.columns import finished
from coupling.runs.assembly import assemble
from netsim.topology.base import Topology
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Job

BUSY_FIRST, BUSY_THEN = 0.75, 0.5  # of the nodes: filled by the default, then random jobs end
SEED = 1


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is tried."""

    states: int  # Partly occupied machines
    trials: int  # Jobs that are placed on each, one at a time


QUICK, FULL = Effort(3, 100), Effort(5, 200)


def occupied(topology: Topology, jobs: Sequence[Job], rng: np.random.Generator) -> Cluster:
    """Return a machine filled by the default with random jobs, of which random ones have ended."""
    cluster = Cluster(topology)
    default = make_allocator(REFERENCE, {}, SEED)
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


def on_same_states(experiments: Mapping[str, Experiment], effort: Effort) -> pd.DataFrame:
    """Place random jobs alone on equal states; return gains in per cent by allocator."""
    first = next(iter(experiments.values()))
    parts, ratio = assemble(first), cost_ratio_of(first.model_options)
    jobs = parts.workload.jobs
    allocators = {
        name: make_allocator(own.allocator, own.allocator_options, own.all_seeds["allocator"])
        for name, own in experiments.items()
    }
    found: dict[str, list[tuple[float, bool]]] = {name: [] for name in allocators}
    for state in range(effort.states):
        rng = np.random.default_rng((SEED, state))
        cluster = occupied(parts.topology, jobs, rng)
        for job in _fitting_jobs(jobs, cluster, effort, rng):
            for name, allocator in allocators.items():
                placement = allocator.allocate(job, cluster)
                if placement is not None:
                    factor = ratio.factor(placement, cluster)
                    found[name].append((factor, job.communication is not None))
    return pd.DataFrame([{"allocator": name} | _mean_gains(pairs) for name, pairs in found.items()])


def _fitting_jobs(
    jobs: Sequence[Job], cluster: Cluster, effort: Effort, rng: np.random.Generator
) -> list[Job]:
    """Draw jobs for which enough nodes are free, under unused numbers."""
    fitting = [job for job in jobs if job.n_nodes <= cluster.n_free]
    count = min(effort.trials, len(fitting))
    picks = rng.choice(len(fitting), count, replace=False).tolist() if count else []
    return [replace(fitting[pick], id=-1) for pick in picks]


def _mean_gains(pairs: Sequence[tuple[float, bool]]) -> dict[str, float]:
    """Return what the jobs gained, in per cent."""
    factors = np.array([factor for factor, _ in pairs])
    talking = factors[np.array([talks for _, talks in pairs], dtype=bool)]
    return {
        "time": 100.0 * (1.0 - float(factors.mean())),
        "cost": 100.0 * (1.0 - float(talking.mean())),
        "best": 100.0 * (1.0 - float(factors.min())),
    }


def individual(runs: Runs, names: Mapping[str, Mapping[int, tuple[str, str, str]]]) -> pd.DataFrame:
    """Return the individual runs of a paper's cells, by log, pattern and allocator."""
    plans = {file: runs.sweeps[file].plan for file in names}
    effort = QUICK if runs.quick else FULL
    cells = [
        (plans[file].cells[index].name, *told)
        for file, own in names.items()
        for index, told in own.items()
    ]

    def make() -> pd.DataFrame:
        groups: dict[tuple[str, str], dict[str, Experiment]] = {}
        for file, own in names.items():
            for index, (log, pattern, allocator) in own.items():
                group = groups.setdefault((log, pattern), {})
                group.setdefault(allocator, plans[file].experiment(index))
        return pd.concat(
            [
                on_same_states(group, effort).assign(log=log, pattern=pattern)
                for (log, pattern), group in groups.items()
            ],
            ignore_index=True,
        )

    return runs.stored("individual", [cells, asdict(effort), BUSY_FIRST, BUSY_THEN, SEED], make)


DEFAULT = "slurm-best-fit"
OURS = ("greedy", "balanced", "adaptive")
PATTERNS = {"rhvd": "RHVD", "recursive-doubling": "RD", "binomial": "binomial"}
SYNTHETIC = "synthetic"
COST_CLASSES = (2, 33, 129, 513, 10**9)
ONLY_LOG = "theta"  # of experiment files that do not vary it
_HOUR_S = 3600.0
PAPER_HOURS = {  # Table 3: execution, then wait; default, then ours
    ("intrepid", "RHVD"): ((1382, 1351, 1256, 1251), (57, 49, 27, 27)),
    ("intrepid", "RD"): ((1382, 1345, 1264, 1257), (57, 52, 32, 33)),
    ("theta", "RHVD"): ((2189, 1740, 1700, 1663), (45303, 31190, 34539, 33092)),
    ("theta", "RD"): ((2189, 1810, 1731, 1706), (45303, 34901, 35874, 31809)),
    ("mira", "RHVD"): ((3289, 3956, 2342, 2435), (17387, 34966, 3685, 4751)),
    ("mira", "RD"): ((3289, 3285, 2559, 2637), (17387, 15845, 6336, 5631)),
}
PAPER_INDIVIDUAL = {  # Table 4, per cent
    ("intrepid", "RHVD"): (3.65, 7.23, 7.81),
    ("intrepid", "RD"): (1.70, 8.12, 8.29),
    ("theta", "RHVD"): (9.65, 9.65, 9.65),
    ("theta", "RD"): (13.56, 13.56, 13.56),
    ("mira", "RHVD"): (10.84, 19.69, 21.71),
    ("mira", "RD"): (9.45, 24.32, 24.91),
}
PAPER_BEST = {  # most that a job gains, per cent, 6.1 and 6.3
    ("intrepid", "continuous"): 76,
    ("intrepid", "individual"): 57,
    ("theta", "continuous"): 70,
    ("theta", "individual"): 15,
    ("mira", "continuous"): 82,
    ("mira", "individual"): 61,
}
PAPER_MIXES = {  # Figure 6: mean over the three, per cent, A to E
    "intrepid": (2.59, 3.92, 5.49, 3.71, 5.19),
    "theta": (5.89, 8.92, 12.49, 7.94, 11.11),
    "mira": (7.20, 10.90, 15.27, 6.68, 9.36),
}
PAPER_COST = {  # section 6.4: mean over the three, per cent
    ("intrepid", "RHVD"): 5.72,
    ("intrepid", "RD"): 5.56,
    ("intrepid", "binomial"): 5.72,
    ("theta", "RHVD"): 17.84,
    ("theta", "RD"): 15.88,
    ("theta", "binomial"): 15.87,
    ("mira", "RHVD"): 6.09,
    ("mira", "RD"): 5.48,
    ("mira", "binomial"): 5.40,
}
PAPER_SHARES: dict[str, dict[tuple[str, str], Published]] = {  # section 6.5, Intrepid: over default
    "turnaround_h": {
        ("30%", "adaptive"): 1 - 0.0255,
        ("90%", "adaptive"): 1 - 0.111,
        ("*", "greedy"): (1 - 0.028, 1 - 0.006),
    },
    "node_hours": {
        ("30%", "adaptive"): 1 - 0.0261,
        ("90%", "adaptive"): 1 - 0.0785,
        ("*", "greedy"): (1 - 0.019, 1 - 0.005),
    },
}
PAPER_TURNAROUND = {"theta": 25.7, "mira": 28.7}  # section 6.5, mean over the three, per cent


def with_synthetic(values: Mapping[Any, float]) -> dict[tuple[str, ...], Published]:
    """Add to values by log what all logs have: the paper beside a synthetic load."""
    found: dict[tuple[str, ...], Published] = dict(values)
    for rest in dict.fromkeys(key[1:] for key in values):
        own = [value for key, value in values.items() if key[1:] == rest]
        found[SYNTHETIC, *rest] = (min(own), max(own))
    return found


def study(runs: Runs) -> Frames:
    """Find hours, costs and gains in the runs."""
    cells = _priced_cells(runs)
    jobs = [
        finished(runs.jobs(file, cell))
        for file, cell in zip(cells["file"], cells["cell"], strict=True)
    ]
    cells = cells.assign(
        best=[100.0 * (1.0 - own["placement_factor"].min()) for own in jobs],
        saved=[
            100.0 * (1.0 - own[own["comm_fraction"] > 0]["placement_factor"].mean()) for own in jobs
        ],
    )
    places = {
        str(file): {
            number: (row["log"], row["pattern"], row["allocator"])
            for number, row in enumerate(own.to_dict("records"))
            if row["allocator"] != DEFAULT
        }
        for file, own in cells.groupby("file", sort=False)
    }
    mixes = _timed_cells(runs, runs.cells("mixes")).rename(
        columns={"communication.rule.0.pattern": "mix"}
    )
    shares = _timed_cells(runs, runs.cells("shares"))
    shares["share"] = [f"{100 * one:.0f}%" for one in shares["communication.rule.0.chance"]]
    own = ["allocator", "sample"]
    hours = ["execution_h", "wait_h", "best", "saved", "turnaround_h"]
    return {
        "continuous": cells[["log", "pattern", *own, *hours]],
        "costs": _costs_by_size(cells, jobs),
        "individual": individual(runs, places),
        "mixes": mixes[["log", "mix", *own, "execution_h"]],
        "shares": shares[["log", "share", *own, "turnaround_h", "node_hours"]],
        "emergent": _network_runs(runs),
    }


def _priced_cells(runs: Runs) -> pd.DataFrame:
    """Return the cells of Table 3 with log, pattern, allocator and hours."""
    cells = runs.cells("rhvd", "rd-binomial")
    pattern = cells.get("communication.rule.0.pattern", pd.Series(index=cells.index, dtype=object))
    return _timed_cells(runs, cells.assign(pattern=pattern.fillna("RHVD")))


def _timed_cells(runs: Runs, cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells with log, allocator, sample, and hours that jobs ran and waited in all."""
    alone = SYNTHETIC if runs.quick else ONLY_LOG
    paths = cells.get("workload.path", pd.Series(index=cells.index, dtype=object))
    waited = cells["mean_wait_s"] * cells["jobs"]
    return cells.assign(
        log=[Path(path).stem if isinstance(path, str) else alone for path in paths],
        allocator=cells["scheduler.allocator"],
        sample=cells.get("run.seed", pd.Series(1, index=cells.index)),
        execution_h=(cells["mean_turnaround_s"] * cells["jobs"] - waited) / _HOUR_S,
        wait_h=waited / _HOUR_S,
        turnaround_h=cells["mean_turnaround_s"] / _HOUR_S,
    )


def _costs_by_size(cells: pd.DataFrame, jobs: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the mean cost of a job by its size, binomial trees (Figure 8)."""
    rows = []
    for row, own in zip(cells.to_dict("records"), jobs, strict=True):
        if row["pattern"] != PATTERNS["binomial"]:
            continue
        talking = own[own["comm_fraction"] > 0]
        for first, beyond in pairwise(COST_CLASSES):
            size = talking["n_nodes"]
            cost = talking[(size >= first) & (size < beyond)]["communication_cost"]
            if len(cost):
                name = f"{first}-{beyond - 1}" if beyond < COST_CLASSES[-1] else f"{first}+"
                rows.append({"log": row["log"], "sizes": name, "allocator": row["allocator"],
                             "sample": row["sample"], "cost": float(cost.mean())})  # fmt: skip
    return pd.DataFrame(rows)


def _network_runs(runs: Runs) -> pd.DataFrame:
    """Return what the network makes of the same placements."""
    cells = _timed_cells(runs, runs.cells("emergent"))
    cells = cells.assign(
        pattern=cells["communication.rule.0.pattern"],
        uplinks=cells["topology"],
        talk=[f"{100 * one:.0f}%" for one in cells["communication.rule.0.comm_fraction"]],
        network_slowdown=cells["mean_network_slowdown_by_node_seconds"],
        interference=cells["mean_interference_by_node_seconds"],
    )
    keys = ["log", "uplinks", "pattern", "talk", "allocator", "sample"]
    return cells[[*keys, "execution_h", "wait_h", "network_slowdown", "interference"]]


def derive(found: Frames) -> Frames:
    """Return numbers over the default's, what the three save in the mean, and the best jobs."""
    over = {"allocator": DEFAULT}
    whole, keys = found["continuous"], ("log", "pattern", "allocator")
    hours = ("execution_h", "wait_h", "turnaround_h")
    saved = summarise(whole, keys, hours, over=over, saved=True)
    mixes = summarise(found["mixes"], ("log", "mix", "allocator"), ("execution_h",), over=over,
                      saved=True)  # fmt: skip
    shares = found["shares"]
    both, share = ("turnaround_h", "node_hours"), ("log", "share", "allocator")
    network = ("log", "uplinks", "talk", "pattern", "allocator")
    best = {"continuous": whole, "individual": found["individual"]}
    slower = summarise(found["emergent"], network, ("execution_h",), over=over)
    most = [own.groupby("log", sort=False, as_index=False)["best"].max().assign(runs=name)
            for name, own in best.items()]  # fmt: skip
    return {
        "over default": summarise(whole, keys, hours[:2], over=over),
        "hours saved": saved,
        "turnaround": _mean_of_ours(saved, ["log", "pattern"], "turnaround_h"),
        "cost saved": _mean_of_ours(whole, ["log", "pattern"], "saved"),
        "mixes saved": _mean_of_ours(mixes, ["log", "mix"], "execution_h"),
        "costs": summarise(found["costs"], ("log", "sizes", "allocator"), ("cost",)),
        "shares": summarise(shares, share, both, over=over),
        "shares saved": summarise(shares, share, both, over=over, saved=True),
        "best": pd.concat(most),
        "network": slower.assign(kind=slower["uplinks"] + ", " + slower["talk"]),
        "network saved": summarise(found["emergent"], network, ("execution_h",), over=over,
                                   saved=True),
    }  # fmt: skip


def _mean_of_ours(table: pd.DataFrame, keys: list[str], value: str) -> pd.DataFrame:
    """Return the mean of a number over the three allocators of the paper."""
    own = table[table["allocator"].isin(OURS)]
    return own.groupby(keys, sort=False, as_index=False)[[value]].mean()


def _saved_hours(word: str, sentence: str, at: int, *, quick: bool) -> Claim:
    """Return the claim about execution or wait in Table 3."""
    paper = {
        (*key, name): 100 * (1 - own[at][1 + place] / own[at][0])
        for key, own in PAPER_HOURS.items()
        for place, name in enumerate(OURS)
    }
    return Claim("6.1, Table 3", sentence, "hours saved", f"{word}_h",
                 ("log", "pattern", "allocator"), "%", {"allocator": OURS[1:]},
                 with_synthetic(paper), least=0.0, quick=quick, why=_LOAD)  # fmt: skip


_LOAD = "jobs, machine and node counts of the paper are not published in full"
_HOPS = "a cost of hops knows neither bandwidth nor what the links can carry"
_INDIVIDUAL = with_synthetic(
    {
        (*key, name): value
        for key, own in PAPER_INDIVIDUAL.items()
        for name, value in zip(OURS, own, strict=True)
    }
)
_MIXES = with_synthetic(
    {
        (log, mix): value
        for log, own in PAPER_MIXES.items()
        for mix, value in zip("ABCDE", own, strict=True)
    }
)
_SHARES = {key: 100 * (1 - value) for key, value in PAPER_SHARES["turnaround_h"].items()
           if isinstance(value, float)}  # fmt: skip
_NODE_HOURS = {key: 100 * (1 - value) for key, value in PAPER_SHARES["node_hours"].items()
               if isinstance(value, float)}  # fmt: skip
CLAIMS = (
    _saved_hours("execution", "Balanced and adaptive shorten execution on every log.", 0,
                 quick=True),
    _saved_hours("wait", "Balanced and adaptive shorten waits on every log.", 1, quick=False),
    Claim(
        "6.1, Table 3", "Greedy shortens execution on Intrepid and Theta; on Mira under RHVD it "
        "lengthens it by a fifth.", "hours saved", "execution_h", ("log", "pattern"), "%",
        {"allocator": OURS[:1]},
        {key: 100 * (1 - own[0][1] / own[0][0]) for key, own in PAPER_HOURS.items()}, near=0.5,
        quick=False, why=_LOAD,
    ),
    Claim(
        "6.3, Table 4", "On equal states jobs save so much time.", "individual", "time",
        ("log", "pattern", "allocator"), "%", paper=_INDIVIDUAL, near=0.5, quick=False, why=_LOAD,
    ),
    Claim(
        "6.1, 6.3", "The job that gains most gains so much.", "best", "best", ("log", "runs"),
        "%", paper=PAPER_BEST, near=0.25, quick=False,
        why="continuous runs: against the default's place in the same state, not in another run",
    ),
    Claim(
        "6.4, Figure 8", "The three save so much of the cost in the mean.", "cost saved", "saved",
        ("log", "pattern"), "%", paper=with_synthetic(PAPER_COST), near=0.5, quick=False,
        why=_LOAD,
    ),
    Claim(
        "6.2, Figure 6", "On mixes the three shorten execution.", "mixes saved", "execution_h",
        ("log", "mix"), "%", paper=_MIXES, least=0.0, why=_LOAD,
    ),
    Claim(
        "6.5, Figure 9", "Adaptive shortens turnaround by so much, by share of jobs that "
        "communicate.", "shares saved", "turnaround_h", ("share", "allocator"), "%",
        paper=_SHARES, near=0.25, quick=False, why=_LOAD,
    ),
    Claim(
        "6.5, Figure 9", "Adaptive saves so many node hours, by share of jobs that communicate.",
        "shares saved", "node_hours", ("share", "allocator"), "%", paper=_NODE_HOURS, near=0.25,
        quick=False, why=_LOAD,
    ),
    Claim(
        "6.5", "The three shorten turnaround by so much in the mean, RHVD.", "turnaround",
        "turnaround_h", ("log",), "%", {"pattern": ("RHVD",)}, PAPER_TURNAROUND, near=0.25,
        quick=False, why=_LOAD,
    ),
    Claim(
        "our network", "The three shorten execution on a simulated network as well.",
        "network saved", "execution_h", ("uplinks", "talk", "pattern", "allocator"), "%",
        {"allocator": OURS}, least=0.0, why=_HOPS,
    ),
)  # fmt: skip
_MARKS = "Marks: the paper; where the load is synthetic, from its least to its most."
_THREE = "Mean over greedy, balanced and adaptive."
_SHARE = "By share of jobs that communicate; marks: Intrepid, greedy from least to most."


def _hours_chart(pattern: str, word: str, at: int) -> Chart:
    """Return the figure of execution or wait in Table 3."""
    paper = {
        (log, name): own[at][1 + place] / own[at][0]
        for (log, kind), own in PAPER_HOURS.items()
        for place, name in enumerate(OURS)
        if kind == pattern
    }
    return Chart(f"{word}-{pattern}", f"{word.capitalize()}, {pattern} (Table 3)", "over default",
                 f"{word}_h", "log", "allocator", Axis(f"{word} time / default", line=1.0), _MARKS,
                 rows={"pattern": (pattern,), "allocator": OURS},
                 paper=with_synthetic(paper))  # fmt: skip


def _individual_chart(pattern: str) -> Chart:
    """Return the figure of Table 4."""
    paper = {(log, name): value for (log, kind, name), value in _INDIVIDUAL.items()
             if kind == pattern}  # fmt: skip
    return Chart(f"individual-{pattern}", f"Individual runs, {pattern} (Table 4)", "individual",
                 "time", "log", "allocator", Axis("time saved [%]", line=0.0),
                 f"On the same states. {_MARKS}", rows={"pattern": (pattern,)},
                 paper=paper)  # fmt: skip


def _by_share(word: str, value: str) -> Chart:
    """Return a figure of section 6.5."""
    return Chart(f"shares-{word}", f"{word.capitalize()} / default (Fig. 9)", "shares", value,
                 "share", "allocator", Axis(f"{word} / default", line=1.0), _SHARE,
                 rows={"allocator": OURS}, paper=PAPER_SHARES[value])  # fmt: skip


CHARTS = (
    *(_hours_chart(pattern, word, at) for pattern in ("RHVD", "RD")
      for at, word in enumerate(("execution", "wait"))),
    *map(_individual_chart, ("RHVD", "RD")),
    Chart(
        "mixes", "Mixes of collectives (Fig. 6)", "mixes saved", "execution_h", "mix", "log",
        Axis("time saved [%]", line=0.0), _THREE,
        paper={(mix, log): value for (log, mix), value in _MIXES.items()},
    ),
    Chart(
        "cost", "Communication cost (section 6.4)", "cost saved", "saved", "pattern", "log",
        Axis("cost saved [%]", line=0.0), _THREE,
        paper={(kind, log): value for (log, kind), value in with_synthetic(PAPER_COST).items()},
    ),
    Chart(
        "costs-{log}", "Cost by size, binomial, {log} (Fig. 8)", "costs", "cost", "sizes",
        "allocator", Axis("cost, equation (6)"), "The paper's figure has no readable numbers.",
        each=("log",),
    ),
    _by_share("turnaround", "turnaround_h"),
    _by_share("node hours", "node_hours"),
    Chart(
        "network-{pattern}", "On our network, {pattern}", "network", "execution_h", "kind",
        "allocator", Axis("execution time / default", line=1.0),
        "By uplinks of a leaf, and share of their time that jobs communicate.", each=("pattern",),
        rows={"allocator": (*OURS, "emergent-adaptive")},
    ),
)  # fmt: skip
MISHRA20 = Paper(
    "mishra20",
    "Mishra20",
    "Greedy, balanced and adaptive nodes on trees (Mishra et al., ICPPW'20)",
    (INTREPID, THETA, MIRA),
    study,
    derive,
    CLAIMS,
    CHARTS,
    (("rhvd",), ("rd-binomial",), ("mixes",), ("shares",), ("emergent",)),
)
