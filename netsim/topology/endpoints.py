"""Endpoints: the links by which nodes send and receive, each an end of paths of its own."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints


@dataclass(frozen=True, slots=True, eq=False)
class Endpoints:
    """
    Ends of paths, numbered node by node: a host is a set of endpoints with one link each.

    Where every node has one link, endpoint e is node e. A node without a link has an endpoint that
    no path reaches.

    Parameters
    ----------
    first : (n_nodes + 1,) int array
        Node n has the endpoints ``first[n]`` to ``first[n + 1] - 1``.
    node : (n_endpoints,) int array
        Node of each endpoint.
    link : (n_endpoints,) int array
        Link by which it sends, -1 for none; it receives by the other direction of the cable.
    """

    first: Ints
    node: Ints
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
