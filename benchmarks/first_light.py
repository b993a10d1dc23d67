"""
Run LLNL Thunder and Atlas under four allocators and check what must hold.

Model: the default of runs.

Usage: python -m benchmarks.first_light --logs FOLDER [--out FOLDER]

FOLDER holds the logs LLNL-Thunder-2007-1.1-cln.swf.gz and LLNL-Atlas-2006-2.1-cln.swf.gz of the
Parallel Workloads Archive. Writes logs.md and a section of the evidence; the exit status
is 1 when a bar is not met. Takes about a quarter of an hour.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.evidence import record, verdict
from coupling.inputs.experiment import Experiment
from coupling.inputs.experiment_fields import DEFAULT_MODEL
from coupling.report.terminal import ProgressDisplay
from coupling.results.comparison import comparison_rows, present_columns, write_column
from coupling.results.result import Result
from coupling.runs.campaign import run_campaign

ROOT = Path(__file__).parents[1]
LOGS = {
    "thunder": ("LLNL-Thunder-2007-1.1-cln.swf.gz", (105_764, 965, 172_362.0)),
    "atlas": ("LLNL-Atlas-2006-2.1-cln.swf.gz", (29_700, 1024, 342_754.0)),
}
STEADY = {  # bars on steady utilisation, uncoupled (lowest, highest)
    ("thunder", "first-free"): (0.985, 1.0),
    ("atlas", "first-free"): (0.97, 1.0),
    ("thunder", "jigsaw"): (0.945, 1.0),
    ("atlas", "jigsaw"): (0.915, 1.0),
    ("thunder", "ta"): (0.86, 0.92),
    ("atlas", "ta"): (0.86, 0.92),
}
MS_PER_EVENT, HELP_S, COMPILE_S = 1.0, 0.5, 30.0
ISOLATING, SHARING = ("ta", "jigsaw"), ("first-free", "random")
INTRODUCTION = f"""# Two real job logs under four allocators

LLNL Thunder and LLNL Atlas (Parallel Workloads Archive; thanks to Moe Jette, LLNL) on a full
three-level fat-tree of radix 18 (1458 nodes, 100 Gb/s), all jobs submitted at once in log order,
EASY with a window of 50, run times known to the scheduler, as in Smith & Lowenthal, HPDC'21.

Communication is the default profile (`examples/mixed.toml`): five patterns in equal shares,
communication fractions uniform in 0.1-0.5. It is an assumption; what follows holds for it. Jobs
slow each other down through the links they share, [model](../concepts/model.md) `{DEFAULT_MODEL}`.
The log's run times are read as isolated ones. Each port has a [buffer](../concepts/model.md#queues)
of 64 KiB, as in the packet simulations that the model is compared with.

Written by `python -m benchmarks.first_light --logs FOLDER`; the same tables come from
`fabricsim run examples/thunder.toml` and `examples/atlas.toml`.

