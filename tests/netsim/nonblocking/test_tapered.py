"""What a tapered tree, or one with bundles of cables, must own to be non-blocking: brute force."""

from itertools import product

import naive.rearrange as naive
import numpy as np
import pytest
from certificates import assert_permutation_routed
from partitions import KINDS, cables, place, random_shape

from netsim.flows.partition import Partition
from netsim.nonblocking.conditions import broken_conditions, unbundled
from netsim.nonblocking.verdict import Status, flow_matrices, rearrangeable
from netsim.topology.fattree import build_fat_tree

TAPERED = build_fat_tree((3, 3), (1, 2), (1, 1), "1 B/s")  # leaves of 3 nodes and 2 uplinks


def on_all_uplinks(tree, counts):
    """Return a job with so many nodes on each leaf that owns all uplinks of its leaves."""
    width = tree.nodes_per_leaf
    nodes = [leaf * width + slot for leaf, count in enumerate(counts) for slot in range(count)]
    links = [
        link
        for leaf, count in enumerate(counts)
        if count
        for link in cables(tree, 1, leaf, range(tree.ports[1]))
    ]
    return Partition(np.array(nodes), np.array(links))


def blocks(tree, partition, counts):
    """Say whether some permutation has no routing, by trying all paths of all of them."""
    nodes, owned = partition.nodes.tolist(), partition.links.tolist()
    for matrix in flow_matrices(counts):
        free = [
            [node for node in nodes if node // tree.nodes_per_leaf == leaf] for leaf in range(3)
        ]
        dst = [free[d].pop() for row in matrix for d, n in enumerate(row) for _ in range(n)]
        if not naive.can_route(tree, owned, nodes, dst):
            return True
    return False


def test_a_leaf_serves_as_many_nodes_as_uplinks_unless_the_others_are_no_more_than_these():
    """All 64 node counts on three leaves: k nodes of N cross at most min(k, N - k) <= 2 times."""
    seen = set()
    for counts in product(range(4), repeat=3):
        if sum(count > 0 for count in counts) < 2:
            continue
        partition = on_all_uplinks(TAPERED, counts)
        expected = any(min(count, sum(counts) - count) > 2 for count in counts)
        assert blocks(TAPERED, partition, counts) == expected
        seen.add((max(counts) > 2, expected))
        if max(counts) <= 2:
            assert not expected  # as many uplinks as nodes: always enough
    assert seen == {(False, False), (True, True), (True, False)}


def test_nodes_beyond_the_uplinks_of_their_leaves_are_refused_with_a_witness():
    """3 and 3 nodes swap over 2 uplinks; 2 and 2 and 1 nodes have a legal choice of links."""
    swapped = rearrangeable(TAPERED, on_all_uplinks(TAPERED, (3, 3, 0)))
    legal = rearrangeable(TAPERED, on_all_uplinks(TAPERED, (2, 2, 1)))

    assert (swapped.status, legal.status) == (Status.BLOCKED, Status.PROVED)


BUNDLED = {
    "one L2 switch of two cables": build_fat_tree((2, 2, 3), (1, 1, 4), (1, 2, 1), "1 B/s"),
    "two cables each": build_fat_tree((4, 2, 2), (1, 2, 4), (1, 2, 1), "1 B/s"),
    "tapered, uneven shares": build_fat_tree((4, 2, 3), (1, 2, 3), (1, 2, 1), "1 B/s"),
    "bundles on both levels": build_fat_tree((4, 2, 2), (1, 2, 2), (1, 2, 2), "1 B/s"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", BUNDLED)
def test_a_partition_that_is_legal_with_each_cable_as_a_switch_of_its_own_never_blocks(name, kind):
    """25 random ones each: the certificate is checked on the tree with the bundles."""
    tree = BUNDLED[name]
    apart = unbundled(tree)
    rng = np.random.default_rng(len(name) + KINDS.index(kind))
    fabric = tree.n_nodes, tree.link_tail.tolist(), tree.link_head.tolist()
    for _ in range(25):
        inside = place(apart.tree, rng, random_shape(apart.tree, rng, kind))
        if np.any(apart.link[inside.links] < 0):
            continue  # a share that is smaller than others
        partition = apart.outside(inside)
        assert broken_conditions(tree, partition) == []
        verdict = rearrangeable(tree, partition, n_random=5)
        assert verdict.status is Status.PROVED
        proof = verdict.certificate
        lists = [proof.routes.of_flow(flow).tolist() for flow in range(proof.src.size)]
        owned = set(partition.links.tolist())
        assert_permutation_routed(fabric, owned, proof.src.tolist(), proof.dst.tolist(), lists)


def test_what_owns_all_links_of_a_tree_with_bundles_contains_a_legal_partition():
    tree = BUNDLED["two cables each"]
    links = np.arange(tree.up_base[1], tree.n_links)

    verdict = rearrangeable(tree, Partition(np.arange(tree.n_nodes), links), n_random=5)

    assert verdict.status is Status.PROVED
