"""
Models `null`, an infinite network, and `hop-cost`, which looks at leaf switches alone.

Mishra et al., *Communication-aware Job Scheduling using SLURM*, ICPP Workshops 2020: equations (1)
to (7), and the model of running jobs that is made of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.flows.contention import (
    Recomputed,
    Solution,
    Traffic,
    communicating_nodes,
    refuse_hidden,
    step_rounds,
)
from netsim.flows.maxmin import is_per_sender
from netsim.flows.traffic import TrafficTimes, check_traffic
from netsim.topology.base import Topology


def communication_ratio(comm: Ints, busy: Ints, nodes: Ints) -> Floats:
    """Return L_comm / L_busy + L_busy / L_nodes of leaves: Mishra20, equation (1), 0 / 0 as 0."""
    ratio: Floats = comm / np.maximum(busy, 1) + busy / np.maximum(nodes, 1)
    return ratio


def contention_factor(leaf_i: Ints, leaf_j: Ints, comm: Ints, nodes: Ints) -> Floats:
    """
    Return C(i, j) of pairs of leaves (F,): Mishra20, equation (2) on one leaf, (3) between two.

    The last term of (3) stands for the lowest common switch, whatever its level. `comm` (L,) counts
    the job's own nodes, too.
    """
    share = comm / np.maximum(nodes, 1)
    both = (comm[leaf_i] + comm[leaf_j]) / np.maximum(nodes[leaf_i] + nodes[leaf_j], 1)
    return np.where(leaf_i == leaf_j, share[leaf_i], share[leaf_i] + share[leaf_j] + 0.5 * both)


def common_switch_level(leaf_i: Ints, leaf_j: Ints, switch_above: Ints) -> Ints:
    """
    Return the level of the lowest common switch of pairs of leaves (F,); 1: they are one leaf.

    `switch_above` (H, L): row l has the switch, or group of equal switches, at level l + 2 above
    each leaf.
    """
    apart = np.sum(switch_above[:, leaf_i] != switch_above[:, leaf_j], axis=0)
    level: Ints = 1 + (leaf_i != leaf_j) + apart
    return level


def effective_hops(distance: Ints, contention: Floats) -> Floats:
    """Return Hops(i, j) = d(i, j) (1 + C(i, j)): Mishra20, equation (5), with d of (4) on trees."""
    hops: Floats = distance * (1.0 + contention)
    return hops


def communication_cost(step: Ints, hops: Floats) -> float:
    """Return the sum over steps of the most hops, or hops times bytes: Mishra20, equation (6)."""
    return float(step_costs(step, hops).sum())


def step_costs(step: Ints, hops: Floats) -> Floats:
    """Return the most hops of each step that has messages (S,); `step` ascends."""
    if not step.size:
        return np.empty(0)
    first = np.flatnonzero(np.diff(step, prepend=step[0] - 1))
    largest: Floats = np.maximum.reduceat(hops, first)
    return largest


def modified_runtime(
    runtime_s: float, comm_fraction: float, cost: float, cost_default: float
) -> float:
    """Return T_compute + T_comm cost / cost_default: Mishra20, equation (7), in seconds."""
    if cost_default <= 0.0:
        return runtime_s
    return runtime_s * (1.0 - comm_fraction + comm_fraction * cost / cost_default)


@dataclass(frozen=True, slots=True, eq=False)
class HopJob:
    """What the cost of a job depends on."""

    step: Ints  # (K,): step of each pair of leaves that communicate in it, ascending
    # leaf_i, leaf_j: (K,): the switches, as vertices of the fabric
    leaf_i: Ints
    leaf_j: Ints
    # (K,): links of the longest route between the two in the step, summed over its rounds
    distance: Ints
    comm: Ints  # (V,): the job's own communicating nodes at each vertex
    comm_fraction: float  # communication share of the iteration alone

    def cost(self, comm: Ints, nodes: Ints) -> float:
        """Return equation (6) for the nodes at each vertex: those that communicate, and all."""
        contention = contention_factor(self.leaf_i, self.leaf_j, comm, nodes)
        return communication_cost(self.step, effective_hops(self.distance, contention))


class HopCost(Recomputed[HopJob]):
    """
    For comparison: cost in hops, equations (2) to (7) of Mishra20.

    The job's cost among others over its cost alone on the same placement. A node's leaf is the
    switch of its first link, and a distance the length of a route, which on a tree is equation (4).
    Every running job counts as communication-intensive, by all nodes that send or receive. The
    model looks at switches: jobs on one leaf slow each other down even where they share no link,
    and bytes do not matter.
    """

    def __init__(self, topology: Topology, *, fairness: str) -> None:
        super().__init__(self._job_of, self._solution_of)
        self._topology = topology
        is_per_sender(fairness)  # refuses what is none; changes nothing
        self._times_of = TrafficTimes(topology)
        self._nodes = self._nodes_at_vertices(topology.usable_nodes)

    def _job_of(self, traffic: Traffic) -> HopJob:
        """Return what is stored of a job."""
        check_traffic(traffic, self._topology)
        refuse_hidden(traffic, "hop-cost")
        communication_s = self._times_of(traffic).communication_s
        period_s = traffic.compute_s + communication_s
        routes, topology = traffic.routes, self._topology
        crossing = np.flatnonzero(routes.hops)
        first = routes.links[routes.indptr[:-1][crossing]]
        last = routes.links[routes.indptr[1:][crossing] - 1]
        leaf_i, leaf_j = topology.link_head[first], topology.link_tail[last]
        step = traffic.step[crossing]
        distance = routes.hops[crossing] * step_rounds(traffic)[step]
        n_vertices = topology.n_nodes + topology.n_switches
        pair = (step * n_vertices + leaf_i) * n_vertices + leaf_j
        order = np.lexsort((-distance, pair))
        longest = order[np.unique(pair[order], return_index=True)[1]]
        return HopJob(
            step[longest],
            leaf_i[longest],
            leaf_j[longest],
            distance[longest],
            self._nodes_at_vertices(communicating_nodes(traffic, topology)),
            communication_s / period_s if period_s > 0.0 else 0.0,
        )

    def _solution_of(self, jobs: Mapping[int, HopJob]) -> Solution:
        """Return the interference of jobs; no links."""
        together = np.zeros_like(self._nodes)
        for job in jobs.values():
            together += job.comm
        interference = {}
        for number, job in jobs.items():
            alone = job.cost(job.comm, self._nodes)
            excess = job.cost(together, self._nodes) / alone - 1.0 if alone else 0.0
            interference[number] = 1.0 + job.comm_fraction * excess
        return Solution(interference, dict.fromkeys(jobs, -1))

    def _nodes_at_vertices(self, nodes: Ints) -> Ints:
        """Return how many of some nodes each vertex has on its links."""
        topology = self._topology
        member = np.zeros(topology.n_nodes + topology.n_switches, dtype=bool)
        member[nodes] = True
        links = np.flatnonzero(member[topology.link_tail] & (topology.link_tail < topology.n_nodes))
        size = member.size
        pairs = np.unique(topology.link_tail[links] * size + topology.link_head[links])
        return np.bincount(pairs % size, minlength=size)


class Null(Recomputed[None]):
    """Every job has interference 1; what the others are compared with."""

    def __init__(self, topology: Topology, *, fairness: str) -> None:
        del topology, fairness
        super().__init__(lambda _: None, lambda _: Solution({}, {}))
        self._new: list[int] = []

    def start(self, job: int, traffic: Traffic) -> None:
        """Add a job."""
        super().start(job, traffic)
        self._new.append(job)

    def solve(self) -> Mapping[int, float]:
        """Return 1 for every job that was started since the last call."""
        new, self._new = self._new, []
        return dict.fromkeys((job for job in new if job in self._jobs), 1.0)
