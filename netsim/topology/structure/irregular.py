"""Irregularities: what a fabric as it was meant to be would not have, a sentence each."""

import re
from collections import Counter

import numpy as np

from netsim.common.arrays import Ints
from netsim.topology.base import Topology
from netsim.topology.levels import links_in_service

_LISTED = 20  # names of each kind that are given
_FEW = 0.1  # more slow links than this share of a kind are meant to be so
_GUID = re.compile(r"[HS]-[0-9a-f]{16}")  # as importers call what has no other name


def irregularities(topology: Topology, level: Ints) -> list[str]:
    """Name what is irregular: of importers, roots, hosts, switches, cables unlike their kind."""
    origin = topology.origin
    found = [origin.irregularity] if origin is not None and origin.irregularity else []
    if origin is not None and origin.fake_roots:
        names = _listed([topology.vertex_name(root) for root in origin.fake_roots])
        found.append(f"switches that stand for a network the file does not show: {names}")
    found += _nameless_hosts(topology)
    found += _odd_switches(topology, level) + _odd_bundles(topology, level)
    return found + _slow_cables(topology) + _one_way(topology)


def link_bundles(topology: Topology) -> tuple[Ints, Ints]:
    """Return a link of each bundle of parallel links in service, and its number of links."""
    links = np.flatnonzero(links_in_service(topology))
    size = topology.n_nodes + topology.n_switches
    pair = topology.link_tail[links] * size + topology.link_head[links]
    _, first, count = np.unique(pair, return_index=True, return_counts=True)
    return links[first], count


def _nameless_hosts(topology: Topology) -> list[str]:
    """Name the hosts known by a GUID alone."""
    if topology.origin is None:
        return []
    named = (topology.vertex_name(node) for node in range(topology.n_nodes))
    nameless = [name for name in named if _GUID.fullmatch(name)]
    if not nameless:
        return []
    return [f"hosts without a name, called by their GUID ({len(nameless)}): {_listed(nameless)}"]


def _slow_cables(topology: Topology) -> list[str]:
    """Name the cables that carry less than nearly all of their kind: some of their lanes failed."""
    links = np.flatnonzero(links_in_service(topology))
    names, kind = topology.link_kinds(links)
    lines = []
    for number, name in enumerate(names):
        here = links[kind == number]
        rates, count = np.unique(topology.capacity[here], return_counts=True)
        usual = rates[count.argmax()]
        slow = here[topology.capacity[here] < usual]
        if 0 < slow.size <= _FEW * here.size:
            parts = [
                f"{topology.link_name(link)} {_gbits(topology.capacity[link])}"
                for link in slow.tolist()
            ]
            lines.append(f"{name}: most links carry {_gbits(usual)} Gb/s, {_listed(parts)}")
    return lines


def _one_way(topology: Topology) -> list[str]:
    """Name the cables of which one direction is out of service."""
    works = links_in_service(topology)
    half = np.flatnonzero(works & ~works[topology.reverse])
    if not half.size:
        return []
    return [
        f"cables that work one way only: {_listed([topology.link_name(x) for x in half.tolist()])}"
    ]


def _gbits(rate: float) -> str:
    """Write a capacity in Gb/s."""
    return f"{8 * rate / 1e9:g}"


def _odd_switches(topology: Topology, level: Ints) -> list[str]:
    """Name the switches of a level that have other numbers of cables than most."""
    works = links_in_service(topology)
    tail, head = topology.link_tail[works], topology.link_head[works]
    cables = np.bincount(tail, minlength=level.size)
    uplinks = np.bincount(tail[level[head] > level[tail]], minlength=level.size)
    lines = []
    for number in sorted(set(level[topology.n_nodes :].tolist())):
        here = topology.n_nodes + np.flatnonzero(level[topology.n_nodes :] == number)
        if number < 0:
            names = _listed([topology.vertex_name(int(s)) for s in here])
            lines.append(f"no node can be reached from {names}")
            continue
        for count, word in ((cables, "cables"), (uplinks, "cables upwards")):
            usual = Counter(count[here].tolist()).most_common(1)[0][0]
            odd = here[count[here] != usual]
            if odd.size:
                parts = [f"{topology.vertex_name(int(s))} has {count[s]}" for s in odd]
                lines.append(f"level {number}: most switches have {usual} {word}, {_listed(parts)}")
    return lines


def _odd_bundles(topology: Topology, level: Ints) -> list[str]:
    """Name the switches whose parents do not all have the same number of cables."""
    first, count = link_bundles(topology)
    tail, head = topology.link_tail[first], topology.link_head[first]
    up = (tail >= topology.n_nodes) & (level[head] > level[tail])
    sizes: dict[int, set[int]] = {}
    for switch, size in zip(tail[up].tolist(), count[up].tolist(), strict=True):
        sizes.setdefault(switch, set()).add(size)
    odd = {switch: sorted(own) for switch, own in sizes.items() if len(own) > 1}
    if not odd:
        return []
    parts = [
        f"{topology.vertex_name(switch)} ({', '.join(map(str, own))})"
        for switch, own in odd.items()
    ]
    return [f"unequal bundles of cables to the switches above: {_listed(parts)}"]


def _listed(names: list[str]) -> str:
    """Join names, and count those after the first."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
