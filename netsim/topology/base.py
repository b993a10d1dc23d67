"""Topology: nodes, switches and directed links as arrays."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from fabricsim.checking import shortened, whole, wrong
from netsim.common.arrays import Floats, Ints, numbers_below
from netsim.common.errors import TopologyError
from netsim.topology.building import compact_kinds, reverse_links
from netsim.topology.names import NameBook, Origin, link_names

_PAIRS = 2_000_000  # pairs of nodes whose distance is held in memory at once
LEAST_PACKET, MOST_PACKET, MOST_BUFFER = 64.0, 2.0**24, 2.0**30
_QUANTITIES = "latency_base_s", "latency_per_link_s", "loopback_lat", "buffer_bytes", "packet_bytes"
_LATENCIES = 3  # of them
_LEAST_RATE, _MOST_RATE, _MOST_LATENCY_S = 1.0, 1e18, 1e3


@dataclass(frozen=True, slots=True, eq=False)
class Endpoints:
    """
    Ends of paths, numbered node by node: a host is a set of endpoints with one link each.

    Where every node has one link, endpoint e is node e. A node without a link has an endpoint that
    no path reaches.
    """

    first: Ints  # (n_nodes + 1,): node n has the endpoints ``first[n]`` to ``first[n + 1] - 1``
    node: Ints  # (n_endpoints,): node of each endpoint
    # (n_endpoints,): link by which it sends, -1 for none; it receives by the other direction of the
    # cable
    link: Ints

    @classmethod
    def of(cls, links: Ints, first: Ints) -> "Endpoints":
        """Return those of the links of nodes, as `Topology.node_links` has them."""
        count = np.maximum(np.diff(first), 1)
        begin = np.concatenate([[0], np.cumsum(count)])
        node = np.repeat(np.arange(count.size), count)
        link = np.full(node.size, -1, dtype=np.int64)
        owner = np.repeat(np.arange(count.size), np.diff(first))
        link[begin[owner] + np.arange(links.size) - first[owner]] = links
        return cls(begin, node, link)

    @property
    def size(self) -> int:
        """How many there are."""
        return self.node.size

    @property
    def one_each(self) -> bool:
        """Whether every node has one: endpoint e is node e."""
        return self.size == self.first.size - 1


@dataclass(frozen=True, slots=True, eq=False)
class Multipath:
    """How switches spread packets over paths, where no routing table fixes the path of a flow."""

    # "adaptive", "spray": whether a packet takes the least occupied of the links that lead on, or a
    # random one
    rule: str
    # (E,): bytes per second of each link as it was built; the capacity of the fabric is that of
    # what the link stands for (`netsim.topology.multipath`)
    capacity: Floats


@dataclass(frozen=True, eq=False)
class Topology:
    """
    Nodes, switches and directed links; links are numbered 0..E-1.

    Vertices are the nodes 0..n_nodes-1 followed by the switches. A cable is two directed
    links. On a half-duplex cable both directions share one capacity: they belong to one
    *channel*; on a full-duplex cable each direction is a channel of its own.

    Parameters
    ----------
    name : str
        What the fabric is, e.g. ``"PGFT(3; 9,9,18; 1,9,9; 1,1,1)"``.
    n_nodes : int
        Compute nodes.
    n_switches : int
        Switches or routers.
    link_tail : (E,) int array
        Vertex that the link leaves.
    link_head : (E,) int array
        Vertex that the link enters.
    link_cable : (E,) int array
        Number k of the cable among parallel ones between the same two vertices.
    capacity : (E,) float array
        Bytes per second of each link's channel.
    channel : (E,) int array
        Channel that the link belongs to; ``arange(E)`` when all cables are full duplex.
    latency_base_s : float
        Seconds that every path takes at least.
    latency_per_link_s : float
        Seconds for each link of a path after the first.
    usable : (U,) int array, optional
        Nodes that take jobs, ascending; None when all do. The others exist in the numbering
        (login nodes, empty slots of a partially populated tree, nodes cut off by failures).
    absent : (A,) int array, optional
        Links that carry nothing, ascending: failed, or of a node or leaf that is not there.
    origin : Origin, optional
        The file that an imported fabric was read from: its own names, and what was assumed.
    buffer_bytes : float
        Bytes that a port buffers, behind which the packets of other jobs wait; 0 for a fluid
        without packets.
    packet_bytes : float
        Bytes of a packet, which each switch receives whole before it sends it on; 0 where it
        sends on at once. See `netsim.flows.latency`.
    assumed : tuple of str
        Which of ``buffer``, ``packet`` and ``delay`` (of a link) the description does not state:
        they are those of `netsim.topology.switches.DEFAULT_SWITCH`.
    multipath : Multipath, optional
        Set where switches choose the way of each packet.
    limiter_link : float
        Bytes per second that each host sends and receives in all, as SimGrid's link of that name; 0
        for no such limit.
    loopback_bw, loopback_lat : float
        Bytes per second and seconds of latency of each message inside a host, whatever else it
        does, as SimGrid's links of these names; 0: such messages take no time.
    """

    name: str
    n_nodes: int
    n_switches: int
    link_tail: Ints
    link_head: Ints
    link_cable: Ints
    capacity: Floats
    channel: Ints
    latency_base_s: float = 0.0
    latency_per_link_s: float = 0.0
    usable: Ints | None = None
    absent: Ints | None = None
    origin: Origin | None = None
    buffer_bytes: float = 0.0
    packet_bytes: float = 0.0
    assumed: tuple[str, ...] = ()
    multipath: Multipath | None = None
    limiter_link: float = 0.0
    loopback_bw: float = 0.0
    loopback_lat: float = 0.0

    def __repr__(self) -> str:
        size = f"{self.n_switches:,} switches, {self.n_links:,} links"
        return f"<{type(self).__name__}: {shortened(self.summary, 80)}; {size}>"

    def _repr_html_(self) -> str:
        """Return a table of what the fabric is made of, for notebooks."""
        rates = np.unique(self.capacity * 8e-9) if self.n_links else np.zeros(1)
        rows = {
            "fabric": self.summary,
            "name": self.name,
            "nodes": f"{self.n_nodes:,}, of which {self.usable_nodes.size:,} take jobs",
            "switches": f"{self.n_switches:,}",
            "cables": f"{self.n_links // 2:,}",
            "bandwidth": ", ".join(f"{rate:g} Gb/s" for rate in rates),
        }
        cells = (f"<tr><th>{key}</th><td>{escape(value)}</td></tr>" for key, value in rows.items())
        return f"<table>{''.join(cells)}</table>"

    @property
    def summary(self) -> str:
        """What the fabric is, in plain words: its kind, size and levels."""
        return f"{self._kind_words}, {self._nodes_words}"

    @property
    def _kind_words(self) -> str:
        """What kind of fabric it is."""
        return "irregular fabric" if self.n_switches > 1 else "one switch"

    @property
    def _nodes_words(self) -> str:
        """How many nodes it has."""
        if self.usable is not None:
            return f"{self.usable.size:,} of {self.n_nodes:,} nodes in use"
        return f"{self.n_nodes:,} node{'' if self.n_nodes == 1 else 's'}"

    def to_networkx(self) -> Any:  # noqa: ANN401 (NetworkX publishes no types)
        """
        Return the fabric as an undirected graph.

        Returns
        -------
        networkx.Graph or networkx.MultiGraph
            Vertices are the names of nodes and switches, with ``kind`` (node or switch). Edges have
            ``bandwidth_bytes_per_s`` of one cable and ``cables``, the number of parallel ones.
            Cables out of service are left out. A MultiGraph where parallel cables differ in
            bandwidth. `netsim.from_networkx` reads it back.

        Examples
        --------
        >>> from netsim.registries.topologies import make_topology
        >>> graph = make_topology({"kind": "torus", "dims": [4, 4]}).to_networkx()
        >>> graph.number_of_nodes(), graph.number_of_edges()
        (32, 48)
        """
        import networkx as nx  # noqa: PLC0415 (slow to import, and needed here only)

        links = np.flatnonzero(np.arange(self.n_links) < self.reverse)
        if self.absent is not None:
            links = np.setdiff1d(links, self.absent)
        ends = np.sort(np.stack([self.link_tail[links], self.link_head[links]]), axis=0)
        cables = Counter(zip(*ends.tolist(), self.capacity[links].tolist(), strict=True))
        pairs = {(a, b) for a, b, _ in cables}
        graph = (nx.Graph if len(pairs) == len(cables) else nx.MultiGraph)(name=self.name)
        for vertex in range(self.n_nodes + self.n_switches):
            kind = "node" if vertex < self.n_nodes else "switch"
            graph.add_node(self.vertex_name(vertex), kind=kind)
        for (a, b, rate), count in cables.items():
            graph.add_edge(
                self.vertex_name(a), self.vertex_name(b), bandwidth_bytes_per_s=rate, cables=count
            )
        return graph

    @property
    def n_links(self) -> int:
        """Directed links, E."""
        return self.link_tail.size

    @property
    def n_fabric_links(self) -> int:
        """Links that paths between nodes take: all, or the first, before those inside hosts."""
        return self.n_links

    @property
    def half_duplex(self) -> bool:
        """Whether any two links share a channel."""
        return bool(np.any(self.channel != np.arange(self.n_links)))

    @property
    def usable_nodes(self) -> Ints:
        """Nodes that take jobs, ascending."""
        return np.arange(self.n_nodes) if self.usable is None else self.usable

    @cached_property
    def reverse(self) -> Ints:
        """Other direction of each link's cable, (E,)."""
        return reverse_links(self.link_tail, self.link_head, self.link_cable)

    @cached_property
    def node_links(self) -> tuple[Ints, Ints]:
        """Links by which nodes send, node by node, and the first of each node, (n_nodes + 1,)."""
        links = np.flatnonzero(self.link_tail < self.n_nodes)
        tail = self.link_tail[links]
        first = np.zeros(self.n_nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(tail, minlength=self.n_nodes), out=first[1:])
        return links[np.argsort(tail, kind="stable")], first

    @cached_property
    def endpoints(self) -> Endpoints:
        """Ends of paths: the links of nodes; the nodes themselves where each has one."""
        return Endpoints.of(*self.node_links)

    def hops(self, src: Ints, dst: Ints) -> Ints:
        """
        Return the links between switches on a shortest path; links of nodes do not count.

        Parameters
        ----------
        src, dst : (F,) int array
            Source and destination nodes.

        Returns
        -------
        (F,) int array
            0 on one switch; -1 where no path exists. Failures are not looked at: this is the
            distance in the fabric as built.
        """
        from scipy.sparse import csgraph, csr_array  # noqa: PLC0415 (slow, rarely needed)

        src, dst = self._node_pairs(src, dst)
        size = self.n_nodes + self.n_switches
        links = np.ones(self.n_links), (self.link_tail, self.link_head)
        graph = csr_array(links, shape=(size, size))
        starts, row = np.unique(src, return_inverse=True)
        found, batch = np.empty(src.size), max(1, _PAIRS // size)
        for first in range(0, starts.size, batch):
            distance = csgraph.dijkstra(
                graph, unweighted=True, indices=starts[first : first + batch]
            )
            mine = (row >= first) & (row < first + batch)
            found[mine] = distance[row[mine] - first, dst[mine]]
        return np.where(np.isfinite(found), np.maximum(found - 2, 0), -1).astype(np.int64)

    def total_hops(self, nodes: Ints) -> int:
        """
        Return the sum of `hops` over all unordered pairs of some nodes.

        Parameters
        ----------
        nodes : (n,) int array
            Nodes; one may appear several times.

        Returns
        -------
        int
            The sum.

        Raises
        ------
        TopologyError
            If two of the nodes are not connected.
        """
        nodes = self._node_numbers("nodes", nodes)
        total, batch = 0, max(1, _PAIRS // max(1, nodes.size))
        for first in range(0, nodes.size, batch):
            rows = nodes[first : first + batch]
            hops = self.hops(np.repeat(rows, nodes.size), np.tile(nodes, rows.size))
            if hops.min() < 0:
                raise TopologyError(f"some of the {nodes.size} nodes are not connected.")
            total += int(hops.sum())
        return total // 2

    def _node_numbers(self, name: str, nodes: Ints) -> Ints:
        """Return nodes as they came, or say which there are."""
        return numbers_below(name, nodes, self.n_nodes, TopologyError)

    def _node_pairs(self, src: Ints, dst: Ints) -> tuple[Ints, Ints]:
        """Return as many sources as destinations, or say what is wrong."""
        src, dst = self._node_numbers("src", src), self._node_numbers("dst", dst)
        if src.size != dst.size:
            raise TopologyError(
                f"src, dst: expected as many of one as of the other, got {src.size} and {dst.size}."
            )
        return src, dst

    def path_latency_s(self, hops: Ints, nbytes: float = np.inf) -> Floats:
        """
        Return the latency of paths of so many links, as all were as fast as the slowest.

        Parameters
        ----------
        hops : (F,) int array
            Links of each path; 0 for a flow inside a node.
        nbytes : float
            Length of the message. `netsim.LatencyOf` has messages and links of all kinds.

        Returns
        -------
        (F,) float array
            Base + (hops - 1) * (per_link + min(nbytes, packet) / capacity), in seconds; 0 where
            hops is 0.
        """
        capacity = self.capacity if self.multipath is None else self.multipath.capacity
        packet_s = min(nbytes, self.packet_bytes) / float(capacity.min(initial=np.inf))
        latency = self.latency_base_s + (self.latency_per_link_s + packet_s) * (hops - 1)
        return np.where(hops > 0, latency, 0.0)

    def vertex_name(self, vertex: int) -> str:
        """
        Return the name of a node or switch.

        Parameters
        ----------
        vertex : int
            Nodes first, then switches.

        Returns
        -------
        str
            The file's own name in an imported fabric; else ``n17`` for a node, ``s1.3`` for a
            switch of a tree (leaf 3), ``r5`` for any other switch.
        """
        whole("vertex", vertex, 0, self.n_nodes + self.n_switches - 1, error=TopologyError)
        return self.origin.labels[vertex] if self.origin else self._usual_name(vertex)

    def vertex_number(self, name: str) -> int:
        """
        Return the node or switch of a name.

        Parameters
        ----------
        name : str
            As `vertex_name` gives it. In an imported fabric further names of the file and the usual
            names (``n17``) work as well (`netsim.topology.names`).

        Returns
        -------
        int
            Nodes first, then switches.

        Raises
        ------
        TopologyError
            If the fabric has no such node or switch, or several.
        """
        return self.names.vertex(name)

    @cached_property
    def names(self) -> NameBook:
        """All names of nodes, switches and links."""
        return NameBook(self)

    def _usual_name(self, vertex: int) -> str:
        """Return the name of a vertex in a fabric of this kind."""
        return f"n{vertex}" if vertex < self.n_nodes else f"r{vertex - self.n_nodes}"

    def usual_number(self, name: str) -> int | None:
        """
        Return the vertex of a name in a fabric of this kind, whatever its file calls it.

        Parameters
        ----------
        name : str
            Such as ``n17``.

        Returns
        -------
        int or None
            The vertex; None where there is none.
        """
        match = re.fullmatch(r"([nr])([0-9]{1,18})", name, flags=re.ASCII)
        if match is None:
            return None
        vertex = int(match[2]) + (self.n_nodes if match[1] == "r" else 0)
        limit = self.n_nodes if match[1] == "n" else self.n_nodes + self.n_switches
        return vertex if vertex < limit else None

    def link_class(self, link: int) -> str:
        """
        Return the kind of a link, for tables that sum over many.

        Parameters
        ----------
        link : int
            Directed link.

        Returns
        -------
        str
            ``injection``, ``ejection``, ``network``, or a kind of its own in a tree, torus or
            dragonfly.
        """
        whole("link", link, 0, self.n_links - 1, error=TopologyError)
        names, kind = self.link_kinds(np.array([link]))
        return names[int(kind[0])]

    def link_kinds(self, links: Ints) -> tuple[tuple[str, ...], Ints]:
        """
        Return the kinds of many links.

        Parameters
        ----------
        links : (n,) int array
            Directed links.

        Returns
        -------
        names : tuple of str
            Of the kinds, as `link_class` gives them, in order of their first links.
        kind : (n,) int array
            Which of them each link is.
        """
        ends = (self.link_tail[links] < self.n_nodes, self.link_head[links] < self.n_nodes)
        names, first = ("injection", "ejection", "network"), self.first_of_kind
        kind: Ints = np.select(ends, (0, 1), 2)
        for number, link in enumerate(first.values(), start=len(names)):
            kind[links >= link] = number
        return compact_kinds((*names, *first), kind)

    @property
    def first_of_kind(self) -> dict[str, int]:
        """First link of each further kind, ascending: the last one ends with the last link."""
        return {}

    def link_name(self, link: int) -> str:
        """
        Return ``tail>head`` of a directed link, with ``#k`` on parallel cables.

        Parameters
        ----------
        link : int
            Directed link.

        Returns
        -------
        str
            Its name, as scripts use it.
        """
        whole("link", link, 0, self.n_links - 1, error=TopologyError)
        tail, head = int(self.link_tail[link]), int(self.link_head[link])
        cable = f"#{self.link_cable[link]}" if link in self.in_parallel else ""
        return f"{self.vertex_name(tail)}>{self.vertex_name(head)}{cable}"

    def link_number(self, name: str) -> int:
        """
        Return the directed link of a name.

        Parameters
        ----------
        name : str
            ``tail>head`` or ``tail>head#k``, with any names of its ends.

        Returns
        -------
        int
            Directed link.

        Raises
        ------
        TopologyError
            If the fabric has no such link, or several vertices are called as one of its ends.
        """
        number = self.links_by_name.get(name)
        if number is None:
            number = self.names.link(name)
        if number is None:
            side = self.names.link(f"{name}#0")  # of several cables between the same ends
            like = "names look like" if side is None else "of several cables name one, such as"
            example = self.link_name(0) if side is None else self.names.short_link(side)
            raise TopologyError(
                f"no link {name!r} in the fabric ({self.summary}); {like} {example!r}."
            )
        return number

    @cached_property
    def in_parallel(self) -> frozenset[int]:
        """Links that have a parallel cable."""
        pair = self.link_tail * (self.n_nodes + self.n_switches) + self.link_head
        _, inverse, count = np.unique(pair, return_inverse=True, return_counts=True)
        return frozenset(np.flatnonzero(count[inverse] > 1).tolist())

    @cached_property
    def links_by_name(self) -> dict[str, int]:
        """Directed link of every name as `link_name` gives it."""
        return {name: link for link, name in enumerate(link_names(self))}


def require_sane(topology: Topology) -> Topology:
    """Return a fabric whose quantities are in range; refuse what is beyond any machine."""
    slowest = float(topology.capacity.min(initial=_MOST_RATE))
    fastest = float(topology.capacity.max(initial=_LEAST_RATE))
    if not _LEAST_RATE <= slowest <= fastest <= _MOST_RATE:
        beyond = slowest if slowest < _LEAST_RATE else fastest
        range_ = f"{_LEAST_RATE:g} to {_MOST_RATE:g} bytes/s"
        raise TopologyError(f"bandwidth: expected links of {range_}, got {beyond:g}.")
    _require_host_rates(topology)
    for name in _QUANTITIES:
        value = getattr(topology, name)
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (number and 0.0 <= value < float("inf")):
            raise TopologyError(f"{name}: expected a finite number from 0 on, got {value!r}.")
    for name in _QUANTITIES[:_LATENCIES]:
        latency_s = getattr(topology, name)
        if latency_s > _MOST_LATENCY_S:
            most = f"{_MOST_LATENCY_S:g} s"
            raise TopologyError(f"{name}: expected latencies of at most {most}, got {latency_s:g}.")
    if topology.buffer_bytes > MOST_BUFFER:
        raise TopologyError(
            f"buffer: expected a buffer of at most 1 GiB, got {topology.buffer_bytes:g}."
        )
    if topology.packet_bytes and not LEAST_PACKET <= topology.packet_bytes <= MOST_PACKET:
        expected = f"from {LEAST_PACKET:.12g} to {MOST_PACKET:.0f} bytes, or 0"
        raise TopologyError(f"packet: expected {expected}, got {topology.packet_bytes:.12g}.")
    if topology.packet_bytes > topology.buffer_bytes > 0.0:
        expected = f"room for a packet of {topology.packet_bytes:.12g} bytes, or 0"
        raise TopologyError(f"buffer: expected {expected}, got {topology.buffer_bytes:.12g}.")
    return topology


def _require_host_rates(topology: Topology) -> None:
    """Refuse rates of hosts that are beyond any machine."""
    for name in ("limiter_link", "loopback_bw"):
        rate = getattr(topology, name)
        if rate and not _LEAST_RATE <= rate <= _MOST_RATE:
            range_ = f"{_LEAST_RATE:g} to {_MOST_RATE:g} bytes/s"
            raise TopologyError(f"{name}: expected {range_}, got {rate:g}.")


def require_topology(topology: object, error: type[ValueError]) -> None:
    """Refuse what is no fabric, such as its name, or has quantities that make no sense."""
    if not isinstance(topology, Topology):
        raise wrong("topology", "a Topology (see make_topology)", topology, error)
    try:
        require_sane(topology)
    except TopologyError as wrong_quantity:
        raise error(f"topology: {wrong_quantity}") from None
