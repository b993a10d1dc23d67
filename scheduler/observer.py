"""Observer: who watches a simulation, and changes nothing."""

from collections.abc import Callable, Mapping, Sequence

from scheduler.allocation import Allocation
from scheduler.job import Job
from scheduler.rates import JobRate
from scheduler.reasons import Verdict


class Observer:
    """
    Watches a simulation; derive from it and write the methods for what you want to hear of.

    At each instant the calls come in the order in which they stand here.
    """

    def __repr__(self) -> str:
        """Return one line."""
        return f"<{type(self).__name__}>"

    def submitted(self, jobs: Sequence[Job], now_s: float) -> None:
        """
        Hear who has joined the queue.

        Parameters
        ----------
        jobs : sequence of Job
            Submitted at this instant, at least one.
        now_s : float
            The instant, in seconds.
        """

    def deciding(self, now_s: float) -> None:
        """
        Hear that the queue policy is about to be asked.

        Parameters
        ----------
        now_s : float
            The instant, in seconds.
        """

    def decided(self, now_s: float) -> None:
        """
        Hear that the queue policy has started what it wanted to start.

        Parameters
        ----------
        now_s : float
            The instant, in seconds.
        """

    def waiting(self, news: Mapping[int, Verdict | None], rest: Verdict, now_s: float) -> None:
        """
        Hear why jobs go on waiting.

        Parameters
        ----------
        news : mapping of int to (Verdict or None)
            By job id: of jobs that the queue policy looked at and that go on waiting, those for
            another reason than before. None: it did not look at the job any more.
        rest : Verdict
            What holds for all jobs that it did not look at.
        now_s : float
            The instant, in seconds.

        Notes
        -----
        Policies find reasons only where an observer has this method.
        """

    def changed(
        self,
        ended: Sequence[Allocation],
        started: Sequence[Allocation],
        job_rates: Mapping[int, JobRate],
        now_s: float,
    ) -> None:
        """
        Hear who left, who came, and whose rate is another from now on.

        Parameters
        ----------
        ended, started : sequence of Allocation
            Jobs that left and came at this instant, in order; not both are empty.
        job_rates : mapping of int to JobRate
            What the rate model said: by job id, of those that started or have another rate.
        now_s : float
            The instant, in seconds.
        """

    def passed(self, n_ended: int, now_s: float) -> None:
        """
        Hear that an instant is over.

        Parameters
        ----------
        n_ended : int
            Jobs that have ended so far.
        now_s : float
            The instant, in seconds.
        """


class Observers:
    """
    Callbacks of the observers of a simulation, by event.

    Parameters
    ----------
    observers : sequence of Observer
        In the order in which they are called.

    Attributes
    ----------
    submitted, deciding, decided, waiting, changed, passed : list of callable
        The methods of this name, of the observers that override it.
    """

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.submitted = _overridden(observers, "submitted")
        self.deciding = _overridden(observers, "deciding")
        self.decided = _overridden(observers, "decided")
        self.waiting = _overridden(observers, "waiting")
        self.changed = _overridden(observers, "changed")
        self.passed = _overridden(observers, "passed")


def _overridden(observers: Sequence[Observer], name: str) -> list[Callable[..., None]]:
    """Return the methods of a name that observers override."""
    silent = getattr(Observer, name)
    return [getattr(each, name) for each in observers if getattr(type(each), name) is not silent]
