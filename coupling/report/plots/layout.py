"""Where the nodes and switches of a fabric are drawn: levels, slices of a grid, or groups."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netsim.common.arrays import Bools, Floats, Ints
from netsim.common.errors import TopologyError
from netsim.common.hostlist import natural_key
from netsim.topology.base import Topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.fattree import FatTree
from netsim.topology.levels import links_in_service, vertex_levels
from netsim.topology.names import Origin
from netsim.topology.torus import Torus

_PLANE = 2  # axes of a slice of a grid
_CLOSE, _WIDE = 0.5, 0.4  # of a cell: how far the nodes of a router spread
_GAP = 0.6  # of a node's room: between the nodes of two leaves
_BEYOND, _OUTSIDE = 1.12, 0.28  # of a group's radius: where its nodes begin, room of a node
_BUNDLED = 3000  # links of a dragonfly beyond which the cables of two groups are one line
_ARC = 12  # points of a bent cable


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Places of everything in a fabric."""

    kind: str  # levels, slices, groups: how it is drawn
    place: Floats  # (n_nodes + n_switches, 2): of nodes and switches; NaN for what is not drawn
    cell: tuple[float, float]  # (width, height): room of a node
    height: float  # Height / width that suits it
    words: str  # How to read it
    # (n_switches,): group of each router, where those are drawn as circles
    group: Ints | None = None


def layout_of(topology: Topology) -> Layout:
    """Place a torus or mesh as slices, a dragonfly as groups, all else by levels."""
    if isinstance(topology, Torus):
        return _place_slices(topology)
    if isinstance(topology, Dragonfly):
        return _place_groups(topology)
    return _place_levels(topology)


def cables_of(topology: Topology) -> Ints:
    """Return (C,) one direction of each cable between switches, failed ones included."""
    links = np.arange(topology.n_links)
    return links[(links < topology.reverse) & between_switches(topology)]


