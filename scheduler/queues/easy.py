"""EASY backfilling with a lookahead window; the head's reservation asks the allocator itself."""

from functools import lru_cache
from math import inf
from typing import ClassVar

from fabricsim.checking import choice, whole
from scheduler.allocation import Allocation
from scheduler.allocators.base import exhaustive
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.attempts import Attempts
from scheduler.queues.guards import FIXED, RULES, Guard, NodesAreCounted
from scheduler.queues.reservation import Reservation, enough_nodes_s, reserve
from scheduler.queues.waiting import Line, WaitingLine
from scheduler.reasons import RESERVATION, STRICTER, SWITCHES, WINDOW, Verdict, WaitReasons

NODE_COUNT = "node-count"
_verdict = lru_cache(maxsize=1024)(Verdict)  # the same are given at instant after instant


class Easy:
    """
    EASY: the head of the queue holds a reservation, others may start if they do not delay it.

    Parameters
    ----------
    window : int, default 50
        Waiting jobs behind the head that are tried; Smith21, section 5.4.3 uses 50.
    reservation : {"R2", "R3", "node-count"}
        What a job that would run past the head's reserved time must respect.

    Notes
    -----
    A job that is expected to end by the head's reserved time may start wherever it fits
    (D. G. Feitelson and A. M. Weil, IPPS 1998). For the others:

    * ``R2``: the job starts if the head still fits at its reserved time with the job where it
      is now. Time and test come from the allocator: running jobs are released in the order
      of their expected ends until it can place the head.
    * ``R3``: the head's nodes and links at its reserved time are fixed; the job may use
      anything else.
    * ``node-count``: the textbook. The reserved time is when enough nodes are free, and the job
      starts if it needs no more nodes than the head leaves then. This ignores isolation: the
      head often does not fit at that time, and until it does hardly anybody may overtake,
      which costs Jigsaw 5 points of utilisation on Synth-16.
    """

    name: ClassVar[str] = "easy"

    def __init__(self, window: int = 50, reservation: str = "R2") -> None:
        self._line: Line = WaitingLine(reach_of(window))
        self._rule = choice("reservation", reservation, (*RULES, NODE_COUNT), error=PolicyError)
        self._kept: tuple[int, int, Reservation] | None = None  # head id, disturbances
        self._watch: tuple[Reservation, Guard] | None = None

    def __repr__(self) -> str:
        """Return one line."""
        return f"<{type(self).__name__}: {len(self)} waiting>"

    def __len__(self) -> int:
        """Return the number of waiting jobs."""
        return len(self._line)

    def submit(self, job: Job) -> None:
        """Put a job into the line."""
        self._line.append(job)

    def select(self, machine: Machine) -> None:
        """Start jobs from the head on while they fit, then backfill."""
        self._line.settle(machine)
        while (head := self._line.head()) is not None:
            placement = machine.try_to_place(head) or self._reserved_place(head, machine)
            if placement is None:
                break
            machine.start(placement)
            self._line.remove(head)
            self._kept = None
        if head is None:
            return
        reasons = machine.wait_reasons
        if reasons is not None:
            reasons.report(head.id, _verdict(machine.why, head.id))
            reasons.rest = _verdict(WINDOW, root=machine.why)
            if not self._line.stable:
                reasons.keep(self._line.reachable())
        if machine.cluster.n_free and len(self._line) > 1:
            self._backfill(head, machine)
        elif reasons is not None:
            reasons.report_insufficient_nodes(self._line.reachable()[1:])

    def _reserved_place(self, head: Job, machine: Machine) -> Allocation | None:
        """Return what the head has reserved, if that is now and free."""
        if self._kept is None or self._kept[0] != head.id:
            return None
        place, time_s = self._kept[2].place, self._kept[2].time_s
        if place is None or time_s > machine.now_s:
            return None
        return place.placement if machine.cluster.fits(place.placement) else None

    def _backfill(self, head: Job, machine: Machine) -> None:
        """Start jobs behind the head that do not delay it."""
        guard, reasons, now_s = self._guard(head, machine), machine.wait_reasons, machine.now_s
        attempts = Attempts(machine)
        refusal = machine.refusal
        reporter = None if reasons is None else _ReasonReporter(head, refusal, reasons)
        estimate_s, n_free = machine.estimate_s, machine.cluster.n_free
        fitting, lacking = self._fitting(n_free, reasons), list[Job]()
        for index, job in enumerate(fitting, 1):
            size = job.n_nodes
            if size > n_free:
                lacking.append(job)
                continue
            useless = attempts.useless(job)
            if useless and reporter is None:
                continue
            long = now_s + estimate_s(job) > guard.time_s
            if long and size > guard.spare:
                why = RESERVATION
            elif useless:
                why = refusal
            else:
                if self._starts(job, machine, guard, attempts, long=long):
                    n_free = machine.cluster.n_free
                    if not n_free:
                        lacking += fitting[index:]
                        break
                    continue
                why = machine.why
            if reporter is not None:
                reporter.report(job.id, why)
        if reasons is not None:
            reasons.report_insufficient_nodes(lacking)

    def _fitting(self, n_free: int, reasons: WaitReasons | None) -> list[Job]:
        """Return who stands behind the head and asks for no more nodes; say why others wait."""
        waiting = self._line.reachable()
        del waiting[0]
        fitting = [job for job in waiting if job.n_nodes <= n_free]
        if reasons is not None and len(fitting) < len(waiting):
            reasons.report_insufficient_nodes(waiting, n_free)
        return fitting

    def _starts(
        self, job: Job, machine: Machine, guard: Guard, attempts: Attempts, *, long: bool
    ) -> bool:
        """Start a job if it finds a place that does not delay the head."""
        placement = guard.place(job, attempts) if long else attempts.place(job)
        if placement is None:
            return False
        machine.start(placement)
        self._line.remove(job)
        guard.note(placement, long=long)
        return True

    def _guard(self, head: Job, machine: Machine) -> Guard:
        """
        Return the guard of the head's reservation.

        While the reservation stands, so does what a guard knows of the machine at that time: who
        ends by then is not in it, and of those who run longer it has heard.
        """
        if self._rule == NODE_COUNT:
            return NodesAreCounted(head, machine, enough_nodes_s(head, machine))
        reservation = self._reservation(head, machine)
        if self._watch is not None and self._watch[0] is reservation and self._rule != FIXED:
            return self._watch[1]
        time_s, place = reservation.time_s, reservation.place
        if place is None:
            guard: Guard = NodesAreCounted(head, machine, time_s)
        else:
            guard = RULES[self._rule](head, machine, time_s, place)
        self._watch = reservation, guard
        return guard

    def _reservation(self, head: Job, machine: Machine) -> Reservation:
        """Return the head's reservation; it moves only when an end was not as expected."""
        refused_s = -inf
        if self._kept is not None and self._kept[0] == head.id:
            disturbances, kept = self._kept[1:]
            if kept.time_s > machine.now_s:
                if disturbances == machine.disturbances:
                    return kept
                if self._stands(kept, machine):
                    return self._keep(head, machine, kept)
            if _still_refused(kept, machine):
                refused_s = kept.refused_s
        found = reserve(head, machine, placed=self._rule == FIXED, refused_s=refused_s)
        return self._keep(head, machine, found)

    def _keep(self, head: Job, machine: Machine, reservation: Reservation) -> Reservation:
        """Remember a reservation that holds for what is expected now."""
        self._kept = head.id, machine.disturbances, reservation
        machine.gained_until_s = machine.changed_until_s = -inf
        return reservation

    def _stands(self, reservation: Reservation, machine: Machine) -> bool:
        """
        Say whether a reservation is as it would be if it were made anew.

        All that has changed is over before its time, so the same is free then, and until then the
        head is refused as it was. Only an exhaustive allocator need not be asked again.
        """
        return (
            self._rule != FIXED
            and machine.changed_until_s < reservation.time_s
            and exhaustive(machine.allocator) is not None
            and _still_refused(reservation, machine)
        )


