"""Torus and mesh: wiring, machines, and dimension order against a walk."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.walks import torus_walk

from netsim.common.errors import TopologyError
from netsim.registries.topologies import make_topology
from netsim.routing.dimension import DimensionOrder
from netsim.topology.torus import build_torus


@st.composite
def tori_and_flows(draw):
    """Draw a grid of one to four axes with rings and lines, and some flows."""
    dims = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    wrap = draw(st.lists(st.booleans(), min_size=len(dims), max_size=len(dims)))
    per_router = draw(st.integers(1, 3))
    node = st.integers(0, int(np.prod(dims)) * per_router - 1)
    return dims, wrap, per_router, draw(st.lists(st.tuples(node, node), min_size=1, max_size=12))


@settings(deadline=None, max_examples=100)
@given(tori_and_flows())
def test_dimension_order_is_a_walk_along_one_axis_after_the_other(drawn):
    """Step by step in plain Python, a tie in plus direction: the same names of links."""
    dims, wrap, per_router, flows = drawn
    torus = build_torus(dims, 1e9, nodes_per_router=per_router, wrap=wrap)
    src, dst = np.array(flows).T

    routes = DimensionOrder(torus).routes(src, dst)

    for flow, (a, b) in enumerate(flows):
        names = [torus.link_name(link) for link in routes.of_flow(flow)]
        assert names == torus_walk(dims, wrap, per_router, a, b)


@settings(deadline=None, max_examples=40)
@given(tori_and_flows())
def test_a_router_has_two_cables_on_a_ring_and_one_at_the_end_of_a_line(drawn):
    dims, wrap, per_router, _ = drawn
    torus = build_torus(dims, 1e9, nodes_per_router=per_router, wrap=wrap)
    degree = np.bincount(torus.link_tail, minlength=torus.n_nodes + torus.n_switches)

    for router in range(torus.n_switches):
        expected = per_router
        for axis, place in enumerate(torus.coordinates(np.array([router]))[:, 0]):
            side = dims[axis]
            if wrap[axis]:
                expected += 2 if side > 1 else 0
            else:
                expected += int(place > 0) + int(place < side - 1)
        assert degree[torus.n_nodes + router] == expected


def test_hector_has_2816_usable_nodes_of_2880():
    hector = make_topology("hector")

    assert (hector.n_nodes, hector.n_switches, hector.usable_nodes.size) == (2880, 1440, 2816)
    assert hector.dims == (15, 6, 16)


def test_hopper_has_the_nodes_of_its_node_map():
    hopper = make_topology("hopper")

    assert (hopper.n_nodes, hopper.n_switches) == (6528, 3264)


def test_routers_and_nodes_can_be_excluded_by_name_or_number():
    spec = {"kind": "torus", "dims": [4, 2], "nodes_per_router": 2}
    torus = make_topology({**spec, "excluded": ["r7", "n[0,2-3]", 5]})

    assert torus.usable_nodes.tolist() == [1, 4, 6, 7, 8, 9, 10, 11, 12, 13]


def test_node_router_and_axis_cables_may_have_bandwidths_of_their_own():
    torus = make_topology(
        {"kind": "torus", "dims": [3, 3], "bandwidth": ["10 GB/s", "9 GB/s", "5 GB/s"]}
    )
    by_class = {torus.link_class(link): rate for link, rate in enumerate(torus.capacity)}

    assert by_class == {
        "injection": 10e9,
        "ejection": 10e9,
        "axis0+": 9e9,
        "axis0-": 9e9,
        "axis1+": 5e9,
        "axis1-": 5e9,
    }


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "dims: expected a list of whole numbers"),
        ({"dims": []}, "dims: expected"),
        ({"dims": [4, 0]}, "dims: expected"),
        (
            {"dims": [4], "wrap": [True, False]},
            "wrap: expected true or false, or a list of 1",
        ),
        ({"dims": [4], "wrap": "yes"}, "wrap: expected true or false"),
        (
            {"dims": [4, 4], "bandwidth": [1e9, 2e9, 3e9, 4e9]},
            r"bandwidth must be one value, two .* or 3",
        ),
        ({"dims": [4], "excluded": ["r4"]}, r"no node or switch 'r4' in the fabric \(4 torus"),
        ({"dims": [4], "excluded": [-1]}, "excluded: no node -1"),
        (
            {"dims": [4], "excluded": ["n[3-1]"]},
            "expected a number or range .*got '3-1'",
        ),
        ({"dims": [4], "excluded": ["n[1,-]"]}, "expected a number or range .*got '-'"),
        ({"dims": [4], "excluded": [1.5]}, "excluded: expected a list of names or numbers"),
        ({"dims": [4], "nodes_per_router": 0}, "nodes_per_router: expected"),
    ],
)
def test_a_torus_that_does_not_fit_is_refused_by_field(fields, message):
    with pytest.raises(TopologyError, match=message):
        make_topology({"kind": "torus", **fields})


def test_the_builder_checks_what_a_table_cannot_say():
    with pytest.raises(TopologyError, match="dims and nodes_per_router must be at least 1"):
        build_torus([], 1e9)
    with pytest.raises(TopologyError, match="wrap must have an entry for each of 2 axes"):
        build_torus([3, 3], 1e9, wrap=[True])
    with pytest.raises(TopologyError, match="bandwidth: expected"):
        build_torus([3, 3], [1e9, -1])
