"""Smith21: its numbers beside ours, as tables and as figures."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from coupling.papers.charts import Axis, bars, published
from coupling.papers.paper import Claim, Frames, Sheet
from coupling.papers.tables import long, pivot, span
from coupling.report.figures import DrawnFigure

BASELINE, STRICT = "first-free", "ta, whole leaves"
ORDER = (BASELINE, "lc+s", "jigsaw", "lc", "laas", "ta", STRICT)
SPED_UP = ("jigsaw", "laas", "ta")
LARGE = 100  # nodes; Figure 7 shows jobs of more apart
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
PAPER_TABLE_1 = {  # system nodes, jobs, nodes of the largest, run times from and to in s, arrivals
    "synth-16": ("-", 10_000, 138, 20, 3000, "at once"),
    "synth-22": ("-", 10_000, 190, 20, 3000, "at once"),
    "synth-28": ("-", 10_000, 241, 20, 3000, "at once"),
    "aug-cab": ("1296", 30_691, 257, 1, 86_429, "logged"),
    "sep-cab": ("1296", 87_564, 256, 1, 57_629, "logged"),
    "oct-cab": ("1296", 125_228, 258, 1, 93_623, "logged"),
    "nov-cab": ("1296", 50_353, 256, 1, 86_426, "logged"),
    "thunder": ("1024", 105_764, 965, 1, 172_362, "at once"),
    "atlas": ("1152", 29_700, 1024, 1, 342_754, "at once"),
}
ASSUMED = ("5%", "10%", "20%", "V2", "random")
SUBTRACT = "20%, t(1-x)"  # the other reading of faster by a fifth
SCENARIOS = ("none", *ASSUMED[:3], SUBTRACT, *ASSUMED[3:], "emergent")


TRACES = "traces"  # the table of them; records that were made before have none
LOGGED = ("thunder", "atlas")


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
        Claim("", "steady utilisation, Jigsaw", "95-96 %, Atlas 92 %", spread("jigsaw")),
        Claim("", "steady utilisation, LaaS", "90-91 %, one 93 %", spread("laas")),
        Claim("", "steady utilisation, TA", "85-88 %", spread("ta"), strict),
        Claim("", "steady utilisation, TA, wholly free leaves", "85-88 %", spread(STRICT)),
        Claim(
            "",
            "points that LC+S gains on Jigsaw at most",
            "3.7, Aug-Cab",
            _gained(steady),
            "the log of Aug-Cab is not public",
        ),
        Claim(
            "",
            "LC, whose conditions are necessary as well",
            "below Jigsaw",
            spread("lc"),
            "in the quick mode: it searches long",
        ),
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
    rows += _instant_claims(found["instants"]) + _scenario_claims(found)
    traces = _table_1_claims(found[TRACES]) if TRACES in found else []
    return traces + rows + _time_claims(found)


def _table_1_claims(traces: pd.DataFrame) -> list[Claim]:
    """Return Table 1 beside what was run."""
    rows: list[Claim] = []
    for row in traces.to_dict("records"):
        _, jobs, largest, shortest, longest, _ = PAPER_TABLE_1[row["trace"]]
        drawn = "" if row["trace"] in LOGGED else "drawn from its distribution, not its file"
        what = f"{row['trace']}: jobs, nodes of the largest, run times in s"
        rows.append(
            Claim("" if rows else "5.1, Table 1", what,
                  f"{jobs}, {largest}, {shortest}-{longest}",
                  f"{row['jobs']:.0f}, {row['largest']:.0f}, "
                  f"{row['shortest']:.0f}-{row['longest']:.0f}", drawn)
        )  # fmt: skip
    return rows


def _instant_claims(instants: pd.DataFrame) -> list[Claim]:
    """Return the ends of Table 2."""
    known = instants.set_index(["policy", "bin"])["percent"]
    names = list(dict.fromkeys(instants["bin"]))
    trace = str(instants["trace"].iloc[0])
    why = "order of the queue and bins are not said" if trace in LOGGED else "Thunder there"
    rows = list[Claim]()
    for word, own in ((">= 98 %", slice(0, 1)), ("< 80 %", slice(4, None))):
        paper = ", ".join(f"{sum(_shares(policy)[own]):.1f}" for policy in SPED_UP)
        ours = ", ".join(
            f"{sum(known[policy, name] for name in names[own]):.1f}" for policy in SPED_UP
        )
        what = f"% of events at a utilisation {word}, {trace}: {', '.join(SPED_UP)}"
        rows.append(Claim("" if rows else "6.1, Table 2", what, paper, ours, why))
    return rows


def _turnaround_claims(table: pd.DataFrame) -> list[Claim]:
    """Return what the text says of Figure 7."""
    rows: list[Claim] = []
    for trace, own in table[table["scenario"] == "10%"].groupby("trace", sort=False):
        known = own.set_index(["policy", "jobs"])["ratio"]
        pairs = [(name, which) for name in PAPER_OCT_CAB for which in ("all", "large")]
        paper = ", ".join(f"{PAPER_OCT_CAB[name][which == 'large']:.2f}" for name, which in pairs)
        ours = ", ".join(f"{known[pair]:.2f}" if pair in known else "-" for pair in pairs)
        what = f"turnaround / Baseline at 10 %, {trace}: LaaS all, large, Jigsaw all, large"
        rows.append(Claim("" if rows else "6.2, Figure 7", what, paper, ours,
                          "Oct-Cab there; its log is not public"))  # fmt: skip
    return rows


def _gained(steady: pd.Series) -> str:
    """Return by how many points at most LC+S is fuller than Jigsaw."""
    if "lc+s" not in steady.index.get_level_values("policy"):
        return "-"
    gained = steady.xs("lc+s", level="policy") - steady.xs("jigsaw", level="policy")
    return f"{gained.max():.1f}"


def _scenario_claims(found: Frames) -> list[Claim]:
    """Return the statements about speed-ups."""
    table = found["speedups"]
    of = table[table["scenario"].isin(ASSUMED)]
    network = table[table["scenario"] == "emergent"].groupby("policy")["ratio"]
    reading = "t / (1 + x) here; the first days of a log, where one long job can decide"
    emergent = ", ".join(f"{name} {span(own, 3)}" for name, own in network)
    jigsaw = of[of["policy"] == "jigsaw"]["ratio"]
    ta = of[(of["policy"] == "ta") & (of["scenario"] != "20%")]["ratio"]
    ta20 = of[(of["policy"] == "ta") & (of["scenario"] == "20%")]["ratio"]
    return [
        *_turnaround_claims(found["turnaround"]),
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
    heads = ["allocator", *dict.fromkeys(use["trace"])]
    result = [
        Sheet("utilisation", "Steady utilisation, % (Figure 6)", heads,
              pivot(use, "policy", "trace", "percent", 1, heads=heads)),
        Sheet("makespan", "Makespan / Baseline, no speed-ups (section 6.3)", heads,
              pivot(_ordered(found["makespan"]), "policy", "trace", "ratio", 3, heads=heads)),
    ]  # fmt: skip
    for trace, own in found["speedups"].groupby("trace", sort=False):
        heads = ["allocator", *(name for name in SCENARIOS if name in set(own["scenario"]))]
        result.append(
            Sheet(f"speedups-{trace}", f"Makespan / Baseline with speed-ups, {trace} (Figure 8)",
                  heads, pivot(_sorted(own), "policy", "scenario", "ratio", 3, heads=heads))
        )  # fmt: skip
    for (name, which), own in found["turnaround"].groupby(["trace", "jobs"], sort=False):
        heads = ["allocator", *(name for name in SCENARIOS if name in set(own["scenario"]))]
        title = f"Turnaround / Baseline, {name}, {which} jobs (Figure 7)"
        result.append(
            Sheet(f"turnaround-{name}-{which}", title, heads,
                  pivot(_sorted(own), "policy", "scenario", "ratio", 3, heads=heads))
        )  # fmt: skip
    traces = [_table_1(found[TRACES])] if TRACES in found else []
    return [*traces, *result, _table_2(found["instants"])]


def _table_1(traces: pd.DataFrame) -> Sheet:
    """Return Table 1 with our traces below the paper's."""
    known = traces.set_index("trace")
    rows = []
    for trace, (nodes, jobs, largest, shortest, longest, arrivals) in PAPER_TABLE_1.items():
        rows.append(
            [f"paper, {trace}", nodes, f"{jobs}", f"{largest}", f"{shortest}-{longest}", arrivals]
        )
        if trace in known.index:
            own = known.loc[trace]
            rows.append(
                [f"ours, {trace}", f"{own['nodes']:.0f}", f"{own['jobs']:.0f}",
                 f"{own['largest']:.0f}", f"{own['shortest']:.0f}-{own['longest']:.0f}", "at once"]
            )  # fmt: skip
    heads = ["trace", "system nodes", "jobs", "largest job", "run times, s", "arrivals"]
    note = (
        "The logs of Cab are not public. System nodes of ours: of the fat-tree that is simulated."
    )
    return Sheet("traces", "Traces (Table 1)", heads, rows, note)


