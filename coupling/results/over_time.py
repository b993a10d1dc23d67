"""Metrics over time: how full the machine is, and what it leaves idle while jobs wait."""

import heapq
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from coupling.results.framed import NODES_USED, Table, ran
from netsim.common.arrays import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

UTILIZATION_EDGES = (0.98, 0.95, 0.90, 0.80, 0.60, 0.0)  # of the bins of Smith21, Table 2
MINUTE_S = 60.0


def instantaneous_utilization(jobs: Table, n_nodes: int) -> "pd.Series":
    """Return how often the machine is how full, at each start and end: Smith21, Table 2."""
    # Nodes asked for count: with those that LaaS holds besides, it would be above 98 % often. At
    # one instant jobs end before others start, each in the order of the log.
    import pandas as pd  # noqa: PLC0415 (slow to import)

    start, end, size = map(ran(jobs), ("start_s", "end_s", NODES_USED))
    times, changes = np.concatenate([end, start]), np.concatenate([-size, size])
    busy = np.cumsum(changes[np.argsort(times, kind="stable")])
    names = _bin_names()
    found = np.digitize(busy / n_nodes, UTILIZATION_EDGES[-2::-1])  # from the emptiest on
    counts = np.bincount(found, minlength=len(names))[::-1]
    return pd.Series(counts / max(1, busy.size), index=names, name="events")


def _bin_names() -> list[str]:
    """Return the names of the bins, the fullest first."""
    edges = [round(100 * edge) for edge in UTILIZATION_EDGES]
    between = [f"{low}-{high}" for high, low in pairwise(edges[:-1])]
    return [f">={edges[0]}", *between, f"<{edges[-2]}"]


def binned(timeline: "pd.DataFrame", column: str, edges: Floats) -> Floats:
    """Return the time mean of a column in bins between `edges`; nan beyond the last instant."""
    time_s = timeline["time_s"].to_numpy(dtype=float)
    value = timeline[column].to_numpy(dtype=float)
    if time_s.size < 2:  # noqa: PLR2004 (no interval)
        return np.full(edges.size - 1, np.nan)
    integral = np.concatenate([[0.0], np.cumsum(value[:-1] * np.diff(time_s))])
    inside = np.minimum(edges, time_s[-1])
    at_edges = np.interp(inside, time_s, integral)
    means = np.full(edges.size - 1, np.nan)
    np.divide(np.diff(at_edges), np.diff(inside), out=means, where=np.diff(inside) > 0)
    return means


def utilization_per_minute(jobs: Table, n_nodes: int) -> "pd.DataFrame":
    """Return begin and mean utilisation, by nodes asked for, of each minute."""
    import pandas as pd  # noqa: PLC0415 (slow to import)

    start, end, size = map(ran(jobs), ("start_s", "end_s", NODES_USED))
    steps = int(np.ceil(end.max(initial=0.0) / MINUTE_S))
    edges = np.arange(steps + 1) * MINUTE_S
    instants = np.unique(np.concatenate([[0.0], start, end]))
    busy = _in_use(instants, start, end, size)
    area = np.concatenate([[0.0], np.cumsum(busy[:-1] * np.diff(instants))])
    used = np.diff(np.interp(edges, instants, area))
    return pd.DataFrame({"time_s": edges[:-1], "utilization": used / (n_nodes * MINUTE_S)})


def lost_capacity(jobs: Table, n_nodes: int) -> dict[str, float | None]:
    """
    Return what part of the machine is held without need, or idle although a job waits.

    Result: fractions of the node-seconds from time 0 to the last start; None when all jobs start at
    time 0. ``internal_fragmentation``: held beyond what was asked for. ``external_fragmentation``:
    free while the longest waiting job asks for no more than what is free. ``loss_of_capacity``:
    free while any waiting job does.

    Internal and external fragmentation of nodes as in Smith21, section 2.3.2, averaged over time.
    Loss of capacity is the metric that Yang, section VIII-B, names, as its reference (Zhou
    et al., IPDPS 2015) defines it: the sum of n_i (t_i+1 - t_i) delta_i over events, divided
    by N (t_m - t_1), with n_i free nodes and delta_i = 1 while a job that would fit waits.
    """
    names = ("internal_fragmentation", "external_fragmentation", "loss_of_capacity")
    submit, start, end, size, idle = map(
        ran(jobs), ("submit_s", "start_s", "end_s", NODES_USED, "idle_nodes")
    )
    until_s = float(start.max(initial=0.0))
    if until_s <= 0:
        return dict.fromkeys(names)
    instants = np.unique(np.concatenate([[0.0], submit, start, end]))
    instants = instants[instants <= until_s]
    length = np.diff(instants)
    now = instants[:-1]
    free = n_nodes - _in_use(now, start, end, size + idle)
    area = n_nodes * until_s
    held = idle * np.clip(np.minimum(end, until_s) - start, 0.0, None)
    fractions = (
        float(held.sum()),
        float(np.sum((length * free)[_head_sizes(now, submit, start, size) <= free])),
        float(np.sum((length * free)[_least_sizes(now, submit, start, size) <= free])),
    )
    return {name: lost / area for name, lost in zip(names, fractions, strict=True)}


def _in_use(at_s: Floats, start: Floats, end: Floats, size: Ints | Floats) -> Ints | Floats:
    """Return the nodes in use after all that happens at some times."""
    by_start, by_end = np.argsort(start), np.argsort(end)
    came = np.concatenate([[0], np.cumsum(size[by_start])])
    left = np.concatenate([[0], np.cumsum(size[by_end])])
    begun = np.searchsorted(start[by_start], at_s, side="right")
    ended = np.searchsorted(end[by_end], at_s, side="right")
    difference: Ints | Floats = came[begun] - left[ended]
    return difference


def _head_sizes(at_s: Floats, submit: Floats, start: Floats, size: Floats) -> Floats:
    """Return the size of the longest waiting job at ascending times, infinity for none."""
    order = np.argsort(submit, kind="stable")
    submit, start, size = submit[order], start[order], size[order]
    others = np.concatenate([[-np.inf], np.maximum.accumulate(start)[:-1]])
    first = np.maximum(submit, others)  # from then on until its start it is the head
    heads = np.flatnonzero(first < start)
    found = np.searchsorted(first[heads], at_s, side="right") - 1
    head = heads[np.maximum(found, 0)] if heads.size else np.zeros(at_s.size, dtype=np.int64)
    waits = (found >= 0) & (start[head] > at_s)
    return np.where(waits, size[head], np.inf)


def _least_sizes(at_s: Floats, submit: Floats, start: Floats, size: Floats) -> Floats:
    """Return the size of the smallest waiting job at ascending times, infinity for none."""
    order = np.argsort(submit, kind="stable")
    waiting: list[tuple[float, float]] = []
    jobs = zip(*(column[order].tolist() for column in (submit, size, start)), strict=True)
    found = np.full(at_s.size, np.inf)
    never = (np.inf, 0.0, 0.0)
    submit_s, *job = next(jobs, never)
    for index, time_s in enumerate(at_s.tolist()):
        while submit_s <= time_s:
            heapq.heappush(waiting, (job[0], job[1]))
            submit_s, *job = next(jobs, never)
        while waiting and waiting[0][1] <= time_s:
            heapq.heappop(waiting)
        if waiting:
            found[index] = waiting[0][0]
    return found
