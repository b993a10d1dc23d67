"""Names of nodes, switches and links as a site has them, and the file that a fabric comes from."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.common.hostlist import expand_hostlist

if TYPE_CHECKING:
    from netsim.topology.base import Topology

_GUID = re.compile(r"(?:0x|[SH]-)([0-9a-fA-F]{1,16})|([0-9a-fA-F]{12,16})")
_MANAGED = re.compile(r"[^;>]+;([^;:>\s]+):([^>#]+)")  # "MF0;ibsw2:SX6036/U1"
_NUMBER = re.compile("[0-9]{1,18}")
_SHOWN = 60  # characters of a name that an error shows


class NameBook:
    """
    Vertices and links of a fabric by name.

    Its labels go before the further names of its origin, and these before the usual names such as
    ``n17``, which are unknown where the file calls another vertex so.
    """

    def __init__(self, topology: "Topology") -> None:
        self._topology = topology
        origin = topology.origin
        labels = origin.labels if origin else ()
        self._own = {label: vertex for vertex, label in enumerate(labels)}
        self._further: dict[str, set[int]] = {}
        for name, vertex in origin.aliases if origin else ():
            if self._own.get(name, vertex) == vertex:
                self._further.setdefault(name, set()).add(vertex)
        self._numbered = any(_NUMBER.fullmatch(label) for label in labels)
        self._taken = any(
            topology.usual_number(label) not in {None, vertex}
            for label, vertex in self._own.items()
        )

    def find(self, name: str) -> int | None:
        """Look a node or switch up; None where nothing is called so."""
        if name in self._own:
            return self._own[name]
        guid = _GUID.fullmatch(name)
        for known in (name, guid_name(int(guid[1] or guid[2], 16)) if guid else ""):
            found = self._further.get(known)
            if found is not None:
                return self._only(name, found)
        return None if self._taken else self._topology.usual_number(name)

    def near(self, name: str) -> str:
        """Look up the one name that differs in capitals, zeros before numbers or a domain."""
        for known, plain in zip(
            self._nearly, (_plain_name(name), _without_domain(name)), strict=True
        ):
            found = known.get(plain, set())
            if len(found) == 1:
                return next(iter(found))
        usual = _without_domain(name)
        return "" if self._taken or self._topology.usual_number(usual) is None else usual

    @cached_property
    def _nearly(self) -> tuple[Mapping[str, set[str]], Mapping[str, set[str]]]:
        """Names of the file by what is left of them without what people mix up."""
        plain, hosts = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
        for name in (*self._own, *self._further):
            plain[_plain_name(name)].add(name)
            hosts[_without_domain(name)].add(name)
        return plain, hosts

    def vertex(self, name: str) -> int:
        """Return the node or switch of a name; nodes come first."""
        found = self.find(name)
        if found is None:
            raise self._unknown(name)
        return found

    def node(self, entry: object) -> int:
        """Return the node that an entry means."""
        nodes = self.nodes([entry])
        if len(nodes) != 1:
            raise TopologyError(
                f"expected one node, got {_shown_value(entry)}, which is {len(nodes)}."
            )
        return nodes[0]

    def nodes(self, entries: Iterable[object]) -> list[int]:
        """Return the nodes that entries mean, in order, repeats included."""
        return [self._as_node(vertex, entry) for entry, vertex in self._told(entries)]

    def vertices(self, entries: Iterable[object]) -> list[int]:
        """Return the nodes and switches that entries mean, in order, repeats included."""
        return [vertex for _, vertex in self._told(entries)]

    def parted(self, entries: Iterable[object]) -> tuple[list[object], list[str]]:
        """Part entries into what the fabric has and names that nothing is called by."""
        known, unknown = list[object](), list[str]()
        for entry in entries:
            if not isinstance(entry, str) or self._stated(entry) is not None:
                known.append(entry)
                continue
            for name in expand_hostlist(entry, len(known) + len(unknown)):
                (unknown if self._stated(name) is None else known).append(name)
        return known, unknown

    def links(self, entries: Iterable[object]) -> list[int]:
        """Return the directed links that entries mean, in order, repeats included."""
        topology, found = self._topology, list[int]()
        for entry in [entries] if isinstance(entries, str) else entries:
            if isinstance(entry, str):
                known = topology.links_by_name.get(entry)
                if known is None:
                    names = expand_hostlist(entry, len(found))
                    found += [topology.link_number(name) for name in names]
                else:
                    found.append(known)
            elif isinstance(entry, Integral) and not isinstance(entry, bool):
                link = int(entry)
                if not 0 <= link < topology.n_links:
                    raise TopologyError(
                        f"no link {link} in the fabric ({topology.summary}); it has "
                        f"0..{topology.n_links - 1}."
                    )
                found.append(link)
            else:
                raise TopologyError(
                    f"expected the name or number of a link, got {_shown_value(entry)}."
                )
        return found

    def link(self, name: str) -> int | None:
        """Look up a directed link ``tail>head`` or ``tail>head#k``; None where there is none."""
        match = re.fullmatch(r"(.+)>(.+?)(#[0-9]{1,9})?", name)
        if match is None:
            return None
        tail, head = (self.find(end) for end in match.group(1, 2))
        if tail is None or head is None:
            return self._link_of_ports(name)
        name_of = self._topology.vertex_name
        return self._topology.links_by_name.get(f"{name_of(tail)}>{name_of(head)}{match[3] or ''}")

    def _link_of_ports(self, name: str) -> int | None:
        """Look up a directed link by the ports at its ends: ``tail/P1>head/P2``."""
        match = re.fullmatch(r"(.+)/P([0-9]{1,5})>(.+)/P([0-9]{1,5})", name)
        origin, topology = self._topology.origin, self._topology
        if match is None or origin is None or origin.ports is None:
            return None
        tail, head = self.find(match[1]), self.find(match[3])
        if tail is None or head is None or origin.ports.size != topology.n_links:
            return None
        here = (topology.link_tail == tail) & (topology.link_head == head)
        here &= (origin.ports == int(match[2])) & (origin.ports[topology.reverse] == int(match[4]))
        found = np.flatnonzero(here)
        return int(found[0]) if found.size == 1 else None

    def short(self, vertex: int) -> str:
        """
        Return the shortest name by which `find` knows a vertex.

        A managed switch describes itself as ``MF0;core1:CS7500/L01/U1``: ``core1``, or
        ``core1/L01`` where a director has several modules; else the label.
        """
        label = self._topology.vertex_name(vertex)
        managed = _MANAGED.fullmatch(label)
        if managed is None:
            return label
        _, *parts = managed[2].split("/")
        for count in range(len(parts) + 1):
            name = "/".join([managed[1], *parts[:count]])
            try:
                if self.find(name) == vertex:
                    return name
            except TopologyError:  # several are called so
                continue
        return label

    def short_link(self, link: int) -> str:
        """Return a short name of a link: ``core1/L01/P19>core1/S01/P1`` or ``tail>head#k``."""
        topology, origin = self._topology, self._topology.origin
        tail, head = (
            self.short(int(end[link])) for end in (topology.link_tail, topology.link_head)
        )
        if (
            origin is not None
            and origin.ports is not None
            and origin.ports.size == topology.n_links
        ):
            ends = link, int(topology.reverse[link])
            first, last = (int(origin.ports[end]) for end in ends)
            name = f"{tail}/P{first}>{head}/P{last}"
            if self.link(name) == link:
                return name
        cable = f"#{topology.link_cable[link]}" if link in topology.in_parallel else ""
        return f"{tail}>{head}{cable}"

    def _told(self, entries: Iterable[object]) -> Iterator[tuple[object, int]]:
        """Iterate over what entries name, and its vertices."""
        taken = 0
        for entry in [entries] if isinstance(entries, str) else entries:
            if isinstance(entry, Integral) and not isinstance(entry, bool):
                yield entry, self._as_node(int(entry), entry)
            elif not isinstance(entry, str):
                raise TopologyError(
                    f"expected the number or name of a node, got {_shown_value(entry)}."
                )
            elif (whole := self._stated(entry)) is not None:
                yield entry, whole
            else:
                for name in expand_hostlist(entry, taken):
                    vertex = self._stated(name)
                    if vertex is None:
                        raise self._unknown(name)
                    yield name, vertex
                    taken += 1

    def _stated(self, name: str) -> int | None:
        """Look up a name, or a number in quotes where nothing can be called so."""
        found = self.find(name)
        if found is None and _NUMBER.fullmatch(name) and not self._numbered:
            return self._as_node(int(name), name)
        return found

    def _as_node(self, vertex: int, entry: object) -> int:
        """Refuse what is no node."""
        fabric = self._topology
        if not 0 <= vertex < fabric.n_nodes:
            by_name = isinstance(entry, str) and not _NUMBER.fullmatch(entry)
            there = "that is a switch" if by_name else f"it has 0..{fabric.n_nodes - 1}"
            raise TopologyError(
                f"no node {_shown_value(entry)} in the fabric ({fabric.summary}); {there}."
            )
        return vertex

    def _only(self, name: str, found: set[int]) -> int:
        """Return the vertex of a name that only one has."""
        if len(found) > 1:
            some = [repr(self._topology.vertex_name(vertex)) for vertex in sorted(found)[:3]]
            more = ", ..." if len(found) > len(some) else ""
            raise TopologyError(
                f"{_shown_value(name)} is {len(found)} nodes or switches of the fabric "
                f"({self._topology.summary}) "
                f"({', '.join(some)}{more}): give one of these names."
            )
        return next(iter(found))

    def _unknown(self, name: str) -> TopologyError:
        """Make the error of a name that nothing has."""
        if self._taken and self._topology.usual_number(name) is not None:
            return TopologyError(
                f"no node or switch {_shown_value(name)} in the fabric ({self._topology.summary}), "
                "whose file uses such "
                f"names in another order; give a name of the file or a number without quotes."
            )
        near = self.near(name)
        if near:
            return TopologyError(
                f"no node or switch {_shown_value(name)} in the fabric ({self._topology.summary}); "
                f"did you mean {near!r}?"
            )
        fabric = self._topology
        names = (
            f"{fabric.vertex_name(fabric.n_nodes - 1)!r} and {fabric.vertex_name(fabric.n_nodes)!r}"
        )
        return TopologyError(
            f"no node or switch {name!r} in the fabric ({fabric.summary}); names look like {names}."
        )


