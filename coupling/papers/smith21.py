"""Smith21: Jigsaw against LaaS, TA and LC+S; utilisation, makespan, turnaround, time."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from coupling.papers.claims import differences, summarise
from coupling.papers.paper import ATLAS, THUNDER, Axis, Chart, Claim, Frames, Paper, Published
from coupling.papers.runs import Runs
from coupling.results.columns import finished
from coupling.results.over_time import instantaneous_utilization

BASELINE, STRICT = "first-free", "ta, whole leaves"
ORDER = (BASELINE, "lc+s", "jigsaw", "lc", "laas", "ta", STRICT)
TRACES = ("synth-16", "synth-22", "synth-28", "thunder", "atlas")
ASSUMED = ("5%", "10%", "20%", "V2", "random")
SCENARIOS = ("none", *ASSUMED[:3], "20%, t(1-x)", *ASSUMED[3:], "emergent")
SPED_UP = ("jigsaw", "laas", "ta")
LARGE = 100  # nodes; Figure 7 shows jobs of more apart
PAPER_STEADY: dict[tuple[str, str], Published] = {  # per cent, section 6.1
    ("atlas", "jigsaw"): 92.0,
    ("*", BASELINE): (97, 100),
    ("*", "jigsaw"): (95, 96),
    ("*", "laas"): (90, 91),
    ("*", "ta"): (85, 88),
    ("*", STRICT): (85, 88),
}
PAPER_MAKESPAN = {"lc+s": 1.05, "jigsaw": 1.06, "laas": 1.08, "ta": 1.14}  # no speed-ups, 6.3
PAPER_BEST = (0.85, 1.0)  # makespan of Jigsaw, "better by up to 15 %"
PAPER_OCT_CAB = {  # turnaround at 10 %
    ("all", "laas"): 1.00,
    ("large", "laas"): 1.05,
    ("all", "jigsaw"): 0.89,
    ("large", "jigsaw"): 0.95,
}
PAPER_TABLE_2 = {  # events from >= 98 % down to < 60 %
    "laas": (4133, 53720, 78072, 52546, 21261, 1717),
    "jigsaw": (54186, 51789, 50299, 36586, 17086, 1503),
    "ta": (20443, 27134, 46923, 68262, 42923, 5764),
}
BINS = (">=98", "95-98", "90-95", "80-90", "60-80", "<60")
PAPER_SHARES = {  # of the events of Table 2, per cent
    (name, policy): 100 * count / sum(counts)
    for policy, counts in PAPER_TABLE_2.items()
    for name, count in zip(BINS, counts, strict=True)
}
PAPER_MS = {  # Table 3
    ("synth-16", "ta"): 2.83,
    ("synth-16", "laas"): 2.94,
    ("synth-16", "jigsaw"): 3.05,
    ("synth-16", "lc+s"): 55.5,
    ("thunder", "ta"): 1.28,
    ("thunder", "laas"): 1.06,
    ("thunder", "jigsaw"): 1.04,
    ("thunder", "lc+s"): 53.33,
    ("synth-28", "ta"): 7.09,
    ("synth-28", "laas"): 9.47,
    ("synth-28", "jigsaw"): 9.98,
    ("synth-28", "lc+s"): 255.0,
}
PAPER_TRACES = {  # Table 1: jobs, nodes of the largest, longest run time in s
    "synth-16": (10_000, 138, 3000),
    "synth-22": (10_000, 190, 3000),
    "synth-28": (10_000, 241, 3000),
    "thunder": (105_764, 965, 172_362),
    "atlas": (29_700, 1024, 342_754),
}


USED = ("utilization_steady", "internal_fragmentation", "scheduling_ms_per_job")


def trace_of(row: Mapping[str, object]) -> str:
    """Return what a trace is called."""
    path = row.get("workload.path")
    if isinstance(path, str):
        return Path(path).name.split("-")[1].lower()
    mean = row.get("workload.mean_nodes")
    return f"synth-{16 if mean is None or mean != mean else mean:g}"  # noqa: PLR0124 (NaN)


def _named_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells with columns ``trace``, ``policy``, ``scenario`` and ``sample``."""
    rows = cells.to_dict("records")
    model = cells.get("network.model", pd.Series("null", index=cells.index))
    return cells.assign(
        trace=[trace_of({str(key): one for key, one in row.items()}) for row in rows],
        policy=cells.get("scheduler.allocator", pd.Series("lc+s", index=cells.index)).fillna(
            "lc+s"
        ),
        scenario=model.replace({"null": "none"}),
        sample=cells.get("run.seed", pd.Series(1, index=cells.index)).fillna(1),
    )


