"""Minimal ways through a fabric whose switches choose, found step by step for one packet."""

from netsim.topology.dragonfly import Dragonfly
from netsim.topology.torus import Torus

FAR = 10**9


class Ways:
    """What leads on from a link towards a switch or, on a dragonfly, into a group."""

    def __init__(self, topology):
        self.topology = topology
        self.head, self.tail = topology.link_head.tolist(), topology.link_tail.tolist()
        gone = set() if topology.absent is None else set(topology.absent.tolist())
        self.out = {}
        for link, tail in enumerate(self.tail):
            if link not in gone:
                self.out.setdefault(tail, []).append(link)
        self.known = {}

    def options(self, link, target):
        """Return the links that lead on, ascending, and how many to go; `target`: kind, number."""
        inside = [after for after in self.out[self.head[link]] if self._leads_on(after, target)]
        here = self.togo(link, target)
        return [after for after in inside if self.togo(after, target) == here - 1], here

    def togo(self, link, target):
        """Return how many links are to go after a link."""
        key = link, target
        if key not in self.known:
            self.known[key] = self._count(link, target)
        return self.known[key]

    def _leads_on(self, link, target):
        """Say whether a link ends in a switch, and does not enter a group that is only passed."""
        if self.head[link] < self.topology.n_nodes:
            return False
        if isinstance(self.topology, Dragonfly):
            left, entered = self.group(self.tail[link]), self.group(self.head[link])
            wanted = target[1] if target[0] == "group" else self.group(target[1])
            return entered in (left, wanted)
        return True

    def group(self, vertex):
        """Return the group of a router."""
        return (vertex - self.topology.n_nodes) // self.topology.routers_per_group

    def _count(self, link, target):
        here = self.head[link]
        if isinstance(self.topology, Torus):
            return sum(abs(step) for step in self.steps(here, target[1]))
        if isinstance(self.topology, Dragonfly):
            return self._in_dragonfly(here, target)
        return self._in_tree(here, target[1], came_down=self.tail[link] > here)

    def _in_tree(self, here, switch, *, came_down):
        """Return the links up and then down to a switch; those that came down stay below."""
        if here == switch:
            return 0
        best = FAR
        for link in self.out[here]:
            down = self.head[link] < here
            if self.head[link] >= self.topology.n_nodes and (down or not came_down):
                best = min(best, 1 + self._known_in_tree(self.head[link], switch, came_down=down))
        return best

    def _known_in_tree(self, here, switch, *, came_down):
        key = here, switch, came_down
        if key not in self.known:
            self.known[key] = self._in_tree(here, switch, came_down=came_down)
        return self.known[key]

    def steps(self, here, switch):
        """Return on a torus the steps along each axis, the shorter way round; plus where equal."""
        found, fabric = [], self.topology
        here, there = here - fabric.n_nodes, switch - fabric.n_nodes
        for side, ring in zip(fabric.dims, fabric.wrap, strict=True):
            ahead = there % side - here % side
            if ring:
                ahead = min(
                    (ahead % side, ahead % side - side), key=lambda step: (abs(step), -step)
                )
            found.append(ahead)
            here, there = here // side, there // side
        return found

    def escape(self, link, switch):
        """Return on a torus the next link in dimension order and whether the ring closes ahead."""
        here, fabric, stride = self.head[link], self.topology, 1
        for axis, ahead in enumerate(self.steps(here, switch)):
            side = fabric.dims[axis]
            if ahead:
                place = (here - fabric.n_nodes) // stride % side
                sign = 1 if ahead > 0 else -1
                after = here + ((place + sign) % side - place) * stride
                name = f"axis{axis}{'+' if sign > 0 else '-'}"
                link = next(
                    one
                    for one in self.out[here]
                    if self.head[one] == after and fabric.link_class(one) == name
                )
                return link, not 0 <= place + ahead < side
            stride *= side
        raise AssertionError("already there")

    def _in_dragonfly(self, here, target):
        """Return the links between routers over one cable between groups at most."""
        kind, there = target
        if kind == "group":
            if self.group(here) == there:
                return 0
            exits = [link for link in self._cables(self.group(here)) if self._enters(link, there)]
            return min(self._local(here, self.tail[link]) for link in exits) + 1
        if self.group(here) == self.group(there):
            return self._local(here, there)
        exits = [
            link for link in self._cables(self.group(here)) if self._enters(link, self.group(there))
        ]
        return min(
            self._local(here, self.tail[link]) + 1 + self._local(self.head[link], there)
            for link in exits
        )

    def _cables(self, group):
        """Return the links that leave a group."""
        size = self.topology.routers_per_group
        first = self.topology.n_nodes + group * size
        return [
            link
            for router in range(first, first + size)
            for link in self.out[router]
            if self.head[link] >= self.topology.n_nodes and self.group(self.head[link]) != group
        ]

    def _enters(self, link, group):
        return self.group(self.head[link]) == group

    def _local(self, one, other):
        """Return the links inside a group: rows and columns are joined all to all."""
        one, other = one - self.topology.n_nodes, other - self.topology.n_nodes
        columns = self.topology.columns
        return int(one % columns != other % columns) + int(one // columns != other // columns)

    def rank(self, link):
        """Return 1, 2, 3 for green, black and blue links, else 0."""
        names = ("green", "black", "blue")
        kind = self.topology.link_class(link)
        return 1 + names.index(kind) if kind in names else 0
