"""
Compare time and memory of Thunder with partitions, requeue and drawn failures with a plain run.

    python -m benchmarks.events --window 300     # hours of the log; writes evidence.md

Both runs are processes of their own. The log's partitions are pbatch (1) and pdebug (2).
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.evidence import record, verdict

ROOT = Path(__file__).parents[1]
LOG = ROOT.parent / "shared" / "data" / "jobs" / "LLNL-Thunder-2007-1.1-cln.swf.gz"
MOST = 1.3  # of the plain run
_DEBUG = 32  # nodes of pdebug; the source does not say how many it had

RUN = """
import json, re, sys, time
from pathlib import Path
import fabricsim as fs
from scheduler.simulator import simulate
experiment = fs.Experiment.from_tables(json.loads(sys.argv[1]), "benchmark", ".", "benchmark")
warm = fs.run(experiment.replace(workload={**experiment.workload, "max_nodes": 2}))
begin_s = time.process_time()
found = fs.run(experiment)
spent_s = time.process_time() - begin_s
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
kept = {key: found.summary.get(key) for key in ("jobs", "makespan_s", "events", "failed_runs",
    "jobs_requeued", "node_seconds_lost_to_failures", "mean_interference")}
print(json.dumps({"cpu_s": spent_s, "peak_mb": int(peak[1]) / 1024, **kept}))
"""


def tables(hours: int) -> dict[str, Any]:
    """Return the plain experiment."""
    return {
        "topology": {"kind": "fat-tree", "radix": 18, "bandwidth": "100 Gb/s"},
        "workload": {
            "path": str(LOG),
            "processors_per_node": 4,
            "arrivals": "zero",
            "window_s": ["0 h", f"{hours} h"],
            "estimates": "runtime",
        },
        "communication": {"profile": str(ROOT / "examples" / "mixed.toml")},
        "scheduler": {"allocator": "first-free"},
        "run": {"self_check": False},
    }


def with_events(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the experiment with partitions, and failures after which jobs are queued again."""
    parts = {
        "1": {"nodes": f"n[0-{1457 - _DEBUG}]", "Default": True},
        "2": {"nodes": f"n[{1458 - _DEBUG}-1457]", "PriorityTier": 2},
    }
    return plain | {
        "scheduler": {
            **plain["scheduler"],
            "queue": "partitions",
            "queue_options": {"partitions": parts},
        },
        "events": {
            "node_mtbf": "8760 h",
            "cable_mtbf": "200000 h",
            "on_failure": "requeue",
            "checkpoint": "1 h",
        },
    }


def measured(experiment: dict[str, Any]) -> dict[str, Any]:
    """Run an experiment in a process of its own."""
    done = subprocess.run(  # noqa: S603 (our own interpreter and text)
        [sys.executable, "-c", RUN, json.dumps(experiment)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    """Measure, and write the evidence."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("--window", type=int, default=300, help="hours of the log")
    parser.add_argument("--print", action="store_true", help="print, and write nothing")
    given = parser.parse_args()
    plain = tables(given.window)
    first, second = measured(plain), measured(with_events(plain))
    ratios = {key: second[key] / first[key] for key in ("cpu_s", "peak_mb")}
    lines = [
        f"Jobs of the first {given.window} hours of the log, all at once, first-free, EASY, fluid.",
        "",
        "| run | jobs | days simulated | failed runs | CPU s | peak MB |",
        "| --- | --- | --- | --- | --- | --- |",
        *(
            f"| {name} | {own['jobs']:,} | {own['makespan_s'] / 86400:.1f} | "
            f"{own['failed_runs'] or 0} | {own['cpu_s']:.1f} | {own['peak_mb']:.0f} |"
            for name, own in (("plain", first), ("partitions, failures, requeue", second))
        ),
        "",
        *(
            f"{word}: {ratios[key]:.2f} of the plain run, at most {MOST}: "
            f"{verdict(ratios[key] <= MOST)}."
            for word, key in (("Time", "cpu_s"), ("Memory", "peak_mb"))
        ),
    ]
    if given.print:
        print("\n".join(lines))
    else:
        command = f"python -m benchmarks.events --window {given.window}"
        record("Partitions, failures and requeue on Thunder", command, lines)
    sys.exit(max(ratios.values()) > MOST)


if __name__ == "__main__":
    main()
