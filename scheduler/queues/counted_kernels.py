"""
Compiled EASY where nodes alone are counted and every job runs as long as it is said to.

Nothing is placed: where an allocator refuses only for want of nodes, when jobs start depends on
numbers of nodes alone. The event loop of `scheduler.simulator` under `scheduler.queues.easy` says
the same, and is the slow twin. Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import float64, int64, types, void

from netsim.arrays import Floats, Ints
from netsim.jit import njit

_FLOATS = types.Array(float64, 1, "C")
_INTS = types.Array(int64, 1, "C")
_TIMES = types.Tuple((_FLOATS, _FLOATS))  # type: ignore[no-untyped-call]
_SPARE = types.Tuple((float64, int64))  # type: ignore[no-untyped-call]


@njit(void(_FLOATS, _INTS, int64, float64, int64), cache=True)
def _insert(times: Floats, jobs: Ints, count: int, time_s: float, job: int) -> None:
    """Put a job among `count` others by descending time."""
    while count > 0 and times[count - 1] < time_s:
        times[count], jobs[count] = times[count - 1], jobs[count - 1]
        count -= 1
    times[count], jobs[count] = time_s, job


@njit(void(_FLOATS, _INTS, int64, int64), cache=True)
def _remove(times: Floats, jobs: Ints, count: int, job: int) -> None:
    """Take a job from among `count`."""
    place = count - 1
    while jobs[place] != job:
        place -= 1
    for after in range(place + 1, count):
        times[after - 1], jobs[after - 1] = times[after], jobs[after]


@njit(int64(_FLOATS, _INTS, int64, _FLOATS, _FLOATS, float64, float64), cache=True)
def _postpone(
    times: Floats,
    jobs: Ints,
    count: int,
    start_s: Floats,
    estimate_s: Floats,
    now_s: float,
    later_s: float,
) -> int:
    """Expect each job past its estimate to end `later_s` from now; return how many there are."""
    overdue = 0
    for place in range(count):
        time_s, job = times[place], jobs[place]
        if start_s[job] + estimate_s[job] <= now_s:
            time_s = now_s + later_s
            overdue += 1
        _insert(times, jobs, place, time_s, job)
    return overdue


@njit(_SPARE(_FLOATS, _INTS, int64, _INTS, int64, int64, float64), cache=True)
def _reserve(
    times: Floats, jobs: Ints, count: int, size: Ints, free: int, wanted: int, now_s: float
) -> tuple[float, int]:
    """Return when enough nodes are expected to be free, and how many are left over then."""
    time_s, place = now_s, count
    while free < wanted or (place > 0 and times[place - 1] <= time_s):
        place -= 1
        time_s = times[place]
        free += size[jobs[place]]
    return time_s, free - wanted


@njit(_TIMES(_FLOATS, _INTS, _FLOATS, _FLOATS, _FLOATS, int64, int64, float64), cache=True)
def easy(
    submit_s: Floats,
    size: Ints,
    runtime_s: Floats,
    estimate_s: Floats,
    limit_s: Floats,
    free: int,
    reach: int,
    later_s: float,
) -> tuple[Floats, Floats]:
    """
    Return starts and ends of jobs, given in the order of submission.

    `limit_s`: after so long a job is ended. `free`: nodes of the machine, at least as many as any
    job wants. `reach`: waiting jobs that are looked at, the head among them. `later_s`: a job past
    its estimate is expected to end so much later.
    """
    n_jobs = submit_s.size
    start_s, end_s = np.empty(n_jobs), np.empty(n_jobs)
    room = min(n_jobs, free) + 1
    ends, ending = np.empty(room), np.empty(room, dtype=np.int64)
    expected, leaving = np.empty(room), np.empty(room, dtype=np.int64)
    front = np.empty(min(reach, n_jobs), dtype=np.int64)
    running = n_front = submitted = taken = overdue = 0
    while submitted < n_jobs or running:
        now_s = ends[running - 1] if running else np.inf
        if submitted < n_jobs:
            now_s = min(now_s, submit_s[submitted])
        while running and ends[running - 1] <= now_s:
            job = ending[running - 1]
            _remove(expected, leaving, running, job)
            running -= 1
            free += size[job]
        if running and (overdue or expected[running - 1] <= now_s):
            overdue = _postpone(expected, leaving, running, start_s, estimate_s, now_s, later_s)
        while submitted < n_jobs and submit_s[submitted] <= now_s:
            submitted += 1
        looked_at, reserved_s, spare = 0, np.nan, 0  # nan: the head has not been looked at in vain
        known = -1
        while True:
            while n_front < front.size and taken < submitted:
                front[n_front] = taken
                taken, n_front = taken + 1, n_front + 1
            if known < 0 and n_front and size[front[0]] > free:
                known, looked_at = n_front, 1
            if (known < 0 and not n_front) or (known >= 0 and (looked_at >= known or not free)):
                break
            job = front[looked_at]
            if size[job] > free:
                looked_at += 1
                continue
            if known >= 0:
                if np.isnan(reserved_s):
                    reserved_s, spare = _reserve(
                        expected, leaving, running, size, free, size[front[0]], now_s
                    )
                if now_s + estimate_s[job] > reserved_s:
                    if size[job] > spare:
                        looked_at += 1
                        continue
                    spare -= size[job]
                known -= 1
            for place in range(looked_at + 1, n_front):
                front[place - 1] = front[place]
            n_front -= 1
            start_s[job] = now_s
            end_s[job] = now_s + min(runtime_s[job], limit_s[job])
            _insert(ends, ending, running, end_s[job], job)
            _insert(expected, leaving, running, now_s + estimate_s[job], job)
            running += 1
            free -= size[job]
    return start_s, end_s
