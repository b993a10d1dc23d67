"""Synthetic job mixes of seed 001: exponential sizes, uniform run times, all at time zero."""

import numpy as np

from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload.base import Workload

_SHORTEST_S, _LONGEST_S = 20, 3000


def synth(mean_nodes: float, n_jobs: int = 10_000, seed: int = 1) -> Workload:
    """
    Draw a workload such as Synth-16, Synth-22 and Synth-28.

    Parameters
    ----------
    mean_nodes : float
        Mean of the exponential distribution of sizes, positive; sizes are rounded up.
    n_jobs : int, default 10000
        Number of jobs, at least 1.
    seed : int, default 1
        Of the random numbers; equal seeds give equal jobs.

    Returns
    -------
    Workload
        Jobs 1..n, all submitted at 0, run times known exactly (20..3000 whole seconds).

    Raises
    ------
    WorkloadError
        If an argument is out of range.

    Notes
    -----
    Seed 001, section 5.1 and Table 1, after Zahavi's LaaS: sizes modelled on the JUROPA
    machine (exponential), run times uniform.

    Examples
    --------
    >>> workload = synth(16, n_jobs=3, seed=1)
    >>> [(job.n_nodes, job.runtime_s) for job in workload.jobs]
    [(18, 762.0), (5, 949.0), (87, 2610.0)]
    """
    if not 0 < mean_nodes < np.inf or n_jobs < 1 or seed < 0:
        raise WorkloadError(
            "synth needs mean_nodes > 0, n_jobs >= 1 and seed >= 0, "
            f"got {mean_nodes}, {n_jobs} and {seed}."
        )
    generator = np.random.default_rng(seed)
    sizes = np.maximum(1, np.ceil(generator.exponential(mean_nodes, n_jobs)).astype(np.int64))
    times = generator.integers(_SHORTEST_S, _LONGEST_S, n_jobs, endpoint=True).astype(float)
    return Workload(
        jobs=tuple(
            Job(number, 0.0, size, time, time)
            for number, (size, time) in enumerate(
                zip(sizes.tolist(), times.tolist(), strict=True), start=1
            )
        ),
        source=f"synth(mean_nodes={mean_nodes:g}, n_jobs={n_jobs}, seed={seed})",
    )
