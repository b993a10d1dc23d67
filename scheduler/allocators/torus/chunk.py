"""Torus allocators of Yang: sub-torus chunks, compact contiguous (CC), non-contiguous (NC)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from netsim.topology.base import Topology
from netsim.topology.torus import Torus
from scheduler.allocation import Allocation
from scheduler.allocators.base import check_size, now_or_later
from scheduler.allocators.choices import check_choice, check_count
from scheduler.allocators.lists.ordered import Fifo
from scheduler.allocators.ordering import allocation_of, node_order
from scheduler.allocators.torus.shapes import Box, FreeBoxes, chunk_boxes, compact_boxes
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job

_BALANCE = ("any", "balanced", "unbalanced")


@dataclass(frozen=True, slots=True)
class TorusChunk:
    """
    A free box of routers of a given shape: 3D, 2D or 1D, balanced or not.

    Parameters
    ----------
    dimensions : int, default 0
        Sides of the box longer than one router; 0: any, more dimensions first.
    balance : {"any", "balanced", "unbalanced"}, default "any"
        Whether these sides must be equal; with "any", balanced boxes are tried first.

    Notes
    -----
    Yang, section VI-A, Table 1, and section VIII (a chunk {x, y, z} has x * y * z nodes),
    for any number of axes, every orientation, and boxes that go round a ring.

    What the paper leaves open: a size that is no product of such sides takes the first nodes
    of the smallest free box that holds it and leaves the others free for later jobs; of
    several boxes the one with least mean hops is tried first, and of its places the one with
    the lowest node number. Where routers have several nodes, a box is made of whole routers,
    but a job smaller than a router takes nodes side by side on one.
    """

    name: ClassVar[str] = "torus-chunk"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = False
    monotone_in_free: ClassVar[bool] = True

    dimensions: int = 0
    balance: str = "any"

    def __post_init__(self) -> None:
        """Check the options."""
        check_count("dimensions", self.dimensions, 0)
        check_choice("balance", self.balance, _BALANCE)

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return a free box of the shape asked for."""
        check_size(job, cluster)
        torus = _require_torus(self.name, cluster.fabric)
        routers = -(-job.n_nodes // torus.nodes_per_router)
        choices = chunk_boxes(torus, routers, self.dimensions, self.balance)
        if not choices:
            kind = f"{self.balance} " if self.balance != "any" else ""
            raise AllocationError(
                f"no {kind}box of {self.dimensions} dimensions holds {routers} routers of "
                f"{torus.name} (job {job.id})."
            )
        return now_or_later(_first_free(job, cluster, torus, choices), self.name, job, cluster)


@dataclass(frozen=True, slots=True)
class CompactContiguous:
    """
    CC: nodes that are contiguous, in the most compact free box there is.

    Notes
    -----
    Yang, section IX: "spacially contiguous and compact", as the partitions of Blue Gene
    are; the search is left open. Here boxes that hold the job and have no side to spare are
    tried by mean hops, so a job whose compact boxes are taken gets a longer one. The job
    takes the first nodes of the box, which are contiguous, and leaves the others free.
    """

    name: ClassVar[str] = "compact-contiguous"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return the most compact free box."""
        check_size(job, cluster)
        torus = _require_torus(self.name, cluster.fabric)
        routers = -(-job.n_nodes // torus.nodes_per_router)
        choices = compact_boxes(torus, routers)
        return now_or_later(_first_free(job, cluster, torus, choices), self.name, job, cluster)


@dataclass(frozen=True, slots=True)
class NonContiguous:
    """
    NC: the first free nodes along an ordering, however scattered.

    Parameters
    ----------
    order : str, default "row-major"
        The node ordering, a key of `scheduler.allocators.ordering.ORDERINGS`.

    Notes
    -----
    Yang, section IX: "without consideration about the adjacency of nodes", as on Cray's
    machines, which take them off an ordered list (its reference to ALPS). The same nodes as
    FIFO-0 of Stoltzfus13, on any machine.
    """

    name: ClassVar[str] = "non-contiguous"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True
    fits_by_count: ClassVar[bool] = True

    order: str = "row-major"

    def __post_init__(self) -> None:
        """Check the ordering."""
        Fifo(order=self.order)

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return the first free nodes."""
        return Fifo(order=self.order, k=0).allocate(job, cluster)


def _require_torus(allocator: str, fabric: Topology) -> Torus:
    """Refuse any other machine."""
    if not isinstance(fabric, Torus):
        raise AllocationError(f"allocator {allocator!r} needs a torus, got {fabric.name}.")
    return fabric


def _first_free(
    job: Job, cluster: Cluster, torus: Torus, choices: Iterable[Box]
) -> Allocation | None:
    """Return the job on the first of some boxes that is free somewhere."""
    if job.n_nodes > cluster.n_free:
        return None
    line = node_order("row-major", torus)
    free = FreeBoxes(torus, line.free(cluster), min(job.n_nodes, torus.nodes_per_router))
    for box in choices:
        nodes = free.find(box)
        if nodes is not None:
            return allocation_of(job, nodes[: job.n_nodes].tolist(), cluster.geometry)
    return None
