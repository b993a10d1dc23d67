"""Machine: the cluster as a queue policy sees it, with the expected ends of running jobs."""

from bisect import bisect_left, insort
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from fabricsim.checking import brief
from fabricsim.checking.errors import FabricsimError
from netsim.topology.base import Topology
from scheduler.allocation import Allocation
from scheduler.allocators.base import Allocator, Exhaustive, exhaustive, fits_by_count
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError, PolicyError
from scheduler.footprint import Footprint
from scheduler.job import Job
from scheduler.reasons import ISOLATION, NODES, PLACEMENT, RESERVATION, SWITCHES, WaitReasons
from scheduler.switches import SwitchLimit

_LONGEST = 200  # characters of what a plug-in raised
_MOMENT_S = 1e-9  # for which a job that is expected to run for no time needs its nodes
OVERDUE_STEP_S = 60.0  # a job past its estimate is expected to end this much later


class Window(NamedTuple):
    """
    A time in which nodes take no jobs, known in advance: maintenance, or kept for some users.

    Parameters
    ----------
    from_s, until_s : float
        Begin and end in seconds of the simulation.
    taken : Footprint
        The nodes, as free nodes are counted.
    users : frozenset of int
        Users whose jobs may run there all the same.
    """

    from_s: float
    until_s: float
    taken: Footprint
    users: frozenset[int] = frozenset()

    def __repr__(self) -> str:
        return f"<Window: {self.from_s:g} to {self.until_s:g} s, {len(self.users)} users>"


