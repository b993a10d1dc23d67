"""
Sweep a log, and measure what that costs: time, memory, and the speed-up of two workers.

    python -m benchmarks.sweep --log LLNL-Atlas-2006-2.1-cln.swf.gz --record

5 allocators x 3 communication fractions x 5 seeds over the first days of LLNL Atlas on 1458
nodes, as logged, by two processes; then ten of the cells by one and by two processes.
Exit status 1 where the bytes of the two differ.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.evidence import record, verdict
from coupling.sweep.comparison import POLICY, compare_policies
from coupling.sweep.spec import Spec
from coupling.sweep.sweep import Comparison, Sweep, run_sweep

ROOT = Path(__file__).parents[1]
ALLOCATORS = ["first-free", "random", "ta", "laas", "jigsaw"]
FRACTIONS = [0.1, 0.3, 0.5]
SEEDS = [1, 2, 3, 4, 5]
DAY_S = 86_400
GIB = 2**30


def main() -> None:
    """Read the arguments, run the sweeps, and write what they cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--log", type=Path, required=True, help="LLNL-Atlas-2006-2.1-cln.swf.gz")
    parser.add_argument("--days", type=int, default=14, help="of the log, from its first job on")
    parser.add_argument("--record", action="store_true", help="write into benchmarks/evidence.md")
    asked = parser.parse_args()
    with TemporaryDirectory(prefix="fabricsim-sweep-") as name:
        lines, same = _measure(asked.log.resolve(), asked.days, Path(name))
    print("\n".join(lines))
    if asked.record:
        command = f"python -m benchmarks.sweep --log {asked.log.name} --days {asked.days} --record"
        record("A sweep of a log", command, lines)
    sys.exit(0 if same else 1)


def _measure(log: Path, days: int, desk: Path) -> tuple[list[str], bool]:
    """Return the lines of the evidence, and whether bytes agree."""
    tables = _tables(log, days)
    varied = {
        "scheduler.allocator": ALLOCATORS,
        "communication.rule.*.comm_fraction": FRACTIONS,
        "run.seed": SEEDS,
    }
    whole_s, sweep = _timed(tables, varied, desk / "whole", 2)
    few = {**varied, "communication.rule.*.comm_fraction": [0.3], "run.seed": [1, 2]}
    one_s, _ = _timed(tables, few, desk / "one", 1)
    two_s, _ = _timed(tables, few, desk / "two", 2)
    same = _contents(desk / "one") == _contents(desk / "two")
    costs = [json.loads(path.read_text()) for path in (desk / "whole" / "costs").iterdir()]
    cpu_s, most = (
        sum(cost["cpu_s"] for cost in costs),
        max(cost["peak_memory_bytes"] for cost in costs),
    )
    load = os.getloadavg()[2]
    jobs = int(sweep.cells["jobs"].max())
    return [
        (
            f"LLNL Atlas, a cut: the first {days} days as logged, {jobs:,} of 29,700 jobs, on 1458 "
            f"nodes, model `fluid`: {len(ALLOCATORS)} allocators x {len(FRACTIONS)} fractions x "
            f"{len(SEEDS)} seeds."
        ),
        "",
        "| what | measured |",
        "| --- | ---: |",
        f"| cells | {len(sweep.cells)} |",
        f"| time by two processes, from checking to the table | {whole_s / 60:.1f} min |",
        f"| CPU time of the cells | {cpu_s / 60:.1f} min |",
        f"| memory of a worker, at most | {most / GIB:.2f} GiB |",
        (
            f"| speed-up of two processes over one, {2 * len(ALLOCATORS)} of the cells, "
            f"start and checks included | {one_s / two_s:.2f} |"
        ),
        f"| load of the machine's {os.cpu_count()} cores meanwhile | {load:.1f} |",
        "",
        *_caution(load),
        *_findings(compare_policies(sweep, metrics=("mean_turnaround_s", "mean_network_slowdown"))),
        "",
        f"- bar: one process and two write the same bytes: {verdict(same)}",
    ], same


def _caution(load: float) -> list[str]:
    """Say when times are of a machine that others used, too."""
    if load <= (os.cpu_count() or 1):
        return []
    return [
        (
            "Other programs used the machine: its times say little, and two processes may get a "
            "larger share of it than one. CPU time and memory stand."
        ),
        "",
    ]


def _tables(log: Path, days: int) -> dict[str, Any]:
    """Return the experiment that is varied."""
    return {
        "topology": {"kind": "fat-tree", "radix": 18},
        "workload": {
            "path": str(log),
            "format": "swf",
            "processors_per_node": 8,
            "max_nodes": 1024,
            "window_s": [0, days * DAY_S],
            "estimates": "runtime",
        },
        "communication": {"profile": str(ROOT / "examples" / "mixed.toml")},
        "network": {"model": "fluid"},
        "run": {"self_check": False},
    }


def _timed(
    tables: dict[str, Any], varied: dict[str, Any], folder: Path, workers: int
) -> tuple[float, Sweep]:
    """Return how long a sweep takes, and what it finds."""
    begin_s = time.monotonic()
    sweep = run_sweep(Spec.make(tables, varied), folder, workers=workers)
    return time.monotonic() - begin_s, sweep


def _contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of the results."""
    names = ("*.parquet", "jobs/*/*.parquet", "classes/*/*.parquet", "marks/*.json")
    paths = [path for name in names for path in folder.glob(name)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def _findings(found: Comparison) -> list[str]:
    """Return the differences over all jobs as a table."""
    table = found.differences[found.differences["by"] == "all"]
    wins = found.ranks.set_index(POLICY)
    lines = [
        f"| policy | metric | against {found.baseline} | 95 % interval | better in |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for row in table.to_dict("records"):
        own = wins.loc[row[POLICY]]
        first = row["metric"] == found.metrics[0]
        better = f"{int(own['wins'])} of {int(own['samples'])} samples" if first else ""
        lines.append(
            f"| {row[POLICY]} | {row['metric']} | {row['difference']:+.1%} | "
            f"{row['low']:+.1%} to {row['high']:+.1%} | {better} |"
        )
    return lines


if __name__ == "__main__":
    main()
