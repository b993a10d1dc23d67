"""Next hops of packets where switches choose: links that lead on, and virtual channels."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints, Table, occurrence_numbers
from netsim.common.errors import ContentionError
from netsim.flows.isolation import minimal_links, used_links
from netsim.packetsim.records import ADAPTIVE, LINK_END, NEXT_HOP, NONE, SPRAY, Ints32
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.fattree import FatTree
from netsim.topology.levels import Moves
from netsim.topology.routes import Routes
from netsim.topology.torus import Torus

RULES = {"adaptive": ADAPTIVE, "spray": SPRAY}
_PER_OPTION = 2 * 8 + 8 + 4  # bytes: tail and link, before and after they are put together
_TORUS_CHANNELS = 3  # two that escape, and one for any minimal path


@dataclass(frozen=True, slots=True, eq=False)
class NextHops:
    """Links that lead on to the last switches of some flows, from everywhere."""

    topology: Topology  # the fabric
    rule: int  # `ADAPTIVE` or `SPRAY`
    # virtual channels of each link: 1 on trees, 3 on tori, as many as paths turn on dragonflies
    n_channels: int
    # places where a packet can be: vertices, on trees twice (`netsim.topology.levels.Moves`)
    n_states: int
    # n_groups, n_routers: groups of a dragonfly, and routers of each, where packets may go by a
    # third one; else 0
    n_groups: int
    n_routers: int
    longest: int  # most links of a path, those of the nodes included
    nonminimal_hops: float  # mean links between routers of different groups
    # (V,): target of each last switch, -1 for others; those of `n_groups` groups and of `n_routers`
    # places in a group, whichever it is, follow
    target: Ints
    # (T * S,): for each target and state: the first of `options` that lead on and their number, the
    # channel to escape by, and links to go
    table: Table
    options: Ints32  # (M,): links
    # (E,): for each link: state after it, rank by which channels change, and port where it enters
    link_ends: Table


def next_hops_to(topology: Topology, switches: Ints, most: int | None = None) -> NextHops:
    """
    Return the next hops to some switches on a fabric whose switches choose.

    `switches` (n,): where paths end, apart from the link of the node. `most`: virtual channels of a
    link; absent: as many as needed.

    On a tree packets go up, then down: one channel. On a torus channel 2 is for any minimal path; a
    packet that finds no place there waits for the next link of its dimension-order path, on channel
    0 while the cable that closes the ring lies ahead, else on 1: these two are free of circles by
    themselves, and no packet waits for channel 2 (J. Duato, *A new theory of deadlock-free
    adaptive routing in wormhole networks*, 1993). On a dragonfly a packet changes to the next
    channel where links do not follow each other in the order green, black, blue.
    """
    assert topology.multipath is not None  # noqa: S101 (the caller looked)
    switches = np.unique(switches)
    if isinstance(topology, Torus):
        found = _on_torus(topology, switches)
    elif isinstance(topology, Dragonfly):
        found = _on_dragonfly(topology, switches)
    else:
        found = _on_tree(topology, switches)
    if most is not None and most < found.n_channels:
        raise ContentionError(
            f"switch: virtual_channels: expected {found.n_channels} for {topology.multipath.rule} "
            f"routing on the fabric ({topology.summary}), got {most}, with which packets "
            "could wait for each other "
            "in a circle."
        )
    return found


def next_hops_bytes(topology: Topology, n_targets: int) -> float:
    """Return about how many bytes `next_hops_to` takes at most for so many last switches."""
    n_states = topology.n_nodes + topology.n_switches
    if isinstance(topology, FatTree):
        n_states *= 2  # up, and down
    if isinstance(topology, Dragonfly):
        n_targets += topology.groups + topology.routers_per_group  # to go by
    n_options = topology.n_links / 2  # of a cable's two links one leads nearer
    return n_targets * (n_states * (NEXT_HOP.itemsize + 8.0) + n_options * _PER_OPTION)


def _on_tree(tree: Topology, switches: Ints) -> NextHops:
    """Return the next hops up, then down."""
    moves = Moves.on(tree)
    state = tree.link_head + np.where(tree.link_tail > tree.link_head, moves.n_vertices, 0)
    tables = []
    for switch in switches.tolist():
        distance = moves.distances(np.array([switch]))
        good = (distance[moves.head] == distance[moves.tail] - 1) & (distance[moves.head] >= 0)
        tables.append((distance, moves.tail[good], moves.link[good]))
    longest = max(int(distance.max()) for distance, _, _ in tables) + 2
    return _joined_tables(tree, switches, tables, state, (1, (0, 0), longest, 0.0))


def _on_torus(torus: Torus, switches: Ints) -> NextHops:
    """Return all minimal next hops, and the escape channels."""
    apart = _router_distances(torus, switches)
    tail, head = torus.link_tail, torus.link_head
    inner = np.flatnonzero((tail >= torus.n_nodes) & (head >= torus.n_nodes))
    tables = []
    for row in apart:
        distance = np.full(torus.n_nodes + torus.n_switches, -1)
        distance[torus.n_nodes :] = row
        good = inner[distance[head[inner]] == distance[tail[inner]] - 1]
        tables.append((distance, tail[good], good))
    longest = int(apart.max(initial=0)) + 2
    shape = (_TORUS_CHANNELS, (0, 0), longest, 0.0)
    found = _joined_tables(torus, switches, tables, head, shape)
    escape = found.table["escape"].reshape(switches.size, -1)
    escape[:, torus.n_nodes :] = _escape_channels(torus, switches - torus.n_nodes)
    return found


def _on_dragonfly(fabric: Dragonfly, switches: Ints) -> NextHops:
    """Return the next hops over one blue cable at most, also to the groups and inside a group."""
    multipath = fabric.multipath
    assert multipath is not None  # noqa: S101 (see `next_hops_to`)
    apart = _router_distances(fabric, np.arange(fabric.n_switches) + fabric.n_nodes)
    size, first = fabric.routers_per_group, fabric.n_nodes
    group = np.arange(fabric.n_switches) // size
    tail, head = fabric.link_tail, fabric.link_head
    inner = np.flatnonzero((tail >= first) & (head >= first))
    blue = inner[inner >= fabric.bases[2]]
    local = inner[inner < fabric.bases[2]]
    home = group[np.maximum(head - first, 0)]  # of links between routers
    tables = []
    for switch in switches.tolist():
        row = apart[switch - first]
        into = blue[home[blue] == group[switch - first]]
        tables.append(_distances_towards(fabric, row, np.concatenate([local, into])))
    n_groups, n_routers = fabric.thirds(multipath.rule)
    for target in range(n_groups):
        into = blue[home[blue] == target]
        row = np.where(group == target, 0, fabric.n_switches)
        for exit_ in np.unique(tail[into] - first).tolist():
            mine = group == group[exit_]
            hops = fabric.local_hops(np.flatnonzero(mine), np.full(size, exit_)) + 1
            row[mine] = np.minimum(row[mine], hops)
        tables.append(_distances_towards(fabric, row, np.concatenate([local, into])))
    routers = np.arange(fabric.n_switches)
    for place in range(n_routers):
        row = fabric.local_hops(routers, routers // size * size + place)
        tables.append(_distances_towards(fabric, row, local))
    far = apart[group[:, None] != group]
    legs = (1 + (n_groups > 0)) * (fabric.groups > 1)  # over a blue cable
    turns = 2 if fabric.rows > 1 and fabric.columns > 1 else 1  # black may come before green
    longest = int(apart.max(initial=0)) * 2 + 4
    channels = max(turns * (1 + legs), turns + (n_routers > 0))
    beyond = float(far.mean()) if far.size else 0.0
    shape = (channels, (n_groups, n_routers), longest, beyond)
    return _joined_tables(fabric, switches, tables, head, shape)


def _distances_towards(fabric: Dragonfly, row: Ints, links: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distance of every state, and those of some links that lead nearer."""
    distance = np.full(fabric.n_nodes + fabric.n_switches, -1)
    distance[fabric.n_nodes :] = row
    good = links[distance[fabric.link_head[links]] == distance[fabric.link_tail[links]] - 1]
    return distance, fabric.link_tail[good], good