@dataclass(slots=True, eq=False)
class Machine:
    """
    What a queue policy sees at an instant, and what it may do.

    A policy may call the methods, and change copies of the cluster. It leaves the attributes as
    they are, but for `gained_until_s` and `changed_until_s`.

    Parameters
    ----------
    cluster : Cluster
        Nodes and links as they are now: `n_free`, `free_nodes`, `running` (by job id). Not to be
        changed; `copy` and `cluster_at` return one that may be.
    allocator : Allocator
        Chooses placements. Ask it through `try_to_place` and `place_at`, which count the calls and
        know of limits of switches.
    estimate_s : callable
        What the scheduler may know of a job's run time, in seconds: of a `Job`, the requested time
        or the run time, as ``estimates`` of the experiment says.

    now_s : float
        The time of the simulation, in seconds, after all ends and submissions of this instant.
    expected_end_s : dict of int to float
        Expected end of every running job by its id, in seconds: start + estimate. A job that is
        still running then is expected to end 60 s from now, at each instant anew; so all are later
        than now, but those of jobs that start with an estimate of 0.
    ends_ascending : list of (float, int)
        The same as (expected end, job id), the earliest first.
    overdue : set of int
        Ids of running jobs past their estimate.
    started : list of Allocation
        Jobs started at this instant, in order; the simulator empties it.
    cut : set of int
        Ids of jobs that ended at their limit at this instant, their work not done.
    disturbances : int
        How often expected ends have proved wrong: a job ended at another time, was given a new
        expected end, or holds other nodes than before. A reservation made at the same count stands.
    gained_until_s, changed_until_s : float
        Latest expected end affected since the reservation was made, in seconds: of jobs that ended
        early, and of all whose end moved. A policy sets both to -inf when it makes a reservation.
    windows : list of Window
        Times to come in which nodes take no jobs. `try_to_place` and `place_at` keep jobs off them
        that are expected to run then; nodes that are down now are `cluster.closed`.
    switch_limit : SwitchLimit or None
        Refuses placements over too many leaf switches for a while (``switches`` of the queue).
    wake_s : float
        When the policy is asked again at the latest, in seconds; see `wake`.
    last_refusal : str
        Why the last `try_to_place` returned None: a key of `scheduler.REASONS`.
    wait_reasons : WaitReasons or None
        Where the policy may report why jobs do not start now; None where no observer asks.
    asked : Job or None
        The job that the allocator was last asked about, for messages.
    """

    cluster: Cluster
    allocator: Allocator
    estimate_s: Callable[[Job], float]
    now_s: float = 0.0
    expected_end_s: dict[int, float] = field(default_factory=dict)
    ends_ascending: list[tuple[float, int]] = field(default_factory=list)
    overdue: set[int] = field(default_factory=set)
    started: list[Allocation] = field(default_factory=list)
    cut: set[int] = field(default_factory=set)
    disturbances: int = 0
    gained_until_s: float = -inf
    changed_until_s: float = -inf
    windows: list[Window] = field(default_factory=list)
    switch_limit: SwitchLimit | None = None
    wake_s: float = inf
    last_refusal: str = NODES
    wait_reasons: WaitReasons | None = None
    asked: Job | None = None
    _sizes: dict[int, tuple[Job, ...]] = field(default_factory=dict, init=False)

    def __repr__(self) -> str:
        return f"<Machine at {self.now_s:g} s: {self.cluster!r}>"

    @property
    def fits_by_count(self) -> bool:
        """Whether a job finds a place exactly when enough nodes are free."""
        cluster = self.cluster
        whole = not (cluster.geometry.in_parts or cluster.draining or self.windows)
        return whole and self.switch_limit is None and fits_by_count(self.allocator)

    @property
    def exhaustive(self) -> Exhaustive | None:
        """The allocator if its refusals hold for all jobs of a size, as far as it knows."""
        return None if self.windows else exhaustive(self.allocator)

    def blocked(self, job: Job, at_s: float) -> Footprint | None:
        """
        Return the nodes that a job may not have for a window.

        Parameters
        ----------
        job : Job
            A waiting job.
        at_s : float
            When it would start, in seconds.

        Returns
        -------
        Footprint or None
            Nodes of all windows that it would still run in; None where there are none.
        """
        until_s, taken = at_s + max(self.estimate_s(job), _MOMENT_S), Footprint()
        for window in self.windows:
            if window.from_s < until_s and window.until_s > at_s and job.user not in window.users:
                taken |= window.taken
        return taken if taken.nodes else None

    def each_size(self, job: Job) -> tuple[Job, ...]:
        """
        Return a job at each of its sizes.

        Parameters
        ----------
        job : Job
            A waiting job.

        Returns
        -------
        tuple of Job
            In the order of `Job.sizes`; the job alone where it has one size. Each can be placed
            and started in its stead.
        """
        if not job.sizes:
            return (job,)
        found = self._sizes.get(job.id)
        if found is None:
            found = self._sizes[job.id] = tuple(job.at_size(size) for size, _ in job.sizes)
        return found

    def try_to_place(self, job: Job) -> Allocation | None:
        """
        Ask the allocator for a placement now.

        Parameters
        ----------
        job : Job
            It waits.

        Returns
        -------
        Allocation or None
            None when it does not fit now.
        """
        if not self.cluster.has_nodes(job):
            self.last_refusal = NODES
            return None
        found = self.allocate(job, self.cluster)
        limit = self.switch_limit
        if found is None:
            kept = self.windows and self.blocked(job, self.now_s) is not None
            self.last_refusal = RESERVATION if kept else self.allocator_refusal
        if found is None or limit is None or limit.suits(found, self.cluster):
            return found
        self.last_refusal = SWITCHES
        limit.start_clock(job, self.now_s)
        if limit.patience_ends_s(job) <= self.now_s:
            return found
        self.wake(limit.patience_ends_s(job))
        return None

    def allocate(
        self,
        job: Job,
        cluster: Cluster,
        allocator: Allocator | None = None,
        at_s: float | None = None,
    ) -> Allocation | None:
        """
        Ask the allocator, or another one, for a placement in some state, and count it.

        Parameters
        ----------
        job : Job
            The job to be placed.
        cluster : Cluster
            Free nodes and links.
        allocator : Allocator, optional
            Default: that of the machine.
        at_s : float, optional
            When the job would start, in seconds, for `windows`; default: now.

        Returns
        -------
        Allocation or None
            None when it does not fit.
        """
        if self.windows:
            kept = self.blocked(job, self.now_s if at_s is None else at_s)
            if kept is not None:
                cluster = cluster.copy()
                cluster.block(kept)
        self.cluster.tally.allocator_calls += 1
        self.asked = job
        return ask_allocator(allocator or self.allocator, job, cluster)

    @property
    def allocator_refusal(self) -> str:
        """Why the allocator refuses jobs for which there are nodes."""
        return ISOLATION if getattr(self.allocator, "isolating", False) else PLACEMENT

    def refusal_in(self, job: Job, cluster: Cluster) -> str:
        """
        Say why a job that found no place in a state of the machine found none.

        Parameters
        ----------
        job : Job
            The job.
        cluster : Cluster
            Free nodes and links.

        Returns
        -------
        str
            A key of `REASONS`.
        """
        if not cluster.has_nodes(job):
            return NODES
        limit = self.switch_limit
        if limit is None or not limit.wanted(job)[0]:
            return self.allocator_refusal
        return self.allocator_refusal if self.allocator.allocate(job, cluster) is None else SWITCHES

    def start_patience(self, job: Job) -> None:
        """
        Let a job's patience with a limit of switches run, and be woken when it ends.

        Policies that plan ahead call this, since they may never see a refusal.

        Parameters
        ----------
        job : Job
            It waits.
        """
        if self.switch_limit is None:
            return
        self.switch_limit.start_clock(job, self.now_s)
        if self.switch_limit.patience_ends_s(job) > self.now_s:
            self.wake(self.switch_limit.patience_ends_s(job))

    def place_at(
        self, job: Job, cluster: Cluster, time_s: float, allocator: Allocator | None = None
    ) -> Allocation | None:
        """
        Ask the allocator for a placement in another state of the machine.

        Parameters
        ----------
        job : Job
            The job to be placed.
        cluster : Cluster
            Nodes and links that are free then.
        time_s : float
            When, in seconds.
        allocator : Allocator, optional
            Default: that of the machine.

        Returns
        -------
        Allocation or None
            None when it does not fit.
        """
        if not cluster.has_nodes(job):
            return None
        found = self.allocate(job, cluster, allocator, time_s)
        limit = self.switch_limit
        if found is None or limit is None or limit.suits(found, cluster):
            return found
        return found if limit.patience_ends_s(job) <= time_s else None

    def cluster_at(self, time_s: float) -> Cluster:
        """
        Return the machine as it is expected to be later, if no waiting job starts.

        Parameters
        ----------
        time_s : float
            When, in seconds.

        Returns
        -------
        Cluster
            A copy on which the jobs have ended that are expected to end by then; it may be changed.
        """
        cluster = self.cluster.copy()
        for end_s, job_id in self.ends_ascending:
            if end_s > time_s:
                break
            cluster.release(job_id)
        return cluster

    def wake(self, time_s: float) -> None:
        """
        Ask for an instant, even if no job ends or is submitted then.

        Parameters
        ----------
        time_s : float
            When at the latest, in seconds; forgotten at every instant.
        """
        self.wake_s = min(self.wake_s, time_s)

    def start(self, allocation: Allocation) -> None:
        """
        Start a waiting job now.

        Parameters
        ----------
        allocation : Allocation
            Where, as `try_to_place` found it.

        Raises
        ------
        AllocationError
            If nodes or links of it are taken, or the job runs already.
        PolicyError
            If it is no allocation.
        """
        if not isinstance(allocation, Allocation):
            raise PolicyError(f"start: expected an Allocation, got {brief(allocation)}.")
        self.cluster.place(allocation)
        job = allocation.job
        self.expected_end_s[job.id] = end_s = self.now_s + self.estimate_s(job)
        insort(self.ends_ascending, (end_s, job.id))
        self.started.append(allocation)
        if self.wait_reasons is not None:
            self.wait_reasons.drop(job.id)

    def end(self, job_id: int) -> Allocation:
        """Take an ended job off the machine."""
        expected_s = self.expected_end_s.pop(job_id)
        del self.ends_ascending[bisect_left(self.ends_ascending, (expected_s, job_id))]
        self.overdue.discard(job_id)
        if expected_s != self.now_s:
            self.disturbances += 1
            self.gained_until_s = max(self.gained_until_s, expected_s)
            self.changed_until_s = max(self.changed_until_s, expected_s)
        return self.cluster.release(job_id)

    def close(self, nodes: Collection[int], fabric: Topology | None = None) -> None:
        """
        Let just these nodes take no jobs from now on; whatever was reserved is out of date.

        Parameters
        ----------
        nodes : collection of int
            All nodes that are closed.
        fabric : Topology, optional
            The fabric as it is, where cables are down. Default: as it was built.
        """
        self.cluster.set_closed(nodes, fabric)
        self.disturbances += 1
        self.gained_until_s = self.changed_until_s = inf

    def postpone_overdue(self) -> None:
        """Expect jobs past their estimate to end 60 s from now, at each event anew."""
        leaving, overdue, now_s = self.ends_ascending, self.overdue, self.now_s
        for end_s, job_id in leaving:
            if end_s > now_s:
                break
            overdue.add(job_id)
        later_s = now_s + OVERDUE_STEP_S
        moved = [job_id for job_id in overdue if self.expected_end_s[job_id] != later_s]
        if not moved:
            return
        for job_id in moved:
            del leaving[bisect_left(leaving, (self.expected_end_s[job_id], job_id))]
            self.expected_end_s[job_id] = later_s
            insort(leaving, (later_s, job_id))
        self.changed_until_s = max(self.changed_until_s, later_s)
        self.disturbances += len(moved)


