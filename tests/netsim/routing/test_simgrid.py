"""Routes on SimGrid's tori and dragonflies, in its own names of links."""

import re

import numpy as np
import pytest
from simgridcases import load_case

from netsim.routing.dimension import DimensionOrder
from netsim.routing.dragonfly import Minimal
from netsim.topology.dragonfly import build_dragonfly
from netsim.topology.torus import build_torus

SLIPS = {  # flows that SimGrid's documented slips lead astray, of all
    "torus224-a2a": (121, 240),  # 256 (1 - 3/4 * 3/4 * 15/16)
    "torus444-half": (13, 64),
    "torus653-a2a": (225, 8010),  # 15 * 15
    "torus844-2jobs": (9, 512),
    "dfly144-perm": (18, 144),
    "dfly144-3jobs": (43, 560),
    "dfly96-half": (12, 96),
    "dfly96-2jobs": (348, 624),
}


def torus_link(torus, name):
    """Return the number of SimGrid's ``u{owner}.{axis}`` or ``d...``; ``s`` is a shared cable."""
    owner, axis = map(int, name[1:].split("."))
    base = torus.minus_base if name[0] == "d" else torus.plus_base
    return base[axis] + int(torus.cable(axis, np.array(owner)))


def dragonfly_link(fabric, name):
    """Return the number of SimGrid's L, G (green), K (black) or O (blue) link."""
    rows, columns = fabric.rows, fabric.columns
    kind, *numbers, way = re.fullmatch(
        r"([LGKO])(\d+)(?:\D(\d+))?(?:\D(\d+))?(?:\D(\d+))?([uds])", name
    ).groups()
    numbers = [int(number) for number in numbers if number is not None]
    if kind == "L":
        node = numbers[0] * fabric.nodes_per_router + numbers[1]
        return node if way != "d" else fabric.n_nodes + node
    start, end = numbers[-2:] if way != "d" else numbers[:-3:-1]
    zero = np.array(0)
    if kind == "G":
        router = np.array((numbers[0] * rows + numbers[1]) * columns + start)
        return int(fabric.green(router, np.array(end), zero))
    if kind == "K":
        router = np.array((numbers[0] * rows + start) * columns + numbers[1])
        return int(fabric.black(router, np.array(end), zero))
    return int(fabric.blue(np.array(start), np.array(end), zero, zero))


@pytest.mark.parametrize("name", [name for name in SLIPS if name.startswith("torus")])
def test_torus_routes_are_simgrids_but_for_the_tie_from_half_way_to_0(name, shared):
    """At distance D/2 SimGrid goes in plus direction too, except from coordinate D/2 to 0."""
    case = load_case(shared, name)
    shape = case["topology"]
    torus = build_torus(shape["dims"], shape["bw"], half_duplex=shape["sharing"] == "shared")
    src, dst = np.array(case["src"]), np.array(case["dst"])
    number = torus.channel[[torus_link(torus, link) for link in case["links"]]]
    here, there = torus.coordinates(src), torus.coordinates(dst)
    side = np.array(shape["dims"])[:, None]
    slips = (2 * here == side) & (there == 0)

    routes = DimensionOrder(torus).routes(src, dst)

    assert (int(slips.any(axis=0).sum()), src.size) == SLIPS[name]
    bounds = [*torus.plus_base, torus.n_links]
    for flow in range(src.size):
        ours = torus.channel[routes.of_flow(flow)[1:-1]]  # SimGrid's nodes are its routers
        theirs = number[case["routes"][flow]]
        assert ours.size == theirs.size
        for axis, slipped in enumerate(slips[:, flow]):
            mine, its = (
                links[(links >= bounds[axis]) & (links < bounds[axis + 1])]
                for links in (ours, theirs)
            )
            if slipped:  # the other half of the ring
                cables = np.concatenate([mine, its]) - bounds[axis]
                assert np.unique(cables % torus.n_switches).size == side[axis, 0]
            else:
                assert mine.tolist() == its.tolist()


@pytest.mark.parametrize("name", [name for name in SLIPS if name.startswith("dfly")])
def test_dragonfly_routes_are_simgrids_where_it_keeps_the_chassis(name, shared):
    """Within a group, from chassis c > 0 to another blade, SimGrid goes on as in chassis 0."""
    case = load_case(shared, name)
    shape = case["topology"]
    fabric = build_dragonfly(
        shape["groups"][0],
        [shape["chassis"][0], shape["routers"][0]],
        shape["bw"],
        nodes_per_router=shape["nodes"],
        variant="simgrid",
        half_duplex=shape["sharing"] == "shared",
    )
    src, dst = np.array(case["src"]), np.array(case["dst"])
    number = fabric.channel[[dragonfly_link(fabric, link) for link in case["links"]]]
    here, there = src // shape["nodes"], dst // shape["nodes"]
    blades, size = fabric.columns, fabric.routers_per_group
    slips = (here // size == there // size) & (here // blades % fabric.rows > 0)
    slips &= here % blades != there % blades

    routes = Minimal(fabric).routes(src, dst)

    assert (int(slips.sum()), src.size) == SLIPS[name]
    for flow in np.flatnonzero(~slips):
        ours = fabric.channel[routes.of_flow(flow)].tolist()
        assert ours == number[case["routes"][flow]].tolist()
