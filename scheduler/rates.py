"""RateModel: how fast running jobs progress; declared here, fulfilled by the coupling."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol, runtime_checkable

from fabricsim.checking import number
from netsim.topology.base import Topology
from scheduler.allocation import Allocation
from scheduler.errors import SchedulerError


@dataclass(frozen=True, slots=True)
class JobRate:
    """
    How a running job progresses until the next change.

    Parameters
    ----------
    interference : float
        Iteration time together / alone, at least 1 (exactly 1 where no link is shared).
    placement_factor : float
        Iteration time alone / ideal, at least 1.

    Raises
    ------
    SchedulerError
        If one of them is no positive number.
    """

    interference: float = 1.0
    placement_factor: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what no time can be divided by; true numbers pass without a second look."""
        for name in ("interference", "placement_factor"):
            value = getattr(self, name)
            if not isinstance(value, float) or not 0.0 < value < inf:
                number(name, value, positive=True, error=SchedulerError)

    @property
    def network_slowdown(self) -> float:
        """Together / ideal: the job's work advances at 1 / slowdown."""
        return self.interference * self.placement_factor


FULL_RATE = JobRate()


class JobRates(Mapping[int, JobRate]):
    """Rates of jobs in columns; a `JobRate` is made when one job's is looked up."""

    __slots__ = ("_place", "interference", "jobs", "placement_factor")

    def __init__(
        self, jobs: list[int], interference: list[float], placement_factor: list[float]
    ) -> None:
        for name, column in (
            ("interference", interference),
            ("placement_factor", placement_factor),
        ):
            for value in column:
                if type(value) is not float or not 0.0 < value < inf:
                    number(name, value, positive=True, error=SchedulerError)
        self.jobs, self.interference, self.placement_factor = jobs, interference, placement_factor
        self._place: dict[int, int] | None = None

    @classmethod
    def of(cls, job_rates: Mapping[int, JobRate]) -> "JobRates":
        """Return rates in columns, as they are where they are in columns already."""
        if isinstance(job_rates, JobRates):
            return job_rates
        values = job_rates.values()
        return cls(
            list(job_rates),
            [job_rate.interference for job_rate in values],
            [job_rate.placement_factor for job_rate in values],
        )

    def __len__(self) -> int:
        return len(self.jobs)

    def __iter__(self) -> Iterator[int]:
        return iter(self.jobs)

    def __getitem__(self, job: int) -> JobRate:
        """Return the rate of a job."""
        if self._place is None:
            self._place = {known: place for place, known in enumerate(self.jobs)}
        place = self._place[job]
        return JobRate(self.interference[place], self.placement_factor[place])


class RateModel(Protocol):
    """Says how starts and ends change the rate of running jobs."""

    def change(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> Mapping[int, JobRate]:
        """
        Take the changes of one instant and return the rates that changed.

        Parameters
        ----------
        ended, started : sequence of Allocation
            Jobs that left and came at this instant, in order.
        now_s : float
            The instant, in seconds.

        Returns
        -------
        mapping of int to JobRate
            By job id: every job of `started`, and any other running job whose rate
            changed.
        """


@runtime_checkable
class Rewirable(RateModel, Protocol):
    """A rate model of a network whose switches and cables may go down."""

    def rewire(self, topology: Topology) -> None:
        """Route the jobs that enter from now on by a fabric; no job is on the network."""


class UncoupledRateModel:
    """The uncoupled machine: every job progresses as the log says."""

    def change(
        self, ended: Sequence[Allocation], started: Sequence[Allocation], now_s: float
    ) -> Mapping[int, JobRate]:
        """Return full rate for the jobs that start."""
        del ended, now_s
        return {allocation.job.id: FULL_RATE for allocation in started}


@runtime_checkable
class JobClock(RateModel, Protocol):
    """
    A rate model that simulates jobs itself, and says when their work is done.

    The event loop lets it go on from instant to instant. The rate of such a job is how it has gone
    of late; nothing follows from it.
    """

    def moves(self, job: int) -> bool:
        """Say whether a running job is simulated, as long as it runs; others go at their rate."""

    def advance(self, until_s: float) -> float:
        """Go on to the first instant at which work is done, or to `until_s`; return the instant."""

    def done(self) -> Sequence[int]:
        """Return the jobs, ascending, whose work is done at the instant that was reached."""

    def interference_delay_s(self, job: int) -> float:
        """Return how much longer, in seconds, others have made a job run until now."""
