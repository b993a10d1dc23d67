"""Smith21: Jigsaw against LaaS, TA and LC+S; utilisation, makespan, turnaround, time."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from coupling.papers.charts import Axis, bars, beside
from coupling.papers.logs import ATLAS, THUNDER
from coupling.papers.paper import Claim, Frames, Paper, Sheet
from coupling.papers.runs import Runs
from coupling.papers.tables import long, pivot, span
from coupling.report.figures import Drawn
from coupling.results.over_time import instantaneous_utilization

BASELINE, STRICT = "first-free", "ta, whole leaves"
ORDER = (BASELINE, "lc+s", "jigsaw", "laas", "ta", STRICT)
SPED_UP = ("jigsaw", "laas", "ta")
LARGE = 100  # nodes; Figure 7 shows jobs of more apart
LOGS = (THUNDER, ATLAS)
PAPER_STEADY: Mapping[str, tuple[float, float]] = {  # per cent, section 6.1
    BASELINE: (97, 100),
    "jigsaw": (95, 96),
    "laas": (90, 91),
    "ta": (85, 88),
    STRICT: (85, 88),
}
PAPER_ATLAS_JIGSAW = 92.0
PAPER_MAKESPAN = {"lc+s": 1.05, "jigsaw": 1.06, "laas": 1.08, "ta": 1.14}  # no speed-ups, 6.3
PAPER_BEST = 0.85  # makespan of Jigsaw, "better by up to 15 %"
PAPER_OCT_CAB = {"laas": (1.00, 1.05), "jigsaw": (0.89, 0.95)}  # turnaround at 10 %: all, large
PAPER_TABLE_2 = {  # events from >= 98 % down to < 60 %
    "laas": (4133, 53720, 78072, 52546, 21261, 1717),
    "jigsaw": (54186, 51789, 50299, 36586, 17086, 1503),
    "ta": (20443, 27134, 46923, 68262, 42923, 5764),
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
SCENARIOS = ("none", "5%", "10%", "20%", "V2", "random", "emergent")


def trace_of(row: Mapping[str, object]) -> str:
    """Return what a trace is called."""
    path = row.get("workload.path")
    if isinstance(path, str):
        return Path(path).name.split("-")[1].lower()
    mean = row.get("workload.mean_nodes")
    return f"synth-{16 if mean is None or mean != mean else mean:g}"  # noqa: PLR0124 (NaN)


def _named(cells: pd.DataFrame) -> pd.DataFrame:
    """Return cells with columns ``trace``, ``policy``, ``scenario`` and ``seed``."""
    rows = cells.to_dict("records")
    model = cells.get("network.model", pd.Series("null", index=cells.index))
    return cells.assign(
        trace=[trace_of({str(key): one for key, one in row.items()}) for row in rows],
        policy=cells.get("scheduler.allocator", pd.Series("lc+s", index=cells.index)).fillna(
            "lc+s"
        ),
        scenario=model.replace({"null": "none"}),
        seed=cells.get("run.seed", pd.Series(1, index=cells.index)).fillna(1),
    )


def study(runs: Runs) -> Frames:
    """Find utilisation, makespan, turnaround and time in the runs."""
    dense = _named(runs.cells("utilisation", "synth", "synth-search", "logs"))
    keys = ["trace", "policy"]
    means = dense.groupby(keys, sort=False, as_index=False)[
        ["utilization_steady", "internal_fragmentation", "scheduling_ms_per_job"]
    ].mean()
    return {
        "utilisation": means,
        "makespan": _ratios(dense, "makespan_s", ["trace"]),
        "speedups": _ratios(_named(runs.cells("speedups")), "makespan_s", ["trace", "scenario"]),
        "turnaround": _turnaround(runs),
        "instants": _instants(runs, dense),
    }


def _ratios(cells: pd.DataFrame, value: str, keys: list[str]) -> pd.DataFrame:
    """Return a number over that of Baseline in the same draw without speed-ups, in the mean."""
    plain = (cells["policy"] == BASELINE) & cells["scenario"].isin(["none"])
    own = (cells["policy"] == BASELINE) & (cells["scenario"] == "emergent")
    base = cells[plain].set_index(["trace", "seed"])[value]
    network = cells[own].set_index(["trace", "seed"])[value]
    found = []
    for row in cells[cells["policy"] != BASELINE].to_dict("records"):
        place = (row["trace"], row["seed"])
        below = network if row["scenario"] == "emergent" else base
        if place in below.index:
            found.append({**{key: row[key] for key in keys}, "policy": row["policy"],
                          "ratio": row[value] / below[place]})  # fmt: skip
    return (
        pd.DataFrame(found, columns=[*keys, "policy", "ratio"])
        .groupby([*keys, "policy"], sort=False, as_index=False)
        .mean()
    )


def _turnaround(runs: Runs) -> pd.DataFrame:
    """Return mean turnaround over Baseline's, of all jobs and of large ones (Figure 7)."""
    name = "arrivals" if "arrivals" in runs.sweeps else "speedups"
    cells = _named(runs.cells(name))
    large = []
    for row in cells.to_dict("records"):
        jobs = runs.jobs(name, row["cell"])
        own = jobs[(jobs["dropped"] == "") & (jobs["n_nodes"] > LARGE)]["turnaround_s"]
        large.append(float(own.mean()) if len(own) else float("nan"))
    keys = ["trace", "scenario"]
    both = {
        "all": _ratios(cells, "mean_turnaround_s", keys),
        "large": _ratios(cells.assign(large=large), "large", keys),
    }
    return pd.concat([one.assign(jobs=which) for which, one in both.items()], ignore_index=True)


