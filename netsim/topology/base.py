"""Topology: nodes, switches and directed links as arrays."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from netsim.arrays import Floats, Ints
from netsim.errors import TopologyError


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

    @property
    def n_links(self) -> int:
        """Directed links, E."""
        return self.link_tail.size

    @property
    def half_duplex(self) -> bool:
        """Whether any two links share a channel."""
        return bool(np.any(self.channel != np.arange(self.n_links)))

    def path_latency_s(self, hops: Ints) -> Floats:
        """
        Return the latency of paths of so many links.

        Parameters
        ----------
        hops : (F,) int array
            Links of each path; 0 for a flow inside a node.

        Returns
        -------
        (F,) float array
            Base + per_link * (hops - 1), in seconds; 0 where hops is 0.
        """
        latency = self.latency_base_s + self.latency_per_link_s * (hops - 1)
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
            ``n17`` for a node, ``r5`` for a router.
        """
        return f"n{vertex}" if vertex < self.n_nodes else f"r{vertex - self.n_nodes}"

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
            Here ``injection``, ``ejection`` or ``network``.
        """
        if self.link_tail[link] < self.n_nodes:
            return "injection"
        return "ejection" if self.link_head[link] < self.n_nodes else "network"

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
        tail, head = int(self.link_tail[link]), int(self.link_head[link])
        name = f"{self.vertex_name(tail)}>{self.vertex_name(head)}"
        return f"{name}#{self.link_cable[link]}" if link in self._parallel else name

    def link_number(self, name: str) -> int:
        """
        Return the directed link of a name.

        Parameters
        ----------
        name : str
            ``tail>head`` or ``tail>head#k``.

        Returns
        -------
        int
            Directed link.

        Raises
        ------
        TopologyError
            If the fabric has no such link.
        """
        number = self._numbers.get(name)
        if number is None:
            example = self.link_name(0)
            raise TopologyError(f"no link {name!r} in {self.name}; names look like {example!r}.")
        return number

    @cached_property
    def _parallel(self) -> frozenset[int]:
        """Links that have a parallel cable."""
        pair = self.link_tail * (self.n_nodes + self.n_switches) + self.link_head
        _, inverse, count = np.unique(pair, return_inverse=True, return_counts=True)
        return frozenset(np.flatnonzero(count[inverse] > 1).tolist())

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Directed link of every name."""
        return {self.link_name(link): link for link in range(self.n_links)}
