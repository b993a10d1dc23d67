"""What the overview shows of a run: four numbers over time."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from coupling.results.over_time import binned
from netsim.common.arrays import Floats

TITLES: Mapping[str, str] = {
    "utilization": "nodes in use",
    "queued": "jobs waiting",
    "mean_interference": "interference",
    "lost": "node time lost",
}
"""What is shown, from the top."""


def series_of(
    jobs: pd.DataFrame, timeline: pd.DataFrame, n_nodes: int, edges: Floats
) -> dict[str, Floats]:
    """
    Return the mean of each number in each bin of time.

    `jobs`: those that ran. `edges` (n + 1,): bounds of the bins in seconds. Result: by key of
    `TITLES`; nan where nothing is known.
    """
    found = {name: binned(timeline, name, edges) for name in TITLES if name in timeline}
    return found | {"lost": lost_share(jobs, n_nodes, edges)}


def lost_share(jobs: pd.DataFrame, n_nodes: int, edges: Floats) -> Floats:
    """
    Return the share of the machine's node time that interference costs in each bin.

    A job's loss is spread evenly over its run: when it was held up is not in the job table.
    """
    start, end, lost = (
        jobs[name].to_numpy(dtype=float) for name in ("start_s", "end_s", "interference_delay_s")
    )
    nodes, run = jobs["n_nodes"].to_numpy(dtype=float), end - start
    rate = np.zeros(run.size)
    np.divide(nodes * lost, run, out=rate, where=run > 0)
    since = _until(start, rate, edges) - _until(end, rate, edges)
    share: Floats = np.diff(since) / (n_nodes * np.diff(edges))
    return np.maximum(share, 0.0)  # rounding


def _until(time_s: Floats, rate: Floats, edges: Floats) -> Floats:
    """Return the integral of rates that all begin at their time, up to each edge."""
    order = np.argsort(time_s, kind="stable")
    time_s, rate = time_s[order], rate[order]
    place = np.searchsorted(time_s, edges)
    sums = np.concatenate([[0.0], np.cumsum(rate)])[place]
    moments = np.concatenate([[0.0], np.cumsum(rate * time_s)])[place]
    total: Floats = sums * edges - moments
    return total
