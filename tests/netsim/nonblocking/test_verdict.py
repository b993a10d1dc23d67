"""Verdicts on partitions: proofs and witnesses, checked by code that knows no router."""

import naive.rearrange as naive
import numpy as np
import pytest
from certificates import assert_cut_blocks, assert_permutation_routed
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import cables, random_partition

from netsim.common.errors import RoutingError
from netsim.flows.partition import Partition
from netsim.nonblocking.conditions import broken_conditions
from netsim.nonblocking.exact import ExactRouter, Witness
from netsim.nonblocking.verdict import Status, flow_matrices, rearrangeable
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix

BW = 12.5e9
RADIX4 = fat_tree_of_radix(4, BW)
RADIX6 = fat_tree_of_radix(6, BW)
TREES = [
    RADIX4,
    RADIX6,
    fat_tree_of_radix(6, BW, levels=2),
    build_fat_tree((2, 3), (1, 2), (1, 2), BW),
    build_fat_tree((2, 2, 3), (1, 2, 1), (1, 1, 2), BW),
    build_fat_tree((2, 2, 2), (1, 2, 2), (1, 2, 1), BW),
]


def fabric(tree):
    return tree.n_nodes, tree.link_tail.tolist(), tree.link_head.tolist()


def assert_sound(tree, partition, verdict):
    """Certificates route, cuts block; anything else that blocks is tried exhaustively."""
    owned = set(partition.links.tolist())
    if verdict.certificate is not None:
        proof = verdict.certificate
        lists = [proof.routes.of_flow(flow).tolist() for flow in range(proof.src.size)]
        assert_permutation_routed(
            fabric(tree), owned, proof.src.tolist(), proof.dst.tolist(), lists
        )
    if verdict.witness is not None:
        assert_blocked(tree, owned, verdict.witness)
    assert (verdict.holds is False) == (verdict.witness is not None)


def assert_blocked(tree, owned, witness):
    src, dst = witness.src.tolist(), witness.dst.tolist()
    if witness.evidence == "cut":
        assert_cut_blocks(fabric(tree), owned, src, dst, witness.weights)
    else:
        assert not naive.can_route(tree, owned, src, dst)


def random_links(tree, rng, density):
    """Draw any nodes, and each cable above their leaves and pods with some chance."""
    nodes = rng.permutation(tree.n_nodes)[: rng.integers(2, 8)]
    leaves = np.unique(nodes // tree.nodes_per_leaf)
    switches = [(1, int(leaf)) for leaf in leaves]
    if tree.levels > 2:
        pods = np.unique(leaves // tree.leaves_per_pod)
        switches += [
            (2, int(p) * tree.parents[1] + i) for p in pods for i in range(tree.parents[1])
        ]
    links = [
        link
        for level, switch in switches
        for link in cables(tree, level, switch, range(tree.ports[level]))
        if rng.random() < density
    ]
    return Partition(nodes, np.array(links, dtype=np.int64))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, len(TREES) - 1), st.integers(0, 2**32 - 1), st.sampled_from([0.6, 0.8, 0.95]))
def test_single_permutations_are_decided_as_exhaustive_search_decides(number, seed, density):
    tree = TREES[number]
    rng = np.random.default_rng(seed)
    partition = random_links(tree, rng, density)
    owned = set(partition.links.tolist())
    src, dst = partition.nodes, rng.permutation(partition.nodes)

    answer = ExactRouter(tree, partition).decide(src, dst)

    assert isinstance(answer, Witness) != naive.can_route(tree, owned, src.tolist(), dst.tolist())
    if isinstance(answer, Witness):
        assert_blocked(tree, owned, answer)
    else:
        lists = [answer.of_flow(flow).tolist() for flow in range(src.size)]
        assert_permutation_routed(fabric(tree), owned, src.tolist(), dst.tolist(), lists)


@pytest.mark.parametrize("number", range(len(TREES)))
def test_the_integer_program_decides_as_the_search_does(number, monkeypatch):
    tree = TREES[number]
    rng = np.random.default_rng(number)
    cases = []
    for _ in range(12):
        partition = random_links(tree, rng, 0.85)
        cases.append((partition, rng.permutation(partition.nodes)))
    searched = [ExactRouter(tree, job).decide(job.nodes, dst) for job, dst in cases]

    monkeypatch.setattr("netsim.nonblocking.exact._SEARCH_STEPS", 0)
    solved = [ExactRouter(tree, job).decide(job.nodes, dst) for job, dst in cases]

    assert [isinstance(answer, Witness) for answer in solved] == [
        isinstance(answer, Witness) for answer in searched
    ]
    for (job, dst), answer in zip(cases, solved, strict=True):
        owned = set(job.links.tolist())
        if isinstance(answer, Witness):
            assert_blocked(tree, owned, answer)
        else:
            lists = [answer.of_flow(flow).tolist() for flow in range(dst.size)]
            assert_permutation_routed(fabric(tree), owned, job.nodes.tolist(), dst.tolist(), lists)


def five_nodes():
    links = [
        *cables(RADIX4, 1, 0, [0, 1]),
        *cables(RADIX4, 1, 2, [0, 1]),
        *cables(RADIX4, 1, 3, [0]),
        *cables(RADIX4, 2, 0, [0]),
        *cables(RADIX4, 2, 1, [1]),
        *cables(RADIX4, 2, 2, [0, 1]),
        *cables(RADIX4, 2, 3, [1]),
    ]
    return Partition(np.array([0, 1, 4, 5, 6]), np.array(links))


