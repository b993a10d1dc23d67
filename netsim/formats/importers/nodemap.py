"""Node maps: where each node of a torus is, as on Cray XE machines."""

import re
from dataclasses import replace
from math import prod

import numpy as np

from netsim.common.errors import TopologyError
from netsim.formats.importers.sketch import (
    DEFAULT_BANDWIDTH,
    Settings,
    complete_labels,
    fit_labels,
)
from netsim.topology.base import Topology
from netsim.topology.names import Origin
from netsim.topology.torus import build_torus

FORM = "node-map"
_MOST_EMPTY = 16  # places for each node: beyond this, a coordinate is a typing error


def read_node_map(text: str, source: str, settings: Settings) -> Topology:
    """
    Read numbers of nodes and coordinates, then ``node x y z slot`` of each node, as a `Torus`.

    It is as large as the coordinates ask for; places without a node take no jobs.
    """
    lines = [(number, line.split()) for number, line in enumerate(text.split("\n"), start=1)]
    lines = [(number, words) for number, words in lines if words]
    count, width = _read_header(lines, source)
    found: dict[tuple[int, ...], str] = {}
    seen: dict[str, int] = {}
    for number, words in lines[1:]:
        name, place = _read_row(words, width, f"{source}:{number}")
        if name in seen:
            raise TopologyError(f"{source}:{number}: {name!r} again, first in line {seen[name]}.")
        if place in found:
            raise TopologyError(f"{source}:{number}: {found[place]!r} is at {place} already.")
        found[place], seen[name] = name, number
    if len(found) != count:
        raise TopologyError(f"{source}: expected {count} nodes as in line 1, got {len(found)}.")
    return _built_torus(found, source, settings)


def _read_header(lines: list[tuple[int, list[str]]], source: str) -> tuple[int, int]:
    """Return the number of nodes and of coordinates."""
    words = lines[0][1] if lines else []
    if len(words) != 2 or not all(re.fullmatch("[0-9]{1,9}", word) for word in words):  # noqa: PLR2004 (two numbers)
        raise TopologyError(
            f"{source}:{lines[0][0] if lines else 1}: expected the numbers of nodes and of "
            f"coordinates, got {' '.join(words)[:40]!r}."
        )
    count, width = map(int, words)
    if count < 1 or not 2 <= width <= 9:  # noqa: PLR2004 (one to eight dimensions and a slot)
        raise TopologyError(
            f"{source}:{lines[0][0]}: expected 1 node or more and 2 to 9 coordinates, "
            f"got {count} and {width}."
        )
    return count, width


def _read_row(words: list[str], width: int, place: str) -> tuple[str, tuple[int, ...]]:
    """Return name and coordinates of a node."""
    numbers = words[1:]
    if len(numbers) != width or not all(re.fullmatch("[0-9]{1,6}", word) for word in numbers):
        raise TopologyError(
            f"{place}: expected a name and {width} coordinates, got {' '.join(words)[:40]!r}."
        )
    return words[0], tuple(map(int, numbers))


def _built_torus(found: dict[tuple[int, ...], str], source: str, settings: Settings) -> Topology:
    """Build the torus around the nodes."""
    places = np.array(list(found), dtype=np.int64)
    sides = (places.max(axis=0) + 1).tolist()
    dims, slots = sides[:-1], sides[-1]
    if prod(sides) > _MOST_EMPTY * len(found):
        shape = "x".join(map(str, dims))
        raise TopologyError(
            f"{source}: {len(found)} nodes do not make a torus of {shape} routers of {slots} nodes."
        )
    torus = build_torus(
        dims,
        DEFAULT_BANDWIDTH if settings.bandwidth is None else settings.bandwidth,
        nodes_per_router=slots,
        half_duplex=settings.half_duplex,
        latency_base_s=settings.latency_base_s,
        latency_per_link_s=settings.latency_per_link_s,
    )
    strides = [1]
    for side in dims:
        strides.append(strides[-1] * side)
    node = (places[:, :-1] @ np.array(strides[:-1])) * slots + places[:, -1]
    assumed = ["a ring along every axis, one cable between neighbours"]
    if settings.bandwidth is None:
        assumed.append("cables without a capacity in the file (all): 100 Gb/s in each direction")
    if len(found) < torus.n_nodes:
        assumed.append(
            f"places without a node ({torus.n_nodes - len(found)}) take no jobs; their routers are "
            f"there"
        )
    own: list[str | None] = [None] * (torus.n_nodes + torus.n_switches)
    fitted = fit_labels(list(found.values()), settings.names, assumed, source)
    for place, name in zip(node.tolist(), fitted, strict=True):
        own[place] = name
    labels = complete_labels(torus, own)
    return replace(
        torus,
        usable=np.sort(node) if len(found) < torus.n_nodes else None,
        origin=Origin(source, FORM, labels, tuple(assumed)),
    )
