"""Aries: link dumps of Cray XC machines, every lane of every router."""

import re
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.formats.importers.sketch import Settings, Sketch, fit_labels
from netsim.topology.base import Topology
from netsim.topology.dragonfly import build_dragonfly
from netsim.topology.names import Origin

FORM = "aries-links"
# Bytes per second and direction: tiles are three lanes wide, of 14 Gb/s on copper (green, black)
# and 12.5 Gb/s on fibre (blue); a node has 16 lanes of PCI Express 3 (G. Faanes et al., *Cray
# Cascade: a scalable HPC system based on a Dragonfly network*, SC 2012)
RATES = {"ptile": 16e9, "green": 5.25e9, "black": 5.25e9, "blue": 4.6875e9}
_TILES_PER_NODE = 2
_PORT = r"(\S{1,40}?)l([0-9]{1,3})\(([0-9]{1,6}):([0-9]{1,6}):([0-9]{1,6})\)"
_LINE = re.compile(rf"{_PORT}\s+(green|black|blue|ptile)\s+->\s+(?:(unused|processor)|{_PORT})")
_COLOURS = ("green", "black", "blue")

Place = tuple[int, int, int]
Port = tuple[str, str]


@dataclass(slots=True)
class _LaneDump:
    """Routers and lanes while a dump is read."""

    source: str
    place: dict[str, Place]
    tiles: Counter[str]
    lanes: dict[Port, tuple[str, Port, int]]  # colour, peer and line


