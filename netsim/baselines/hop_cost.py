"""
Model `hop-cost`: Mishra20's estimate of contention, from leaf switches alone.

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
    step_rounds,
)
from netsim.flows.traffic import TrafficTimes, check_traffic
from netsim.topology.base import Topology


def communication_ratio(comm: Ints, busy: Ints, nodes: Ints) -> Floats:
    """
    Return how contended and how full leaves are.

    `comm` (L,): nodes of each leaf that run communication-intensive jobs, L_comm. `busy` (L,):
    nodes of each leaf that run any job, L_busy. `nodes` (L,): nodes of each leaf, L_nodes. Result
    (L,): L_comm / L_busy + L_busy / L_nodes, from 0 to 2.

    Mishra et al., *Communication-aware Job Scheduling using SLURM*, ICPP Workshops 2020
    (Mishra20), equation (1). A leaf without busy nodes has no contention: its first term, 0 / 0, is
    0; so is the second of a leaf without nodes.

    Examples
    --------
    >>> communication_ratio(np.array([4, 0]), np.array([8, 0]), np.array([16, 16])).tolist()
    [1.0, 0.0]
    """
    ratio: Floats = comm / np.maximum(busy, 1) + busy / np.maximum(nodes, 1)
    return ratio


def contention_factor(leaf_i: Ints, leaf_j: Ints, comm: Ints, nodes: Ints) -> Floats:
    """
    Return the contention that pairs of communicating nodes meet.

    `leaf_i`, `leaf_j` (F,): leaf of each of the two nodes. `comm` (L,): nodes of each leaf that run
    communication-intensive jobs, the job's own included. `nodes` (L,): nodes of each leaf. Result
    (F,): C(i, j).

    Mishra20, equation (2) on one leaf, (3) between two; the last term of (3) stands for the
    lowest common switch, whatever its level.

    Examples
    --------
    Figure 5: job 1 on n0, n1, n4, n5 and job 2 on n2, n3, four nodes a leaf.

    >>> contention_factor(
    ...     np.array([0, 0]), np.array([0, 1]), np.array([4, 2]), np.array([4, 4])
    ... ).tolist()
    [1.0, 1.875]
    """
    share = comm / np.maximum(nodes, 1)
    both = (comm[leaf_i] + comm[leaf_j]) / np.maximum(nodes[leaf_i] + nodes[leaf_j], 1)
    return np.where(leaf_i == leaf_j, share[leaf_i], share[leaf_i] + share[leaf_j] + 0.5 * both)


def common_switch_level(leaf_i: Ints, leaf_j: Ints, switch_above: Ints) -> Ints:
    """
    Return the level of the lowest common switch of pairs of leaves.

    `leaf_i`, `leaf_j` (F,): leaves. `switch_above` (H, L): row l: the switch, or group of
    equivalent switches, at level l + 2 above each leaf; all leaves have the same in the last row.
    Result (F,): 1 where both are one leaf, 2 below one switch above the leaves, and so on.
    """
    apart = np.sum(switch_above[:, leaf_i] != switch_above[:, leaf_j], axis=0)
    level: Ints = 1 + (leaf_i != leaf_j) + apart
    return level


def effective_hops(distance: Ints, contention: Floats) -> Floats:
    """
    Return how far apart nodes are when contention counts.

    `distance` (F,): links from node to node, those of the nodes included: in a tree twice the level
    of the lowest common switch, Mishra20, equation (4). `contention` (F,): C(i, j). Result (F,):
    Hops(i, j) = d(i, j) (1 + C(i, j)), Mishra20, equation (5).

    Examples
    --------
    Pairs (n0, n1) and (n0, n4) of figure 5.

    >>> effective_hops(np.array([2, 4]), np.array([1.0, 1.875])).tolist()
    [4.0, 11.5]
    """
    hops: Floats = distance * (1.0 + contention)
    return hops


def communication_cost(step: Ints, hops: Floats) -> float:
    """
    Return the cost of a job's communication.

    `step` (F,): step of each message, ascending. `hops` (F,): effective hops of each message; times
    its bytes for hop-bytes. Result: sum over the steps of the largest in each, Mishra20, equation
    (6); 0 without messages.

    Examples
    --------
    >>> communication_cost(np.array([0, 0, 1]), np.array([4.0, 11.5, 4.0]))
    15.5
    """
    return float(step_costs(step, hops).sum())


def step_costs(step: Ints, hops: Floats) -> Floats:
    """
    Return the cost of each step that has messages.

    `step` (F,): step of each message; those of one step are contiguous. `hops` (F,): effective hops
    of each message. Result (S,): the largest of each step, in order: what Mishra20, equation (6),
    sums up.
    """
    if not step.size:
        return np.empty(0)
    first = np.flatnonzero(np.diff(step, prepend=step[0] - 1))
    largest: Floats = np.maximum.reduceat(hops, first)
    return largest


def modified_runtime(
    runtime_s: float, comm_fraction: float, cost: float, cost_default: float
) -> float:
    """
    Return the run time of a job at another communication cost.

    `comm_fraction`: share of it that is communication, 0..1. Result: T' = T_compute + T_comm cost /
    cost_default in seconds, Mishra20, equation (7); unchanged where the default costs nothing.

    Examples
    --------
    >>> modified_runtime(100.0, 0.5, 8.0, 10.0)
    90.0
    """
    if cost_default <= 0.0:
        return runtime_s
    return runtime_s * (1.0 - comm_fraction + comm_fraction * cost / cost_default)


@dataclass(frozen=True, slots=True, eq=False)
class HopJob:
    """
    What the cost of a job depends on.

    Parameters
    ----------
    step : (K,) int array
        Step of each pair of leaves that talk in it, ascending.
    leaf_i, leaf_j : (K,) int array
        The switches, as vertices of the fabric.
    distance : (K,) int array
        Links of the longest route between the two in the step, summed over its rounds.
    comm : (V,) int array
        The job's own communicating nodes at each vertex.
    comm_fraction : float
        Communication share of the iteration alone.
    """

    step: Ints
    leaf_i: Ints
    leaf_j: Ints
    distance: Ints
    comm: Ints
    comm_fraction: float

    def cost(self, comm: Ints, nodes: Ints) -> float:
        """
        Return the communication cost of the job.

        `comm`, `nodes` (V,): communicating nodes and all nodes at each vertex. Result: equation
        (6).
        """
        contention = contention_factor(self.leaf_i, self.leaf_j, comm, nodes)
        return communication_cost(self.step, effective_hops(self.distance, contention))


class HopCost:
    """
    Interference by Mishra20: communication takes longer in the ratio of costs.

    Parameters
    ----------
    topology : Topology
        The fabric. A node's leaf is the switch that its first link leads to, so the model is
        not confined to trees.
    fairness : {"per-sender", "per-flow"}
        For the communication share of the iteration alone.

    Notes
    -----
    Equations (2) to (7) of Mishra20 with the job's cost among others over its cost alone on the
    same placement. The distance of two nodes is the length of their route, which on a tree is
    equation (4). Every running job counts as communication-intensive, by all nodes that send
    or receive. The model looks at switches: jobs on one leaf slow each other down even where
    they share no link, and bytes do not matter.
    """

    def __init__(self, topology: Topology, fairness: str) -> None:
        self._topology = topology
        self._times_of = TrafficTimes(topology, fairness)
        self._nodes = self._attached(topology.usable_nodes)

    def prepare(self, traffic: Traffic) -> HopJob:
        """Return what is kept of a job."""
        check_traffic(traffic, self._topology)
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
            self._attached(communicating_nodes(traffic, topology)),
            communication_s / period_s if period_s > 0.0 else 0.0,
        )

    def predict(self, jobs: Mapping[int, HopJob]) -> Solution:
        """
        Return the interference of jobs that run together.

        `jobs`: what `prepare` returned. Result: interference, at least 1; no links.
        """
        together = np.zeros_like(self._nodes)
        for job in jobs.values():
            together += job.comm
        interference = {}
        for number, job in jobs.items():
            alone = job.cost(job.comm, self._nodes)
            excess = job.cost(together, self._nodes) / alone - 1.0 if alone else 0.0
            interference[number] = 1.0 + job.comm_fraction * excess
        return Solution(interference, dict.fromkeys(jobs, -1))

    def _attached(self, nodes: Ints) -> Ints:
        """Return how many of some nodes each vertex has on its links."""
        topology = self._topology
        member = np.zeros(topology.n_nodes + topology.n_switches, dtype=bool)
        member[nodes] = True
        links = np.flatnonzero(member[topology.link_tail] & (topology.link_tail < topology.n_nodes))
        size = member.size
        pairs = np.unique(topology.link_tail[links] * size + topology.link_head[links])
        return np.bincount(pairs % size, minlength=size)


def hop_cost(topology: Topology, *, fairness: str) -> Recomputed[HopJob]:
    """
    Build the model `hop-cost`.

    `fairness` {"per-sender", "per-flow"}: for the communication share of the iteration alone.
    """
    model = HopCost(topology, fairness)
    return Recomputed(model.prepare, model.predict)
