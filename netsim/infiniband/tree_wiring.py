"""PGFTs in InfiniBand fabrics: whole ones, and ones with cables, switches or nodes missing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from math import prod

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError, TopologyError
from netsim.common.units import Quantity
from netsim.infiniband.discover import IbFabric, Port
from netsim.infiniband.ftree import ftree_tables
from netsim.infiniband.wiring import Wiring, device_name, irregular
from netsim.topology.fattree import FatTree, build_fat_tree
from netsim.topology.outage import depopulate

_LEAST_PRESENT = 0.75  # of the cables between switches; with fewer, another shape may fit better


def wire_fat_tree(fabric: IbFabric, bandwidth: Quantity = "1 B/s") -> Wiring:
    """
    Recognise a whole PGFT with its ports in OpenSM's order; holes are missing nodes and leaves.

    Down-ports first and up-ports after them; up-port q of an element leads to parent ``q mod w`` on
    cable ``q div w``. Adapters are numbered by the rule that OpenSM follows.
    """
    tree = _Tree(fabric, device_levels(fabric), by_port=True, whole=True)
    return tree.whole_wiring(bandwidth)


def wire_damaged_tree(
    fabric: IbFabric, bandwidth: Quantity = "1 B/s", like: FatTree | None = None
) -> Wiring:
    """
    Recognise a PGFT in which something is missing, as it would be whole.

    `like`: the tree that it was, where it lost the same everywhere, as a root of two levels. A
    switch of level l is known by two connected parts: that of the levels up to l, its subtree, and
    that of the levels from l on, its class. Parts of different classes that share no subtree may be
    one class that lost what joined it. Subtrees and classes are numbered by the ports that lead to
    them, where all switches of a level are cabled alike; else in the order of ports and GUIDs.
    """
    level = device_levels(fabric)
    if like is not None:
        return _Tree(fabric, level, by_port=True, like=like).wiring(bandwidth)
    try:
        return _Tree(fabric, level, by_port=True).wiring(bandwidth)
    except TopologyError:
        return _Tree(fabric, level, by_port=False).wiring(bandwidth)


class _Tree:
    """Digits of every device, and the shape that they make."""

    def __init__(
        self,
        fabric: IbFabric,
        level: Sequence[int],
        *,
        by_port: bool,
        whole: bool = False,
        like: FatTree | None = None,
    ) -> None:
        self._fabric, self._level, self._by_port, self._like = fabric, level, by_port, like
        self._whole = whole
        self._top = max(level)
        if like is not None and self._top != like.levels:
            raise irregular(f"it has {self._top} levels of switches, {like.name} has {like.levels}")
        if self._top < 2:  # noqa: PLR2004 (leaves alone make no tree)
            raise irregular("there is no second level of switches")
        devices = range(len(fabric.devices))
        self._of_level = [[i for i in devices if level[i] == x] for x in range(self._top + 1)]
        self._up: list[list[tuple[int, int]]] = [[] for _ in devices]  # (port, neighbour)
        self._down: list[list[tuple[int, int]]] = [[] for _ in devices]
        self._near: list[set[int]] = [set() for _ in devices]
        for (i, port), (j, _) in sorted(fabric.cables.items()):
            if level[i] < 0:
                raise irregular(f"no node can be reached from {device_name(fabric, i)}")
            if abs(level[i] - level[j]) != 1:
                names = f"{device_name(fabric, i)} and {device_name(fabric, j)}"
                raise irregular(f"{names} are joined, at levels {level[i]} and {level[j]}")
            (self._up if level[j] > level[i] else self._down)[i].append((port, j))
            self._near[i].add(j)
        self._m, self._w, self._p = [0] * self._top, [1] * self._top, [1] * self._top
        self._uplink: dict[Port, int] = {}  # place of a port among the up-ports of its switch
        self._high = [-1] * len(level)  # number of the subtree, of all of its level
        self._low = [-1] * len(level)  # number of the class
        if whole:
            self._demand_whole()
        self._number_subtrees()
        self._number_classes()

    def _demand_whole(self) -> None:
        """Refuse leaves without nodes, nodes of several cables, and elements of unequal uplinks."""
        for step in range(self._top):
            shapes: dict[tuple[int, int], int] = {}
            for i in self._of_level[step]:
                parents = [parent for _, parent in self._up[i]]
                w, name = len(set(parents)), device_name(self._fabric, i)
                if step == 0 and len(parents) > 1:
                    raise irregular(f"{name} has {len(parents)} cables, expected 1")
                if not w or len(parents) % w or parents != parents[:w] * (len(parents) // w):
                    raise irregular(f"{name} has unequal bundles of cables to its parents")
                shapes.setdefault((w, len(parents) // w), i)
            if len(shapes) > 1:
                (a, first), (b, second) = list(shapes.items())[:2]
                raise irregular(
                    f"{device_name(self._fabric, first)} has {a[0]} parents with {a[1]} cables "
                    f"each, {device_name(self._fabric, second)} has {b[0]} with {b[1]}"
                )
        for leaf in self._of_level[1]:
            if not self._down[leaf]:
                raise irregular(f"{device_name(self._fabric, leaf)} has no nodes")

    def _number_subtrees(self) -> None:
        """Give every subtree a number, from the top down, by the ports that lead to it."""
        part = self._parts(range(self._top + 1))
        whole = set(part.values())
        if len(whole) > 1:
            a, b = sorted(whole)[:2]
            names = f"{device_name(self._fabric, a)} and {device_name(self._fabric, b)}"
            raise irregular(f"no path joins {names}")
        number = dict.fromkeys(whole, 0)
        for i in self._of_level[self._top]:
            self._high[i] = 0
        for step in range(self._top - 1, -1, -1):
            above, part = part, self._parts(range(step + 1))
            port = self._port_of_parts(step + 1, part)
            siblings: dict[int, list[int]] = {}
            for sub in port:
                siblings.setdefault(above[sub], []).append(sub)
            digit = self._digits(siblings, port, step)
            known = self._like.children[step] if self._like is not None else 0
            self._m[step] = max(known, *(x + 1 for x in digit.values()))
            number = {
                sub: number[parent] * self._m[step] + digit[sub]
                for parent, subs in siblings.items()
                for sub in subs
            }
            for i in self._of_level[step]:
                if part[i] not in number:
                    raise irregular(f"{device_name(self._fabric, i)} has no cable upwards")
                self._high[i] = number[part[i]]

    def _parts(self, levels: range) -> dict[int, int]:
        """Return the connected part of every device of some levels."""
        return connected(self._near, [i for level in levels for i in self._of_level[level]])

    def _port_of_parts(self, level: int, part: dict[int, int]) -> dict[int, int]:
        """Return the port by which most switches of a level lead to each part below."""
        votes: dict[int, Counter[int]] = {}
        for i in self._of_level[level]:
            first = {part[j]: port for port, j in reversed(self._down[i])}
            for sub, port in first.items():
                votes.setdefault(sub, Counter())[port] += 1
        return {sub: min(own, key=lambda port: (-own[port], port)) for sub, own in votes.items()}

    def _digits(
        self, siblings: dict[int, list[int]], port: dict[int, int], step: int
    ) -> dict[int, int]:
        """Return the digit of every subtree among its siblings."""
        if not self._by_port:
            return {
                sub: digit
                for subs in siblings.values()
                for digit, sub in enumerate(sorted(subs, key=lambda sub: (port[sub], sub)))
            }
        for subs in siblings.values():
            if len({port[sub] for sub in subs}) < len(subs):
                names = " and ".join(device_name(self._fabric, sub) for sub in subs[:2])
                raise irregular(f"the ports of the switches above {names} differ")
        place = {own: digit for digit, own in enumerate(sorted(set(port.values())))}
        if self._like is not None:
            place = {own: (own - 1) // self._like.parallel[step] for own in place}
        return {sub: place[own] for sub, own in port.items()}

    def _number_classes(self) -> None:
        """Give every class a number, from the bottom up: the digits of a switch below its level."""
        for i in [*self._of_level[0], *self._of_level[1]]:
            self._low[i] = 0
        for step in range(1, self._top):
            self._w[step], self._p[step], ports = self._uplinks(step)
            self._place_uplinks(step, ports)
            part = self._parts(range(step + 1, self._top + 1))
            digit = self._class_by_port(step, part) if self._by_port else self._colours(step, part)
            self._w[step] = max(self._w[step], *(x + 1 for x in digit.values()))
            size = prod(self._w[:step])
            for i in self._of_level[step + 1]:
                below = {self._low[j] for _, j in self._down[i]}
                if len(below) != 1 or part[i] not in digit:
                    raise irregular(f"{device_name(self._fabric, i)} is cabled unlike its siblings")
                self._low[i] = below.pop() + size * digit[part[i]]

    def _uplinks(self, step: int) -> tuple[int, int, list[int]]:
        """Return parents, cables to each, and the ports up of a whole switch of a level."""
        found = sorted({port for i in self._of_level[step] for port, _ in self._up[i]})
        if self._like is None:
            parents = [Counter(j for _, j in self._up[i]) for i in self._of_level[step]]
            cables = max(max(own.values(), default=0) for own in parents)
            return max(map(len, parents)), cables, found
        like = self._like
        first = like.children[step - 1] * like.parallel[step - 1] + 1
        ports = list(range(first, first + like.ports[step]))
        if not set(found) <= set(ports):
            raise irregular(f"switches of level {step} go up by other ports than {ports}")
        return like.parents[step], like.parallel[step], ports

    def _place_uplinks(self, step: int, ports: list[int]) -> None:
        """Give each up-port of a level its place, among its switch's own or among the level's."""
        if not self._by_port:
            return
        if not self._whole and len(ports) != self._w[step] * self._p[step]:
            raise irregular(f"switches of level {step} have their uplinks at different ports")
        place = {port: q for q, port in enumerate(ports)}
        for i in self._of_level[step]:
            for q, (port, _) in enumerate(self._up[i]):
                self._uplink[i, port] = q if self._whole else place[port]

    def _class_by_port(self, step: int, part: dict[int, int]) -> dict[int, int]:
        """Return the digit of every part of the levels above, as most ports have it."""
        votes: dict[int, Counter[int]] = {}
        for i in self._of_level[step]:
            for port, j in self._up[i]:
                votes.setdefault(part[j], Counter())[self._uplink[i, port] % self._w[step]] += 1
        return {sub: own.most_common(1)[0][0] for sub, own in votes.items()}

    def _colours(self, step: int, part: dict[int, int]) -> dict[int, int]:
        """Return digits of the parts, largest first: the first that no neighbouring part has."""
        where: dict[int, set[tuple[int, int]]] = {}  # (class below, subtree) of its switches
        for i in self._of_level[step + 1]:
            below = min((self._low[j] for _, j in self._down[i]), default=-1)
            where.setdefault(part[i], set()).add((below, self._high[i]))
        digit: dict[int, int] = {}
        taken: set[tuple[int, int, int]] = set()
        for sub in sorted(where, key=lambda sub: (-len(where[sub]), sub)):
            digit[sub] = next(
                x for x in count() if not any((*place, x) in taken for place in where[sub])
            )
            taken |= {(*place, digit[sub]) for place in where[sub]}
        return digit

    def whole_wiring(self, bandwidth: Quantity) -> Wiring:
        """Return a tree that lacks nodes and leaves at most."""
        tree = build_fat_tree(self._m, self._w, self._p, bandwidth)
        device = self._placed(tree)
        port = self._linked(tree)
        missing = [tree.vertex_name(int(v)) for v in np.flatnonzero(device < 0)]
        tree = depopulate(tree, missing)
        order = opensm_order(self._fabric, tree, device)
        if tree.order is not None or np.any(order != np.arange(tree.n_nodes)):
            tree = replace(tree, order=order)
        return Wiring(tree, self._fabric, device, port)

    def wiring(self, bandwidth: Quantity) -> Wiring:
        """Return the tree, with all that is missing taken out."""
        fabric, nodes = self._fabric, self._of_level[0]
        tree = build_fat_tree(self._m, self._w, self._p, bandwidth)
        device = self._placed(tree)
        port = self._linked(tree)
        if self._like is None:
            self._require_enough(tree, device, port)
        gone = np.flatnonzero(device[: tree.n_nodes + tree.n_leaves] < 0).tolist()
        tree = depopulate(tree, [tree.vertex_name(v) for v in gone])
        try:
            ca_order = ftree_tables(fabric, nodes, self._of_level[self._top]).order
        except RoutingError as error:
            raise irregular(str(error).rstrip(".")) from None
        vertex = {int(i): v for v, i in enumerate(device[: tree.n_nodes].tolist()) if i >= 0}
        order = np.full(tree.n_nodes, -1, dtype=np.int64)
        for d, i in enumerate(ca_order):
            if i >= 0:
                order[vertex[i]] = d
        tree = replace(tree, absent=np.flatnonzero(port < 0), order=order)
        return Wiring(tree, fabric, device, port, whole=False)

    def _placed(self, tree: FatTree) -> Ints:
        """Return the device at every vertex, -1 where there is none."""
        base = np.cumsum([0, *tree.counts])
        device = np.full(tree.n_nodes + tree.n_switches, -1, dtype=np.int64)
        for step, members in enumerate(self._of_level):
            for i in members:
                v = int(base[step]) + self._low[i] + prod(tree.parents[:step]) * self._high[i]
                if device[v] >= 0:
                    names = (device_name(self._fabric, x) for x in (i, int(device[v])))
                    raise irregular(f"{' and '.join(names)} have the same place")
                device[v] = i
        return device

    def _linked(self, tree: FatTree) -> Ints:
        """Return the port at the tail of every link, -1 where there is no cable."""
        port = np.full(tree.n_links, -1, dtype=np.int64)
        for step in range(self._top):
            size, w = prod(tree.parents[:step]), tree.parents[step]
            for i in self._of_level[step]:
                x = self._low[i] + size * self._high[i]
                for q, own, peer_port in self._up_ports(step, i, size, w):
                    if q >= tree.ports[step]:
                        raise irregular(f"{device_name(self._fabric, i)} has too many cables up")
                    offset = x * tree.ports[step] + q
                    port[tree.up_base[step] + offset] = own
                    port[tree.down_base[step] + offset] = peer_port
        return port

    def _up_ports(self, step: int, i: int, size: int, w: int) -> Iterator[tuple[int, int, int]]:
        """Iterate over the up-ports of a device: place in the tree, own port, port of the peer."""
        cables: Counter[int] = Counter()
        for own, j in self._up[i]:
            digit, low = divmod(self._low[j], size)
            q = digit + w * cables[j]
            if self._by_port and step:
                q = self._uplink[i, own]
            cables[j] += 1
            straight = low == self._low[i] and self._high[j] == self._high[i] // self._m[step]
            if not straight or q % w != digit:
                names = f"{device_name(self._fabric, i)} leads to {device_name(self._fabric, j)}"
                raise irregular(f"port {own} of {names}, unlike the ports of its siblings")
            yield q, own, self._fabric.cables[i, own][1]

    def _require_enough(self, tree: FatTree, device: Ints, port: Ints) -> None:
        """Refuse a tree of which more is missing than one would lose: it was another shape."""
        leaf_there = device[tree.n_nodes : tree.n_nodes + tree.n_leaves] >= 0
        wanted = there = 0
        for step in range(1, self._top):
            low, ports = prod(tree.parents[:step]), tree.ports[step]
            populated = leaf_there.reshape(-1, prod(tree.children[1:step])).any(axis=1)
            wanted += int(populated.sum()) * low * ports
            first = tree.up_base[step]
            there += int(np.count_nonzero(port[first : tree.down_base[step]] >= 0))
        if there < _LEAST_PRESENT * wanted:
            raise irregular(
                f"of {wanted} cables between switches of a {tree.summary}, {there} are there"
            )


def opensm_order(fabric: IbFabric, tree: FatTree, device: Ints) -> Ints:
    """
    Return each node's number d in OpenSM's ftree (n_nodes,), -1 for missing nodes.

    Counting starts at the leaf whose GUID is least when its bytes are read backwards (GUIDs are
    keys in network byte order); at every level the subtree of that leaf comes first and its
    siblings follow by port. On each leaf the present nodes count in port order, and every leaf
    takes as many numbers as the fullest. Found by comparison with the ca-order of OpenSM 3.3.23 on
    fabrics with random GUIDs.
    """
    there = device[: tree.n_nodes] >= 0
    on_leaf = there.reshape(-1, tree.nodes_per_leaf)
    guid = {
        x: fabric.devices[int(device[tree.n_nodes + x])].guid
        for x in np.flatnonzero(on_leaf.any(axis=1)).tolist()
    }
    start = min(guid, key=lambda x: guid[x].to_bytes(8, "little"))

    # subtrees from the top down; that of the first leaf comes before its siblings
    sizes = [prod(tree.children[1:level]) for level in range(tree.levels, 0, -1)]
    keys = {x: [-1 if x // n == start // n else x // n for n in sizes] for x in guid}
    order = np.full(tree.n_nodes, -1, dtype=np.int64)
    width = int(on_leaf.sum(axis=1).max())
    for rank, leaf in enumerate(sorted(guid, key=keys.__getitem__)):
        nodes = leaf * tree.nodes_per_leaf + np.flatnonzero(on_leaf[leaf])
        order[nodes] = rank * width + np.arange(nodes.size)
    return order


def missing_parts(wiring: Wiring) -> list[str]:
    """Say what a damaged tree lacks."""
    tree = wiring.topology
    if not isinstance(tree, FatTree):
        return []
    first_l2 = tree.n_nodes + tree.n_leaves
    there = wiring.device >= 0
    lost = np.flatnonzero(~there[first_l2:]) + first_l2
    up = np.concatenate(
        [np.arange(a, b) for a, b in zip(tree.up_base, tree.down_base, strict=True)]
    )
    ends = there[tree.link_tail[up]] & there[tree.link_head[up]]
    cut = up[ends & (wiring.port[up] < 0)]
    leaves = np.arange(tree.n_nodes, first_l2)
    nodes = there[: tree.n_nodes].reshape(-1, tree.nodes_per_leaf).any(axis=1)
    empty = leaves[there[leaves] & ~nodes]
    name = tree.vertex_name
    found = (
        ("switches", [name(int(v)) for v in lost]),
        ("cables", [tree.link_name(int(link)) for link in cut]),
        ("leaves without nodes", [name(int(v)) for v in empty]),
    )
    return [f"{len(names)} {what} ({names[0]} first)" for what, names in found if names]


def device_levels(fabric: IbFabric) -> list[int]:
    """
    Return the level of every device: 0 for adapters, 1 for leaves, ...; -1 where none is known.

    Switches are ranked in waves, from those with nodes upwards. A switch that comes next is either
    a parent of those it is joined to, or, having no nodes itself, a child of them: a child's
    parents lie in one subtree, or in different ones of the classes that the switches above hold
    together; a parent's children lie in different subtrees and one class.
    """
    near: list[set[int]] = [set() for _ in fabric.devices]
    for (i, _), (j, _) in fabric.cables.items():
        near[i].add(j)
    nodes = [i for i, device in enumerate(fabric.devices) if not device.is_switch and near[i]]
    level = [-1] * len(near)
    for i in nodes:
        level[i] = 0
    wave = {j for i in nodes for j in near[i] if fabric.devices[j].is_switch}
    if not wave:
        raise TopologyError("the fabric is no regular fat-tree: no switch has nodes.")
    for i in wave:
        level[i] = 1
    while True:
        wave = {j for i in wave for j in near[i] if level[j] < 0}
        if not wave:
            break
        parts = _Parts(near, level)
        found = {i: _level(parts, near, level, i) for i in wave}
        for i, own in found.items():
            level[i] = own
    return level


class _Parts:
    """Connected parts of the switches that are ranked so far, up to or from each level."""

    def __init__(self, near: list[set[int]], level: list[int]) -> None:
        self._near, self._level = near, level
        self._found: dict[tuple[int, bool], dict[int, int]] = {}

    def of(self, switch: int, *, up: bool) -> int:
        """Return the part of a switch among those of its level and the levels above or below."""
        own = self._level[switch]
        if (own, up) not in self._found:
            top = max(self._level)
            inside = range(own, top + 1) if up else range(1, own + 1)
            members = [i for i, x in enumerate(self._level) if x in inside]
            self._found[own, up] = connected(self._near, members)
        return self._found[own, up][switch]


def _level(parts: _Parts, near: list[set[int]], level: list[int], switch: int) -> int:
    """Return the level of a switch that is joined to ranked ones."""
    own = max(level[i] for i in near[switch])
    peers = [i for i in near[switch] if level[i] == own]
    if own == 1:  # leaves with nodes: their level is certain
        return own + 1
    if len(peers) == 1:  # a child where children have one parent; else a parent of one child
        children = [i for i in near[peers[0]] if level[i] == own - 1]
        alone = any(sum(level[j] == own for j in near[i]) == 1 for i in children)
        return own - 1 if alone else own + 1
    if len({parts.of(i, up=False) for i in peers}) == 1:
        return own - 1
    joined_above = own < max(level) and len({parts.of(i, up=True) for i in peers}) > 1
    return own - 1 if joined_above else own + 1


def connected(near: list[set[int]], members: Iterable[int]) -> dict[int, int]:
    """Part devices into connected groups."""
    group: dict[int, int] = {}
    inside = set(members)
    for start in sorted(inside):
        if start in group:
            continue
        group[start] = start
        stack = [start]
        while stack:
            for j in near[stack.pop()]:
                if j in inside and j not in group:
                    group[j] = start
                    stack.append(j)
    return group
