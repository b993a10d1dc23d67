"""ECMP on fat-trees: paths by a seeded hash."""

from dataclasses import dataclass

import numpy as np

from fabricsim.checking import whole
from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.common.rng import whole_numbers
from netsim.flows.partition import Partition
from netsim.routing.base import flow_ends
from netsim.routing.shortest import Shortest
from netsim.routing.updown import endpoint_routes
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes
from netsim.topology.torus import Torus

_MOST_QPS = 128  # of one connection, in NCCL


@dataclass(frozen=True, slots=True)
class Ecmp:
    """
    ECMP: every choice of a port is a hash of seed, both ends, queue pair and level.

    Equal-cost multi-path routing hashes the header of a flow; here two endpoints and the queue
    pair stand for it, so collisions of rails and of queue pairs are independent. A message is
    split evenly over ``qps`` queue pairs, as NCCL does (``NCCL_IB_QPS_PER_CONNECTION``); whole
    messages in turn are the same in the mean. Parallel cables are hashed like paths.
    """

    tree: FatTree
    seed: int = 1
    qps: int = 1

    @classmethod
    def on(cls, topology: Topology, seed: int, qps: int = 1) -> "Ecmp | GraphEcmp":
        """Make the routing for a fabric."""
        qps = whole("routing option qps", qps, 1, _MOST_QPS, error=RoutingError)
        if isinstance(topology, (Torus, Dragonfly)):
            raise RoutingError(f"routing 'ecmp' needs a Clos network, got {topology.summary}.")
        if not isinstance(topology, FatTree):
            return GraphEcmp(Shortest(topology), seed, qps)
        return cls(topology, seed, qps)

    def routes(
        self,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
        queue_pair: Ints | None = None,
    ) -> Routes:
        """Route flows between endpoints, by queue pair 0 or the given."""
        del partition
        tree = self.tree
        src, dst, *_ = header = _flow_header(src, dst, queue_pair, tree)
        ports = self._drawn(header, 0, tree.ports)
        cables = self._drawn(header, tree.levels, tree.parallel)
        return endpoint_routes(tree, src, dst, ports, cables)

    def _drawn(self, header: tuple[Ints, ...], turn: int, below: tuple[int, ...]) -> Ints:
        """Draw a number for each level and flow."""
        return np.stack(
            [
                whole_numbers(self.seed, (*header, np.full_like(header[0], turn + level)), count)
                for level, count in enumerate(below)
            ]
        )


@dataclass(frozen=True, slots=True)
class GraphEcmp:
    """
    ECMP on Clos networks that are no regular trees: shortest paths, each next link by a hash.

    A switch hashes seed, both ends, queue pair and itself over the links on shortest paths,
    parallel cables among them. Links count alike, whatever lies behind them: no weighted ECMP.
    """

    paths: Shortest
    seed: int = 1
    qps: int = 1

    def routes(
        self,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
        queue_pair: Ints | None = None,
    ) -> Routes:
        """Route flows between endpoints, by queue pair 0 or the given."""
        del partition
        src, dst, *_ = header = _flow_header(src, dst, queue_pair, self.paths.topology)
        return self.paths.by_word(src, dst, whole_numbers(self.seed, header, 2**62))


def _flow_header(
    src: Ints, dst: Ints, queue_pair: Ints | None, topology: Topology
) -> tuple[Ints, ...]:
    """Return what switches hash of flows: both ends, checked, and the queue pair if there are."""
    ends = flow_ends(src, dst, topology)
    return ends if queue_pair is None else (*ends, queue_pair)
