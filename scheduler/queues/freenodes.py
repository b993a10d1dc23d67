"""Free nodes and links over time, and the windows in which enough nodes are free."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import and_, xor

from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.footprint import Footprint, join_all
from scheduler.machine import Machine


@dataclass(frozen=True, slots=True, eq=False)
class Booking:
    """
    A waiting job's time and place.

    Parameters
    ----------
    placement : Allocation
        The job and what it will hold.
    start_s, end_s : float
        From when to when it is expected to hold it, in seconds.
    taken : Footprint
        The same as masks.
    """

    placement: Allocation
    start_s: float
    end_s: float
    taken: Footprint


class FreeNodes:
    """
    Free nodes and links over time: step functions of masks.

    They tell where to ask an allocator may help, and what it would find there.

    Parameters
    ----------
    machine : Machine
        The machine now; running jobs end when they are expected to.
    bookings : collection of Booking
        Who will hold nodes besides.
    footprint : callable, optional
        What a running job holds, if somebody knows it already.
    """

    __slots__ = ("_gains", "_machine", "_masks", "_times")

    def __init__(
        self,
        machine: Machine,
        bookings: Collection[Booking],
        footprint: Callable[[Allocation], Footprint] | None = None,
    ) -> None:
        cluster, now_s = machine.cluster, machine.now_s
        of, running = footprint or cluster.footprint, cluster.running
        spans = [(end_s, of(running[job_id])) for job_id, end_s in machine.expected_end_s.items()]
        spans += [(booking.end_s, booking.taken) for booking in bookings]
        # Nodes or links become free at these instants only; at others nothing new is possible.
        self._gains = {now_s, *[end_s for end_s, _ in spans]}
        spans += [(booking.start_s, booking.taken) for booking in bookings]
        self._times = [now_s, *sorted({time_s for time_s, _ in spans} - {now_s})]
        self._machine = machine
        rows = (
            (join_all(cluster.nodes_per_leaf, cluster.leaf_free), "nodes"),
            (join_all(cluster.leaf_width, cluster.leaf_up), "leaf_ports"),
            (join_all(cluster.l2_width, cluster.l2_up), "l2_ports"),
        )
        self._masks = [self._steps(free, kind, spans) for free, kind in rows]

    def _steps(self, free: int, kind: str, spans: Iterable[tuple[float, Footprint]]) -> list[int]:
        """Return what is free from each instant on, given the instants at which that changes."""
        changes: dict[float, int] = {}
        for time_s, taken in spans:
            if mask := getattr(taken, kind):
                changes[time_s] = changes.get(time_s, 0) ^ mask
        if not changes:
            return [free] * len(self._times)
        return list(
            accumulate([changes.get(time_s, 0) for time_s in self._times], xor, initial=free)
        )[1:]

    def change(self, booking: Booking) -> None:
        """Enter a booking, or take it out."""
        first, last = self._step_at(booking.start_s), self._step_at(booking.end_s)
        self._gains.add(booking.end_s)
        taken = booking.taken
        for masks, mask in zip(
            self._masks, (taken.nodes, taken.leaf_ports, taken.l2_ports), strict=True
        ):
            if mask:
                masks[first:last] = [free ^ mask for free in masks[first:last]]

    def mark(self, time_s: float) -> None:
        """Make a time one of the instants."""
        if time_s > self._times[0]:
            self._step_at(time_s)
            self._gains.add(time_s)

    def _step_at(self, time_s: float) -> int:
        """Return the step that begins at a time, making one if there is none."""
        step = bisect_left(self._times, time_s)
        if step == len(self._times) or self._times[step] != time_s:
            self._times.insert(step, time_s)
            for masks in self._masks:
                masks.insert(step, masks[step - 1])
        return step

    def windows(
        self, n_nodes: int, length_s: float, moved: Booking | None = None
    ) -> Iterator[tuple[float, int]]:
        """
        Iterate over the instants from which so many nodes are free for so long.

        `moved`: a booking of that length that is to begin sooner, and is thought away. Yields: in
        seconds, ascending, and the mask of the nodes; instants are those at which something becomes
        free.

        A window is looked at from its back: where too few nodes are left after some steps, no
        window that begins before the last of them has enough either.
        """
        times, free = self._times, self._masks[0]
        split = starts = len(times)
        own: list[int] = []  # free in the steps from `split` on, where the job's own nodes are, too
        if moved is not None:
            split = starts = bisect_left(times, moved.start_s)
            steps = free[split : bisect_left(times, moved.end_s)]
            own = list(accumulate([step | moved.taken.nodes for step in steps], and_))
        stack: list[int] = []  # free from each step up to `filled`, that of the first step last
        first = filled = 0
        later = -1  # free in the steps of the window after those
        while first < starts:
            end = max(first + 1, bisect_left(times, times[first] + length_s, first))
            stop = min(end, split)
            if stack:
                later = reduce(and_, free[filled:stop], later)
                filled = max(filled, stop)
                if (stack[-1] & later).bit_count() < n_nodes:
                    stack = []
            if not stack:
                first, stack = _from_back(free, first, stop, n_nodes)
                filled, later = stop, -1
                if not stack:
                    continue
            left = stack.pop() & later
            if end > split:
                left &= own[end - split - 1]
            if times[first] in self._gains and left.bit_count() >= n_nodes:
                yield times[first], left
            first += 1

    def cluster(self, window: tuple[float, float], nodes: int, moved: Booking | None) -> Cluster:
        """
        Return the machine as an allocator finds it for a window of time.

        `window`: from when to when in seconds. `nodes`: what `windows` tells. `moved`: as there.
        """
        times, (_, leaf_ports, l2_ports) = self._times, self._masks
        first = bisect_left(times, window[0])
        end = max(first + 1, bisect_left(times, window[1], first))
        own = moved.taken if moved is not None else Footprint()
        split = end if moved is None else bisect_left(times, moved.start_s, first, end)
        links = [
            reduce(and_, masks[first:split], -1)
            & reduce(and_, [mask | mine for mask in masks[split:end]], -1)
            for masks, mine in ((leaf_ports, own.leaf_ports), (l2_ports, own.l2_ports))
        ]
        machine = self._machine
        ends = machine.expected_end_s
        leaving = [job_id for job_id, end_s in ends.items() if end_s <= window[0]]
        return machine.cluster.expected(Footprint(nodes, links[0], links[1]), leaving)


def _from_back(free: list[int], first: int, stop: int, n_nodes: int) -> tuple[int, list[int]]:
    """
    Say what is free from each step of a window up to its end.

    `free`: of all steps. Result: the same step and the masks, the first step last; or, where fewer
    than so many nodes are, the next step that a window may begin with, and nothing.
    """
    stack: list[int] = []
    left = -1
    for step in range(stop - 1, first - 1, -1):
        left &= free[step]
        if left.bit_count() < n_nodes:
            return step + 1, []
        stack.append(left)
    return first, stack