def is_built_in(part: object) -> bool:
    """Say whether an allocator or a queue policy is one of this package."""
    return type(part).__module__.partition(".")[0] == "scheduler"


def described(fault: Exception) -> str:
    """Return what went wrong in a plug-in, in one line."""
    words = f"{type(fault).__name__}: {' '.join(str(fault).split())}".rstrip(": .")
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."


def ask_allocator(allocator: Allocator, job: Job, cluster: Cluster) -> Allocation | None:
    """Ask an allocator for a placement; a fault of one of a user's own names it."""
    try:
        found = allocator.allocate(job, cluster)
    except FabricsimError:
        raise
    except Exception as fault:
        if is_built_in(allocator):
            raise
        raise AllocationError(f"{_of_allocator(allocator, job)}: {described(fault)}.") from fault
    if found is not None and not isinstance(found, Allocation):
        expected = "expected an Allocation or None, got"
        raise AllocationError(f"{_of_allocator(allocator, job)}: {expected} {brief(found)}.")
    return found


def _of_allocator(allocator: Allocator, job: Job) -> str:
    """Begin the message of a fault of an allocator."""
    name = getattr(allocator, "name", type(allocator).__name__)
    return f"allocator {name!r}: job {job.id} of {job.n_nodes} nodes"


@runtime_checkable
class Closing(Protocol):
    """A queue policy that holds something open, such as a process."""

    def close(self) -> None:
        """Let go of it: the simulation has ended, or failed."""


class QueuePolicy(Protocol):
    """
    Keeps the waiting jobs and chooses which start.

    A simulation has a policy of its own. At each instant it first calls `submit` for every new job,
    then `select` once. A job that `select` does not start waits; one that it starts must have been
    submitted, and must no longer count in ``len``.

    Attributes
    ----------
    name : str
        Key in the registry; errors name it.
    """

    name: ClassVar[str]

    def submit(self, job: Job) -> None:
        """
        Take a job into the queue.

        Parameters
        ----------
        job : Job
            Submitted now.
        """

    def select(self, machine: Machine) -> None:
        """
        Start, through ``machine.start``, every job that may start now.

        Parameters
        ----------
        machine : Machine
            The machine after all ends and submissions of this instant.
        """

    def __len__(self) -> int:
        """Return the number of waiting jobs."""
