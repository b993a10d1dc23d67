"""Routing tables for a fabric: those in force, or OpenSM's own, with entries of jobs changed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.flows.partition import Partition
from netsim.infiniband.base import base_dump, checked_base, dump_of
from netsim.infiniband.dump import LftDump, tables_of, write_lft_dump
from netsim.infiniband.lft import LFT
from netsim.infiniband.walk import leaf_flows, walk_fault
from netsim.infiniband.wiring import Wiring
from netsim.routing.base import Routing


@dataclass(frozen=True, slots=True, eq=False)
class Export:
    """Tables before and after the entries of jobs are changed."""

    wiring: Wiring
    base: LftDump  # all entries before
    # before, after: entries towards nodes
    before: LFT
    after: LFT

    @property
    def changed(self) -> int:
        """Entries that are others after than before."""
        return int(np.count_nonzero(self.before.out != self.after.out))

    def kept_to(self, jobs: Sequence[tuple[Routing, Partition]]) -> "Export":
        """Change the entries that keep each job's traffic inside its partition."""
        after = self.before.kept_to(jobs)
        fault = walk_fault(after, self.wiring)
        if fault:
            raise RoutingError(f"the new tables do not connect all nodes: {fault}")
        return replace(self, after=after)

    def crossed(self, nodes: Ints) -> Ints:
        """Return the links between switches that routes between nodes take afterwards."""
        used = np.zeros(self.wiring.topology.n_links, dtype=np.bool_)
        for src, dst in leaf_flows(self.wiring, nodes, per_leaf=1):
            used[self.after.routes(src, dst).links] = True
        topology = self.wiring.topology
        ends = np.minimum(topology.link_tail, topology.link_head)
        return np.flatnonzero(used & (ends >= topology.n_nodes))

    def text(self) -> str:
        """Return the file for ``opensm -R file,no_fallback -U FILE``, with port GUIDs."""
        return write_lft_dump(dump_of(self.after, self.wiring, self.base), self.wiring)


def tables_in_force(wiring: Wiring, dump: LftDump | None = None, name: str = "base") -> Export:
    """Take a fabric's tables before anything is changed: its dump, else those of `base_dump`."""
    whole = base_dump(wiring) if dump is None else checked_base(dump, wiring, name)
    tables = tables_of(whole, wiring)
    return Export(wiring, whole, tables, tables)


def export(
    wiring: Wiring,
    jobs: Sequence[tuple[Routing, Partition]],
    dump: LftDump | None = None,
) -> Export:
    """Change the entries that keep each job's traffic inside its partition; others stay."""
    return tables_in_force(wiring, dump).kept_to(jobs)