def _still_refused(reservation: Reservation, machine: Machine) -> bool:
    """
    Say whether a job still finds no place until then, given that it found none before.

    Jobs that start or end later only take from what it would find; one that ends early adds to it,
    until it was expected to end.
    """
    known = machine.limit is None and machine.allocator.monotone_in_free
    return known and machine.gained_until_s <= reservation.refused_s


class _ReasonReporter:
    """Says in one pass why jobs behind the head do not start."""

    __slots__ = ("_behind", "_news", "_of", "_refused", "_stricter")

    def __init__(self, head: Job, refusal: str, reasons: WaitReasons) -> None:
        self._of, self._news = reasons.verdicts, reasons.news
        self._refused = _verdict(refusal)
        self._behind = _verdict(RESERVATION, head.id, reasons.verdicts[head.id].reason)
        self._stricter = _verdict(RESERVATION, head.id, refusal)

    def report(self, job: int, why: str) -> None:
        """Write why a job did not start."""
        if why == RESERVATION:
            verdict = self._behind
        elif why == STRICTER:
            verdict = self._stricter
        else:
            verdict = _verdict(SWITCHES) if why == SWITCHES else self._refused
        known = self._of.get(job)
        if known is not verdict and known != verdict:  # mostly the very same
            self._of[job] = self._news[job] = verdict


def reach_of(window: int) -> int:
    """Return how many jobs a policy sees."""
    return whole("window", window, 0, error=PolicyError) + 1
