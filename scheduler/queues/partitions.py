"""Partitions: sets of nodes with a queue, limits and a priority each, as Slurm has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar, cast

from fabricsim.checking import Table, unknown, wrong
from netsim.common.errors import NetsimError
from scheduler.allocation import Allocation
from scheduler.allocators.base import Allocator
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.machine import Machine, QueuePolicy
from scheduler.reasons import NOT_REPORTED, WaitReasons
from scheduler.workload.slurm import slurm_duration

_COLUMNS = ("partition", "queue")  # of the log, with the name of a partition


class Restricted:
    """An allocator that sees some nodes as taken. `outside`: these nodes, of each group."""

    # what other partitions do about reservations is not known to a policy
    monotone_in_free: ClassVar[bool] = False

    def __init__(self, allocator: Allocator, outside: Sequence[int]) -> None:
        self.name, self.isolating = allocator.name, allocator.isolating
        self.monotone_in_size = allocator.monotone_in_size  # a policy asks for its own jobs alone
        self._allocator, self._outside = allocator, outside

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a placement on the other nodes."""
        if not cluster.partly:  # to count is quicker than to copy
            free = zip(cluster.leaf_free, self._outside, strict=True)
            if job.n_nodes > sum((own & ~out).bit_count() for own, out in free):
                return None
        inside = cluster.without(self._outside)
        return self._allocator.allocate(job, inside) if inside.has_nodes(job) else None

    def require_nodes(self, job: Job, cluster: Cluster, partition: str) -> None:
        """Refuse a job of more nodes than there are."""
        n_nodes = cluster.n_nodes - sum(mask.bit_count() for mask in self._outside)
        if job.n_nodes > n_nodes:
            raise PolicyError(
                f"job {job.id}: expected no more than the {n_nodes} nodes of partition "
                f"{partition!r}, got {job.n_nodes} nodes."
            )


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
    allocator: Restricted | None = None
    submitted: list[Job] = field(default_factory=list)  # since the last pass


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

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Partitions {', '.join(self._of)}: {len(self)} waiting>"

    def __len__(self) -> int:
        """Return the number of waiting jobs."""
        return sum(len(own.policy) for own in self._of.values())

    @property
    def shares_nodes(self) -> bool:
        """Whether it is right where jobs share nodes."""
        return all(getattr(own.policy, "shares_nodes", False) for own in self._of.values())

    def submit(self, job: Job) -> None:
        """Put a job into the queue of its partition."""
        columns = {name.lower(): text for name, text in job.extra}
        names = [*(columns[name] for name in _COLUMNS if name in columns), str(job.queue)]
        name = next((name for name in names if name in self._of), self._default)
        if name is None:
            what = unknown("partition", names[0], tuple(self._of))
            raise PolicyError(f"job {job.id}: {what}")
        own = self._of[name]
        if job.n_nodes > own.most_nodes or job.requested_s > own.most_s:
            got, least = (
                (f"{job.n_nodes} nodes", f"MaxNodes = {own.most_nodes:g}")
                if job.n_nodes > own.most_nodes
                else (f"{job.requested_s:g} s", f"MaxTime = {own.most_s:g} s")
            )
            raise PolicyError(
                f"job {job.id}: expected no more than {least} of partition {name!r}, got {got}."
            )
        own.submitted.append(job)
        own.policy.submit(job)

    def select(self, machine: Machine) -> None:
        """Start jobs of each partition on its nodes."""
        allocator, reasons = machine.allocator, machine.wait_reasons
        for own in self._by_tier:
            if own.allocator is None:
                own.allocator = Restricted(allocator, _outside(own, machine.cluster))
            for job in own.submitted:
                own.allocator.require_nodes(job, machine.cluster, own.name)
            own.submitted.clear()
            if not len(own.policy):
                continue
            machine.allocator = cast("Allocator", own.allocator)
            n_started = len(machine.started)
            if reasons is not None:
                own.reasons.begin()
                machine.wait_reasons = own.reasons
            try:
                own.policy.select(machine)
            finally:
                machine.allocator, machine.wait_reasons = allocator, reasons
            if len(machine.started) > n_started:
                machine.disturbances += 1  # of the reservations in other partitions
            if reasons is not None:
                reasons.news |= own.reasons.news
                reasons.rest = own.reasons.rest or NOT_REPORTED


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


def _outside(partition: _Partition, cluster: Cluster) -> list[int]:
    """Return the nodes of each group that a partition has not."""
    if not partition.nodes:
        return [0] * cluster.n_leaves
    try:
        named = cluster.fabric.names.nodes([partition.nodes])
    except NetsimError as error:
        raise PolicyError(f"partition {partition.name!r}: nodes: {error}") from error
    masks = cluster.geometry.masks(named)
    return [own & ~masks.get(leaf, 0) for leaf, own in enumerate(cluster.leaf_nodes)]
