"""Stopwatch: an observer that takes the time of scheduling decisions."""

import time

from scheduler.observer import Observer


class Stopwatch(Observer):
    """
    Takes the CPU time of a queue policy and its allocator.

    Notes
    -----
    To read the clock of CPU time is a call of the system, as long as a short decision. So the clock
    on the wall is read around each decision, and decisions have the same share of the CPU time
    since the watch was made as of the time on the wall.
    """

    def __init__(self) -> None:
        self._decided_s = self._begin_s = 0.0
        self._made_s = time.perf_counter(), time.thread_time()

    @property
    def cpu_s(self) -> float:
        """
        CPU seconds of all decisions so far.

        What Smith21, Table 3, divides by the number of jobs as scheduling time per job.
        """
        wall_s, cpu_s = self._made_s
        passed_s = time.perf_counter() - wall_s
        return self._decided_s * (time.thread_time() - cpu_s) / passed_s if passed_s else 0.0

    def on_decide(self, now_s: float) -> None:
        """Start the watch."""
        del now_s
        self._begin_s = time.perf_counter()

    def on_decided(self, now_s: float) -> None:
        """Stop the watch."""
        del now_s
        self._decided_s += time.perf_counter() - self._begin_s