How to read it: jobs lose time in two ways. *Other jobs* on shared links cost random placement most
and isolated jobs nothing. The *own placement* costs all of them: under static D-mod-k the flows of
one job collide with each other, worst for random pairs on many nodes. A job that is spread thin
collides less with itself, so random placement can end up with a shorter makespan than first-free
although its jobs disturb each other more; isolation is not contention freedom. The speed-ups are
those of jobs on the same reference run times, nobody assumed them.
"""


@dataclass
class Checks:
    """Measured values with their bars."""

    rows: list[tuple[str, str, str, bool]] = field(default_factory=list)

    def add(self, what: str, measured: str, bar: str, *, holds: bool) -> None:
        """Note one value."""
        self.rows.append((what, measured, bar, holds))
        print(f"{verdict(holds):3}  {what}: {measured} (bar: {bar})", flush=True)

    @property
    def hold(self) -> bool:
        """Whether all bars are met."""
        return all(row[3] for row in self.rows)

    def table(self) -> list[str]:
        """Return a Markdown table."""
        lines = ["| what | measured | bar | met |", "| --- | --- | --- | --- |"]
        lines += [f"| {w} | {m} | {b} | {verdict(h)} |" for w, m, b, h in self.rows]
        return lines


def ran(name: str, log: Path, folder: Path, workers: int) -> Sequence[Result]:
    """Run a log under all allocators."""
    changes = [
        f"workload.path={log.resolve()}",
        f"compare.allocators={json.dumps((*SHARING, *ISOLATING))}",
    ]
    experiment = Experiment.read(ROOT / "examples" / f"{name}.toml", changes)
    with ProgressDisplay() as progress:
        found = run_campaign(
            experiment, folder / name, workers=workers, resume=True, progress=progress
        )
    return found.results


def check_log(name: str, results: Sequence[Result], checks: Checks) -> None:
    """Check Table 1 of the paper, utilisation and interference."""
    jobs = results[0].jobs.query("dropped == ''")
    found = (len(jobs), int(jobs["n_nodes"].max()), float(jobs["runtime_reference_s"].max()))
    want = LOGS[name][1]
    checks.add(
        f"{name}: jobs, largest job, longest run (Table 1, Smith & Lowenthal 2021)",
        f"{found[0]:,} / {found[1]} / {found[2]:,.0f} s",
        f"{want[0]:,} / {want[1]} / {want[2]:,.0f} s",
        holds=found == want,
    )
    for result in results:
        if (name, result.name) in STEADY:
            low, high = STEADY[name, result.name]
            value = result.summary["infinite_network"]["utilization_steady"]
            bar = f"{low:.1%} to {high:.0%}"
            what = f"{name}, {result.name}: steady utilisation, uncoupled"
            checks.add(what, f"{value:.2%}", bar, holds=low <= value <= high)
        check_interference(name, result, checks)


def check_interference(name: str, result: Result, checks: Checks) -> None:
    """Check that isolation is exact and that sharing costs something."""
    jobs = result.jobs.query("dropped == ''")
    if result.name in ISOLATING:
        apart = int((jobs["interference"] != 1.0).sum())
        what = f"{name}, {result.name}: jobs whose interference is not exactly 1"
        checks.add(what, str(apart), "0", holds=apart == 0)
    else:
        mean = result.summary["mean_interference"]
        what = f"{name}, {result.name}: mean interference"
        checks.add(what, f"{mean:.4f}", "above 1", holds=mean > 1.0)


def check_cost(results: Sequence[Result], checks: Checks) -> list[str]:
    """Check the cost of contention per event, and list what whole runs cost."""
    lines = [
        "| Thunder run | model | events | CPU coupled | uncoupled | ratio | contention, at most |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for result in results:
        cost = result.cost
        # at most: without the network the schedule may be counted, without an event loop
        per_event = (cost["cpu_coupled_s"] - cost["cpu_uncoupled_s"]) / cost["events"] * 1e3
        ratio = cost["cpu_coupled_s"] / cost["cpu_uncoupled_s"]
        model = result.summary["network"]["model"]
        lines.append(
            f"| {result.name} | {model} | {cost['events']:,} | {cost['cpu_coupled_s']:.1f} s "
            f"| {cost['cpu_uncoupled_s']:.1f} s | {ratio:.1f} | {per_event:.3f} ms |"
        )
        if (result.name, model) == ("random", DEFAULT_MODEL):
            what = "thunder, random: contention per start or end event, CPU"
            bar = f"at most {MS_PER_EVENT} ms"
            checks.add(what, f"{per_event:.3f} ms", bar, holds=per_event <= MS_PER_EVENT)
    return lines


def check_command(checks: Checks) -> None:
    """Check that --help is instant and that kernels compile in reasonable time."""
    command = [sys.executable, "-c", "from coupling.cli.root import main; main()"]
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        subprocess.run([*command, "--help"], check=True, capture_output=True, cwd=ROOT)  # noqa: S603
        times.append(time.perf_counter() - begin)
    what = "fabricsim --help, best of 5 (wall)"
    checks.add(what, f"{min(times):.2f} s", f"under {HELP_S} s", holds=min(times) < HELP_S)
    with tempfile.TemporaryDirectory() as folder:
        code = (
            "from coupling import Experiment\nfrom coupling.runs.engine import run\n"
            "work = {'generator': 'synth', 'mean_nodes': 4, 'n_jobs': 20}\n"
            "run(Experiment(topology={'kind': 'fat-tree', 'radix': 4}, workload=work,"
            " communication=None, allocator='random', self_check=False))\n"
        )
        cpu, notice = [], ""
        for attempt in range(2):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-c", code],
                check=True,
                capture_output=True,
                text=True,
                cwd=ROOT,
                env=os.environ | {"NUMBA_CACHE_DIR": folder},
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            notice = done.stderr if attempt == 0 else notice
    compile_s = cpu[0] - cpu[1]
    what = "first compilation of the kernels (CPU)"
    bar = f"under {COMPILE_S:.0f} s, announced"
    announced = "compiling" in notice
    holds = compile_s < COMPILE_S and announced
    checks.add(
        what, f"{compile_s:.1f} s, {'announced' if announced else 'silent'}", bar, holds=holds
    )


def where_time_goes(results: Sequence[Result]) -> list[str]:
    """Return a table of node-hours: work, own collisions, interference, idle."""
    lines = [
        "| run | reference work | lost to the own placement | lost to other jobs | idle |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for result in results:
        jobs = result.jobs.query("dropped == ''")
        size = jobs["n_nodes"]
        work = float((size * jobs["runtime_reference_s"]).sum())
        others = float((size * jobs["interference_delay_s"]).sum())
        busy = float((size * (jobs["end_s"] - jobs["start_s"])).sum())
        total = result.summary["nodes"] * result.summary["makespan_s"]
        parts = (work, busy - work - others, others, total - busy)
        cells = " | ".join(f"{part / 3600:,.0f} h" for part in parts)
        lines.append(f"| {result.name} | {cells} |")
    return lines


def logs_page(runs: Mapping[str, Sequence[Result]]) -> str:
    """Return the page with the tables of both logs."""
    parts = [INTRODUCTION]
    for name, results in runs.items():
        parts += [f"## {name.capitalize()}", "", markdown_table(results)]
        parts += ["Node-hours of the whole run:", "", *where_time_goes(results), ""]
    return "\n".join(parts).rstrip() + "\n"


def markdown_table(results: Sequence[Result]) -> str:
    """Write the numbers of a comparison as a Markdown table."""
    rows = comparison_rows(results)
    columns = present_columns(rows)
    cells = [write_column(column, [row[column.key] for row in rows]) for column in columns]
    lines = [
        ["run", *(column.title for column in columns)],
        ["---", *("---:" for _ in columns)],
        *zip([result.name for result in results], *cells, strict=True),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Measure, write, and tell by the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    checks, runs = Checks(), dict[str, Sequence[Result]]()
    out = options.out or Path(tempfile.mkdtemp())
    for name, (log, _) in LOGS.items():
        runs[name] = ran(name, options.logs / log, out, options.workers)
        check_log(name, runs[name], checks)
    costs = check_cost(runs["thunder"], checks)
    usage = max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    check_command(checks)
    (ROOT / "docs" / "research" / "logs.md").write_text(logs_page(runs), encoding="utf-8")
    memory = f"Peak memory of the largest process: {usage / 1024:.0f} MiB."
    record(
        "The main job on real logs",
        "python -m benchmarks.first_light --logs FOLDER",
        [*checks.table(), "", *costs, "", memory],
    )
    sys.exit(0 if checks.hold else 1)


if __name__ == "__main__":
    main()