def study(runs: Runs) -> Frames:
    """Find utilisation, makespan, turnaround and time in the runs."""
    dense = _named_cells(runs.cells("utilisation", "synth", "synth-search", "logs"))
    keys = ["trace", "policy", "sample"]
    return {
        "utilisation": dense[[*keys, *USED]],
        "makespan": _baseline_ratios(dense, "makespan_s", ["trace"]),
        "speedups": _baseline_ratios(
            _named_cells(runs.cells("speedups")), "makespan_s", ["trace", "scenario"]
        ),
        "turnaround": _turnaround_ratios(runs),
        "instants": _instant_shares(runs, dense),
        "traces": _trace_table(runs, dense),
    }


def _baseline_ratios(cells: pd.DataFrame, value: str, keys: list[str]) -> pd.DataFrame:
    """Return a number over that of Baseline in the same sample without speed-ups."""
    plain = (cells["policy"] == BASELINE) & cells["scenario"].isin(["none"])
    own = (cells["policy"] == BASELINE) & (cells["scenario"] == "emergent")
    base = cells[plain].set_index(["trace", "sample"])[value]
    network = cells[own].set_index(["trace", "sample"])[value]
    found = []
    for row in cells[cells["policy"] != BASELINE].to_dict("records"):
        place = (row["trace"], row["sample"])
        below = network if row["scenario"] == "emergent" else base
        if place in below.index:
            found.append({**{key: row[key] for key in (*keys, "policy", "sample")},
                          "ratio": row[value] / below[place]})  # fmt: skip
    return pd.DataFrame(found, columns=[*keys, "policy", "sample", "ratio"])


def _turnaround_ratios(runs: Runs) -> pd.DataFrame:
    """Return mean turnaround over Baseline's, of all jobs and of large ones (Figure 7)."""
    name = "arrivals" if "arrivals" in runs.sweeps else "speedups"
    cells = _named_cells(runs.cells(name))
    large = []
    for row in cells.to_dict("records"):
        jobs = runs.jobs(name, row["cell"])
        own = jobs[(jobs["dropped"] == "") & (jobs["n_nodes"] > LARGE)]["turnaround_s"]
        large.append(float(own.mean()) if len(own) else float("nan"))
    keys = ["trace", "scenario"]
    both = {
        "all": _baseline_ratios(cells, "mean_turnaround_s", keys),
        "large": _baseline_ratios(cells.assign(large=large), "large", keys),
    }
    return pd.concat([one.assign(jobs=which) for which, one in both.items()], ignore_index=True)


def _trace_table(runs: Runs, dense: pd.DataFrame) -> pd.DataFrame:
    """Return what the traces are like (Table 1), the first sample of each."""
    rows = []
    for trace, own in dense.groupby("trace", sort=False):
        first = own.iloc[0]
        jobs = runs.jobs(str(first["file"]), str(first["cell"]))
        jobs = finished(jobs)
        times = jobs["runtime_reference_s"]
        rows.append(
            {"trace": trace, "nodes": first["nodes"], "jobs": len(jobs),
             "largest": jobs["n_nodes"].max(), "single": (jobs["n_nodes"] == 1).sum(),
             "shortest": times.min(), "longest": times.max()}
        )  # fmt: skip
    return pd.DataFrame(rows)


def _instant_shares(runs: Runs, dense: pd.DataFrame) -> pd.DataFrame:
    """Return the share of events by utilisation after them, in per cent (Table 2)."""
    trace = "thunder" if "thunder" in set(dense["trace"]) else "synth-16"
    own = dense[(dense["trace"] == trace) & dense["policy"].isin([*SPED_UP, STRICT])]
    rows = []
    for row in own.to_dict("records"):
        jobs = runs.jobs(row["file"], row["cell"])
        shares = 100.0 * instantaneous_utilization(jobs, int(row["nodes"]))
        rows += [
            {"trace": trace, "policy": row["policy"], "sample": row["sample"], "bin": name,
             "percent": share}
            for name, share in shares.items()
        ]  # fmt: skip
    return pd.DataFrame(rows)


_PAIRS = (("lc+s", "jigsaw"), ("jigsaw", "lc"))


