"""Event models that are solved from scratch at every `solve`."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from netsim.arrays import Ints
from netsim.contention.base import Traffic
from netsim.contention.blame import Culprits, no_culprits
from netsim.errors import ContentionError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """
    What a model says about jobs that run together, found from scratch.

    Parameters
    ----------
    interference : dict of int to float
        Iteration time together / alone of each job, at least 1.
    worst_link : dict of int to int
        Directed link that decides the step of the job with the largest excess; -1 for none.
    """

    interference: dict[int, float]
    worst_link: dict[int, int]


class Recomputed(Generic[_T]):
    """
    A contention model that keeps only which jobs run.

    Parameters
    ----------
    prepare : callable of Traffic
        What is kept of a job's traffic.
    predict : callable of mapping of int to what is kept
        Interference and worst link of each of the jobs that run together.
    """

    def __init__(
        self,
        prepare: Callable[[Traffic], _T],
        predict: Callable[[Mapping[int, _T]], Solution],
    ) -> None:
        self._prepare = prepare
        self._predict = predict
        self._jobs: dict[int, _T] = {}
        self._reported: dict[int, float] = {}
        self._solution = Solution({}, {})
        self._changed = False

    def __repr__(self) -> str:
        """Return one line."""
        return f"<{type(self).__name__}: {len(self._jobs)} jobs>"

    def start(self, job: int, traffic: Traffic) -> None:
        """Add a job; its effect shows at the next `solve`."""
        if job in self._jobs:
            raise ContentionError(f"job {job} has been started already.")
        self._jobs[job] = self._prepare(traffic)
        self._changed = True

    def end(self, job: int) -> None:
        """Take a job away; its effect shows at the next `solve`."""
        self._known(job)
        del self._jobs[job]
        self._reported.pop(job, None)
        self._changed = True

    def solve(self) -> Mapping[int, float]:
        """Solve the jobs that run now, unless nothing has changed."""
        if not self._changed:
            return {}
        self._changed = False
        self._solution = self._predict(self._jobs)
        changes = {
            job: value
            for job, value in self._solution.interference.items()
            if self._reported.get(job) != value
        }
        self._reported.update(changes)
        return changes

    def worst_link(self, job: int) -> int:
        """Return the link that holds a job up most, as of the last `solve`."""
        self._known(job)
        return self._solution.worst_link.get(job, -1)

    def blame(self, job: int) -> Mapping[int, float]:
        """Return how much of a job's lost time each other job causes."""
        return self.culprits((job,)).by_culprit()

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """Return nothing: these models do not attribute lost time."""
        del kinds
        for job in jobs:
            self._known(job)
        return no_culprits()

    def _known(self, job: int) -> None:
        """Refuse a job that does not run."""
        if job not in self._jobs:
            raise ContentionError(f"job {job} has not been started.")
