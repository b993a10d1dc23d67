"""The fixed point solved from scratch: `fast` for reference, `accurate` with sampled phases."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from fabricsim.checking import number, whole
from netsim.arrays import Floats, Ints
from netsim.contention.blame import TellsCulprits
from netsim.contention.cold.blame import ColdState
from netsim.contention.constants import JobConstants
from netsim.errors import ContentionError
from netsim.kernelcache import load_kernels

_MAX_SWEEPS = 20_000
_MAX_SWEEPS_SAMPLED = 2_000  # a few hundred suffice; sampled steps can jump and cycle
_LEAST_SAMPLES, _MOST_SAMPLES = 2, 1024  # one does not converge; 8 suffice
_64_BITS = (1 << 64) - 1


@dataclass(frozen=True, slots=True, eq=False)
class ColdSolution:
    """
    What a model says about jobs that run together, found from scratch.

    Parameters
    ----------
    interference : dict of int to float
        Slowdown of each job against itself alone, at least 1.
    worst_link : dict of int to int
        Directed link that decides the step of the job with the largest excess; -1 for none.
    sweeps : int
        Sweeps over all jobs; 0 where the model needs none.
    converged : bool
        Whether the last sweep changed no value by more than the tolerance.
    state : object with the method `culprits`, or None
        From which blame is computed; None where the model does not tell.
    """

    interference: dict[int, float]
    worst_link: dict[int, int]
    sweeps: int = 0
    converged: bool = True
    state: TellsCulprits | None = None


def cold_fast(
    jobs: Mapping[int, JobConstants],
    *,
    tolerance: float = 1e-7,
    lingering: bool = True,
    start: float = 1.0,
) -> ColdSolution:
    """Solve the fixed point with time-averaged neighbours from scratch."""
    phases = np.zeros((len(jobs), 0))
    return _solve(jobs, phases, tolerance=tolerance, lingering=lingering, start=start)


def accurate(
    jobs: Mapping[int, JobConstants],
    *,
    samples: int = 8,
    seed: int = 0,
    tolerance: float = 1e-4,
    lingering: bool = True,
    start: float = 1.0,
) -> ColdSolution:
    """
    Solve the fixed point with neighbours at sampled phases from scratch.

    `jobs`: running jobs by identity; it decides the order of a job's phases. `samples`: phases M of
    each neighbour, 2 to 1024: with one, a burst is on or off and the sweeps often do not converge.
    """
    whole("samples", samples, _LEAST_SAMPLES, _MOST_SAMPLES, error=ContentionError)
    whole("seed", seed, 0, error=ContentionError)
    if not 0.0 < number("tolerance", tolerance, error=ContentionError) < 1.0:
        raise ContentionError(f"tolerance must lie between 0 and 1, got {tolerance}.")
    phases = np.array([sample_phases(job, samples, seed) for job in jobs]).reshape(-1, samples)
    return _solve(jobs, phases, tolerance=tolerance, lingering=lingering, start=start)


def sample_phases(job: int, samples: int, seed: int = 0) -> Floats:
    """
    Return the phases at which a job is met, one per sample.

    Result (M,): (permutation + 1/2) / M: each stratum of the period once. The permutation is a
    Fisher-Yates shuffle driven by splitmix64 from the job's identity and the seed, so it depends
    neither on other jobs nor on their order.
    """
    return (np.array(_shuffled(job, samples, seed)) + 0.5) / samples


@lru_cache(maxsize=4096)
def _shuffled(job: int, samples: int, seed: int) -> tuple[int, ...]:
    """Return 0..M-1 in an order drawn for a job."""
    order = list(range(samples))
    state = (job * 0x9E3779B97F4A7C15 + seed * 0xD1B54A32D192ED03) & _64_BITS
    for last in range(samples - 1, 0, -1):
        state = (state + 0x9E3779B97F4A7C15) & _64_BITS
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _64_BITS
        other = (z ^ (z >> 31)) % (last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)


def _solve(
    jobs: Mapping[int, JobConstants],
    phases: Floats,
    *,
    tolerance: float,
    lingering: bool,
    start: float,
) -> ColdSolution:
    """Lay the jobs one after the other and sweep over them."""
    if not jobs:
        return ColdSolution({}, {})
    kernels = load_kernels("netsim.contention.cold.cold_kernels", "contention kernels", 4)
    parts = list(jobs.values())
    cap = _MAX_SWEEPS_SAMPLED if phases.shape[1] else _MAX_SWEEPS
    first_step = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([part.steps.size for part in parts], out=first_step[1:])
    entries = np.concatenate([part.entries for part in parts])
    entries["step"] += np.repeat(first_step[:-1], [part.entries.size for part in parts])
    records = np.concatenate([part.records for part in parts])
    channel = np.repeat(records["channel"], records["n_entries"])
    link = np.repeat(records["link"].astype(np.int64), records["n_entries"])
    order = np.argsort(entries["step"], kind="stable")
    entries, link = entries[order], link[order]
    _, channel = np.unique(channel[order], return_inverse=True)
    first_entry = np.searchsorted(entries["step"], np.arange(first_step[-1] + 1))
    steps = np.concatenate([part.steps for part in parts])
    period = np.array([part.iteration_s for part in parts])
    slowdown, held, duration, late, sweeps, change = kernels.solve_cold(
        entries,
        channel,
        first_entry,
        steps,
        first_step,
        period,
        phases,
        lingering,
        start,
        tolerance,
        cap,
    )
    worst = _worst_links(entries["step"], link, held, steps["drain_s"], first_step)
    return ColdSolution(
        dict(zip(jobs, slowdown.tolist(), strict=True)),
        dict(zip(jobs, worst, strict=True)),
        sweeps,
        converged=bool(change <= tolerance),
        state=ColdState(
            np.array(list(jobs), dtype=np.int64),
            entries,
            channel,
            link,
            steps,
            first_step,
            period,
            phases,
            duration,
            late,
            slowdown,
        ),
    )


def _worst_links(step: Ints, link: Ints, held: Floats, tau: Floats, first_step: Ints) -> list[int]:
    """Return for each job the link of the entry that exceeds its step's tau most, or -1."""
    excess = held - tau[step]
    bounds = np.searchsorted(step, first_step).tolist()
    worst = []
    for begin, end in pairwise(bounds):
        k = begin + int(excess[begin:end].argmax()) if end > begin else -1
        worst.append(int(link[k]) if k >= 0 and excess[k] > 0.0 else -1)
    return worst
