"""Routes by walking from switch to switch, in the names of links: slow, and obviously right."""

from itertools import pairwise, product


def digits(number, bases):
    """Return mixed-radix digits, the first fastest."""
    found = []
    for base in bases:
        found.append(number % base)
        number //= base
    return found


def position(values, bases):
    """Return the number of mixed-radix digits."""
    total, weight = 0, 1
    for value, base in zip(values, bases, strict=True):
        total += value * weight
        weight *= base
    return total


class Tree:
    """PGFT(h; m; w; p) as digit tuples; a level-l element has w-digits below l, m-digits above."""

    def __init__(self, m, w, p):
        self.m, self.w, self.p = m, w, p

    def name(self, level, values, kind="s"):
        bases = [*self.w[:level], *self.m[level:]]
        where = position(values, bases)
        return f"{kind}{level}.{where}" if level else f"n{where}"

    def cable(self, level, child, parent_digit, cable, *, up):
        """Name of the link between a level-l child and the parent with that digit l."""
        parent = [*child[:level], parent_digit, *child[level + 1 :]]
        ends = [self.name(level, child), self.name(level + 1, parent)]
        if not up:
            ends.reverse()
        suffix = f"#{cable}" if self.p[level] > 1 else ""
        return f"{ends[0]}>{ends[1]}{suffix}", parent

    def covers(self, level, switch, node):
        """Whether a node lies below a switch: their digits above agree."""
        return switch[level:] == node[level:]

    def walk(self, src, dst, port_of, down_cable_of):
        """Go up by `port_of(level)` until the destination is below, then down by its digits."""
        if src == dst:
            return []
        here, there = digits(src, self.m), digits(dst, self.m)
        level, names = 0, []
        while not self.covers(level, here, there) or level == 0:
            port = port_of(level)
            name, here = self.cable(
                level, here, port % self.w[level], port // self.w[level], up=True
            )
            names.append(name)
            level += 1
        while level > 0:
            level -= 1
            digit = here[level]
            here = [*here[:level], there[level], *here[level + 1 :]]
            names.append(self.cable(level, here, digit, down_cable_of(level), up=False)[0])
        return names

    def mod_k_port(self, number, level):
        """Up-port of a level-l element: floor(d / (w0 ... w(l-1))) mod (w(l) p(l))."""
        for base in self.w[:level]:
            number //= base
        return number % (self.w[level] * self.p[level])

    def d_mod_k(self, src, dst):
        """D-mod-k with mirrored cables."""
        return self.walk(
            src,
            dst,
            lambda level: self.mod_k_port(dst, level),
            lambda level: self.mod_k_port(dst, level) // self.w[level],
        )

    def s_mod_k(self, src, dst):
        """S-mod-k with mirrored cables."""
        return self.walk(
            src,
            dst,
            lambda level: self.mod_k_port(src, level),
            lambda level: self.mod_k_port(src, level) // self.w[level],
        )

    def minimal_paths(self, src, dst):
        """All minimal paths, as lists of link names."""
        ports = [range(w * p) for w, p in zip(self.w, self.p, strict=True)]
        cables = [range(p) for p in self.p]
        seen = {}
        for up in product(*ports):
            for down in product(*cables):
                path = self.walk(src, dst, up.__getitem__, down.__getitem__)
                seen[tuple(path)] = path
        return list(seen.values())


def torus_walk(dims, wrap, per_router, src, dst, *, tie=1):
    """Step by step along each axis; `tie` is the direction at half a ring's length."""
    if src == dst:
        return []
    here, there = digits(src // per_router, dims), digits(dst // per_router, dims)
    names = [f"n{src}>r{position(here, dims)}"]
    for axis, side in enumerate(dims):
        while here[axis] != there[axis]:
            ahead = (there[axis] - here[axis]) % side
            if not wrap[axis]:
                step = 1 if there[axis] > here[axis] else -1
            elif 2 * ahead == side:
                step = tie
            else:
                step = 1 if 2 * ahead < side else -1
            after = list(here)
            after[axis] = (here[axis] + step) % side
            owner = here if step > 0 else after
            suffix = f"#{owner[axis]}" if side == 2 and wrap[axis] else ""
            names.append(f"r{position(here, dims)}>r{position(after, dims)}{suffix}")
            here = after
    return [*names, f"r{position(here, dims)}>n{dst}"]


def simgrid_dragonfly_walk(columns, rows, per_router, src, dst):
    """SimGrid's static route with the chassis kept: (group, row, column) per router."""
    if src == dst:
        return []

    def place(router):
        column, row, group = digits(router, [columns, rows, 10**9])
        return group, row, column

    def number(spot):
        return position([spot[2], spot[1], spot[0]], [columns, rows, 10**9])

    here, there = place(src // per_router), place(dst // per_router)
    spots = [here]
    if here[0] != there[0]:
        spots += [(here[0], here[1], there[0]), (here[0], 0, there[0]), (there[0], 0, here[0])]
        spots += [(there[0], 0, there[2]), there]
    else:
        spots += [(here[0], here[1], there[2]), there]
    kept = [spot for i, spot in enumerate(spots) if i == 0 or spot != spots[i - 1]]
    routers = [f"r{number(spot)}" for spot in kept]
    vertices = [f"n{src}", *routers, f"n{dst}"]
    return [f"{a}>{b}" for a, b in pairwise(vertices)]
