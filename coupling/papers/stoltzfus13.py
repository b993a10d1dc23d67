"""Stoltzfus13: how compactly list-based allocators place jobs on four machines."""

from collections.abc import Mapping

import pandas as pd

from coupling.papers.charts import Axis, bars, published
from coupling.papers.paper import Claim, Frames, Paper, Sheet
from coupling.papers.runs import Runs
from coupling.papers.tables import long, pivot
from coupling.report.figures import DrawnFigure
from coupling.results.columns import finished
from coupling.results.mean_distance import mind_gain

REFERENCE = "FIFO-0"
SHOWN = ("Largest-1", "Largest-2", "Largest-4", "Largest-8", "Closest", "ClosestMind")
SMALL_SHARE = 9 / 133  # of the job sizes of the thesis
PAPER: Mapping[str, Mapping[str, float]] = {  # overall improvement, %: Tables 1, 4, 5 and 6
    "3D torus": {"Closest": 30.88, "Largest-8": 29.037, "Largest-4": 28.94},
    "dragonfly, best case": {"Closest": 35.21, "Largest-1": 33.28, "Largest-2": 33.17},
    "dragonfly, worst case": {"Closest": 40.59, "Largest-8": 36.48, "Largest-1": 36.04},
    "5D torus": {"Closest": 23.48, "Largest-8": 20.37, "Largest-2": 19.98},
}
PAPER_SMALL: Mapping[str, Mapping[str, float]] = {
    "3D torus": {"Closest": 71.28, "Largest-1": 69.29, "Largest-2": 68.30},
    "dragonfly, best case": {"Closest": 94.99, "Largest-1": 92.41, "Largest-2": 92.20},
    "dragonfly, worst case": {"Closest": 94.66, "Largest-2": 91.54, "Largest-1": 91.39},
    "5D torus": {"Closest": 55.28, "Largest-1": 54.02, "Largest-2": 52.67},
}
PAPER_LARGE: Mapping[str, Mapping[str, float]] = {
    "3D torus": {"Closest": 27.95, "Largest-8": 26.81, "Largest-4": 26.28},
    "dragonfly, best case": {"Closest": 30.87, "Largest-8": 29.55, "Largest-1": 28.99},
    "dragonfly, worst case": {"Closest": 36.67, "Largest-8": 33.25, "Largest-1": 32.02},
    "5D torus": {"Closest": 21.17, "Largest-8": 18.85, "Largest-4": 17.81},
}
PAPER_CHANGE = {  # mean change in MIND under Closest Fit, hops: Table 8
    "3D torus": 1.89,
    "dragonfly, best case": 0.424,
    "dragonfly, worst case": 0.702,
    "5D torus": 0.901,
}
PAPER_TIME_S = {  # Table 3, a year of placements
    "FIFO-0": 69.3062,
    "Fit-1": 89.9086,
    "Largest-1": 88.0878,
    "Varying": 287.6006,
    "FifoFit64-8": 92.5408,
    "Closest": 81.7104,
    "ClosestMind": 7843.491,
}
GAPS_FILE = "gaps"
PAPER_PEAK = 15  # nodes, about; of First and Largest Fit, overall (section 6.2)
BY_SIZE = ("Closest", "Largest-8", "Fit-8", "FIFO-32")
SIZES = ((2, 4), (5, 10), (11, 32), (33, 128), (129, None))
_MINIMUM = 5  # jobs of a class that is shown


def study(runs: Runs) -> Frames:
    """Find improvements and times in the runs."""
    cells = runs.cells("compactness")
    gains, sizes, times = [], [], []
    for machine, own in cells.groupby("topology", sort=False):
        tables = {
            str(row["scheduler.allocator"]): _placed(runs, str(row["cell"]))
            for row in own.to_dict("records")
        }
        for row in own.to_dict("records"):
            rule, per_job = str(row["scheduler.allocator"]), row["scheduling_ms_per_job"]
            times.append({"machine": machine, "rule": rule, "ms": per_job})
            if rule != REFERENCE:
                gains.append({"machine": machine, "rule": rule}
                             | _gain(tables[REFERENCE], tables[rule]))  # fmt: skip
            if rule in BY_SIZE:
                sizes += [
                    {"machine": machine, "rule": rule} | found
                    for found in _by_size(tables[REFERENCE], tables[rule])
                ]
    table = pd.DataFrame(gains)
    return {
        "gains": table.sort_values("mix", ascending=False, kind="stable").sort_values(
            "machine", key=lambda own: own.map(list(PAPER).index), kind="stable"
        ),
        "sizes": pd.DataFrame(sizes),
        "times": pd.DataFrame(times),
        "gaps": _gaps(runs),
    }


