"""
Time and memory of `fabricsim now` and `place` on invented sites, from their files to the answer.

Run: ``python -m benchmarks.site_now``. CPU time of one process. Exit status 1 if 500 jobs on
2,000 nodes take 10 s or more.
"""

import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import asking
from benchmarks.evidence import record, verdict
from coupling.site.now import now_of
from coupling.site.place import place_on
from coupling.site.site import read_site

CASES = ((2_000, 500, 1), (2_000, 500, 64), (10_000, 2_000, 64))  # nodes, jobs, tasks of a node
PER_LEAF, SPINES, SAMPLES = 40, 20, 50
BAR_S = 10.0
PLACED = ((2_000, 300),)  # nodes, jobs
WANTED, PLACE_SAMPLES = 32, 10
_MIB = 1024.0  # of the kilobytes in which the system counts


def invented(folder: Path, n_nodes: int, n_jobs: int, tasks: int) -> tuple[Path, Path]:
    """Write a tapered two-level fabric that is full of jobs in pieces of two nodes."""
    chance = np.random.default_rng(n_nodes)
    leaves = n_nodes // PER_LEAF
    lines = [
        f"SwitchName=leaf{leaf} Nodes=n[{leaf * PER_LEAF:05d}-{(leaf + 1) * PER_LEAF - 1:05d}]"
        for leaf in range(leaves)
    ]
    lines += [f"SwitchName=spine{k} Switches=leaf[0-{leaves - 1}]" for k in range(SPINES)]
    fabric, queue = folder / "topology.conf", folder / "squeue.json"
    fabric.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sizes = np.ceil(chance.lognormal(0.6, 1.3, n_jobs)).astype(int).clip(1, n_nodes // 4)
    while sizes.sum() > n_nodes:
        sizes[chance.integers(n_jobs)] //= 2
        sizes = sizes.clip(1)
    order = np.arange(n_nodes).reshape(-1, 2)[chance.permutation(n_nodes // 2)].ravel()
    jobs, first = [], 0
    for number, size in enumerate(sizes.tolist()):
        own = np.sort(order[first : first + size])
        first += size
        jobs.append(
            {
                "job_id": 1000 + number,
                "job_state": ["RUNNING"],
                "name": f"app{number % 7}",
                "user_name": f"u{number % 40}",
                "nodes": f"n[{','.join(f'{node:05d}' for node in own)}]",
                "tasks": {"set": True, "infinite": False, "number": size * tasks},
            }
        )
    queue.write_text(json.dumps({"jobs": jobs}), encoding="utf-8")
    return fabric, queue


def placing() -> None:
    """Measure where 32 nodes more run best, and record it."""
    rows = ["| nodes | jobs | place, nodes wanted | CPU time | memory at most |"]
    rows.append("| --- " * 5 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for n_nodes, n_jobs in PLACED:
            files = invented(Path(folder), n_nodes, n_jobs, 1)
            begin = time.process_time()
            place_on(read_site(*files, samples=PLACE_SAMPLES), WANTED)
            seconds = time.process_time() - begin
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB
            rows.append(
                f"| {n_nodes:,} | {n_jobs:,} | {WANTED} | {seconds:.1f} s | {peak:.0f} MiB |"
            )
            print(rows[-1])
    rows += ["", f"{PLACE_SAMPLES} samples, as the command has by default."]
    record("A place on a site", "python -m benchmarks.site_now", rows)


def main() -> int:
    """Measure every case, the smallest first, and record them."""
    asking.nothing(__doc__)
    rows = ["| nodes | jobs | tasks a node | CPU time | memory at most |", "| --- " * 5 + "|"]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        now_of(read_site(*invented(Path(folder), 400, 40, 1), samples=1))  # compiles or loads
        for n_nodes, n_jobs, tasks in CASES:
            files = invented(Path(folder), n_nodes, n_jobs, tasks)
            begin = time.process_time()
            now_of(read_site(*files, samples=SAMPLES))
            seconds = time.process_time() - begin
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MIB
            row = f"| {n_nodes:,} | {n_jobs:,} | {tasks} | {seconds:.1f} s | {peak:.0f} MiB |"
            print(row)
            rows.append(row)
            good &= n_jobs > CASES[0][1] or seconds < BAR_S
    placing()
    rows += ["", f"500 jobs on 2,000 nodes in less than {BAR_S:.0f} s: {verdict(good)}."]
    rows += [
        f"{SAMPLES} samples of the default profile; topology.conf and squeue --json, invented."
    ]
    record("A site now", "python -m benchmarks.site_now", rows)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
