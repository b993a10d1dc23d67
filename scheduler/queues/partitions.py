"""Partitions: sets of nodes with a queue, limits and a priority each, as Slurm has them."""

from bisect import insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar

from fabricsim.checking import Table, unknown, wrong
from netsim.common.errors import NetsimError
from scheduler.allocators.base import fits_by_count
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.machine import Machine, QueuePolicy
from scheduler.reasons import NOT_REPORTED, WaitReasons
from scheduler.workload.slurm import slurm_duration

_COLUMNS = ("partition", "queue")  # of the log, with the name of a partition


@dataclass(slots=True, eq=False)
class _Partition:
    """A partition and its queue."""

    name: str
    nodes: str  # host list, or names of switches; empty: all nodes
    most_nodes: float
    most_s: float
    tier: int
    policy: QueuePolicy
    reasons: WaitReasons = field(default_factory=WaitReasons)
    inside: tuple[int, ...] = ()  # its nodes of each group
    # where no other partition has its nodes or links, it is a machine of its own, of these jobs
    apart: bool = False
    running: set[int] = field(default_factory=set)
    fresh: bool = True  # whether jobs were submitted since it was last asked
    closed: list[int] | None = None
    had_windows: bool = False  # when it was last asked; one that ends frees nodes
    # as `Machine` has them, since its own reservation was made
    gained_until_s: float = -inf
    changed_until_s: float = -inf
    submitted: list[Job] = field(default_factory=list)  # since the last pass

    def require_limits(self, job: Job) -> None:
        """Refuse a job of more nodes or time than the limits allow."""
        if job.n_nodes <= self.most_nodes and job.requested_s <= self.most_s:
            return
        got, least = (
            (f"{job.n_nodes} nodes", f"MaxNodes = {self.most_nodes:g}")
            if job.n_nodes > self.most_nodes
            else (f"{job.requested_s:g} s", f"MaxTime = {self.most_s:g} s")
        )
        raise PolicyError(
            f"job {job.id}: expected no more than {least} of partition {self.name!r}, got {got}."
        )

    def require_nodes(self, job: Job) -> None:
        """Refuse a job of more nodes than there are."""
        n_nodes = sum(mask.bit_count() for mask in self.inside)
        if job.n_nodes > n_nodes:
            raise PolicyError(
                f"job {job.id}: expected no more than the {n_nodes} nodes of partition "
                f"{self.name!r}, got {job.n_nodes} nodes."
            )

    def is_unchanged(self, machine: Machine) -> bool:
        """Say whether nothing has changed for its queue, so that it starts no job now either."""
        return (
            not (self.fresh or self.had_windows or machine.switch_limit)
            and _goes_by_changes(self.policy)
            and self.closed is machine.cluster.closed
            and self.running <= machine.cluster.running.keys()
            and self.running.isdisjoint(machine.overdue)
        )


