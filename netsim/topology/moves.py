"""Moves: which link may follow which, for shortest paths round failures."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Ints
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """
    States of a message and the links that take it from one to another.

    On a tree a message that came down never goes up again (up*/down*: no deadlock), so a vertex has
    two states: v while going up, and ``n_vertices + v`` once it came down. Elsewhere a vertex is
    one state. Nodes pass nothing on.
    """

    n_vertices: int  # nodes and switches
    n_nodes: int  # nodes; they are the first vertices
    phases: int  # states of a vertex, 1 or 2
    link: Ints  # (M,): link of each move, by state it starts from, then by link
    # tail, head: (M,): states that each move starts from and leads to
    tail: Ints
    head: Ints
    first: Ints  # (S + 1,): moves from state s are ``first[s]..first[s + 1] - 1``
    into: Ints  # (M,): moves by the state they lead to
    first_into: Ints  # (S + 1,): moves to state s are ``into[first_into[s]:first_into[s + 1]]``

    @classmethod
    def on(cls, topology: Topology) -> "Moves":
        """List the moves of a fabric, over the links that are in service."""
        size = topology.n_nodes + topology.n_switches
        link = np.arange(topology.n_links)
        if topology.absent is not None:
            link = np.delete(link, topology.absent)
        tail, head, phases = topology.link_tail[link], topology.link_head[link], 1
        if isinstance(topology, FatTree):
            phases = 2
            down = tail > head  # switches are numbered level by level
            link = np.concatenate([link, link[down]])
            tail, head = (
                np.concatenate([tail, tail[down] + size]),
                np.concatenate([head + np.where(down, size, 0), head[down] + size]),
            )
        order = np.lexsort((link, tail))
        link, tail, head = link[order], tail[order], head[order]
        into = np.argsort(head, kind="stable")
        marks = np.arange(phases * size + 1)
        first, first_into = np.searchsorted(tail, marks), np.searchsorted(head[into], marks)
        return cls(size, topology.n_nodes, phases, link, tail, head, first, into, first_into)

    def distances(self, switches: Ints) -> Ints:
        """Return the links from every state to the nearest of some switches (S,); -1: none."""
        distance = np.full(self.phases * self.n_vertices, -1, dtype=np.int64)
        frontier = np.concatenate([switches + p * self.n_vertices for p in range(self.phases)])
        distance[frontier] = 0
        steps = 0
        while frontier.size:
            steps += 1
            moves = self.into[row_entries(self.first_into, frontier)]
            reached = self.tail[moves]
            reached = np.sort(reached[distance[reached] < 0])
            reached = reached[np.diff(reached, prepend=-1) > 0]  # as np.unique, but faster
            distance[reached] = steps
            frontier = reached[reached % self.n_vertices >= self.n_nodes]
        return distance


def row_entries(first: Ints, rows: Ints) -> Ints:
    """Return the entries of some rows of a compressed table, row by row."""
    count = first[rows + 1] - first[rows]
    offset = np.cumsum(count) - count
    entries: Ints = np.arange(count.sum()) + np.repeat(first[rows] - offset, count)
    return entries
