"""Queues in another order than that of submission, with EASY backfilling."""

from collections.abc import Callable
from typing import ClassVar

from fabricsim.checking import choice, number
from scheduler.errors import PolicyError
from scheduler.queues.easy import Easy, reach_of
from scheduler.queues.sorted_line import FairShareLine, SortedLine
from scheduler.queues.waiting import Line, WaitingLine

DAY_S = 86400.0


class Sjf(Easy):
    """
    Shortest job first: waiting jobs by their expected run time, with EASY backfilling.

    Parameters
    ----------
    window : int, default 50
        Waiting jobs behind the first that are tried; 0: nobody overtakes the shortest.
    reservation : {"R2", "R3", "node-count"}
        As for `Easy`.

    Notes
    -----
    Long jobs may starve while shorter ones are submitted. A newcomer at the front takes over
    the reservation.
    """

    name: ClassVar[str] = "sjf"

    def __init__(self, window: int = 50, reservation: str = "R2") -> None:
        super().__init__(window, reservation)
        self._line = SortedLine(reach_of(window), lambda job, machine: machine.estimate_s(job))


class Priority(Easy):
    """
    Waiting jobs by priority, with EASY backfilling.

    Parameters
    ----------
    key : {"wait", "size", "requested", "fair-share"}
        What decides; equal jobs in the order of submission. ``wait``: the longest waiting job
        first, which is `Easy`. ``size``: the largest first, as Slurm's job size factor.
        ``requested``: the shortest requested time first. ``fair-share``: jobs of the user first
        who has used the fewest node-seconds, where use fades as Slurm's
        ``PriorityDecayHalfLife`` makes it fade.
    half_life_days : float, default 7
        For ``fair-share``: after which a use counts half; Slurm's default.
    window : int, default 50
        Waiting jobs behind the first that are tried; 0: nobody overtakes the first.
    reservation : {"R2", "R3", "node-count"}
        As for `Easy`.
    """

    name: ClassVar[str] = "priority"

    def __init__(
        self,
        key: str = "wait",
        half_life_days: float = 7.0,
        window: int = 50,
        reservation: str = "R2",
    ) -> None:
        super().__init__(window, reservation)
        half_life_days = number("half_life_days", half_life_days, positive=True, error=PolicyError)
        reach = reach_of(window)
        lines: dict[str, Callable[[], Line]] = {
            "wait": lambda: WaitingLine(reach),
            "size": lambda: SortedLine(reach, lambda job, _: -job.n_nodes),
            "requested": lambda: SortedLine(reach, lambda job, _: job.requested_s),
            "fair-share": lambda: FairShareLine(reach, half_life_days * DAY_S),
        }
        self._line = lines[choice("key", key, lines, error=PolicyError)]()
