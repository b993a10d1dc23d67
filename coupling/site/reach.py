"""Which links a placed job owns or can use."""

from collections.abc import Iterator

import numpy as np

from coupling.inputs.snapshot import PlacedJob, Snapshot
from netsim.common.arrays import Ints
from netsim.flows.isolation import minimal_links
from netsim.routing.ranks import RankRouting

_BATCH = 200_000  # flows routed at once: tens of MB


def reached_links(snapshot: Snapshot, job: PlacedJob, *, any_routing: bool) -> Iterator[Ints]:
    """
    Iterate over the links that a job owns, and those that it can use.

    Yields: directed links, in any order, repeats included.
    """
    topology, partition = snapshot.topology, job.partition
    ways = RankRouting(topology, snapshot.routing)
    if partition.links is not None:
        yield partition.links
    nodes = np.unique(partition.nodes)
    rows = max(1, _BATCH // nodes.size)
    for first in range(0, nodes.size, rows):
        some = nodes[first : first + rows]
        ends = np.repeat(some, nodes.size), np.tile(nodes, some.size)
        if any_routing:
            yield minimal_links(topology, *ends)
        else:
            yield ways.of_nodes(*ends, partition)[0].links
