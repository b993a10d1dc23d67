"""Event models that are solved from scratch at every `solve`."""

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from netsim.arrays import Ints
from netsim.contention.base import Traffic
from netsim.contention.blame import Culprits, no_culprits
from netsim.contention.cold.fixedpoint import ColdSolution
from netsim.errors import ContentionError

_T = TypeVar("_T")


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
        predict: Callable[[Mapping[int, _T]], ColdSolution],
    ) -> None:
        self._prepare = prepare
        self._predict = predict
        self._jobs: dict[int, _T] = {}
        self._reported: dict[int, float] = {}
        self._solution = ColdSolution({}, {})
        self._changed = False

    def start(self, job: int, traffic: Traffic) -> None:
        """
        Add a job; its effect shows at the next `solve`.

        Parameters
        ----------
        job : int
            Identity of the job, not present yet.
        traffic : Traffic
            What it sends.

        Raises
        ------
        ContentionError
            If the job is present, or its traffic does not fit the fabric.
        """
        if job in self._jobs:
            raise ContentionError(f"job {job} has been started already.")
        self._jobs[job] = self._prepare(traffic)
        self._changed = True

    def end(self, job: int) -> None:
        """
        Take a job away; its effect shows at the next `solve`.

        Parameters
        ----------
        job : int
            Identity of a job that was started.

        Raises
        ------
        ContentionError
            If there is no such job.
        """
        self._known(job)
        del self._jobs[job]
        self._reported.pop(job, None)
        self._changed = True

    def solve(self) -> Mapping[int, float]:
        """
        Solve the jobs that run now, unless nothing has changed.

        Returns
        -------
        mapping of int to float
            Interference of every job that was started or whose value changed since the last
            `solve`.
        """
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
        """
        Return the link that holds a job up most, as of the last `solve`.

        Parameters
        ----------
        job : int
            Identity of a job that was started.

        Returns
        -------
        int
            The directed link that decides the step with the largest excess; -1 where no link
            holds the job up.

        Raises
        ------
        ContentionError
            If there is no such job.
        """
        self._known(job)
        return self._solution.worst_link.get(job, -1)

    def blame(self, job: int) -> Mapping[int, float]:
        """
        Return how much of a job's lost time each other job causes.

        Parameters
        ----------
        job : int
            Identity of a job that was started.

        Returns
        -------
        mapping of int to float
            Shares that add up to 1, largest first; empty where nobody holds the job up or the
            model does not tell.

        Raises
        ------
        ContentionError
            If there is no such job.
        """
        return self.culprits((job,)).by_culprit()

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """
        Return who holds jobs up, and on which class of links.

        Parameters
        ----------
        jobs : iterable of int
            Identities of jobs that were started.
        kinds : (E,) int array, optional
            Class of each link, 0, 1, ...; absent: all are of class 0.

        Returns
        -------
        Culprits
            Shares of each job's lost time, as of the last `solve`; empty where the model does
            not tell.

        Raises
        ------
        ContentionError
            If there is no such job.
        """
        asked = list(jobs)
        for job in asked:
            self._known(job)
        if self._solution.state is None:
            return no_culprits()
        solved = [job for job in asked if job in self._solution.interference]
        return self._solution.state.culprits(solved, kinds)

    def _known(self, job: int) -> None:
        """Refuse a job that does not run."""
        if job not in self._jobs:
            raise ContentionError(f"job {job} has not been started.")
