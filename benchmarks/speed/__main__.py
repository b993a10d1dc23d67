"""
Measure how fast whole commands are, alone or in turn with another version of the project.

Usage: python -m benchmarks.speed [table] [--log FILE] [--old TREE] [--runs N] [--only WORD ...]
       python -m benchmarks.speed coupled --log FILE [--jobs N] [--old TREE] [--runs N]
       python -m benchmarks.speed large [--jobs N] [--old TREE] [--runs N]
       python -m benchmarks.speed fixed [--old TREE] [--runs N]
       python -m benchmarks.speed queues [--jobs N]
       python -m benchmarks.speed cqsim --log FILE --cqsim SOURCES [--runs N]
       python -m benchmarks.speed stages --log FILE [--jobs N]
       python -m benchmarks.speed fabrics [--old TREE] [--runs N]
       python -m benchmarks.speed finish --old TREE [--runs N]
       python -m benchmarks.speed workers [--jobs N]
       python -m benchmarks.speed growth [--runs N]
       python -m benchmarks.speed instructions [--sizes N ...]
       python -m benchmarks.speed memory --log FILE [--sizes N ...]

FILE is LLNL-Thunder-2007-1.1-cln.swf.gz of the Parallel Workloads Archive, TREE a checkout of an
older version, which the same environment must be able to run, SOURCES a checkout of CQSim;
`instructions` needs Valgrind. Runs name no model: the default. Times are CPU seconds of whole
processes, user and system, in alternating runs after one that is not counted; medians. Each command
writes its section of the evidence, `stages`, `table` and `cqsim` of docs/research/timings.md.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from benchmarks.evidence import record
from benchmarks.speed.cqsim import cqsim
from benchmarks.speed.process import COLD, cpu_s, cut
from benchmarks.speed.scale import fabrics, finish, growth, instructions, memory, workers
from benchmarks.speed.stages import looked_at, parquet_rows, per_job, run_command
from benchmarks.speed.table import table
from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.queues import make_policy
from scheduler.simulator import simulate
from scheduler.workload import synth

ROOT = Path(__file__).parents[2]
ALLOCATORS = ("random", "jigsaw", "first-free")
EXPERIMENT = """topology = {{kind = "fat-tree", radix = 18}}
[workload]
path = "{log}"
processors_per_node = 4
arrivals = "zero"
estimates = "runtime"
[scheduler]
queue = "easy"
allocator = "{allocator}"
[network]
routing = "jigsaw"
"""
LARGE = """topology = {{kind = "fat-tree", radix = 28}}
[workload]
generator = "synth"
mean_nodes = 28
n_jobs = {jobs}
[scheduler]
queue = "easy"
allocator = "random"
[network]
routing = "jigsaw"
"""
SLOW = ("conservative", "jigsaw")
QUEUES = {  # on 1458 and on 5488 nodes: what part of the jobs is run, and jobs/s that are wanted
    ("easy", "jigsaw"): ((1, 1), (3000, 2000)),
    ("easy", "first-free"): ((1, 1), (None, None)),
    ("easy", "random"): ((1, 1), (None, None)),
    ("conservative", "first-free"): ((2, 2), (1000, 700)),
    SLOW: ((8, 4), (150, 150)),
}
Row = tuple[str, Sequence[str]]
SHORT = 6_000  # jobs of a run before those that are timed: enough for all that is compiled


def compared(
    rows: Sequence[Row], old: Path | None, runs: int, first: Sequence[Row] | None = None
) -> list[str]:
    """
    Return a table of commands, timed in turn with another version where one is given.

    `first`: what is run before, that nothing is left to be compiled; the commands themselves where
    they are short.
    """
    lines = ["| command | before (s) | now (s) | now / before |", "| --- | ---: | ---: | ---: |"]
    trees = [ROOT, *([old] if old else [])]
    for tree in trees:
        for name, arguments in rows if first is None else first:
            cpu_s(tree, name, arguments)
    for name, arguments in rows:
        times: dict[Path, list[float]] = {tree: [] for tree in trees}
        for _ in range(runs):
            for tree in trees:
                times[tree].append(cpu_s(tree, name, arguments))
        now = times[ROOT]
        before = times[old] if old else []
        ratio = median(a / b for a, b in zip(now, before, strict=True)) if before else None
        cells = (f"{median(before):.2f}" if before else "-", f"{median(now):.2f}")
        lines.append(f"| {name} | {' | '.join(cells)} | {f'{ratio:.2f}' if ratio else '-'} |")
        print(lines[-1], flush=True)
    return lines


def experiments(log: Path, folder: Path) -> list[tuple[str, Path]]:
    """Write an experiment for each allocator."""
    written = []
    for allocator in ALLOCATORS:
        path = folder / f"{allocator}.toml"
        path.write_text(EXPERIMENT.format(log=log, allocator=allocator), encoding="utf-8")
        written.append((allocator, path))
    return written


def coupled(options: argparse.Namespace) -> None:
    """Time coupled runs of the Thunder log, with self-check."""
    with tempfile.TemporaryDirectory() as name:
        short, whole = Path(name) / "short", Path(name) / "whole"
        short.mkdir()
        whole.mkdir()
        first, rows = (
            [
                (f"run, {allocator}", ("run", str(path), "--out", "OUT"))
                for allocator, path in experiments(cut(options.log, n_jobs, folder), folder)
            ]
            for n_jobs, folder in ((SHORT, short), (options.jobs, whole))
        )
        lines = compared(rows, options.old, options.runs, first)
    cut_to = f" --jobs {options.jobs}" if options.jobs else ""
    command = f"python -m benchmarks.speed coupled --log FILE{cut_to} --old TREE"
    record("Whole coupled runs", command, lines)


def large(options: argparse.Namespace) -> None:
    """Time a coupled run on a tree of 5488 nodes, jobs placed at random."""
    with tempfile.TemporaryDirectory() as name:
        first, row = (
            (f"5488 nodes, {jobs:,} jobs, random", ("run", f"{name}/{jobs}.toml", "--out", "OUT"))
            for jobs in (SHORT, options.jobs)
        )
        for jobs in (SHORT, options.jobs):
            Path(name, f"{jobs}.toml").write_text(LARGE.format(jobs=jobs), encoding="utf-8")
        lines = compared([row], options.old, options.runs, [first])
    command = f"python -m benchmarks.speed large --jobs {options.jobs} --old TREE"
    record("A large coupled run", command, lines)


def fixed(options: argparse.Namespace) -> None:
    """Time what every command costs, however small its input."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "ten.toml"
        path.write_text(
            'topology = "synth-1024"\n'
            '[workload]\ngenerator = "synth"\nmean_nodes = 16\nn_jobs = 10\n',
            encoding="utf-8",
        )
        small = ("estimate", str(ROOT / "examples/placed_jobs.json"))
        rows = [
            ("run of 10 jobs", ("run", str(path), "--out", "OUT")),
            ("estimate of a small snapshot", small),
            (f"the same, {COLD}", small),
            ("--help", ("--help",)),
        ]
        lines = compared(rows, options.old, options.runs)
    record("Fixed costs of commands", "python -m benchmarks.speed fixed --old TREE", lines)


