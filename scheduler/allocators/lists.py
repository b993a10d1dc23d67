"""Hops between any two nodes in a form whose sums over windows of a list are quick."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.jit import load_kernels
from netsim.topology.base import Topology
from netsim.topology.torus import Torus
from scheduler.allocation import Allocation
from scheduler.allocators.base import OnAnyNodes, check_choice, check_count, check_flag, check_size
from scheduler.allocators.ordering import ORDERINGS, NodeOrder, node_order
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job


@dataclass(frozen=True, slots=True, eq=False)
class GridHops:
    """Hops on a torus or mesh: distances along the axes add up."""

    place: Ints  # (D, N): coordinates of each node
    ring: Ints  # (D,): routers along each axis; twice as many on an axis that is no ring

    def least_window(self, nodes: Ints, size: int) -> int:
        """Return where the successive nodes of a list with the least sum of hops begin."""
        kernels = load_kernels("scheduler.allocators.closest_kernels", "Closest Fit kernels", 2)
        return int(kernels.grid_window(nodes, self.place, self.ring, size))


@dataclass(frozen=True, slots=True, eq=False)
class TableHops:
    """Hops on any other machine: a table over groups of nodes attached to the same switches."""

    group: Ints  # (N,): group of each node; 0 for nodes that take no jobs
    hops: Ints  # (G, G): hops between groups

    def least_window(self, nodes: Ints, size: int) -> int:
        """Return where the successive nodes of a list with the least sum of hops begin."""
        kernels = load_kernels("scheduler.allocators.closest_kernels", "Closest Fit kernels", 2)
        return int(kernels.table_window(nodes, self.group, self.hops, size))


@lru_cache(maxsize=8)
def window_hops(fabric: Topology) -> GridHops | TableHops:
    """Put the hops of a machine in the form that suits it; all nodes must be connected."""
    if isinstance(fabric, Torus):
        routers = np.arange(fabric.n_nodes) // fabric.nodes_per_router
        sides = zip(fabric.dims, fabric.wrap, strict=True)
        ring = np.array([side if wraps else 2 * side for side, wraps in sides])
        return GridHops(np.ascontiguousarray(fabric.coordinates(routers)), ring)
    group, usable = _same_switches(fabric), fabric.usable_nodes
    _, first = np.unique(group[usable], return_index=True)
    members, n_groups = usable[first], first.size
    hops = fabric.hops(np.repeat(members, n_groups), np.tile(members, n_groups))
    if hops.min() < 0:
        raise AllocationError(
            f"allocator 'closest-fit-mind' needs a connected fabric, got {fabric.name}."
        )
    return TableHops(group, hops.reshape(n_groups, n_groups))


def _same_switches(fabric: Topology) -> Ints:
    """Return the group of each node: usable nodes attached to the same switches are in one."""
    switches: list[list[int]] = [[] for _ in range(fabric.n_nodes)]
    up = fabric.link_tail < fabric.n_nodes
    ends = zip(fabric.link_tail[up].tolist(), fabric.link_head[up].tolist(), strict=True)
    for node, switch in ends:
        switches[node].append(switch)
    usable = [tuple(sorted(switches[node])) for node in fabric.usable_nodes.tolist()]
    number = {key: index for index, key in enumerate(dict.fromkeys(usable))}
    group = np.zeros(fabric.n_nodes, dtype=np.int64)
    group[fabric.usable_nodes] = [number[key] for key in usable]
    return group


@dataclass(frozen=True, slots=True)
class OrderedList(OnAnyNodes):
    """
    What the allocators of Stoltzfus13 share: they choose from the list of free nodes.

    A job fits whenever enough nodes are free, wherever they are. Ranks run along the ordering,
    whatever the order in which the nodes were found: the paper says nothing of ranks, and MIND does
    not depend on them.
    """

    fits_by_count: ClassVar[bool] = True

    # the node ordering, a key of `scheduler.allocators.ordering.ORDERINGS`. The paper's is by node
    # number (section 7.1).
    order: str = "row-major"

    def __post_init__(self) -> None:
        """Check the ordering, and what bounds small jobs and gaps."""
        check_choice("order", self.order, tuple(ORDERINGS))
        for name, least in (("k", 0), ("gap", 1)):
            if hasattr(self, name):
                check_count(name, getattr(self, name), least)

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return nodes chosen from the list of free ones."""
        check_size(job, cluster)
        if job.n_nodes > cluster.n_free:
            return None
        line = node_order(self.order, cluster.fabric)
        return line.allocation(job, self.choose(line.free_places(cluster), job.n_nodes, line))

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:
        """Choose from the list of free nodes."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Fifo(OrderedList):
    """
    FIFO: large jobs from the front of the list, small ones from its end.

    Stoltzfus13, section 4.2.2, Figure 14 (C. Albing's algorithm).
    """

    name: ClassVar[str] = "fifo"

    # jobs of fewer nodes are small. 0 is the paper's reference FIFO-0: every job takes the first
    # free nodes. 32 did best overall (section 4.2.2).
    k: int = 32

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the first or the last free nodes."""
        return free[free.size - size :] if size < self.k else free[:size]


@dataclass(frozen=True, slots=True)
class FirstFit(OrderedList):
    """
    First run of free nodes that is long enough, else two halves.

    Stoltzfus13, section 4.2.1, Figure 11 (the corrected version).
    """

    name: ClassVar[str] = "first-fit"

    # nodes of a run are this far apart at most; 1 is strictly consecutive. 8 did best overall on
    # HECToR (section 4.2.1).
    gap: int = 8

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the first run, halving as often as needed."""
        return first_fit(free, size, self.gap)


@dataclass(frozen=True, slots=True)
class LargestFit(OrderedList):
    """
    Largest Fit: first run that is long enough, else the longest ones.

    Stoltzfus13, section 5.1.1, Figure 18.
    """

    name: ClassVar[str] = "largest-fit"

    gap: int = 8  # nodes of a run are this far apart at most. 8 did best overall (Table 1).
    # false: as Figure 18 is printed, the node behind a gap ends one run without beginning the next.
    # True: it begins the next, as the text of section 5.1.1 has it.
    whole_runs: bool = False

    def __post_init__(self) -> None:
        OrderedList.__post_init__(self)
        check_flag("whole_runs", self.whole_runs)

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the longest runs."""
        return largest_fit(free, size, self.gap, whole_runs=self.whole_runs)


@dataclass(frozen=True, slots=True)
class FifoFit(OrderedList):
    """
    First Fit from the front for large jobs, from the end for small.

    Stoltzfus13, section 5.2; it prints no code. When a job is halved, the size of the whole job
    goes on deciding from which end both halves come.
    """

    name: ClassVar[str] = "fifo-fit"

    k: int = 64  # jobs of fewer nodes are small
    gap: int = 8  # nodes of a run are this far apart at most. FifoFit64-8 did best (section 5.2.2).

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the first run as seen from one end of the list."""
        if size < self.k:
            return np.negative(first_fit(-free[::-1], size, self.gap))
        return first_fit(free, size, self.gap)


@dataclass(frozen=True, slots=True)
class VaryingFit(OrderedList):
    """
    Varying Fit: First Fit with a gap that grows with the job.

    Stoltzfus13, section 5.3, Figure 21: "the integer value of the natural logarithm of the job size
    multiplied by 2". The factor is taken into the logarithm, ln(2 n): only so does the gap begin
    with 1 for 2 and 3 nodes and reach 8 for jobs of over 1000, as the text says.
    """

    name: ClassVar[str] = "varying-fit"

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the first run, halving as often as needed."""
        return first_fit(free, size, int(math.log(2 * size)))


@dataclass(frozen=True, slots=True)
class ClosestFit(OrderedList):
    """
    Closest Fit: the successive free nodes whose largest gap is least.

    Stoltzfus13, section 5.4.1, Figure 23. Its first bound, 99999, is infinity here.
    """

    name: ClassVar[str] = "closest-fit"

    # the first window without a larger gap is taken at once. 1 is the true minimum, and what the
    # paper's "Closest" stands for; more only saved time (section 5.4.1).
    gap: int = 1

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the window with the least largest gap."""
        return closest_fit(free, size, self.gap)


@dataclass(frozen=True, slots=True)
class ClosestFitMind(OrderedList):
    """
    Closest Fit (MIND): free nodes in a row with the least mean distance.

    Stoltzfus13, section 5.4.1, the variation of Figure 23; the first window of equals. The gap at
    which Figure 23 stops early is a length on the list and has no meaning for MIND, so all windows
    count. Windows are compared by the sum of hops over their pairs, for all of them together in O(F
    size), see `scheduler.allocators.closest_kernels`; the result is that of an evaluation of every
    window. Passing over windows by lower bounds was tried (disjoint pairs and the triangle
    inequality) and cost more than it saved.
    """

    name: ClassVar[str] = "closest-fit-mind"

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:
        """Take the window with the least sum of hops over its pairs."""
        start = window_hops(line.geometry.fabric).least_window(line.node[free], size)
        return free[start : start + size]


def first_fit(free: Ints, size: int, gap: int) -> Ints:
    """
    Take the first run that is long enough; else halve the job and place both halves so.

    Stoltzfus13, Figure 11. Of an odd number the first half is the smaller one: the figure says "in
    half", and whole numbers are halved downwards in the language of its simulator.
    """
    pieces: list[Ints] = []
    wanted = [size]
    while wanted:
        now = wanted.pop()
        starts, lengths = free_runs(free, gap)
        fits = lengths >= now
        if fits.any():
            start = int(starts[fits.argmax()])
            pieces.append(free[start : start + now])
            free = np.concatenate((free[:start], free[start + now :]))
        else:
            wanted += [now - now // 2, now // 2]
    return np.concatenate(pieces)


def largest_fit(free: Ints, size: int, gap: int, *, whole_runs: bool) -> Ints:
    """
    Take the first run that is long enough, else the longest one and go on with the rest.

    Stoltzfus13, Figure 18, where the node that ends a run is left out of the next one: the list is
    cleared, and that node is not put into it (unlike in Figure 11).
    """
    pieces: list[Ints] = []
    while size:
        if free.size == size:
            pieces.append(free)
            break
        starts, lengths = free_runs(free, gap)
        if not whole_runs:
            starts, lengths = _as_printed(starts, lengths)
        fits = lengths >= size
        chosen = int(fits.argmax() if fits.any() else lengths.argmax())
        start, length = int(starts[chosen]), min(size, int(lengths[chosen]))
        pieces.append(free[start : start + length])
        free = np.concatenate((free[:start], free[start + length :]))
        size -= length
    return np.concatenate(pieces)


def closest_fit(free: Ints, size: int, gap: int) -> Ints:
    """
    Take the first window whose largest gap is least: Stoltzfus13, Figure 23.

    The largest gaps of all windows together, by doubling the window: O(F log size).
    """
    if size == 1:
        return free[:1]
    largest = np.diff(free)
    width = 1
    while width < size - 1:
        more = min(width, size - 1 - width)
        largest = np.maximum(largest[:-more], largest[more:])
        width += more
    start = int(np.maximum(largest, gap).argmin())
    return free[start : start + size]


def free_runs(free: Ints, gap: int) -> tuple[Ints, Ints]:
    """Return starts and lengths (R,) of the runs of a list parted at gaps larger than allowed."""
    breaks = np.flatnonzero(np.diff(free) > gap) + 1
    starts = np.concatenate((np.zeros(1, dtype=np.int64), breaks))
    return starts, np.diff(starts, append=free.size)


def _as_printed(starts: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """Leave out the first node of each run that follows on a list that is not empty."""
    dropped = np.fromiter(_run_drops(lengths.tolist()), dtype=np.int64, count=lengths.size)
    return starts + dropped, lengths - dropped


def _run_drops(lengths: list[int]) -> Iterator[int]:
    """Yield 1 for each run that loses its first node; a run of that node alone empties the list."""
    filled = False
    for length in lengths:
        yield int(filled)
        filled = length - filled > 0
