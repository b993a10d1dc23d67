"""OpenSM's ftree step by step: the tables it fills, also where cables or switches are missing."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError
from netsim.infiniband.discover import IbFabric
from netsim.topology.levels import steps_from

_FAR = 255  # hops, where no route is known


@dataclass(frozen=True, slots=True, eq=False)
class FtreeTables:
    """What ftree makes of a fabric."""

    order: tuple[int, ...]  # node (by device) of every number of the ca-order, -1 for a dummy
    # output port of every switch towards every device that it has a route to, by device; port 0 is
    # the switch itself
    ports: dict[int, dict[int, int]]


@dataclass(slots=True, eq=False)
class _Bundle:
    """The cables of a switch to one neighbour, and how many routes each was given."""

    peer: int
    ports: list[tuple[int, int]] = field(default_factory=list)  # own port, port of the peer
    load: int = 0
    loads: list[int] = field(default_factory=list)

    def least(self) -> int:
        """Return the place of the least loaded cable, the first of equals."""
        return self.loads.index(min(self.loads)) if len(self.loads) > 1 else 0

    def count(self, cable: int) -> None:
        """Give a cable one more route."""
        self.load += 1
        self.loads[cable] += 1


def ftree_tables(fabric: IbFabric, nodes: Sequence[int], roots: Sequence[int]) -> FtreeTables:
    """
    Return the tables that OpenSM's ftree fills when the roots are named (``-a``), and its order.

    As OpenSM 3.3.23 does it. The rank of a switch is its distance from the roots; one that lost all
    its parents ranks below its children. Switches are indexed by a search in breadth from the first
    leaf with nodes (least GUID, bytes read backwards), neighbours by port. The leaves follow by
    index, on each the nodes by port, then dummies up to the largest number of nodes on any leaf. A
    route climbs from its leaf over the least loaded bundle and cable, the first by index of equals;
    at every switch on the way, whatever lies below and has no route as short is given one, over the
    least loaded cable down. Then the other parents get routes that are not counted. Last come the
    routes to the switches, by GUID, not counted on the way up.
    """
    run = _Ftree(fabric, nodes, roots)
    numbers = run.numbers()
    run.route_nodes(numbers)
    return FtreeTables(tuple(node for _, _, node in numbers), run.route_switches())


def ftree_order(fabric: IbFabric, nodes: Sequence[int], roots: Sequence[int]) -> Ints:
    """Return the number of every device in the ca-order (D,), -1 where it has none."""
    order = np.array([node for _, _, node in _Ftree(fabric, nodes, roots).numbers()])
    number = np.full(len(fabric.devices), -1, dtype=np.int64)
    number[order[order >= 0]] = np.flatnonzero(order >= 0)
    return number


class _Ftree:
    """State of one run."""

    def __init__(self, fabric: IbFabric, nodes: Sequence[int], roots: Sequence[int]) -> None:
        self._rank = rank = _ranks(fabric, roots)
        keys = {i: fabric.devices[i].guid.to_bytes(8, "little") for i in rank}
        self._switches = sorted(rank, key=keys.__getitem__)
        self._up: dict[int, list[_Bundle]] = {i: [] for i in rank}
        self._down: dict[int, list[_Bundle]] = {i: [] for i in rank}
        self._nodes: dict[int, list[tuple[int, int]]] = {i: [] for i in rank}
        takes_part = set(nodes)
        bundles: dict[tuple[int, int], _Bundle] = {}
        for (i, port), (j, peer_port) in sorted(fabric.cables.items()):
            if i in rank and j in takes_part:
                self._nodes[i].append((port, j))
            elif i in rank and j in rank:
                if (i, j) not in bundles:
                    bundles[i, j] = _Bundle(j)
                    (self._up if rank[j] < rank[i] else self._down)[i].append(bundles[i, j])
                bundles[i, j].ports.append((port, peer_port))
                bundles[i, j].loads.append(0)
        self._leaves = [i for i in self._switches if self._nodes[i]]
        self._bottom = self._leaf_rank(fabric)
        self._place: dict[int, tuple[int, ...]] = {}  # rank, then digits
        self._stale: set[int] = set()  # switches whose bundles down are no longer in order
        self._out: dict[int, int] = {}  # port and hops of every switch towards one target
        self._hops: dict[int, int] = {}
        self._table: dict[int, dict[int, int]] = {i: {} for i in rank}

    def _leaf_rank(self, fabric: IbFabric) -> int:
        """Return the rank of the leaves, of which there must be two, all of one rank."""
        if len(self._leaves) <= 1:
            raise RoutingError("ftree needs nodes on two leaves at least.")
        first = self._leaves[0]
        for leaf in self._leaves:
            if self._rank[leaf] != self._rank[first]:
                names = [fabric.devices[i].name for i in (first, leaf)]
                raise RoutingError(
                    f"ftree needs all leaves equally far below the roots: {names[0]!r} has "
                    f"rank {self._rank[first]}, {names[1]!r} {self._rank[leaf]}."
                )
        return self._rank[first]

    def _index(self) -> None:
        """Give switches a place, with the first digit that is free as seen from a neighbour."""
        first = self._leaves[0]
        self._place[first] = (self._bottom, *[0] * self._bottom)
        taken = set(self._place.values())
        waiting = deque([first])
        while waiting:
            i = waiting.popleft()
            rank, *digits = self._place[i]
            below = self._down[i] if rank < self._bottom else []
            for bundles, step in ((below, 1), (self._up[i], -1)):
                for bundle in bundles:
                    if bundle.peer in self._place:
                        continue
                    at = rank if step > 0 else rank - 1  # the digit in which the two differ
                    free = (
                        (rank + step, *digits[:at], digit, *digits[at + 1 :]) for digit in count()
                    )
                    place = next(place for place in free if place not in taken)
                    self._place[bundle.peer] = place
                    taken.add(place)
                    waiting.append(bundle.peer)
                self._sort(bundles)

    def numbers(self) -> list[tuple[int, int, int]]:
        """Return leaf, port and node of every number of the ca-order; port, node -1: a dummy."""
        self._index()
        leaves = sorted(
            (i for i in self._place if self._rank[i] == self._bottom), key=self._place.__getitem__
        )
        last = max(x for x, i in enumerate(leaves) if self._nodes[i])
        most = max(len(self._nodes[i]) for i in leaves)
        return [
            (leaf, port, node)
            for leaf in leaves[: last + 1]
            for port, node in (self._nodes[leaf] + [(-1, -1)] * most)[:most]
        ]

    def route_nodes(self, numbers: Sequence[tuple[int, int, int]]) -> None:
        """Fill the tables towards the nodes."""
        for leaf, port, node in numbers:
            self._begin(leaf, port, 1)
            self._climb(leaf, -1, 1, main=True)
            if node >= 0:
                self._keep(node)

    def route_switches(self) -> dict[int, dict[int, int]]:
        """Fill the tables towards the switches; return all."""
        for switch in self._switches:
            self._begin(switch, 0, 0)
            self._climb(switch, -1, 0, main=False)
            self._keep(switch)
        return self._table

    def _begin(self, switch: int, port: int, hops: int) -> None:
        """Forget the last target; the next lies at a port of a switch (-1: nowhere)."""
        self._out, self._hops = {switch: port}, {switch: hops}

    def _keep(self, target: int) -> None:
        """Write the entries towards the target into the tables."""
        for switch, port in self._out.items():
            self._table[switch][target] = port

    def _sort(self, bundles: list[_Bundle]) -> None:
        """Put bundles in order: by load, then by the index of the neighbour."""
        bundles.sort(key=lambda bundle: (bundle.load, self._place[bundle.peer]))

    def _enter(self, bundle: _Bundle, cable: int, hops: int) -> None:
        """Let the neighbour send back along a cable."""
        self._out[bundle.peer] = bundle.ports[cable][1]
        self._hops[bundle.peer] = hops

    def _descend(self, switch: int, came_from: int, hops: int) -> bool:
        """Give a route to all that lies below and has none as short; say whether nodes do."""
        if switch in self._stale:
            self._sort(self._down[switch])
            self._stale.discard(switch)
        reached = bool(self._nodes[switch])
        for bundle in self._down[switch]:
            if bundle.peer == came_from or hops + 1 >= self._hops.get(bundle.peer, _FAR):
                continue
            cable = bundle.least()
            self._enter(bundle, cable, hops + 1)
            if self._descend(bundle.peer, -1, hops + 1):
                bundle.count(cable)
                self._stale.add(switch)
                reached = True
        return reached

    def _climb(self, switch: int, came_from: int, hops: int, *, main: bool) -> None:
        """Route below a switch, then climb to its parents: counted over one, then to the rest."""
        self._descend(switch, came_from, hops)
        parents = self._up[switch]
        if not parents:
            return
        self._sort(parents)
        if main:
            bundle = parents[0]
            cable = bundle.least()
            bundle.count(cable)
            if hops + 1 < self._hops.get(bundle.peer, _FAR):
                self._enter(bundle, cable, hops + 1)
            self._climb(bundle.peer, switch, hops + 1, main=True)
        for bundle in parents[main:]:
            if hops + 1 < self._hops.get(bundle.peer, _FAR):
                self._enter(bundle, bundle.least(), hops + 1)
                self._climb(bundle.peer, switch, hops + 1, main=False)


def _ranks(fabric: IbFabric, roots: Sequence[int]) -> dict[int, int]:
    """Return how many cables every switch is from the roots."""
    is_switch = np.array([device.is_switch for device in fabric.devices])
    ends = [(i, j) for (i, _), (j, _) in fabric.cables.items()]
    tail, head = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    between = is_switch[tail] & is_switch[head]
    start = np.array(roots, dtype=np.int64)
    rank = steps_from(is_switch.size, tail[between], head[between], start)
    return {i: int(rank[i]) for i in np.flatnonzero(rank >= 0).tolist()}
