"""FCFS and EASY backfilling; the reservation of the head asks the allocator itself."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from math import inf
from typing import ClassVar, Protocol, cast

from fabricsim.checking import choice, whole, wrong
from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.depth import report_order, start_and_reserve
from scheduler.queues.limits import OpenLine, UserLimitLine, UserLimits
from scheduler.queues.plan import Plan
from scheduler.queues.reservation import (
    NODE_COUNT,
    Place,
    Reservation,
    by_run_time,
    enough_nodes_s,
    expected_free,
    expected_size,
    first_reservation,
    least_size,
)
from scheduler.queues.waiting import Line, LinePolicy, SortedLine, WaitingLine
from scheduler.reasons import (
    INSUFFICIENT_NODES,
    NODES,
    ORDER,
    RESERVATION,
    STRICTER,
    SWITCHES,
    USER_LIMIT,
    WINDOW,
    Verdict,
    WaitReasons,
)


class Fcfs(LinePolicy):
    """FCFS: only the head of the queue may start."""

    name: ClassVar[str] = "fcfs"
    shares_nodes: ClassVar[bool] = True
    molds_jobs: ClassVar[bool] = True

    def __init__(self) -> None:
        self._line = WaitingLine(1)
        self._limits: UserLimitLine | None = None

    def limit_users(self, limits: UserLimits) -> None:
        """Keep the limits of users."""
        self._line = self._limits = UserLimitLine(SortedLine(1, _as_submitted), limits)

    def select(self, machine: Machine) -> None:
        """Start jobs from the head on while they fit."""
        self._line.settle(machine)
        self._start_heads(machine)
        _report_held(self._limits, machine)

    def _start_heads(self, machine: Machine) -> None:
        """Start jobs from the head on while they fit."""
        while (head := self._line.head()) is not None:
            if head.sizes:
                head = expected_size(head, machine)
            placement = machine.try_to_place(head)
            if placement is None:
                if machine.wait_reasons is not None:
                    machine.wait_reasons.report(head.id, Verdict(machine.last_refusal, head.id))
                    machine.wait_reasons.rest = Verdict(ORDER, root=machine.last_refusal)
                return
            machine.start(placement)
            self._line.remove(head)


def _as_submitted(job: Job, machine: Machine) -> float:
    """Leave jobs in the order of submission."""
    del job, machine
    return 0.0


def _report_held(limits: UserLimitLine | None, machine: Machine) -> None:
    """Report the jobs that limits of users hold back."""
    if limits is not None and machine.wait_reasons is not None:
        for job in limits.held():
            machine.wait_reasons.report(job.id, _verdict(USER_LIMIT))


class Attempts:
    """
    Places jobs, and remembers what the allocator has refused in this pass.

    Free nodes only become fewer while it is used. If the allocator is monotone in size, the
    smallest refused size covers all larger ones.
    """

    __slots__ = ("_least", "_machine", "_monotone", "_sizes")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._monotone = machine.allocator.monotone_in_size
        sure = machine.exhaustive
        self._least = inf if sure is None else sure.most_nodes(machine.cluster) + 1
        self._sizes: set[tuple[int, ...]] = set()

    def useless(self, job: Job) -> bool:
        """Say whether trying a job is useless."""
        refused = self._sizes
        return job.n_nodes >= self._least or (bool(refused) and _shape(job) in refused)

    def place(self, job: Job) -> Allocation | None:
        """Ask the allocator for a placement now, on no more switches than the job wants."""
        machine = self._machine
        found = machine.try_to_place(job)
        limit = machine.switch_limit
        if found is None and not machine.windows and (limit is None or not limit.wanted(job)[0]):
            if self._monotone:
                self._least = min(self._least, job.n_nodes)
            else:
                self._sizes.add(_shape(job))
        return found


def _shape(job: Job) -> tuple[int, ...]:
    """Return what jobs that find the same places have in common."""
    return job.n_nodes, job.cores, job.gpus, job.memory_mb


def _taken_by(placement: Allocation) -> object:
    """Return what a placement takes."""
    whole = placement.leaves, placement.l2s, placement.units
    return whole if placement.share is None else (*whole, placement.share, placement.gpus)


class ExcludingPlacements:
    """
    Placements together with which a job finds no place, on a machine of which ever less is free.

    `nested`: this holds for all placements that take at least as much; else for the same nodes and
    links, until something else is placed.
    """

    __slots__ = ("_nested", "_of", "_taken")

    def __init__(self, *, nested: bool) -> None:
        self._nested = nested
        self._taken: set[object] = set()
        self._of: dict[int, list[Allocation]] = {}  # by the first of their leaves

    def cover(self, placement: Allocation) -> bool:
        """Say whether a placement is one of them, or holds all that one of them does."""
        if _taken_by(placement) in self._taken:
            return True
        of = self._of
        if not any(leaf in of for leaf, _, _ in placement.leaves):
            return False
        held = {leaf: (nodes, ports) for leaf, nodes, ports in placement.leaves}
        l2s = dict(placement.l2s)
        return any(_holds_exactly(held, l2s, known) for leaf in held for known in of.get(leaf, ()))

    def add(self, placement: Allocation) -> None:
        """Note that a job finds no place together with a placement that is not covered."""
        self._taken.add(_taken_by(placement))
        if self._nested:
            self._of.setdefault(placement.leaves[0][0], []).append(placement)

    def grown(self) -> None:
        """Take note that something else has been placed."""
        if not self._nested:
            self._taken.clear()


def _holds_exactly(
    held: dict[int, tuple[int, int]], l2s: dict[int, int], other: Allocation
) -> bool:
    """Say whether nodes and up-ports, by leaf and by L2 switch, are all that a placement holds."""
    for leaf, nodes, ports in other.leaves:
        mine, my_ports = held.get(leaf, (0, 0))
        if nodes & ~mine or ports & ~my_ports:
            return False
    return not any(ports & ~l2s.get(switch, 0) for switch, ports in other.l2s)


FIXED = "R3"


class BackfillRule(Protocol):
    """
    What jobs must respect that would run past the head's reserved time, while that stands.

    `spare`: nodes left for long jobs, wherever they are: the limit of an allocator
    that takes any free nodes.
    """

    time_s: float  # jobs that end by then cannot delay the head

    @property
    def spare(self) -> int:
        """Return how many nodes are left."""

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """Place a job, of no more than the spare nodes, that will run past the reserved time."""

    def note(self, placement: Allocation, *, long: bool) -> None:
        """Take note of a job that was started; `long`: it will run past the reserved time."""


class HeadStillFits:
    """Rule R2: the head must still fit at its time together with the job where it would go now."""

    def __init__(self, head: Job, machine: Machine, time_s: float, reserved: Place) -> None:
        self.time_s = time_s
        self._head = head
        self._machine = machine
        self._shadow = reserved.cluster  # jobs that end by then change nothing in it
        # an exhaustive allocator is asked less; a limit of switches may refuse what it finds
        self._sure = machine.exhaustive if machine.switch_limit is None else None
        self._excluding = ExcludingPlacements(nested=self._sure is not None)
        self._witness: Allocation | None = None  # a place for the head together with all long jobs
        self._refused: set[int] = set()  # sizes that leave it none, until a job starts
        self._refused_in: tuple[Attempts, int] | None = None

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """Place a job if the head fits together with it."""
        if self._sure is not None and self._is_refused(job, attempts):
            self._machine.last_refusal = STRICTER
            return None
        placement = attempts.place(job)
        if placement is None:
            return None
        if not self._excluding.cover(placement):
            if self._fits_beside(placement, self._shadow):
                self._excluding.grown()
                return placement
            if self._machine.switch_limit is None:  # else the head may lose its patience
                self._excluding.add(placement)
        self._refused.add(job.n_nodes)
        self._machine.last_refusal = STRICTER
        return None

    def _is_refused(self, job: Job, attempts: Attempts) -> bool:
        """Say whether a job of the same size, which would go to the same place, was refused."""
        state = attempts, len(self._machine.started)
        if self._refused_in != state:
            self._refused_in = state
            self._refused.clear()
        return job.n_nodes in self._refused

    def _fits_beside(self, placement: Allocation, shadow: Cluster) -> bool:
        """Say whether the head fits with a long job; if so that is placed in the shadow."""
        if self._sure is not None and self._sure.no_room_beside(self._head, shadow, placement):
            return False
        before = shadow.stamp.copy()
        shadow.place(placement)
        if self._witness is not None and shadow.fits(self._witness):
            return True
        found = self._machine.place_at(self._head, shadow, self.time_s)
        if found is None:
            shadow.release(placement.job.id)
            shadow.stamp = before  # all is as it was
            return False
        self._witness = found if self._sure is not None else None
        return True

    @property
    def spare(self) -> int:
        """Nodes free at the reserved time, without the head's."""
        return self._shadow.n_free - self._head.n_nodes

    def note(self, placement: Allocation, *, long: bool) -> None:
        """Do nothing: the shadow knows of long jobs already, and short ones are not in it."""


