"""Edges: cables between names, and which of the names are nodes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netsim.common.errors import TopologyError, UnitError
from netsim.common.units import is_bare, parse_rate
from netsim.formats.importers.sketch import Sketch

KINDS = ("node", "switch")
_MOST_CABLES = 10_000  # between two switches; more is a typing error


@dataclass(frozen=True, slots=True)
class Edge:
    """Parallel cables."""

    place: str  # where they stand, for messages
    a: str
    b: str
    rate: float | None = None  # bytes per second of each, where the file says
    count: int = 1


def edge_sketch(edges: Sequence[Edge], kinds: Mapping[str, str], source: str, form: str) -> Sketch:
    """
    Draw cables between names.

    Where `kinds` is empty for a name, one cable makes it a node, several a switch.
    """
    sketch = Sketch(source, form)
    cables = Counter(end for edge in edges for end in (edge.a, edge.b))
    guessed = [name for name, kind in kinds.items() if not kind]
    found = {name: kind or KINDS[cables[name] > 1] for name, kind in kinds.items()}
    if guessed:
        count = sum(found[name] == "node" for name in guessed)
        sketch.assumed.append(
            f"names with one cable ({count}) are nodes, with more ({len(guessed) - count}) switches"
        )
    for name, kind in found.items():
        (sketch.add_node if kind == "node" else sketch.add_switch)(name)
    for edge in edges:
        if edge.a == edge.b:
            raise TopologyError(f"{edge.place}: a cable from {edge.a!r} to itself.")
        if found[edge.a] == found[edge.b] == "node":
            raise TopologyError(
                f"{edge.place}: a cable between the nodes {edge.a!r} and {edge.b!r}; nodes hang on "
                f"switches."
            )
        sketch.join(edge.a, edge.b, edge.rate, edge.count)
    if not sketch.nodes:
        sketch.assumed.append("no name is a node: every switch has one, called after it")
        for name in list(sketch.switches):
            node = f"{name}.node"
            if node in sketch.switches:
                raise TopologyError(f"{source}: {node!r} is the name of a switch.")
            sketch.add_node(node)
            sketch.join(node, name)
    return sketch


def kind_of(text: str, place: str) -> str:
    """Read ``node`` or ``host``, ``switch`` or ``router``, or nothing."""
    word = {"host": "node", "router": "switch"}.get(text.strip().lower(), text.strip().lower())
    if word not in {*KINDS, ""}:
        raise TopologyError(f"{place}: expected 'node' or 'switch', got {text[:40]!r}.")
    return word


def rate_of(text: str | float, place: str, name: str) -> float | None:
    """Read a capacity in bytes per second, where the text has no unit; None where there is none."""
    if text == "":
        return None
    try:
        stated = name.endswith("_bytes_per_s") and is_bare(text)
        rate = parse_rate(f"{text} B/s" if stated else text)
    except UnitError as error:
        raise TopologyError(f"{place}: {error}") from None
    if rate <= 0:
        raise TopologyError(f"{place}: expected a bandwidth above 0, got {text!r}.")
    return rate


def count_of(text: str | int, place: str) -> int:
    """Read a number of parallel cables."""
    word = str(text).strip() or "1"
    if not (word.isascii() and word.isdigit() and len(word) < 9 and 1 <= int(word) <= _MOST_CABLES):  # noqa: PLR2004 (digits)
        raise TopologyError(
            f"{place}: expected a number of cables from 1 to {_MOST_CABLES}, got {word[:40]!r}."
        )
    return int(word)


def each_cable_once(edges: Sequence[Edge], hint: str) -> list[Edge]:
    """Drop the second direction of cables, where a file lists both of every cable."""
    first: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        other = first.setdefault((edge.a, edge.b), edge)
        if other is not edge:
            raise TopologyError(
                f"{edge.place}: {edge.a!r} and {edge.b!r} again, first in {other.place}; {hint}."
            )
    back = [edge for edge in edges if (edge.b, edge.a) in first and edge.a != edge.b]
    if not back:
        return list(edges)
    if len(back) < len(edges):
        here, there = back[0], first[back[0].b, back[0].a]
        raise TopologyError(
            f"{there.place}: {here.a!r} and {here.b!r} again in the other direction, first in "
            f"{here.place}, but other cables are listed in one direction only."
        )
    for edge in edges:
        twin = first[edge.b, edge.a]
        if (edge.rate, edge.count) != (twin.rate, twin.count):
            raise TopologyError(
                f"{twin.place}: {edge.a!r} and {edge.b!r} differ in the two directions; both "
                f"directions of a cable have the same capacity."
            )
    seen: set[tuple[str, str]] = set()
    once = []
    for edge in edges:
        if (edge.b, edge.a) not in seen:
            seen.add((edge.a, edge.b))
            once.append(edge)
    return once
