"""Levels of a fabric's switches, leaves without nodes among them."""

from collections.abc import Iterable

from netsim.common.errors import TopologyError
from netsim.infiniband.discover import IbFabric


def device_levels(fabric: IbFabric) -> list[int]:
    """
    Return the level of every device.

    Result: 0 for channel adapters with a cable, 1 for leaves, ... up to the roots; -1 for what has
    no cable, or no way to a node.

    Switches are ranked in waves, from those with nodes upwards. A switch that comes next is
    either a parent of those it is joined to, or, having no nodes itself, a child of them: a
    child's parents lie in one subtree, or in different ones of the classes that the switches
    above hold together; a parent's children lie in different subtrees and one class.
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
        raise TopologyError("the fabric is no PGFT: no switch has nodes.")
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
