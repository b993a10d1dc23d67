"""Jobs that run together, laid one after the other for the sweeps of a fixed point from scratch."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType

import numpy as np

from netsim.arrays import Floats, Ints, Table
from netsim.contention.cold.columns import Crowd, Shared, State
from netsim.contention.constants import JobConstants
from netsim.kernelcache import load_kernels


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """
    Entries, steps and periods of J jobs, as far as they meet others.

    Parameters
    ----------
    entries, link : arrays
        Constants and link of each entry (job, step, channel) on channels of several jobs, sorted
        by step.
    steps, period_s : arrays
        The steps, sorted by job; time of an iteration.
    shared : Shared
        How they belong together.
    lanes : (K, L) float array
        Of each entry what is on which virtual channel, or no rows.
    """

    entries: Table
    link: Ints
    steps: Table
    period_s: Floats
    shared: Shared
    lanes: Floats

    def state(self, stretch: float = 1.0) -> State:
        """Return the state before the first sweep, all steps longer by a factor."""
        n_jobs, n_pairs = self.period_s.size, self.shared.channel.size
        alone_s = self.steps["drain_s"] + self.steps["latency_s"]
        return State(
            np.ones(n_jobs),
            np.ones(n_jobs),
            np.zeros(n_jobs),
            np.full(n_jobs, np.inf),
            alone_s * stretch,
            alone_s.copy(),
            self.entries["drain_s"].copy(),
            self.entries["drain_s"].copy(),
            np.zeros(self.entries.size),
            np.zeros(n_pairs),
            np.zeros(n_pairs),
        )

    @property
    def tables(self) -> tuple[Table, Table, Floats, Shared]:
        """Return what all kernels take first."""
        return self.entries, self.steps, self.period_s, self.shared

    def crowd(self, cells: Ints) -> Crowd:
        """Return channels with nobody on them; `cells` (J, M) of each job in each state."""
        shared, n_states = self.shared, cells.shape[1]
        n_pairs, n_channels = shared.channel.size, shared.first_there.size - 1
        n_stages = accurate_kernels("link_kernels").STAGES
        n_own, sums = accurate_kernels("lane_kernels").N_OWN, accurate_kernels("lane_sum_kernels")
        n_sums = sums.N_SUMS if self.lanes.shape[1] < n_own else sums.N_ALL_SUMS
        most = int(np.diff(shared.first_pair).max(initial=0))
        return Crowd(
            np.zeros((n_pairs, n_states)),
            np.zeros(n_pairs),
            np.zeros(n_pairs),
            np.zeros(n_pairs),
            np.zeros(n_pairs),
            np.zeros((n_channels, n_states)),
            np.zeros(n_channels),
            np.zeros(n_channels),
            np.zeros(n_channels),
            np.zeros(n_channels),
            np.zeros(n_channels),
            cells,
            np.empty((max(4, most), n_states + 4)),
            np.empty((1, n_stages)),
            self.lanes,
            np.zeros((n_pairs, n_sums) if self.lanes.size else (0, n_sums)),
            np.zeros((n_channels, n_sums) if self.lanes.size else (0, n_sums)),
        )

    def worst_links(self, held_s: Floats) -> list[int]:
        """
        Return for each job the link that decides its most delayed step, or -1.

        `held_s` (K,): what the link of each entry takes. Result: by job.
        """
        step = self.entries["step"]
        excess = held_s - self.steps["drain_s"][step]
        bounds = np.searchsorted(step, self.shared.first_step).tolist()
        worst = []
        for begin, end in pairwise(bounds):
            k = begin + int(excess[begin:end].argmax()) if end > begin else -1
            worst.append(int(self.link[k]) if k >= 0 and excess[k] > 0.0 else -1)
        return worst


def lay_out(parts: Sequence[JobConstants]) -> Layout:
    """Lay jobs one after the other; there is at least one."""
    first_step = _ends([part.steps.size for part in parts])
    entries = np.concatenate([part.entries for part in parts])
    entries["step"] += np.repeat(first_step[:-1], [part.entries.size for part in parts])
    records = np.concatenate([part.records for part in parts])
    job = np.repeat(np.arange(len(parts)), [part.records.size for part in parts])
    _, channel, n_jobs = np.unique(records["channel"], return_inverse=True, return_counts=True)
    is_shared = n_jobs[channel] > 1
    of_shared = np.repeat(is_shared, records["n_entries"])
    entries = entries[of_shared]
    lanes = [part.lanes for part in parts if part.lanes.size]
    records, job = records[is_shared], job[is_shared]
    channel = (np.cumsum(n_jobs > 1) - 1)[channel[is_shared]]
    pair = np.repeat(np.arange(records.size), records["n_entries"])
    order = np.argsort(entries["step"], kind="stable")
    entries, pair = entries[order], pair[order]
    shared = Shared(
        pair,
        channel,
        job,
        first_step,
        np.searchsorted(entries["step"], np.arange(first_step[-1] + 1)),
        np.searchsorted(job, np.arange(len(parts) + 1)),
        _ends(n_jobs[n_jobs > 1]),
        np.argsort(channel, kind="stable"),
    )
    return Layout(
        entries,
        records["link"].astype(np.int64)[pair],
        np.concatenate([part.steps for part in parts]),
        np.array([part.iteration_s for part in parts]),
        shared,
        np.concatenate(lanes)[of_shared][order] if lanes else np.zeros((0, 0)),
    )


def _ends(sizes: list[int] | Ints) -> Ints:
    """Return where parts of these sizes begin, one after the other, and where the last ends."""
    ends = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    return ends


def accurate_kernels(module: str) -> ModuleType:
    """Return kernels of `accurate`; all that the model needs take 8 s to compile."""
    return load_kernels(f"netsim.contention.{module}", "kernels of the model accurate", 8)