def _gaps(runs: Runs) -> pd.DataFrame:
    """Return the improvement on the 3D torus by the gap that a rule allows (Figures 29 to 31)."""
    cells = runs.cells(GAPS_FILE).to_dict("records")
    placed = {str(row["scheduler.allocator"]): _placed(runs, str(row["cell"]), GAPS_FILE)
              for row in cells}  # fmt: skip
    rows = []
    for name, own in placed.items():
        rule, _, gap = name.rpartition("-")
        if name != REFERENCE:
            rows.append({"rule": rule, "gap": float(gap)} | _gain(placed[REFERENCE], own))
    return pd.DataFrame(rows)


def _placed(runs: Runs, cell: str, file: str = "compactness") -> pd.DataFrame:
    """Return the jobs of a cell in their order."""
    jobs = runs.jobs(file, cell)
    return finished(jobs).sort_values("id", kind="stable")


def _gain(reference: pd.DataFrame, own: pd.DataFrame) -> dict[str, float]:
    """Return how much more compact jobs are than under FIFO-0, in per cent."""
    nodes = own["n_nodes"].to_numpy()
    run_s = (own["end_s"] - own["start_s"]).to_numpy()
    gain = mind_gain(nodes, nodes * run_s, reference["aph"].to_numpy(), own["aph"].to_numpy())
    mix = SMALL_SHARE * gain.small + (1 - SMALL_SHARE) * gain.large
    return {
        "overall": 100 * gain.overall,
        "small": 100 * gain.small,
        "large": 100 * gain.large,
        "mix": 100 * mix,
        "node_time": 100 * gain.by_node_time,
        "hops": gain.hops,
        "t": gain.t,
        "p": gain.p,
    }


def _by_size(reference: pd.DataFrame, own: pd.DataFrame) -> list[dict[str, object]]:
    """Return the improvement by class of sizes."""
    nodes, found = own["n_nodes"].to_numpy(), list[dict[str, object]]()
    for low, high in SIZES:
        inside = (nodes >= low) & (nodes <= (high or nodes.max(initial=0)))
        before = float(reference["aph"].to_numpy()[inside].mean()) if inside.any() else 0.0
        if inside.sum() >= _MINIMUM and before > 0:
            after = float(own["aph"].to_numpy()[inside].mean())
            name = f"{low}-{high}" if high else f"{low}+"
            found.append({"sizes": name, "percent": 100 * (1 - after / before)})
    return found


def claims(found: Frames) -> list[Claim]:
    """Return the thesis' numbers beside ours."""
    gains = found["gains"].set_index(["machine", "rule"])
    rows: list[Claim] = []
    load = "another load: less fragmented, fewer large sizes"
    for machine, said in PAPER.items():
        if machine not in gains.index.get_level_values(0):
            continue
        names = list(said)
        ours = ", ".join(f"{gains['mix'][machine, name]:.1f}" for name in names)
        rows.append(
            Claim("Tables 1, 4-6" if not rows else "",
                  f"improvement in % at its mix of sizes, {machine}: {', '.join(names)}",
                  ", ".join(f"{value:.1f}" for value in said.values()), ours, load)
        )  # fmt: skip
    for number, (machine, change) in enumerate(PAPER_CHANGE.items()):
        if (machine, "Closest") in gains.index:
            rows.append(
                Claim("" if number else "Table 8", f"hops that Closest Fit saves, {machine}",
                      f"{change:g}", f"{gains['hops'][machine, 'Closest']:.3f}",
                      "another load: a mean over jobs, whose sizes differ")
            )  # fmt: skip
    first = next(iter(PAPER))
    best = list(found["gains"][found["gains"]["machine"] == first]["rule"])
    order = "ClosestMind, Closest, Largest-8, Largest-4, FifoFit64-8, Fit-8, Varying, Fit-1"
    rows.append(Claim("4.2-5.4", "order on the 3D torus, best first", order, ", ".join(best), load))
    rows += _gap_claims(found["gaps"])
    ms = found["times"].groupby("rule", sort=False)["ms"].mean()
    names = [name for name in PAPER_TIME_S if name in ms]
    paper = ", ".join(f"{PAPER_TIME_S[name] / PAPER_TIME_S[REFERENCE]:.2f}" for name in names)
    rows.append(
        Claim("6.5, Table 3", f"time / that of FIFO: {', '.join(names)}", paper,
              ", ".join(f"{ms[name] / ms[REFERENCE]:.2f}" for name in names),
              "decisions alone here, whole simulations there; sums slide along the windows here")
    )  # fmt: skip
    return rows


