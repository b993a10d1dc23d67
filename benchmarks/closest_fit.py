"""
Time Closest Fit (MIND) on HECToR against a direct evaluation of every window.

The job mix of HECToR is replayed on its torus. The direct evaluation is what the paper
does, with numpy's vectors: the MIND of each window by `average_pairwise_hops`, which on a torus
takes time linear in the job's size. It runs on evenly spread placements only and is extrapolated
by the number of windows; on these placements its choice must be the allocator's.
"""

import argparse
import sys
import time

import numpy as np

from benchmarks.evidence import record, verdict
from benchmarks.placements import events, machines
from netsim.common.arrays import Ints
from netsim.flows.distance import average_pairwise_hops
from netsim.topology.base import Topology
from scheduler.allocators import ClosestFitMind
from scheduler.allocators.ordering import node_order
from scheduler.cluster import Cluster
from scheduler.workload.synthetic import hector_like

BAR = 100.0  # times faster than the direct evaluation
N_JOBS = 50_000
PAPER_S = 7843.491  # Table 3: a year of HECToR's log, in Java


def direct(fabric: Topology, free: Ints, size: int) -> Ints:
    """Return the first of the windows with least MIND, having evaluated every one."""
    mind = [
        average_pairwise_hops(fabric, free[first : first + size])
        for first in range(free.size - size + 1)
    ]
    first = int(np.argmin(mind))
    return free[first : first + size]


def main() -> None:
    """Replay, compare, record."""
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--jobs", type=int, default=N_JOBS, help="placements to replay")
    parser.add_argument("--every", type=int, default=200, help="evaluate every so many directly")
    arguments = parser.parse_args()
    fabric = machines()["3D torus"]
    cluster, allocator = Cluster(fabric), ClosestFitMind()
    line = node_order("row-major", fabric)
    log = list(events(hector_like(arguments.jobs).jobs))
    allocator.allocate(log[0][0], cluster)  # compiles, or loads what was compiled

    fast_s = direct_s = 0.0
    placed = windows = sampled = sampled_windows = same = 0
    for job, is_placed in log:
        if not is_placed:
            cluster.release(job.id)
            continue
        start = time.thread_time()
        allocation = allocator.allocate(job, cluster)
        fast_s += time.thread_time() - start
        assert allocation is not None
        placed += 1
        windows += cluster.n_free - job.n_nodes + 1
        if placed % arguments.every == 0:
            free = line.node[line.free_places(cluster)]
            start = time.thread_time()
            expected = direct(fabric, free, job.n_nodes)
            direct_s += time.thread_time() - start
            sampled += 1
            sampled_windows += cluster.n_free - job.n_nodes + 1
            same += allocation.nodes().tolist() == expected.tolist()
        cluster.place(allocation)

    extrapolated_s = direct_s / sampled_windows * windows
    ratio = extrapolated_s / fast_s
    holds = ratio >= BAR and same == sampled
    what = f"{placed:,} placements of a HECToR-like load on {fabric.name}"
    parts = [
        ("this allocator, with making the allocation", fast_s, placed),
        (f"direct evaluation of {sampled} placements, measured", direct_s, sampled),
        (f"direct evaluation of {windows:,} windows, extrapolated", extrapolated_s, placed),
    ]
    lines = [
        f"Closest Fit (MIND), {what}, {windows / placed:.0f} windows each:",
        "",
        "| | CPU s | ms per placement |",
        "| --- | ---: | ---: |",
        *(f"| {part} | {cpu_s:.2f} | {1e3 * cpu_s / n:.3f} |" for part, cpu_s, n in parts),
        "",
        f"- at least {BAR:.0f} times as fast: {ratio:.0f} ({verdict(ratio >= BAR)})",
        f"- same nodes on the sampled placements: {same} of {sampled} ({verdict(same == sampled)})",
        f"- the paper (Table 3, another machine and log): {PAPER_S:.0f} s",
    ]
    print("\n".join(lines))
    if arguments.jobs == N_JOBS:
        record("Closest Fit (MIND) is practical", "python -m benchmarks.closest_fit", lines)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
