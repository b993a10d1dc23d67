"""Partition: the nodes and links that one job owns."""

from dataclasses import dataclass

from netsim.arrays import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """
    Nodes of a job, in rank order, and the directed links it owns.

    Parameters
    ----------
    nodes : (n,) int array
        Node of each rank; rank i runs on ``nodes[i]``.
    links : (L,) int array or None
        Directed links between switches that only this job may use; None when the job owns
        none and shares the fabric.
    """

    nodes: Ints
    links: Ints | None