def _plain_name(name: str) -> str:
    """Return a name in small letters, without zeros before its numbers."""
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", name.lower())


def _without_domain(name: str) -> str:
    """Return a plain name without a domain behind it."""
    return _plain_name(name.partition(".")[0])


def guid_name(guid: int) -> str:
    """Return a GUID as ``0x`` and 16 digits, as further names of an origin have it."""
    return f"0x{guid:016x}"


def with_names_of(topology: "Topology", other: "Topology") -> "Topology":
    """Let a fabric be called as another description of it has it, too."""
    first, second = topology.origin, other.origin
    if first is None or second is None:
        return topology
    own = tuple((label, vertex) for vertex, label in enumerate(first.labels))
    aliases = (*first.aliases, *second.aliases, *own)
    return replace(topology, origin=replace(first, labels=second.labels, aliases=aliases))


def _shown_value(value: object) -> str:
    """Write a value on one line, and not all of a long one."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Where an imported fabric comes from, and what its file left open."""

    source: str
    form: str  # its format, a key of `netsim.formats.importers.registry.FORMATS`
    # the file's own name of every vertex, each once; the usual name where it has none
    labels: tuple[str, ...]
    # one sentence for everything that the file does not say and that had to be assumed
    assumed: tuple[str, ...] = ()
    # why the fabric is no fat-tree, torus or dragonfly but a mere graph; empty where it is one
    irregularity: str = ""
    # switches that stand for a network which the file does not show
    fake_roots: tuple[int, ...] = ()
    # further names of vertices, with the vertex; several may share one, which then is none
    aliases: tuple[tuple[str, int], ...] = ()
    # (E,): port by which each directed link leaves its device, as the file numbers them; -1 where
    # it does not. None for files without port numbers.
    ports: Ints | None = None
    states_latency: bool = False  # whether the file says what latencies are
    included: tuple[str, ...] = ()  # other files that this one includes, which were read too


def link_names(topology: "Topology") -> list[str]:
    """Return the names of all directed links, in the order of their numbers."""
    vertices = list(map(topology.vertex_name, range(topology.n_nodes + topology.n_switches)))
    ends = zip(topology.link_tail.tolist(), topology.link_head.tolist(), strict=True)
    names = [f"{vertices[tail]}>{vertices[head]}" for tail, head in ends]
    for link in topology.in_parallel:
        names[link] += f"#{topology.link_cable[link]}"
    return names