class Partitions:
    """
    Sets of nodes with a queue, limits and a tier each.

    At every instant those of the highest tier start jobs first.

    A job goes to the partition that its log names (column ``partition`` or ``queue``, or the
    number of its queue), else to the default one. A reservation holds against the jobs of its own
    partition; where node sets overlap, jobs of others may delay it.

    `partitions`: Tables by name (default: one of all nodes): ``nodes`` (a host list; default all),
    ``MaxNodes``, ``MaxTime`` (as Slurm writes it, of the requested time), ``PriorityTier`` (default
    1), ``Default`` (true for one at most). `policy`, `options`: the queue policy of each, and its
    options. `window`: of policies that have one.
    """

    name: ClassVar[str] = "partitions"

    def __init__(
        self,
        partitions: Mapping[str, Mapping[str, Any]] | None = None,
        policy: str = "easy",
        options: Mapping[str, Any] | None = None,
        window: int = 50,
    ) -> None:
        if partitions is None:
            partitions = {"all": {"Default": True}}
        if not isinstance(partitions, Mapping) or not partitions:
            raise wrong("partitions", "tables by the names of partitions", partitions, PolicyError)
        if policy == self.name:
            raise wrong("policy", "the queue policy of a partition", policy, PolicyError)
        made = [_read(name, own, policy, options or {}, window) for name, own in partitions.items()]
        defaults = [own.name for own, default in made if default]
        if len(defaults) > 1:
            raise PolicyError(f"partitions: expected one Default, got {' and '.join(defaults)}.")
        self._of = {own.name: own for own, _ in made}
        self._default = defaults[0] if defaults else None
        self._by_tier = sorted(self._of.values(), key=lambda own: -own.tier)
        self._begun = False

    def __repr__(self) -> str:
        return f"<Partitions {', '.join(self._of)}: {len(self)} waiting>"

    def __len__(self) -> int:
        return sum(len(own.policy) for own in self._of.values())

    @property
    def molds_jobs(self) -> bool:
        """Whether it chooses sizes of moldable jobs."""
        return self._all_claim("molds_jobs")

    @property
    def shares_nodes(self) -> bool:
        """Whether it is right where jobs share nodes."""
        return self._all_claim("shares_nodes")

    def _all_claim(self, what: str) -> bool:
        """Say whether the policies of all partitions do something."""
        policies = (getattr(own.policy, "inner", own.policy) for own in self._of.values())
        return all(getattr(policy, what, False) for policy in policies)

    def submit(self, job: Job) -> None:
        """Put a job into the queue of its partition."""
        columns = {name.lower(): text for name, text in job.extra}
        names = [*(columns[name] for name in _COLUMNS if name in columns), str(job.queue)]
        name = next((name for name in names if name in self._of), self._default)
        if name is None:
            what = unknown("partition", names[0], tuple(self._of))
            raise PolicyError(f"job {job.id}: {what}")
        own = self._of[name]
        for size in (job, *(job.at_size(n_nodes) for n_nodes, _ in job.sizes[1:])):
            own.require_limits(size)
        own.submitted.append(job)
        own.policy.submit(job)

    def select(self, machine: Machine) -> None:
        """Start jobs of each partition on its nodes."""
        reasons = machine.wait_reasons
        if not self._begun:
            self._begin(machine)
        gained_until_s, changed_until_s = machine.gained_until_s, machine.changed_until_s
        for own in self._by_tier:
            for job in own.submitted:
                for size in machine.each_size(job):
                    own.require_nodes(size)
            own.fresh |= bool(own.submitted)
            own.submitted.clear()
            own.gained_until_s = max(own.gained_until_s, gained_until_s)
            own.changed_until_s = max(own.changed_until_s, changed_until_s)
            if not len(own.policy) or (own.apart and own.is_unchanged(machine)):
                continue
            if reasons is not None:
                own.reasons.begin()
                machine.wait_reasons = own.reasons
            machine.gained_until_s = own.gained_until_s
            machine.changed_until_s = own.changed_until_s
            try:
                ends_s = _select_inside(own, machine)
            finally:
                machine.wait_reasons = reasons
            own.gained_until_s = machine.gained_until_s
            own.changed_until_s = machine.changed_until_s
            if ends_s and not own.apart:
                self._disturb_others(own, max(ends_s), machine)
            if reasons is not None:
                reasons.news |= own.reasons.news
                reasons.rest = own.reasons.rest or NOT_REPORTED
        machine.gained_until_s = machine.changed_until_s = -inf  # each partition has them

    def _disturb_others(self, own: _Partition, until_s: float, machine: Machine) -> None:
        """Let reservations of other partitions take note of jobs that one has started."""
        machine.disturbances += 1
        for other in self._by_tier:
            if other is not own:
                other.changed_until_s = max(other.changed_until_s, until_s)

    def _begin(self, machine: Machine) -> None:
        """Find the nodes of each partition, and those whose jobs share nothing with others."""
        self._begun = True
        for own in self._by_tier:
            own.inside = _inside(own, machine.cluster)
        reach = {own.name: _reach(own.inside, machine) for own in self._by_tier}
        for own in self._by_tier:
            others = [reach[name] for name in reach if name != own.name]
            mine = reach[own.name]
            own.apart = not any(a & b for other in others for a, b in zip(mine, other, strict=True))