def _gap_claims(table: pd.DataFrame) -> list[Claim]:
    """Return what the thesis reads off Figures 29 to 31, beside ours."""
    best = {
        (str(rule), value): int(own.sort_values(value)["gap"].iloc[-1])
        for rule, own in table.groupby("rule", sort=False)
        for value in ("mix", "small")
    }
    last = table[table["gap"] == table["gap"].max()].set_index("rule")["mix"]
    peak = ", ".join(f"{rule} {best[rule, 'mix']}" for rule in ("Fit", "Largest"))
    small = ", ".join(f"{rule} {best[rule, 'small']}" for rule in ("Fit", "Largest"))
    ends = ", ".join(f"{rule} {last[rule]:.1f}" for rule in last.index)
    tried = "of 1, 4, 16, 64 and more that were tried; another load"
    return [
        Claim("6.2, Figure 29", "gap of the most improvement, all sizes", f"around {PAPER_PEAK}",
              peak, tried),
        Claim("6.2, Figure 30", "the same, jobs of 2-10 nodes", "the smallest gaps", small, tried),
        Claim("6.2, Figure 29", f"improvement in % at a gap of {table['gap'].max():.0f}",
              "hardly any after 1550", ends),
    ]  # fmt: skip


def sheets(found: Frames) -> list[Sheet]:
    """Return all numbers as tables."""
    heads = ["allocator", "overall %", "small %", "large %", "thesis' mix %", "by node time %",
             "hops", "t", "p"]  # fmt: skip
    result = []
    for machine in dict.fromkeys(map(str, found["gains"]["machine"])):
        own = found["gains"][found["gains"]["machine"] == machine]
        rows = [
            [str(row["rule"]),
             *(f"{row[name]:.2f}" for name in ("overall", "small", "large", "mix", "node_time")),
             f"{row['hops']:.3f}", f"{row['t']:.1f}", f"{row['p']:.1g}" if row["p"] else "< 1e-300"]
            for row in own.to_dict("records")
        ]  # fmt: skip
        result.append(Sheet(_file(machine), f"Improvement over FIFO-0, {machine}", heads, rows))
        sizes = found["sizes"][found["sizes"]["machine"] == machine]
        columns = ["allocator", *dict.fromkeys(map(str, sizes["sizes"]))]
        title = f"Improvement by size, %, {machine}"
        cells = pivot(sizes, "rule", "sizes", "percent", 1, heads=columns)
        result.append(Sheet(f"sizes-{_file(machine)}", title, columns, cells))
    return [*result, *_gap_sheets(found["gaps"])]


def _gap_sheets(table: pd.DataFrame) -> list[Sheet]:
    """Return the numbers of Figures 29 to 31."""
    gaps = table.assign(gap=table["gap"].map("{:.0f}".format))
    heads = ["allocator", *dict.fromkeys(gaps["gap"])]
    return [
        Sheet(f"gaps-{value}", f"Improvement by gap, %, 3D torus, {kind} (Figures 29 to 31)",
              heads, pivot(gaps, "rule", "gap", value, 1, heads=heads))
        for value, kind in (("mix", "all sizes"), ("small", "2-10 nodes"), ("large", "more"))
    ]  # fmt: skip


