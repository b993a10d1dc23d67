"""Blame from the state of a fixed point that was solved from scratch."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netsim.arrays import Floats, Ints
from netsim.contention.blame import Closers, Culprits, no_culprits, with_closers
from netsim.contention.cold.columns import Closed, Crowd, Longest
from netsim.contention.cold.layout import Layout
from netsim.kernelcache import load_kernels

_KERNELS = ("netsim.contention.cold.cold_blame_kernels", "blame kernels", 4)


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
    closed : Closed, optional
        What closed pools add.
    """

    jobs: Ints
    laid: Layout
    cells: Ints
    slow: Floats
    duration_s: Floats
    late_s: Floats
    closed: Closed | None = None

    @cached_property
    def _place(self) -> dict[int, int]:
        """Number of each job."""
        return {job: number for number, job in enumerate(self.jobs.tolist())}

    @cached_property
    def _one_kind(self) -> Ints:
        """Class of the link of each entry where classes do not matter."""
        return np.zeros_like(self.laid.link)

    @cached_property
    def _crowd(self) -> Crowd:
        """What is on channels."""
        laid, crowd = self.laid, self.laid.crowd(self.cells)
        times = laid.state()._replace(
            slow=self.slow.copy(), duration_s=self.duration_s, late_s=self.late_s
        )
        load_kernels(*_KERNELS).put_all_down(*laid.tables, times, crowd)
        return crowd

    def worst_links(self, held_s: Floats) -> list[int]:
        """Return the link that holds each job up most, -1: none; `held_s` (K,) as `Layout` says."""
        worst = self.laid.worst_links(held_s)
        if self.closed is not None:
            part = 1.0 / (1.0 - self.closed.share)
            for number in np.flatnonzero(part * part > self.slow).tolist():
                worst[number] = self._link_of(self.closed.pair[number])
        return worst

    def _link_of(self, pair: int) -> int:
        """Return the link of a job and a channel."""
        return int(self.laid.link[np.argmax(self.laid.shared.pair == pair)])

    def _closers(self, job: int, kinds: Ints | None) -> Iterator[Closers]:
        """Return who closes the pool before which a job loses most, if there is one."""
        number = self._place[job]
        if self.closed is None or self.closed.pair[number] < 0:
            return
        own, shared = self.closed.pair[number], self.laid.shared
        c = shared.channel[own]
        there = shared.there[shared.first_there[c] : shared.first_there[c + 1]]
        there = there[(there != own) & (self.closed.closing[there] > 0.0)]
        kind = 0 if kinds is None else int(kinds[self._link_of(own)])
        yield Closers(
            job,
            self.jobs[shared.job[there]],
            kind,
            self.closed.closing[there],
            float(self.slow[number]),
            float(self.closed.share[number]),
        )

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """Return who holds jobs up, and on which class of links."""
        kernel = load_kernels(*_KERNELS)
        kind_of = self._one_kind if kinds is None else kinds[self.laid.link]
        n_kinds = 1 if kinds is None else int(kind_of.max(initial=0)) + 1
        n_states = self.cells.shape[1]
        longest = Longest(
            np.empty(n_states, dtype=np.int64),
            np.empty(n_states),
            np.empty(n_states),
            np.empty(kernel.STAGES, dtype=np.int64),
            np.empty(kernel.STAGES),
        )
        entries, steps, _, shared = self.laid.tables
        tables, closers = [], list[Closers]()
        for job in jobs:
            blame = np.zeros((self.jobs.size, n_kinds))
            kernel.blame_one(
                self._place[job],
                entries,
                steps,
                self.duration_s,
                shared,
                self._crowd,
                kind_of,
                longest,
                blame,
            )
            culprit, kind = np.nonzero(blame)
            share = blame[culprit, kind] / blame.sum()
            closers += self._closers(job, kinds)
            tables.append((np.full(culprit.size, job), self.jobs[culprit], kind, share))
        if not tables:
            return no_culprits()
        told = Culprits(*(np.concatenate(parts) for parts in zip(*tables, strict=True)))
        return with_closers(told, closers)
