"""Legal partitions are rearrangeable non-blocking: every permutation gets a checked routing."""

import numpy as np
import pytest
from certificates import assert_permutation_routed
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import random_partition

from netsim.common.errors import PartitionError, RoutingError
from netsim.flows.partition import Partition
from netsim.nonblocking.router import PermutationRouter
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix

BW = 12.5e9
TREES = {
    "radix 4": fat_tree_of_radix(4, BW),
    "radix 6": fat_tree_of_radix(6, BW),
    "radix 8": fat_tree_of_radix(8, BW),
    "two levels": fat_tree_of_radix(8, BW, levels=2),
    "parallel roots": build_fat_tree((4, 5), (1, 2), (1, 2), BW),
    "parallel spines": build_fat_tree((3, 3, 4), (1, 3, 1), (1, 1, 3), BW),
}


def fabric(tree):
    return tree.n_nodes, tree.link_tail.tolist(), tree.link_head.tolist()


def adversarial(nodes, tree):
    """Permutations that load few switches: reversal, shifts by leaves and pods, swaps of leaves."""
    n = nodes.size
    order = np.sort(nodes)
    leaf = order // tree.nodes_per_leaf
    starts = np.flatnonzero(np.diff(leaf, prepend=-1))
    shifts = {1, n // 2, *starts[1:4].tolist(), *(n - starts[1:4]).tolist()}
    yield order, order[::-1]
    for shift in sorted(shifts):
        yield order, np.roll(order, shift)
    by_slot = np.lexsort(
        [leaf, np.arange(n) - starts[np.searchsorted(starts, np.arange(n), "right") - 1]]
    )
    yield order, order[by_slot]  # neighbours of a leaf all go to different leaves
    yield order[by_slot], order


def check(tree, partition, src, dst, router):
    routes = router.routes(src, dst)
    lists = [routes.of_flow(flow).tolist() for flow in range(routes.n_flows)]
    assert_permutation_routed(
        fabric(tree), set(partition.links.tolist()), src.tolist(), dst.tolist(), lists
    )


def check_partition(tree, rng, kind=None, n_random=2):
    partition = random_partition(tree, rng, kind)
    router = PermutationRouter(tree, partition)
    for _ in range(n_random):
        check(tree, partition, partition.nodes, rng.permutation(partition.nodes), router)
    for src, dst in adversarial(partition.nodes, tree):
        check(tree, partition, src, dst, router)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(TREES)), st.integers(0, 2**32 - 1))
def test_random_and_adversarial_permutations_are_routed_on_random_legal_partitions(name, seed):
    check_partition(TREES[name], np.random.default_rng(seed))


RADICES = [8, 16, 28, 44]


@pytest.mark.parametrize("radix", RADICES)
def test_a_sample_of_partitions_of_machine_size_never_blocks(radix):
    tree = fat_tree_of_radix(radix, BW)
    rng = np.random.default_rng(radix)
    for kind in ("pod", "pods"):
        check_partition(tree, rng, kind, n_random=1)


@pytest.mark.heavy
@pytest.mark.parametrize("radix", RADICES)
def test_three_hundred_partitions_of_every_radix_never_block(radix):
    tree = fat_tree_of_radix(radix, BW)
    rng = np.random.default_rng(1000 + radix)
    for number in range(300):
        check_partition(tree, rng, ("leaf", "pod", "pods", "pods", "pods")[number % 5])


@pytest.mark.parametrize("radix", [4, 8])
def test_the_whole_tree_routes_every_shift(radix):
    tree = fat_tree_of_radix(radix, BW)
    nodes = np.arange(tree.n_nodes)
    whole = Partition(nodes, np.arange(tree.up_base[1], tree.n_links))
    router = PermutationRouter(tree, whole)
    for shift in range(1, nodes.size, 1 + nodes.size // 20):
        check(tree, whole, nodes, np.roll(nodes, shift), router)


def test_a_part_of_a_permutation_may_be_routed_alone():
    tree = TREES["radix 8"]
    rng = np.random.default_rng(1)
    partition = random_partition(tree, rng, "pods")
    half = partition.nodes.size // 2
    router = PermutationRouter(tree, partition)

    check(tree, partition, partition.nodes[:half], rng.permutation(partition.nodes)[:half], router)
    check(tree, partition, partition.nodes[:0], partition.nodes[:0], router)


def test_what_is_no_permutation_or_not_legal_is_refused():
    tree = TREES["radix 8"]
    partition = random_partition(tree, np.random.default_rng(1), "pods")
    router = PermutationRouter(tree, partition)
    nodes = partition.nodes
    outside = np.setdiff1d(np.arange(tree.n_nodes), nodes)[:1]

    with pytest.raises(RoutingError, match="a node sends more than one flow"):
        router.routes(nodes[[0, 0]], nodes[[1, 2]])
    with pytest.raises(RoutingError, match="a node receives more than one flow"):
        router.routes(nodes[[0, 1]], nodes[[2, 2]])
    with pytest.raises(PartitionError, match=f"node n{outside[0]} is not among the job's"):
        router.routes(nodes[:1], outside)
    with pytest.raises(PartitionError, match=r"not a legal partition: \(cables\) s"):
        PermutationRouter(tree, Partition(nodes, partition.links[1:]))


def test_a_certificate_with_one_link_changed_is_refused_in_every_case():
    tree = TREES["radix 6"]
    rng = np.random.default_rng(4)
    partition = random_partition(tree, rng, "pods")
    src, dst = partition.nodes, rng.permutation(partition.nodes)
    routes = PermutationRouter(tree, partition).routes(src, dst)
    lists = [routes.of_flow(flow).tolist() for flow in range(routes.n_flows)]
    for flow, row in enumerate(lists):
        for place in range(len(row)):
            for link in rng.integers(0, tree.n_links, 5).tolist():
                if link == row[place]:
                    continue
                changed = [list(other) for other in lists]
                changed[flow][place] = link
                with pytest.raises(AssertionError, match=r"link|ends"):
                    assert_permutation_routed(
                        fabric(tree),
                        set(partition.links.tolist()),
                        src.tolist(),
                        dst.tolist(),
                        changed,
                    )
