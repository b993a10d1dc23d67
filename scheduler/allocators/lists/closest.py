"""Closest Fit of Stoltzfus13: the window of the free list with least gap, or with least MIND."""

from dataclasses import dataclass
from typing import ClassVar

from netsim.common.arrays import Ints
from scheduler.allocators.choices import check_count
from scheduler.allocators.lists.hops import window_hops
from scheduler.allocators.lists.ordered import OrderedList
from scheduler.allocators.lists.rules import closest_fit
from scheduler.allocators.ordering import NodeOrder


@dataclass(frozen=True, slots=True)
class ClosestFit(OrderedList):
    """
    Closest Fit: the successive free nodes whose largest gap is least.

    Parameters
    ----------
    order : str, default "row-major"
        The node ordering.
    gap : int, default 1
        The first window without a larger gap is taken at once. 1 is the true minimum, and
        what the paper's "Closest" stands for; more only saved time (section 5.4.1).

    Notes
    -----
    Stoltzfus13, section 5.4.1, Figure 23. Its first bound, 99999, is infinity here.
    """

    name: ClassVar[str] = "closest-fit"

    gap: int = 1

    def __post_init__(self) -> None:
        """Check the options."""
        OrderedList.__post_init__(self)
        check_count("gap", self.gap, 1)

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:  # noqa: ARG002 (protocol)
        """Take the window with the least largest gap."""
        return closest_fit(free, size, self.gap)


@dataclass(frozen=True, slots=True)
class ClosestFitMind(OrderedList):
    """
    Closest Fit (MIND): the successive free nodes with the least mean inter-node distance.

    Parameters
    ----------
    order : str, default "row-major"
        The node ordering.

    Notes
    -----
    Stoltzfus13, section 5.4.1, the variation of Figure 23; the first window of equals. The gap
    at which Figure 23 stops early is a length on the list and has no meaning for MIND, so
    all windows count. Windows are compared by the sum of hops over their pairs, for all of
    them together in O(F size), see `scheduler.allocators.lists.closest_kernels`; the result is that
    of an evaluation of every window. Passing over windows by lower bounds was tried (disjoint
    pairs and the triangle inequality) and cost more than it saved.
    """

    name: ClassVar[str] = "closest-fit-mind"

    def choose(self, free: Ints, size: int, line: NodeOrder) -> Ints:
        """Take the window with the least sum of hops over its pairs."""
        start = window_hops(line.geometry.fabric).least_window(line.node[free], size)
        return free[start : start + size]
