"""Adaptive of Mishra20: greedy or balanced, whichever costs less."""

from dataclasses import dataclass
from typing import ClassVar

from patterns.algorithms import RecursiveDoubling
from scheduler.allocation import Allocation
from scheduler.allocators.choices import check_choice
from scheduler.allocators.leaves.balanced import Balanced
from scheduler.allocators.leaves.greedy import Greedy
from scheduler.allocators.leaves.leafwise import placement_cost
from scheduler.allocators.leaves.lowest import require_switches
from scheduler.cluster import Cluster
from scheduler.job import Job

HOPS, HOP_BYTES = "hops", "hop-bytes"
_STAND_IN = RecursiveDoubling()  # of a job that has no pattern


@dataclass(frozen=True, slots=True)
class Adaptive:
    """
    Adaptive: of greedy's and balanced's placement the one with the lower communication cost.

    Jobs that do not communicate get the one with the higher cost, which leaves the better
    nodes to others.

    Parameters
    ----------
    cost : {"hops", "hop-bytes"}
        Effective hops of the worst pair of each step, as equation (6) is printed, or these
        times the bytes of the message, as section 5.3 says of patterns like RHVD.

    Notes
    -----
    Mishra20, section 4.3, equations (2) to (6). Left open there: at equal cost balanced's
    placement is taken; the cost for a job that does not communicate is that of recursive
    doubling, without counting its own nodes as communicating.
    """

    name: ClassVar[str] = "adaptive"
    isolating: ClassVar[bool] = False
    monotone_in_size: ClassVar[bool] = True
    monotone_in_free: ClassVar[bool] = True
    fits_by_count: ClassVar[bool] = True

    cost: str = HOPS

    def __post_init__(self) -> None:
        """Check the option."""
        check_choice("cost", self.cost, (HOPS, HOP_BYTES))

    def allocate(self, job: Job, cluster: Cluster) -> Allocation | None:
        """Return free nodes below the lowest switch that has enough."""
        require_switches(cluster, self.name)
        balanced = Balanced().allocate(job, cluster)
        greedy = Greedy().allocate(job, cluster)
        if (
            balanced is None
            or greedy is None
            or (balanced.order, set(balanced.leaves))
            == (
                greedy.order,
                set(greedy.leaves),
            )
        ):
            return balanced
        pattern = job.communication.pattern if job.communication else _STAND_IN
        weighed = self.cost == HOP_BYTES
        costs = [
            placement_cost(pattern, placement, cluster, hop_bytes=weighed)
            for placement in (balanced, greedy)
        ]
        better = costs[1] < costs[0] if job.communication else costs[1] > costs[0]
        return greedy if better else balanced
