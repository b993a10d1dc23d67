"""Closest Fit (MIND): the same windows as an evaluation of every one, on every kind of machine."""

import naive.ordered as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.topology.base import Topology
from netsim.topology.dragonfly import build_dragonfly
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.outage import exclude
from netsim.topology.torus import build_torus
from scheduler.allocators import make_allocator
from scheduler.allocators.ordering import allocation_of, node_order
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job

MACHINES = {
    "torus": build_torus((5, 3, 4), "1 B/s", nodes_per_router=2),
    "mesh": build_torus((7, 6), "1 B/s", wrap=(False, True)),
    "login nodes": exclude(build_torus((5, 4, 3), "1 B/s"), ["n3", "n4", "n59"]),
    "best case": build_dragonfly(3, (3, 4), "1 B/s", nodes_per_router=2, variant="best-case"),
    "worst case": build_dragonfly(3, (3, 4), "1 B/s", nodes_per_router=2, variant="worst-case"),
    "canonical": build_dragonfly(9, 4, "1 B/s", nodes_per_router=2),
    "tree": fat_tree_of_radix(6, "1 B/s"),
    "two rails": build_fat_tree((3, 3, 2), (2, 3, 3), (1, 1, 1), "1 B/s"),
}


def all_hops(fabric):
    """Return the table of hops between all nodes."""
    nodes = np.arange(fabric.n_nodes)
    size = nodes.size
    return fabric.hops(np.repeat(nodes, size), np.tile(nodes, size)).reshape(size, size).tolist()


HOPS = {name: all_hops(fabric) for name, fabric in MACHINES.items()}


@pytest.mark.parametrize("machine", MACHINES)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_it_takes_the_first_of_the_windows_with_least_mind(machine, data):
    fabric = MACHINES[machine]
    usable = fabric.usable_nodes.tolist()
    grid = machine not in {"tree", "two rails"}
    order = data.draw(st.sampled_from(["row-major", "snake", "hilbert"] if grid else ["row-major"]))
    cluster = Cluster(fabric)
    line = node_order(order, fabric).node.tolist()
    busy = data.draw(st.sets(st.sampled_from(usable), max_size=len(usable) - 1))
    if busy:
        other = Job(-1, 0.0, len(busy), 1.0, 1.0)
        cluster.place(allocation_of(other, sorted(busy), cluster.geometry))
    free = [node for node in line if node in usable and node not in busy]
    size = data.draw(st.integers(1, len(free)))
    hops = HOPS[machine]
    expected = naive.closest_fit_mind(free, size, lambda one, two: hops[one][two])

    allocator = make_allocator("closest-fit-mind", {"order": order}, 1)
    allocation = allocator.allocate(Job(1, 0.0, size, 1.0, 1.0), cluster)

    assert allocation.nodes().tolist() == expected


def test_nodes_that_nothing_connects_are_an_error():
    """Two islands: no window over both has a MIND."""
    islands = Topology(
        name="two islands",
        n_nodes=2,
        n_switches=2,
        link_tail=np.array([0, 1, 2, 3]),
        link_head=np.array([2, 3, 0, 1]),
        link_cable=np.zeros(4, dtype=np.int64),
        capacity=np.ones(4),
        channel=np.arange(4),
    )

    with pytest.raises(AllocationError, match="'closest-fit-mind' needs a connected fabric, got t"):
        make_allocator("closest-fit-mind", {}, 1).allocate(
            Job(1, 0.0, 1, 1.0, 1.0), Cluster(islands)
        )