class HeadIsFixed:
    """Rule R3: the head's nodes and links are fixed, the job may use anything else."""

    def __init__(self, head: Job, machine: Machine, time_s: float, reserved: Place) -> None:
        del head
        self.time_s = time_s
        self._machine = machine
        self._fixed = machine.cluster.footprint(reserved.placement)
        self._rest: Cluster | None = None  # the machine without what the head will get

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """Place a job apart from what the head will get."""
        del attempts
        machine, rest = self._machine, self._machine_beside_head()
        found = machine.place_at(job, rest, machine.now_s)
        if found is None:
            machine.last_refusal = machine.refusal_in(job, rest)
        return found

    @property
    def spare(self) -> int:
        """Nodes that are free now and not the head's."""
        return self._machine_beside_head().n_free

    def _machine_beside_head(self) -> Cluster:
        """Return the machine without what the head will get."""
        if self._rest is None:
            self._rest = self._machine.cluster.copy()
            self._rest.block(self._fixed)
        return self._rest

    def note(self, placement: Allocation, *, long: bool) -> None:
        """See the rest of the machine anew."""
        del placement, long
        self._rest = None


class NodesAreCounted:
    """
    The textbook rule: long jobs may use as many nodes as the head leaves at its time.

    Where the allocator refuses only for want of nodes this is rule R2 without asking it.
    """

    def __init__(self, head: Job, machine: Machine, time_s: float) -> None:
        self.time_s = time_s
        self._head = head
        self._machine = machine

    def place(self, job: Job, attempts: Attempts) -> Allocation | None:
        """Place a job."""
        return attempts.place(job)

    def note(self, placement: Allocation, *, long: bool) -> None:
        """Count the spare nodes that a long job takes."""
        if long:
            self.spare -= placement.held

    @cached_property
    def spare(self) -> int:
        """Nodes that the head leaves at its time; counted when the first long job asks."""
        return expected_free(self._machine, self.time_s) - self._head.n_nodes


