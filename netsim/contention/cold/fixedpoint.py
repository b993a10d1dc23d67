"""The fixed points solved from scratch: neighbours averaged over time, or present by states."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fabricsim.checking import number, whole
from netsim.arrays import Floats, Ints
from netsim.contention.among import among
from netsim.contention.blame import TellsCulprits
from netsim.contention.cold.blame import ColdState
from netsim.contention.cold.layout import accurate_kernels, lay_out
from netsim.contention.constants import JobConstants
from netsim.contention.phases import shuffled
from netsim.errors import ContentionError

_MAX_SWEEPS = 2_000
_LEAST_SAMPLES, _MOST_SAMPLES = 2, 1024
SAMPLES = 8


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
        Sweeps over the jobs that had not settled yet; 0 where the model needs none.
    converged : bool
        Whether all jobs settled, within about the tolerance of where they would end.
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
    jobs = among(jobs)
    cells = np.zeros((len(jobs), 1), dtype=np.int64)
    return _solve(jobs, cells, tolerance=tolerance, lingering=lingering, start=start)


def cold_phased(
    jobs: Mapping[int, JobConstants],
    *,
    seed: int = 0,
    tolerance: float = 1e-7,
    start: float = 1.0,
) -> ColdSolution:
    """
    Read what jobs meet, state by state, off the fixed point with time-averaged neighbours.

    What `netsim.contention.events.phased.Phased` keeps up to date, found from scratch.
    """
    averaged = cold_fast(jobs, tolerance=tolerance, start=start)
    if not isinstance(averaged.state, ColdState):
        return averaged
    solved = averaged.state
    return _read(jobs, averaged, solved, _cells(solved.jobs.tolist(), SAMPLES, seed))


def _read(jobs: Iterable[int], found: ColdSolution, solved: ColdState, cells: Ints) -> ColdSolution:
    """Return what jobs meet, state by state, at a fixed point."""
    kernels = accurate_kernels("cold.read_kernels")
    laid = solved.laid
    times = laid.state()._replace(duration_s=solved.duration_s.copy(), late_s=solved.late_s.copy())
    closed = kernels.read_states(*laid.tables, times, laid.crowd(cells))
    read = replace(solved, cells=cells, slow=times.slow, closed=closed)
    interference, worst_link = _told(jobs, read, times.held_s)
    return replace(found, interference=interference, worst_link=worst_link, state=read)


def accurate(
    jobs: Mapping[int, JobConstants],
    *,
    samples: int = SAMPLES,
    seed: int = 0,
    tolerance: float = 1e-4,
    lingering: bool = True,
    start: float = 1.0,
) -> ColdSolution:
    """
    Solve the fixed point with neighbours who are present by states from scratch.

    `jobs`: running jobs by identity; it decides the cell of its iteration in which a job is in each
    state. `samples`: states M, 2 to 1024, and cells of an iteration; one would be `fast`.
    """
    whole("samples", samples, _LEAST_SAMPLES, _MOST_SAMPLES, error=ContentionError)
    whole("seed", seed, 0, error=ContentionError)
    if not 0.0 < number("tolerance", tolerance, error=ContentionError) < 1.0:
        raise ContentionError(f"tolerance must lie between 0 and 1, got {tolerance}.")
    jobs = among(jobs)
    cells = _cells(sorted(jobs), samples, seed)
    free = {job: _passing(own) for job, own in jobs.items()}
    found = _solve(free, cells, tolerance=tolerance, lingering=lingering, start=start)
    solved = found.state
    if not isinstance(solved, ColdState) or all(free[job] is jobs[job] for job in jobs):
        return found
    laid = lay_out([jobs[job] for job in solved.jobs.tolist()])
    return _read(jobs, found, replace(solved, laid=laid), cells)


def _passing(own: JobConstants) -> JobConstants:
    """
    Return a job of which no packets wait for links ahead.

    Jobs that make each other wait would do so the longer the longer they do: the fixed point goes
    without, and what waits is read off it.
    """
    if not own.entries["held"].any() and not own.entries["closed"].any():
        return own
    entries = own.entries.copy()
    entries["held"] = entries["closed"] = 0.0
    lanes = own.lanes.copy()
    lanes[:, accurate_kernels("lane_kernels").HELD :] = 0.0
    return replace(own, entries=entries, lanes=lanes)


def _cells(jobs: Iterable[int], samples: int, seed: int) -> Ints:
    """Return the cell of its iteration in which each job is in each state."""
    drawn = [shuffled(job, samples, seed) for job in jobs]
    return np.array(drawn, dtype=np.int64).reshape(-1, samples)


def _solve(
    jobs: Mapping[int, JobConstants],
    cells: Ints,
    *,
    tolerance: float,
    lingering: bool,
    start: float,
) -> ColdSolution:
    """Lay the jobs in the order of their identities, in which `cells` are, and sweep over them."""
    if not jobs:
        return ColdSolution({}, {})
    kernels = accurate_kernels("cold.cold_kernels")
    order = sorted(jobs)
    laid = lay_out([jobs[job] for job in order])
    state = laid.state(start)
    sweeps, converged = kernels.solve_cold(
        *laid.tables, state, laid.crowd(cells), lingering, tolerance, _MAX_SWEEPS
    )
    solved = ColdState(np.array(order), laid, cells, state.slow, state.duration_s, state.late_s)
    return ColdSolution(*_told(jobs, solved, state.held_s), sweeps, converged, solved)


def _told(
    jobs: Iterable[int], solved: ColdState, held_s: Floats
) -> tuple[dict[int, float], dict[int, int]]:
    """Return slowdowns and worst links, jobs in the order in which they came."""
    slow = dict(zip(solved.jobs.tolist(), solved.slow.tolist(), strict=True))
    worst = dict(zip(solved.jobs.tolist(), solved.worst_links(held_s), strict=True))
    return {job: slow[job] for job in jobs}, {job: worst[job] for job in jobs}