def _goes_by_changes(policy: QueuePolicy) -> bool:
    """Say whether a queue starts jobs only when jobs come or end; others go by the time, too."""
    return type(policy).__name__ in {"Fcfs", "Easy"} or getattr(policy, "counts_nodes", False)


def _reach(inside: Sequence[int], machine: Machine) -> Sequence[int]:
    """Return the nodes of a partition, or, where jobs may own links, the pods that these are in."""
    cluster = machine.cluster
    if not cluster.leaf_width or fits_by_count(machine.allocator):
        return inside
    each = cluster.leaves_per_pod
    return [any(inside[first : first + each]) for first in range(0, len(inside), each)]


def _select_inside(own: _Partition, machine: Machine) -> list[float]:
    """Start jobs of a partition on its nodes; return when they are expected to end."""
    cluster, ends, expected_end_s = machine.cluster, machine.ends_ascending, machine.expected_end_s
    n_started = len(machine.started)
    own.running &= cluster.running.keys()
    own.fresh, own.closed, own.had_windows = False, cluster.closed, bool(machine.windows)
    machine.cluster = cluster.part(own.inside)
    if own.apart:
        machine.ends_ascending = [end for end in ends if end[1] in own.running]
        machine.expected_end_s = {number: expected_end_s[number] for number in own.running}
    try:
        own.policy.select(machine)
    finally:
        found = machine.expected_end_s
        machine.cluster, machine.ends_ascending = cluster, ends
        machine.expected_end_s = expected_end_s
    started = [allocation.job.id for allocation in machine.started[n_started:]]
    for allocation in machine.started[n_started:]:
        cluster.place(allocation)
    if own.apart:
        for number in started:
            expected_end_s[number] = found[number]
            insort(ends, (found[number], number))
    own.running.update(started)
    return [found[number] for number in started]


def _read(
    name: str,
    table: Mapping[str, Any],
    policy: str,
    options: Mapping[str, Any],
    window: int,
) -> tuple[_Partition, bool]:
    """Read a partition; return it, and whether it is the default one."""
    from inspect import signature  # noqa: PLC0415

    from scheduler.queues import POLICIES, make_policy  # noqa: PLC0415 (it knows this one)

    own = Table(table, f"partition {name!r}:", PolicyError)
    factory = POLICIES.get(policy)
    takes = factory is not None and "window" in signature(factory).parameters
    most_s = inf
    if "MaxTime" in own:
        found = slurm_duration(str(own.raw("MaxTime")))
        if not found:
            raise own.error("MaxTime", "a duration such as 1-00:00:00")
        most_s = found
    made = _Partition(
        name,
        own.text("nodes", ""),
        own.integer("MaxNodes", least=1) if "MaxNodes" in own else inf,
        most_s,
        own.integer("PriorityTier", 1),
        make_policy(policy, {**({"window": window} if takes else {}), **options}),
    )
    default = own.flag("Default", default=False)
    own.finish()
    return made, default


def _inside(partition: _Partition, cluster: Cluster) -> tuple[int, ...]:
    """Return the nodes of each group that a partition has."""
    if not partition.nodes:
        return cluster.leaf_nodes
    try:
        named = cluster.fabric.names.nodes([partition.nodes])
    except NetsimError as error:
        raise PolicyError(f"partition {partition.name!r}: nodes: {error}") from error
    masks = cluster.geometry.masks(named)
    return tuple(own & masks.get(leaf, 0) for leaf, own in enumerate(cluster.leaf_nodes))
