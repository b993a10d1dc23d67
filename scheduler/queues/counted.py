"""Schedules that follow from numbers of nodes alone, without a placement of any job."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from netsim.arrays import Floats
from netsim.kernelcache import load_kernels
from scheduler.job import Job
from scheduler.machine import OVERDUE_STEP_S, Machine
from scheduler.queues.base import QueuePolicy
from scheduler.queues.easy import Easy


class Times(NamedTuple):
    """When jobs start and end: `start_s`, `end_s` (J,), in the order of the jobs, in seconds."""

    start_s: Floats
    end_s: Floats


def counted_times(
    jobs: Sequence[Job],
    machine: Machine,
    policy: QueuePolicy,
    *,
    kill_at_limit: bool = False,
) -> Times | None:
    """
    Return when jobs start and end that do not slow each other down, if nodes are all that counts.

    `jobs`: in the order of submission, checked. `machine`: with nobody on it; it stays so.
    `policy`: a fresh one; it stays so. Result: what `scheduler.simulator.simulate` would find,
    without its event loop; None where it depends on where jobs are placed, or on other rules.
    """
    if type(policy) is not Easy or not policy.counts or not machine.fits_by_count:
        return None
    n_nodes = machine.cluster.n_nodes
    size = np.array([job.n_nodes for job in jobs], dtype=np.int64)
    if size.max(initial=0) > n_nodes:
        return None
    kernels = load_kernels("scheduler.queues.counted_kernels", "kernels of queues", 2)
    requested_s = _column(jobs, lambda job: job.requested_s)
    start_s, end_s = kernels.easy(
        _column(jobs, lambda job: job.submit_s),
        size,
        _column(jobs, lambda job: job.runtime_s),
        _column(jobs, machine.estimate_s),
        requested_s if kill_at_limit else np.full(size.size, np.inf),
        n_nodes,
        policy.reach,
        OVERDUE_STEP_S,
    )
    return Times(start_s, end_s)


def _column(jobs: Sequence[Job], value_of: Callable[[Job], float]) -> Floats:
    """Return a number of each job."""
    return np.array([value_of(job) for job in jobs], dtype=np.float64)
