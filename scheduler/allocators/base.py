"""Allocator: the protocol, and the checks of jobs, fabrics and options that allocators share."""

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import ClassVar, Protocol, cast, runtime_checkable

from fabricsim.checking import choice, flag, whole
from netsim.common.errors import TopologyError
from netsim.flows.host_tree import host_tree
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.gpucluster import GpuCluster
from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job

BEST_FIT, INDEX = "best-fit", "index"
_TWO_LEVELS, _THREE_LEVELS = 2, 3


check_choice = partial(choice, error=AllocationError)
check_flag = partial(flag, error=AllocationError)
check_count = partial(whole, error=AllocationError)


@lru_cache(maxsize=16)
def require_tree(allocator: str, fabric: Topology) -> FatTree:
    """Return the fabric as a two- or three-level fat-tree, whole or not, with any cables."""
    need = f"allocator {allocator!r} needs a fat-tree of 2 or 3 levels with one link per node, got"
    if isinstance(fabric, GpuCluster):
        try:
            return host_tree(fabric).tree
        except TopologyError as error:
            raise AllocationError(f"allocator {allocator!r}: {error}") from None
    if not isinstance(fabric, FatTree):
        why = fabric.origin.irregularity.rstrip(".") if fabric.origin is not None else ""
        hint = "as_tree = true in its description takes it as one of which parts are missing"
        raise AllocationError(f"{need} {fabric.name}{f': {why}; {hint}' if why else ''}.")
    if fabric.levels not in (_TWO_LEVELS, _THREE_LEVELS) or fabric.ports[0] != 1:
        raise AllocationError(f"{need} {fabric.name}.")
    return fabric


def largest(fits: Callable[[int], object], size: int) -> str:
    """
    Say how large a job may be that owns an uplink for each of its nodes on several leaves.

    `fits`: places a job of so many nodes on the empty machine, or returns None.
    """
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) is None else (middle, high)
    return (
        f" On several leaves a job owns as many uplinks as nodes on each, to the same switches: "
        f"{low} nodes fit."
    )


class Allocator(Protocol):
    """
    Chooses where a job runs; never changes the cluster.

    Attributes
    ----------
    name : str
        Key in the registry.
    isolating : bool
        Jobs never share a link under the routing that fits the allocator.
    monotone_in_size : bool
        If it finds no placement for n nodes now, it finds none for more, whatever the job.
        Queue policies save tries by it.
    monotone_in_free : bool
        Freeing nodes or links never turns a placement into a refusal. Queue policies remember
        refusals by it.
    fits_by_count : bool
        It refuses a job only where fewer nodes are free than the job wants, and holds no more than
        it wants: nodes are counted then instead of asking, unless parts of the machine are not
        joined. May be left out where it does not hold, and has to be repeated by a class with an
        `allocate` of its own.
    """

    name: ClassVar[str]
    isolating: ClassVar[bool]
    monotone_in_size: ClassVar[bool]
    monotone_in_free: ClassVar[bool]

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """
        Return a placement in the free part of a cluster.

        Parameters
        ----------
        job : Job
            Only its size, id and communication are looked at.
        cluster : Cluster
            The machine as it is; left unchanged.

        Returns
        -------
        Allocation or None
            None when the job does not fit now.

        Raises
        ------
        AllocationError
            If the job can never run on this machine.
        """


class OnAnyNodes:
    """What allocators claim that look at free nodes alone: see `Allocator`."""

    __slots__ = ()
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True


@runtime_checkable
class Bounded(Protocol):
    """An allocator whose searches end after so many steps; `out_of_steps` counts those given up."""

    out_of_steps: int  # searches given up so far: a reader of the result must know


class Exhaustive(Allocator, Protocol):
    """
    An allocator that finds a place wherever there is one of its kind.

    Its placements depend on the free part of the machine and the job's size alone, and wherever a
    place that it has found for a size is free, it finds one for that size. Queue policies look at
    the places that it has found before they ask. A class with an `allocate` of its own has to
    define the methods again.
    """

    def no_room_beside(self, job: Job, cluster: Cluster, other: Allocation) -> bool:
        """
        Say whether it is plain, without a search, that a job finds no place beside another.

        True when `allocate` would return None once the other one is placed; False says nothing.
        Only the job's size is looked at.
        """

    def most_nodes(self, cluster: Cluster) -> int:
        """Return a size, without a search, beyond which no job finds a place."""

    def no_room_in(self, job: Job, cluster: Cluster, nodes: int) -> bool:
        """
        Say whether it is plain, without a search, that a job finds no place on some nodes.

        `nodes`: those that are free, as in `Footprint`. True when `allocate` would return None with
        only these free, whatever links are; False says nothing.
        """


def fits_by_count(allocator: Allocator) -> bool:
    """Return an allocator's own claim; a class that overrides `allocate` does not inherit it."""
    return bool(_own_claim(type(allocator), "fits_by_count"))


def exhaustive(allocator: Allocator) -> Exhaustive | None:
    """Return an allocator if it is `Exhaustive`."""
    return cast("Exhaustive", allocator) if _is_exhaustive(type(allocator)) else None


@cache
def _is_exhaustive(kind: type[Allocator]) -> bool:
    """Say whether a class knows all that `Exhaustive` asks for."""
    return all(_own_claim(kind, name) for name in ("no_room_beside", "no_room_in", "most_nodes"))


def _own_claim(kind: type[Allocator], name: str) -> object:
    """Return the claim of the class that defines `allocate`, or of one derived from it."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
        if "allocate" in vars(base):
            break
    return None


def check_size(job: Job, cluster: Cluster) -> None:
    """Refuse a job that no state of the machine can hold."""
    if not 1 <= job.n_nodes <= cluster.n_nodes:
        raise AllocationError(
            f"n_nodes must be in 1..{cluster.n_nodes}, got {job.n_nodes} (job {job.id})."
        )


def now_or_later(
    found: Allocation | None,
    allocator: str,
    job: Job,
    cluster: Cluster,
    why: Callable[[], str] | None = None,
) -> Allocation | None:
    """Distinguish "not now" from "never", and add the likely cause."""
    if found is None and not cluster.running and cluster.closed is None:
        where = "the empty machine" if cluster.inside is None else "its empty partition"
        raise AllocationError(
            f"job {job.id} of {job.n_nodes} nodes does not fit under allocator {allocator!r}, "
            f"even on {where}: {cluster.fabric.name} with {cluster.n_free} usable nodes."
            + (why() if why else "")
        )
    return found
