"""Jobs as bars on nodes over time, laid out so that any part can be drawn and pointed at."""

from dataclasses import dataclass

import numpy as np

from coupling.explorer.raster_kernels import Cells
from netsim.common.arrays import Floats, Ints
from netsim.common.jit import load_kernels


@dataclass(frozen=True, slots=True)
class Window:
    """A part of the plane of time and nodes."""

    # begin_s, end_s: seconds of the run
    begin_s: float
    end_s: float
    # low, high: first node, and one past the last; node i spans i to i + 1
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """Bars of jobs on nodes."""

    # start_s, end_s: (J,): of each job
    start_s: Floats
    end_s: Floats
    begin_of: Ints  # (N + 1,): where the bars of each node begin
    job: Ints  # (B,): job of each bar, by node and start
    latest_s: Floats  # (B,): latest end on the bar's node up to and with the bar

    def cells(self, window: Window, rows: int, columns: int, weight: Floats) -> Cells:
        """Draw a part by row and column, the first node at the bottom; `weight` (J,): of jobs."""
        kernels = load_kernels("coupling.explorer.raster_kernels", "kernels of the explorer", 6)
        shape = (rows, columns)
        cells = Cells(
            np.zeros(shape), np.zeros(shape), np.full(shape, -1, dtype=np.int64), np.zeros(shape)
        )
        kernels.fill(
            (self.begin_of, self.job),
            (self.start_s, self.end_s, self.latest_s),
            weight,
            (window.begin_s, window.end_s, window.low, window.high),
            cells,
        )
        return cells

    def at(self, node: int, time_s: float) -> Ints:
        """Return the jobs on a node at a moment. Result: rows of the jobs, by start."""
        if not 0 <= node < self.begin_of.size - 1:
            return np.zeros(0, dtype=np.int64)
        own = self.job[self.begin_of[node] : self.begin_of[node + 1]]
        return own[(self.start_s[own] <= time_s) & (time_s < self.end_s[own])]


def bars_of(job: Ints, node: Ints, n_nodes: int, start_s: Floats, end_s: Floats) -> Bars:
    """Lay out bars: `job`, `node` (B,); `start_s`, `end_s` (J,), jobs without are left out."""
    there = np.isfinite(start_s) & np.isfinite(end_s)
    place = np.empty(start_s.size, dtype=np.int64)
    place[np.argsort(start_s, kind="stable")] = np.arange(start_s.size)
    kept = there[job]
    job, node = job[kept], node[kept]
    order = np.argsort(node * max(1, start_s.size) + place[job], kind="stable")
    job, node = job[order], node[order]
    begin_of = np.searchsorted(node, np.arange(n_nodes + 1)).astype(np.int64)
    # Ends in whole numbers by rank, raised node by node: one running maximum serves all nodes.
    ends = np.unique(end_s[there])
    rank = np.searchsorted(ends, end_s[job])
    running = np.maximum.accumulate(rank + node * max(1, ends.size)) - node * max(1, ends.size)
    latest_s = ends[running] if ends.size else np.zeros(0)
    return Bars(start_s, end_s, begin_of, job, latest_s)


def spans(nodes: Ints) -> list[tuple[int, int]]:
    """Return runs of numbers that count up by one."""
    nodes = np.unique(nodes)
    cut = np.flatnonzero(np.diff(nodes) > 1)
    firsts = nodes[np.concatenate([[0], cut + 1])] if nodes.size else nodes
    lasts = nodes[np.concatenate([cut, [nodes.size - 1]])] if nodes.size else nodes
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))
