"""Pinned: jobs start when and where a record says, up to a time; then another policy decides."""

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netsim.common.arrays import Ints
from scheduler.allocation import Allocation
from scheduler.geometry import Geometry
from scheduler.job import Job
from scheduler.machine import Machine, QueuePolicy
from scheduler.reasons import RECORDED, Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Pin:
    """When and where a job ran."""

    # start_s, end_s: in seconds, on the clock of the simulation
    start_s: float
    end_s: float
    ranks: Ints  # (n,): node of each rank; every node of the job is among them


class Pinned:
    """
    Starts jobs as a record says; those that it starts at `free_from_s` or later are free.

    A record may have two jobs on one node. The first holds it for the cluster; when it ends, the
    second does. Both send from it all the time.
    """

    name: ClassVar[str] = "pinned"

    def __init__(
        self, pins: Mapping[int, Pin], policy: QueuePolicy, free_from_s: float = float("inf")
    ) -> None:
        self._pins, self.inner, self._free_from_s = pins, policy, free_from_s
        self._due: list[tuple[float, int, Job]] = []  # heap
        self._later: list[Job] = []  # free jobs, while the queue is not
        self._lacking: dict[int, dict[int, int]] = {}  # masks that other jobs hold, by job

    def __repr__(self) -> str:
        return f"<Pinned: {len(self)} waiting>"

    def __len__(self) -> int:
        return len(self._due) + len(self._later) + len(self.inner)

    def submit(self, job: Job) -> None:
        """Take a job into the queue."""
        start_s = self._pins[job.id].start_s
        if start_s < self._free_from_s:
            heapq.heappush(self._due, (start_s, job.id, job))
        else:
            self._later.append(job)

    def select(self, machine: Machine) -> None:
        """Start every job that started now."""
        self._take_over(machine)
        while self._due and self._due[0][0] <= machine.now_s:
            self._start_pinned(heapq.heappop(self._due)[2], machine)
        if machine.now_s >= self._free_from_s:
            for job in self._later:
                self.inner.submit(job)
            self._later.clear()
            self.inner.select(machine)
        elif machine.wait_reasons is not None:
            machine.wait_reasons.rest = Verdict(RECORDED)
        if self._later:
            machine.wake(self._free_from_s)
        if self._due:
            machine.wake(self._due[0][0])

    def _start_pinned(self, job: Job, machine: Machine) -> None:
        """Start a job on its nodes, as far as no other job holds them."""
        cluster, ranks = machine.cluster, self._pins[job.id].ranks
        wanted = cluster.geometry.masks(np.unique(ranks).tolist())
        held = {leaf: mask & cluster.leaf_free[leaf] for leaf, mask in wanted.items()}
        machine.start(_pinned_allocation(job, cluster.geometry, held, ranks))
        lacking = {leaf: mask & ~held[leaf] for leaf, mask in wanted.items()}
        if any(lacking.values()):
            self._lacking[job.id] = lacking

    def _take_over(self, machine: Machine) -> None:
        """Let jobs hold the nodes that they shared with jobs that have ended."""
        cluster = machine.cluster
        for number, lacking in list(self._lacking.items()):
            here = cluster.running.get(number)
            if here is None:
                del self._lacking[number]
                continue
            more = {leaf: mask & cluster.leaf_free[leaf] for leaf, mask in lacking.items()}
            if not any(more.values()):
                continue
            held = {leaf: mask for leaf, mask, _ in here.leaves}
            for leaf, mask in more.items():
                held[leaf] = held.get(leaf, 0) | mask
                lacking[leaf] &= ~mask
            machine.disturbances += 1
            cluster.release(number)
            cluster.place(_pinned_allocation(here.job, cluster.geometry, held, here.nodes()))


def _pinned_allocation(
    job: Job, geometry: Geometry, held: Mapping[int, int], ranks: Ints
) -> Allocation:
    """Return a job on nodes of which it holds some for the cluster."""
    leaves = tuple((leaf, mask, 0) for leaf, mask in sorted(held.items()) if mask)
    return Allocation(job, geometry, leaves, order=tuple(ranks.tolist()))
