"""A topology and the InfiniBand fabric it stands for: as a graph, or made from a tree."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.units import Quantity, parse_rate
from netsim.infiniband.discover import IbFabric
from netsim.topology.base import Topology


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


def device_name(fabric: IbFabric, device: int) -> str:
    """Name a device in a message."""
    return f"{fabric.devices[device].name!r} ({fabric.devices[device].guid:016x})"
