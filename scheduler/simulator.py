"""The event loop: jobs are submitted, start, progress at their rate, and end."""

import heapq
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import inf
from operator import add, attrgetter
from typing import Any, cast

import numpy as np
import simpy

from fabricsim.checking import flag
from fabricsim.checking.errors import FabricsimError
from netsim.topology.base import Topology
from scheduler.allocation import Allocation
from scheduler.allocators.base import Allocator
from scheduler.cluster import Cluster, Tally
from scheduler.errors import PolicyError, SchedulerError
from scheduler.events import FailedRun, Happened, MachineEvents
from scheduler.job import Job, check_jobs
from scheduler.machine import Closing, Machine, QueuePolicy, described, is_built_in
from scheduler.observer import Observer, Observers
from scheduler.rates import JobClock, JobRates, RateModel, Rewirable, UncoupledRateModel
from scheduler.reasons import WaitReasons
from scheduler.sharing import Sharing, require_molding, require_sharing
from scheduler.workload.dependencies import check_dependencies

_MOST_IDLE = 100_000  # events in a row that let no job start


@dataclass(frozen=True, slots=True, eq=False)
class JobRecord:
    """
    What happened to one job.

    Parameters
    ----------
    allocation : Allocation
        The job and where it ran.
    start_s, end_s : float
        In seconds.
    placement_factor : float
        Iteration time alone / ideal on this placement; of a job whose routes changed the mean.
    interference_delay_s : float
        Seconds by which interference made it run longer.
    killed : bool
        Ended at its requested time before its work was done.
    """

    allocation: Allocation
    start_s: float
    end_s: float
    placement_factor: float
    interference_delay_s: float
    killed: bool

    def __repr__(self) -> str:
        job = self.allocation.job
        return f"<JobRecord {job.id}: {job.n_nodes} nodes, {self.start_s:g} s to {self.end_s:g} s>"

    @property
    def job(self) -> Job:
        """The job."""
        return self.allocation.job

    @property
    def work_s(self) -> float:
        """What it did, in seconds at full rate."""
        return (self.end_s - self.start_s - self.interference_delay_s) / self.placement_factor

    @property
    def interference(self) -> float:
        """Mean iteration time together / alone; exactly 1 for a job never disturbed."""
        elapsed_s = self.end_s - self.start_s
        return (
            elapsed_s / (elapsed_s - self.interference_delay_s)
            if self.interference_delay_s
            else 1.0
        )


@dataclass(slots=True, eq=False)
class Timeline:
    """The machine at every instant at which something changed."""

    time_s: list[float] = field(default_factory=list)  # the instants
    # running, queued, busy_nodes: jobs running and waiting, and nodes asked for by running jobs, of
    # shared ones the part (`Allocation.part`), after the instant
    running: list[int] = field(default_factory=list)
    queued: list[int] = field(default_factory=list)
    busy_nodes: list[float] = field(default_factory=list)
    # mean interference of the running jobs, weighted by their nodes; 1 when none runs
    interference: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """
    The outcome of a simulation.

    Parameters
    ----------
    records : tuple of JobRecord
        In the order in which the jobs ended.
    timeline : Timeline
        The machine over time.
    tally : Tally
        What the simulation did, counted.
    failed : tuple of FailedRun
        Runs that ended with a failure of a node; a job that ran again has its last run in
        `records`.
    unfinished : tuple of Job
        Jobs that still wait when all others have ended, since nodes stay down.
    unsatisfied : tuple of Job
        Jobs that never came, since a job that they depend on has not ended, or not with its work
        done.
    """

    records: tuple[JobRecord, ...]
    timeline: Timeline
    tally: Tally = field(default_factory=Tally)
    failed: tuple[FailedRun, ...] = ()
    unfinished: tuple[Job, ...] = ()
    unsatisfied: tuple[Job, ...] = ()

    def __repr__(self) -> str:
        return f"<Schedule: {len(self.records)} jobs>"


@dataclass(slots=True, eq=False)
class _Running:
    """A running job: work left (reference seconds) at `since_s`, and its rate from then on."""

    allocation: Allocation
    start_s: float
    work_s: float  # inf: the rate model says when it is done
    since_s: float
    limit_s: float
    end_s: float = inf
    due_s: float = inf  # of its entry in the heap of ends, never later than its end
    interference: float = 1.0
    placement_factor: float = 1.0
    fixed_s: float | None = None  # ends then, whatever its rate
    cut: bool = False  # the limit comes before the work is done
    interference_delay_s: float = 0.0
    rerouted: bool = False  # its placement factor has changed


