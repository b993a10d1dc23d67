"""Conservative backfilling: every job within reach holds a reservation, with its place."""

from math import inf
from typing import ClassVar

from fabricsim.checking import choice
from scheduler.allocation import Allocation
from scheduler.errors import PolicyError
from scheduler.machine import Machine
from scheduler.queues.depth import start_and_reserve
from scheduler.queues.easy import reach_of
from scheduler.queues.free_steps import UNKNOWN_END_S, Booking
from scheduler.queues.plan import Plan, report_reasons
from scheduler.queues.reservation import NODE_COUNT
from scheduler.queues.waiting import LinePolicy, WaitingLine


class Conservative(LinePolicy):
    """
    Conservative backfilling: each job within reach has a reservation.

    A. W. Mu'alem and D. G. Feitelson, IEEE TPDS 12(6), 2001, with the allocator in the place of
    node counts: a job coming within reach books the first time at which the allocator finds a place
    for it that no running or booked job holds until it is expected to end. When a job ends early,
    each booking in the order of the line is moved forward if it can be with all others where they
    are (compression), so none ever moves back. When a job outlives its estimate, bookings that want
    what it still holds are made anew.

    `window`: Waiting jobs behind the head that hold reservations; those further behind hold none.
    `reservation`: ``nodes``: of certain nodes and links, as above; ``node-count``: of so many
    nodes, wherever they are, made anew in the order of the line at each instant (as CQSim).
    """

    name: ClassVar[str] = "conservative"
    molds_jobs: ClassVar[bool] = True

    def __init__(self, window: int = 50, reservation: str = "nodes") -> None:
        kinds = ("nodes", NODE_COUNT)
        self.counts_nodes = (
            choice("reservation", reservation, kinds, error=PolicyError) == NODE_COUNT
        )
        self._line = WaitingLine(reach_of(window))
        self._plan = Plan()
        # as the bookings assume, by job id: when running jobs end, and what they hold
        self._expected_end_s: dict[int, float] = {}
        self._running: dict[int, Allocation] = {}
        self._disturbances = 0

    def select(self, machine: Machine) -> None:
        """Start the jobs whose time has come."""
        if self.counts_nodes:
            start_and_reserve(self._line, machine, inf, counted=True, plan=self._plan)
            return
        if machine.disturbances != self._disturbances:
            self._disturbances = machine.disturbances
            self._drop_impossible(machine)
            self._book_missing(machine)
            self._plan.compress(self._plan.at_booked_size(self._line.reachable()), machine)
        while self._book_missing(machine) or self._start_due(machine):
            pass
        self._expected_end_s = machine.expected_end_s.copy()
        self._running = machine.cluster.running.copy()
        self._plan.wake(machine)
        if machine.wait_reasons is not None:
            waiting = self._plan.at_booked_size(self._line.reachable())
            report_reasons(
                waiting, {job.id: self._plan.verdict(job, machine) for job in waiting}, machine
            )

    def _drop_impossible(self, machine: Machine) -> None:
        """Drop bookings that want what a job holds longer than expected, or did not hold before."""
        cluster, running = machine.cluster, machine.cluster.running
        before_s, held = self._expected_end_s, self._running
        late = [
            (cluster.footprint(running[job_id]), end_s)
            for job_id, end_s in machine.expected_end_s.items()
            if end_s > before_s.get(job_id, -inf) or running[job_id] is not held.get(job_id)
        ]
        if cluster.down is not None:
            late.append((cluster.down, UNKNOWN_END_S))
        bookings = self._plan.bookings
        for job_id, booking in list(bookings.items()):
            if any(booking.start_s < end_s and booking.taken.clashes(held) for held, end_s in late):
                del bookings[job_id]

    def _book_missing(self, machine: Machine) -> bool:
        """Book for jobs that hold no reservation; say whether there were any."""
        missing = [job for job in self._line.reachable() if job.id not in self._plan.bookings]
        if missing:
            self._plan.book(missing, machine)
        return bool(missing)

    def _start_due(self, machine: Machine) -> bool:
        """Start the jobs whose time has come; say whether there were any."""
        started = False
        for job in self._line.reachable():
            booking = self._plan.bookings[job.id]
            if booking.start_s <= machine.now_s and not self._ends_first(booking, machine):
                machine.start(booking.placement)
                del self._plan.bookings[job.id]
                self._line.remove(job)
                started = True
                if machine.expected_end_s[job.id] <= machine.now_s:
                    self._disturbances = -1  # others may begin sooner than the end of its booking
        return started

    @staticmethod
    def _ends_first(booking: Booking, machine: Machine) -> bool:
        """Say whether a place is held by a job that is expected to end at this very instant."""
        if machine.cluster.fits(booking.placement):
            return False
        return min(machine.expected_end_s.values()) <= machine.now_s
