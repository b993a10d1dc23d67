"""What an InfiniBand fabric is: a PGFT with its ports in OpenSM's order, or a mere graph."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.common.units import Quantity, parse_rate
from netsim.infiniband.discover import Device, IbFabric, Port
from netsim.infiniband.order import given_order, opensm_order
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree, build_fat_tree
from netsim.topology.partial import depopulate

_FIRST_GUID = 0x0002C90000000000


@dataclass(frozen=True, slots=True, eq=False)
class Wiring:
    """
    A topology and the fabric it stands for.

    Parameters
    ----------
    topology : Topology
        A `FatTree` or a graph.
    fabric : IbFabric
        Devices and cables.
    device : (V,) int array
        Device of every node and switch; -1 where a place of a tree is not populated.
    port : (E,) int array
        Port of the device at the tail of every directed link; -1 where there is none.
    whole : bool
        Whether nothing but nodes and leaves is missing, so that D-mod-k reaches all.
    """

    topology: Topology
    fabric: IbFabric
    device: Ints
    port: Ints
    whole: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class _Levels:
    """Devices by level, and the neighbours of each above and below as (port, device)."""

    of_device: list[int]
    up: list[list[tuple[int, int]]]
    down: list[list[tuple[int, int]]]


def wire_graph(fabric: IbFabric, bandwidth: Quantity = "1 B/s") -> Wiring:
    """
    Take a fabric as a graph: channel adapters are nodes, in order of GUID of leaf and port.

    Result: nodes by (GUID of the switch, port) of their first cable, switches by GUID.
    """
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


def wire_fat_tree(
    fabric: IbFabric, bandwidth: Quantity = "1 B/s", ca_order: Sequence[int] | None = None
) -> Wiring:
    """
    Recognise a PGFT with its ports in OpenSM's order.

    `ca_order`: LIDs of the channel adapters as OpenSM numbered them (`netsim.infiniband.order`);
    without it, they are numbered by the rule that OpenSM follows. Result: the tree; holes are
    missing nodes and leaves (`netsim.topology.partial`).

    Down-ports first and up-ports after them, in port order; up-port q of an element leads to
    parent ``q mod w`` on cable ``q div w``. The children of one root, by port, give every
    leaf its place; the up-ports then give every other switch its place, from below, and a
    switch that would get two places or none is irregular.
    """
    levels = _levels(fabric)
    top = max(levels.of_device)
    m = tuple(len(_child_ports(levels, level)) for level in range(1, top + 1))
    w, p = [1], [1]
    for level in range(1, top):
        parents, parallel = _uplinks(fabric, levels, level)
        w.append(parents)
        p.append(parallel)
    tree = build_fat_tree(m, w, p, bandwidth)
    device = _places(fabric, levels, tree)
    port = _ports(fabric, levels, tree, device)
    missing = [tree.vertex_name(int(v)) for v in np.flatnonzero(device < 0)]
    tree = depopulate(tree, missing)
    if ca_order is None:
        order = opensm_order(fabric, tree, device)
    else:
        order = given_order(fabric, tree, device, ca_order)
    if tree.order is not None or np.any(order != np.arange(tree.n_nodes)):
        tree = replace(tree, order=order)
    return Wiring(tree, fabric, device, port)


def tree_fabric(tree: FatTree) -> IbFabric:
    """
    Return the fabric of a tree, for simulation: GUIDs and LIDs by position, names of the tree.

    Result: ports in OpenSM's order; missing nodes and leaves left out.
    """
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


def _levels(fabric: IbFabric) -> _Levels:
    """Return the level of every device, channel adapters first, and its neighbours by level."""
    n = len(fabric.devices)
    near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for (i, port), (j, _) in sorted(fabric.cables.items()):
        near[i].append((port, j))
    level = [-1] * n
    ring = [i for i in range(n) if not fabric.devices[i].is_switch and near[i]]
    for depth in range(n):
        for i in ring:
            level[i] = depth
        ring = list(dict.fromkeys(j for i in ring for _, j in near[i] if level[j] < 0))
        if not ring:
            break
    up: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    down: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for i, ends in enumerate(near):
        for port, j in ends:
            if abs(level[i] - level[j]) != 1:
                names = f"{device_name(fabric, i)} and {device_name(fabric, j)}"
                raise irregular(f"{names} are joined but both at level {level[i]}")
            (up if level[j] > level[i] else down)[i].append((port, j))
        if level[i] == 0 and len(ends) > 1:
            raise irregular(f"{device_name(fabric, i)} has {len(ends)} cables, expected 1")
    if max(level) <= 1:
        raise irregular("there is no second level of switches")
    return _Levels(level, up, down)


def _child_ports(levels: _Levels, level: int) -> list[int]:
    """Return the ports at which children of a level's switches start, over all switches."""
    switches = [i for i, own in enumerate(levels.of_device) if own == level]
    return sorted({port for i in switches for port in _children(levels, i).values()})


