"""Pollard18, section V-B: what isolation gains as it emerges here, beside the paper's numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from coupling.papers.charts import Axis, bars, published
from coupling.papers.paper import Claim, Frames, Sheet
from coupling.papers.pollard18_workloads import (
    CHECKED,
    MODEL,
    SETTINGS,
    TITLES,
    WorkloadGain,
    WorkloadRunner,
)
from coupling.papers.runs import Runs
from coupling.papers.tables import long
from coupling.report.figures import DrawnFigure

ALL_JOBS = "all jobs"
EXACT = "flow-level"
BUFFERED = f"{MODEL}, with buffers"
QUICK, FULL = 3, 15  # workloads; the paper's simulations have fifteen
PAPER_MOST = {"Cab, 4-128, 30 % communication": 1.31}
_LARGE = SETTINGS[0].name  # tens of seconds of CPU a workload: not in the quick mode
_DRAWS = 2000
_LEVELS = (0.025, 0.975)


def isolation(runs: Runs) -> Frames:
    """Compute the workloads, and how far the model is from the flow-level simulation."""
    settings = [one for one in SETTINGS if not (runs.quick and one.name == _LARGE)]
    count = QUICK if runs.quick else FULL

    def gains() -> pd.DataFrame:
        return pd.concat(
            [_table(one.name, _gains(WorkloadRunner(one), count)) for one in settings],
            ignore_index=True,
        )

    asked = [asdict(one) for one in settings]
    found = {"isolation": runs.stored("isolation", [asked, MODEL, count], gains)}
    if not runs.quick:
        found["exact"] = runs.stored(
            "exact",
            [asdict(SETTINGS[0]), MODEL, CHECKED, count],
            lambda: _exact(WorkloadRunner(SETTINGS[0]), count),
        )
    return found


def _gains(bench: WorkloadRunner, workloads: int) -> list[WorkloadGain]:
    """Return the gains of all jobs of some workloads."""
    return [gain for workload in range(workloads) for gain in bench.gains(workload)]


def _table(setting: str, gains: Sequence[WorkloadGain]) -> pd.DataFrame:
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


def _exact(bench: WorkloadRunner, workloads: int) -> pd.DataFrame:
    """Return interference on random nodes, simulated and predicted, where that is affordable."""
    found = [bench.against_exact(workload) for workload in range(workloads)]
    rows = [row for one in found for row in one or ()]
    return pd.DataFrame(rows, columns=[EXACT, MODEL, BUFFERED])


def _said(setting: str, pattern: str) -> float | None:
    """Return the paper's mean speed-up."""
    own = next(one for one in SETTINGS if one.name == setting)
    return own.paper[(*TITLES, ALL_JOBS).index(pattern)]


def _settings(table: pd.DataFrame) -> Iterable[tuple[str, pd.DataFrame]]:
    """Return the rows of each setting."""
    return ((str(name), own) for name, own in table.groupby("setting", sort=False))


def isolation_claims(found: Frames) -> list[Claim]:
    """Return the paper's speed-ups beside ours."""
    rows: list[Claim] = []
    never = "jobs that never compute are the upper limit; proxies on Cab also pack and synchronise"
    random = "random nodes are the worst that a resource manager can do"
    for name, own in _settings(found["isolation"]):
        said = [_said(name, str(pattern)) for pattern in own["pattern"]]
        shown = [at for at, one in enumerate(said) if one is not None]
        if not shown:
            continue
        names = ", ".join(str(own["pattern"].iloc[at]) for at in shown)
        ends = own[["fluid low", "fluid high"]]
        rows.append(
            Claim("" if rows else "V-B", f"speed-up when isolated, {name}: {names}",
                  ", ".join(f"{said[at]:.2f}" for at in shown),
                  ", ".join(f"{own['fluid'].iloc[at]:.2f}" for at in shown),
                  never if "always" in name else random,
                  ", ".join(f"{low:.2f}-{high:.2f}" for low, high in ends.iloc[shown].to_numpy()))
        )  # fmt: skip
    for name, most in PAPER_MOST.items():
        mine = found["isolation"]
        mine = mine[(mine["setting"] == name) & (mine["pattern"] == ALL_JOBS)]
        ours = f"{mine['fluid most'].iloc[0]:.2f}"
        rows.append(
            Claim("", f"largest speed-up, {name}", f"{most:.2f}", ours, "ours are random pairs")
        )
    isolated = found["isolation"]["isolated"].min()
    rows.append(Claim("", "isolated jobs without interference", "guaranteed", f"{isolated:.0%}"))
    return rows


