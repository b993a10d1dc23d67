"""
Run LLNL Thunder and Atlas under every allocator that fits a fat-tree, the network coupled.

Usage: python -m benchmarks.coupled_allocators --logs FOLDER [--jobs N N] [--out FOLDER]

FOLDER holds the logs LLNL-Thunder-2007-1.1-cln.swf.gz and LLNL-Atlas-2006-2.1-cln.swf.gz of the
Parallel Workloads Archive. Writes a section of docs/papers.md. With --jobs only about so many
jobs of Thunder and of Atlas are run, the first ones. Finished runs are kept in the folder of
--out, so that the command can be stopped and repeated.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from textwrap import fill

import numpy as np

from benchmarks.evidence import PAPERS, record
from coupling.errors import ExperimentError
from coupling.experiments.assembly import assemble
from coupling.experiments.campaign import Campaign, run_campaign
from coupling.experiments.engine import check_parts
from coupling.experiments.experiment import Experiment
from coupling.report.terminal import ProgressDisplay
from coupling.results.summary import compare, speedup
from scheduler.allocators import ALLOCATORS
from scheduler.workload import make_workload

WIDTH = 100  # characters of a line
ROOT = Path(__file__).parents[1]
LOGS = {
    "thunder": "LLNL-Thunder-2007-1.1-cln.swf.gz",
    "atlas": "LLNL-Atlas-2006-2.1-cln.swf.gz",
}
BASELINE = "first-free"
SAME = {"non-contiguous": BASELINE}  # on a tree, the free nodes in the order of their numbers
SECTION = "Every allocator that fits a fat-tree, coupled"
COLUMNS = (
    "steady utilisation",
    "makespan",
    "makespan ratio",
    "turnaround ratio",
    "mean interference",
    "mean placement factor",
    "node time lost to others",
    "weighted speed-up",
    "mean APH",
)
READING = """The question of the five papers with the answer made by the network instead of assumed:
what does each allocator do to the same jobs? {run} A full three-level fat-tree of radix 18
(1458 nodes, 100 Gb/s), all jobs submitted at once, EASY with a window of 50, exact run times, the
default communication profile (an assumption), model `fast`, run times of the log read as isolated
ones. Ratios and speed-ups are against first-free (below 1: shorter; speed-up above 1: faster jobs;
its weights are node-seconds under first-free). *Placement factor* is what jobs lose to themselves
on their own placement, *interference* what they lose to others. Left out:
{absent}."""
PART = """ A few long jobs decide the makespan of such a part, and ratios a few points apart tell
little: this is a first look, without `--jobs` the command runs whole logs."""


def prefix(table: dict[str, object], n_jobs: int | None) -> dict[str, object]:
    """Return a workload table with a window of time that holds about the first jobs."""
    if n_jobs is None:
        return table
    jobs = make_workload({**table, "arrivals": "log"}).jobs
    if n_jobs >= len(jobs):
        return table
    return {**table, "window_s": [0.0, jobs[n_jobs].submit_s]}


def fitting(experiment: Experiment) -> tuple[list[str], list[str]]:
    """Return the allocators that fit the fabric, Baseline first, and those that do not."""
    parts = assemble(experiment)
    fit, unfit = [BASELINE], []
    for name in sorted(set(ALLOCATORS) - {BASELINE} - set(SAME)):
        try:
            check_parts(replace(experiment, allocator=name), parts)
        except ExperimentError:
            unfit.append(name)
        else:
            fit.append(name)
    return fit, unfit


def table(campaign: Campaign) -> list[str]:
    """Return a Markdown table of a log, the shortest turnaround first."""
    base = campaign.results[0]
    rows = []
    for result in campaign.results:
        jobs = result.jobs.query("dropped == ''")
        summary = result.summary
        relative = compare(summary, base.summary, speedup(result.jobs, base.jobs))
        busy = float(np.sum(jobs["n_nodes"] * (jobs["end_s"] - jobs["start_s"])))
        cells = (
            f"{summary['utilization_steady']:.1%}",
            f"{summary['makespan_s'] / 86400:.1f} d",
            f"{relative['makespan_ratio']:.3f}",
            f"{relative['turnaround_ratio']:.3f}",
            f"{summary['mean_interference']:.4f}",
            f"{summary['mean_placement_factor']:.4f}",
            f"{summary['node_seconds_lost_to_interference'] / busy:.1%}",
            f"{relative['speedup_weighted']:.3f}",
            f"{summary['mean_aph']:.2f}",
        )
        isolating = " (isolating)" if ALLOCATORS[result.name].isolating else ""
        line = f"| {result.name}{isolating} | {' | '.join(cells)} |"
        rows.append((relative["turnaround_ratio"], line))
    head = [f"| allocator | {' | '.join(COLUMNS)} |", "| --- |" + " ---: |" * len(COLUMNS)]
    return head + [line for _, line in sorted(rows)]


def main() -> None:
    """Run, resume, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument(
        "--jobs",
        type=int,
        nargs=len(LOGS),
        metavar=("THUNDER", "ATLAS"),
        help="only about the first so many jobs of each log",
    )
    parser.add_argument("--out", type=Path, help="where finished runs are kept")
    options = parser.parse_args()
    out = options.out or Path(tempfile.mkdtemp())
    lines, counts = [], []
    limits = options.jobs or [None] * len(LOGS)
    for (name, log), limit in zip(LOGS.items(), limits, strict=True):
        path = (options.logs / log).resolve()
        change = [f"workload.path={path}", "run.self_check=false"]
        experiment = Experiment.read(ROOT / "examples" / f"{name}.toml", change)
        experiment = replace(experiment, workload=prefix(dict(experiment.workload), limit))
        fit, unfit = fitting(replace(experiment, compare=()))
        with ProgressDisplay() as progress:
            campaign = run_campaign(
                replace(experiment, compare=tuple(fit)), out / name, resume=True, progress=progress
            )
        n_jobs = campaign.manifest["jobs"]
        counts.append(f"{n_jobs:,} of {name.capitalize()}")
        lines += ["", f"### {name.capitalize()}, {n_jobs:,} jobs", "", *table(campaign)]
    run = "the first jobs of each log" if options.jobs else "all jobs"
    run = f"Run: {run}, {' and '.join(counts)}." + (PART if options.jobs else "")
    absent = f"{', '.join(unfit)} (they need a torus)"
    absent += "".join(f", and {name} (on a tree it is {same})" for name, same in SAME.items())
    text = fill(READING.format(run=run, absent=absent), WIDTH, break_on_hyphens=False)
    more = f" --jobs {limits[0]} {limits[1]}" if options.jobs else ""
    command = f"python -m benchmarks.coupled_allocators --logs FOLDER{more}"
    record(SECTION, command, [text, *lines], path=PAPERS)


if __name__ == "__main__":
    main()
