"""Queues in another order than that of submission, with EASY backfilling."""

from collections.abc import Callable
from math import exp2
from typing import ClassVar

from fabricsim.checking import choice, number
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues.easy import Easy, reach_of
from scheduler.queues.limits import UserLimits
from scheduler.queues.waiting import Line, SortedLine, WaitingLine


class FairShareLine:
    """
    Waiting jobs, those of the users with the least use first.

    A user's use is the node-seconds (nodes x expected run time) of its jobs at their start, halved
    every half-life, as Slurm's ``PriorityDecayHalfLife`` does; jobs of one user stay in the order
    of submission, and users of equal use come in the order of their first job.
    """

    __slots__ = ("_count", "_half_life_s", "_machine", "_reach", "_since_s", "_used", "_users")
    stable: ClassVar[bool] = False

    def __init__(self, reach: int, half_life_s: float) -> None:
        self._reach = reach
        self._half_life_s = half_life_s
        self._users: dict[int, list[Job]] = {}
        self._used: dict[int, float] = {}  # node-seconds, as they count at `_since_s`
        self._since_s = 0.0
        self._count = 0
        self._machine: Machine | None = None

    def __len__(self) -> int:
        return self._count

    def append(self, job: Job) -> None:
        """Take a job."""
        self._users.setdefault(job.user, []).append(job)
        self._used.setdefault(job.user, 0.0)
        self._count += 1

    def settle(self, machine: Machine) -> None:
        """Let the use of the past fade."""
        factor = exp2((self._since_s - machine.now_s) / self._half_life_s)
        for user in self._used:
            self._used[user] *= factor
        self._since_s, self._machine = machine.now_s, machine

    def head(self) -> Job | None:
        """Return the first job."""
        waiting = [user for user, jobs in self._users.items() if jobs]
        return self._users[min(waiting, key=self._used.__getitem__)][0] if waiting else None

    def reachable(self) -> list[Job]:
        """Return the first jobs of the line."""
        found: list[Job] = []
        for user in sorted(self._users, key=self._used.__getitem__):
            found += self._users[user][: self._reach - len(found)]
        return found

    def remove(self, job: Job) -> None:
        """Take out a job that starts, and charge its user."""
        jobs = self._users[job.user]
        del jobs[next(index for index, waiting in enumerate(jobs) if waiting.id == job.id)]
        self._count -= 1
        if self._machine is not None:
            used = self._machine.cluster.weight(job) * self._machine.estimate_s(job)
            self._used[job.user] += used


DAY_S = 86400.0


class Sjf(Easy):
    """
    Shortest job first, by expected run time, with EASY backfilling.

    Long jobs may starve while shorter ones are submitted. A newcomer at the front takes over the
    reservation.

    `window`: Waiting jobs behind the first that are tried; 0: no job overtakes the shortest.
    `reservation`, `reservation_depth`: As for `Easy`.
    """

    name: ClassVar[str] = "sjf"

    def __init__(
        self, window: int = 50, reservation: str = "R2", reservation_depth: int | str = 1
    ) -> None:
        super().__init__(window, reservation, reservation_depth)
        self._line = SortedLine(reach_of(window), lambda job, machine: machine.estimate_s(job))


class Priority(Easy):
    """
    Waiting jobs by priority, with EASY backfilling.

    `key`: What decides; equal jobs in the order of submission. ``wait``: the longest waiting job
    first, which is `Easy`. ``size``: the largest first, as Slurm's job size factor. ``requested``:
    the shortest requested time first. ``fair-share``: jobs of the user with the fewest node-seconds
    first, where use fades as Slurm's ``PriorityDecayHalfLife`` makes it fade. `half_life_days`: For
    ``fair-share``: after which a use counts half; Slurm's default. `window`: Waiting jobs behind
    the first that are tried; 0: no job overtakes the first. `reservation`, `reservation_depth`: As
    for `Easy`.
    """

    name: ClassVar[str] = "priority"

    def __init__(
        self,
        key: str = "wait",
        half_life_days: float = 7.0,
        window: int = 50,
        reservation: str = "R2",
        reservation_depth: int | str = 1,
    ) -> None:
        super().__init__(window, reservation, reservation_depth)
        half_life_days = number("half_life_days", half_life_days, positive=True, error=PolicyError)
        reach = reach_of(window)
        lines: dict[str, Callable[[], Line]] = {
            "wait": lambda: WaitingLine(reach),
            "size": lambda: SortedLine(reach, lambda job, _: -job.n_nodes),
            "requested": lambda: SortedLine(reach, lambda job, _: job.requested_s),
            "fair-share": lambda: FairShareLine(reach, half_life_days * DAY_S),
        }
        self._line = lines[choice("key", key, lines, error=PolicyError)]()

    def limit_users(self, limits: UserLimits) -> None:
        """Keep the limits of users."""
        if isinstance(self._line, FairShareLine):
            raise PolicyError("limits: expected another key than fair-share, such as multifactor.")
        super().limit_users(limits)