def test_the_five_node_counterexample_to_necessity_is_non_blocking_though_illegal():
    """Pod A: one leaf of 2; pod B: leaves of 2 and 1, each with its uplinks; A's spines in B's."""
    job = five_nodes()

    verdict = rearrangeable(RADIX4, job)

    assert [breach.condition for breach in broken_conditions(RADIX4, job)] == ["1"]
    assert verdict.holds is True
    assert verdict.method.startswith("exhaustive: all ")
    assert_sound(RADIX4, job, verdict)


class AllButOne(ExactRouter):
    """Decides every permutation but the one of a number, which runs out of time."""

    left_open, asked = -1, 0

    def decide(self, src, dst):
        AllButOne.asked += 1
        return None if self.asked == self.left_open else super().decide(src, dst)


def test_one_permutation_left_open_is_enough_for_no_proof_by_exhaustion(monkeypatch):
    """Each in turn; those tried before the flow matrices are among these again."""
    monkeypatch.setattr("netsim.nonblocking.verdict.ExactRouter", AllButOne)
    monkeypatch.setattr(AllButOne, "asked", 0)
    job = five_nodes()
    assert rearrangeable(RADIX4, job, n_random=0).status is Status.EXHAUSTED
    n_all, n_matrices = AllButOne.asked, len(list(flow_matrices([2, 2, 1])))
    assert 1 < n_matrices < n_all

    for number in range(1, n_all + 1):
        monkeypatch.setattr(AllButOne, "left_open", number)
        monkeypatch.setattr(AllButOne, "asked", 0)

        verdict = rearrangeable(RADIX4, job, n_random=0)

        proved = number <= n_all - n_matrices
        assert verdict.status is (Status.EXHAUSTED if proved else Status.UNDECIDED)
        assert verdict.holds is (True if proved else None)


def test_an_uplink_less_is_enough_for_two_leaves_of_one_pod():
    """The balance assumption is not necessary: 2 and 1 nodes exchange at most one flow each way."""
    links = cables(RADIX4, 1, 0, [0]) + cables(RADIX4, 1, 1, [0])
    job = Partition(np.array([0, 1, 2]), np.array(links))

    assert [breach.condition for breach in broken_conditions(RADIX4, job)] == ["balance"]
    assert rearrangeable(RADIX4, job).holds is True


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_verdicts_on_legal_and_mutated_partitions_carry_sound_proofs(seed):
    tree = RADIX6
    rng = np.random.default_rng(seed)
    job = random_partition(tree, rng)
    assert_sound(tree, job, rearrangeable(tree, job, n_random=2))
    if job.links.size:
        fewer = Partition(job.nodes, np.delete(job.links, rng.integers(job.links.size)))

        assert_sound(tree, fewer, rearrangeable(tree, fewer, n_random=10, exhaustive_limit=50))


@pytest.mark.parametrize("radix", [6, 8])
def test_links_that_do_not_join_block_with_a_cut(radix):
    """Smith21, Figure 1 right: balanced, but two leaves share one L2 switch only."""
    tree = fat_tree_of_radix(radix, BW)
    m = tree.nodes_per_leaf
    links = cables(tree, 1, 0, [0, 1]) + cables(tree, 1, 1, [1, 2])
    job = Partition(np.array([0, 1, m, m + 1]), np.array(links))

    verdict = rearrangeable(tree, job)

    assert verdict.holds is False
    assert verdict.witness.evidence == "cut"
    assert_sound(tree, job, verdict)


def test_permutations_given_are_routed_first_and_checked():
    job = random_partition(RADIX6, np.random.default_rng(2), "pods")
    swapped = job.nodes[::-1].copy()

    verdict = rearrangeable(RADIX6, job, permutations=[(job.nodes, swapped)], n_random=3)

    assert verdict.method == "conditions (1)-(6); 4 permutations routed"
    with pytest.raises(RoutingError, match="not a permutation"):
        rearrangeable(
            RADIX6, job, permutations=[(job.nodes, np.full_like(job.nodes, job.nodes[0]))]
        )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_a_legal_partition_with_links_to_spare_holds_by_its_legal_part(seed):
    rng = np.random.default_rng(seed)
    tree = TREES[rng.integers(5)]
    job = random_partition(tree, rng)
    while job.nodes.size == 1:
        job = random_partition(tree, rng)
    between = np.arange(tree.up_base[1], tree.n_links)
    spare = np.setdiff1d(between, job.links)
    more = rng.permutation(spare)[: rng.integers(spare.size + 1)]
    larger = Partition(job.nodes, np.concatenate([job.links, more]))

    verdict = rearrangeable(tree, larger, n_random=2)

    assert verdict.holds is True
    assert "conditions (1)-(6)" in verdict.method
    assert_sound(tree, larger, verdict)


def test_illegal_partitions_too_large_for_exhaustion_stay_undecided():
    """Three leaves of 3 nodes and one of 2 and one of 1: two remainder leaves, all links owned."""
    tree = fat_tree_of_radix(8, BW)
    counts = [3, 3, 3, 2]
    nodes = [4 * leaf + slot for leaf, count in enumerate(counts) for slot in range(count)]
    nodes += [16, 20]  # a second pod with two leaves of one node
    job = Partition(np.array(nodes), np.arange(tree.up_base[1], tree.n_links))

    verdict = rearrangeable(tree, job, n_random=5, exhaustive_limit=20)

    assert verdict.holds is None
    assert "none blocked" in verdict.method
    assert_sound(tree, job, verdict)
