"""Model `hop-cost`: Mishra20's estimate of contention, from leaf switches alone."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from netsim.arrays import Ints
from netsim.contention.base import Traffic, communicating_nodes
from netsim.contention.cold.fixedpoint import ColdSolution
from netsim.contention.cold.recomputed import Recomputed
from netsim.contention.compared.leaves import communication_cost, contention_factor, effective_hops
from netsim.contention.constants import ConstantsOf
from netsim.topology.base import Topology


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
        Links of the longest route between the two in the step.
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
        self._constants_of = ConstantsOf(topology, fairness)
        self._nodes = self._attached(topology.usable_nodes)

    def prepare(self, traffic: Traffic) -> HopJob:
        """Return what is kept of a job."""
        constants = self._constants_of(traffic)
        period_s = constants.iteration_s
        routes, topology = traffic.routes, self._topology
        crossing = np.flatnonzero(routes.hops)
        first = routes.links[routes.indptr[:-1][crossing]]
        last = routes.links[routes.indptr[1:][crossing] - 1]
        leaf_i, leaf_j = topology.link_head[first], topology.link_tail[last]
        distance, step = routes.hops[crossing], traffic.step[crossing]
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
            constants.communication_s / period_s if period_s > 0.0 else 0.0,
        )

    def predict(self, jobs: Mapping[int, HopJob]) -> ColdSolution:
        """
        Return the interference of jobs that run together.

        `jobs`: what `prepare` returned. Result: interference, at least 1; links are not told.
        """
        together = np.zeros_like(self._nodes)
        for job in jobs.values():
            together += job.comm
        interference = {}
        for number, job in jobs.items():
            alone = job.cost(job.comm, self._nodes)
            excess = job.cost(together, self._nodes) / alone - 1.0 if alone else 0.0
            interference[number] = 1.0 + job.comm_fraction * excess
        return ColdSolution(interference, dict.fromkeys(jobs, -1))

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