def derive(found: Frames) -> Frames:
    """Return means over samples in the order of the paper, and what LC+S gains and LaaS holds."""
    use = _by_policy(summarise(found["utilisation"], ("trace", "policy"), USED))
    for name in USED[:2]:
        for column in (name, f"{name} low", f"{name} high"):
            use[column] *= 100
    makespan = _by_policy(summarise(found["makespan"], ("trace", "policy"), ("ratio",)))
    largest = makespan.loc[makespan.groupby("policy")["ratio"].idxmax()]
    instants = summarise(found["instants"], ("trace", "policy", "bin"), ("percent",))
    speedups = summarise(found["speedups"], ("trace", "scenario", "policy"), ("ratio",))
    keys = ("trace", "jobs", "scenario", "policy")
    turnaround = summarise(found["turnaround"].dropna(subset="ratio"), keys, ("ratio",))
    traces = found["traces"].melt("trace", ["jobs", "largest", "longest"], "what")
    return {
        "utilisation": use,
        "time": _by_trace(use),
        "makespan": makespan,
        "worst": largest,
        "ahead": differences(found["utilisation"], ("trace",), USED[0], "policy", _PAIRS),
        "instants": instants,
        "speedups": _by_scenario(speedups),
        "turnaround": _by_scenario(turnaround),
        "kinds": traces,
    }


