"""
Holders of nodes and links, from node numbers and link ends alone.

Nothing here looks at masks of a cluster or calls an allocator: links are known by the numbers that
the topology's arrays give them.
"""

from collections import Counter
from dataclasses import replace

import numpy as np

from netsim.topology.base import Topology
from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.geometry import tree_of

_MOST_UNITS, _MOST_OF_A_JOB = 8, 4  # of the 10 units of a link under lc+s


def held_nodes(allocation: Allocation) -> set[int]:
    """Return all nodes that an allocation holds, those beyond the request included."""
    nodes_per_leaf = allocation.geometry.nodes_per_leaf
    return {
        leaf * nodes_per_leaf + bit
        for leaf, mask, _ in allocation.leaves
        for bit in range(nodes_per_leaf)
        if mask >> bit & 1
    }


def links_of(allocation: Allocation) -> list[int]:
    """Return the directed links that an allocation owns, or has units of."""
    partition = replace(allocation, units=0).partition()
    return [] if partition.links is None else partition.links.tolist()


class OwnershipLedger:
    """Holders of nodes and links; says what is held twice. `tree`: The fabric."""

    def __init__(self, tree: Topology) -> None:
        self.tree = tree
        self.usable = set(tree.usable_nodes.tolist())
        self.absent = set() if tree.absent is None else set(tree.absent.tolist())
        self.node_of: dict[int, int] = {}
        self.link_of: dict[int, int] = {}
        self.holdings: dict[int, tuple[set[int], list[int]]] = {}

    def place(self, allocation: Allocation) -> list[str]:
        """Write an allocation down. Result: what is wrong with it; nothing is written down then."""
        job = allocation.job
        nodes = held_nodes(allocation)
        links = [] if allocation.units else links_of(allocation)
        given = allocation.nodes().tolist()
        right = {
            f"{job.n_nodes} different nodes are given": len(set(given))
            == len(given)
            == job.n_nodes,
            "the nodes of ranks are among those held": set(given) <= nodes,
            "idle nodes are counted": len(nodes) == job.n_nodes + allocation.idle,
            "only usable nodes are given": nodes <= self.usable,
            "a link is listed once": len(set(links)) == len(links),
            "no absent link is given": self.absent.isdisjoint(links),
            "no node is given twice": nodes.isdisjoint(self.node_of),
            "no link is given twice": self.link_of.keys().isdisjoint(links),
        }
        broken = [f"job {job.id}: not true: {what}" for what, holds in right.items() if not holds]
        if not broken:
            self.node_of.update(dict.fromkeys(nodes, job.id))
            self.link_of.update(dict.fromkeys(links, job.id))
            self.holdings[job.id] = (nodes, links)
        return broken

    def release(self, job_id: int) -> None:
        """Strike a job out."""
        nodes, links = self.holdings.pop(job_id)
        for node in nodes:
            del self.node_of[node]
        for link in links:
            del self.link_of[link]

    @property
    def n_free(self) -> int:
        """Usable nodes that no job holds."""
        return len(self.usable) - len(self.node_of)


class Meter:
    """Units taken of every link under LC+S; never more than 8 of 10."""

    def __init__(self) -> None:
        self.units: Counter[int] = Counter()

    def change(self, allocation: Allocation, tree: Topology, sign: int) -> list[str]:
        """Add (`sign` 1) or subtract (-1) a job; return links with too many or too few."""
        if not allocation.units:
            return []
        name, broken = f"job {allocation.job.id}", []
        if not 1 <= allocation.units <= _MOST_OF_A_JOB:
            broken.append(f"{name}: takes {allocation.units} units")
        for link in links_of(allocation):
            self.units[link] += sign * allocation.units
            if not 0 <= self.units[link] <= _MOST_UNITS:
                broken.append(f"{name}: {self.units[link]} units of {tree.link_name(link)}")
        return broken


class Ownership:
    """Nodes are given once; so are links where jobs can own some."""

    def __init__(self, fabric: Topology) -> None:
        self.tree = None if tree_of(fabric) is None else fabric
        self.ledger = OwnershipLedger(self.tree) if self.tree else None
        self.meter = Meter()
        self.usable = set(fabric.usable_nodes.tolist())
        self.taken: set[int] = set()

    def place(self, allocation: Allocation) -> list[str]:
        """Write a job down."""
        if self.tree is not None and self.ledger is not None:
            return self.ledger.place(allocation) + self.meter.change(allocation, self.tree, 1)
        given = allocation.nodes().tolist()
        nodes = set(given)
        right = {
            f"{allocation.job.n_nodes} different nodes are given": len(nodes)
            == len(given)
            == allocation.job.n_nodes,
            "only usable nodes are given": nodes <= self.usable,
            "no node is given twice": self.taken.isdisjoint(nodes),
        }
        self.taken |= nodes
        return [
            f"job {allocation.job.id}: not true: {what}"
            for what, holds in right.items()
            if not holds
        ]

    def release(self, allocation: Allocation) -> list[str]:
        """Strike a job out."""
        if self.tree is not None and self.ledger is not None:
            self.ledger.release(allocation.job.id)
            return self.meter.change(allocation, self.tree, -1)
        nodes = set(allocation.nodes().tolist())
        broken = [] if nodes <= self.taken else ["other nodes come back than were given"]
        self.taken -= nodes
        return broken

    @property
    def n_free(self) -> int:
        """Usable nodes that no job holds."""
        return self.ledger.n_free if self.ledger else len(self.usable) - len(self.taken)


def same_state(cluster: Cluster, other: Cluster) -> bool:
    """Say whether two clusters have the same nodes and links free and the same jobs running."""
    names = ("n_free", "leaf_free", "leaf_up", "l2_up", "pod_free", "leaf_comm", "running")
    return all(getattr(cluster, name) == getattr(other, name) for name in names) and (
        _shared_units(cluster) == _shared_units(other)
    )


def _shared_units(cluster: Cluster) -> object:
    """Return the shared units of a cluster; none taken is as good as none ever taken."""
    shared = cluster.shared
    if shared is None or not any(map(np.any, (*shared.leaf, *shared.l2))):
        return None
    return shared.leaf, shared.l2