def _router_distances(fabric: Torus | Dragonfly, switches: Ints) -> Ints:
    """Return the links from every router to some, (n, routers)."""
    node = np.arange(fabric.n_switches) * fabric.nodes_per_router
    rows = [
        fabric.hops(node, np.full(node.size, node[switch - fabric.n_nodes]))
        for switch in switches.tolist()
    ]
    return np.array(rows)


def _escape_channels(torus: Torus, routers: Ints) -> Ints:
    """Return link x channels + channel of the dimension-order path to routers, (n, routers)."""
    everywhere = np.arange(torus.n_switches)
    found = np.full((routers.size, torus.n_switches), NONE, dtype=np.int64)
    here, there = torus.coordinates(everywhere), torus.coordinates(routers)
    for axis in reversed(range(len(torus.dims))):
        side = torus.dims[axis]
        start, end = here[axis][None, :], there[axis][:, None]
        ahead = end - start
        if torus.wrap[axis]:
            ahead = ahead % side
            ahead = np.where(ahead <= side - ahead, ahead, ahead - side)
        plus = ahead > 0
        stride = torus.strides[axis]
        owner = np.where(plus, everywhere, everywhere + ((start - 1) % side - start) * stride)
        base = np.where(plus, torus.plus_base[axis], torus.minus_base[axis])
        crosses = np.where(plus, end < start, end > start)
        link = base + torus.cable(axis, owner)
        channel = link * _TORUS_CHANNELS + np.where(crosses, 0, 1)
        found = np.where(ahead != 0, channel, found)
    return found


