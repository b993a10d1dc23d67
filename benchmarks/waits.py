"""
Measure what it costs to write down why jobs wait: CPU time with and without, in alternating pairs.

1,500 synthetic jobs on 1024 nodes, all at once, EASY with a window of 50, under Jigsaw and
first-free, model `fluid`. Without: the same run, in which nobody asks the queue for reasons and no
table is made. Counted work (questions to the allocator, copies of the machine) is compared as
well. Exit status 1 if the median of the pairs is above 2 %.
"""

import gc
import statistics
import sys
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

from benchmarks import asking
from benchmarks.evidence import record, verdict
from coupling.inputs.experiment import Experiment
from coupling.results.result import Result
from coupling.runs import engine
from coupling.runs.assembly import RunParts, assemble
from scheduler.observer import Observer

JOBS, PAIRS = 1500, 7
BAR = 0.02
ALLOCATORS = ("jigsaw", "first-free")
COUNTED = ("allocator_calls", "cluster_copies", "rate_changes")


class Deaf(Observer):
    """Stands where the ledger of waits does, and hears nothing."""

    def __init__(self) -> None:
        self.rows, self.spans = array("q"), array("d")


@contextmanager
def without() -> Iterator[None]:
    """Let nobody ask for reasons."""
    with patch.object(engine, "WaitLedger", Deaf):
        yield


def experiment(allocator: str) -> Experiment:
    """Return a run."""
    return Experiment(
        topology="synth-1024",
        workload={"generator": "synth", "mean_nodes": 16, "n_jobs": JOBS, "seed": 1},
        estimates="runtime",
        allocator=allocator,
        model="fluid",
        self_check=False,
    )


def timed(asked: Experiment, parts: RunParts) -> tuple[float, Result]:
    """Return CPU seconds of a run and what it gave."""
    gc.collect()
    begin_s = time.process_time()
    result = engine.run_parts(asked, parts)
    return time.process_time() - begin_s, result


def measured(allocator: str) -> tuple[float, float, list[str]]:
    """Return the median ratio of the pairs, CPU seconds without, and the work that differs."""
    asked = experiment(allocator)
    parts = assemble(asked)
    few = replace(parts, workload=replace(parts.workload, jobs=parts.workload.jobs[:50]))
    engine.run_parts(asked, few)  # compiles what there is to compile
    ratios, plain, work = [], [], list[str]()
    for _ in range(PAIRS):
        with_s, told = timed(asked, parts)
        with without():
            without_s, silent = timed(asked, parts)
        ratios.append(with_s / without_s)
        plain.append(without_s)
        pairs = ((name, told.cost[name], silent.cost[name]) for name in COUNTED)
        work = [f"{name} {here:,} and {there:,}" for name, here, there in pairs if here != there]
    return statistics.median(ratios) - 1.0, statistics.median(plain), work


def main() -> int:
    """Measure, and write the evidence."""
    lines = [
        "| allocator | CPU time without | with `waits.parquet` | a job | other work that differs |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    good = True
    for allocator in ALLOCATORS:
        more, plain_s, work = measured(allocator)
        good &= more <= BAR
        told = "; ".join(work) or "none"
        each = f"{more * plain_s / JOBS * 1e6:.0f} µs"
        lines.append(f"| {allocator} | {plain_s:.2f} s | {more * 100:+.1f} % | {each} | {told} |")
    lines += ["", f"- bar: at most {BAR:.0%} more, median of {PAIRS} pairs: {verdict(good)}"]
    print("\n".join(lines))
    about = "1,500 synthetic jobs on 1024 nodes, all at once, EASY; runs with and without in turn."
    record("Why jobs wait: what it costs", "python -m benchmarks.waits", [about, "", *lines])
    return int(not good)


if __name__ == "__main__":
    asking.nothing(__doc__)
    sys.exit(main())
