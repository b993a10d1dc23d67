"""Refusals: states of the machine in which no place was found, so that they are not asked again."""

from bisect import bisect_right, insort
from collections.abc import Container

from scheduler.footprint import Footprint


class Refusals:
    """
    What was free when an allocator refused a waiting job, by job and time.

    Whoever is refused by an allocator that is monotone in what is free is refused as well
    where nothing else is free.
    """

    __slots__ = ("_free", "_times")

    def __init__(self) -> None:
        self._free: dict[int, dict[float, Footprint]] = {}  # by job id
        self._times: dict[int, list[float]] = {}  # the same times, ascending

    def cover(self, job_id: int, time_s: float, free: Footprint) -> bool:
        """Say whether a job was refused at that time, or the last one before, with as much free."""
        times = self._times.get(job_id)
        if times is None:
            return False
        at = bisect_right(times, time_s)
        known = self._free[job_id]
        return any(free.is_within(known[before]) for before in reversed(times[max(0, at - 2) : at]))

    def add(self, job_id: int, time_s: float, free: Footprint) -> None:
        """Note that a job was refused."""
        known = self._free.setdefault(job_id, {})
        times = self._times.setdefault(job_id, [])
        if time_s not in known:
            insort(times, time_s)
        known[time_s] = free

    def keep(self, job_ids: Container[int], from_s: float) -> None:
        """Forget all other jobs, and the times before the last one up to now."""
        for job_id in [key for key in self._times if key not in job_ids]:
            del self._times[job_id], self._free[job_id]
        for job_id, times in self._times.items():
            past = max(0, bisect_right(times, from_s) - 1)
            for time_s in times[:past]:
                del self._free[job_id][time_s]
            del times[:past]
