"""Reckless and Cautious: jobs prefer the shape on which they ran best before (Yang)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar, Protocol

from fabricsim.checking import choice, wrong
from netsim.topology.fattree import FatTree
from netsim.topology.torus import Torus
from scheduler.allocation import Allocation
from scheduler.allocators.torus import TorusChunk, chunk_boxes
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError, PolicyError
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.easy import reach_of
from scheduler.queues.free_steps import Booking
from scheduler.queues.plan import Place, Plan, report_reasons
from scheduler.queues.waiting import LinePolicy, WaitingLine
from scheduler.reasons import SHAPE, Verdict

ANY = "any"
Key = tuple[int, int, int, str]
"""User, executable, size, pattern."""


class Shapes(Protocol):
    """Kinds of places for jobs on a machine."""

    def possible(self, job: Job) -> tuple[str, ...]:
        """Return the shapes that an empty machine has for a job, the most compact first."""

    def place(
        self, job: Job, cluster: Cluster, time_s: float, shape: str
    ) -> tuple[Allocation, str] | None:
        """
        Place a job in a shape; ``any`` is whatever the allocator finds.

        Returns where, and of what shape that is; None when there is no such place.
        """


class TorusShapes:
    """
    Chunks of a torus, asked for by shape; else what the allocator finds, ``any``.

    Yang, Table 1: ``3d-balanced``, ``3d-unbalanced``, ``2d-balanced``, ``2d-unbalanced``, and
    ``1d-balanced``, the list of section V-A.
    """

    def __init__(self, machine: Machine, torus: Torus) -> None:
        self._machine = machine
        self._torus = torus
        kinds = ("balanced", "unbalanced")
        self._chunks = {
            f"{axes}d-{kind}": TorusChunk(axes, kind)
            for axes in range(len(torus.dims), 0, -1)
            for kind in (kinds if axes > 1 else kinds[:1])
        }

    def possible(self, job: Job) -> tuple[str, ...]:
        """Return the shapes that an empty machine has for a job."""
        routers = -(-job.n_nodes // self._torus.nodes_per_router)
        return (*(shape for shape in self._chunks if self._is_exact(shape, routers)), ANY)

    def _is_exact(self, shape: str, routers: int) -> bool:
        """Whether a chunk of a shape has so many routers."""
        chunk = self._chunks[shape]
        boxes = chunk_boxes(self._torus, routers, chunk.dimensions, chunk.balance)
        return bool(boxes) and prod(boxes[0]) == routers

    def place(
        self, job: Job, cluster: Cluster, time_s: float, shape: str
    ) -> tuple[Allocation, str] | None:
        """Place a job."""
        try:
            found = self._machine.place_at(job, cluster, time_s, self._chunks.get(shape))
        except AllocationError:
            if shape == ANY:
                raise
            return None  # nodes that take no jobs leave no box of this shape
        return None if found is None else (found, shape)


class TreeShapes:
    """
    What the allocator proposes on a tree, by the switches it spans: ``leaf``, ``pod``, ``any``.

    Yang is about tori; on a tree a job has a shape of its own choice only as far as the allocator
    finds one.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def possible(self, job: Job) -> tuple[str, ...]:
        """Return the shapes that an empty machine has for a job."""
        cluster = self._machine.cluster
        sizes = {
            "leaf": cluster.nodes_per_leaf,
            "pod": cluster.nodes_per_leaf * cluster.leaves_per_pod,
        }
        return (*(shape for shape, size in sizes.items() if job.n_nodes <= size), ANY)

    def place(
        self, job: Job, cluster: Cluster, time_s: float, shape: str
    ) -> tuple[Allocation, str] | None:
        """Place a job."""
        found = self._machine.place_at(job, cluster, time_s)
        if found is None:
            return None
        pods = {leaf // cluster.leaves_per_pod for leaf, _, _ in found.leaves}
        own = "leaf" if len(found.leaves) == 1 else "pod" if len(pods) == 1 else ANY
        return (found, own) if shape in {own, ANY} else None


class OneShape:
    """What the allocator proposes on a machine that has no shapes."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def possible(self, job: Job) -> tuple[str, ...]:
        """Return the one shape."""
        del job
        return (ANY,)

    def place(
        self, job: Job, cluster: Cluster, time_s: float, shape: str
    ) -> tuple[Allocation, str] | None:
        """Place a job."""
        found = self._machine.place_at(job, cluster, time_s)
        return None if found is None else (found, shape)


def shapes_of(machine: Machine) -> Shapes:
    """Return the shapes that fit a machine."""
    fabric = machine.cluster.fabric
    if isinstance(fabric, Torus):
        return TorusShapes(machine, fabric)
    return TreeShapes(machine) if isinstance(fabric, FatTree) else OneShape(machine)


def pattern_of(job: Job) -> str:
    """Return the name of a job's communication pattern."""
    return "" if job.communication is None else job.communication.label


class Record:
    """
    What the scheduler has learned from jobs that have ended.

    Yang, section VI: a job is looked up by user name and executable, then by size and communication
    pattern. Stored is the mean of the *stretch*, run time / expected run time, by shape.
    """

    def __init__(self) -> None:
        self._seen: dict[Key, dict[str, tuple[int, float]]] = {}

    def __len__(self) -> int:
        """Return the number of different jobs."""
        return len(self._seen)

    def add(self, job: Job, shape: str, stretch: float) -> None:
        """Enter a run."""
        shapes = self._seen.setdefault(_submission_key(job), {})
        count, total = shapes.get(shape, (0, 0.0))
        shapes[shape] = (count + 1, total + stretch)

    def stretch(self, job: Job, shape: str) -> float:
        """
        Return how long a job is expected to take on a shape, relative to its estimate.

        The mean of the same job on this shape; where it never ran on it, of all its runs; else 1.
        """
        shapes = self._seen.get(_submission_key(job))
        if not shapes:
            return 1.0
        runs = [shapes[shape]] if shape in shapes else list(shapes.values())
        return sum(total for _, total in runs) / sum(count for count, _ in runs)


def _submission_key(job: Job) -> Key:
    """Return what makes two submissions the same job."""
    return job.user, job.executable, job.n_nodes, pattern_of(job)


ALL_TO_ALL = ("all-to-all", "sub-all-to-all", "pairwise", "bruck", "allgather")
METRICS = ("turnaround", "capacity")


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A job, the shape that it can have now, and the one that it prefers."""

    job: Job
    shape: str  # of the place that is free now
    preferred: str  # the shape of which the record expects most


class Reckless(LinePolicy):
    """
    Reckless (Yang): all-to-all jobs wait for their preferred shape.

    At every event the jobs of the window are taken in order. One whose preferred shape is free
    starts there. Else, if any place is free, an all-to-all job reserves its preferred shape and
    waits, and another one starts on the best place there is. A job that finds no place waits.

    What the draft leaves open, and what is done here:

    * *preferred shape*: the one of the least mean stretch on record (see `Record`), the most
    compact one of equals, so also of a job that never ran. * *reservation*: the first time at which
    a place of that shape is expected to be free, and that place; jobs that would run into it use
    other nodes. All reservations are made anew at every event, in the order of the window ("update
    reservation"), so the first job never loses. * a job that finds no place at all: the first such
    job in the window reserves any place, as the head does under EASY, on which the paper's
    baselines rest; else it could starve. * a shape that will never be free on this machine is not
    waited for.

    `window`: Waiting jobs behind the first that are looked at. `all_to_all`: Patterns that count as
    all-to-all dominant.
    """

    name: ClassVar[str] = "reckless"

    def __init__(self, window: int = 50, all_to_all: Sequence[str] = ALL_TO_ALL) -> None:
        self._line = WaitingLine(reach_of(window))
        is_list = isinstance(all_to_all, Sequence) and not isinstance(all_to_all, str)
        if not is_list or not all(isinstance(name, str) for name in all_to_all):
            raise wrong("all_to_all", "a list of names of patterns", all_to_all, PolicyError)
        self._all_to_all = frozenset(all_to_all)
        self._shapes: Shapes | None = None
        self._running: dict[int, tuple[Job, str, float]] = {}  # with shape and start
        self._plan = Plan()  # of one pass
        self._stuck = False  # whether a job of this pass found no place
        self._verdicts: dict[int, Verdict] = {}  # of this pass
        self.record = Record()

    def select(self, machine: Machine) -> None:
        """Go once through the window."""
        self._learn_runtimes(machine)
        if self._shapes is None:
            self._shapes = shapes_of(machine)
        tried, self._verdicts = set[int](), {}
        self._plan.bookings.clear()
        self._stuck = False
        while window := [job for job in self._line.reachable() if job.id not in tried]:
            for job in window:
                tried.add(job.id)
                self._start_or_reserve(job, machine, self._shapes, self._plan)
        report_reasons(self._line.reachable(), self._verdicts, machine)

    def _learn_runtimes(self, machine: Machine) -> None:
        """Enter the jobs that have ended into the record."""
        for job_id in [key for key in self._running if key not in machine.cluster.running]:
            job, shape, start_s = self._running.pop(job_id)
            if estimate_s := machine.estimate_s(job):  # relative to nothing there is no stretch
                self.record.add(job, shape, (machine.now_s - start_s) / estimate_s)

    def _start_or_reserve(self, job: Job, machine: Machine, shapes: Shapes, plan: Plan) -> None:
        """Start a job, or let it wait, with or without a reservation."""
        machine.start_patience(job)
        possible = shapes.possible(job)
        ranked = sorted(possible, key=lambda shape: self.record.stretch(job, shape))
        until_s = machine.now_s + machine.estimate_s(job)
        best, found = None, None
        if job.n_nodes <= machine.cluster.n_free:
            cluster = plan.without_bookings(job, machine.cluster, machine.now_s, until_s)
            best = shapes.place(job, cluster, machine.now_s, ranked[0])
            found = best or _first_place(job, machine, shapes, cluster, ranked[1:])
        if found is None:
            if machine.wait_reasons is not None:
                self._verdicts[job.id] = plan.verdict(job, machine)
            if not self._stuck:
                self._stuck = True
                plan.book([job], machine, _single_shape(shapes, ANY))
            return
        placement, shape = found
        if best is None:
            booking = plan.earliest(
                job, machine, plan.free_steps(machine), _single_shape(shapes, ranked[0])
            )
            offer = Offer(job, shape, ranked[0])
            if booking is not None and self.prefers_to_wait(offer, booking, machine):
                plan.bookings[job.id] = booking
                self._verdicts[job.id] = Verdict(SHAPE)
                return
        machine.start(placement)
        self._line.remove(job)
        self._running[job.id] = (job, shape, machine.now_s)

    def prefers_to_wait(self, offer: Offer, booking: Booking, machine: Machine) -> bool:
        """Say whether a job waits for a better place: if all-to-all communication dominates."""
        del booking, machine
        return pattern_of(offer.job) in self._all_to_all


class Cautious(Reckless):
    """
    Cautious (Yang): wait for the preferred shape if that pays.

    As Reckless, but every job that could start on another shape than it prefers is put to
    Evaluate(): with t_now and t_best the expected run times (estimate x stretch on record) on
    either shape, and w the time until the preferred one is expected to be free, it waits if

    * ``turnaround``: w + t_best <= t_now, as printed (Algorithm 3); * ``capacity``: idle x w < n x
    (t_now - t_best). The draft names loss of capacity without a rule; here the node-seconds left
    idle by waiting are weighed against those that the job of n nodes would hold longer. Idle are
    those of its nodes that the other jobs of the window, which may backfill meanwhile, leave of the
    nodes that are free now.

    `window`: Waiting jobs behind the first that are looked at. `evaluate`: What is compared.
    """

    name: ClassVar[str] = "cautious"

    def __init__(self, window: int = 50, evaluate: str = "turnaround") -> None:
        super().__init__(window)
        self._metric = choice("evaluate", evaluate, METRICS, error=PolicyError)

    def prefers_to_wait(self, offer: Offer, booking: Booking, machine: Machine) -> bool:
        """Say whether a job waits: the contrary of Evaluate()."""
        job, estimate_s = offer.job, machine.estimate_s(offer.job)
        now_s = estimate_s * self.record.stretch(job, offer.shape)
        best_s = estimate_s * self.record.stretch(job, offer.preferred)
        wait_s = booking.start_s - machine.now_s
        if self._metric == "turnaround":
            return wait_s + best_s <= now_s
        wanted = sum(other.n_nodes for other in self._line.reachable() if other is not job)
        idle = min(job.n_nodes, max(0, machine.cluster.n_free - wanted))
        return idle * wait_s < job.n_nodes * (now_s - best_s)


def _single_shape(shapes: Shapes, shape: str) -> Place:
    """Place jobs on one shape."""

    def place(job: Job, cluster: Cluster, time_s: float) -> Allocation | None:
        """Leave out the name of the shape."""
        found = shapes.place(job, cluster, time_s, shape)
        return None if found is None else found[0]

    return place


def _first_place(
    job: Job, machine: Machine, shapes: Shapes, cluster: Cluster, ranked: Sequence[str]
) -> tuple[Allocation, str] | None:
    """Return the first place that there is, and its shape."""
    for shape in ranked:
        found = shapes.place(job, cluster, machine.now_s, shape)
        if found is not None:
            return found
    return None