def _joined_tables(
    topology: Topology,
    switches: Ints,
    tables: list[tuple[Ints, Ints, Ints]],
    state: Ints,
    shape: tuple[int, tuple[int, int], int, float],
) -> NextHops:
    """
    Put tables together.

    `tables`: for each target the links to go from every state, and state and link of each move.
    `state` (E,): state after each link. `shape`: channels, groups and routers to go by, longest
    path and links beyond a group.
    """
    multipath = topology.multipath
    assert multipath is not None  # noqa: S101 (see `next_hops_to`)
    options, before, n_states = [], 0, tables[0][0].size
    table = np.zeros(len(tables) * n_states, dtype=NEXT_HOP)
    for number, (distance, tail, link) in enumerate(tables):
        order = np.lexsort((link, tail))
        rows = table[number * n_states : (number + 1) * n_states]
        count = np.bincount(tail, minlength=n_states)
        rows["first"] = before + np.cumsum(count) - count
        rows["count"], rows["hops_left"], rows["escape"] = count, distance, NONE
        options.append(link[order])
        before += link.size
    target = np.full(topology.n_nodes + topology.n_switches, NONE, dtype=np.int64)
    target[switches] = np.arange(switches.size)
    link_ends = np.zeros(topology.n_links, dtype=LINK_END)
    link_ends["state"] = state
    link_ends["port"] = occurrence_numbers(topology.link_head)
    if isinstance(topology, Dragonfly):
        link_ends["rank"] = np.searchsorted(
            np.array(topology.bases), np.arange(topology.n_links), side="right"
        )
    n_channels, (n_groups, n_routers), longest, nonminimal_hops = shape
    return NextHops(
        topology=topology,
        rule=RULES[multipath.rule],
        n_channels=n_channels,
        n_states=n_states,
        n_groups=n_groups,
        n_routers=n_routers,
        longest=longest,
        nonminimal_hops=nonminimal_hops,
        target=target,
        table=table,
        options=np.concatenate([*options, np.zeros(1, dtype=np.int64)]).astype(np.int32),
        link_ends=link_ends,
    )


def links_within_reach(topology: Topology, routes: Routes) -> Ints:
    """
    Return the links that packets of a job may take; on a tree those that stand for its link groups.

    `routes`: of its flows, none of which stays inside a node. Result: ascending.
    """
    if isinstance(topology, FatTree):
        return used_links(routes)
    src = topology.link_tail[routes.links[routes.indptr[:-1]]]
    dst = topology.link_head[routes.links[routes.indptr[1:] - 1]]
    pairs = np.unique(np.stack([src, dst]), axis=1)
    found = minimal_links(topology, *pairs)
    if isinstance(topology, Dragonfly) and routes.rule == "adaptive":
        inner = (topology.link_tail >= topology.n_nodes) & (topology.link_head >= topology.n_nodes)
        if np.any(inner[found]):
            return np.union1d(found, np.flatnonzero(inner))
    return found
