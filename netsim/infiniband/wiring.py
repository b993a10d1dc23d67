"""A topology and the InfiniBand fabric it stands for: as a graph, or made from a tree."""

from dataclasses import dataclass
from math import prod

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.common.units import Quantity, parse_rate
from netsim.infiniband.discover import Device, IbFabric, Port
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree

_FIRST_GUID = 0x0002C90000000000


@dataclass(frozen=True, slots=True, eq=False)
class Wiring:
    """A topology and the fabric it stands for."""

    topology: Topology  # a `FatTree` or a graph
    fabric: IbFabric
    # (V,): device of every node and switch; -1 where a place of a tree is not populated
    device: Ints
    # (E,): port of the device at the tail of every directed link; -1 where there is none
    port: Ints
    # whether nothing but nodes and leaves is missing, so that D-mod-k reaches all
    whole: bool = True


def wire_graph(fabric: IbFabric, bandwidth: Quantity = "1 B/s") -> Wiring:
    """Take a fabric as a graph: nodes by GUID of leaf and port, switches by GUID."""
    devices = fabric.devices
    first = {i: end for (i, _), end in sorted(fabric.cables.items(), reverse=True)}
    nodes = [i for i, device in enumerate(devices) if not device.is_switch and i in first]
    nodes.sort(key=lambda i: (devices[first[i][0]].guid, first[i][1]))
    switches = sorted((d.guid, i) for i, d in enumerate(devices) if d.is_switch)
    order = [*nodes, *(i for _, i in switches)]
    vertex = {device: v for v, device in enumerate(order)}
    ends = sorted((vertex[i], port, vertex[j]) for (i, port), (j, _) in fabric.cables.items())
    tail, port, head = np.array(ends, dtype=np.int64).reshape(-1, 3).T
    cable = np.zeros(tail.size, dtype=np.int64)
    seen: dict[tuple[int, int], int] = {}
    for link, pair in enumerate(zip(tail.tolist(), head.tolist(), strict=True)):
        cable[link] = seen[pair] = seen.get(pair, -1) + 1
    topology = Topology(
        name="ibnetdiscover",
        n_nodes=len(nodes),
        n_switches=len(switches),
        link_tail=tail,
        link_head=head,
        link_cable=cable,
        capacity=np.full(tail.size, parse_rate(bandwidth)),
        channel=np.arange(tail.size),
    )
    return Wiring(topology, fabric, np.array(order, dtype=np.int64), port)


def tree_fabric(tree: FatTree) -> IbFabric:
    """Return the fabric of a tree, for simulation: GUIDs by position, OpenSM's port order."""
    present = np.arange(tree.n_links)
    if tree.absent is not None:
        present = np.setdiff1d(present, tree.absent)
    devices: list[Device] = []
    number: dict[int, int] = {}
    for v in np.unique(tree.link_tail[present]).tolist():
        level, _ = tree.position(v)
        down = tree.children[level - 1] * tree.parallel[level - 1] if level else 0
        up = tree.ports[level] if level < tree.levels else 0
        guid = _FIRST_GUID + 16 * (v + 1)
        number[v] = len(devices)
        name, lid = tree.vertex_name(v), number[v] + 1
        devices.append(Device(guid, name, down + up, level > 0, lid, guid + (level == 0)))
    cables: dict[Port, Port] = {}
    for link in present.tolist():
        level = max(step for step in range(tree.levels) if link >= tree.up_base[step])
        if link < tree.down_base[level]:
            child, q = divmod(link - tree.up_base[level], tree.ports[level])
            digit = child // prod(tree.parents[:level]) % tree.children[level]
            below = tree.children[level - 1] * tree.parallel[level - 1] if level else 0
            tail, head = (number[int(end[link])] for end in (tree.link_tail, tree.link_head))
            low = (tail, below + 1 + q)
            high = (head, digit * tree.parallel[level] + q // tree.parents[level] + 1)
            cables[low], cables[high] = high, low
    return IbFabric(tuple(devices), cables, {})


def device_name(fabric: IbFabric, device: int) -> str:
    """Name a device in a message."""
    return f"{fabric.devices[device].name!r} ({fabric.devices[device].guid:016x})"


def irregular(what: str) -> TopologyError:
    """Make the error for a fabric that is no PGFT."""
    return TopologyError(f"the fabric is no PGFT: {what}.")
