"""Runs of the packet simulation, and what the links carried in them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Floats, Ints
from netsim.common.errors import ContentionError
from netsim.common.jit import load_kernels
from netsim.packetsim.records import CROWDED, DEADLOCK, DONE, World
from netsim.packetsim.world import NS, with_packets
from netsim.topology.base import Topology

_CHUNK = 2**22  # packets moved over links between two looks at the clock


@dataclass(frozen=True, slots=True, eq=False)
class LinkUse:
    """What links carried in a simulation."""

    links: Ints  # (k,): directed links that carried anything, ascending
    nbytes: Floats  # (k,): bytes
    utilization: Floats  # (k,): share of the time in which the link sent
    # (k,): mean seconds that a packet waited before the link, for a place and for its turn
    waited_s: Floats


class Ledger:
    """What links have carried so far."""

    def __init__(self, topology: Topology) -> None:
        self._totals = np.zeros((4, topology.n_links))  # bytes, busy ns, packets, waited ns
        self._time = np.zeros(topology.n_links)
        self.hops = 0  # packets moved over a link, in all

    def add(self, world: World, links: Ints) -> None:
        """
        Add what a world has done.

        `links` (k,): directed links of the fabric that it has, ascending.
        """
        done = world.links
        rows = done["bytes"], done["bytes"] * done["per_byte"], done["packets"], done["waited"]
        self._totals[:, links] += rows
        self._time[links] += world.clock["now"][0]

    def use(self) -> LinkUse:
        """Return the totals."""
        links = np.flatnonzero(self._totals[2])
        nbytes, busy, packets, waited = self._totals[:, links]
        share = np.minimum(1.0, busy / np.maximum(self._time[links], 1.0))
        return LinkUse(links, nbytes, share, waited / packets / NS)


def advance(world: World, report: Callable[[World], None] | None = None) -> World:
    """Run a world until all its jobs have made their iterations."""
    kernels = load_kernels("netsim.packetsim.packet_kernels", "packet simulation", seconds=10)
    world.clock["unfinished"] = np.count_nonzero(world.jobs["need"])
    world.clock["wake"] = world.jobs["wake"].min()
    while True:
        world.clock["pause"] = world.clock["hops"] + _CHUNK
        state = kernels.advance(world)
        if state == DONE:
            return world
        if state == CROWDED:
            world = with_packets(world, world.packets.size)
        elif state == DEADLOCK:
            open_flows = int(np.count_nonzero(world.flows["unarrived"]))
            raise ContentionError(
                f"deadlock: packets of {open_flows} messages wait for each other in a circle "
                f"after {world.clock['now'][0] / NS:.3g} s."
            )
        elif report is not None:
            report(world)
