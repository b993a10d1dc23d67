"""Jobs that run together, laid one after the other for the sweeps of a fixed point from scratch."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from netsim.arrays import Floats, Ints, Table
from netsim.contention.constants import JobConstants


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """
    Entries, steps and periods of J jobs.

    Parameters
    ----------
    entries, link : arrays
        Constants and link of each entry (job, step, channel), sorted by step.
    pair, channel_of : arrays
        Job and channel of each entry as one number; the channel of each such pair.
    first_entry, steps, first_step, period_s : arrays
        Entries of each step; the steps, sorted by job; the first of each job; time of an iteration.
    """

    entries: Table
    link: Ints
    pair: Ints
    channel_of: Ints
    first_entry: Ints
    steps: Table
    first_step: Ints
    period_s: Floats

    @property
    def tables(self) -> tuple[Table, Ints, Ints, Ints, Table, Ints, Floats]:
        """Return the arrays as the kernels take them."""
        return (
            self.entries,
            self.pair,
            self.channel_of,
            self.first_entry,
            self.steps,
            self.first_step,
            self.period_s,
        )

    def worst_links(self, held_s: Floats) -> list[int]:
        """
        Return for each job the link that decides its most delayed step, or -1.

        `held_s` (K,): what the link of each entry takes. Result: by job.
        """
        step = self.entries["step"]
        excess = held_s - self.steps["drain_s"][step]
        bounds = np.searchsorted(step, self.first_step).tolist()
        worst = []
        for begin, end in pairwise(bounds):
            k = begin + int(excess[begin:end].argmax()) if end > begin else -1
            worst.append(int(self.link[k]) if k >= 0 and excess[k] > 0.0 else -1)
        return worst


def lay_out(jobs: Mapping[int, JobConstants]) -> Layout:
    """Lay jobs one after the other; there is at least one."""
    parts = list(jobs.values())
    first_step = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([part.steps.size for part in parts], out=first_step[1:])
    entries = np.concatenate([part.entries for part in parts])
    entries["step"] += np.repeat(first_step[:-1], [part.entries.size for part in parts])
    records = np.concatenate([part.records for part in parts])
    _, channel_of = np.unique(records["channel"], return_inverse=True)
    pair = np.repeat(np.arange(records.size), records["n_entries"])
    order = np.argsort(entries["step"], kind="stable")
    entries, pair = entries[order], pair[order]
    return Layout(
        entries,
        records["link"].astype(np.int64)[pair],
        pair,
        channel_of,
        np.searchsorted(entries["step"], np.arange(first_step[-1] + 1)),
        np.concatenate([part.steps for part in parts]),
        first_step,
        np.array([part.iteration_s for part in parts]),
    )
