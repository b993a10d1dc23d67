"""Stopwatch: an observer that takes the time of scheduling decisions."""

import time

from scheduler.observer import Observer


class Stopwatch(Observer):
    """
    Takes the CPU time of a queue policy and its allocator.

    Attributes
    ----------
    cpu_s : float
        CPU seconds of all decisions so far: what Smith21, Table 3, divides by the number of
        jobs as scheduling time per job.
    """

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self._begin_s = 0.0

    def deciding(self, now_s: float) -> None:
        """Start the watch."""
        del now_s
        self._begin_s = time.thread_time()

    def decided(self, now_s: float) -> None:
        """Stop the watch."""
        del now_s
        self.cpu_s += time.thread_time() - self._begin_s
