"""A topology and the InfiniBand fabric it stands for: a graph or a PGFT, also damaged."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError, TopologyError
from netsim.infiniband.discover import IbFabric
from netsim.infiniband.ftree import ftree_order
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.structure.recognise import (
    Recognition,
    irregular,
    recognise_damaged_tree,
    recognise_tree,
)


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


def wire_graph(fabric: IbFabric) -> Wiring:
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
        capacity=np.ones(tail.size),
        channel=np.arange(tail.size),
    )
    return Wiring(topology, fabric, np.array(order, dtype=np.int64), port)


def device_name(fabric: IbFabric, device: int) -> str:
    """Name a device in a message."""
    return f"{fabric.devices[device].name!r} ({fabric.devices[device].guid:016x})"


def wire_fat_tree(fabric: IbFabric) -> Wiring:
    """
    Recognise a whole PGFT with its ports in OpenSM's order; holes are missing nodes and leaves.

    Down-ports first and up-ports after them; up-port q of an element leads to parent ``q mod w`` on
    cable ``q div w``. Adapters are numbered by the rule that OpenSM follows.
    """
    graph = wire_graph(fabric)
    name = _device_names(graph)
    found = recognise_tree(graph.topology, graph.port, name)
    wiring = found_wiring(graph, found)
    tree = found.tree
    try:
        order = _ftree_numbers(wiring, tree)
    except RoutingError:  # nodes on one leaf: by port
        there = wiring.device[: tree.n_nodes] >= 0
        order = np.where(there, np.cumsum(there) - 1, -1)
    if tree.order is not None or np.any(order != np.arange(tree.n_nodes)):
        wiring = replace(wiring, topology=replace(tree, order=order))
    return wiring


def wire_damaged_tree(fabric: IbFabric, like: FatTree | None = None) -> Wiring:
    """
    Recognise a PGFT in which something is missing, as it would be whole.

    `like`: the tree that it was. Subtrees and classes are numbered by the ports that lead to them,
    where all switches of a level are cabled alike; else in the order of ports and GUIDs.
    """
    graph = wire_graph(fabric)
    name = _device_names(graph)
    ends = graph.topology, graph.port, name
    try:
        found = recognise_damaged_tree(*ends, by_port=True, like=like)
    except TopologyError:
        if like is not None:
            raise
        found = recognise_damaged_tree(*ends, by_port=False)
    wiring, tree = found_wiring(graph, found), found.tree
    try:
        order = _ftree_numbers(wiring, tree)
    except RoutingError as error:
        raise irregular(str(error).rstrip(".")) from None
    tree = replace(tree, absent=np.flatnonzero(wiring.port < 0), order=order)
    return replace(wiring, topology=tree, whole=False)


def found_wiring(graph: Wiring, found: Recognition) -> Wiring:
    """Return the wiring of the tree that was found in a graph."""
    device = np.where(found.vertex >= 0, graph.device[found.vertex], -1)
    port = np.where(found.link >= 0, graph.port[found.link], -1)
    return Wiring(found.tree, graph.fabric, device, port)


def _device_names(graph: Wiring) -> Callable[[int], str]:
    """Return how vertices are called in messages, once no node has several cables."""

    def name(vertex: int) -> str:
        return device_name(graph.fabric, int(graph.device[vertex]))

    topology = graph.topology
    cables = np.bincount(topology.link_tail, minlength=1)[: topology.n_nodes]
    if not cables.size:
        raise irregular("no switch has nodes")
    if cables.max() > 1:
        raise irregular(f"{name(int(cables.argmax()))} has {cables.max()} cables, expected 1")
    return name


def _ftree_numbers(wiring: Wiring, tree: FatTree) -> Ints:
    """Return each node's number d in OpenSM's ftree (n_nodes,), -1 for missing nodes."""
    nodes, roots = wiring.device[: tree.n_nodes], wiring.device[-tree.counts[-1] :]
    number = ftree_order(wiring.fabric, *(own[own >= 0].tolist() for own in (nodes, roots)))
    return np.where(nodes >= 0, number[nodes], -1)


def missing_parts(wiring: Wiring) -> list[str]:
    """Say what a damaged tree lacks."""
    tree = wiring.topology
    if not isinstance(tree, FatTree):
        return []
    first_l2 = tree.n_nodes + tree.n_leaves
    there = wiring.device >= 0
    lost = np.flatnonzero(~there[first_l2:]) + first_l2
    up = np.concatenate(
        [np.arange(a, b) for a, b in zip(tree.up_base, tree.down_base, strict=True)]
    )
    ends = there[tree.link_tail[up]] & there[tree.link_head[up]]
    cut = up[ends & (wiring.port[up] < 0)]
    leaves = np.arange(tree.n_nodes, first_l2)
    nodes = there[: tree.n_nodes].reshape(-1, tree.nodes_per_leaf).any(axis=1)
    empty = leaves[there[leaves] & ~nodes]
    name = tree.vertex_name
    found = (
        ("switches", [name(int(v)) for v in lost]),
        ("cables", [tree.link_name(int(link)) for link in cut]),
        ("leaves without nodes", [name(int(v)) for v in empty]),
    )
    return [f"{len(names)} {what} ({names[0]} first)" for what, names in found if names]
