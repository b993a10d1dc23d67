"""What loading new tables changes: entries, and whether it is safe while packets are under way."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints
from netsim.infiniband.export import Export
from netsim.infiniband.walk import credit_loop


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry that changes."""

    guid: int  # of the switch
    # switch, node: names of the switch, and of the node that the entry leads to
    switch: str
    node: str
    lid: int  # of the node
    # before, after: ports; 255 for none
    before: int
    after: int

    def line(self) -> str:
        """Return the line of a file of differences."""
        return (
            f"0x{self.guid:016x} '{self.switch}': lid 0x{self.lid:04x} '{self.node}': "
            f"port {self.before:03d} -> {self.after:03d}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """What loading new tables changes."""

    entries: tuple[Entry, ...]  # by switch and LID
    # loop_before, loop_after: (k,): links of a credit loop under the tables before and after; empty
    # where there is none
    loop_before: Ints
    loop_after: Ints
    # (k,): the same while each switch has one or the other: empty means that switches may be loaded
    # in any order
    loop_between: Ints

    @property
    def safe(self) -> bool:
        """Whether no packets can stop each other for good, now, then, or in between."""
        return not (self.loop_after.size or self.loop_between.size)


def difference_of(tables: Export) -> Difference:
    """Compare tables before and after."""
    wiring, before, after = tables.wiring, tables.before.out, tables.after.out
    devices, n_nodes = wiring.fabric.devices, wiring.topology.n_nodes
    entries = []
    for switch, node in np.argwhere(before != after).tolist():
        here = devices[int(wiring.device[n_nodes + switch])]
        there = devices[int(wiring.device[node])]
        ports = [
            int(wiring.port[link]) if link >= 0 else 255
            for link in (int(before[switch, node]), int(after[switch, node]))
        ]
        entries.append(Entry(here.guid, here.name, there.name, there.lid, *ports))
    entries.sort(key=lambda own: (own.guid, own.lid))
    return Difference(
        tuple(entries),
        credit_loop([tables.before]),
        credit_loop([tables.after]),
        credit_loop([tables.before, tables.after]),
    )