def _instants(runs: Runs, dense: pd.DataFrame) -> pd.DataFrame:
    """Return the share of events by utilisation after them, in per cent (Table 2)."""
    trace = "thunder" if "thunder" in set(dense["trace"]) else "synth-16"
    own = dense[(dense["trace"] == trace) & dense["policy"].isin([*SPED_UP, STRICT])]
    rows = []
    for row in own.to_dict("records"):
        jobs = runs.jobs(row["file"], row["cell"])
        shares = 100.0 * instantaneous_utilization(jobs, int(row["nodes"]))
        rows += [
            {"trace": trace, "policy": row["policy"], "bin": name, "percent": share}
            for name, share in shares.items()
        ]
    table = pd.DataFrame(rows)
    return table.groupby(["trace", "policy", "bin"], sort=False, as_index=False).mean()


def claims(found: Frames) -> list[Claim]:
    """Return the paper's statements beside ours."""
    use = found["utilisation"]
    steady = 100 * use.set_index(["trace", "policy"])["utilization_steady"]

    def spread(policy: str) -> str:
        own = steady[use["policy"].to_numpy() == policy]
        return span(own, 1, " %")

    lost = 100 * use[use["policy"] == "laas"]["internal_fragmentation"]
    worst = found["makespan"].groupby("policy")["ratio"].max()
    strict = "Algorithm 1 as printed is less strict than what the paper can have run"
    rows = [
        Claim("6.1, Figure 6", "steady utilisation, Baseline", "97-100 %", spread(BASELINE)),
        Claim("", "Jigsaw", "95-96 %, Atlas 92 %", spread("jigsaw")),
        Claim("", "LaaS", "90-91 %, one 93 %", spread("laas")),
        Claim("", "TA", "85-88 %", spread("ta"), strict),
        Claim("", "TA, wholly free leaves", "85-88 %", spread(STRICT)),
        Claim("6.1", "nodes that LaaS holds unasked for", "3-7 %", span(lost, 1, " %")),
    ]
    other_draws = "worst of Thunder and Atlas there; here of the traces that were run"
    for policy, paper in PAPER_MAKESPAN.items():
        if policy in worst:
            why = strict if policy == "ta" else other_draws
            first = not any(one.where.startswith("6.3") for one in rows)
            rows.append(
                Claim("6.3, Figure 8" if first else "", f"worst makespan / Baseline, {policy}",
                      f"{paper:.2f}", f"{worst[policy]:.3f}", why)
            )  # fmt: skip
    return rows + _scenario_claims(found) + _time_claims(found)