def _file(machine: str) -> str:
    """Return a part of the name of a file."""
    return machine.replace(", ", "-").replace(" ", "-")


def _said(table: Mapping[str, Mapping[str, float]]) -> dict[tuple[str, str], float]:
    """Return values of the thesis by machine and algorithm."""
    return {(machine, rule): own for machine, said in table.items() for rule, own in said.items()}


def figures(found: Frames) -> list[DrawnFigure]:
    """Return the figures of the thesis."""
    gains = found["gains"]
    drawn = []
    shown = gains[gains["rule"].isin([*SHOWN])].sort_values("rule")
    for value, title, said in (
        ("mix", "All sizes (Tables 1, 4-6)", PAPER),
        ("small", "Jobs of 2-10 nodes", PAPER_SMALL),
        ("large", "Jobs of more than 10 nodes", PAPER_LARGE),
    ):
        table = published(long(shown, "machine", value, "rule"), _said(said))
        picture = bars(f"stoltzfus13-{value}", title, table, Axis("hops saved [%]"))
        caption = "Marks: the best three of each machine, in the thesis."
        drawn.append(DrawnFigure(f"improvement-{value}", picture, caption))
    first = next(iter(PAPER))
    sizes = found["sizes"][found["sizes"]["machine"] == first]
    small = [(name, "Closest") for name in ("2-4", "5-10")]
    limits = dict.fromkeys(small, PAPER_SMALL[first]["Closest"])
    table = published(long(sizes, "sizes", "percent", "rule"), limits)
    picture = bars("stoltzfus13-sizes", f"By size, {first} (Fig. 27)", table,
                   Axis("hops saved [%]"))  # fmt: skip
    drawn.append(
        DrawnFigure("sizes", picture, "Marks: the mean of Closest over the sizes 2 to 10.")
    )
    drawn += _gap_figures(found["gaps"])
    ms = found["times"]
    base = ms[ms["rule"] == REFERENCE].set_index("machine")["ms"]
    own = ms[ms["machine"] == first].copy()
    own["ratio"] = own["ms"] / base[first]
    own = own[own["rule"].isin(PAPER_TIME_S)].assign(machine=first)
    paper = {
        (first, rule): seconds / PAPER_TIME_S[REFERENCE] for rule, seconds in PAPER_TIME_S.items()
    }
    table = published(long(own, "machine", "ratio", "rule"), paper)
    picture = bars("stoltzfus13-time", "Time / FIFO-0 (Table 3)", table,
                   Axis("time / FIFO-0", log=True))  # fmt: skip
    drawn.append(
        DrawnFigure("time", picture, "Decisions alone; the thesis times whole simulations.")
    )
    return drawn


def _gap_figures(table: pd.DataFrame) -> list[DrawnFigure]:
    gaps = table.assign(gap=table["gap"].map("{:.0f}".format))
    first, drawn = next(iter(PAPER)), []
    for value, title, said, gap in (
        ("mix", "all sizes (Fig. 29)", PAPER, "4"),
        ("small", "2-10 nodes (Fig. 30)", PAPER_SMALL, "1"),
        ("large", "more than 10 (Fig. 31)", PAPER_LARGE, "4"),
    ):
        known = {(gap, "Largest"): said[first][f"Largest-{gap}"]}
        picture = bars(f"stoltzfus13-gaps-{value}", f"By gap, {title}",
                       published(long(gaps, "gap", value, "rule"), known),
                       Axis("hops saved [%]", line=0.0))  # fmt: skip
        drawn.append(
            DrawnFigure(f"gaps-{value}", picture, "FIFO: jobs below so many nodes go last.")
        )
    return drawn


STOLTZFUS13 = Paper(
    "stoltzfus13",
    "Stoltzfus13",
    "List-based allocators on HECToR and three more machines (Stoltzfus, 2013)",
    (),
    study,
    claims,
    sheets,
    figures,
    (("compactness",), (GAPS_FILE,)),
)
