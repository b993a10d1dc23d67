"""Observer: callbacks of a simulation, which change nothing."""

from collections.abc import Callable, Mapping, Sequence

from scheduler.allocation import Allocation
from scheduler.job import Job
from scheduler.rates import JobRate
from scheduler.reasons import Verdict


class Observer:
    """
    Callbacks of a simulation: derive from it and override those that you need.

    At each instant the calls come in the order in which they stand here.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def on_submit(self, jobs: Sequence[Job], now_s: float) -> None:
        """
        Receive the jobs that have joined the queue.

        Parameters
        ----------
        jobs : sequence of Job
            Submitted at this instant, at least one.
        now_s : float
            The instant, in seconds.
        """

    def on_decide(self, now_s: float) -> None:
        """
        Take note that the queue policy is asked next.

        Parameters
        ----------
        now_s : float
            The instant, in seconds.
        """

    def on_decided(self, now_s: float) -> None:
        """
        Take note that the queue policy has started its jobs.

        Parameters
        ----------
        now_s : float
            The instant, in seconds.
        """

    def on_wait(self, news: Mapping[int, Verdict | None], rest: Verdict, now_s: float) -> None:
        """
        Receive the reasons for which jobs go on waiting.

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

    def on_change(
        self,
        ended: Sequence[Allocation],
        started: Sequence[Allocation],
        job_rates: Mapping[int, JobRate],
        now_s: float,
    ) -> None:
        """
        Receive the jobs that ended or started, and the rates that changed.

        Parameters
        ----------
        ended, started : sequence of Allocation
            Jobs that left and came at this instant, in order; not both are empty.
        job_rates : mapping of int to JobRate
            By job id, of the jobs that started or have another rate.
        now_s : float
            The instant, in seconds.
        """

    def on_instant(self, n_ended: int, now_s: float) -> None:
        """
        Take note that an instant is over.

        Parameters
        ----------
        n_ended : int
            Jobs that have ended so far.
        now_s : float
            The instant, in seconds.
        """


class Observers:
    """Callbacks of observers by event: of each event, the methods that override it, in order."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.on_submit = _overridden_methods(observers, "on_submit")
        self.on_decide = _overridden_methods(observers, "on_decide")
        self.on_decided = _overridden_methods(observers, "on_decided")
        self.on_wait = _overridden_methods(observers, "on_wait")
        self.on_change = _overridden_methods(observers, "on_change")
        self.on_instant = _overridden_methods(observers, "on_instant")


def _overridden_methods(observers: Sequence[Observer], name: str) -> list[Callable[..., None]]:
    """Return the methods of a name that observers override."""
    silent = getattr(Observer, name)
    return [getattr(each, name) for each in observers if getattr(type(each), name) is not silent]
