"""Jigsaw, LaaS and LC find a placement exactly where enumeration says that there is one."""

import random

import pytest
from isolation import Ends, broken_conditions
from naive.placements import Pod, placeable

from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.outage import fail
from scheduler.allocation import Allocation
from scheduler.allocators import make_allocator
from scheduler.allocators.base import exhaustive
from scheduler.allocators.jigsaw import Jigsaw
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.footprint import join_all
from scheduler.job import Job

TREES = {
    "radix-4": (fat_tree_of_radix(4, "1 B/s"), 60),
    "three-nodes-three-leaves-two-pods": (
        build_fat_tree((3, 3, 2), (1, 3, 3), (1, 1, 1), "1 B/s"),
        60,
    ),
    "one-spine-three-cables": (build_fat_tree((3, 3, 2), (1, 3, 1), (1, 1, 3), "1 B/s"), 30),
    "two-nodes-three-leaves-three-pods": (
        build_fat_tree((2, 3, 3), (1, 2, 3), (1, 1, 1), "1 B/s"),
        10,
    ),
    "two-level": (fat_tree_of_radix(6, "1 B/s", levels=2), 60),
    "tapered-leaves": (build_fat_tree((3, 3, 2), (1, 2, 3), (1, 1, 1), "1 B/s"), 20),
    "tapered-l2s": (build_fat_tree((2, 3, 3), (1, 2, 2), (1, 1, 1), "1 B/s"), 6),
    "tapered-twice": (build_fat_tree((3, 3, 2), (1, 2, 2), (1, 1, 1), "1 B/s"), 20),
    "spare-uplinks": (build_fat_tree((2, 2, 3), (1, 3, 3), (1, 1, 1), "1 B/s"), 20),
    "parallel-cables": (build_fat_tree((2, 2, 3), (1, 1, 4), (1, 2, 1), "1 B/s"), 20),
    "parallel-uneven": (build_fat_tree((4, 2, 2), (1, 2, 3), (1, 2, 1), "1 B/s"), 15),
    "two-level-tapered-cables": (build_fat_tree((4, 4), (1, 1), (1, 3), "1 B/s"), 20),
}
WHOLE = build_fat_tree((3, 3, 2), (1, 3, 3), (1, 1, 1), "1 B/s")
DAMAGED = {
    "lost-cables": fail(WHOLE, ["s1.0>s2.1", "s2.4>s3.4"]),
    "lost-spine": fail(WHOLE, ["s2.0>s3.0", "s2.3>s3.0"]),
    "lost-l2": fail(WHOLE, ["s1.0>s2.0", "s1.1>s2.0", "s1.2>s2.0"]),
}

COUNTED = {  # trees of several pods on which a leaf is whole with all its nodes and up-ports only
    "radix-4",
    "three-nodes-three-leaves-two-pods",
    "one-spine-three-cables",
    "two-nodes-three-leaves-three-pods",
    "tapered-l2s",
    "lost-spine",
}


def job(n_nodes, number=0):
    return Job(number, 0.0, n_nodes, 1.0, 1.0)


def subset(rng, n_bits, chance):
    return sum(1 << bit for bit in range(n_bits) if rng.random() < chance)


def machine_in_use(tree, rng):
    """Return a cluster on which somebody holds random nodes and links, few or many."""
    cluster = Cluster(tree)
    nodes, links, spines = (rng.choice([0, 0.1, 0.3, 0.6]) for _ in range(3))
    if rng.random() < 0.5:  # where links alone decide, the search must go back most
        nodes = links = 0
        spines = rng.choice([0.2, 0.4])
    somebody = Allocation(
        job(1, -1),
        cluster.geometry,
        tuple(
            (
                leaf,
                subset(rng, tree.nodes_per_leaf, nodes),
                cluster.leaf_up[leaf] & subset(rng, tree.ports[1], links),
            )
            for leaf in range(tree.n_leaves)
            if rng.random() < 0.7
        ),
        tuple(
            (l2, cluster.l2_up[l2] & subset(rng, tree.ports[2], spines))
            for l2 in range(len(cluster.l2_up))
            if rng.random() < 0.7
        ),
    )
    cluster.place(somebody)
    return cluster


def ports(mask):
    return {bit for bit in range(mask.bit_length()) if mask >> bit & 1}


