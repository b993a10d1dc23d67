"""
CPU time that allocators take per job, beside Table 3 of Smith21.

    python -m benchmarks.allocators synth-16 jigsaw ta --jobs 2000
    python -m benchmarks.allocators thunder jigsaw --log LLNL-Thunder-2007-1.1-cln.swf.gz

Each job of the trace is submitted at time 0 under EASY with a window of 50; only the time
inside the allocator counts, its refusals and the tries for reservations included.
"""

import argparse
import time
from collections.abc import Sequence

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocation import Allocation
from scheduler.allocators import ALLOCATORS, make_allocator
from scheduler.allocators.base import Allocator
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.queues import make_policy
from scheduler.simulator import Schedule, simulate
from scheduler.workload import read_swf, synth

RADIX = {"synth-16": 16, "synth-22": 22, "synth-28": 28, "thunder": 18, "atlas": 18}
PER_NODE = {"thunder": 4, "atlas": 8}
MAX_NODES = {"thunder": None, "atlas": 1024}
TABLE_3_MS = {  # Smith21, Table 3
    ("ta", "synth-16"): 2.83,
    ("ta", "thunder"): 1.28,
    ("ta", "synth-28"): 7.09,
    ("laas", "synth-16"): 2.94,
    ("laas", "thunder"): 1.06,
    ("laas", "synth-28"): 9.47,
    ("jigsaw", "synth-16"): 3.05,
    ("jigsaw", "thunder"): 1.04,
    ("jigsaw", "synth-28"): 9.98,
    ("lc+s", "synth-16"): 55.5,
    ("lc+s", "thunder"): 53.33,
    ("lc+s", "synth-28"): 255.0,
}


class Timed:
    """An allocator with a stopwatch."""

    def __init__(self, allocator: Allocator) -> None:
        self.allocator = allocator
        self.calls, self.cpu_s, self.worst_s = 0, 0.0, 0.0

    def __getattr__(self, name: str) -> object:
        """Give the promises of the allocator."""
        return getattr(self.allocator, name)

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Pass the call on and take its time."""
        start = time.thread_time()
        allocation = self.allocator.allocate(job, cluster)
        spent = time.thread_time() - start
        self.cpu_s += spent
        self.worst_s = max(self.worst_s, spent)
        self.calls += 1
        return allocation


def load(trace: str, log: str | None, n_jobs: int | None) -> Sequence[Job]:
    """Return the jobs of a trace, all submitted at time 0."""
    if trace.startswith("synth"):
        return synth(int(trace.removeprefix("synth-")), n_jobs=min(n_jobs or 10_000, 10_000)).jobs
    if log is None:
        raise SystemExit(f"{trace} needs --log FILE, the SWF log")
    options = {"processors_per_node": PER_NODE[trace], "max_nodes": MAX_NODES[trace]}
    return read_swf(log, arrivals="zero", **options).jobs[:n_jobs]


def steady_utilisation(schedule: Schedule, n_nodes: int) -> float:
    """Return requested node-seconds / (nodes x time) until the last job starts."""
    until = max(record.start_s for record in schedule.records)
    used = sum(
        record.job.n_nodes * (min(record.end_s, until) - record.start_s)
        for record in schedule.records
    )
    return used / (n_nodes * until)


def main() -> None:
    """Run the traces and print one line each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
    parser.add_argument("trace", choices=RADIX)
    parser.add_argument("allocators", nargs="+", choices=sorted(ALLOCATORS))
    parser.add_argument("--log", help="SWF log of thunder or atlas")
    parser.add_argument("--jobs", type=int, default=None, help="only the first so many jobs")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    arguments = parser.parse_args()
    jobs = load(arguments.trace, arguments.log, arguments.jobs)
    tree = fat_tree_of_radix(RADIX[arguments.trace], 12.5e9)
    options = dict(option.split("=", 1) for option in arguments.option)
    options = {key: int(value) if value.isdigit() else value for key, value in options.items()}
    print("allocator      ms/job  (paper)  calls/job  us/call  worst ms  utilisation  makespan s")
    for name in arguments.allocators:
        timed = Timed(make_allocator(name, options, seed=1))
        start = time.process_time()
        schedule = simulate(jobs, Cluster(tree), timed, make_policy("easy", {}))
        whole = time.process_time() - start
        paper = TABLE_3_MS.get((name, arguments.trace))
        print(
            f"{name:14} {1e3 * timed.cpu_s / len(jobs):6.3f}  {paper or '-':>7}"
            f"  {timed.calls / len(jobs):9.2f}  {1e6 * timed.cpu_s / timed.calls:7.1f}"
            f"  {1e3 * timed.worst_s:8.2f}"
            f"  {100 * steady_utilisation(schedule, tree.n_nodes):10.2f}%"
            f"  {max(record.end_s for record in schedule.records):10.0f}"
            f"   ({whole:.1f} s CPU in all)"
        )


if __name__ == "__main__":
    main()
