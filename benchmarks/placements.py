"""Stoltzfus13's machines, and the places and removals of a log on them, nothing else."""

import heapq
import math
from collections import deque
from collections.abc import Iterator, Sequence

from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology
from scheduler.job import Job

N_NODES = 2816  # of HECToR that run jobs: 15 x 6 x 16 x 2 less 64 (section 2.5.1)


def _dragonfly(variant: str) -> Topology:
    """Return 8 groups of 6 x 16 blades of 4 nodes, the last group not full (section 7.2)."""
    table = {"kind": "dragonfly", "groups": 8, "routers": [6, 16], "nodes_per_router": 4}
    return make_topology({**table, "variant": variant, "excluded": ["n[2816-3071]"]})


def machines() -> dict[str, Topology]:
    """
    Return the four machines of the paper, all of `N_NODES` nodes.

    Returns
    -------
    dict of str to Topology
        By the paper's names.
    """
    return {
        "3D torus": make_topology("hector"),
        "dragonfly, best case": _dragonfly("best-case"),
        "dragonfly, worst case": _dragonfly("worst-case"),
        "5D torus": make_topology("bgq-5d"),
    }


def events(jobs: Sequence[Job]) -> Iterator[tuple[Job, bool]]:
    """
    Turn a workload into the log of a machine that starts jobs in their order.

    A job starts when it has been submitted, all before it have started and enough nodes are
    free; which nodes plays no part, so the log is the same for all allocators.

    Parameters
    ----------
    jobs : sequence of Job
        By time of submission, none larger than the machine.

    Yields
    ------
    tuple of Job and bool
        The job, and whether it is placed (else removed).
    """
    waiting = deque(jobs)
    ends: list[tuple[float, int, Job]] = []
    free, now = N_NODES, 0.0
    while waiting or ends:
        if waiting and waiting[0].submit_s <= now and waiting[0].n_nodes <= free:
            job = waiting.popleft()
            free -= job.n_nodes
            heapq.heappush(ends, (now + job.runtime_s, job.id, job))
            yield job, True
            continue
        arrival = waiting[0].submit_s if waiting and waiting[0].submit_s > now else math.inf
        if ends and ends[0][0] <= arrival:
            now, _, job = heapq.heappop(ends)
            free += job.n_nodes
            yield job, False
        else:
            now = arrival
