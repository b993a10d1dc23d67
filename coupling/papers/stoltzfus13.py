"""Stoltzfus13: how compactly list-based allocators place jobs on four machines."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import nan

import pandas as pd

from coupling.papers.claims import differences, summarise
from coupling.papers.paper import Axis, Chart, Claim, Frames, Paper
from coupling.papers.runs import Runs
from coupling.results.columns import finished
from coupling.results.summary import mind_gain

REFERENCE = "FIFO-0"
TORUS = "3D torus"
MACHINES = (TORUS, "dragonfly, best case", "dragonfly, worst case", "5D torus")
SMALL_SHARE = 9 / 133  # of the job sizes of the thesis
PAPER = {  # overall improvement, %: Tables 1, 4, 5 and 6
    (TORUS, "Closest"): 30.88,
    (TORUS, "Largest-8"): 29.037,
    (TORUS, "Largest-4"): 28.94,
    ("dragonfly, best case", "Closest"): 35.21,
    ("dragonfly, best case", "Largest-1"): 33.28,
    ("dragonfly, best case", "Largest-2"): 33.17,
    ("dragonfly, worst case", "Closest"): 40.59,
    ("dragonfly, worst case", "Largest-8"): 36.48,
    ("dragonfly, worst case", "Largest-1"): 36.04,
    ("5D torus", "Closest"): 23.48,
    ("5D torus", "Largest-8"): 20.37,
    ("5D torus", "Largest-2"): 19.98,
}
PAPER_SMALL = {
    (TORUS, "Closest"): 71.28,
    (TORUS, "Largest-1"): 69.29,
    (TORUS, "Largest-2"): 68.30,
    ("dragonfly, best case", "Closest"): 94.99,
    ("dragonfly, best case", "Largest-1"): 92.41,
    ("dragonfly, best case", "Largest-2"): 92.20,
    ("dragonfly, worst case", "Closest"): 94.66,
    ("dragonfly, worst case", "Largest-2"): 91.54,
    ("dragonfly, worst case", "Largest-1"): 91.39,
    ("5D torus", "Closest"): 55.28,
    ("5D torus", "Largest-1"): 54.02,
    ("5D torus", "Largest-2"): 52.67,
}
PAPER_LARGE = {
    (TORUS, "Closest"): 27.95,
    (TORUS, "Largest-8"): 26.81,
    (TORUS, "Largest-4"): 26.28,
    ("dragonfly, best case", "Closest"): 30.87,
    ("dragonfly, best case", "Largest-8"): 29.55,
    ("dragonfly, best case", "Largest-1"): 28.99,
    ("dragonfly, worst case", "Closest"): 36.67,
    ("dragonfly, worst case", "Largest-8"): 33.25,
    ("dragonfly, worst case", "Largest-1"): 32.02,
    ("5D torus", "Closest"): 21.17,
    ("5D torus", "Largest-8"): 18.85,
    ("5D torus", "Largest-4"): 17.81,
}
PAPER_CHANGE = {  # mean change in MIND under Closest Fit, hops: Table 8
    (TORUS, "Closest"): 1.89,
    ("dragonfly, best case", "Closest"): 0.424,
    ("dragonfly, worst case", "Closest"): 0.702,
    ("5D torus", "Closest"): 0.901,
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
PAPER_TIME = {rule: seconds / PAPER_TIME_S[REFERENCE] for rule, seconds in PAPER_TIME_S.items()}
PAPER_ORDER = (
    *("ClosestMind", "Closest", "Largest-8", "Largest-4", "FifoFit64-8", "Fit-8", "Varying"),
    "Fit-1",
)
GAINS = ("overall", "small", "large", "mix", "node_time", "hops")
GAPS_FILE = "gaps"
BY_SIZE = ("Closest", "Largest-8", "Fit-8", "FIFO-32")
SIZES = ((2, 4), (5, 10), (11, 32), (33, 128), (129, None))
_MINIMUM = 5  # jobs of a class that is shown


def study(runs: Runs) -> Frames:
    """Find improvements and times in the runs."""
    gains, sizes, times = [], [], []
    for kind, rule, per_job, reference, own in _reference_pairs(runs, "compactness"):
        times.append({**kind, "rule": rule, "ms": per_job})
        if rule != REFERENCE:
            gains.append({**kind, "rule": rule} | _compactness_gain(reference, own))
        if rule in BY_SIZE:
            sizes += [{**kind, "rule": rule} | found for found in _by_size(reference, own)]
    gaps = [
        {**kind, "rule": rule.rpartition("-")[0], "gap": float(rule.rpartition("-")[2])}
        | _compactness_gain(reference, own)
        for kind, rule, _, reference, own in _reference_pairs(runs, GAPS_FILE)
        if rule != REFERENCE
    ]
    return {
        "gains": pd.DataFrame(gains),
        "sizes": pd.DataFrame(sizes),
        "times": pd.DataFrame(times),
        "gaps": pd.DataFrame(gaps),
    }


def _reference_pairs(
    runs: Runs, file: str
) -> Iterator[tuple[dict[str, object], str, float, pd.DataFrame, pd.DataFrame]]:
    """Yield machine and sample, rule, ms of a decision, jobs under FIFO-0, jobs under the rule."""
    cells = runs.cells(file)
    machine = cells.get("topology", TORUS)
    seed = cells.get("run.seed", 1)
    for (name, sample), group in cells.assign(machine=machine, sample=seed).groupby(
        ["machine", "sample"], sort=False
    ):
        jobs = {str(row["scheduler.allocator"]): _placed_jobs(runs, file, str(row["cell"]))
                for row in group.to_dict("records")}  # fmt: skip
        for (rule, own), per_job in zip(jobs.items(), group["scheduling_ms_per_job"], strict=True):
            yield {"machine": name, "sample": sample}, rule, per_job, jobs[REFERENCE], own


def _placed_jobs(runs: Runs, file: str, cell: str) -> pd.DataFrame:
    """Return the jobs of a cell in their order."""
    return finished(runs.jobs(file, cell)).sort_values("id", kind="stable")


def _compactness_gain(reference: pd.DataFrame, own: pd.DataFrame) -> dict[str, float]:
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


def best_gap(gaps: pd.DataFrame, name: str) -> float:
    """Return the gap that saves most; NaN where too few jobs of a size ran to say so."""
    known = gaps.dropna(subset=name)
    best = known["gap"].to_numpy()[known[name].to_numpy().argmax()] if len(known) else nan
    return float(best)


def derive(found: Frames) -> Frames:
    """Return means over samples, the order of the rules, the best gaps, and relative times."""
    gains = summarise(found["gains"], ("machine", "rule"), GAINS)
    gains = gains.sort_values("rule").sort_values(
        "machine", key=lambda own: own.map(MACHINES.index), kind="stable"
    )
    gaps = summarise(found["gaps"], ("rule", "gap"), ("mix", "small", "large"))
    best = [
        {"rule": rule, **{name: best_gap(own, name) for name in ("mix", "small")}}
        for rule, own in gaps.groupby("rule", sort=False)
    ]
    torus = found["gains"][found["gains"]["machine"] == TORUS]
    means = found["times"].groupby("rule", sort=False)["ms"].mean().reset_index()
    return {
        "gains": gains,
        "sizes": summarise(found["sizes"], ("machine", "rule", "sizes"), ("percent",)),
        "order": differences(torus, (), "mix", "rule", pairwise(PAPER_ORDER)),
        "gaps": gaps.assign(gap=gaps["gap"].map("{:.0f}".format)),
        "best gaps": pd.DataFrame(best),
        "time": summarise(means, ("rule",), ("ms",), over={"rule": REFERENCE}).assign(
            all="all machines"
        ),
    }


def _gain_chart(value: str, title: str, paper: Mapping[tuple[str, str], float]) -> Chart:
    """Return the figure of an improvement by machine and rule."""
    shown = ("Largest-1", "Largest-2", "Largest-4", "Largest-8", "Closest", "ClosestMind")
    return Chart(f"improvement-{value}", title, "gains", value, "machine", "rule",
                 Axis("hops saved [%]"), "Marks: the best three of each machine, in the thesis.",
                 rows={"rule": shown}, paper=paper)  # fmt: skip


def _by_gap(value: str, title: str, gap: str, paper: float) -> Chart:
    """Return the figure of an improvement by the gap that a rule allows."""
    return Chart(f"gaps-{value}", f"By gap, {title}", "gaps", value, "gap", "rule",
                 Axis("hops saved [%]", line=0.0), "FIFO: jobs below so many nodes go last.",
                 paper={(gap, "Largest"): paper})  # fmt: skip


_LOAD = "another load: less fragmented, fewer large sizes"
_TRIED = "of 1, 4, 16, 64 and more that were tried; another load"
CLAIMS = (
    Claim(
        "Tables 1, 4-6", "The best three rules save these hops, at its mix of sizes.", "gains",
        "mix", ("machine", "rule"), "%", paper=PAPER, near=0.25, why=_LOAD,
    ),
    Claim(
        "Table 8", "Closest Fit saves so many hops a job.", "gains", "hops", ("machine", "rule"),
        "hops", paper=PAPER_CHANGE, near=0.25, quick=False,
        why="another load: a mean over jobs, whose sizes differ",
    ),
    Claim(
        "4.2-5.4", f"On the 3D torus the order is {', '.join(PAPER_ORDER)}.", "order", "more",
        ("pair",), "points", least=0.0, quick=False, why=_LOAD,
    ),
    Claim(
        "6.2, Figure 29", "Gaps around 15 nodes save most (8 to 32).", "best gaps", "mix",
        ("rule",), "nodes", {"rule": ("Fit", "Largest")}, least=8, most=32, quick=False,
        why=_TRIED,
    ),
    Claim(
        "6.2, Figure 30", "Jobs of 2-10 nodes gain most from the smallest gaps.", "best gaps",
        "small", ("rule",), "nodes", {"rule": ("Fit", "Largest")}, most=4, quick=False, why=_TRIED,
    ),
    Claim(
        "6.2, Figure 29", "A gap of more than 1550 nodes saves hardly anything.", "gaps", "mix",
        ("rule", "gap"), "%", {"gap": ("2048",)}, least=-2, most=2, quick=False,
    ),
    Claim(
        "6.5, Table 3", "Rules take these multiples of the time of FIFO.", "time", "ms", ("rule",),
        paper=PAPER_TIME, near=0.5,
        why="decisions alone here, whole simulations there; sums slide along the windows here",
    ),
)  # fmt: skip
CHARTS = (
    _gain_chart("mix", "All sizes (Tables 1, 4-6)", PAPER),
    _gain_chart("small", "Jobs of 2-10 nodes", PAPER_SMALL),
    _gain_chart("large", "Jobs of more than 10 nodes", PAPER_LARGE),
    Chart(
        "sizes", f"By size, {TORUS} (Fig. 27)", "sizes", "percent", "sizes", "rule",
        Axis("hops saved [%]"), "Marks: the mean of Closest over the sizes 2 to 10.",
        rows={"machine": (TORUS,)},
        paper={(name, "Closest"): PAPER_SMALL[TORUS, "Closest"] for name in ("2-4", "5-10")},
    ),
    _by_gap("mix", "all sizes (Fig. 29)", "4", PAPER[TORUS, "Largest-4"]),
    _by_gap("small", "2-10 nodes (Fig. 30)", "1", PAPER_SMALL[TORUS, "Largest-1"]),
    _by_gap("large", "more than 10 (Fig. 31)", "4", PAPER_LARGE[TORUS, "Largest-4"]),
    Chart(
        "time", "Time / FIFO-0 (Table 3)", "time", "ms", "all", "rule",
        Axis("time / FIFO-0", log=True), "Decisions alone; the thesis times whole simulations.",
        rows={"rule": tuple(PAPER_TIME)},
        paper={("all machines", rule): ratio for rule, ratio in PAPER_TIME.items()},
    ),
)  # fmt: skip
STOLTZFUS13 = Paper(
    "stoltzfus13",
    "Stoltzfus13",
    "List-based allocators on HECToR and three more machines (Stoltzfus, 2013)",
    (),
    study,
    derive,
    CLAIMS,
    CHARTS,
    (("compactness",), (GAPS_FILE,)),
)