def _by_scenario(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in the order of the scenarios."""
    return table.sort_values("scenario", key=lambda own: own.map(SCENARIOS.index), kind="stable")


def _by_trace(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in the order of the traces."""
    return table.sort_values("trace", key=lambda own: own.map(TRACES.index), kind="stable")


def _by_policy(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in the order of the allocators, then of the traces."""
    return _by_trace(table).sort_values(
        "policy", key=lambda own: own.map(ORDER.index), kind="stable"
    )


def _steady_claim(sentence: str, policy: str, why: str = "") -> Claim:
    """Return the claim about the steady utilisation of an allocator."""
    return Claim("6.1, Figure 6", sentence, "utilisation", USED[0], ("trace", "policy"), "%",
                 {"policy": (policy,)}, PAPER_STEADY, near=0.01, why=why)  # fmt: skip


_STRICT = "Algorithm 1 as printed is less strict than what the paper can have run"
_READING = "t / (1 + x) here; the first days of a log, where one long job can decide"
_CAB = "Oct-Cab there; its log is not public"
CLAIMS = (
    Claim(
        "5.1, Table 1", "The traces have so many jobs, nodes of the largest, seconds of the "
        "longest.", "kinds", "value", ("trace", "what"), "",
        paper={(trace, what): value for trace, values in PAPER_TRACES.items()
               for what, value in zip(("jobs", "largest", "longest"), values, strict=True)},
        near=0.01, quick=False,
        why="synthetic ones are sampled from the paper's distributions, not its files",
    ),
    _steady_claim("Baseline is 97 to 100 % full.", BASELINE),
    _steady_claim("Jigsaw is 95 or 96 % full, on Atlas 92 %.", "jigsaw"),
    _steady_claim("LaaS is 90 or 91 % full.", "laas"),
    _steady_claim("TA is 85 to 88 % full.", "ta", _STRICT),
    _steady_claim("TA is 85 to 88 % full (here with wholly free leaves).", STRICT),
    Claim(
        "6.1, Figure 6", "LC+S gains at most 3.7 points on Jigsaw.", "ahead", "more",
        ("pair", "trace"), "of the nodes", {"pair": ("lc+s over jigsaw",)}, most=0.037,
        why="Aug-Cab there; its log is not public",
    ),
    Claim(
        "6.1", "LC, whose conditions are necessary as well, is below Jigsaw.", "ahead", "more",
        ("pair", "trace"), "of the nodes", {"pair": ("jigsaw over lc",)}, least=0.0,
        why="only in the quick mode: LC searches long",
    ),
    Claim(
        "6.1", "LaaS holds 3 to 7 % of the nodes unasked for.", "utilisation", USED[1],
        ("trace",), "%", {"policy": ("laas",)}, {"*": (3, 7)}, least=3, most=7,
    ),
    Claim(
        "6.3, Figure 8", "Makespans without speed-ups are at worst these multiples of Baseline's.",
        "worst", "ratio", ("policy",), paper=PAPER_MAKESPAN, near=0.02, quick=False, why=_STRICT,
    ),
    Claim(
        "6.1, Table 2", "Events by utilisation after them, Thunder.", "instants", "percent",
        ("bin", "policy"), "%", {"trace": ("thunder",)}, PAPER_SHARES, near=0.25, quick=False,
        why="order of the queue and bins are not said",
    ),
    Claim(
        "6.2, Figure 7", "Turnaround at 10 %, over Baseline's: LaaS 1.00, Jigsaw 0.89; of large "
        "jobs 1.05 and 0.95.", "turnaround", "ratio", ("trace", "jobs", "policy"),
        rows={"scenario": ("10%",)},
        paper={("*", *key): value for key, value in PAPER_OCT_CAB.items()}, near=0.05,
        quick=False, why=_CAB,
    ),
    Claim(
        "6.3, Figure 8", "With speed-ups Jigsaw's makespan is 0.85 to 1.00 of Baseline's.",
        "speedups", "ratio", ("trace", "scenario"),
        rows={"scenario": ASSUMED, "policy": ("jigsaw",)}, paper={("*", "*"): PAPER_BEST},
        least=0.85, most=1.0, quick=False, why=_READING,
    ),
    Claim(
        "6.3, Figure 8", "TA's makespan is above Baseline's in all scenarios but 20 %.",
        "speedups", "ratio", ("trace", "scenario"),
        rows={"scenario": ("5%", "10%", "V2", "random"), "policy": ("ta",)}, least=1.0,
        quick=False, why=_READING,
    ),
    Claim(
        "6.3, Figure 8", "With 20 % TA's makespan is below Baseline's.", "speedups", "ratio",
        ("trace",), rows={"scenario": ("20%",), "policy": ("ta",)}, most=1.0, quick=False,
        why=_READING,
    ),
    Claim(
        "our network", "The network gives Jigsaw, LaaS and TA the 5 % of the least scenario.",
        "speedups", "ratio", ("trace", "policy"), rows={"scenario": ("emergent",)}, most=0.95,
        quick=False, why="on Thunder, nodes left idle by isolation cost more than it gives",
    ),
    Claim(
        "6.4, Table 3", "Scheduling takes so many ms a job.", "utilisation", USED[2],
        ("trace", "policy"), "ms", paper=PAPER_MS, near=0.5, why="another machine and program",
    ),
)  # fmt: skip
CHARTS = (
    Chart(
        "utilisation", "Steady utilisation (Figure 6)", "utilisation", USED[0], "trace", "policy",
        Axis("utilisation [%]", 80, 100), "Bars: ours. The paper's figure has no readable numbers: "
        "marks are what its text says.", paper=PAPER_STEADY,
    ),
    Chart(
        "makespan-{trace}", "Makespan, {trace} (Fig. 8)", "speedups", "ratio", "scenario", "policy",
        Axis("makespan / Baseline", line=1.0), "Assumed speed-ups, and emergent ones.",
        each=("trace",),
        paper={("*", "none", name): value for name, value in PAPER_MAKESPAN.items()}
        | {("*", name, "jigsaw"): PAPER_BEST for name in ASSUMED},
    ),
    *(
        Chart(
            f"turnaround-{{trace}}-{jobs}", f"Turnaround, {{trace}}, {words} (Fig. 7)",
            "turnaround", "ratio", "scenario", "policy", Axis("turnaround / Baseline", line=1.0),
            "The marks are Oct-Cab, the only values in the text; its log is not public.",
            each=("trace",), rows={"jobs": (jobs,)},
            paper={("*", "10%", policy): value
                   for (which, policy), value in PAPER_OCT_CAB.items() if which == jobs},
        )
        for jobs, words in (("all", "all jobs"), ("large", f"> {LARGE} nodes"))
    ),
    Chart(
        "instants", "Instantaneous utilisation (Table 2)", "instants", "percent", "bin", "policy",
        Axis("% of the events"), "The paper's trace is Thunder.", paper=PAPER_SHARES,
    ),
    Chart(
        "time", "Time per job (Table 3)", "time", USED[2], "trace", "policy",
        Axis("ms per job", log=True), "CPU time of all decisions; machines differ.",
        rows={"policy": (*SPED_UP, "lc+s")}, paper=PAPER_MS,
    ),
)  # fmt: skip
SMITH21 = Paper(
    "smith21",
    "Smith21",
    "Jigsaw, LaaS, TA and LC+S (Smith & Lowenthal, HPDC'21)",
    (THUNDER, ATLAS),
    study,
    derive,
    CLAIMS,
    CHARTS,
    (("utilisation", "synth", "synth-search", "logs"), ("speedups",)),
)
