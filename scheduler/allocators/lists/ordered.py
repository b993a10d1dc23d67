"""FIFO, First Fit, Largest Fit, FifoFit and Varying Fit of Stoltzfus13, over any node ordering."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netsim.common.arrays import Ints
from scheduler.allocation import Allocation
from scheduler.allocators.base import check_size
from scheduler.allocators.choices import check_choice, check_count, check_flag
from scheduler.allocators.lists.rules import first_fit, largest_fit
from scheduler.allocators.ordering import ORDERINGS, NodeOrder, node_order
from scheduler.cluster import Cluster
from scheduler.job import Job


@dataclass(frozen=True, slots=True)
class OrderedList:
    """
    What the allocators of Stoltzfus13 share: they choose from the list of free nodes.

    A job fits whenever enough nodes are free, wherever they are. Ranks run along the
    ordering, whatever the order in which the nodes were found: the paper says nothing of
    ranks, and MIND does not depend on them.

    Parameters
    ----------
    order : str, default "row-major"
        The node ordering, a key of `scheduler.allocators.ordering.ORDERINGS`. The paper's is by
        node number (section 7.1).
    """

    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True
    fits_by_count: ClassVar[bool] = True

    order: str = "row-major"

    def __post_init__(self) -> None:
        """Check the ordering."""
        check_choice("order", self.order, tuple(ORDERINGS))

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

    Parameters
    ----------
    order : str, default "row-major"
        The node ordering.
    k : int, default 32
        Jobs of fewer nodes are small. 0 is the paper's reference FIFO-0: every job takes the
        first free nodes. 32 did best overall (section 4.2.2).

    Notes
    -----
    Stoltzfus13, section 4.2.2, Figure 14 (C. Albing's algorithm).
    """

    name: ClassVar[str] = "fifo"

    k: int = 32

    def __post_init__(self) -> None:
        """Check the options."""
        OrderedList.__post_init__(self)
        check_count("k", self.k, 0)

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the first or the last free nodes."""
        return free[free.size - size :] if size < self.k else free[:size]


@dataclass(frozen=True, slots=True)
class FirstFit(OrderedList):
    """
    First Fit: the first run of free nodes that is long enough, else two halves.

    Parameters
    ----------
    order : str, default "row-major"
        The node ordering.
    gap : int, default 8
        Nodes of a run are this far apart at most; 1 is strictly consecutive. 8 did best
        overall on HECToR (section 4.2.1).

    Notes
    -----
    Stoltzfus13, section 4.2.1, Figure 11 (the corrected version).
    """

    name: ClassVar[str] = "first-fit"

    gap: int = 8

    def __post_init__(self) -> None:
        """Check the options."""
        OrderedList.__post_init__(self)
        check_count("gap", self.gap, 1)

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the first run, halving as often as needed."""
        return first_fit(free, size, self.gap)


@dataclass(frozen=True, slots=True)
class LargestFit(OrderedList):
    """
    Largest Fit: the first run that is long enough, else the longest and so on for the rest.

    Parameters
    ----------
    order : str, default "row-major"
        The node ordering.
    gap : int, default 8
        Nodes of a run are this far apart at most. 8 did best overall (Table 1).
    whole_runs : bool, default False
        False: as Figure 18 is printed, the node behind a gap ends one run without beginning
        the next. True: it begins the next, as the text of section 5.1.1 has it.

    Notes
    -----
    Stoltzfus13, section 5.1.1, Figure 18.
    """

    name: ClassVar[str] = "largest-fit"

    gap: int = 8
    whole_runs: bool = False

    def __post_init__(self) -> None:
        """Check the options."""
        OrderedList.__post_init__(self)
        check_count("gap", self.gap, 1)
        check_flag("whole_runs", self.whole_runs)

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the longest runs."""
        return largest_fit(free, size, self.gap, whole_runs=self.whole_runs)


@dataclass(frozen=True, slots=True)
class FifoFit(OrderedList):
    """
    FifoFit: First Fit from the front of the list for large jobs, from its end for small ones.

    Parameters
    ----------
    order : str, default "row-major"
        The node ordering.
    k : int, default 64
        Jobs of fewer nodes are small.
    gap : int, default 8
        Nodes of a run are this far apart at most. FifoFit64-8 did best (section 5.2.2).

    Notes
    -----
    Stoltzfus13, section 5.2; it prints no code. When a job is halved, the size of the whole job
    goes on deciding from which end both halves come.
    """

    name: ClassVar[str] = "fifo-fit"

    k: int = 64
    gap: int = 8

    def __post_init__(self) -> None:
        """Check the options."""
        OrderedList.__post_init__(self)
        check_count("k", self.k, 0)
        check_count("gap", self.gap, 1)

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the first run as seen from one end of the list."""
        if size < self.k:
            return np.negative(first_fit(-free[::-1], size, self.gap))
        return first_fit(free, size, self.gap)


@dataclass(frozen=True, slots=True)
class VaryingFit(OrderedList):
    """
    Varying Fit: First Fit with a gap that grows with the logarithm of the job's size.

    Notes
    -----
    Stoltzfus13, section 5.3, Figure 21: "the integer value of the natural logarithm of the job
    size multiplied by 2". The factor is taken into the logarithm, ln(2 n): only so does the
    gap begin with 1 for 2 and 3 nodes and reach 8 for jobs of over 1000, as the text says.
    """

    name: ClassVar[str] = "varying-fit"

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the first run, halving as often as needed."""
        return first_fit(free, size, int(math.log(2 * size)))
