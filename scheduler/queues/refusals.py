"""Refusals: what is known to leave a job no place, so that it is not asked again."""

from bisect import bisect_right, insort
from collections.abc import Container

from scheduler.allocation import Allocation
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


class TooMuch:
    """
    Placements beside which a job finds no place, on a machine of which ever less is free.

    Parameters
    ----------
    nested : bool
        Whether they say the same of all that hold at least as much; else of the same nodes and
        links, until something else is placed.
    """

    __slots__ = ("_nested", "_of", "_taken")

    def __init__(self, *, nested: bool) -> None:
        self._nested = nested
        self._taken: set[object] = set()
        self._of: dict[int, list[Allocation]] = {}  # by the first of their leaves

    def cover(self, placement: Allocation) -> bool:
        """Say whether a placement is one of them, or holds all that one of them does."""
        if (placement.leaves, placement.l2s, placement.units) in self._taken:
            return True
        of = self._of
        if not any(leaf in of for leaf, _, _ in placement.leaves):
            return False
        held = {leaf: (nodes, ports) for leaf, nodes, ports in placement.leaves}
        l2s = dict(placement.l2s)
        return any(_holds(held, l2s, known) for leaf in held for known in of.get(leaf, ()))

    def add(self, placement: Allocation) -> None:
        """Note that a job finds no place beside a placement that is not covered."""
        self._taken.add((placement.leaves, placement.l2s, placement.units))
        if self._nested:
            self._of.setdefault(placement.leaves[0][0], []).append(placement)

    def grown(self) -> None:
        """Take note that something else has been placed."""
        if not self._nested:
            self._taken.clear()


def _holds(held: dict[int, tuple[int, int]], l2s: dict[int, int], other: Allocation) -> bool:
    """Say whether nodes and up-ports, by leaf and by L2 switch, are all that a placement holds."""
    for leaf, nodes, ports in other.leaves:
        mine, my_ports = held.get(leaf, (0, 0))
        if nodes & ~mine or ports & ~my_ports:
            return False
    return not any(ports & ~l2s.get(switch, 0) for switch, ports in other.l2s)