def wrong(job: Job) -> float:
    """Estimate a run time: right to five times too long."""
    return job.runtime_s * (1 + job.id % 5)


def queues(options: argparse.Namespace) -> None:
    """Time queues without a network, on full trees of 1458 and 5488 nodes."""
    lines = [
        (
            "| queue | allocator | nodes | estimates | jobs | jobs/s | wanted | "
            "allocator calls per job |"
        ),
        "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for (queue, allocator), (fewer, wanted) in QUEUES.items():
        for radix, must, share in zip((18, 28), wanted, fewer, strict=True):
            estimate = wrong if queue == "conservative" else None
            n_jobs = options.jobs // share
            lines.append(queue_row((queue, allocator), radix, n_jobs, estimate, must))
            print(lines[-1], flush=True)
    record(
        "Queues without a network",
        f"python -m benchmarks.speed queues --jobs {options.jobs}",
        lines,
    )


def queue_row(
    names: tuple[str, str],
    radix: int,
    n_jobs: int,
    estimate: Callable[[Job], float] | None,
    must: int | None,
) -> str:
    """Run a queue three times, a slow one once, and return its row."""
    queue, name = names
    jobs = synth(16, n_jobs, 1).jobs
    times = []
    for _ in range(1 if names == SLOW else 3):
        cluster, allocator = (
            Cluster(fat_tree_of_radix(radix, "100 Gb/s")),
            make_allocator(name, {}, 1),
        )
        begin = time.process_time()
        done = simulate(jobs, cluster, allocator, make_policy(queue, {}), estimate_s=estimate)
        times.append(time.process_time() - begin)
    known = "right" if estimate is None else "wrong"
    numbers = (
        f"{n_jobs:,} | {n_jobs / median(times):,.0f} | {f'{must:,}' if must else '-'} | "
        f"{done.tally.allocator_calls / n_jobs:.1f}"
    )
    return f"| {queue} | {name} | {cluster.n_nodes:,} | {known} | {numbers} |"


def stages(options: argparse.Namespace) -> None:
    """Write where the CPU time of coupled runs goes."""
    seen, n_jobs = {}, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for allocator, path in experiments(cut(options.log, options.jobs, folder), folder):
            out = folder / allocator
            seen[allocator] = looked_at(run_command("run", str(path), "--out", str(out)))
            (table,) = out.rglob("jobs.parquet")
            n_jobs = parquet_rows(table)
    lines = [
        f"CPU time per job in microseconds, {n_jobs:,} jobs of Thunder under three allocators,",
        "model `fluid`; stages without those inside them, the pass without network whole. In",
        "brackets: what is spent in compiled code of the network and on handing it its arrays,",
        "the floor of a stage.",
        "",
        *per_job(seen, n_jobs),
    ]
    print("\n".join(lines))
    cut_to = f" --jobs {options.jobs}" if options.jobs else ""
    page = ROOT / "docs" / "research" / "timings.md"
    command_line = f"python -m benchmarks.speed stages --log FILE{cut_to}"
    record("Stages of a coupled run", command_line, lines, path=page)


def main() -> None:
    """Choose what is measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True)
    sub = commands.add_parser("table", help=table.__doc__)
    sub.set_defaults(work=table, jobs=None)
    for name in ("--log", "--old"):
        sub.add_argument(name, type=Path)
    sub.add_argument("--runs", type=int, default=3)
    sub.add_argument("--only", nargs="+", default=[], help="rows whose name has one of the words")
    sub = commands.add_parser("cqsim", help=cqsim.__doc__)
    sub.set_defaults(work=cqsim)
    for name in ("--log", "--cqsim"):
        sub.add_argument(name, type=Path)
    sub.add_argument("--runs", type=int, default=3)
    works = (coupled, large, fixed, queues, stages, fabrics, finish, workers)
    for work in (*works, growth, instructions, memory):
        sub = commands.add_parser(work.__name__, help=work.__doc__)
        sub.set_defaults(work=work)
        n_jobs = 125_000 if work is large else 4000 if work in (queues, workers) else None
        sub.add_argument("--jobs", type=int, default=n_jobs)
        if work in (coupled, stages, memory):
            sub.add_argument("--log", type=Path, required=True)
        if work in (coupled, large, fixed, fabrics):
            sub.add_argument("--old", type=Path)
        if work is finish:
            sub.add_argument("--old", type=Path, required=True)
        if work in (coupled, large, fixed, fabrics, finish, growth):
            sub.add_argument("--runs", type=int, default=1 if work is large else 3)
        if work in (memory, instructions):
            sizes = [25_000, 50_000, 100_000] if work is memory else [500, 2000, 4000, 8000]
            sub.add_argument("--sizes", type=int, nargs="+", default=sizes)
    options = parser.parse_args(sys.argv[1:] or ["table"])
    options.work(options)


if __name__ == "__main__":
    main()
