"""Pollard18: TA against scattered nodes; hops, utilisation, makespan, waits."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from coupling.papers.charts import Axis, bars, published
from coupling.papers.paper import ATLAS, THUNDER, Claim, Frames, Paper, Sheet
from coupling.papers.pollard18_isolation import (
    isolation,
    isolation_claims,
    isolation_figures,
    isolation_sheets,
)
from coupling.papers.runs import Runs
from coupling.papers.tables import long, pivot, span
from coupling.report.figures import DrawnFigure
from coupling.results.columns import finished
from coupling.results.over_time import utilization_per_minute

TO, TA = "TO", "TA"  # the paper's words: topology-oblivious, topology-aware
RUNS = (TO, TA, "TA 5%", "TA 10%", "TA 20%", "TA V1", "TA V2", "TO emergent", "TA emergent")
LOADS = ("1x on cab", "2x on cab", "2x on pinot", "3x on pinot")
OVERLOADED = ("2x on cab", "3x on pinot")
QUICK_LOAD = 0.4  # of the experiment file, for once the work
APH_CLASSES = (2, 19, 64, 128, 325, 10**6)  # first sizes: one leaf, ..., more than a pod
WAIT_CLASSES = (1, 19, 64, 257, 10**6)  # those of Figure 10 that its text names
ALL_SIZES = "all"
WITHIN_POD = 2.0  # hops at most under TA, up to 127 nodes; near it up to 324
DROP, LONGER = 10.0, 1.09  # points of utilisation; makespan, where the machine is overloaded
PAPER_TABLE_1: Mapping[tuple[str, str], tuple[float, ...]] = {  # all of it: TO, TA, V1, V2
    ("Aug", "1x on cab"): (0.15, 0.98, 0.8, 0.3),
    ("Sept", "1x on cab"): (295, 330, 327, 307),
    ("Nov", "1x on cab"): (0.01, 0.41, 0.31, 0.10),
    ("Aug", "2x on cab"): (269, 322, 296, 270),
    ("Nov", "2x on cab"): (240, 300, 266, 240),
    ("Aug", "2x on pinot"): (0.15, 1.2, 0.65, 0.29),
    ("Nov", "2x on pinot"): (0.01, 0.69, 0.13, 0.04),
    ("Aug", "3x on pinot"): (110, 148, 126, 103),
}
PAPER_WAIT_H = {load: own for (month, load), own in PAPER_TABLE_1.items() if month == "Aug"}
PAPER_MIDDLE_H = {TO: 10 / 60, TA: 8.0, "TA 20%": 0.5}  # waits of 64-256 nodes, August, V-E


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
        waits += _waits(own, jobs)
        if own["run"] in (TO, TA) and own["load"].startswith("2x"):
            hops += _hops(own, jobs)
    return {
        "summary": pd.DataFrame(summary),
        "hops": pd.DataFrame(hops),
        "waits": pd.DataFrame(waits),
        **isolation(runs),
    }


def _sizes(first: int, beyond: int) -> str:
    """Return the name of a size class."""
    return f"{first}-{beyond - 1}" if beyond < APH_CLASSES[-1] else f"{first}+"


def _hops(own: Mapping[str, str], jobs: pd.DataFrame) -> list[dict[str, object]]:
    """Return minimum, quartiles and maximum of the APH by size of the job (Figure 7)."""
    found = []
    for first, beyond in pairwise(APH_CLASSES):
        aph = jobs[(jobs["n_nodes"] >= first) & (jobs["n_nodes"] < beyond)]["aph"]
        if len(aph):
            values = np.percentile(aph, (0, 25, 50, 75, 100)).tolist()
            names = ("least", "q1", "median", "q3", "most")
            found.append({**own, "sizes": _sizes(first, beyond), "jobs": len(aph),
                          **dict(zip(names, values, strict=True))})  # fmt: skip
    return found


def _waits(own: Mapping[str, str], jobs: pd.DataFrame) -> list[dict[str, object]]:
    """Return the mean wait by size of the job (Figure 10)."""
    found: list[dict[str, object]] = []
    for first, beyond in pairwise(WAIT_CLASSES):
        wait = jobs[(jobs["n_nodes"] >= first) & (jobs["n_nodes"] < beyond)]["wait_s"]
        if len(wait):
            found.append(
                {**own, "sizes": _sizes(first, beyond), "wait_h": float(wait.mean()) / 3600.0}
            )
    return found


def _relative(found: Frames, value: str) -> pd.DataFrame:
    """Return a number of the summary over that of scattered nodes, as ``ratio``."""
    table = found["summary"]
    base = table[table["run"] == TO].set_index(["log", "load"])[value]
    network = table[table["run"] == "TO emergent"].set_index(["log", "load"])[value]
    rows = []
    for row in table[~table["run"].isin([TO, "TO emergent"])].to_dict("records"):
        below = network if row["run"] == "TA emergent" else base
        own = below[row["log"], row["load"]]
        rows.append({**row, "ratio": row[value] / own if own else float("nan"),
                     "less": own - row[value]})  # fmt: skip
    return pd.DataFrame(rows)


OTHER_LOG = "Cab's logs are not public: another log at the same offered load"


def claims(found: Frames) -> list[Claim]:
    """Return the paper's statements beside ours."""
    hops = found["hops"]
    ta = hops[hops["run"] == TA].set_index("sizes")
    small = ta[ta.index.isin([_sizes(*pair) for pair in pairwise(APH_CLASSES[:4])])]["most"]
    middle = ta[ta.index == _sizes(128, 325)]
    to = hops[hops["run"] == TO].set_index("sizes")
    oblivious = to[to.index == _sizes(128, 325)]["median"]
    rows = [
        Claim("V-A, Figure 7", "largest APH under TA, less than 128 nodes", "below 2",
              span(small, 2)),
        Claim("", "median APH, 128-324 nodes, TA", "near the least possible",
              span(middle["median"], 2)),
        Claim("", "median APH, 128-324 nodes, TO", "higher", span(oblivious, 2),
              "our scattered nodes are the lowest free ones, more compact than Cab's"),
    ]  # fmt: skip
    rows += isolation_claims(found) + _load_claims(found)
    table = found["summary"]
    for number, (load, said) in enumerate(PAPER_WAIT_H.items()):
        own = table[table["load"] == load]
        names = (TO, TA, "TA V1", "TA V2", "TA emergent")
        ours = [span(own[own["run"] == name]["wait_h"], 2) for name in names]
        rows.append(
            Claim("V-E, Table I" if number == 0 else "",
                  f"mean wait in h, {load}: TO, TA, TA V1, TA V2; TA emergent",
                  ", ".join(f"{value:g}" for value in said), ", ".join(ours),
                  f"{OTHER_LOG}, and shorter than a month")
        )  # fmt: skip
    return rows


