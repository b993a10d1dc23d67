"""Plan: reservations of several waiting jobs, with places, made by the allocator itself."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import and_

from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.footprint import Footprint, join
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.reservation import departures, never_placed
from scheduler.reasons import LACKING, RESERVATION, WINDOW, Verdict, trace_roots

Place = Callable[[Job, Cluster, float], Allocation | None]
"""Places a job in a state of the machine at a time; None when it does not fit."""


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


def tell(waiting: Sequence[Job], found: Mapping[int, Verdict], machine: Machine) -> None:
    """
    Write why jobs within reach do not start, and what follows for the rest.

    `waiting`: in order. `found`: by job id.
    """
    told = machine.told
    if told is None or not waiting:
        return
    verdicts = {job.id: found[job.id] for job in waiting}
    trace_roots(verdicts)
    head = verdicts[waiting[0].id]
    if head.reason != RESERVATION:
        verdicts[waiting[0].id] = head._replace(holder=waiting[0].id)
    for job, verdict in verdicts.items():
        told.tell(job, verdict)
    told.rest = Verdict(WINDOW, root=head.root or head.reason)


class FreeNodes:
    """
    Free nodes over time: a step function of masks, to ask an allocator only where it may help.

    Parameters
    ----------
    machine : Machine
        The machine now; running jobs end when they are expected to.
    bookings : collection of Booking
        Who will hold nodes besides.
    """

    __slots__ = ("_free", "_gains", "_times")

    def __init__(self, machine: Machine, bookings: Collection[Booking]) -> None:
        cluster = machine.cluster
        changes: dict[float, int] = {}
        for job_id, end_s in machine.expected_end_s.items():
            held = cluster.footprint(cluster.running[job_id]).nodes
            changes[end_s] = changes.get(end_s, 0) ^ held
        for booking in bookings:
            for time_s in (booking.start_s, booking.end_s):
                changes[time_s] = changes.get(time_s, 0) ^ booking.taken.nodes
        free = join(cluster.nodes_per_leaf, enumerate(cluster.leaf_free))
        free ^= changes.pop(machine.now_s, 0)
        # Nodes or links become free at these instants only; at others nothing new is possible.
        self._gains = {machine.now_s, *machine.expected_end_s.values()}
        self._gains.update(booking.end_s for booking in bookings)
        self._times, self._free = [machine.now_s], [free]
        for time_s, change in sorted(changes.items()):
            free ^= change
            self._times.append(time_s)
            self._free.append(free)

    def change(self, booking: Booking) -> None:
        """Enter a booking, or take it out."""
        first, last = self._step_at(booking.start_s), self._step_at(booking.end_s)
        self._gains.add(booking.end_s)
        for step in range(first, last):
            self._free[step] ^= booking.taken.nodes

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
            self._free.insert(step, self._free[step - 1])
        return step

    def starts(self, n_nodes: int, length_s: float, before_s: float) -> Iterator[float]:
        """
        Iterate over the instants from which so many nodes are free for so long.

        Yields: in seconds, ascending; instants are those at which something changes.

        What all steps of a window have free is kept as a queue of two stacks: a step is looked at
        twice however many windows it lies in.
        """
        times, free, gains = self._times, self._free, self._gains
        shared: list[
            int
        ] = []  # free from each step on up to where the stack was filled, last first
        later, end = -1, 0  # free in the steps of the window after those
        for first, time_s in enumerate(times):
            if time_s >= before_s:
                return
            until_s = time_s + length_s
            while end < len(times) and (end <= first or times[end] < until_s):
                later &= free[end]
                end += 1
            if not shared:
                shared = list(accumulate(reversed(free[first:end]), and_))
                later = -1
            left = shared.pop() & later
            if left.bit_count() >= n_nodes and time_s in gains:
                yield time_s


class Plan:
    """
    Bookings of waiting jobs; two never hold the same node or link at the same time.

    Attributes
    ----------
    bookings : dict of int to Booking
        By job id.
    """

    def __init__(self) -> None:
        self.bookings: dict[int, Booking] = {}

    def earliest(
        self,
        job: Job,
        machine: Machine,
        free: FreeNodes,
        place: Place | None = None,
        before_s: float = float("inf"),
    ) -> Booking | None:
        """
        Find the first time from now on at which a job fits beside all other bookings.

        Result: not entered into the plan; None when there is none.
        """
        place = place or machine.expects
        base: Cluster | None = None
        leaving: list[tuple[float, list[int]]] = []
        length_s = machine.estimate_s(job)
        for time_s in free.starts(job.n_nodes, length_s, before_s):
            if base is None:
                base, leaving = machine.cluster.copy(), departures(machine)[::-1]
            while leaving and leaving[-1][0] <= time_s:
                for job_id in leaving.pop()[1]:
                    base.release(job_id)
            cluster = self.beside(job, base, time_s, time_s + length_s)
            placement = place(job, cluster, time_s)
            if placement is not None:
                return Booking(placement, time_s, time_s + length_s, cluster.footprint(placement))
        return None

    def beside(self, job: Job, base: Cluster, from_s: float, until_s: float) -> Cluster:
        """Return a machine without what other bookings hold at some time in between."""
        taken = Footprint()
        for job_id, booking in self.bookings.items():
            if booking.start_s < until_s and booking.end_s > from_s and job_id != job.id:
                taken |= booking.taken
        cluster = base.copy()
        cluster.block(taken)
        return cluster

    def compress(self, jobs: Sequence[Job], machine: Machine) -> None:
        """Move bookings forward until none can be moved with all others where they are."""
        free = self.free_nodes(machine)
        index = still = 0
        while still < len(jobs):  # looked at in vain since a booking last moved
            job = jobs[index % len(jobs)]
            booking = self.bookings[job.id]
            free.change(booking)
            sooner = self.earliest(job, machine, free, before_s=booking.start_s)
            if sooner is not None:
                self.bookings[job.id] = booking = sooner
                still = 0
            free.change(booking)
            index, still = index + 1, still + 1

    def free_nodes(self, machine: Machine) -> FreeNodes:
        """Return what running and booked jobs leave."""
        return FreeNodes(machine, self.bookings.values())

    def book(self, jobs: Iterable[Job], machine: Machine, place: Place | None = None) -> None:
        """
        Enter the earliest time and place of each of some jobs.

        `jobs`: waiting jobs without a booking, in order.
        """
        free = self.free_nodes(machine)
        for job in jobs:
            if machine.limit is not None:
                machine.consider(job)
                free.mark(machine.limit.patience_ends_s(job))
            booking = self.earliest(job, machine, free, place)
            if booking is None:
                raise never_placed(job, machine)
            self.bookings[job.id] = booking
            free.change(booking)

    def in_the_way(self, job: Job, machine: Machine) -> int | None:
        """
        Return whose booking leaves a job too few nodes if it started now.

        Result: id of the one that begins first of those that want nodes that are free now; None
        where the others leave nodes enough.
        """
        now_s = machine.now_s
        until_s, cluster = now_s + machine.estimate_s(job), machine.cluster
        others = [
            (booking.start_s, other, booking.taken.nodes)
            for other, booking in self.bookings.items()
            if other != job.id and booking.start_s < until_s and booking.end_s > now_s
        ]
        free = now = join(cluster.nodes_per_leaf, enumerate(cluster.leaf_free))
        for _, _, nodes in others:
            free &= ~nodes
        if free.bit_count() >= job.n_nodes:
            return None
        return min((start_s, other) for start_s, other, nodes in others if nodes & now)[1]

    def verdict(self, job: Job, machine: Machine) -> Verdict:
        """Return why a job that is not started now is not."""
        if job.n_nodes > machine.cluster.n_free:
            return LACKING
        holder = self.in_the_way(job, machine)
        if holder is not None:
            return Verdict(RESERVATION, holder)
        until_s = machine.now_s + machine.estimate_s(job)
        beside = self.beside(job, machine.cluster, machine.now_s, until_s)
        return Verdict(machine.why_not(job, beside))

    def wake(self, machine: Machine) -> None:
        """Ask to be woken for every start, since nothing else need happen then."""
        for booking in self.bookings.values():
            machine.wake(booking.start_s)