def as_pods(cluster):
    """Show a cluster to the enumeration."""
    width, height, cables = cluster.leaves_per_pod, cluster.l2_per_pod, cluster.fabric.parallel[1]
    pods = []
    for pod in range(cluster.n_pods):
        leaves = [
            (cluster.leaf_free[leaf].bit_count(), ports(cluster.leaf_up[leaf]))
            for leaf in range(pod * width, (pod + 1) * width)
        ]
        l2s = cluster.l2_up[pod * height : (pod + 1) * height]
        spines = [ports(mask) for mask in l2s]
        up = cluster.l2_width  # cable k of a bundle has the k-th share of the switch's up-ports
        shares = [{port for port in range(up) if port * cables // up == k} for k in range(cables)]
        pods.append(Pod(leaves, [own & share for share in shares for own in spines]))
    return pods


@pytest.mark.parametrize("part", [2, pytest.param(1, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("name", TREES)
def test_a_placement_is_found_exactly_where_one_exists(name, part):
    """Every size on random states; each placement found is legal, too."""
    tree, n_states = TREES[name]
    rng = random.Random(name)  # noqa: S311 (states of a test, not secrets)
    ends, size_of_leaf = Ends(tree), min(tree.nodes_per_leaf, tree.ports[1])
    allocators = {
        "jigsaw": make_allocator("jigsaw", {}, 1),
        "jigsaw-index": make_allocator("jigsaw", {"order": "index"}, 1),
        "laas": make_allocator("laas", {}, 1),
        "lc": make_allocator("lc", {"steps": 10**6}, 1),
    }
    both = set()
    for _ in range(n_states // part):
        cluster = machine_in_use(tree, rng)
        sizes = placeable(as_pods(cluster), size_of_leaf)
        for n_nodes in range(1, tree.n_nodes + 1):
            whole = n_nodes in sizes.over_pods_whole_leaves
            rounded = -(-n_nodes // size_of_leaf) * size_of_leaf in sizes.over_pods_whole_leaves
            expected = {"jigsaw": whole, "laas": rounded, "lc": n_nodes in sizes.over_pods}
            for case, allocator in allocators.items():
                allocation = allocator.allocate(job(n_nodes), cluster) if cluster.n_free else None

                kind = case.removesuffix("-index")
                assert (allocation is not None) == (n_nodes in sizes.one_pod or expected[kind])
                both.add(allocation is not None)
                if allocation is not None:
                    cluster.copy().place(allocation)
                    assert (
                        broken_conditions(tree, ends, allocation, whole_leaves=kind != "lc") == []
                    )
    assert both == {True, False}


def whole_sizes(cluster):
    """Return the sizes that Jigsaw, and LaaS, place over pods of a damaged tree."""
    links = [ports(mask) for mask in cluster.leaf_links]
    sets = {frozenset(own) for own in (*links, set.intersection(*links))}
    jigsaw, laas = set(), set()
    for s in sets:
        pods = [
            Pod([(free, up & s) for free, up in pod.leaves], pod.spines) for pod in as_pods(cluster)
        ]
        sizes = placeable(pods, len(s)).over_pods_whole_leaves
        jigsaw |= sizes
        laas |= {
            n for size in sizes if size % len(s) == 0 for n in range(size - len(s) + 1, size + 1)
        }
    return jigsaw, laas


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_tree_is_used_by_what_its_leaves_have_left(name):
    """S is what a leaf has left, or all leaves have: every size on 15 random states."""
    tree = DAMAGED[name]
    rng = random.Random(name)  # noqa: S311 (states of a test, not secrets)
    ends = Ends(tree)
    jigsaw, laas = make_allocator("jigsaw", {}, 1), make_allocator("laas", {}, 1)
    lc = make_allocator("lc", {"steps": 10**6}, 1)
    both = set()
    for _ in range(15):
        cluster = machine_in_use(tree, rng)
        sizes = placeable(as_pods(cluster), tree.nodes_per_leaf)
        whole, rounded = whole_sizes(cluster)
        for allocator, fits in ((jigsaw, whole), (laas, rounded), (lc, sizes.over_pods)):
            for n_nodes in range(1, cluster.n_free + 1):
                allocation = allocator.allocate(job(n_nodes), cluster)

                assert (allocation is not None) == (n_nodes in sizes.one_pod | fits)
                both.add(allocation is not None)
                if allocation is not None:
                    cluster.copy().place(allocation)
                    assert broken_conditions(tree, ends, allocation) == []
    assert both == {True, False}


@pytest.mark.parametrize("allocator", ["jigsaw", "laas"])
@pytest.mark.parametrize("name", [*TREES, *DAMAGED])
def test_no_place_is_found_where_counting_says_that_there_is_none(name, allocator):
    tree = {**DAMAGED, **{known: tree for known, (tree, _) in TREES.items()}}[name]
    rng = random.Random(name)  # noqa: S311 (states of a test, not secrets)
    found = make_allocator(allocator, {}, 1)
    said = set()
    for _ in range(10):
        cluster = machine_in_use(tree, rng)
        nodes = join_all(tree.nodes_per_leaf, cluster.leaf_free)
        most = found.most_nodes(cluster)
        for n_nodes in range(1, cluster.n_free + 1):
            none = found.no_room_in(job(n_nodes), cluster, nodes)
            said.add(none)

            assert n_nodes > most or not none
            assert n_nodes <= most or found.allocate(job(n_nodes), cluster) is None
    assert said == ({True, False} if name in COUNTED else {False})


def test_a_job_that_no_state_holds_hears_how_large_it_may_be():
    """4 leaves of 4 nodes and 2 uplinks: at most 8 nodes may run one job over leaves."""
    tapered = Cluster(build_fat_tree((4, 4), (1, 2), (1, 1), "1 B/s"))
    allocator = make_allocator("jigsaw", {}, 1)

    assert allocator.allocate(job(8), tapered).nodes().tolist() == [0, 1, 4, 5, 8, 9, 12, 13]
    assert allocator.allocate(job(4), tapered).nodes().tolist() == [0, 1, 2, 3]  # one leaf: all
    for name in ("jigsaw", "laas", "lc", "lc+s"):
        with pytest.raises(AllocationError, match=r"as many uplinks as nodes .*: 8 nodes fit\."):
            make_allocator(name, {}, 1).allocate(job(13), tapered)


def test_an_allocator_with_a_part_of_the_methods_is_searched_as_any_other():
    """A class of users may have one of the three methods by chance."""

    class Half(Jigsaw):
        def allocate(self, job, cluster):
            return super().allocate(job, cluster)

        def no_room_beside(self, job, cluster, other):
            return super().no_room_beside(job, cluster, other)

    assert exhaustive(Half()) is None
    assert exhaustive(Jigsaw()) is not None