def bundles(topology: Topology, layout: Layout, cables: Ints) -> tuple[list[Floats], Ints]:
    """
    Draw the cables between two groups as one line, where there are many.

    Result: the lines, from rim to rim; which of them each cable is part of, -1 for those that are
    drawn alone.
    """
    alone = np.full(cables.size, -1)
    if layout.group is None or topology.n_links <= _BUNDLED:
        return [], alone
    ends = [layout.group[end[cables] - topology.n_nodes] for end in cable_ends(topology)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    apart = low != high
    n_groups = int(layout.group.max()) + 1
    pairs, alone[apart] = np.unique(low[apart] * n_groups + high[apart], return_inverse=True)
    at = layout.place[topology.n_nodes :]
    middle = np.stack([at[layout.group == own].mean(axis=0) for own in range(n_groups)])
    radius = float(np.hypot(*(at[0] - middle[layout.group[0]])))
    a, b = middle[pairs // n_groups], middle[pairs % n_groups]
    way = (b - a) / np.hypot(*(b - a).T)[:, None] * radius
    return list(np.stack([a + way, b - way], axis=1)), alone


def cable_ends(topology: Topology) -> tuple[Ints, Ints]:
    """Return (E,) tail and head of each directed link."""
    return topology.link_tail, topology.link_head


def part_of(topology: Topology, links: Ints, nodes: Ints) -> tuple[Topology, Ints]:
    """Cut a fabric down to links and nodes; return the graph, and its links' old numbers."""
    stays = np.zeros(topology.n_links, dtype=np.bool_)
    stays[links] = stays[topology.reverse[links]] = True
    own = np.zeros(topology.n_nodes + topology.n_switches, dtype=np.bool_)
    own[nodes] = True
    stays |= own[topology.link_tail] | own[topology.link_head]
    kept = np.flatnonzero(stays)
    ends = np.concatenate([topology.link_tail[kept], topology.link_head[kept], nodes])
    vertices = np.unique(ends)
    number = np.zeros(own.size, dtype=np.int64)
    number[vertices] = np.arange(vertices.size)
    n_nodes = int(np.count_nonzero(vertices < topology.n_nodes))
    names = tuple(topology.vertex_name(int(vertex)) for vertex in vertices)
    part = Topology(
        name=topology.name,
        n_nodes=n_nodes,
        n_switches=vertices.size - n_nodes,
        link_tail=number[topology.link_tail[kept]],
        link_head=number[topology.link_head[kept]],
        link_cable=topology.link_cable[kept],
        capacity=topology.capacity[kept],
        channel=np.arange(kept.size),
        origin=Origin("", "", names),
    )
    return part, kept


def between_switches(topology: Topology) -> Bools:
    """Find which links join switches. Result (E,): False for the links of nodes."""
    inner: Bools = np.minimum(topology.link_tail, topology.link_head) >= topology.n_nodes
    return inner


def segments(topology: Topology, layout: Layout, links: Ints) -> list[Floats]:
    """Return the lines of cables: straight, an arc within a level, two stubs across a grid."""
    tail, head = (layout.place[end[links]] for end in (topology.link_tail, topology.link_head))
    if layout.kind == "slices":
        return [_stubbed_line(a, b) for a, b in zip(tail, head, strict=True)]
    if layout.kind == "levels":
        flat = tail[:, 1] == head[:, 1]
        return [
            _bow_line(a, b) if same else np.stack([a, b])
            for a, b, same in zip(tail, head, flat, strict=True)
        ]
    return list(np.stack([tail, head], axis=1))


def _bow_line(a: Floats, b: Floats) -> Floats:
    """Return a bow over what lies between two switches of one level."""
    t = np.linspace(0.0, 1.0, _ARC)
    x = a[0] + (b[0] - a[0]) * t
    return np.stack([x, a[1] + 2.4 * t * (1 - t) * (0.15 + 0.002 * abs(b[0] - a[0]))], axis=1)


def _stubbed_line(a: Floats, b: Floats) -> Floats:
    """Return a line between neighbours, or two stubs with a gap between them."""
    step = b - a
    if abs(step).sum() <= 1.0:
        return np.stack([a, b])
    along = np.sign(step) if np.count_nonzero(step) == 1 else np.array([0.7, 0.7])
    leap = abs(step).max() > 1.0 and np.count_nonzero(step) == 1
    out = -0.45 * along if leap else 0.3 * along  # a ring closes behind the last router
    gap = np.array([np.nan, np.nan])
    return np.stack([a, a + out, gap, b - out, b])


def _place_levels(topology: Topology) -> Layout:
    """Place switches by distance from the nodes, each level over the full width."""
    # Where the fabric is not regular, a gap parts the nodes of two leaves.
    level, n, wide = vertex_levels(topology), topology.n_nodes, 1.0
    there = links_in_service(topology)
    tail, head = topology.link_tail[there], topology.link_head[there]
    place = np.full((level.size, 2), np.nan)
    rank = np.arange(level.size, dtype=np.float64)  # in units of nodes, to sort the next level by
    for height in range(1, int(level.max(initial=0)) + 1):
        own = np.flatnonzero(level == height)
        below = (level[head] == height) & (level[tail] == height - 1)
        sums = np.bincount(head[below], rank[tail[below]], minlength=level.size)
        counts = np.bincount(head[below], minlength=level.size)
        middle = sums[own] / np.maximum(counts[own], 1)
        own = own[np.lexsort((own, middle))]
        rank[own] = (np.arange(own.size) + 0.5) * n / own.size
        place[own, 0], place[own, 1] = rank[own], height
    leaf = np.full(n, np.inf)
    up = (tail < n) & (head >= n)
    np.minimum.at(leaf, tail[up], rank[head[up]])
    order = np.lexsort((np.arange(n), leaf))
    place[order, 0], place[:n, 1] = np.arange(n) + 0.5, 0.45
    if not isinstance(topology, FatTree):
        place[order, 0] += _GAP * np.cumsum(np.diff(leaf[order], prepend=leaf[order][:1]) != 0.0)
        wide = n / (place[:n, 0].max(initial=0.5) + 0.5)
        place[:n, 0] *= wide
        total = np.bincount(head[up], place[tail[up], 0], minlength=level.size)
        own = np.flatnonzero((level == 1) & (total > 0.0))
        if not topology.endpoints.one_each:  # leaves of the same nodes stand apart
            own = own[:0]
        place[own, 0] = total[own] / np.bincount(head[up], minlength=level.size)[own]
    words = "Nodes at the bottom, switches above them by their distance from the nodes."
    top = max(1, int(level.max(initial=1)))
    return Layout("levels", place, (wide, 0.3), 0.26 + 0.13 * top, words)


def _place_slices(torus: Torus) -> Layout:
    """Place the routers of a grid slice by slice, each slice over the first two axes."""
    dims = (*torus.dims, 1, 1)
    across, up = dims[:_PLANE]
    routers = np.arange(torus.n_switches)
    slice_ = routers // (across * up)
    count = int(slice_.max(initial=0)) + 1
    wide = max(1, round(np.sqrt(count * (up + 1.2) / (across + 1.2) * 1.6)))
    wide = min(wide, count)
    x = routers % across + (slice_ % wide) * (across + 1.2)
    y = routers // across % up - (slice_ // wide) * (up + 1.2)
    at = np.stack([x, y], axis=1).astype(np.float64)
    side = int(np.ceil(np.sqrt(torus.nodes_per_router)))
    nodes = np.arange(torus.n_nodes)
    turn = nodes % torus.nodes_per_router
    offset = np.stack([turn % side, turn // side], axis=1) - (side - 1) / 2
    cell = _CLOSE / side
    place = np.concatenate([at[nodes // torus.nodes_per_router] + offset * cell, at])
    rows = -(-count // wide)
    height = rows * (up + 1.2) / (wide * (across + 1.2))
    words = (
        "Routers slice by slice over the first two axes; short ends leave the slice or close a "
        "ring."
        if count > 1 or any(torus.wrap)
        else "Routers of the mesh."
    )
    return Layout("slices", place, (cell, cell), height, words)


def _place_groups(fly: Dragonfly) -> Layout:
    """Place groups on a circle, and the routers of each on a circle of its own."""
    size = fly.routers_per_group
    routers = np.arange(fly.n_switches)
    group, place = routers // size, routers % size
    angle = np.pi / 2 - 2 * np.pi * group / fly.groups
    radius = 1.0 if fly.groups > 1 else 0.0
    apart = 0.95 * np.sin(np.pi / fly.groups) if fly.groups > 1 else 1.0  # half the way to the next
    own = min(0.42, apart / (_BEYOND + _OUTSIDE * (fly.nodes_per_router + 0.5)))
    turn = angle - 2 * np.pi * (place + 0.5) / size
    centre = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    out = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    at = centre + own * out
    nodes = np.arange(fly.n_nodes)
    host, k = nodes // fly.nodes_per_router, nodes % fly.nodes_per_router
    cell = min(_OUTSIDE * own, 1.6 * np.pi * own / size)
    beyond = own * _BEYOND + cell * (1.0 + k)
    place_of = np.concatenate([centre[host] + beyond[:, None] * out[host], at])
    words = "Groups on a circle, the routers of each around its middle, their nodes outside."
    if fly.n_links > _BUNDLED:
        words += " A line between two groups stands for all their cables, as the busiest is."
    return Layout("groups", place_of, (_WIDE * cell * 2, _WIDE * cell * 2), 1.0, words, group)


_LINK = re.compile(r"([^>]+)>([^>]+?)(?:#([0-9]{1,9}))?")


def wiring_of(links: pd.DataFrame) -> Topology | None:
    """Return the fabric of a result's link table as a graph; None where names lack ends."""
    parts = [_LINK.fullmatch(str(name)) for name in links["link"]]
    if not parts or any(part is None for part in parts):
        return None
    tails, heads, cables = zip(*(part.groups() for part in parts if part), strict=True)
    injects = (links["class"] == "injection").to_numpy()
    nodes = list(dict.fromkeys(name for name, own in zip(tails, injects, strict=True) if own))
    switches = sorted({*tails, *heads} - set(nodes), key=natural_key)
    number = {name: place for place, name in enumerate([*nodes, *switches])}
    try:
        graph = Topology(
            name="fabric",
            n_nodes=len(nodes),
            n_switches=len(switches),
            link_tail=np.array([number[name] for name in tails], dtype=np.int64),
            link_head=np.array([number[name] for name in heads], dtype=np.int64),
            link_cable=np.array([int(cable or 0) for cable in cables], dtype=np.int64),
            capacity=np.ones(len(parts)),
            channel=np.arange(len(parts)),
        )
        _ = graph.reverse
    except TopologyError:
        return None
    return graph
