"""Model `null`: an infinite network, on which no job slows another."""

from collections.abc import Iterable, Mapping

from netsim.common.arrays import Ints
from netsim.common.errors import ContentionError
from netsim.flows.contention import Culprits, Traffic, no_culprits
from netsim.topology.base import Topology


class Null:
    """Every job has interference 1; what the others are compared with."""

    def __init__(self) -> None:
        self._jobs: set[int] = set()
        self._new: list[int] = []

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Null: {len(self._jobs)} jobs>"

    def start(self, job: int, traffic: Traffic) -> None:
        """Add a job."""
        del traffic
        if job in self._jobs:
            raise ContentionError(f"job {job} has been started already.")
        self._jobs.add(job)
        self._new.append(job)

    def end(self, job: int) -> None:
        """Take a job away."""
        if job not in self._jobs:
            raise ContentionError(f"job {job} has not been started.")
        self._jobs.remove(job)

    def solve(self) -> Mapping[int, float]:
        """Return 1 for every job that was started since the last call."""
        new, self._new = self._new, []
        return dict.fromkeys((job for job in new if job in self._jobs), 1.0)

    def blame(self, job: int) -> Mapping[int, float]:
        """Return nothing: no job delays another."""
        self.worst_link(job)
        return {}

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """Return nothing: no job delays another."""
        del jobs, kinds
        return no_culprits()

    def worst_link(self, job: int) -> int:
        """Return that no link holds a job up."""
        if job not in self._jobs:
            raise ContentionError(f"job {job} has not been started.")
        return -1


def null(topology: Topology, *, fairness: str) -> Null:
    """Build the model `null`."""
    del topology, fairness
    return Null()