def _scenario_claims(found: Frames) -> list[Claim]:
    """Return the statements about speed-ups."""
    table = found["speedups"]
    of = table[table["scenario"].isin(SCENARIOS[1:6])]
    network = table[table["scenario"] == "emergent"].groupby("policy")["ratio"]
    reading = "t / (1 + x) here; the first days of a log, where one long job can decide"
    emergent = ", ".join(f"{name} {span(own, 3)}" for name, own in network)
    jigsaw = of[of["policy"] == "jigsaw"]["ratio"]
    ta = of[(of["policy"] == "ta") & (of["scenario"] != "20%")]["ratio"]
    ta20 = of[(of["policy"] == "ta") & (of["scenario"] == "20%")]["ratio"]
    return [
        Claim("6.3, Figure 8", "makespan / Baseline with assumed speed-ups, Jigsaw", "0.85-1.00",
              span(jigsaw, 3), reading),
        Claim("", "TA, all scenarios but 20 %", "above 1", span(ta, 3), reading),
        Claim("", "TA, 20 %", "below 1", span(ta20, 3), reading),
        Claim("", "the same, emergent", "not in the paper", emergent,
              "the default profile communicates less than the scenarios assume"),
    ]  # fmt: skip


def _time_claims(found: Frames) -> list[Claim]:
    """Return the statements about time."""
    ms = found["utilisation"].set_index(["trace", "policy"])["scheduling_ms_per_job"]
    rows: list[Claim] = []
    for trace in dict.fromkeys(name for name, _ in PAPER_MS):
        own = [p for p in ("jigsaw", "laas", "ta", "lc+s") if (trace, p) in ms]
        if own:
            rows.append(
                Claim("" if rows else "6.4, Table 3", f"ms per job on {trace}: {', '.join(own)}",
                      ", ".join(f"{PAPER_MS[trace, p]:g}" for p in own),
                      ", ".join(f"{ms[trace, p]:.2f}" for p in own),
                      "another machine and program")
            )  # fmt: skip
    return rows


def sheets(found: Frames) -> list[Sheet]:
    """Return all numbers as tables."""
    use = _ordered(found["utilisation"])
    use = use.assign(percent=100 * use["utilization_steady"])
    traces = list(dict.fromkeys(use["trace"]))
    result = [
        Sheet("utilisation", "Steady utilisation, % (Figure 6)", ["allocator", *traces],
              pivot(use, "policy", "trace", "percent", 1)),
        Sheet("makespan", "Makespan / Baseline, no speed-ups (section 6.3)",
              ["allocator", *traces],
              pivot(_ordered(found["makespan"]), "policy", "trace", "ratio", 3)),
    ]  # fmt: skip
    for trace, own in found["speedups"].groupby("trace", sort=False):
        kinds = [name for name in SCENARIOS if name in set(own["scenario"])]
        result.append(
            Sheet(f"speedups-{trace}", f"Makespan / Baseline with speed-ups, {trace} (Figure 8)",
                  ["allocator", *kinds], pivot(_sorted(own), "policy", "scenario", "ratio", 3))
        )  # fmt: skip
    for (name, which), own in found["turnaround"].groupby(["trace", "jobs"], sort=False):
        kinds = [name for name in SCENARIOS if name in set(own["scenario"])]
        title = f"Turnaround / Baseline, {name}, {which} jobs (Figure 7)"
        result.append(
            Sheet(f"turnaround-{name}-{which}", title, ["allocator", *kinds],
                  pivot(_sorted(own), "policy", "scenario", "ratio", 3))
        )  # fmt: skip
    return [*result, _table_2(found["instants"])]


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in the order of the scenarios."""
    place = {name: at for at, name in enumerate(SCENARIOS)}
    return table.sort_values("scenario", key=lambda own: own.map(place), kind="stable")


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in the order of the allocators, then of the traces."""
    place = {name: at for at, name in enumerate(ORDER)}
    traces = {"synth-16": 0, "synth-22": 1, "synth-28": 2, "thunder": 3, "atlas": 4}
    table = table.sort_values("trace", key=lambda own: own.map(traces), kind="stable")
    return table.sort_values("policy", key=lambda own: own.map(place), kind="stable")


def _table_2(instants: pd.DataFrame) -> Sheet:
    """Return Table 2 with the paper's rows between ours."""
    names = list(dict.fromkeys(instants["bin"]))
    known = instants.set_index(["policy", "bin"])["percent"]
    rows = []
    for policy in (*SPED_UP, STRICT):
        if policy in PAPER_TABLE_2:
            shares = _shares(policy)
            rows.append([f"paper, {policy}", *(f"{share:.1f}" for share in shares)])
        rows.append([f"ours, {policy}", *(f"{known[policy, name]:.1f}" for name in names)])
    trace = instants["trace"].iloc[0]
    return Sheet(
        "instants",
        f"Instantaneous utilisation, % of the events (Table 2; ours: {trace})",
        ["", *names],
        rows,
    )


