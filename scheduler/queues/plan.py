"""Plan: reservations of several waiting jobs, with places, made by the allocator itself."""

from bisect import bisect_right, insort
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import inf, nextafter

from scheduler.allocation import Allocation
from scheduler.allocators.base import exhaustive
from scheduler.cluster import Cluster
from scheduler.footprint import Footprint, join_all
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.free_steps import UNKNOWN_END_S, Booking, FreeSteps, refusals_hold
from scheduler.queues.reservation import never_placed
from scheduler.reasons import INSUFFICIENT_NODES, RESERVATION, WINDOW, Verdict, trace_roots


class Refusals:
    """
    What was free when an allocator refused a waiting job, by job and time.

    An allocator that is monotone in what is free refuses it again where no more is free.
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

    def retain(self, job_ids: Container[int], from_s: float) -> None:
        """Forget all other jobs, and the times before the last one up to now."""
        for job_id in [key for key in self._times if key not in job_ids]:
            del self._times[job_id], self._free[job_id]
        for job_id, times in self._times.items():
            past = max(0, bisect_right(times, from_s) - 1)
            for time_s in times[:past]:
                del self._free[job_id][time_s]
            del times[:past]


Place = Callable[[Job, Cluster, float], Allocation | None]
"""Places a job in a state of the machine at a time; None when it does not fit."""


def report_reasons(waiting: Sequence[Job], found: Mapping[int, Verdict], machine: Machine) -> None:
    """Write why jobs within reach do not start, and what follows for the rest."""
    reasons = machine.wait_reasons
    if reasons is None or not waiting:
        return
    verdicts = {job.id: found[job.id] for job in waiting}
    trace_roots(verdicts)
    head = verdicts[waiting[0].id]
    if head.reason != RESERVATION:
        verdicts[waiting[0].id] = head._replace(holder=waiting[0].id)
    for job, verdict in verdicts.items():
        reasons.report(job, verdict)
    reasons.rest = Verdict(WINDOW, root=head.root or head.reason)


class Plan:
    """Bookings of waiting jobs by id; no two hold a node or link at the same time."""

    def __init__(self) -> None:
        self.bookings: dict[int, Booking] = {}
        self._refusals = Refusals()
        self._steps: FreeSteps | None = None
        self._shares = False  # a booking wants units of links

    def begin(self, waiting: Iterable[Job], machine: Machine) -> None:
        """Forget all bookings, and what is known of jobs that no longer wait."""
        self.bookings.clear()
        self._refusals.retain({job.id for job in waiting}, machine.now_s)

    def at_once(self, job: Job, machine: Machine) -> Booking | None:
        """Return a booking from now on beside all others, if there is a place."""
        free = self.free_steps(machine)
        window = next(free.windows(job.n_nodes, machine.estimate_s(job)), None)
        if window is None or window[0] > machine.now_s:
            return None
        return self._in_window(window, job, machine, free)

    def earliest(
        self,
        job: Job,
        machine: Machine,
        free: FreeSteps,
        place: Place | None = None,
        *,
        moved: Booking | None = None,
    ) -> Booking | None:
        """
        Find the first time from now on at which a job fits with all other bookings.

        `moved`: the job's booking, if it is to begin sooner than that.
        """
        for window in free.windows(job.n_nodes, machine.estimate_s(job), moved):
            found = self._in_window(window, job, machine, free, place=place, moved=moved)
            if found is not None:
                return found
        return None

    def _in_window(
        self,
        window: tuple[float, int],
        job: Job,
        machine: Machine,
        free: FreeSteps,
        *,
        place: Place | None = None,
        moved: Booking | None = None,
    ) -> Booking | None:
        """Return a booking in a window if the allocator finds a place."""
        time_s, nodes = window
        # a job that is expected to run for no time holds its nodes, too
        until_s = max(time_s + machine.estimate_s(job), nextafter(time_s, inf))
        kept = machine.blocked(job, time_s) if machine.windows else None
        if kept is not None and (nodes & ~kept.nodes).bit_count() < job.n_nodes:
            return None
        # of units of links there are no masks
        if self._shares or machine.cluster.shared is not None:
            base = machine.cluster_at(time_s)
            if time_s >= UNKNOWN_END_S:  # nodes that are down are expected back
                base.set_closed(())
            cluster = self.without_bookings(job, base, time_s, until_s)
            placement = (place or machine.place_at)(job, cluster, time_s)
        else:
            sure = place is None and refusals_hold(machine)
            known = sure and not job.sizes  # refusals of another size say nothing
            knows = exhaustive(machine.allocator) if sure else None
            if knows is not None and knows.no_room_in(job, machine.cluster, nodes):
                return None
            left = free.during(time_s, until_s, nodes, moved)
            if known and self._refusals.cover(job.id, time_s, left):
                return None
            cluster = free.cluster(time_s, left)
            placement = (place or machine.place_at)(job, cluster, time_s)
            if placement is None and known:
                self._refusals.add(job.id, time_s, left)
        if placement is None:
            return None
        taken = cluster.footprint(placement)
        self._shares |= bool(taken.sharers)
        return Booking(placement, time_s, until_s, taken)

    def without_bookings(self, job: Job, base: Cluster, from_s: float, until_s: float) -> Cluster:
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
        free = self.free_steps(machine)
        self._refusals.retain(self.bookings, machine.now_s)
        free.line_up(jobs)
        index = still = 0
        while still < len(jobs):  # looked at in vain since a booking last moved
            line = [*jobs[index:], *jobs[:index]][: len(jobs) - still]
            useless, sooner = self._next(line, index, machine, free)
            if sooner is None:
                return
            index, still = (index + useless + 1) % len(jobs), 1
            job_id = sooner.placement.job.id
            free.replace(self.bookings[job_id], sooner)
            self.bookings[job_id] = sooner

    def _next(
        self, line: Sequence[Job], first: int, machine: Machine, free: FreeSteps
    ) -> tuple[int, Booking | None]:
        """
        Return the first booking that some jobs can have sooner, and how many jobs have none.

        `first`: which one of those that were lined up comes first.
        """
        useless, after_s = 0, -1.0
        while useless < len(line):
            more, time_s, nodes = free.next(first + useless, len(line) - useless, after_s)
            useless += more
            if useless < len(line):
                job = line[useless]
                booking = self.bookings[job.id]
                sooner = self._in_window((time_s, nodes), job, machine, free, moved=booking)
                if sooner is not None:
                    return useless, sooner
                after_s = time_s
        return useless, None

    def free_steps(self, machine: Machine) -> FreeSteps:
        """Return what running and booked jobs leave."""
        steps, closed = self._steps, machine.cluster.closed is not None or bool(machine.windows)
        if steps is None or steps.machine is not machine or steps.is_stale(closed=closed):
            steps = self._steps = FreeSteps(machine)
            steps.follow({})
            steps.close()
        steps.follow(self.bookings)
        return steps

    def book(self, jobs: Iterable[Job], machine: Machine, place: Place | None = None) -> None:
        """Enter the earliest time and place of each of some jobs, in order."""
        free, marks = self.free_steps(machine), list[float]()
        for job in jobs:
            if machine.switch_limit is not None:
                machine.start_patience(job)
                marks.append(machine.switch_limit.patience_ends_s(job))
                free.mark(marks[-1], 1)
            sizes = machine.each_size(job) if job.sizes else (job,)
            found = [self.earliest(size, machine, free, place) for size in sizes]
            # the size that ends first, of equal ones the first to begin, then the smaller one
            booking = min(
                filter(None, found),
                key=lambda own: (own.end_s, own.start_s, own.placement.job.n_nodes),
                default=None,
            )
            if booking is None:
                raise never_placed(job, machine)
            self.bookings[job.id] = booking
            free.replace(None, booking)
        for time_s in marks:
            free.mark(time_s, -1)

    def at_booked_size(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Return jobs that have a booking, moldable ones at its size."""
        return [self.bookings[job.id].placement.job if job.sizes else job for job in jobs]

    def in_the_way(self, job: Job, machine: Machine) -> int | None:
        """
        Return whose booking leaves a job too few nodes if it started now.

        The one that begins first of those that want nodes that are free now; None where the others
        leave nodes enough.
        """
        now_s = machine.now_s
        until_s, cluster = now_s + machine.estimate_s(job), machine.cluster
        others = [
            (booking.start_s, other, booking.taken.nodes)
            for other, booking in self.bookings.items()
            if other != job.id and booking.start_s < until_s and booking.end_s > now_s
        ]
        free = now = join_all(cluster.nodes_per_leaf, cluster.leaf_free)
        for _, _, nodes in others:
            free &= ~nodes
        if free.bit_count() >= job.n_nodes:
            return None
        return min((start_s, other) for start_s, other, nodes in others if nodes & now)[1]

    def verdict(self, job: Job, machine: Machine) -> Verdict:
        """Return why a job that is not started now is not."""
        if job.n_nodes > machine.cluster.n_free:
            return INSUFFICIENT_NODES
        holder = self.in_the_way(job, machine)
        if holder is not None:
            return Verdict(RESERVATION, holder)
        if machine.switch_limit is None:  # nodes enough are left
            return Verdict(machine.allocator_refusal)
        until_s = machine.now_s + machine.estimate_s(job)
        left = self.without_bookings(job, machine.cluster, machine.now_s, until_s)
        return Verdict(machine.refusal_in(job, left))

    def wake(self, machine: Machine) -> None:
        """Ask to be woken for every start, since nothing else need happen then."""
        for booking in self.bookings.values():
            if booking.start_s < UNKNOWN_END_S:
                machine.wake(booking.start_s)
