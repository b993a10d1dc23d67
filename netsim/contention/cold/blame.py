"""Blame from the state of a fixed point that was solved from scratch."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from netsim.arrays import Floats, Ints
from netsim.contention.blame import Culprits, no_culprits
from netsim.contention.cold.layout import Layout
from netsim.kernelcache import load_kernels


@dataclass(frozen=True, slots=True, eq=False)
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

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """Return who holds jobs up, and on which class of links."""
        kernel = load_kernels("netsim.contention.cold.cold_blame_kernels", "blame kernels", 3)
        laid = self.laid
        kind_of = np.zeros_like(laid.link) if kinds is None else kinds[laid.link]
        place = {job: number for number, job in enumerate(self.jobs.tolist())}
        found = (self.slow, self.duration_s, self.late_s)
        meetings = kernel.who_meets(*laid.tables, self.cells, *found)
        entries, _, _, _, steps, first_step, _ = laid.tables
        solved = (entries, steps, first_step, self.duration_s, *meetings)
        tables = []
        for job in jobs:
            blame = np.zeros((self.jobs.size, int(kind_of.max(initial=0)) + 1))
            kernel.blame_one(place[job], *solved, kind_of, blame)
            culprit, kind = np.nonzero(blame)
            share = blame[culprit, kind] / blame.sum()
            tables.append((np.full(culprit.size, job), self.jobs[culprit], kind, share))
        if not tables:
            return no_culprits()
        return Culprits(*(np.concatenate(parts) for parts in zip(*tables, strict=True)))
