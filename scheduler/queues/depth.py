"""Several reservations, made anew at each instant: by node counts, or with places."""

from bisect import bisect_left
from collections.abc import Sequence
from math import inf, nextafter
from typing import NamedTuple

from scheduler.allocation import Allocation
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.plan import Plan, report_reasons
from scheduler.queues.reservation import departures, not_before
from scheduler.queues.waiting import Line
from scheduler.reasons import INSUFFICIENT_NODES, ORDER, RESERVATION, Verdict


class _Counted(NamedTuple):
    """A reservation of so many nodes, wherever they are."""

    start_s: float
    end_s: float
    job: int


class CountedReservations:
    """Free nodes over time, as running jobs and reservations are expected to leave them."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._times, self._free = [machine.now_s], [machine.cluster.n_free]
        for time_s, leaving in departures(machine):
            more = sum(machine.cluster.freed_by(job_id) for job_id in leaving)
            self._times.append(_end_s(machine.now_s, time_s - machine.now_s))
            self._free.append(self._free[-1] + more)
        self._reserved: list[_Counted] = []

    def earliest(self, job: Job) -> float:
        """Return the first time from which nodes are expected free for a job; inf: never."""
        times, free = self._times, self._free
        n_nodes, length_s = job.n_nodes, self._machine.estimate_s(job)
        first = 0
        while first < len(times):
            until = bisect_left(times, _end_s(times[first], length_s))
            short = [at for at in range(first, until) if free[at] < n_nodes]
            if not short:
                return times[first]
            first = short[-1] + 1
        return inf

    def place(self, job: Job) -> Allocation | None:
        """Place a job that can run from now on beside all reservations."""
        machine, length_s = self._machine, self._machine.estimate_s(job)
        until = bisect_left(self._times, _end_s(machine.now_s, length_s))
        if min(self._free[:until]) < job.n_nodes:
            return None
        return machine.try_to_place(job)

    def start(self, placement: Allocation) -> None:
        """Start a job, and take its nodes until it is expected to end."""
        machine = self._machine
        machine.start(placement)
        end_s = _end_s(machine.now_s, machine.estimate_s(placement.job))
        self._take(machine.now_s, end_s, placement.held)

    def reserve(self, job: Job) -> None:
        """Reserve nodes for a job from the first time on at which they are expected free."""
        length_s = self._machine.estimate_s(job)
        start_s = self.earliest(job)
        if start_s == inf:
            not_before(job, self._machine)
            return
        self._reserved.append(_Counted(start_s, _end_s(start_s, length_s), job.id))
        self._take(*self._reserved[-1][:2], job.n_nodes)

    def verdict(self, job: Job) -> Verdict:
        """Return why a job does not start now."""
        machine = self._machine
        if job.n_nodes > machine.cluster.n_free:
            return INSUFFICIENT_NODES
        until_s = machine.now_s + machine.estimate_s(job)
        others = [own for own in self._reserved if own.job != job.id and own.start_s < until_s]
        return Verdict(RESERVATION, min(others).job) if others else Verdict(machine.last_refusal)

    def _take(self, from_s: float, until_s: float, n_nodes: int) -> None:
        """Let fewer nodes be free in a span."""
        first, end = self._step(from_s), self._step(until_s)
        for at in range(first, end):
            self._free[at] -= n_nodes

    def _step(self, time_s: float) -> int:
        """Return the step that begins at a time, made where there is none."""
        at = bisect_left(self._times, time_s)
        if at == len(self._times) or self._times[at] != time_s:
            self._times.insert(at, time_s)
            self._free.insert(at, self._free[at - 1])
        return at


def _end_s(start_s: float, length_s: float) -> float:
    """Return when a job ends; one that is expected to run for no time holds its nodes, too."""
    return max(start_s + length_s, nextafter(start_s, inf))


class PlacedReservations:
    """Reservations with the places that the allocator finds, beside those made before."""

    def __init__(self, machine: Machine, plan: Plan, waiting: Sequence[Job]) -> None:
        self._machine, self._plan = machine, plan
        plan.begin(waiting, machine)

    def place(self, job: Job) -> Allocation | None:
        """Place a job that can run from now on beside all reservations."""
        self._machine.start_patience(job)
        booking = self._plan.at_once(job, self._machine)
        # a job that is expected to end at this very instant may still be there
        if booking is None or not self._machine.cluster.fits(booking.placement):
            return None
        return booking.placement

    def earliest(self, job: Job) -> float:
        """Return the first time from which a place for a job is expected free; inf: never."""
        free = self._plan.free_steps(self._machine)
        booking = self._plan.earliest(job, self._machine, free)
        return inf if booking is None else booking.start_s

    def start(self, placement: Allocation) -> None:
        """Start a job."""
        self._machine.start(placement)

    def reserve(self, job: Job) -> None:
        """Reserve a place for a job from the first time on at which it is expected free."""
        self._plan.book([job], self._machine)

    def verdict(self, job: Job) -> Verdict:
        """Return why a job does not start now."""
        return self._plan.verdict(job, self._machine)


def start_and_reserve(
    line: Line, machine: Machine, depth: float, *, counted: bool, plan: Plan
) -> None:
    """
    Start jobs in the order of the line, beside reservations of the first that have to wait.

    A job that cannot start gets a reservation, until there are `depth` of them; jobs behind start
    if they delay none of them (Flux, `qmanager`, policy ``hybrid``). Nothing is kept until the next
    instant. `counted`: reservations are of node counts; else of nodes and links, and `plan` finds
    them.
    """
    line.settle(machine)
    made = _start_heads(line, machine, None if counted else plan)
    if made is None:
        return
    waiting = line.reachable()
    left, verdicts = list[Job](), dict[int, Verdict]()
    reasons = machine.wait_reasons
    n_reserved = 0
    for job in waiting:
        job = _at_best_size(job, made, machine, reserves=n_reserved < depth)  # noqa: PLW2901
        if job.n_nodes <= machine.cluster.n_free and (placement := made.place(job)) is not None:
            made.start(placement)
            line.remove(job)
            continue
        if reasons is not None:
            verdicts[job.id] = made.verdict(job)
            left.append(job)
        if n_reserved < depth:
            made.reserve(job)
            n_reserved += 1
        clocks_start = machine.switch_limit is not None and n_reserved < depth
        if not machine.cluster.n_free and reasons is None and not clocks_start:
            return
    if reasons is not None:
        if not line.stable:
            reasons.retain(left)
        report_reasons(left, verdicts, machine)


def _start_heads(
    line: Line, machine: Machine, plan: Plan | None
) -> CountedReservations | PlacedReservations | None:
    """Start jobs from the head on while they fit; return what reserves for the rest, if any."""
    made = None
    while (head := line.head()) is not None:
        if head.sizes or made is not None:
            made = made or _reservations(line, machine, plan)
            size = _at_best_size(head, made, machine, reserves=True)
            found = made.place(size) if size.n_nodes <= machine.cluster.n_free else None
        else:
            found = machine.try_to_place(head)
        if found is None:
            return made or _reservations(line, machine, plan)
        (machine if made is None else made).start(found)
        line.remove(head)
    return None


def _reservations(
    line: Line, machine: Machine, plan: Plan | None
) -> CountedReservations | PlacedReservations:
    """Return reservations, still none; of node counts where there is no plan of places."""
    if plan is None:
        return CountedReservations(machine)
    return PlacedReservations(machine, plan, line.reachable())


def _at_best_size(
    job: Job,
    made: CountedReservations | PlacedReservations,
    machine: Machine,
    *,
    reserves: bool,
) -> Job:
    """
    Return a moldable job at the size that is expected to end first beside all reservations.

    Equal ends: the size that begins first, then the smaller one. `reserves`: it may begin later;
    else only sizes that can start now are compared.
    """

    def end(size: Job) -> tuple[float, float, int]:
        now_s, start_s = machine.now_s, inf
        if size.n_nodes <= machine.cluster.n_free and made.place(size) is not None:
            start_s = now_s
        elif reserves:
            start_s = made.earliest(size)
        return start_s + machine.estimate_s(size), start_s, size.n_nodes

    return min(machine.each_size(job), key=end) if job.sizes else job


def report_order(line: Line, head: Job, machine: Machine) -> None:
    """Report that no job may overtake the head."""
    if (reasons := machine.wait_reasons) is not None:
        if not line.stable:
            reasons.retain([head])
        reasons.rest = Verdict(ORDER, root=machine.last_refusal)