def _load_claims(found: Frames) -> list[Claim]:
    """Return the statements about utilisation and makespan."""
    steady, makespan = _relative(found, "steady"), _relative(found, "makespan_h")

    def of(table: pd.DataFrame, run: str, column: str) -> pd.Series:
        own = (table["run"] == run) & table["load"].isin(OVERLOADED)
        return table[own][column]

    partly = "a shorter log drains for a larger part of its time"
    return [
        Claim("V-C, Figure 8", "points of utilisation that TA loses, overloaded", "about 10",
              span(of(steady, TA, "less"), 1), "steady utilisation here; the box plots have no "
              "readable numbers"),
        Claim("V-D, Figure 9", "makespan of TA / TO, overloaded", "up to 1.09",
              span(of(makespan, TA, "ratio"), 3), partly),
        Claim("", "the same with V2", "close to 1, worst 1.04",
              span(of(makespan, "TA V2", "ratio"), 3), partly),
        Claim("", "the same, emergent", "not in the paper",
              span(of(makespan, "TA emergent", "ratio"), 3),
              "the network gives what the communication of the default profile needs"),
    ]  # fmt: skip


def sheets(found: Frames) -> list[Sheet]:
    """Return all numbers as tables."""
    result = []
    for log, own in found["summary"].groupby("log", sort=False):
        for value, title, digits in (
            ("wait_h", "Mean wait, hours (Table I)", 2),
            ("steady", "Steady utilisation, %", 1),
            ("median", "Utilisation, median of all minutes, % (Figure 8)", 1),
            ("makespan_h", "Makespan, hours (Figure 9)", 1),
        ):
            heads = ["", *dict.fromkeys(own["load"])]
            result.append(
                Sheet(f"{value}-{log}", f"{title}: {log}", heads,
                      pivot(own, "run", "load", value, digits, heads=heads))
            )  # fmt: skip
    for (name, load), own in found["hops"].groupby(["log", "load"], sort=False):
        names = ("least", "q1", "median", "q3", "most")
        rows = [
            [str(row["sizes"]), str(row["run"]), f"{row['jobs']:.0f}",
             *(f"{row[name]:.2f}" for name in names)]
            for row in own.sort_values(["run", "jobs"], ascending=[False, False]).to_dict("records")
        ]  # fmt: skip
        title = f"APH by size (Figure 7): {name}, {load}"
        result.append(
            Sheet(f"aph-{name}-{_file(load)}", title, ["nodes", "", "jobs", *names], rows)
        )
    for (name, load), own in found["waits"].groupby(["log", "load"], sort=False):
        heads = ["", *dict.fromkeys(own["sizes"])]
        title = f"Mean wait by size, hours (Figure 10): {name}, {load}"
        rows = pivot(own, "run", "sizes", "wait_h", 2, heads=heads)
        result.append(Sheet(f"waits-{name}-{_file(load)}", title, heads, rows))
    return [_table_1(found["summary"]), *result, *isolation_sheets(found)]