def _shares(policy: str) -> list[float]:
    """Return a row of Table 2 in per cent."""
    counts = np.array(PAPER_TABLE_2[policy], dtype=np.float64)
    return [float(share) for share in 100.0 * counts / counts.sum()]


def figures(found: Frames) -> list[Drawn]:
    """Return the figures of the paper."""
    use = _ordered(found["utilisation"])
    use = use.assign(percent=100 * use["utilization_steady"])
    known: dict[tuple[str, str], float | tuple[float, float]] = {
        ("*", name): ends for name, ends in PAPER_STEADY.items()
    }
    known[("atlas", "jigsaw")] = PAPER_ATLAS_JIGSAW
    caption = (
        "Bars: ours. The paper's figure has no readable numbers: marks are what its text says."
    )
    drawn = [
        Drawn("utilisation", bars("smith21-utilisation", "Steady utilisation (Figure 6)",
              beside(long(use, "trace", "percent"), known),
              Axis("utilisation [%]", 80, 100)), caption),
    ]  # fmt: skip
    paper: dict[tuple[str, str], float | tuple[float, float]] = {
        ("none", name): value for name, value in PAPER_MAKESPAN.items()
    }
    paper |= {(name, "jigsaw"): (PAPER_BEST, 1.0) for name in SCENARIOS[1:6]}
    for trace, own in found["speedups"].groupby("trace", sort=False):
        picture = bars(
            f"smith21-makespan-{trace}",
            f"Makespan, {trace} (Fig. 8)",
            beside(long(_sorted(own), "scenario", "ratio"), paper),
            Axis("makespan / Baseline", line=1.0),
        )
        drawn.append(Drawn(f"makespan-{trace}", picture, "Assumed speed-ups, and emergent ones."))
    return drawn + _turnaround_figures(found["turnaround"]) + _other_figures(found)


def _turnaround_figures(table: pd.DataFrame) -> list[Drawn]:
    """Return Figure 7."""
    drawn = []
    for (trace, which), own in table.groupby(["trace", "jobs"], sort=False):
        said = {("10%", name): pair[which == "large"] for name, pair in PAPER_OCT_CAB.items()}
        some = "all jobs" if which == "all" else f"> {LARGE} nodes"
        picture = bars(
            f"smith21-turnaround-{trace}-{which}",
            f"Turnaround, {trace}, {some} (Fig. 7)",
            beside(long(_sorted(own), "scenario", "ratio"), said),
            Axis("turnaround / Baseline", line=1.0),
        )
        caption = "The marks are Oct-Cab, the only values in the text; its log is not public."
        drawn.append(Drawn(f"turnaround-{trace}-{which}", picture, caption))
    return drawn


def _other_figures(found: Frames) -> list[Drawn]:
    """Return Tables 2 and 3 as figures."""
    instants = found["instants"]
    names = list(dict.fromkeys(instants["bin"]))
    shares: dict[tuple[str, str], float | tuple[float, float]] = {
        (name, policy): share
        for policy in PAPER_TABLE_2
        for name, share in zip(names, _shares(policy), strict=True)
    }
    use = _ordered(found["utilisation"])
    timed = use[use["policy"].isin([*SPED_UP, "lc+s"])]
    ours = long(timed, "trace", "scheduling_ms_per_job")
    times = beside(ours, dict(PAPER_MS))
    return [
        Drawn("instants", bars("smith21-instants", "Instantaneous utilisation (Table 2)",
              beside(long(instants, "bin", "percent"), shares), Axis("% of the events")),
              f"Ours: {instants['trace'].iloc[0]}; the paper: Thunder."),
        Drawn("time", bars("smith21-time", "Time per job (Table 3)", times,
              Axis("ms per job", log=True)), "CPU time of all decisions; machines differ."),
    ]  # fmt: skip


SMITH21 = Paper(
    "smith21",
    "Smith21",
    "Jigsaw, LaaS, TA and LC+S (Smith & Lowenthal, HPDC'21)",
    LOGS,
    study,
    claims,
    sheets,
    figures,
)
