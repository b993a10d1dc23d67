"""Boxes on tori and meshes against the list of all boxes."""

from collections import Counter
from itertools import product

import naive.boxes as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.flows.distance import average_pairwise_hops
from netsim.registries.topologies import make_topology
from netsim.topology.fattree import fat_tree_of_radix
from netsim.topology.outage import exclude
from netsim.topology.torus import build_torus
from scheduler.allocators import make_allocator
from scheduler.allocators.ordering import allocation_of
from scheduler.allocators.torus import compact_boxes, mean_hops, torus_boxes
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job

TORI = {
    "torus": build_torus((4, 3, 4), "1 B/s"),
    "mesh": build_torus((5, 4), "1 B/s", wrap=(False, True)),
    "5D": build_torus((3, 2, 2, 2, 2), "1 B/s"),
}
CLASSES = [(3, True), (3, False), (2, True), (2, False), (1, True), (0, True)]


def job(n_nodes, number=1):
    return Job(number, 0.0, n_nodes, 1.0, 1.0)


def occupied(fabric, busy):
    cluster = Cluster(fabric)
    if busy:
        cluster.place(allocation_of(job(len(busy), -1), sorted(busy), cluster.geometry))
    return cluster


def routers_of(fabric, nodes):
    """Return the coordinates of the routers of some nodes."""
    return {tuple(c) for c in fabric.coordinates(nodes // fabric.nodes_per_router).T.tolist()}


def kind(shape):
    """Return a shape's number of sides longer than 1, and whether these are equal."""
    longer = {side for side in shape if side > 1}
    return sum(side > 1 for side in shape), len(longer) <= 1


@st.composite
def states(draw):
    """Draw a torus, its busy nodes and a size that exactly fills some box."""
    name = draw(st.sampled_from(sorted(TORI)))
    fabric = TORI[name]
    few = st.sets(st.integers(0, fabric.n_nodes - 1), max_size=fabric.n_nodes // 3)
    sides = [draw(st.integers(1, min(3, side))) for side in fabric.dims]
    return fabric, draw(few), int(np.prod(sides))


@settings(deadline=None, max_examples=120)
@given(states())
def test_a_chunk_is_a_free_box_of_the_best_class_that_is_free_at_all(state):
    fabric, busy, size = state
    cluster = occupied(fabric, busy)
    free = routers_of(fabric, np.setdiff1d(np.arange(fabric.n_nodes), sorted(busy)))
    expected = naive.free_boxes(free, fabric.dims, fabric.wrap, size)

    allocation = make_allocator("torus-chunk", {}, 1).allocate(job(size), cluster)

    if not expected:
        assert allocation is None
        return
    taken = frozenset(routers_of(fabric, allocation.nodes()))
    shapes = {shape for shape, found in expected.items() if taken in found}
    best = max(kind(shape) for shape in expected)
    assert best in {kind(shape) for shape in shapes}


@settings(deadline=None, max_examples=80)
@given(states(), st.sampled_from(CLASSES))
def test_a_class_asked_for_is_the_class_one_gets(state, wanted):
    """Or nothing: None where such boxes are taken, an error where the torus has none."""
    fabric, busy, size = state
    dimensions, balanced = wanted
    cluster = occupied(fabric, busy)
    options = {"dimensions": dimensions, "balance": "balanced" if balanced else "unbalanced"}
    if not dimensions:
        options = {}
    allocator = make_allocator("torus-chunk", options, 1)
    free = routers_of(fabric, np.setdiff1d(np.arange(fabric.n_nodes), sorted(busy)))
    every = range(size, fabric.n_nodes + 1)
    fitting = (
        volume
        for volume in every
        if not dimensions or any(kind(s) == wanted for s in naive.shapes(volume, fabric.dims))
    )
    volume = next(fitting, None)
    if volume is None:
        with pytest.raises(AllocationError, match=f"no .*box of {dimensions} dimensions holds"):
            allocator.allocate(job(size), cluster)
        return
    found = naive.free_boxes(free, fabric.dims, fabric.wrap, volume)
    allowed = [
        box for shape in found if not dimensions or kind(shape) == wanted for box in found[shape]
    ]

    allocation = allocator.allocate(job(size), cluster)

    assert (allocation is None) == (not allowed)
    if allocation is not None:
        taken = routers_of(fabric, allocation.nodes())
        assert len(taken) == size
        assert any(taken <= box for box in allowed)


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_compact_nodes_are_contiguous_and_lie_in_a_free_box(data):
    fabric = TORI[data.draw(st.sampled_from(sorted(TORI)))]
    n_nodes = fabric.n_nodes
    busy = data.draw(st.sets(st.integers(0, n_nodes - 1), max_size=n_nodes // 3))
    size = data.draw(st.integers(1, n_nodes // 2))
    free = routers_of(fabric, np.setdiff1d(np.arange(n_nodes), sorted(busy)))
    every = [
        box
        for volume in range(size, n_nodes + 1)
        for found in naive.free_boxes(free, fabric.dims, fabric.wrap, volume).values()
        for box in found
    ]

    allocation = make_allocator("compact-contiguous", {}, 1).allocate(
        job(size), occupied(fabric, busy)
    )

    assert (allocation is None) == (not every)
    if allocation is not None:
        taken = routers_of(fabric, allocation.nodes())
        assert len(taken) == size
        assert naive.is_connected(taken, fabric.dims, fabric.wrap)
        assert any(taken <= box for box in every)


def test_boxes_are_all_ordered_factorisations_that_fit():
    for volume in range(1, 49):
        found = list(torus_boxes(volume, (4, 3, 4)))

        assert len(found) == len(set(found))
        assert {tuple(sorted(box, reverse=True)) for box in found} == naive.shapes(
            volume, (4, 3, 4)
        )


def test_compact_boxes_of_13_routers_by_hand():
    """
    A line of s routers has a mean of (s - 1 / s) / 3 hops.

    So 4 x 2 x 2 has 1.25 + 0.5 + 0.5 = 2.25, and 3 x 3 x 2 has 0.89 + 0.89 + 0.5 = 2.28.
    """
    found = compact_boxes(build_torus((16, 16, 16), "1 B/s", wrap=(False,) * 3), 13)

    shapes = list(dict.fromkeys(tuple(sorted(box, reverse=True)) for box in found))
    assert set(shapes) == {(13, 1, 1), (7, 2, 1), (5, 3, 1), (4, 4, 1), (4, 2, 2), (3, 3, 2)}
    assert shapes[:2] == [(4, 2, 2), (3, 3, 2)]
    assert shapes[-1] == (13, 1, 1)


@pytest.mark.parametrize("routers", range(1, 49))
def test_compact_boxes_are_all_that_hold_the_job_and_lose_it_with_any_side_shortened(routers):
    dims = (4, 3, 4)

    def holds(box):
        return np.prod(box) >= routers

    expected = {
        box
        for box in product(*(range(1, side + 1) for side in dims))
        if holds(box)
        and not any(holds(np.subtract(box, np.eye(3, dtype=int)[axis])) for axis in range(3))
    }

    assert set(compact_boxes(TORI["torus"], routers)) == expected


def test_ranks_run_along_the_short_side_so_that_the_first_nodes_are_compact():
    """Rows of 4 x 2: 8 ranks zigzag over the pairs, and 7 nodes leave the last corner free."""
    cluster = Cluster(build_torus((4, 2), "1 B/s"))
    allocator = make_allocator("torus-chunk", {"dimensions": 2}, 1)

    assert allocator.allocate(job(8), cluster).nodes().tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert allocator.allocate(job(7), cluster).nodes().tolist() == [0, 4, 1, 5, 2, 6, 3]


@pytest.mark.parametrize("box", [(4, 2, 1), (3, 3, 3), (4, 3, 4), (1, 1, 1)])
def test_mean_hops_of_a_box_is_that_of_its_routers(box):
    """Over ordered pairs with repetition, so n - 1 of n of the mean over different routers."""
    torus = TORI["torus"]
    grid = np.indices(box).reshape(3, -1)
    nodes = np.array(torus.strides) @ grid
    n = nodes.size

    assert mean_hops(torus, box) == pytest.approx(average_pairwise_hops(torus, nodes) * (n - 1) / n)


def test_a_box_goes_round_the_ring_but_not_off_a_line():
    busy = [1, 2]

    ring = make_allocator("torus-chunk", {}, 1).allocate(
        job(2), occupied(build_torus((4,), "1 B/s"), busy)
    )
    line = make_allocator("torus-chunk", {}, 1).allocate(
        job(2), occupied(build_torus((4,), "1 B/s", wrap=(False,)), busy)
    )

    assert ring.nodes().tolist() == [3, 0]
    assert line is None


def test_small_jobs_share_a_router_and_others_take_whole_ones():
    """
    Two nodes a router: two 1-node jobs fill router 0, 3 nodes take routers 1 and 5 (1 x 2).

    The next single node is the lowest free one, so 2 nodes find router 3 whole, not router 2.
    """
    cluster = Cluster(build_torus((4, 2), "1 B/s", nodes_per_router=2))
    allocator = make_allocator("torus-chunk", {}, 1)
    nodes = []
    for number, size in enumerate([1, 1, 3, 1, 2]):
        allocation = allocator.allocate(job(size, number), cluster)
        cluster.place(allocation)
        nodes.append(allocation.nodes().tolist())

    assert nodes == [[0], [1], [2, 3, 10], [4], [6, 7]]


def test_login_nodes_are_in_no_box():
    """HECToR: the last 64 nodes are off; 15 x 6 x 15 routers are whole, 15 x 6 x 16 never are."""
    hector = Cluster(make_topology("hector"))
    allocator = make_allocator("compact-contiguous", {}, 1)

    assert allocator.allocate(job(2700), hector).nodes().size == 2700
    with pytest.raises(AllocationError, match="does not fit under allocator 'compact-contiguous'"):
        allocator.allocate(job(2816), hector)


def test_non_contiguous_takes_the_first_free_nodes_wherever_they_are():
    cluster = occupied(TORI["torus"], [0, 2, 3, 4])

    assert make_allocator("non-contiguous", {}, 1).allocate(job(3), cluster).nodes().tolist() == [
        1,
        5,
        6,
    ]
    excluded = Cluster(exclude(TORI["torus"], ["n0"]))
    assert make_allocator("non-contiguous", {}, 1).allocate(job(2), excluded).nodes().tolist() == [
        1,
        2,
    ]


@pytest.mark.parametrize("name", ["torus-chunk", "compact-contiguous"])
def test_other_machines_are_refused_by_name(name):
    with pytest.raises(AllocationError, match=f"allocator '{name}' needs a torus, got "):
        make_allocator(name, {}, 1).allocate(job(1), Cluster(fat_tree_of_radix(4, "1 B/s")))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dimensions": -1}, "dimensions: expected a whole number from 0, got -1"),
        ({"balance": "cubic"}, "balance: expected one of any, balanced, unbalanced, got 'cubic'"),
        ({"shape": "3D"}, "unknown option 'shape'; choose from balance, dimensions"),
    ],
)
def test_a_wrong_option_is_an_error_that_says_what_is_allowed(options, message):
    with pytest.raises(AllocationError, match=message):
        make_allocator("torus-chunk", options, 1)


def test_every_class_of_chunk_is_used_on_an_empty_32_cube():
    """64 nodes: one box of each class of the paper's Table 1 that has one."""
    cluster = Cluster(build_torus((32, 32, 32), "1 B/s"))
    spans = {}
    for dimensions, balance in [(3, "balanced"), (3, "unbalanced"), (2, "balanced"), (1, "any")]:
        allocator = make_allocator("torus-chunk", {"dimensions": dimensions, "balance": balance}, 1)
        nodes = allocator.allocate(job(32 if dimensions == 1 else 64), cluster).nodes()
        coordinates = cluster.fabric.coordinates(nodes)
        sides = sorted((np.unique(axis).size for axis in coordinates), reverse=True)
        spans[dimensions, balance] = tuple(sides)
        assert Counter(map(tuple, coordinates.T.tolist())).total() == np.prod(sides)

    assert spans == {
        (3, "balanced"): (4, 4, 4),
        (3, "unbalanced"): (8, 4, 2),
        (2, "balanced"): (8, 8, 1),
        (1, "any"): (32, 1, 1),
    }