RULES: dict[str, Callable[[Job, Machine, float, Place], BackfillRule]] = {
    "R2": HeadStillFits,
    FIXED: HeadIsFixed,
}


_verdict = lru_cache(maxsize=1024)(Verdict)  # the same are given at instant after instant


class Easy(LinePolicy):
    """
    EASY backfilling: the head of the queue has a reservation.

    A job that is expected to end by the head's reserved time may start wherever it fits (D. G.
    Feitelson and A. M. Weil, IPPS 1998). For the others:

    * ``R2``: the job starts if the head still fits at its reserved time with the job where it is
    now. Time and test come from the allocator: running jobs are released in the order of their
    expected ends until it can place the head. * ``R3``: the head's nodes and links at its reserved
    time are fixed; the job may use anything else. * ``node-count``: the textbook. The reserved time
    is when enough nodes are free, and the job starts if it needs no more nodes than the head leaves
    then. This ignores isolation: the head often does not fit at that time, and until it does hardly
    any job may overtake, which costs Jigsaw 5 points of utilisation on Synth-16.

    `window`: Waiting jobs behind the head that are tried; Smith21, section 5.4.3 uses 50.
    `reservation`: What a job that would run past the head's reserved time must respect.
    `reservation_depth`: How many jobs hold reservations: 0: no job overtakes; 1: EASY; more, or
    ``all`` in the window: the first that cannot start, as Flux's ``hybrid`` policy. More than one
    are made anew at each instant, of node counts where these decide or ``node-count`` says so, else
    of the nodes and links that the allocator finds.
    """

    name: ClassVar[str] = "easy"
    molds_jobs: ClassVar[bool] = True

    def __init__(
        self, window: int = 50, reservation: str = "R2", reservation_depth: int | str = 1
    ) -> None:
        self._line: Line = WaitingLine(reach_of(window))
        self._rule = choice("reservation", reservation, (*RULES, NODE_COUNT), error=PolicyError)
        self._depth = _depth_of(reservation_depth)
        self._limits: UserLimitLine | None = None
        self._plan: Plan | None = None  # of several reservations
        self._stored: tuple[int, int, Reservation] | None = None  # head id, disturbances
        self._rule_of: tuple[Reservation, BackfillRule] | None = None

    def limit_users(self, limits: UserLimits) -> None:
        """Keep the limits of users."""
        if self._depth > 1:
            raise PolicyError("limits: expected reservation_depth 0 or 1 beside it.")
        line = self._line
        if isinstance(line, WaitingLine):
            line = SortedLine(line.reach, _as_submitted)
        self._line = self._limits = UserLimitLine(cast("OpenLine", line), limits)

    @property
    def shares_nodes(self) -> bool:
        """Whether it is right where jobs share nodes."""
        return self._rule == "R2" and self._depth <= 1

    def select(self, machine: Machine) -> None:
        """Start jobs from the head on while they fit, then backfill."""
        if self._depth > 1:
            counted = self._rule == NODE_COUNT or (self._rule != FIXED and machine.fits_by_count)
            self._plan = self._plan or Plan()
            start_and_reserve(self._line, machine, self._depth, counted=counted, plan=self._plan)
            return
        self._start_and_backfill(machine)
        _report_held(self._limits, machine)

    def _start_and_backfill(self, machine: Machine) -> None:
        """Start jobs from the head on while they fit, then backfill beside one reservation."""
        self._line.settle(machine)
        while (head := self._line.head()) is not None:
            if head.sizes:
                head, self._stored = expected_size(head, machine), None
            placement = machine.try_to_place(head) or self._reserved_place(head, machine)
            if placement is None:
                break
            machine.start(placement)
            self._line.remove(head)
            self._stored = None
        if head is None:
            return
        reasons = machine.wait_reasons
        if reasons is not None:
            reasons.report(head.id, _verdict(machine.last_refusal, head.id))
            reasons.rest = _verdict(WINDOW, root=machine.last_refusal)
            if not self._line.stable:
                held = [] if self._limits is None else self._limits.held()
                reasons.retain(self._line.reachable() + held)
        if self._depth == 0:
            report_order(self._line, head, machine)
        elif machine.cluster.n_open and len(self._line) > 1:
            self._backfill(head, machine)
        elif reasons is not None:
            reasons.report_insufficient_nodes(self._line.reachable()[1:])

    def _reserved_place(self, head: Job, machine: Machine) -> Allocation | None:
        """Return what the head has reserved, if that is now and free."""
        if self._stored is None or self._stored[0] != head.id:
            return None
        place, time_s = self._stored[2].place, self._stored[2].time_s
        if place is None or time_s > machine.now_s:
            return None
        kept = machine.windows and machine.blocked(head, machine.now_s)
        if kept and kept.clashes(machine.cluster.footprint(place.placement)):
            return None
        return place.placement if machine.cluster.fits(place.placement) else None

    def _backfill(self, head: Job, machine: Machine) -> None:
        """Backfill, and begin anew where that has put the head's user at a limit."""
        self._backfill_jobs(head, machine)
        if self._limits is not None and self._line.head() is not head:
            self._start_and_backfill(machine)

    def _backfill_jobs(self, head: Job, machine: Machine) -> None:
        """Start jobs behind the head that do not delay it."""
        rule, reasons, now_s = (
            self._backfill_rule(head, machine),
            machine.wait_reasons,
            machine.now_s,
        )
        attempts = Attempts(machine)
        refusal = machine.allocator_refusal
        reporter = None if reasons is None else _ReasonReporter(head, refusal, reasons)
        estimate_s, n_free = machine.estimate_s, machine.cluster.n_open
        counted = machine.cluster.node is None  # else a job may fit beside others on a node
        fitting, lacking = self._fitting_jobs(machine, reasons), list[Job]()
        for index, job in self._behind(head, fitting, machine):
            size = job.n_nodes
            if size > n_free:
                lacking.append(job)
                continue
            useless = attempts.useless(job)
            if useless and reporter is None:
                continue
            long = now_s + estimate_s(job) > rule.time_s
            if long and counted and size > rule.spare:
                why = RESERVATION
            elif useless:
                why = refusal
            else:
                if self._starts(job, machine, rule, attempts, long=long):
                    n_free = machine.cluster.n_open
                    if not n_free:
                        lacking += fitting[index:]
                        break
                    continue
                why = machine.last_refusal
            if reporter is not None:
                reporter.report(job.id, why)
        self._report_lacking(lacking, machine)

    def _behind(self, head: Job, fitting: list[Job], machine: Machine) -> Iterator[tuple[int, Job]]:
        """
        Go through jobs, numbered from 1, as long as the head waits: it may be held back.

        Sizes of a moldable job that has started are passed over.
        """
        for index, job in enumerate(fitting, 1):
            if self._limits is not None and self._line.head() is not head:
                return
            if job.sizes and job.id in machine.cluster.running:
                continue
            yield index, job

    def _report_lacking(self, lacking: list[Job], machine: Machine) -> None:
        """Report jobs for which too few nodes are left; of a moldable one its smallest size."""
        if machine.wait_reasons is None:
            return
        if self._molds:
            lacking = [job for job in lacking if job.n_nodes == least_size(job)]
            lacking = [job for job in lacking if job.id not in machine.cluster.running]
        machine.wait_reasons.report_insufficient_nodes(lacking)

    def _fitting_jobs(self, machine: Machine, reasons: WaitReasons | None) -> list[Job]:
        """
        Return the jobs behind the head for which enough nodes are free; report why others wait.

        A moldable job is there at each of its sizes, the shortest first.
        """
        waiting, n_free = self._line.reachable(), machine.cluster.n_open
        del waiting[0]
        if self._molds:
            waiting = [size for job in waiting for size in by_run_time(job, machine)]
        fitting = [job for job in waiting if job.n_nodes <= n_free]
        if reasons is not None and len(fitting) < len(waiting):
            reasons.report_insufficient_nodes(waiting, n_free)
        return fitting

    def _starts(
        self, job: Job, machine: Machine, rule: BackfillRule, attempts: Attempts, *, long: bool
    ) -> bool:
        """Start a job if it finds a place that does not delay the head."""
        if self._limits is not None and not self._limits.allows(job):
            machine.last_refusal = USER_LIMIT  # its user's other job has started at this instant
            return False
        placement = rule.place(job, attempts) if long else attempts.place(job)
        if placement is None:
            return False
        machine.start(placement)
        self._line.remove(job)
        rule.note(placement, long=long)
        return True

    def _backfill_rule(self, head: Job, machine: Machine) -> BackfillRule:
        """
        Return the rule for the head's reservation; its copy of the machine lasts as long.

        Jobs that end by then are not in the copy, and longer ones were noted when they started.
        """
        if self._rule == NODE_COUNT:
            return NodesAreCounted(head, machine, enough_nodes_s(head, machine))
        reservation = self._head_reservation(head, machine)
        if self._rule_of is not None and self._rule_of[0] is reservation and self._rule != FIXED:
            return self._rule_of[1]
        time_s, place = reservation.time_s, reservation.place
        if place is None:
            rule: BackfillRule = NodesAreCounted(head, machine, time_s)
        else:
            rule = RULES[self._rule](head, machine, time_s, place)
        self._rule_of = reservation, rule
        return rule

    def _head_reservation(self, head: Job, machine: Machine) -> Reservation:
        """Return the head's reservation; it moves only when an end was not as expected."""
        refused_s = -inf
        if self._stored is not None and self._stored[0] == head.id:
            disturbances, stored = self._stored[1:]
            if stored.time_s > machine.now_s:
                if disturbances == machine.disturbances:
                    return stored
                if self._still_stands(stored, machine):
                    return self._store_reservation(head, machine, stored)
                if self._waits_for_overdue(stored, machine):
                    return self._store_reservation(head, machine, self._postponed(stored, machine))
            if _still_refused(stored, machine):
                refused_s = stored.refused_s
        found = first_reservation(head, machine, placed=self._rule == FIXED, refused_s=refused_s)
        return self._store_reservation(head, machine, found)

    def _store_reservation(
        self, head: Job, machine: Machine, reservation: Reservation
    ) -> Reservation:
        """Remember a reservation that holds for what is expected now."""
        self._stored = head.id, machine.disturbances, reservation
        machine.gained_until_s = machine.changed_until_s = -inf
        return reservation

    def _need_not_ask(self, reservation: Reservation, machine: Machine) -> bool:
        """Say whether the allocator refuses the head as before, and finds what it found."""
        sure = self._rule != FIXED and machine.exhaustive is not None
        return sure and _still_refused(reservation, machine)

    def _still_stands(self, reservation: Reservation, machine: Machine) -> bool:
        """
        Say whether a reservation is as it would be if it were made anew.

        All that has changed is over before its time, so the same is free then, and until then the
        head is refused as it was. Only an exhaustive allocator need not be asked again.
        """
        before = machine.changed_until_s < reservation.time_s
        return before and self._need_not_ask(reservation, machine)

    def _waits_for_overdue(self, reservation: Reservation, machine: Machine) -> bool:
        """
        Say whether a reservation made anew differs in its time alone, the end of overdue jobs.

        None but those have had their ends moved, and none but those ends from the reserved time on
        until they do now. So the same is free then.
        """
        if machine.gained_until_s > -inf or not machine.overdue:
            return False
        ends = machine.ends_ascending
        first = bisect_left(ends, (reservation.time_s, -inf))
        last = bisect_right(ends, (machine.changed_until_s, inf))
        return last - first == len(machine.overdue) and self._need_not_ask(reservation, machine)

    def _postponed(self, reservation: Reservation, machine: Machine) -> Reservation:
        """Return a reservation for when overdue jobs end now; its rule stays but for the time."""
        later = replace(reservation, time_s=machine.changed_until_s)
        if self._rule_of is not None and self._rule_of[0] is reservation:
            self._rule_of[1].time_s = later.time_s
            self._rule_of = later, self._rule_of[1]
        return later