def simulate(
    jobs: Sequence[Job],
    cluster: Cluster,
    allocator: Allocator,
    policy: QueuePolicy,
    *,
    rates: RateModel | None = None,
    estimate_s: Callable[[Job], float] | None = None,
    kill_at_limit: bool = False,
    ends_s: Mapping[int, float] | None = None,
    observers: Sequence[Observer] = (),
    events: MachineEvents | None = None,
) -> Schedule:
    """
    Run a workload on a machine.

    Parameters
    ----------
    jobs : sequence of Job
        In the order of submission; ids are unique.
    cluster : Cluster
        An empty machine; it is used up.
    allocator : Allocator
        Chooses where a job runs.
    policy : QueuePolicy
        Chooses which jobs start; a fresh one.
    rates : RateModel, optional
        How running jobs slow each other down; default: they do not.
    estimate_s : callable, optional
        What the scheduler knows of a job's run time, in seconds; default: the run time.
    kill_at_limit : bool, default False
        End a job that reaches its requested time.
    ends_s : mapping of int to float, optional
        By job id: when jobs end, whatever their rate, for jobs whose record has an end.
    observers : sequence of Observer, optional
        In the order in which they are called.
    events : MachineEvents, optional
        What happens to the machine; used up.

    Returns
    -------
    Schedule
        What happened.

    Raises
    ------
    WorkloadError
        If a job has wrong times or sizes, or jobs are not in the order of submission.
    AllocationError
        If a job can never run on the machine.
    PolicyError
        If jobs wait on an empty machine and none is started, or the policy has forgotten a job.

    Notes
    -----
    At each instant, in this order: jobs whose work is done end (by id), events happen and end the
    jobs on nodes that go down, jobs are submitted (those queued again first, then in the order of
    `jobs`), the policy starts jobs, the rate model returns the rates that changed.
    Between instants the remaining work of a job shrinks at 1 / slowdown, or a `JobClock` returns
    when it is done. One SimPy process
    drives the clock; instants are compared as the exact floats computed here, since a
    clock that adds up delays would part events that belong together.
    """
    check_jobs(jobs)
    require_molding(jobs, cluster, policy)
    held = [job for job in jobs if job.after or job.after_ok]
    if held:
        check_dependencies(jobs)
        jobs = [job for job in jobs if not (job.after or job.after_ok)]
    flag("kill_at_limit", kill_at_limit, error=PolicyError)
    if cluster.node is not None:
        require_sharing(policy)
        allocator = cast("Allocator", Sharing(allocator))
    run = _Simulation(
        machine=Machine(cluster, allocator, estimate_s or attrgetter("runtime_s")),
        policy=policy,
        rates=rates or UncoupledRateModel(),
        kill_at_limit=kill_at_limit,
        observers=Observers(observers),
        ends_s=ends_s or {},
        clock=rates if isinstance(rates, JobClock) else None,
        events=events,
    )
    for job in held:
        run.hold(job)
    if events is not None:
        run.machine.windows = list(events.windows)
    if run.observers.on_wait:
        run.machine.wait_reasons = WaitReasons()
    environment = simpy.Environment()
    environment.process(run.drive(environment, jobs))
    try:
        environment.run()
    finally:
        if isinstance(policy, Closing):
            policy.close()
    return Schedule(
        tuple(run.records),
        run.timeline,
        cluster.tally,
        tuple(run.failed),
        tuple(run.waiting.values()),
        tuple(run.held.values()),
    )


