"""Blame from the state of a fixed point that was solved from scratch."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from netsim.arrays import Floats, Ints
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
    ent, ent_step, ent_channel, ent_link : arrays
        Constants, step, channel and link of each entry, sorted by step.
    steps, first_step, period, phases : arrays
        Steps, the first of each job, iteration times and phases.
    duration, late, slow : arrays
        Time of each step, mean time of each entry's link, slowdown of each job.
    """

    jobs: Ints
    ent: Floats
    ent_step: Ints
    ent_channel: Ints
    ent_link: Ints
    steps: Floats
    first_step: Ints
    period: Floats
    phases: Floats
    duration: Floats
    late: Floats
    slow: Floats

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """Return who holds jobs up, and on which class of links."""
        kernel = load_kernels("netsim.contention.cold.cold_blame_kernels", "blame kernels", 3)
        on = np.argsort(self.ent_channel, kind="stable")
        n_channels = int(self.ent_channel.max(initial=-1)) + 1
        first_on = np.searchsorted(self.ent_channel[on], np.arange(n_channels + 1))
        ent_kind = np.zeros_like(self.ent_link) if kinds is None else kinds[self.ent_link]
        place = {job: number for number, job in enumerate(self.jobs.tolist())}
        tables = []
        for job in jobs:
            blame = np.zeros((self.jobs.size, int(ent_kind.max(initial=0)) + 1))
            kernel.blame_one(
                place[job],
                self.ent,
                self.ent_step,
                self.ent_channel,
                on,
                first_on,
                self.steps,
                self.first_step,
                self.period,
                self.phases,
                self.duration,
                self.late,
                self.slow,
                ent_kind,
                blame,
            )
            culprit, kind = np.nonzero(blame)
            share = blame[culprit, kind] / blame.sum()
            tables.append((np.full(culprit.size, job), self.jobs[culprit], kind, share))
        if not tables:
            return no_culprits()
        return Culprits(*(np.concatenate(parts) for parts in zip(*tables, strict=True)))