def _still_refused(reservation: Reservation, machine: Machine) -> bool:
    """
    Say whether a job still finds no place until then, given that it found none before.

    Jobs that start or end later only take from what it would find; one that ends early adds to it,
    until it was expected to end.
    """
    # windows end and begin, so that less may be free later
    known = machine.switch_limit is None and not machine.windows
    known = known and machine.allocator.monotone_in_free
    return known and machine.gained_until_s <= reservation.refused_s


class _ReasonReporter:
    """Reports in one pass why jobs behind the head do not start."""

    __slots__ = ("_behind", "_news", "_of", "_refused", "_stricter")

    def __init__(self, head: Job, refusal: str, reasons: WaitReasons) -> None:
        self._of, self._news = reasons.verdicts, reasons.news
        self._refused = _verdict(refusal)
        self._behind = _verdict(RESERVATION, head.id, reasons.verdicts[head.id].reason)
        self._stricter = _verdict(RESERVATION, head.id, refusal)

    def report(self, job: int, why: str) -> None:
        """Write why a job did not start."""
        if why == NODES:
            verdict = INSUFFICIENT_NODES
        elif why == RESERVATION:
            verdict = self._behind
        elif why == STRICTER:
            verdict = self._stricter
        else:
            verdict = _verdict(why) if why in (SWITCHES, USER_LIMIT) else self._refused
        known = self._of.get(job)
        if known is not verdict and known != verdict:  # mostly the very same
            self._of[job] = self._news[job] = verdict


def _depth_of(value: int | str) -> float:
    """Return how many jobs hold reservations."""
    if value == "all":
        return inf
    if isinstance(value, str):
        raise wrong("reservation_depth", "a whole number from 0, or 'all'", value, PolicyError)
    return whole("reservation_depth", value, 0, error=PolicyError)


def reach_of(window: int) -> int:
    """Return how many jobs a policy sees."""
    return whole("window", window, 0, error=PolicyError) + 1