@dataclass(slots=True, eq=False)
class _Simulation:
    """State of one simulation."""

    machine: Machine
    policy: QueuePolicy
    rates: RateModel
    kill_at_limit: bool
    observers: Observers
    ends_s: Mapping[int, float]
    clock: JobClock | None
    waiting: dict[int, Job] = field(default_factory=dict)
    running: dict[int, _Running] = field(default_factory=dict)
    ends: list[tuple[float, int]] = field(default_factory=list)  # heap; out-of-date entries stay
    records: list[JobRecord] = field(default_factory=list)
    timeline: Timeline = field(default_factory=Timeline)
    busy_nodes: float = 0
    excess: dict[int, float] = field(default_factory=dict)  # nodes x (interference - 1), as running
    n_disturbed: int = 0  # running jobs with interference
    events: MachineEvents | None = None
    failed: list[FailedRun] = field(default_factory=list)
    later: list[tuple[float, int, Job]] = field(default_factory=list)  # heap, to be queued
    n_later: int = 0
    held: dict[int, Job] = field(default_factory=dict)  # jobs that depend on others
    lacking: dict[int, set[int]] = field(default_factory=dict)  # which have not ended, by job
    behind: dict[int, list[int]] = field(default_factory=dict)  # jobs that depend on one
    # work of jobs that failed, of moldable ones at the size that they ask for
    left_s: dict[int, float] = field(default_factory=dict)
    asked: dict[int, Job] = field(default_factory=dict)  # moldable jobs that run, as submitted
    n_failures: dict[int, int] = field(default_factory=dict)  # by job
    n_idle: int = 0  # events in a row with nothing running
    rewired: Topology | None = None  # the fabric, where routes have changed at this instant

    def drive(
        self, environment: simpy.Environment, jobs: Sequence[Job]
    ) -> Generator[simpy.Event, Any, None]:
        """Go from instant to instant until all jobs have ended."""
        submitted = 0
        machine = self.machine
        while submitted < len(jobs) or self.running or machine.wake_s < inf or self._goes_on():
            next_submit_s = jobs[submitted].submit_s if submitted < len(jobs) else inf
            now_s = min(self._next_end_s(), next_submit_s, machine.wake_s, self._next_event_s())
            if self.clock is not None:
                now_s = self._move_clock(self.clock, now_s)
            yield environment.timeout(max(0.0, now_s - environment.now))
            machine.now_s, machine.wake_s = now_s, inf
            ended = self._end_jobs(now_s) + self._happen(now_s)
            first = submitted
            while submitted < len(jobs) and jobs[submitted].submit_s <= now_s:
                self._submit_job(jobs[submitted])
                submitted += 1
            if submitted > first:
                for callback in self.observers.on_submit:
                    callback(jobs[first:submitted], now_s)
            started = self._start_jobs()
            self._set_rates(ended, started, now_s)
            self._note_state(now_s)
            for callback in self.observers.on_instant:
                callback(len(self.records), now_s)
        if (n_waiting := self._n_waiting()) and self.events is None:
            raise PolicyError(
                f"{self._policy_name()}: {n_waiting} jobs wait on an empty machine, none is "
                "started."
            )
        if len(self.records) + n_waiting < len(jobs):
            self._refuse_forgotten(jobs)

    def _goes_on(self) -> bool:
        """Say whether something that happens to the machine may let a waiting job start."""
        if self.later or self.events is None:
            return bool(self.later)
        return self._n_waiting() > 0 and self.events.next_s < inf and self.n_idle < _MOST_IDLE

    def _next_event_s(self) -> float:
        """Return when something happens to the machine next, or a job is queued again."""
        later_s = self.later[0][0] if self.later else inf
        return later_s if self.events is None else min(self.events.next_s, later_s)

    def _happen(self, now_s: float) -> list[Allocation]:
        """Let happen what is due, queue jobs again; return the jobs that it has ended."""
        machine, events = self.machine, self.events
        if events is None:
            self._queue_again(now_s)
            return []
        self.n_idle = 0 if self.running else self.n_idle + 1
        if any(window.until_s <= now_s for window in machine.windows):
            machine.windows = [own for own in machine.windows if own.until_s > now_s]
        happened = events.take(now_s)
        ended = []
        if happened.down or happened.routes:
            for allocation in list(machine.cluster.running.values()):
                cause = self._cause_of_failure(allocation, happened, events)
                if cause is not None:
                    self._fail(allocation, cause, now_s)
                    ended.append(allocation)
        if happened.nodes:
            machine.close(events.closed, events.fabric)
        if happened.routes and isinstance(self.rates, Rewirable):
            self.rewired = events.fabric
        self._queue_again(now_s)
        return ended

    @staticmethod
    def _cause_of_failure(
        allocation: Allocation, happened: Happened, events: MachineEvents
    ) -> str | None:
        """Return why a job cannot go on; None where it can."""
        if happened.down:  # a node that is held and idle fails no job
            for node in allocation.nodes().tolist():
                if node in happened.down:
                    return happened.down[node]
        if happened.routes and events.fabric is not None and events.fabric.absent is not None:
            links = allocation.links()
            if links is not None and np.isin(links, events.fabric.absent).any():
                return events.happened[-1].cause
        return None

    def _fail(self, allocation: Allocation, cause: str, now_s: float) -> None:
        """End a job whose node went down, and queue it again if the policy says so."""
        assert self.events is not None  # noqa: S101 (it has happened)
        policy, job = self.events.policy, allocation.job
        state = self._take_off(job.id, now_s)
        total_s, factor = self._work_left_s(job), self._mean_factor(state)
        done_s = total_s - state.work_s
        kept_s = done_s - done_s % policy.checkpoint_s if policy.checkpoint_s < inf else 0.0
        self.failed.append(FailedRun(allocation, state.start_s, now_s, cause, done_s - kept_s))
        count = self.n_failures[job.id] = self.n_failures.get(job.id, 0) + 1
        if policy.requeue and count <= policy.most:
            self.left_s[job.id] = total_s - kept_s
            if job.sizes:  # the size is chosen anew
                self.left_s[job.id] *= job.sizes[0][1] / job.runtime_s
                job = self.asked[job.id]
            self._push(now_s + policy.delay_s, job)
        else:
            found = factor, state.interference_delay_s, True
            self.records.append(JobRecord(allocation, state.start_s, now_s, *found))
            self._let_follow(job.id, now_s, killed=True)

    def _mean_factor(self, state: _Running) -> float:
        """Return the placement factor of a job over its run, which has come to `since_s`."""
        done_s = self._work_left_s(state.allocation.job) - state.work_s
        if not state.rerouted or done_s <= 0.0:
            return state.placement_factor
        return (state.since_s - state.start_s - state.interference_delay_s) / done_s

    def _work_left_s(self, job: Job) -> float:
        """Return the work of a job, less what a checkpoint has kept."""
        left_s = self.left_s.get(job.id)
        if left_s is None:
            return job.runtime_s
        return left_s * job.runtime_s / job.sizes[0][1] if job.sizes else left_s

    def _push(self, at_s: float, job: Job) -> None:
        """Let a job be submitted at a time."""
        self.n_later += 1
        heapq.heappush(self.later, (at_s, self.n_later, job))

    def hold(self, job: Job) -> None:
        """Let a job wait for others that have to end before."""
        self.held[job.id] = job
        self.lacking[job.id] = {*job.after, *job.after_ok}
        for other in self.lacking[job.id]:
            self.behind.setdefault(other, []).append(job.id)

    def _let_follow(self, ended: int, now_s: float, *, killed: bool) -> None:
        """Let jobs come that have waited for this one alone."""
        for number in self.behind.pop(ended, ()):
            job, lacking = self.held[number], self.lacking[number]
            if killed and ended in job.after_ok:
                continue  # it is never satisfied
            lacking.discard(ended)
            if lacking:
                continue
            del self.held[number]
            if job.think_s is not None:
                job = replace(job, submit_s=now_s + job.think_s)
            self._push(max(job.submit_s, now_s), job)

    def _queue_again(self, now_s: float) -> None:
        """Submit the jobs whose delay after a failure, or after another job, is over."""
        again = []
        while self.later and self.later[0][0] <= now_s:
            again.append(heapq.heappop(self.later)[2])
        for job in again:
            self._submit_job(job)
        if again:
            for callback in self.observers.on_submit:
                callback(again, now_s)

    def _submit_job(self, job: Job) -> None:
        """Put a job into the queue."""
        self.waiting[job.id] = job
        try:
            self.policy.submit(job)
        except Exception as fault:
            raise self._blamed_error(fault, f"job {job.id} is submitted: ") from fault

    def _policy_name(self) -> str:
        """Return what a message calls the queue policy."""
        inner = getattr(self.policy, "inner", self.policy)  # within a limit, or a record
        return f"queue policy {getattr(inner, 'name', type(inner).__name__)!r}"

    def _blamed_error(self, fault: Exception, when: str) -> Exception:
        """Return the error of a user's own policy, which is named; of another one, the fault."""
        if is_built_in(getattr(self.policy, "inner", self.policy)):
            return fault
        words = str(fault) if isinstance(fault, FabricsimError) else f"{described(fault)}."
        return PolicyError(f"{self._policy_name()}: {when}{words}")

    def _n_waiting(self) -> int:
        """Return how many jobs wait."""
        try:
            return len(self.policy)
        except Exception as fault:
            raise self._blamed_error(fault, "") from fault

    def _refuse_forgotten(self, jobs: Sequence[Job]) -> None:
        """Name a job that was submitted, does not wait, and never ran."""
        ended = {record.job.id for record in self.records}
        forgotten = [job.id for job in jobs if job.id not in ended]
        more = len(forgotten) - 1
        raise PolicyError(
            f"{self._policy_name()}: job {forgotten[0]}{f' and {more} more' if more else ''}: "
            "submitted, but neither started nor still waiting at the end."
        )

    def _next_end_s(self) -> float:
        """Return the time of the next end, if any; an entry is put off when its turn comes."""
        ends, running = self.ends, self.running
        while ends:
            due_s, job_id = ends[0]
            state = running.get(job_id)
            if state is None or state.due_s != due_s:
                heapq.heappop(ends)
            elif state.end_s != due_s:
                state.due_s = state.end_s
                heapq.heapreplace(ends, (state.end_s, job_id))
            else:
                return due_s
        return inf

    def _move_clock(self, clock: JobClock, until_s: float) -> float:
        """Let the jobs that the rate model moves go on; return the next instant."""
        now_s = clock.advance(until_s)
        for job_id in clock.done():
            state = self.running[job_id]
            if state.fixed_s is None:
                state.end_s, state.due_s, state.cut = now_s, now_s, False
                heapq.heappush(self.ends, (now_s, job_id))
        return now_s

    def _end_jobs(self, now_s: float) -> list[Allocation]:
        """End all jobs that are due, by id."""
        ended = []
        self.machine.cut.clear()
        while self._next_end_s() <= now_s:
            _, job_id = heapq.heappop(self.ends)
            state = self._take_off(job_id, now_s)
            found = self._mean_factor(state), state.interference_delay_s, state.cut
            self.records.append(JobRecord(state.allocation, state.start_s, now_s, *found))
            if state.cut:
                self.machine.cut.add(job_id)
            if self.behind:
                self._let_follow(job_id, now_s, killed=state.cut)
            ended.append(state.allocation)
        self.machine.postpone_overdue()
        return ended

    def _take_off(self, job_id: int, now_s: float) -> _Running:
        """Take a running job off the machine; return its state."""
        state = self.running.pop(job_id)
        del self.excess[job_id]
        self.n_disturbed -= state.interference != 1.0
        self._advance_work(state, now_s)
        if self.clock is not None and state.work_s == inf:
            state.interference_delay_s = self.clock.interference_delay_s(job_id)
            alone_s = now_s - state.start_s - state.interference_delay_s
            done_s = alone_s / state.placement_factor
            state.work_s = max(0.0, state.allocation.job.runtime_s - done_s)
        self.machine.end(job_id)
        self.busy_nodes -= state.allocation.weight
        if not self.running:
            self.busy_nodes = 0  # whatever rounding of parts has left
        return state

    def _start_jobs(self) -> list[Allocation]:
        """Let the policy start jobs."""
        now_s = self.machine.now_s
        for callback in self.observers.on_decide:
            callback(now_s)
        machine = self.machine
        reasons = machine.wait_reasons
        if reasons is not None:
            reasons.begin()
        machine.asked = None
        try:
            self.policy.select(machine)
        except Exception as fault:
            asked = "" if machine.asked is None else f", job {machine.asked.id}"
            raise self._blamed_error(fault, f"at {now_s:g} s{asked}: ") from fault
        for allocation in machine.started:
            job = self.waiting.pop(allocation.job.id, None)
            if job is None:
                raise PolicyError(
                    f"{self._policy_name()}: job {allocation.job.id} is started at {now_s:g} s, "
                    "but does not wait."
                )
            if job.sizes:
                self.asked[job.id] = job
        for callback in self.observers.on_decided:
            callback(now_s)
        if reasons is not None:
            for callback in self.observers.on_wait:
                callback(reasons.news, reasons.rest, now_s)
        started, machine.started = machine.started, []
        return started

    def _set_rates(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> None:
        """Take the new rates and compute the ends that follow from them."""
        if self.rewired is not None:
            self._rewire(ended, started, now_s)
            return
        if not ended and not started:
            return
        self._take_rates(ended, started, started, now_s)

    def _rewire(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> None:
        """Let all running jobs leave the network, and enter it again by the new routes."""
        assert isinstance(self.rates, Rewirable)  # noqa: S101 (asked before)
        assert self.rewired is not None  # noqa: S101
        on = [state.allocation for state in self.running.values()]
        self._take_rates([*ended, *on], (), (), now_s)
        self.rates.rewire(self.rewired)
        self.rewired = None
        if on or started:
            self._take_rates((), [*on, *started], started, now_s)

    def _take_rates(
        self,
        ended: Sequence[Allocation],
        entering: Sequence[Allocation],
        started: Sequence[Allocation],
        now_s: float,
    ) -> None:
        """Let jobs leave and enter the network; those that have started are new."""
        job_rates = JobRates.of(self.rates.change(ended, entering, now_s))
        self.machine.cluster.tally.rate_changes += len(job_rates)
        for callback in self.observers.on_change:
            callback(ended, entering, job_rates, now_s)
        for allocation in started:
            job = allocation.job
            limit_s = now_s + job.requested_s if self.kill_at_limit else inf
            work_s = self._work_left_s(job) if self.left_s else job.runtime_s
            state = _Running(allocation, now_s, work_s, now_s, limit_s)
            state.fixed_s = self.ends_s.get(job.id)
            if self.clock is not None and self.clock.moves(job.id):
                state.work_s = inf
            self.running[job.id] = state
            self.excess[job.id] = 0.0
            self.busy_nodes += allocation.weight
        self._reschedule_jobs(job_rates, now_s)
        for allocation in started:
            state = self.running[allocation.job.id]
            if state.end_s == inf and state.work_s < inf:
                raise SchedulerError(f"job {allocation.job.id} starts and is given no rate.")

    def _reschedule_jobs(self, job_rates: JobRates, now_s: float) -> None:
        """Advance the jobs whose rate changes and find their new ends."""
        columns = job_rates.jobs, job_rates.interference, job_rates.placement_factor
        for job_id, interference, placement_factor in zip(*columns, strict=True):
            state = self.running[job_id]
            self._advance_work(state, now_s)
            self.n_disturbed += (interference != 1.0) - (state.interference != 1.0)
            if interference != state.interference:
                self.excess[job_id] = state.allocation.weight * (interference - 1.0)
            if placement_factor != state.placement_factor:
                state.rerouted = now_s > state.start_s
            state.interference, state.placement_factor = interference, placement_factor
            if state.fixed_s is not None:
                state.end_s = state.fixed_s
            else:
                done_s = now_s + state.work_s * (interference * placement_factor)
                state.cut = done_s > state.limit_s
                state.end_s = state.limit_s if state.cut else done_s
            if state.end_s < state.due_s:
                state.due_s = state.end_s
                heapq.heappush(self.ends, (state.end_s, job_id))

    @staticmethod
    def _advance_work(state: _Running, now_s: float) -> None:
        """Do the work of the time since the last change at the rate that held."""
        elapsed_s = now_s - state.since_s
        state.since_s = now_s
        interference = state.interference
        work_s = state.work_s - elapsed_s / (interference * state.placement_factor)
        state.work_s = max(0.0, work_s)
        if interference != 1.0:
            state.interference_delay_s += elapsed_s * (1.0 - 1.0 / interference)

    def _note_state(self, now_s: float) -> None:
        """Write the state of this instant into the timeline."""
        line = self.timeline
        # `sum` rounds in another way from Python 3.12 on
        total = reduce(add, self.excess.values(), 0.0) if self.n_disturbed else 0.0
        line.time_s.append(now_s)
        line.running.append(len(self.running))
        line.queued.append(self._n_waiting())
        line.busy_nodes.append(self.busy_nodes)
        line.interference.append(1.0 + total / self.busy_nodes if self.busy_nodes else 1.0)
