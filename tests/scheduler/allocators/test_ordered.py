"""Ordered-list allocators against their pseudo-code, over every ordering."""

import naive.ordered as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.topology.dragonfly import build_dragonfly
from netsim.topology.fattree import fat_tree_of_radix
from netsim.topology.outage import exclude
from netsim.topology.torus import build_torus
from scheduler.allocators import make_allocator
from scheduler.allocators.ordering import ORDERINGS, allocation_of, hilbert_index, node_order
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.geometry import Geometry
from scheduler.job import Job

LINE = build_torus((150,), "1 B/s", wrap=(False,))
TORUS = build_torus((5, 3, 4), "1 B/s", nodes_per_router=2)
GRID_MACHINES = {
    "torus": TORUS,
    "login nodes": exclude(TORUS, ["n7", "n8", "n119"]),
    "dragonfly": build_dragonfly(5, (3, 4), "1 B/s", nodes_per_router=2),
}
MACHINES = GRID_MACHINES | {"tree": fat_tree_of_radix(6, "1 B/s")}


def job(n_nodes, number=1):
    return Job(number, 0.0, n_nodes, 1.0, 1.0)


def occupied(fabric, free):
    """Return a cluster whose free nodes are those."""
    cluster = Cluster(fabric)
    busy = sorted(set(fabric.usable_nodes.tolist()) - set(free))
    if busy:
        cluster.place(allocation_of(job(len(busy), -1), busy, cluster.geometry))
    return cluster


def chosen(name, cluster, size, **options):
    allocation = make_allocator(name, options, 1).allocate(job(size), cluster)
    return allocation.nodes().tolist()


@st.composite
def lists(draw):
    """Draw a list of free ordinals in pieces, and a size that fits."""
    busy = draw(st.sets(st.integers(0, 149), max_size=140))
    free = [node for node in range(150) if node not in busy]
    return free, draw(st.integers(1, len(free)))


@settings(deadline=None, max_examples=150)
@given(lists(), st.integers(1, 9), st.integers(0, 64))
def test_every_allocator_follows_its_pseudo_code(case, gap, large):
    free, size = case
    cluster = occupied(LINE, free)

    expected = {
        "fifo": ({"k": large}, naive.fifo(free, size, large)),
        "first-fit": ({"gap": gap}, naive.fit_allocate(free, size, gap)),
        "largest-fit": ({"gap": gap}, naive.largest_fit(free, size, gap)),
        "fifo-fit": ({"k": large, "gap": gap}, naive.fifo_fit(free, size, large, gap)),
        "varying-fit": ({}, naive.varying_fit(free, size)),
        "closest-fit": ({"gap": gap}, naive.closest_fit(free, size, gap)),
    }
    for name, (options, nodes) in expected.items():
        assert chosen(name, cluster, size, **options) == sorted(nodes), name
    mended = naive.largest_fit(free, size, gap, whole_runs=True)
    assert chosen("largest-fit", cluster, size, gap=gap, whole_runs=True) == sorted(mended)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("order", ORDERINGS)
def test_an_ordering_holds_every_node_once_or_says_that_it_has_no_meaning(order, machine):
    fabric = MACHINES[machine]
    if order != "row-major" and machine not in GRID_MACHINES:
        with pytest.raises(AllocationError, match=f"node order '{order}' needs a torus or drag"):
            node_order(order, fabric)
        return

    line = node_order(order, fabric)

    assert sorted(line.node.tolist()) == list(range(fabric.n_nodes))
    free = line.node[line.free_places(Cluster(fabric))]
    assert sorted(free.tolist()) == fabric.usable_nodes.tolist()


@pytest.mark.parametrize("machine", GRID_MACHINES)
def test_a_snake_moves_one_step_between_routers(machine):
    """One hop on a torus; on a dragonfly one coordinate changes, by one."""
    fabric = GRID_MACHINES[machine]
    routers = node_order("snake", fabric).node[::2] // 2
    dims = fabric.dims if machine != "dragonfly" else (4, 3, 5)

    coordinates = np.stack(np.unravel_index(routers, dims, order="F"))

    assert (np.abs(np.diff(coordinates)).sum(axis=0) == 1).all()


@pytest.mark.parametrize("shape", [(8,), (8, 8), (4, 4, 4), (2, 2, 2, 2, 2), (4, 4, 4, 4)])
def test_a_hilbert_curve_fills_a_cube_by_steps_to_neighbours(shape):
    points = np.indices(shape).reshape(len(shape), -1)

    index = hilbert_index(points)

    assert sorted(index.tolist()) == list(range(index.size))
    assert (np.abs(np.diff(points[:, np.argsort(index)])).sum(axis=0) == 1).all()


def test_a_hilbert_curve_stays_in_each_sub_cube_until_it_is_full():
    """What makes it local: 64 points in a row fill one of the eight 4 x 4 x 4 corners."""
    points = np.indices((8, 8, 8)).reshape(3, -1)

    corners = (points[:, np.argsort(hilbert_index(points))] // 4).reshape(3, 8, 64)

    assert (corners == corners[:, :, :1]).all()


def test_hilbert_and_snake_keep_the_groups_of_a_dragonfly_together():
    fabric = MACHINES["dragonfly"]

    for order in ("snake", "hilbert"):
        groups = node_order(order, fabric).node // 24
        assert (np.diff(groups) >= 0).all()


def test_ranks_and_gaps_follow_the_ordering():
    """On a 3 x 3 snake 0 1 2 5 4 3 6 7 8 nodes 2 and 5 are successive, and so are their ranks."""
    fabric = build_torus((3, 3), "1 B/s")
    cluster = occupied(fabric, [0, 2, 5, 7])

    assert chosen("closest-fit", cluster, 2, order="snake") == [2, 5]
    assert chosen("closest-fit", cluster, 2) == [0, 2]
    assert chosen("fifo", occupied(fabric, [3, 4, 5]), 3, k=0, order="snake") == [5, 4, 3]


def test_login_nodes_count_in_gaps():
    """Across an excluded node the gap is 2, as across a busy one."""
    fabric = exclude(build_torus((8,), "1 B/s"), ["n1"])
    cluster = occupied(fabric, [0, 2, 4, 6, 7])

    assert chosen("first-fit", cluster, 2, gap=1) == [6, 7]
    assert chosen("first-fit", cluster, 2, gap=2) == [0, 2]


def test_orders_of_an_allocation_are_stored_only_where_ranks_do_not_ascend():
    blocks = Geometry.of(LINE)

    assert allocation_of(job(2), [3, 70], blocks).order is None
    backwards = allocation_of(job(2), [70, 3], blocks)
    assert backwards.order == (70, 3)
    assert backwards.leaves == ((0, 1 << 3, 0), (1, 1 << 6, 0))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fifo", {"k": -1}, "k: expected a whole number from 0, got -1"),
        ("first-fit", {"gap": 0}, "gap: expected a whole number from 1, got 0"),
        ("closest-fit", {"gap": 1.5}, "gap: expected a whole number from 1, got 1.5"),
        ("largest-fit", {"whole_runs": 1}, "whole_runs: expected true or false, got 1"),
        ("fifo-fit", {"order": "zigzag"}, "order: expected one of row-major, snake, hilbert, got"),
        ("closest-fit-mind", {"gap": 1}, "unknown option 'gap'; choose from order"),
    ],
)
def test_a_wrong_option_is_an_error_that_says_what_is_allowed(name, options, message):
    with pytest.raises(AllocationError, match=message):
        make_allocator(name, options, 1)
