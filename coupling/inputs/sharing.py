"""Who holds which node: no two jobs hold one, unless they say that they share it."""

from collections.abc import Sequence
from dataclasses import dataclass

from coupling.errors import SnapshotError
from netsim.common.arrays import Ints
from netsim.topology.base import Topology


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """
    A job, or another placement of one, and its nodes.

    Parameters
    ----------
    place : str
        File and entry, for the error.
    job : int or str
        Id of the job.
    nodes : (n,) int array
        Node of each rank.
    shared : bool
        Whether its nodes may be those of other jobs that share theirs.
    """

    place: str
    job: int | str
    nodes: Ints
    shared: bool


def require_own_nodes(
    jobs: Sequence[Holder], candidates: Sequence[Holder], topology: Topology
) -> None:
    """Refuse a node that two jobs hold, or would hold."""
    holders: dict[int, list[Holder]] = {}
    for job in jobs:
        _place(job, holders, topology)
        for node in set(job.nodes.tolist()):
            holders.setdefault(node, []).append(job)
    for candidate in candidates:
        _place(candidate, holders, topology)


def _place(holder: Holder, holders: dict[int, list[Holder]], topology: Topology) -> None:
    """Refuse a placement on the nodes of others."""
    for node in holder.nodes.tolist():
        for other in holders.get(node, ()):
            if other.job != holder.job and not (holder.shared and other.shared):
                raise SnapshotError(
                    f"{holder.place} nodes: node {topology.vertex_name(node)} is also of job "
                    f"{other.job}; expected each node in one job, or shared = true for both."
                )