def _children(levels: _Levels, switch: int) -> dict[int, int]:
    """Return the children of a switch and the first port to each."""
    return {child: port for port, child in reversed(levels.down[switch])}


def _uplinks(fabric: IbFabric, levels: _Levels, level: int) -> tuple[int, int]:
    """Return w and p above a level: parents, and parallel cables to each."""
    shapes: dict[tuple[int, int], int] = {}
    for i, own in enumerate(levels.of_device):
        if own != level:
            continue
        parents = [parent for _, parent in levels.up[i]]
        w = len(set(parents))
        if (
            not w
            or len(parents) % w
            or any(parents[q] != parents[q % w] for q in range(len(parents)))
        ):
            raise irregular(
                f"{device_name(fabric, i)} has unequal bundles of cables to its parents"
            )
        shapes.setdefault((w, len(parents) // w), i)
    if len(shapes) > 1:
        (a, first), (b, second) = list(shapes.items())[:2]
        raise irregular(
            f"{device_name(fabric, first)} has {a[0]} parents with {a[1]} cables each, "
            f"{device_name(fabric, second)} has {b[0]} with {b[1]}"
        )
    return next(iter(shapes))


def _places(fabric: IbFabric, levels: _Levels, tree: FatTree) -> Ints:
    """Return the device at every vertex of the tree, -1 where there is none."""
    roots = [i for i, own in enumerate(levels.of_device) if own == tree.levels]
    place = {min(roots, key=lambda i: fabric.devices[i].guid): 0}
    for level in range(tree.levels, 0, -1):  # down from one root: the subtree of every child
        digit = {port: c for c, port in enumerate(_child_ports(levels, level))}
        if level == 1:
            leaves = place
        place = {
            child: subtree * tree.children[level - 1] + digit[port]
            for switch, subtree in place.items()
            for child, port in _children(levels, switch).items()
        }
    base = np.cumsum([0, *tree.counts])
    device = np.full(tree.n_nodes + tree.n_switches, -1, dtype=np.int64)
    device[list(place.values())] = list(place)
    for level in range(1, tree.levels + 1):
        _settle(fabric, device, base[level], leaves)
        if level < tree.levels:
            leaves = _parents(fabric, levels, tree, level, leaves)
    found = int(np.count_nonzero(device >= 0))
    wanted = sum(own >= 0 for own in levels.of_device)
    if found < wanted:
        lost = next(i for i, own in enumerate(levels.of_device) if own >= 0 and i not in device)
        raise irregular(f"{device_name(fabric, lost)} has no place in {tree.name}")
    return device


def _settle(fabric: IbFabric, device: Ints, base: int, place: dict[int, int]) -> None:
    """Put the switches of one level in their places, one in each."""
    for i, x in place.items():
        if device[base + x] >= 0:
            other = int(device[base + x])
            raise irregular(
                f"{device_name(fabric, i)} and {device_name(fabric, other)} have the same place"
            )
        device[base + x] = i


def _parents(
    fabric: IbFabric, levels: _Levels, tree: FatTree, level: int, place: dict[int, int]
) -> dict[int, int]:
    """Return the place of every parent of a level's switches, by up-port."""
    w, low = tree.parents[level], prod(tree.parents[:level])
    found: dict[int, int] = {}
    for i, x in place.items():
        above = x // low // tree.children[level]
        for q, (port, parent) in enumerate(levels.up[i]):
            position = x % low + low * (q % w) + low * w * above
            if found.setdefault(parent, position) != position:
                names = f"{device_name(fabric, i)} leads to {device_name(fabric, parent)}"
                raise irregular(
                    f"port {port} of {names}, which the ports of other switches put elsewhere"
                )
    return found


def _ports(fabric: IbFabric, levels: _Levels, tree: FatTree, device: Ints) -> Ints:
    """Return the port at the tail of every link, -1 where a place is not populated."""
    port = np.full(tree.n_links, -1, dtype=np.int64)
    for v in np.flatnonzero(device >= 0).tolist():
        level, x = tree.position(v)
        i = int(device[v])
        for q, (own, _) in enumerate(levels.up[i]):
            offset = x * tree.ports[level] + q
            port[tree.up_base[level] + offset] = own
            port[tree.down_base[level] + offset] = fabric.cables[i, own][1]
    return port


def device_name(fabric: IbFabric, device: int) -> str:
    """Name a device in a message."""
    return f"{fabric.devices[device].name!r} ({fabric.devices[device].guid:016x})"


def irregular(what: str) -> TopologyError:
    """Make the error for a fabric that is no PGFT."""
    return TopologyError(f"the fabric is no PGFT: {what}.")