def read_aries(text: str, source: str, settings: Settings) -> Topology:
    """
    Read lines ``router lane (group:row:column) colour -> peer``.

    Unused lanes and processor tiles have a word for a peer. A `Dragonfly` with the gateways of the
    dump where its groups are full and alike; else a graph that says why it is none.
    """
    dump = _read_dump(text, source)
    routers = sorted(dump.place, key=dump.place.__getitem__)
    number = {router: i for i, router in enumerate(routers)}
    pairs: dict[str, Counter[tuple[int, int]]] = {colour: Counter() for colour in _COLOURS}
    for (router, _), (colour, (peer, _), _) in dump.lanes.items():
        pairs[colour][number[router], number[peer]] += 1
    nodes = [-(-dump.tiles[router] // _TILES_PER_NODE) for router in routers]
    places = [dump.place[router] for router in routers]
    try:
        topology = _built_dragonfly(places, nodes, pairs, settings)
    except TopologyError as error:
        return _lane_graph(dump, routers, nodes, settings, str(error))
    assumed = _dump_assumptions(settings)
    names = [name for i, router in enumerate(routers) for name in _node_names(router, nodes[i])]
    labels = fit_labels([*names, *routers], {}, assumed, source)
    return replace(topology, origin=Origin(source, FORM, labels, tuple(assumed)))


def _read_dump(text: str, source: str) -> _LaneDump:
    """Read all lines and check that lanes lead back."""
    dump = _LaneDump(source, {}, Counter(), {})
    seen: dict[Port, int] = {}
    for line, content in enumerate(text.split("\n"), start=1):
        said = content.strip()
        if not said or said.startswith("#"):
            continue
        match = _LINE.fullmatch(said)
        if match is None:
            raise TopologyError(
                f"{source}:{line}: expected 'router lane (group:row:column) colour -> peer', "
                f"got {said[:60]!r}."
            )
        port = match[1], match[2]
        if port in seen:
            first = seen[port]
            raise TopologyError(
                f"{source}:{line}: lane {match[2]} of {match[1]} again, first in line {first}."
            )
        seen[port] = line
        _note_line(dump, match, line)
    taken: dict[Place, str] = {}
    for router, place in dump.place.items():
        if taken.setdefault(place, router) != router:
            raise TopologyError(f"{source}: {taken[place]} and {router} are both at {place}.")
    for port, (colour, peer, line) in dump.lanes.items():
        back = dump.lanes.get(peer)
        if back is None or back[:2] != (colour, port):
            raise TopologyError(
                f"{source}:{line}: lane {port[1]} of {port[0]} leads to lane {peer[1]} of "
                f"{peer[0]}, which does not lead back."
            )
    if not dump.place:
        raise TopologyError(f"{source}: no link in it, read as {FORM!r}.")
    return dump


def _note_line(dump: _LaneDump, match: re.Match[str], line: int) -> None:
    """Take note of one line."""
    router, colour = match[1], match[6]
    here = _settle_place(dump, router, match.group(3, 4, 5), line)
    if match[7]:
        if (match[7] == "processor") != (colour == "ptile"):
            raise TopologyError(f"{dump.source}:{line}: {colour} lane to {match[7]!r}.")
        dump.tiles[router] += match[7] == "processor"
        return
    there = _settle_place(dump, match[8], match.group(10, 11, 12), line)
    same = tuple(a == b for a, b in zip(here, there, strict=True))
    fitting = {
        "green": same == (True, True, False),
        "black": same == (True, False, True),
        "blue": not same[0],
        "ptile": False,
    }
    if not fitting[colour]:
        raise TopologyError(f"{dump.source}:{line}: no {colour} lane joins {here} and {there}.")
    dump.lanes[router, match[2]] = colour, (match[8], match[9]), line


def _settle_place(dump: _LaneDump, router: str, words: tuple[str, ...], line: int) -> Place:
    """Return the place of a router, the same in every line."""
    place = int(words[0]), int(words[1]), int(words[2])
    known = dump.place.setdefault(router, place)
    if known != place:
        raise TopologyError(f"{dump.source}:{line}: {router} is at {place}, before at {known}.")
    return place


def _built_dragonfly(
    places: list[Place],
    nodes: list[int],
    pairs: dict[str, Counter[tuple[int, int]]],
    settings: Settings,
) -> Topology:
    """Build the dragonfly, or say why it is none."""
    ids = sorted({place[0] for place in places})
    rows, columns = (1 + max(place[axis] for place in places) for axis in (1, 2))
    size = rows * columns
    if len(places) != len(ids) * size:
        raise TopologyError(f"it has {len(places)} routers, not {len(ids)} x {rows} x {columns}.")
    if len(set(nodes)) > 1 or not nodes[0]:
        raise TopologyError("its routers have different numbers of nodes, or none.")
    green, black = (
        _even_lanes(pairs[colour], colour, len(places) * (side - 1))
        for colour, side in (("green", columns), ("black", rows))
    )
    gateways, blue = _blue_gateways(pairs["blue"], len(ids), size)
    return build_dragonfly(
        len(ids),
        (rows, columns),
        tuple(RATES.values()) if settings.bandwidth is None else settings.bandwidth,
        nodes_per_router=nodes[0],
        variant="aries",
        lanes=(green, black, blue),
        gateways=gateways,
        half_duplex=settings.half_duplex,
        latency_base_s=settings.latency_base_s,
        latency_per_link_s=settings.latency_per_link_s,
    )


def _even_lanes(pairs: Counter[tuple[int, int]], colour: str, n_pairs: int) -> int:
    """Return the lanes of every pair of routers that a colour joins."""
    if not n_pairs and not pairs:
        return 1
    if len(pairs) != n_pairs or len(set(pairs.values())) != 1:
        raise TopologyError(
            f"{len(pairs)} pairs of routers have {sorted(set(pairs.values()))} {colour} lanes, "
            f"expected {n_pairs} pairs alike."
        )
    return next(iter(pairs.values()))


def _blue_gateways(pairs: Counter[tuple[int, int]], groups: int, size: int) -> tuple[Ints, int]:
    """Return the routers of blue cables between all groups, and the lanes of a cable."""
    lanes = 1 if len(set(pairs.values())) != 1 else next(iter(pairs.values()))
    between: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (a, b), count in sorted(pairs.items()):
        if a // size < b // size:
            between.setdefault((a // size, b // size), []).extend([(a, b)] * (count // lanes))
    counts = {len(cables) for cables in between.values()}
    if groups > 1 and (len(between) != groups * (groups - 1) // 2 or len(counts) != 1):
        raise TopologyError(
            f"{len(between)} pairs of groups have {sorted(counts)} blue cables, expected "
            f"{groups * (groups - 1) // 2} pairs alike."
        )
    gateways = np.zeros((groups, groups - 1, counts.pop() if counts else 1), dtype=np.int64)
    for (g, t), cables in between.items():
        gateways[g, t - 1] = [a % size for a, _ in cables]
        gateways[t, g] = [b % size for _, b in cables]
    return gateways, lanes


def _lane_graph(
    dump: _LaneDump, routers: list[str], nodes: list[int], settings: Settings, why: str
) -> Topology:
    """Return the routers and lanes as a mere graph."""
    sketch = Sketch(dump.source, FORM, assumed=_dump_assumptions(settings))
    rates = RATES if settings.bandwidth is None else dict.fromkeys(RATES)
    for router, count in zip(routers, nodes, strict=True):
        sketch.add_switch(router)
        for name in _node_names(router, count):
            sketch.add_node(name)
            sketch.join(name, router, rates["ptile"])
    for port, (colour, peer, _) in dump.lanes.items():
        if port < peer:
            sketch.join(port[0], peer[0], rates[colour])
    topology = sketch.build(settings)
    if topology.origin is None or not topology.origin.irregularity:
        return topology
    reason = f"the fabric is no dragonfly: {why}"
    return replace(topology, origin=replace(topology.origin, irregularity=reason))


def _node_names(router: str, count: int) -> list[str]:
    """Return Cray's names of the nodes of a blade: ``c0-0c0s0n2`` on router ``c0-0c0s0a0``."""
    blade = router.removesuffix("a0")
    return [f"{blade}n{i}" for i in range(count)]


def _dump_assumptions(settings: Settings) -> list[str]:
    """Say what a dump does not."""
    nodes = f"a node for every {_TILES_PER_NODE} processor tiles, with one link to its router"
    if settings.bandwidth is not None:
        return [nodes]
    listed = ", ".join(f"{colour} {rate / 1e9:g}" for colour, rate in RATES.items())
    return [nodes, f"capacities as published for Aries, GB/s in each direction: {listed}"]
