"""Blame from the state of a fixed point that was solved from scratch."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from netsim.arrays import Floats, Ints, Table
from netsim.contention.blame import Culprits, no_culprits
from netsim.kernelcache import load_kernels


@dataclass(frozen=True, slots=True, eq=False)
class ColdState:
    """
    Entries of all jobs and where the sweeps left them; see `cold_kernels.solve_cold`.

    Parameters
    ----------
    jobs : (J,) int array
        Identities.
    entries, channel, link : arrays
        Constants, channel and link of each entry, sorted by step.
    steps, first_step, period_s, phases : arrays
        Steps, the first of each job, iteration times and phases.
    duration_s, late_s, slow : arrays
        Time of each step, mean time of each entry's link, slowdown of each job.
    """

    jobs: Ints
    entries: Table
    channel: Ints
    link: Ints
    steps: Table
    first_step: Ints
    period_s: Floats
    phases: Floats
    duration_s: Floats
    late_s: Floats
    slow: Floats

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """Return who holds jobs up, and on which class of links."""
        kernel = load_kernels("netsim.contention.cold.cold_blame_kernels", "blame kernels", 3)
        on = np.argsort(self.channel, kind="stable")
        n_channels = int(self.channel.max(initial=-1)) + 1
        first_on = np.searchsorted(self.channel[on], np.arange(n_channels + 1))
        kind_of = np.zeros_like(self.link) if kinds is None else kinds[self.link]
        place = {job: number for number, job in enumerate(self.jobs.tolist())}
        tables = []
        for job in jobs:
            blame = np.zeros((self.jobs.size, int(kind_of.max(initial=0)) + 1))
            kernel.blame_one(
                place[job],
                self.entries,
                self.channel,
                on,
                first_on,
                self.steps,
                self.first_step,
                self.period_s * self.slow,
                self.phases,
                self.duration_s,
                self.late_s,
                kind_of,
                blame,
            )
            culprit, kind = np.nonzero(blame)
            share = blame[culprit, kind] / blame.sum()
            tables.append((np.full(culprit.size, job), self.jobs[culprit], kind, share))
        if not tables:
            return no_culprits()
        return Culprits(*(np.concatenate(parts) for parts in zip(*tables, strict=True)))
