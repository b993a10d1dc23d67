"""What pictures of results share: loads of links over time, hosts, dates, the end of colours."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coupling.results.columns import finished
from coupling.results.framed import nodes_used
from coupling.results.result import Result
from netsim.common.arrays import Floats, Ints
from netsim.common.errors import TopologyError
from netsim.common.hostlist import expand_hostlist
from netsim.topology.base import Topology

_NUMBERED = re.compile(r"(.*?[^0-9]|)([0-9]{1,9})")
_MOST_NUMBER = 10_000_000


def hosts_of(lists: pd.Series, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Return row of the job and number of the node, by job, of all nodes in host lists."""
    texts = [str(text) for text in lists]
    counted = _numbered_names(names)
    if counted is None:
        return _read_slowly(texts, range(len(texts)), names)
    stem, width, table = counted
    digits = rf"[0-9]{{{width}}}" if width else "(?:0|[1-9][0-9]{0,8})"
    numbers = rf"{digits}(?:-{digits})?"
    one = rf"{re.escape(stem)}(?:{digits}|\[{numbers}(?:,{numbers})*\])"
    usual, ranges = re.compile(rf"{one}(?:,{one})*"), re.compile(r"([0-9]+)(?:-([0-9]+))?")
    rows, first, last = [], [], []
    odd = set()
    for row, text in enumerate(texts):
        if usual.fullmatch(text) is None:
            odd.add(row)
            continue
        for begin, end in ranges.findall(text.replace(stem, "")):
            rows.append(row)
            first.append(int(begin))
            last.append(int(end or begin))
    found = np.array([rows, first, last], dtype=np.int64)
    job, node = _unroll_ranges(found[0], found[1], found[2], table)
    odd |= set(job[node < 0].tolist())
    if not odd:
        return job, node
    known = ~np.isin(job, list(odd))
    odd_job, odd_node = _read_slowly([texts[row] for row in sorted(odd)], sorted(odd), names)
    job, node = np.concatenate([job[known], odd_job]), np.concatenate([node[known], odd_node])
    order = np.argsort(job, kind="stable")
    return job[order], node[order]


def _unroll_ranges(rows: Ints, first: Ints, last: Ints, table: Ints) -> tuple[Ints, Ints]:
    """Return row and node of every number of the ranges; a range that is odd has one node, -1."""
    good = (first <= last) & (last < table.size)
    size = np.where(good, last - first + 1, 1)
    number = np.arange(size.sum()) + np.repeat(first - (np.cumsum(size) - size), size)
    node = np.where(np.repeat(good, size), table[np.minimum(number, table.size - 1)], -1)
    return np.repeat(rows, size), node


def _numbered_names(names: Sequence[str]) -> tuple[str, int, Ints] | None:
    """Return what names begin with, their digits and node by number; None where they differ."""
    parts = [_NUMBERED.fullmatch(name) for name in names]
    if not parts or any(part is None for part in parts):
        return None
    stems, digits = zip(*(part.groups() for part in parts if part), strict=True)
    plain = all(text == str(int(text)) for text in digits)
    if len(set(stems)) > 1 or not (plain or len({len(text) for text in digits}) == 1):
        return None
    numbers = np.array([int(text) for text in digits], dtype=np.int64)
    if numbers.max() >= _MOST_NUMBER or np.unique(numbers).size < numbers.size:
        return None
    table = np.full(int(numbers.max()) + 1, -1, dtype=np.int64)
    table[numbers] = np.arange(numbers.size)
    return stems[0], 0 if plain else len(digits[0]), table


def _read_slowly(
    texts: Sequence[str], rows: Sequence[int], names: Sequence[str]
) -> tuple[Ints, Ints]:
    """Read lists one by one."""
    number = {name: place for place, name in enumerate(names)}
    job, node = [], []
    for row, text in zip(rows, texts, strict=True):
        for name in expand_hostlist(text):
            if name not in number:
                raise TopologyError(f"expected names of nodes of the fabric, got {name[:40]!r}.")
            job.append(row)
            node.append(number[name])
    return np.array(job, dtype=np.int64), np.array(node, dtype=np.int64)


_QUANTILE = 0.98  # of node time: a few jobs that are slowed much must not hide the others
LEAST_SCALE = 1.05
"""End of the colours where no job is slowed."""
_LAST_S = 2.5e11  # the year 9999, beyond which there are no dates


def begin_of(results: Sequence[Result]) -> float | None:
    """Return the date of second 0, where all runs have one and the same, and end before 9999."""
    ends = [float(result.timeline["time_s"].max()) for result in results if len(result.timeline)]
    return dates_of([result.summary for result in results], max(ends, default=0.0))[0]


def zone_of(results: Sequence[Result]) -> str:
    """Return the time zone of the logs of runs, UTC where they do not tell one and the same."""
    return dates_of([result.summary for result in results], 0.0)[1]


def dates_of(summaries: Sequence[Mapping[str, Any]], end_s: float) -> tuple[float | None, str]:
    """Return date of second 0 (None without a common one before year 9999) and time zone."""
    begins = {summary.get("log_begin_unix_s") for summary in summaries}
    zones = {str(summary.get("log_time_zone", "UTC")) for summary in summaries}
    begin = begins.pop() if len(begins) == 1 else None
    zone = zones.pop() if len(zones) == 1 else "UTC"
    if begin is None or not 0 <= begin <= begin + end_s < _LAST_S:
        return None, zone
    return float(begin), zone


def node_names(result: Result, topology: Topology | None = None) -> list[str]:
    """Return node names in the order of the fabric; without one, from the links."""
    if topology is not None:
        return [topology.vertex_name(node) for node in range(topology.n_nodes)]
    own = result.links.loc[result.links["class"] == "injection", "link"]
    return list(dict.fromkeys(str(name).split(">")[0] for name in own))


def slowdown_scale(results: Sequence[Result]) -> float:
    """Return the slowdown that 98 % of the node time of all runs stays below."""
    jobs = pd.concat([finished(result.jobs) for result in results])
    order = np.argsort(jobs["network_slowdown"].to_numpy())
    weight = (nodes_used(jobs) * (jobs["end_s"] - jobs["start_s"]).to_numpy())[order]
    total = np.cumsum(weight)
    if not total.size:
        return LEAST_SCALE
    place = min(int(np.searchsorted(total, _QUANTILE * total[-1])), total.size - 1)
    return max(LEAST_SCALE, float(jobs["network_slowdown"].to_numpy()[order][place]))


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
