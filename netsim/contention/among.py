"""Jobs whose packets choose their way on a dragonfly by what other jobs keep busy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from netsim.arrays import Floats, Ints
from netsim.contention.constants import JobConstants
from netsim.topology.base import Topology

_RECOUNT_EVERY = 512  # starts; rounding of the sums stays far below any tolerance
MOVED = 30.0  # tolerances by which steps may take longer before a job is put down anew


def among(jobs: Mapping[int, JobConstants]) -> Mapping[int, JobConstants]:
    """
    Return jobs as they go round among each other, by identity; the same where nobody chooses.

    A job that is among others does not choose again.
    """
    if all(own.detours is None for own in jobs.values()):
        return jobs
    crowd = Among(next(own.detours.fabric for own in jobs.values() if own.detours is not None))
    for job in sorted(jobs):
        crowd.start(job, jobs[job])
    moved = dict(crowd.moved(0.0))
    return {job: replace(moved.get(job, own), detours=None) for job, own in jobs.items()}


@dataclass(slots=True, eq=False)
class _Running:
    """A job, as it is alone, and how it was put down last."""

    constants: JobConstants
    channel: Ints  # that it is on
    busy: Floats  # share of the time for which it keeps them busy: queues that UGAL sees, all
    parts: Floats  # that go round


class Among:
    """
    Which part of each running job goes round, event by event.

    What goes round depends on what others keep busy alone, so it follows from who runs, not from
    who came first.

    Parameters
    ----------
    fabric : Topology
        The dragonfly.
    """

    def __init__(self, fabric: Topology) -> None:
        self._busy: Floats = np.zeros((2, fabric.n_links))
        self._own = np.zeros_like(self._busy)  # scratch, all 0
        self._jobs: dict[int, _Running] = {}
        self._starts = 0
        self._settled = True

    def start(self, job: int, constants: JobConstants) -> None:
        """Add a job, as it is alone."""
        channel, busy = constants.records["channel"], _busy(constants)
        parts = np.zeros(0) if constants.detours is None else constants.detours.alone
        self._jobs[job] = _Running(constants, channel, busy, parts)
        self._busy[:, channel] += busy
        self._settled = False
        self._starts += 1
        if self._starts % _RECOUNT_EVERY == 0:
            self._busy[:] = 0.0
            for running in self._jobs.values():
                self._busy[:, running.channel] += running.busy

    def end(self, job: int) -> None:
        """Take a job away."""
        gone = self._jobs.pop(job)
        self._busy[:, gone.channel] -= gone.busy
        self._settled = False

    def moved(self, tolerance: float) -> Iterator[tuple[int, JobConstants]]:
        """
        Yield the jobs that go other ways than those with which they were put down last.

        `tolerance`: parts that move a link's share of an iteration by less, about, stay as they
        are. Yields: identities, and constants, of which the steps are those of the job alone.
        """
        if self._settled:
            return
        self._settled = True
        for job, running in self._jobs.items():
            detours = running.constants.detours
            if detours is None:
                continue
            self._own[:, running.channel] = running.busy
            parts = detours.among(self._busy, self._own)
            self._own[:, running.channel] = 0.0
            felt_s = detours.felt_s(parts - running.parts)
            if felt_s * _rate(running.constants) <= tolerance:
                continue
            running.parts = parts
            records, entries, lanes = detours.remade(parts)
            yield job, replace(running.constants, records=records, entries=entries, lanes=lanes)


def _busy(constants: JobConstants) -> Floats:
    """
    Return the share of the time for which a job keeps the queues that UGAL sees busy, and all.

    Result: (2, R). The first is channel 0 of a link, on which all packets begin; where channels
    are not told apart, the whole link.
    """
    drain_s = np.tile(constants.entries["drain_s"], (2, 1))
    if constants.lanes.size:
        drain_s[0] *= constants.lanes[:, 0]
    if not drain_s.size:
        return drain_s
    busy: Floats = np.add.reduceat(drain_s, constants.records["first_entry"], axis=1)
    return busy * _rate(constants)


def _rate(constants: JobConstants) -> float:
    """Return how many iterations a job does in a second alone."""
    period_s = constants.iteration_s
    return 1.0 / period_s if period_s > 0.0 else 0.0
