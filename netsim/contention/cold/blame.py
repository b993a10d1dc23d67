"""Blame from the state of a fixed point that was solved from scratch."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from netsim.arrays import Floats, Ints
from netsim.contention.blame import Culprits, no_culprits
from netsim.contention.cold.layout import Layout
from netsim.kernelcache import load_kernels

_KERNELS = ("netsim.contention.cold.cold_blame_kernels", "blame kernels", 3.0)


@dataclass(frozen=True, eq=False)
class ColdState:
    """
    Where the sweeps left the jobs; see `cold_kernels.solve_cold`.

    Parameters
    ----------
    jobs : (J,) int array
        Identities.
    laid : Layout
        Their constants.
    cells : (J, M) int array
        The cell in which each job is in each state.
    slow, duration_s, late_s : arrays
        Slowdown of each job, time of each step, mean time of each entry's link.
    """

    jobs: Ints
    laid: Layout
    cells: Ints
    slow: Floats
    duration_s: Floats
    late_s: Floats

    @cached_property
    def _place(self) -> dict[int, int]:
        """Number of each job."""
        return {job: number for number, job in enumerate(self.jobs.tolist())}

    @cached_property
    def _one_kind(self) -> Ints:
        """Class of the link of each entry where classes do not matter."""
        return np.zeros_like(self.laid.link)

    @cached_property
    def _solved(self) -> tuple[Any, ...]:
        """What the kernel reads, the same for all victims."""
        kernel = load_kernels(*_KERNELS)
        laid = self.laid
        found = (self.slow, self.duration_s, self.late_s)
        entries, _, _, _, steps, first_step, _ = laid.tables
        meetings = kernel.who_meets(*laid.tables, self.cells, *found)
        return entries, steps, first_step, self.duration_s, *meetings

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """Return who holds jobs up, and on which class of links."""
        kernel = load_kernels(*_KERNELS)
        kind_of = self._one_kind if kinds is None else kinds[self.laid.link]
        n_kinds = 1 if kinds is None else int(kind_of.max(initial=0)) + 1
        tables = []
        for job in jobs:
            blame = np.zeros((self.jobs.size, n_kinds))
            kernel.blame_one(self._place[job], *self._solved, kind_of, blame)
            culprit, kind = np.nonzero(blame)
            share = blame[culprit, kind] / blame.sum()
            tables.append((np.full(culprit.size, job), self.jobs[culprit], kind, share))
        if not tables:
            return no_culprits()
        return Culprits(*(np.concatenate(parts) for parts in zip(*tables, strict=True)))
