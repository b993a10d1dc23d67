"""Event models that are solved from scratch at every `solve`."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from netsim.contention.base import Traffic
from netsim.contention.cold import ColdSolution
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
        self._worst: Mapping[int, int] = {}
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
        solution = self._predict(self._jobs)
        self._worst = solution.worst_link
        changes = {
            job: value
            for job, value in solution.interference.items()
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
        return self._worst.get(job, -1)

    def _known(self, job: int) -> None:
        """Refuse a job that does not run."""
        if job not in self._jobs:
            raise ContentionError(f"job {job} has not been started.")
