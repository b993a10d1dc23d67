"""Reference cases that SimGrid solved, in our terms; routes of its tori and dragonflies by rule."""

import gzip
import json

import numpy as np

from netsim.registries.routings import make_routing
from netsim.topology.fattree import build_fat_tree
from netsim.topology.routes import Routes

FAT_TREE_FLOWS = (
    "cab-3jobs", "cabw-3jobs", "ft1024-3jobs", "ft1024-stencil3d", "ft128-3jobs",
    "ft128-binomial5", "ft128-incast", "ft128-pairs", "ft128-rd-step0", "ft128-rd-step6",
    "ft128-ring-contig", "ft128-shift37", "ft128-stencil3d-contig", "half-3jobs", "tap2-suba2a",
    "tap3-3jobs", "xgft-a2a",
)  # fmt: skip
OTHER_FLOWS = (
    "dfly144-3jobs", "dfly144-perm", "dfly96-2jobs", "dfly96-half", "torus224-a2a",
    "torus444-half", "torus653-a2a", "torus844-2jobs",
)  # fmt: skip
FAT_TREE_JOBS = (
    "jobs-3-random", "jobs-4-ft1024", "jobs-5-half", "jobs-5-tapered", "jobs-6-tap2",
)  # fmt: skip
FCFS = ("fcfs-60-ft128", "fcfs-60-tap3")


def load_case(shared, name):
    """Read a case, or skip where the reference data is absent."""
    with gzip.open(shared(f"reference/simgrid/{name}.json.gz"), "rt", encoding="utf-8") as file:
        return json.load(file)


def fat_tree_of(case):
    """Build the fat-tree of a case; SimGrid chooses the cable down by the source."""
    shape = case["topology"]
    return build_fat_tree(
        shape["m"],
        shape["w"],
        shape["p"],
        shape["bw"],
        half_duplex=shape["sharing"] == "shared",
        down_cable="source",
    )


def fat_tree_link(tree, name):
    """Return our number of SimGrid's link ``u{level}.{position}.{port}`` or ``d...``."""
    level, position, port = map(int, name[1:].split("."))
    base = tree.up_base if name[0] == "u" else tree.down_base
    return base[level] + position * tree.ports[level] + port


def stored_network(case):
    """Return routes over the case's own links, and the links' capacities."""
    shape = case["topology"]
    cables = {"O": "groups", "K": "chassis", "G": "routers"}  # n parallel cables are one link
    factor = [shape[cables[n[0]]][1] if n[0] in cables else 1 for n in case["links"]]
    routes = Routes.from_lists(case["routes"], len(case["links"]))
    return routes, shape["bw"] * np.array(factor, dtype=float)


def torus_route(dims, src, dst):
    """
    Return the links of SimGrid's route on a torus: (owner, axis, direction).

    Axis 0 first, the shorter way round; at half way plus, except from half way to 0.
    """
    links, node, stride = [], src, 1
    for axis, side in enumerate(dims):
        here, there = node // stride % side, dst // stride % side
        ahead = (there - here) % side
        plus = ahead < side / 2 or (ahead == side / 2 and (here, there) != (side // 2, 0))
        for _ in range(ahead if plus else side - ahead):
            coordinate = node // stride % side
            after = node + stride * ((coordinate + (1 if plus else -1)) % side - coordinate)
            links.append((node if plus else after, axis, "u" if plus else "d"))
            node = after
        stride *= side
    return links


def dragonfly_route(shape, src, dst):
    """
    Return the links of SimGrid's minimal route on a dragonfly, with its slip.

    Within a group the route that leaves a chassis c > 0 for another blade goes on, after the
    green hop, as if it were in chassis 0.
    """
    n_chassis, n_blades, n_nodes = shape["chassis"][0], shape["routers"][0], shape["nodes"]

    def place(node):
        router = node // n_nodes
        return router // (n_chassis * n_blades), router // n_blades % n_chassis, router % n_blades

    (g, c, b), (g2, c2, b2) = place(src), place(dst)
    links = [("in", src)]

    def green(group, chassis, start, end):
        if start != end:
            links.append(("green", group, chassis, start, end))

    def black(group, blade, start, end):
        if start != end:
            links.append(("black", group, blade, start, end))

    if g != g2:
        green(g, c, b, g2)
        black(g, g2, c, 0)
        links.append(("blue", g, g2))
        green(g2, 0, g, b2)
        black(g2, b2, 0, c2)
    else:
        green(g, c, b, b2)
        black(g, b2, c if b == b2 else 0, c2)
    return [*links, ("out", dst)]


def routes_by_rule(shape, src, dst):
    """Return routes of given node pairs on SimGrid's torus or dragonfly, and link capacities."""
    if shape["type"] == "torus":
        rows = [torus_route(shape["dims"], a, b) for a, b in zip(src, dst, strict=True)]
    else:
        rows = [dragonfly_route(shape, a, b) for a, b in zip(src, dst, strict=True)]
    numbers = {
        link: i for i, link in enumerate(dict.fromkeys(link for row in rows for link in row))
    }
    routes = Routes.from_lists([[numbers[link] for link in row] for row in rows], len(numbers))
    width = {"green": "routers", "black": "chassis", "blue": "groups"}
    factor = [shape[width[link[0]]][1] if link[0] in width else 1 for link in numbers]
    return routes, shape["bw"] * np.array(factor, dtype=float)


def ordered_pairs(size):
    """Return all pairs of different hosts."""
    return [(a, b) for a in range(size) for b in range(size) if a != b]


def routes_alike(fabric, routing, pairs, theirs, trim=0):
    """
    Count pairs with as many links, each of which is the same one of theirs wherever it occurs.

    `theirs`: a function of a pair that returns its links by any names; `trim`: links of ours at
    both ends that they do not have.
    """
    src, dst = (np.array(ends) for ends in zip(*pairs, strict=True))
    routes = make_routing(routing, fabric).routes(src, dst)
    ours_of, theirs_of, alike = {}, {}, 0
    for flow, pair in enumerate(pairs):
        ours = routes.of_flow(flow).tolist()
        ours, links = ours[trim : len(ours) - trim], theirs(*pair)
        same = len(ours) == len(links)
        for mine, other in zip(ours, links, strict=False):
            same &= theirs_of.setdefault(mine, other) == other
            same &= ours_of.setdefault(other, mine) == mine
        alike += same
    return alike
