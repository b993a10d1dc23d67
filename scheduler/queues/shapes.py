"""Shapes: kinds of places that a machine offers, for policies that prefer one."""

from math import prod
from typing import Protocol

from netsim.topology.fattree import FatTree
from netsim.topology.torus import Torus
from scheduler.allocation import Allocation
from scheduler.allocators.torus import TorusChunk, chunk_boxes
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job
from scheduler.machine import Machine

ANY = "any"


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
