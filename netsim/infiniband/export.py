"""Tables in force on a fabric, whole or as OpenSM fills them, and what loading new ones changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.flows.partition import Partition
from netsim.infiniband.discover import Device
from netsim.infiniband.dump import NO_PATH, LftDump, devices_by_lid, tables_of, write_lft_dump
from netsim.infiniband.ftree import ftree_tables
from netsim.infiniband.lft import LFT, d_mod_k_tables
from netsim.infiniband.walk import credit_loop, leaf_flows, up_down_reach, walk_fault
from netsim.infiniband.wiring import Wiring
from netsim.routing.base import Routing
from netsim.topology.fattree import FatTree


def base_dump(wiring: Wiring) -> LftDump:
    """
    Return the tables, every LID of every switch, of a fabric of which no dump is given.

    D-mod-k, and shortest paths towards switches, where only nodes and leaves are missing; else what
    OpenSM's ftree fills.
    """
    topology = wiring.topology
    if not isinstance(topology, FatTree):
        raise RoutingError("no regular fat-tree: its present tables are needed as the base.")
    if wiring.whole:
        return dump_of(d_mod_k_tables(topology), wiring)
    devices = wiring.fabric.devices
    devices_by_lid(devices)
    there = wiring.device >= 0
    roots = topology.n_nodes + topology.n_switches - topology.counts[-1]
    nodes = wiring.device[: topology.n_nodes][there[: topology.n_nodes]].tolist()
    tables = ftree_tables(wiring.fabric, nodes, wiring.device[roots:][there[roots:]].tolist())
    ports = {
        devices[switch].guid: {devices[target].lid: port for target, port in own.items()}
        for switch, own in tables.ports.items()
    }
    _add_others(ports, wiring)
    return LftDump(ports, {guid: {} for guid in ports})


def checked_base(dump: LftDump, wiring: Wiring, name: str) -> LftDump:
    """Demand that tables in force are whole, and give every entry the LID of the fabric."""
    devices = wiring.fabric.devices
    by_lid = devices_by_lid(devices)
    by_guid = {device.port_guid: device for device in devices if device.port_guid}
    switches = [device for device in devices if device.is_switch]
    strange = sorted(set(dump.ports) - {device.guid for device in switches})
    if strange:
        raise RoutingError(f"{name}: the fabric has no switch 0x{strange[0]:016x}.")
    lost = [device for device in switches if device.guid not in dump.ports]
    if lost:
        raise RoutingError(
            f"{name}: not whole: no table of {len(lost)} of {len(switches)} switches, "
            f"{_with_guid(lost[0])} first."
        )
    wired = {(devices[i].guid, port) for i, port in wiring.fabric.cables}
    ports: dict[int, dict[int, int]] = {}
    for switch in switches:
        own = ports[switch.guid] = {}
        guids = dump.port_guids[switch.guid]
        for lid, port in dump.ports[switch.guid].items():
            target = by_guid.get(guids.get(lid, 0), by_lid.get(lid))
            if port == NO_PATH:
                continue
            if target is None:
                raise RoutingError(
                    f"{name}: {_with_guid(switch)} has an entry for LID 0x{lid:04x}, which no "
                    f"device of the fabric has (LMC above 0, or a further port, is not supported)."
                )
            itself = target is switch and port == 0
            if not itself and (switch.guid, port) not in wired:
                raise RoutingError(
                    f"{name}: LID 0x{lid:04x} leaves {_with_guid(switch)} by port {port}: no cable "
                    f"there."
                )
            if own.setdefault(target.lid, port) != port:
                raise RoutingError(
                    f"{name}: {_with_guid(switch)} has two entries for {_with_guid(target)}."
                )
    whole = LftDump(ports, {guid: {} for guid in ports})
    tables = tables_of(whole, wiring)
    _require_entries(tables, wiring, name)
    fault = walk_fault(tables, wiring)
    if fault:
        raise RoutingError(f"{name}: not whole: {fault}")
    return whole


def dump_of(tables: LFT, wiring: Wiring, base: LftDump | None = None) -> LftDump:
    """Return tables as a dump with an entry for every LID; other entries are those of `base`."""
    topology, devices = wiring.topology, wiring.fabric.devices
    devices_by_lid(devices)
    device = wiring.device
    ports: dict[int, dict[int, int]] = {}
    nodes = [(v, devices[i].lid) for v, i in enumerate(device[: topology.n_nodes]) if i >= 0]
    node_numbers, lids = np.array(nodes, dtype=np.int64).reshape(-1, 2).T
    known = set(lids.tolist())
    for s, i in enumerate(device[topology.n_nodes :].tolist()):
        if i < 0:
            continue
        link = tables.out[s, node_numbers]
        chosen = np.where(link >= 0, wiring.port[link], 0)
        own = {lid: port for lid, port in zip(lids.tolist(), chosen.tolist(), strict=True) if port}
        if base is not None:
            rest = base.ports.get(devices[i].guid, {})
            own |= {lid: port for lid, port in rest.items() if lid not in known}
        ports[devices[i].guid] = own
    if base is None:
        for guid, entries in _switch_entries(wiring):
            ports[guid] |= entries
        _add_others(ports, wiring)
    return LftDump(ports, {guid: {} for guid in ports})


def _switch_entries(wiring: Wiring) -> Iterator[tuple[int, dict[int, int]]]:
    """Iterate over the entries of every switch towards switches, by shortest paths."""
    topology, devices = wiring.topology, wiring.fabric.devices
    present = [i for i in wiring.device[topology.n_nodes :].tolist() if i >= 0]
    row = {i: r for r, i in enumerate(present)}
    cables = sorted(
        (row[i], p, row[j])
        for (i, p), (j, _) in wiring.fabric.cables.items()
        if i in row and j in row
    )
    tail, port, head = np.array(cables, dtype=np.int64).reshape(-1, 3).T
    graph = csr_array((np.ones(tail.size), (tail, head)), shape=(len(row), len(row)))
    hops = shortest_path(graph, unweighted=True)
    for i, r in row.items():
        mine = tail == r
        entries = {devices[i].lid: 0}
        nearer = hops[head[mine]] == hops[r] - 1  # (cables of r, switches)
        for target, own in row.items():
            ways = port[mine][nearer[:, own]]
            if ways.size:
                entries[devices[target].lid] = int(ways[own % ways.size])
        yield devices[i].guid, entries


def _add_others(ports: dict[int, dict[int, int]], wiring: Wiring) -> None:
    """Route to adapters that are no nodes as to the switch that they hang on."""
    devices = wiring.fabric.devices
    nodes = set(wiring.device[: wiring.topology.n_nodes].tolist())
    for (i, own), (j, _) in wiring.fabric.cables.items():
        other = devices[j]
        if not devices[i].is_switch or other.is_switch or j in nodes:
            continue
        for entries in ports.values():
            if devices[i].lid in entries:
                entries[other.lid] = entries[devices[i].lid]
        ports[devices[i].guid][other.lid] = own


def _require_entries(tables: LFT, wiring: Wiring, name: str) -> None:
    """Demand an entry at every switch for every node that a path up and then down leads to."""
    tree = wiring.topology
    if not isinstance(tree, FatTree):
        return
    nodes = np.flatnonzero(wiring.device[: tree.n_nodes] >= 0)
    wanted = up_down_reach(tree)[:, nodes // tree.nodes_per_leaf]
    wanted[wiring.device[tree.n_nodes :] < 0] = False
    holes = np.argwhere(wanted & (tables.out[:, nodes] < 0))
    if holes.size:
        switch, node = tree.n_nodes + int(holes[0, 0]), int(nodes[holes[0, 1]])
        here, there = (wiring.fabric.devices[int(wiring.device[v])] for v in (switch, node))
        raise RoutingError(
            f"{name}: not whole: {len(holes)} entries towards nodes are missing, first that of "
            f"{_with_guid(here)} for {_with_guid(there)}, LID 0x{there.lid:04x}."
        )


def _with_guid(device: Device) -> str:
    """Name a device with its GUID; descriptions may repeat."""
    return f"{device.name!r} (0x{device.guid:016x})"


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

    def confined_to(self, jobs: Sequence[tuple[Routing, Partition]]) -> "Export":
        """Change the entries that confine each job's traffic to its partition."""
        after = self.before.confined_to(jobs)
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
    if not wiring.topology.endpoints.one_each:
        what = f"tables are written where every host has one adapter, got {wiring.topology.summary}"
        raise RoutingError(f"{name}: {what}.")
    whole = base_dump(wiring) if dump is None else checked_base(dump, wiring, name)
    tables = tables_of(whole, wiring)
    return Export(wiring, whole, tables, tables)


def export(
    wiring: Wiring,
    jobs: Sequence[tuple[Routing, Partition]],
    dump: LftDump | None = None,
) -> Export:
    """Change the entries that confine each job's traffic to its partition; others stay."""
    return tables_in_force(wiring, dump).confined_to(jobs)


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
