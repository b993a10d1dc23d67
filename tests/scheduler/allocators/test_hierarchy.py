"""Allocators of trees on trees that are not regular, by the hierarchy of their switches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.lowest import best_fit, leaves_of, neighbours, sets_by_level

from netsim import build_fat_tree, make_topology
from netsim.topology.base import Topology
from netsim.topology.outage import exclude, fail
from netsim.topology.structure.hierarchy import hierarchy_of
from patterns.collectives import RecursiveDoubling
from scheduler.allocators import make_allocator
from scheduler.allocators.leaves import placement_cost
from scheduler.allocators.ordering import allocation_of
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Communication, Job
from scheduler.machine import Machine
from scheduler.switches import leaf_switches

TALKS = Communication("RD", RecursiveDoubling(), 0.5)
LEAFWISE = ("slurm-best-fit", "greedy", "balanced", "adaptive")

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


@pytest.mark.parametrize("allocator", [*LEAFWISE, "contiguous", "first-free", "random"])
@pytest.mark.parametrize("name", TREES)
def test_jobs_that_come_and_go_get_the_nodes_that_a_regular_tree_gives(name, allocator):
    """150 jobs, two thirds of which communicate: the same ranks on the same nodes."""
    tree = build_fat_tree(*TREES[name], "1 GB/s")
    both = [Cluster(tree), Cluster(as_graph(tree))]
    chance = np.random.default_rng(7)
    allocators = [make_allocator(allocator, {}, 1) for _ in both]
    for number in range(150):
        talks = TALKS if number % 3 else None
        job = Job(number, 0.0, int(chance.integers(1, 9)), 1.0, 1.0, communication=talks)
        found = [part.allocate(job, on) for part, on in zip(allocators, both, strict=True)]
        nodes = [None if x is None else x.nodes().tolist() for x in found]
        assert nodes[0] == nodes[1]
        ends = [job for job in both[0].running if chance.random() < 0.2]
        for cluster, placement in zip(both, found, strict=True):
            if placement is not None:
                cluster.place(placement)
                assert leaf_switches(placement, cluster) == leaf_switches(found[0], both[0])
            for ended in ends:
                cluster.release(ended)
    assert both[0].leaf_comm == both[1].leaf_comm


@st.composite
def trees(draw):
    """Return a tree of two or three levels as pairs: uneven leaves, branches, cables; some lost."""
    n_leaves, n_l2, n_tops = (draw(st.integers(low, 4)) for low in (2, 1, 0))
    sizes = [draw(st.integers(1, 4)) for _ in range(n_leaves)]
    n_nodes = sum(sizes)
    leaf = np.repeat(np.arange(n_leaves), sizes).tolist()
    pairs = [(node, n_nodes + at) for node, at in enumerate(leaf)]
    l2 = [n_nodes + n_leaves + i for i in range(n_l2)]
    tops = [l2[-1] + 1 + i for i in range(n_tops)]
    for lower, upper in (([n_nodes + i for i in range(n_leaves)], l2), (l2, tops)):
        for a in lower:
            for b in upper:
                pairs += [(a, b)] * draw(st.integers(0, 2))
    if draw(st.booleans()):  # a host on a switch above
        pairs = [(a + (a >= n_nodes), b + (b >= n_nodes)) for a, b in pairs]
        pairs.append((n_nodes, draw(st.sampled_from(l2 + tops)) + 1))
        n_nodes += 1
    return n_nodes, pairs


def graph_of(n_nodes, pairs):
    """Return the fabric of pairs."""
    tail = np.array([end for pair in pairs for end in pair])
    head = np.array([end for a, b in pairs for end in (b, a)])
    seen = {}
    cable = [seen.update({(a, b): seen.get((a, b), -1) + 1}) or seen[a, b] for a, b in pairs]
    switches = int(max(tail)) + 1 - n_nodes
    links = np.repeat(np.array(cable), 2)
    ones = np.ones(tail.size)
    return Topology("any", n_nodes, switches, tail, head, links, ones, np.arange(tail.size))


@settings(max_examples=150, deadline=None)
@given(trees(), st.data())
def test_the_lowest_switch_is_that_of_a_search_in_breadth(drawn, data):
    """The twin knows sets only; a job that no switch holds waits, or is refused for ever."""
    n_nodes, pairs = drawn
    fabric = graph_of(n_nodes, pairs)
    if hierarchy_of(fabric) is None:
        return
    free = sorted(data.draw(st.sets(st.integers(0, n_nodes - 1), min_size=1)))
    size = data.draw(st.integers(1, len(free)))
    expected = best_fit(n_nodes, pairs, set(free), size)
    if expected is None:
        with pytest.raises(AllocationError, match="does not fit under allocator"):
            placed(size, fabric, free)
    else:
        assert placed(size, fabric, free) == expected


@settings(max_examples=100, deadline=None)
@given(trees(), st.data(), st.sampled_from([*LEAFWISE, "emergent-adaptive"]), st.booleans())
def test_a_job_lies_below_one_of_the_lowest_switches_that_hold_it(drawn, data, name, talks):
    """As many free nodes as asked for, once each; no lower switch has enough."""
    n_nodes, pairs = drawn
    fabric = graph_of(n_nodes, pairs)
    if hierarchy_of(fabric) is None:
        return
    free = sorted(data.draw(st.sets(st.integers(0, n_nodes - 1), min_size=1)))
    size = data.draw(st.integers(1, len(free)))
    leaves, joined = leaves_of(n_nodes, pairs), neighbours(n_nodes, pairs)
    holders = [
        [
            nodes
            for below in level
            if len(nodes := set(free) & {n for x in below for n in leaves[x]}) >= size
        ]
        for level in sets_by_level(leaves, joined)
    ]
    lowest = next((level for level in holders if level), None)
    cluster = Cluster(exclude(fabric, sorted(set(range(n_nodes)) - set(free))))
    job = Job(1, 0.0, size, 1.0, 1.0, communication=TALKS if talks else None)
    if lowest is None:
        with pytest.raises(AllocationError, match="does not fit under allocator"):
            make_allocator(name, {}, 1).allocate(job, cluster)
        return
    nodes = make_allocator(name, {}, 1).allocate(job, cluster).nodes().tolist()
    assert len(nodes) == len(set(nodes)) == size
    if name != "emergent-adaptive":  # asks first-free too
        assert any(set(nodes) <= below for below in lowest)
    assert set(nodes) <= set(free)


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
    """Leaves have 4, 2, 2 and 1 nodes; below spine 3 are 0, 1, 2; below spine 4 are 0, 1, 3."""
    assert hierarchy_of(IRREGULAR).leaf.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 3]
    assert placed(1, IRREGULAR) == [8]  # the host on the spine: fewest free nodes that suffice
    assert placed(2, IRREGULAR) == [4, 5]
    assert placed(3, IRREGULAR) == [0, 1, 2]
    assert placed(5, IRREGULAR) == [0, 1, 4, 5, 8]  # spine 4 has 7 free, spine 3 has 8: 1 + 2 + 2
    assert placed(8, IRREGULAR) == list(range(8))
    assert placed(4, IRREGULAR, [4, 5, 6, 7, 8]) == [4, 5, 6, 7]  # leaf 2 and the host share none
    assert placed(9, IRREGULAR) == list(range(9))
    assert placed(2, IRREGULAR, [0, 1, 2, 4, 6, 7]) == [6, 7]


def test_leaves_deeper_down_are_nearer_to_each_other():
    """Leaves 1 and 2 share spine 3, which leads to leaf 0 by way of spine 4 only."""
    deep = cables((1, 3), (2, 3), (3, 4), (0, 4), last=0)

    below = [np.argwhere(sets).tolist() for sets in hierarchy_of(deep).below]

    assert below == [[[0, 1], [0, 2], [1, 0]], [[0, 0], [0, 1], [0, 2]]]  # (switch, leaf)
    assert hierarchy_of(deep).level.tolist() == [[1, 3, 3], [3, 1, 2], [3, 2, 1]]
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


def test_counting_free_nodes_is_not_enough_where_parts_are_not_joined():
    """Queues ask the allocator there: 6 and 2 nodes are free, and none has place for 7."""
    parts = cables((0, 3), (1, 3), (2, 4), last=4)
    machines = [
        Machine(Cluster(fabric), make_allocator("greedy", {}, 1), lambda job: job.runtime_s)
        for fabric in (IRREGULAR, parts)
    ]

    assert [machine.fits_by_count for machine in machines] == [True, False]
    machines[1].start(machines[1].try_to_place(Job(1, 0.0, 1, 1.0, 1.0)))
    assert machines[1].try_to_place(Job(2, 0.0, 7, 1.0, 1.0)) is None


def test_emergent_adaptive_keeps_to_nodes_that_reach_each_other():
    """Free are n3 of one part and n6, n7 of another: the lowest two have no path."""
    parts = exclude(cables((0, 3), (1, 3), (2, 4), last=4), [0, 1, 2, 4, 5, 8])
    job = Job(1, 0.0, 2, 1.0, 1.0, communication=TALKS)

    found = make_allocator("emergent-adaptive", {}, 1).allocate(job, Cluster(parts))

    assert found.nodes().tolist() == [6, 7]


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


def test_contiguous_nodes_follow_one_another_leaf_by_leaf():
    """Nodes 0, 2, 4 hang on one switch and 1, 3 on another: the line is 0 2 4 1 3."""
    pairs = [(node, 5 + node % 2) for node in range(5)] + [(5, 7), (6, 7)]
    fabric = graph_of(5, pairs)

    def placed_on(free, size):
        cluster = Cluster(exclude(fabric, sorted(set(range(5)) - set(free))))
        found = make_allocator("contiguous", {}, 1).allocate(Job(1, 0.0, size, 1.0, 1.0), cluster)
        return found.nodes().tolist()

    assert placed_on([0, 1, 2, 3, 4], 3) == [0, 2, 4]
    assert placed_on([1, 3, 4], 2) == [1, 4]  # the smaller leaf leaves no gap
    with pytest.raises(AllocationError, match="does not fit under allocator 'contiguous'"):
        placed_on([0, 1, 4], 3)


def test_costs_of_communication_count_the_level_of_the_switch_that_two_leaves_share():
    """
    Ranks 0, 1 on leaf 1 of 2 nodes and 2, 3 on leaf 0 of 5, below a switch of level 3.

    Equation (6) by hand: step 1 pairs ranks (0, 1) and (2, 3), step 2 (0, 2) and (1, 3). All of
    leaf 1 and 2 of 5 on leaf 0 communicate. (2): C is 1 on leaf 1 and 0.4 on leaf 0, so step 1 has
    2 (1 + 1) = 4 hops; (3): C is 1 + 0.4 + 0.5 x 4/7 between them, so step 2 has 6 (1 + C).
    """
    deep = cables((1, 3), (2, 3), (3, 4), (0, 4), last=0)
    cluster = Cluster(deep)
    job = Job(1, 0.0, 4, 1.0, 1.0, communication=TALKS)
    placement = allocation_of(job, [4, 5, 0, 1], cluster.geometry)

    cost = placement_cost(RecursiveDoubling(), placement, cluster)

    assert cost == pytest.approx(4 + 6 * (1 + 1 + 0.4 + 0.5 * 4 / 7))


@pytest.mark.parametrize("allocator", LEAFWISE)
@pytest.mark.parametrize("fabric", ["torus", "dragonfly"])
def test_what_is_no_tree_is_refused(fabric, allocator):
    kinds = {"torus": {"dims": [3, 4]}, "dragonfly": {"groups": 3, "routers": 4}}
    machine = make_topology({"kind": fabric, **kinds[fabric]})

    with pytest.raises(AllocationError, match=f"'{allocator}' needs a tree of switches"):
        make_allocator(allocator, {}, 1).allocate(Job(1, 0.0, 2, 1.0, 1.0), Cluster(machine))


@pytest.mark.parametrize("allocator", [*LEAFWISE, "contiguous", "emergent-adaptive"])
def test_a_real_irregular_fabric_is_filled(shared, allocator):
    """PSMN X5: leaves of 24, 24, 21, 9, 6 and 5 hosts; a job takes all, one of 2 one leaf."""
    path = str(shared("data/topo/psmn-x5-ibnetdiscover.txt.gz"))
    fabric = make_topology({"kind": "file", "path": path})
    leaf = hierarchy_of(fabric).leaf

    def nodes_of(size):
        job = Job(1, 0.0, size, 1.0, 1.0, communication=TALKS)
        return make_allocator(allocator, {}, 1).allocate(job, Cluster(fabric)).nodes()

    assert sorted(np.bincount(leaf).tolist()) == [5, 6, 9, 21, 24, 24]
    assert sorted(nodes_of(89).tolist()) == fabric.usable_nodes.tolist()
    assert np.unique(leaf[nodes_of(2)]).size == 1
    if allocator == "slurm-best-fit":
        assert np.bincount(leaf)[leaf[nodes_of(2)[0]]] == 5
        assert np.bincount(leaf)[leaf[nodes_of(10)[0]]] == 21
