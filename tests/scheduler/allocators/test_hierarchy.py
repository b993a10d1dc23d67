"""Slurm's best fit on trees that are not regular, by the hierarchy of their switches."""

import numpy as np
import pytest

from netsim import build_fat_tree, make_topology
from netsim.topology.base import Topology
from netsim.topology.outage import exclude, fail
from scheduler.allocators import make_allocator
from scheduler.allocators.leaves.hierarchy import hierarchy_of
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job

TREES = {
    "two levels": ((4, 6), (1, 3), (1, 1)),
    "three levels": ((3, 3, 4), (1, 2, 2), (1, 1, 1)),
    "parallel cables": ((4, 3, 2), (1, 2, 2), (1, 2, 1)),
    "four levels": ((2, 2, 2, 2), (1, 2, 2, 2), (1, 1, 1, 1)),
}


def as_graph(tree):
    """Return the same nodes, switches and links without the knowledge that it is a tree."""
    names = ("link_tail", "link_head", "link_cable", "capacity", "channel", "usable", "absent")
    links = {name: getattr(tree, name) for name in names}
    return Topology("graph", tree.n_nodes, tree.n_switches, **links)


def placed(size, fabric, free=None):
    """Return the nodes that a job gets on a machine of which only some nodes are free."""
    cluster = Cluster(fabric)
    if free is not None:
        busy = np.setdiff1d(cluster.free_nodes(), free)
        cluster = Cluster(exclude(fabric, busy.tolist()))
    found = make_allocator("slurm-best-fit", {}, 1).allocate(Job(1, 0.0, size, 1.0, 1.0), cluster)
    return None if found is None else found.nodes().tolist()


@pytest.mark.parametrize("name", TREES)
def test_a_regular_tree_is_served_as_by_its_arithmetic(name):
    """200 random states: the same nodes, whether the fabric is known as a tree or as a graph."""
    tree = build_fat_tree(*TREES[name], "1 GB/s")
    graph, chance = as_graph(tree), np.random.default_rng(4)
    for _ in range(200):
        free = np.flatnonzero(chance.random(tree.n_nodes) < chance.random())
        if free.size:
            size = int(chance.integers(1, free.size + 1))
            assert placed(size, graph, free) == placed(size, tree, free)


def cables(*ends, last=4):
    """Return a fabric of 9 nodes: n0-n3 on r0, n4-n5 on r1, n6-n7 on r2, n8 on r4, a spine."""
    at = [0, 0, 0, 0, 1, 1, 2, 2, last]
    pairs = [(node, 9 + switch) for node, switch in enumerate(at)]
    pairs += [(9 + a, 9 + b) for a, b in ends]
    tail = np.array([end for pair in pairs for end in pair])
    head = np.array([end for a, b in pairs for end in (b, a)])
    seen = {}
    cable = np.array(
        [
            seen.setdefault((a, b), []).append(1) or len(seen[a, b]) - 1
            for a, b in zip(tail.tolist(), head.tolist(), strict=True)
        ]
    )
    return Topology("site", 9, 5, tail, head, cable, np.ones(tail.size), np.arange(tail.size))


# leaves 0, 1, 2 below spines 3 and 4; leaf 2 has lost spine 4, leaf 0 has two cables to spine 3
IRREGULAR = cables((0, 3), (0, 3), (1, 3), (2, 3), (0, 4), (1, 4))


def test_leaves_of_different_size_and_a_host_on_a_spine_are_served_by_hand():
    """Leaves have 4, 2, 2 and 1 nodes; all share a switch of the second level."""
    assert hierarchy_of(IRREGULAR, "x").leaf.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 3]
    assert placed(1, IRREGULAR) == [8]  # the host on the spine: fewest free nodes that suffice
    assert placed(2, IRREGULAR) == [4, 5]
    assert placed(3, IRREGULAR) == [0, 1, 2]
    assert placed(5, IRREGULAR) == [4, 5, 6, 7, 8]  # smallest leaves first: 1 + 2 + 2
    assert placed(9, IRREGULAR) == list(range(9))
    assert placed(2, IRREGULAR, [0, 1, 2, 4, 6, 7]) == [6, 7]


def test_leaves_deeper_down_are_nearer_to_each_other():
    """Leaves 1 and 2 share spine 3, which leads to leaf 0 by way of spine 4 only."""
    deep = cables((1, 3), (2, 3), (3, 4), (0, 4), last=0)

    groups = [row.tolist() for row in hierarchy_of(deep, "x").groups]

    assert groups == [[0, 1, 1], [0, 0, 0]]
    assert placed(4, deep, [0, 1, 2, 4, 5, 6, 7]) == [4, 5, 6, 7]
    assert placed(5, deep, [0, 1, 2, 4, 5, 6, 7]) == [0, 4, 5, 6, 7]  # 2 + 2 + 1 of three


def test_parts_that_nothing_joins_hold_no_job_together():
    apart = fail(IRREGULAR, ["r2>r3"])

    assert placed(2, apart) == [4, 5]
    with pytest.raises(AllocationError, match=r"n_nodes must be in 1\.\.7"):
        placed(8, apart)  # the nodes of the lost leaf take no jobs
    two = cables((0, 3), (1, 4))
    with pytest.raises(AllocationError, match="job 1 of 7 nodes does not fit"):
        placed(7, two)


def test_nodes_are_given_once_and_come_back():
    """500 jobs come and go; what is placed was free, and in the end all is free again."""
    cluster, chance = Cluster(IRREGULAR), np.random.default_rng(2)
    allocator = make_allocator("slurm-best-fit", {}, 1)
    for number in range(500):
        size = int(chance.integers(1, 10))
        found = allocator.allocate(Job(number, 0.0, size, 1.0, 1.0), cluster)
        assert (found is None) == (size > cluster.n_free)
        if found is not None:
            assert set(found.nodes().tolist()) <= set(cluster.free_nodes().tolist())
            cluster.place(found)
        for job in [job for job in cluster.running if chance.random() < 0.3]:
            cluster.release(job)
    for job in list(cluster.running):
        cluster.release(job)
    assert cluster.n_free == 9


@pytest.mark.parametrize("fabric", ["torus", "dragonfly"])
def test_what_is_no_tree_is_refused(fabric):
    kinds = {"torus": {"dims": [3, 4]}, "dragonfly": {"groups": 3, "routers": 4}}
    machine = make_topology({"kind": fabric, **kinds[fabric]})

    with pytest.raises(AllocationError, match="'slurm-best-fit' needs a tree of switches"):
        placed(2, machine)


def test_a_real_irregular_fabric_is_filled(shared):
    """PSMN X5: 89 hosts on leaves of different size and on spines."""
    path = str(shared("data/topo/psmn-x5-ibnetdiscover.txt.gz"))
    fabric = make_topology({"kind": "file", "path": path})
    leaf = hierarchy_of(fabric, "x").leaf

    whole = placed(fabric.usable_nodes.size, fabric)
    two = placed(2, fabric)

    assert whole == fabric.usable_nodes.tolist()
    assert leaf[two[0]] == leaf[two[1]]
    assert np.count_nonzero(leaf == leaf[two[0]]) == min(
        count for count in np.bincount(leaf[leaf >= 0]).tolist() if count >= 2
    )
