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
    """A waiting job's time and place."""

    placement: Allocation  # the job and what it will hold
    # start_s, end_s: from when to when it is expected to hold it, in seconds
    start_s: float
    end_s: float
    taken: Footprint  # the same as masks


class FreeNodes:
    """
    Free nodes and links over time: step functions of masks.

    They show where asking an allocator may help, and what is free there.

    `machine`: The machine now; running jobs end when they are expected to. `bookings`: Waiting jobs
    that will hold nodes. `footprint`: What a running job holds, from a cache. `times`: When each
    step begins, in seconds; the first one now. `gains`: Instants at which something becomes free,
    and now.
    """

    __slots__ = ("_machine", "_masks", "_varies", "gains", "times")

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
        self.gains = {now_s, *[end_s for end_s, _ in spans]}
        spans += [(booking.start_s, booking.taken) for booking in bookings]
        self.times = [now_s, *sorted({time_s for time_s, _ in spans} - {now_s})]
        self._machine = machine
        rows = (
            join_all(cluster.nodes_per_leaf, cluster.leaf_free),
            join_all(cluster.leaf_width, cluster.leaf_up),
            join_all(cluster.l2_width, cluster.l2_up),
        )
        taken = (
            [(time_s, each.nodes) for time_s, each in spans],
            [(time_s, each.leaf_ports) for time_s, each in spans if each.leaf_ports],
            [(time_s, each.l2_ports) for time_s, each in spans if each.l2_ports],
        )
        self._varies = [True, bool(taken[1]), bool(taken[2])]
        self._masks = [self._steps(free, masks) for free, masks in zip(rows, taken, strict=True)]

    def _steps(self, free: int, taken: Iterable[tuple[float, int]]) -> list[int]:
        """Return what is free from each instant on, given the instants at which that changes."""
        changes: dict[float, int] = {}
        for time_s, mask in taken:
            changes[time_s] = changes.get(time_s, 0) ^ mask
        if not changes:
            return [free] * len(self.times)
        return list(
            accumulate([changes.get(time_s, 0) for time_s in self.times], xor, initial=free)
        )[1:]

    def replace(self, old: Booking | None, new: Booking | None) -> None:
        """Take a booking out, and enter another one of the same job."""
        for booking in (old, new):
            if booking is not None:
                self._change(booking)

    def _change(self, booking: Booking) -> None:
        """Enter a booking, or take it out."""
        first, last = self._step_at(booking.start_s), self._step_at(booking.end_s)
        self.gains.add(booking.end_s)
        taken = booking.taken
        for kind, mask in enumerate((taken.nodes, taken.leaf_ports, taken.l2_ports)):
            if mask:
                steps = self._masks[kind]
                steps[first:last] = [free ^ mask for free in steps[first:last]]
                self._varies[kind] = True

    def mark(self, time_s: float) -> None:
        """Make a time one of the instants."""
        if time_s > self.times[0]:
            self._step_at(time_s)
            self.gains.add(time_s)

    def _step_at(self, time_s: float) -> int:
        """Return the step that begins at a time, making one if there is none."""
        step = bisect_left(self.times, time_s)
        if step == len(self.times) or self.times[step] != time_s:
            self.times.insert(step, time_s)
            for masks in self._masks:
                masks.insert(step, masks[step - 1])
        return step

    @property
    def nodes(self) -> list[int]:
        """The free nodes of each step."""
        return self._masks[0]

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
        times, free = self.times, self._masks[0]
        split = starts = len(times)
        beyond: list[int] = []  # free in the steps from `split` on
        own: list[int] = []  # in common, with the job's own nodes
        if moved is not None:
            split = starts = bisect_left(times, moved.start_s)
            beyond = free[split : bisect_left(times, moved.end_s)]
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
            if end > split and moved is not None:
                own = own or [both | moved.taken.nodes for both in accumulate(beyond, and_)]
                left &= own[end - split - 1]
            if times[first] in self.gains and left.bit_count() >= n_nodes:
                yield times[first], left
            first += 1

    def during(self, from_s: float, until_s: float, nodes: int, moved: Booking | None) -> Footprint:
        """
        Return what is free in a window all the time.

        `nodes`: as `windows` yields them. `moved`: as there.
        """
        first = bisect_left(self.times, from_s)
        end = max(first + 1, bisect_left(self.times, until_s, first))
        own = moved.taken if moved is not None else Footprint()
        split = end if moved is None else bisect_left(self.times, moved.start_s, first, end)
        links = []
        for kind, mine in ((1, own.leaf_ports), (2, own.l2_ports)):
            masks = self._masks[kind]
            free = reduce(and_, masks[first:split], -1) if self._varies[kind] else masks[0]
            if split < end and self._varies[kind]:
                free &= reduce(and_, masks[split:end]) | mine
            links.append(free)
        return Footprint(nodes, links[0], links[1])

    def cluster(self, time_s: float, free: Footprint) -> Cluster:
        """Return the machine as an allocator finds it at a time, with just so much free."""
        return expected_with(self._machine, time_s, free)


def expected_with(machine: Machine, time_s: float, free: Footprint) -> Cluster:
    """Return a machine as it is expected to be at a time, with just so much free."""
    ends_s = machine.expected_end_s.items()
    return machine.cluster.expected(free, [job_id for job_id, end_s in ends_s if end_s <= time_s])


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
