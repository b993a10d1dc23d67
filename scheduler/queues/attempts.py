"""Attempts: placements asked for in one pass over the queue, without asking twice in vain."""

from math import inf

from scheduler.allocation import Allocation
from scheduler.allocators.base import exhaustive
from scheduler.job import Job
from scheduler.machine import Machine


class Attempts:
    """
    Places jobs, and remembers what the allocator has refused in this pass.

    Parameters
    ----------
    machine : Machine
        Its free nodes only become fewer while this object is used. If its allocator is monotone
        in size, the smallest refused size covers all larger ones.
    """

    __slots__ = ("_least", "_machine", "_monotone", "_sizes")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._monotone = machine.allocator.monotone_in_size
        sure = exhaustive(machine.allocator)
        self._least = inf if sure is None else sure.most_nodes(machine.cluster) + 1
        self._sizes: set[int] = set()

    def useless(self, job: Job) -> bool:
        """
        Say whether trying a job is useless.

        Result: True when its size, or for a monotone allocator a smaller one, was refused.
        """
        size = job.n_nodes
        return size >= self._least or size in self._sizes

    def place(self, job: Job) -> Allocation | None:
        """
        Ask the allocator for a placement now.

        Result: None when it does not fit now, or only on more switches than it wants.
        """
        machine = self._machine
        found = machine.try_to_place(job)
        if found is None and (machine.limit is None or not machine.limit.wanted(job)[0]):
            if self._monotone:
                self._least = min(self._least, job.n_nodes)
            else:
                self._sizes.add(job.n_nodes)
        return found