def _sorted(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in the order of the scenarios."""
    place = {name: at for at, name in enumerate(SCENARIOS)}
    return table.sort_values("scenario", key=lambda own: own.map(place), kind="stable")


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in the order of the allocators, then of the traces."""
    place = {name: at for at, name in enumerate(ORDER)}
    table = _by_trace(table)
    return table.sort_values("policy", key=lambda own: own.map(place), kind="stable")


def _by_trace(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in the order of the traces."""
    traces = {"synth-16": 0, "synth-22": 1, "synth-28": 2, "thunder": 3, "atlas": 4}
    return table.sort_values("trace", key=lambda own: own.map(traces), kind="stable")


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


def figures(found: Frames) -> list[DrawnFigure]:
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
        DrawnFigure("utilisation", bars("smith21-utilisation", "Steady utilisation (Figure 6)",
              published(long(use, "trace", "percent"), known),
              Axis("utilisation [%]", 80, 100)), caption),
    ]  # fmt: skip
    paper: dict[tuple[str, str], float | tuple[float, float]] = {
        ("none", name): value for name, value in PAPER_MAKESPAN.items()
    }
    paper |= {(name, "jigsaw"): (PAPER_BEST, 1.0) for name in ASSUMED}
    for trace, own in found["speedups"].groupby("trace", sort=False):
        picture = bars(
            f"smith21-makespan-{trace}",
            f"Makespan, {trace} (Fig. 8)",
            published(long(_sorted(own), "scenario", "ratio"), paper),
            Axis("makespan / Baseline", line=1.0),
        )
        drawn.append(
            DrawnFigure(f"makespan-{trace}", picture, "Assumed speed-ups, and emergent ones.")
        )
    return drawn + _turnaround_figures(found["turnaround"]) + _other_figures(found)


def _turnaround_figures(table: pd.DataFrame) -> list[DrawnFigure]:
    drawn = []
    for (trace, which), own in table.groupby(["trace", "jobs"], sort=False):
        said = {("10%", name): pair[which == "large"] for name, pair in PAPER_OCT_CAB.items()}
        some = "all jobs" if which == "all" else f"> {LARGE} nodes"
        picture = bars(
            f"smith21-turnaround-{trace}-{which}",
            f"Turnaround, {trace}, {some} (Fig. 7)",
            published(long(_sorted(own), "scenario", "ratio"), said),
            Axis("turnaround / Baseline", line=1.0),
        )
        caption = "The marks are Oct-Cab, the only values in the text; its log is not public."
        drawn.append(DrawnFigure(f"turnaround-{trace}-{which}", picture, caption))
    return drawn


def _other_figures(found: Frames) -> list[DrawnFigure]:
    """Return Tables 2 and 3 as figures."""
    instants = found["instants"]
    names = list(dict.fromkeys(instants["bin"]))
    shares: dict[tuple[str, str], float | tuple[float, float]] = {
        (name, policy): share
        for policy in PAPER_TABLE_2
        for name, share in zip(names, _shares(policy), strict=True)
    }
    use = _ordered(found["utilisation"])
    timed = _by_trace(use[use["policy"].isin([*SPED_UP, "lc+s"])])
    ours = long(timed, "trace", "scheduling_ms_per_job")
    times = published(ours, dict(PAPER_MS))
    return [
        DrawnFigure("instants", bars("smith21-instants", "Instantaneous utilisation (Table 2)",
              published(long(instants, "bin", "percent"), shares), Axis("% of the events")),
              f"Ours: {instants['trace'].iloc[0]}; the paper: Thunder."),
        DrawnFigure("time", bars("smith21-time", "Time per job (Table 3)", times,
              Axis("ms per job", log=True)), "CPU time of all decisions; machines differ."),
    ]  # fmt: skip
