"""What collides under the one static table that serves all traffic of a job."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.flows.partition import Partition
from netsim.routing.base import RankRouting, Routing
from netsim.routing.multipath import single_paths
from netsim.topology.base import Topology

_BATCH = 200_000  # flows routed at once: tens of MB


@dataclass(frozen=True, slots=True)
class TableReport:
    """How permutations fare under one static table."""

    # shifts, shifts_clean, shifts_worst: shifts of the ranks by 1..n-1, those with at most one flow
    # on every link between switches, and the largest load of any
    shifts: int
    shifts_clean: int
    shifts_worst: int
    # random, random_clean, random_worst: the same for random permutations
    random: int
    random_clean: int
    random_worst: int
    random_mean: float  # mean of their largest loads; 0 without any


def static_table_report(
    topology: Topology,
    routing: Routing,
    partition: Partition,
    *,
    n_random: int = 500,
    seed: int = 1,
) -> TableReport:
    """Count the shifts and random permutations without contention under a routing."""
    _, first = np.unique(partition.nodes, return_index=True)
    nodes = partition.nodes[np.sort(first)]
    rank = np.arange(nodes.size)
    shifts = (rank + np.arange(1, nodes.size)[:, None]) % nodes.size
    rng = np.random.default_rng(seed)
    rows = max(1, _BATCH // max(rank.size, 1))  # drawn at once: the draws are the same
    batches = [min(rows, n_random - begin) for begin in range(0, n_random, rows)]
    drawn = (rng.permuted(np.tile(rank, (count, 1)), axis=1) for count in batches)
    loads = [
        np.concatenate(
            [np.zeros(0, dtype=np.int64)]
            + [largest_loads(topology, routing, partition, nodes, nodes[part]) for part in parts]
        )
        for parts in ([shifts], drawn)
    ]
    return TableReport(
        shifts=loads[0].size,
        shifts_clean=int(np.sum(loads[0] <= 1)),
        shifts_worst=int(loads[0].max(initial=0)),
        random=n_random,
        random_clean=int(np.sum(loads[1] <= 1)),
        random_worst=int(loads[1].max(initial=0)),
        random_mean=float(loads[1].mean()) if n_random else 0.0,
    )


def largest_loads(
    topology: Topology, routing: Routing, partition: Partition, src: Ints, dst: Ints
) -> Ints:
    """Return the most flows on a link between switches for each of K permutations."""
    n_nodes, n_links = topology.n_nodes, topology.n_links
    single_paths(routing, "counting flows on links needs", RoutingError)
    ways = RankRouting(topology, routing)
    largest = np.zeros(dst.shape[0], dtype=np.int64)
    batch = max(1, _BATCH // max(src.size, 1))
    for start in range(0, dst.shape[0], batch):
        rows = dst[start : start + batch]
        routes, parts = ways.of_nodes(np.tile(src, rows.shape[0]), rows.ravel(), partition)
        row = np.repeat(np.arange(rows.shape[0]), src.size)
        row = np.repeat(row if parts is None else row[parts.flow], routes.hops)
        ends = topology.link_tail[routes.links], topology.link_head[routes.links]
        between = np.minimum(*ends) >= n_nodes
        used, load = np.unique(row[between] * n_links + routes.links[between], return_counts=True)
        np.maximum.at(largest, start + used // n_links, load)
    return largest
