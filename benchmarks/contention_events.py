"""
CPU time of the fast model per start or end event, set-up included, and its error.

Run: ``python benchmarks/contention_events.py [EVENTS]``. Rows: machine, running jobs and
placement of the project's bars. Exit status 1 if a bar is missed.
"""

import sys
from dataclasses import dataclass, replace
from time import thread_time

import numpy as np

from benchmarks.contention_scenes import Stream
from netsim.arrays import Floats
from netsim.contention.cold import accurate, cold_fast
from netsim.contention.constants import JobConstants
from netsim.contention.fast import Fast
from netsim.topology.fattree import fat_tree_of_radix

EVENTS = 3000
COLD_CHECKS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A machine under a random stream of jobs, and what an event may cost in the mean."""

    radix: int
    mean_size: float
    random_nodes: bool
    tolerance: float
    bar_ms: float
    buffer_bytes: float = 0.0


ROWS = (
    Row(18, 16, random_nodes=True, tolerance=1e-3, bar_ms=0.7),
    Row(18, 16, random_nodes=False, tolerance=1e-3, bar_ms=0.15),
    Row(28, 14, random_nodes=True, tolerance=1e-3, bar_ms=2.0),
    Row(18, 16, random_nodes=True, tolerance=1e-4, bar_ms=1.5),
    Row(18, 16, random_nodes=True, tolerance=1e-3, bar_ms=1.0, buffer_bytes=65536.0),
)


def measure(row: Row, n_events: int) -> tuple[Floats, list[int], Floats, dict[int, JobConstants]]:
    """Return CPU seconds per event (set-up, solve), running jobs, errors, and the last jobs."""
    tree = fat_tree_of_radix(row.radix, 12.5e9, latency_base_s=315e-9, latency_per_link_s=417.7e-9)
    tree = replace(tree, buffer_bytes=row.buffer_bytes)
    stream = Stream(tree, 1, row.mean_size, random_nodes=row.random_nodes)
    model = Fast(tree, tolerance=row.tolerance)
    jobs: dict[int, JobConstants] = {}
    values: dict[int, float] = {}
    spent, running, off = [], [], []
    filling = True
    for kind, job, traffic in stream.events():
        filling = filling and kind == "start"
        begin = thread_time()
        if kind == "start":
            model.start(job, traffic)
        else:
            model.end(job)
        ready = thread_time()
        changes = model.solve()
        end = thread_time()
        values.update(changes)
        if kind == "start":
            jobs[job] = stream.constants_of(traffic)
        else:
            del jobs[job], values[job]
        if filling:
            continue
        spent.append((ready - begin, end - ready))
        running.append(len(jobs))
        if len(spent) % (n_events // COLD_CHECKS) == 0:
            cold = cold_fast(jobs, tolerance=1e-8).interference
            off.append([abs(values[job] - cold[job]) for job in jobs])
        if len(spent) == n_events:
            break
    return np.array(spent), running, np.concatenate(off), jobs


def main(n_events: int) -> int:
    """Print one line per row and return the exit status."""
    missed = 0
    print("nodes, running, placement, tolerance: us per event (median, mean, p95; set-up); errors")
    for row in ROWS:
        spent, running, off, jobs = measure(row, n_events)
        total = spent.sum(axis=1) * 1e6
        ok = total.mean() <= row.bar_ms * 1e3
        missed += not ok
        print(
            f"{row.radix**3 // 4:5} {np.mean(running):4.0f} "
            f"{'random' if row.random_nodes else 'first-free':10} {row.tolerance:g}"
            f"{', buffers' if row.buffer_bytes else ''}: "
            f"{np.median(total):5.0f} {total.mean():5.0f} {np.quantile(total, 0.95):5.0f}; "
            f"{spent[:, 0].mean() * 1e6:4.0f} us; max {off.max():.1e} mean {off.mean():.1e}; "
            f"bar {row.bar_ms * 1e3:.0f} us {'held' if ok else 'MISSED'}"
        )
        if row.random_nodes and row.tolerance == ROWS[0].tolerance:
            begin = thread_time()
            solution = accurate(jobs)
            spent_s = thread_time() - begin
            print(
                f"      accurate, cold, {len(jobs)} jobs: {spent_s * 1e3:.0f} ms, "
                f"{solution.sweeps} sweeps"
            )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS))