def isolation_sheets(found: Frames) -> list[Sheet]:
    """Return the tables of section V-B."""
    heads = ["pattern", "jobs", "paper", MODEL, "own collisions", "interference", "largest"]
    sheets = []
    for number, (name, own) in enumerate(_settings(found["isolation"])):
        rows = []
        for row in own.to_dict("records"):
            said = _said(name, row["pattern"])
            low, high = row[f"{MODEL} low"], row[f"{MODEL} high"]
            rows.append(
                [row["pattern"], f"{row['jobs']:.0f}", "-" if said is None else f"{said:.2f}",
                 f"{row[MODEL]:.2f} ({low:.2f}-{high:.2f})", f"{row['own']:.2f}",
                 f"{row['interference']:.2f}", f"{row[f'{MODEL} most']:.2f}"]
            )  # fmt: skip
        last = own.iloc[-1]
        note = (
            f"{last['workloads']:.0f} workloads of {last['jobs'] / last['workloads']:.1f} jobs; "
            f"{last['slower']:.0%} of the jobs are slower when isolated."
        )
        title = f"Speed-up when isolated (section V-B): {name}"
        sheets.append(Sheet(f"isolation-{number}", title, heads, rows, note))
    return sheets + _exact_sheets(found)


def _exact_sheets(found: Frames) -> list[Sheet]:
    """Return how far the model is from the flow-level simulation, where it was run."""
    if "exact" not in found or found["exact"].empty:
        return []
    table = found["exact"]
    true, said = table[EXACT], table[MODEL]
    error = 100 * (said / true - 1).abs()
    rows = [
        [EXACT, f"{true.mean():.2f}", f"{true.max():.2f}", "-", "-", "-"],
        [MODEL, f"{said.mean():.2f}", f"{said.max():.2f}", f"{error.mean():.1f} %",
         f"{error.max():.0f} %", f"{(said - 1).sum() / (true - 1).sum():.2f}"],
    ]  # fmt: skip
    more = table[BUFFERED]
    rows.append([BUFFERED, f"{more.mean():.2f}", f"{more.max():.2f}", "-", "-", "-"])
    heads = ["", "mean", "largest", "mean error", "worst", "bias"]
    note = (
        f"Interference on random nodes of the {len(table)} jobs of the workloads that start at "
        f"most {CHECKED:,.0f} flows while the slowest job does an iteration. `flow-level` knows no "
        "buffers, so `fluid` has none here; the last row is what they add."
    )
    return [
        Sheet("isolation-exact", f"Against the flow-level simulation: {_LARGE}", heads, rows, note)
    ]


def isolation_figures(found: Frames) -> list[DrawnFigure]:
    """Return the speed-ups by pattern, and by share of communication."""
    table = found["isolation"]
    always = table[table["setting"].str.contains("always")]
    short = always["setting"].str.removesuffix(", always communicating")
    said = {
        (str(pattern), name): value
        for pattern, setting, name in zip(always["pattern"], always["setting"], short, strict=True)
        if (value := _said(str(setting), str(pattern))) is not None
    }
    picture = bars("pollard18-isolation", "Speed-up when isolated (V-B)",
                   published(long(always.assign(run=short), "pattern", "fluid", "run"), said),
                   Axis("scattered / isolated", line=1.0))  # fmt: skip
    drawn = [DrawnFigure("isolation", picture, "Jobs that always communicate; model `fluid`.")]
    shares = table[(table["pattern"] == ALL_JOBS) & table["setting"].str.startswith("Cab, 4-128")]
    names = shares["setting"].str.removeprefix("Cab, 4-128, ").str.removesuffix(" communication")
    names = names.str.replace("always communicating", "100 %")
    runs = {"30 %": 1.08, "100 %": 1.35}
    picture = bars("pollard18-isolation-shares", "Speed-up by share of communication (V-B)",
                   published(long(shares.assign(kind=names, run=ALL_JOBS), "kind", "fluid", "run"),
                          {(name, ALL_JOBS): value for name, value in runs.items()}),
                   Axis("scattered / isolated", line=1.0))  # fmt: skip
    return [*drawn, DrawnFigure("isolation-shares", picture, "All jobs of 4 to 128 nodes on Cab.")]
