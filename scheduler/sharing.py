"""Jobs that ask for less than whole nodes, and jobs of several sizes: where they may run."""

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar, NamedTuple

from scheduler.allocation import Allocation, NodeUnits, lowest_bits, mask_bits
from scheduler.allocators.base import Allocator, check_size
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError, PolicyError, WorkloadError
from scheduler.job import Job


class _Choice(NamedTuple):
    """Nodes of a job that shares them, by their places."""

    partly: list[int]  # others run there already
    fresh: Allocation | None  # the rest


class Sharing:
    """
    An allocator on nodes that jobs share.

    A job of whole nodes goes where the allocator puts it. One that asks for less goes to nodes that
    others use in part first, those with the least left, then the lowest; the allocator chooses the
    nodes still missing. It gets the same GPUs of each node where these are free, else the lowest.

    `inner`: Chooses among nodes that are wholly free.
    """

    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = False  # a small share may find room where a large one fails
    monotone_in_free: ClassVar[bool] = False

    def __init__(self, inner: Allocator) -> None:
        if getattr(inner, "isolating", False):
            raise AllocationError(
                f"allocator {inner.name!r}: jobs own links, so expected none that share nodes and "
                "their links ([scheduler] node)."
            )
        self.name, self.inner = inner.name, inner

    def __repr__(self) -> str:
        return f"<Sharing of {self.inner!r}>"

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a placement on partly used nodes first."""
        share = cluster.share_of(job)
        if share is None:
            return self.inner.allocate(job, cluster)
        check_size(job, cluster)
        chosen = self._choose(job, cluster, share)
        if chosen is None:
            return None
        masks = {leaf: mask for leaf, mask, _ in chosen.fresh.leaves} if chosen.fresh else {}
        width = cluster.nodes_per_leaf
        places = [leaf * width + bit for leaf, mask in masks.items() for bit in mask_bits(mask)]
        for place in chosen.partly:
            leaf, bit = divmod(place, width)
            masks[leaf] = masks.get(leaf, 0) | 1 << bit
        places += chosen.partly
        return Allocation(
            job,
            cluster.geometry,
            tuple((leaf, masks[leaf], 0) for leaf in sorted(masks)),
            order=_order(chosen, cluster),
            share=share,
            gpus=_gpus(places, share.gpus, cluster) if share.gpus else (),
            part=cluster.weight(job) / job.n_nodes,
        )

    def _choose(self, job: Job, cluster: Cluster, share: NodeUnits) -> _Choice | None:
        """Choose nodes, the partly used ones first."""
        partly = cluster.with_room(share)[: job.n_nodes]
        missing = job.n_nodes - len(partly)
        if not missing:
            return _Choice(partly, None)
        if missing > cluster.n_free:
            return None
        fresh = self.inner.allocate(replace(job, n_nodes=missing), cluster)
        return None if fresh is None else _Choice(partly, fresh)


def _order(chosen: _Choice, cluster: Cluster) -> tuple[int, ...] | None:
    """Return the nodes in the order of ranks, where the allocator has one of its own."""
    if chosen.fresh is None or chosen.fresh.order is None:
        return None
    geometry, width = cluster.geometry, cluster.nodes_per_leaf
    first = [geometry.numbers(at // width, [at % width])[0] for at in sorted(chosen.partly)]
    return (*first, *chosen.fresh.order)


def _gpus(places: list[int], n_gpus: int, cluster: Cluster) -> tuple[tuple[int, int], ...]:
    """Choose GPUs of each node: the same ones where possible, else the lowest free."""
    free = {place: cluster.free_gpus(place) for place in sorted(places)}
    common = -1
    for mask in free.values():
        common &= mask
    if common.bit_count() >= n_gpus:
        own = lowest_bits(common, n_gpus)
        return tuple((place, own) for place in free)
    return tuple((place, lowest_bits(mask, n_gpus)) for place, mask in free.items())


def require_sharing(policy: object) -> None:
    """Refuse a built-in queue policy that counts whole nodes."""
    policy = getattr(policy, "inner", policy)
    if not getattr(policy, "shares_nodes", not type(policy).__module__.startswith("scheduler.")):
        raise PolicyError(
            f"queue policy {getattr(policy, 'name', type(policy).__name__)!r}: where jobs share "
            "nodes, expected fcfs, easy, sjf, priority, multifactor or partitions, with "
            "reservation R2 and reservation_depth 0 or 1: others count whole nodes."
        )


def refuse_many_sizes(job: Job, place: str) -> None:
    """Refuse a moldable job where the size has to be known before it starts."""
    if job.sizes:
        raise PolicyError(f"{place}: job {job.id}: expected jobs of one size, got several sizes.")


def require_molding(jobs: Iterable[Job], cluster: Cluster, policy: object) -> None:
    """Refuse moldable jobs that are larger than the machine, or where none can be scheduled."""
    found = [job for job in jobs if job.sizes]
    if not found:
        return
    if cluster.node is not None:
        refuse_many_sizes(found[0], "where jobs share nodes")
    own = getattr(policy, "inner", policy)
    if not getattr(own, "molds_jobs", not type(own).__module__.startswith("scheduler.")):
        refuse_many_sizes(found[0], f"queue policy {getattr(own, 'name', type(own).__name__)!r}")
    for job in found:
        for size, _ in job.sizes:
            if size > cluster.n_nodes:
                raise WorkloadError(
                    f"job {job.id}: sizes: expected at most the {cluster.n_nodes} nodes of the "
                    f"machine, got {size}."
                )
