"""What cables carried: through the run, where that is recorded, or over all of it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from netsim.common.arrays import Floats, Ints

TIMELINE = "links/timeline"  # table of a result
_MOST_CELLS = 100_000_000  # bins times links; more do not fit beside the rest

Loads = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class LinkLoads:
    """Load of every directed link."""

    whole: Floats  # (E,): share of the capacity that was used over the run
    # (B + 1,): bounds of the bins, in seconds; empty where load over time is not recorded
    edges: Floats
    bins: Loads  # (E, B): share of the capacity in each bin
    why_not: str = ""  # Why there are no bins; else empty

    def at(self, time_s: float | None) -> Floats:
        """Return the load of each link at a moment; None: over the whole run."""
        if time_s is None or not self.edges.size:
            return self.whole
        place = int(np.searchsorted(self.edges, time_s, side="right")) - 1
        if not 0 <= place < self.bins.shape[1]:
            return np.zeros(self.whole.size)
        found: Floats = self.bins[:, place].astype(np.float64)
        return found

    @property
    def most(self) -> float:
        """Return the largest load of any bin, or of the whole run."""
        values = self.bins if self.bins.size else self.whole
        return float(values.max(initial=0.0)) or 1.0


def load_of(links: pd.DataFrame, timeline: pd.DataFrame | None) -> LinkLoads:
    """Return the load of links; `timeline` None: not recorded."""
    whole = links["busy_fraction"].to_numpy(dtype=float)
    none = LinkLoads(whole, np.zeros(0), np.zeros((whole.size, 0), dtype=np.float32))
    if timeline is None or timeline.empty:
        return _no_bins(none, "Load over time is not recorded: run with --links-timeline.")
    begin, end = (timeline[name].to_numpy(dtype=float) for name in ("begin_s", "end_s"))
    edges = np.unique(np.concatenate([[0.0], begin, end]))
    if (edges.size - 1) * whole.size > _MOST_CELLS:
        return _no_bins(none, "Load over time is too large to draw.")
    link = timeline["link"].to_numpy(dtype=np.int64)
    if link.min() < 0 or link.max() >= whole.size:
        return _no_bins(none, "Load over time is of other links.")
    bins = np.zeros((whole.size, edges.size - 1), dtype=np.float32)
    bins[link, np.searchsorted(edges, begin)] = timeline["busy_fraction"].to_numpy(dtype=float)
    return LinkLoads(whole, edges, bins)


def _no_bins(load: LinkLoads, why_not: str) -> LinkLoads:
    """Say why there are no bins."""
    return LinkLoads(load.whole, load.edges, load.bins, why_not)


def heat(
    load: LinkLoads, rows: Ints, window: tuple[float, float], shape: tuple[int, int]
) -> Floats:
    """Draw load over time: the largest of each cell, so that hot links show; nan outside."""
    begin, end = window
    height, width = shape
    edges = np.linspace(begin, end, width + 1)
    first = np.searchsorted(load.edges, edges[:-1], side="right") - 1
    last = np.searchsorted(load.edges, edges[1:], side="left")
    n_bins = load.bins.shape[1]
    inside = (first < n_bins) & (last > 0)
    first, last = np.clip(first, 0, n_bins - 1), np.clip(last, 1, n_bins)
    group = np.arange(rows.size) * height // rows.size
    starts = np.searchsorted(group, np.arange(height))
    found = np.full(shape, np.nan)
    spans = np.stack([first, np.maximum(last, first + 1)])
    unique, where = np.unique(spans, axis=1, return_inverse=True)
    columns = np.stack([load.bins[:, a:b].max(axis=1) for a, b in unique.T.tolist()], axis=1)
    tall = np.maximum.reduceat(columns[rows], starts, axis=0)
    found[:, inside] = tall[:, where.ravel()][:, inside]
    return found


def in_order(links: pd.DataFrame) -> Ints:
    """Return rows by class as the fabric has them, the first at the bottom."""
    classes = {name: place for place, name in enumerate(dict.fromkeys(links["class"]))}
    place = links["class"].map(classes).to_numpy(dtype=np.int64)
    return np.argsort(place, kind="stable").astype(np.int64)