def _table_1(summary: pd.DataFrame) -> Sheet:
    """Return Table I as printed, and ours below each of its loads."""
    policies = (TO, TA, "TA V1", "TA V2", "TA emergent")
    known = summary.set_index(["log", "load", "run"])["wait_h"]
    rows = []
    for load in LOADS:
        for (month, own), hours in PAPER_TABLE_1.items():
            if own == load:
                rows.append([load, f"paper, {month}", *(f"{one:g}" for one in hours), "-"])
        for log in dict.fromkeys(summary["log"]):
            values = [known.get((log, load, name)) for name in policies]
            cells = ["-" if value is None else f"{value:.2f}" for value in values]
            rows.append([load, f"ours, {log}", *cells])
    return Sheet("waits", "Mean wait, hours (Table I)", ["load", "jobs", *policies], rows)


def _file(load: object) -> str:
    """Return a part of the name of a file."""
    return str(load).replace(" on ", "-")


def figures(found: Frames) -> list[DrawnFigure]:
    """Return the figures of the paper."""
    drawn = []
    limit = {(_sizes(*pair), TA): WITHIN_POD for pair in pairwise(APH_CLASSES[:5])}
    for (log, load), own in found["hops"].groupby(["log", "load"], sort=False):
        table = published(long(own, "sizes", "most", "run"), limit)
        title = f"Largest APH, {log} {load} (Fig. 7)"
        picture = bars(f"pollard18-aph-{log}-{load}", title, table, Axis("hops"))
        caption = "Marks: below 2 up to 127 nodes, close to it up to 324, says the paper."
        drawn.append(DrawnFigure(f"aph-{log}-{_file(load)}", picture, caption))
    drawn += isolation_figures(found)
    steady, makespan, wait = (_relative(found, own) for own in ("steady", "makespan_h", "wait_h"))
    for log in dict.fromkeys(found["summary"]["log"]):
        drawn += _log_figures(str(log), steady, makespan, wait)
    for log in dict.fromkeys(map(str, found["waits"]["log"])):
        drawn += [_wait_figure(found, log, load) for load in (LOADS[0], LOADS[-1])]
    return drawn


def _wait_figure(found: Frames, log: str, load: str) -> DrawnFigure:
    """Return Figure 10: waits by size, and of all jobs."""
    waits = found["waits"][["log", "load", "run", "sizes", "wait_h"]]
    table = pd.concat([waits, found["summary"][["log", "load", "run", "wait_h"]]])
    table = table.fillna({"sizes": ALL_SIZES})
    own = table[(table["log"] == log) & (table["load"] == load) & (table["run"] != "TO emergent")]
    said = {
        (ALL_SIZES, run): hours
        for run, hours in zip((TO, TA, "TA V1", "TA V2"), PAPER_WAIT_H[load], strict=True)
    }
    if load == LOADS[0]:
        said |= {(_sizes(64, 257), run): hours for run, hours in PAPER_MIDDLE_H.items()}
    picture = bars(f"pollard18-waits-{log}-{load}", f"Mean wait, {log} {load} (Fig. 10)",
                   published(long(own, "sizes", "wait_h", "run"), said),
                   Axis("hours", log=True))  # fmt: skip
    name = f"waits-{log}" if load == LOADS[0] else f"waits-{log}-{_file(load)}"
    return DrawnFigure(name, picture, "Marks: August, of the text and of Table I.")


def _log_figures(
    log: str, steady: pd.DataFrame, makespan: pd.DataFrame, wait: pd.DataFrame
) -> list[DrawnFigure]:
    """Return Figures 8 and 9 and Table I for a log."""

    def own(table: pd.DataFrame, loads: Sequence[str] = LOADS) -> pd.DataFrame:
        return table[(table["log"] == log) & table["load"].isin(loads)]

    lost = {(load, TA): DROP for load in OVERLOADED}
    longer = {(load, TA): LONGER for load in OVERLOADED}
    names = (TA, "TA V1", "TA V2")
    waits = {
        (load, name): value / said[0]
        for load, said in PAPER_WAIT_H.items()
        for name, value in zip(names, said[1:], strict=True)
    }
    return [
        DrawnFigure(f"utilisation-{log}", bars(
            f"pollard18-utilisation-{log}", f"Utilisation lost to TO, {log} (Fig. 8)",
            published(long(own(steady), "load", "less", "run"), lost), Axis("points")),
            "Steady utilisation of TO less that of each run."),
        DrawnFigure(f"makespan-{log}", bars(
            f"pollard18-makespan-{log}", f"Makespan / TO, {log} (Fig. 9)",
            published(long(own(makespan), "load", "ratio", "run"), longer),
            Axis("makespan / TO", line=1.0)), "Marks: the most that the text names."),
        DrawnFigure(f"wait-{log}", bars(
            f"pollard18-wait-{log}", f"Mean wait / TO, {log} (Table I)",
            published(long(own(wait, OVERLOADED), "load", "ratio", "run"), waits),
            Axis("wait / TO", line=1.0)), "Where the machine is overloaded."),
    ]  # fmt: skip


POLLARD18 = Paper(
    "pollard18",
    "Pollard18",
    "Interference-free nodes on Cab and Pinot (Pollard et al., SC'18)",
    (THUNDER, ATLAS),
    study,
    claims,
    sheets,
    figures,
    (("loads",),),
)
