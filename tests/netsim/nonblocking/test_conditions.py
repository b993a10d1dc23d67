"""Conditions (1)-(6): legal partitions pass, each breach is named, every mutation is seen."""

import naive.conditions as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from partitions import Shape, cables, place, random_partition

from netsim.flows.partition import Partition
from netsim.nonblocking.conditions import broken_conditions
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix

BW = 12.5e9
TREES = {
    "radix 4": fat_tree_of_radix(4, BW),
    "radix 6": fat_tree_of_radix(6, BW),
    "radix 8": fat_tree_of_radix(8, BW),
    "two levels": fat_tree_of_radix(8, BW, levels=2),
    "parallel spines": build_fat_tree((3, 3, 4), (1, 3, 1), (1, 1, 3), BW),
}
seeds = st.integers(0, 2**32 - 1)
trees = st.sampled_from(sorted(TREES))


def legal(tree, nodes, links):
    return not broken_conditions(tree, Partition(np.array(nodes), np.array(links, dtype=np.int64)))


def broken(tree, partition):
    return sorted({breach.condition for breach in broken_conditions(tree, partition)})


@settings(deadline=None, max_examples=80)
@given(trees, seeds)
def test_partitions_made_by_the_conditions_fulfil_them(name, seed):
    job = random_partition(TREES[name], np.random.default_rng(seed))

    assert broken_conditions(TREES[name], job) == []


@settings(deadline=None, max_examples=40)
@given(trees, seeds)
def test_one_link_more_or_less_is_detected_in_every_case(name, seed):
    tree = TREES[name]
    rng = np.random.default_rng(seed)
    job = random_partition(tree, rng)
    owned = set(job.links.tolist())
    spare = sorted(set(range(tree.up_base[1], tree.n_links)) - owned)
    for link in rng.permutation(job.links)[:20].tolist():
        assert not legal(tree, job.nodes, sorted(owned - {link}))
        assert not legal(tree, job.nodes, sorted(owned - {link, reverse(tree, link)}))
    for link in rng.permutation(spare)[:20].tolist():
        assert not legal(tree, job.nodes, sorted(owned | {link}))
        if job.nodes.size > 1:  # a lone node may own a cable or none
            assert not legal(tree, job.nodes, sorted(owned | {link, reverse(tree, link)}))


def reverse(tree, link):
    """Return the other direction of a cable."""
    level = max(k for k in range(tree.levels) if link >= tree.up_base[k])
    half = tree.down_base[level] - tree.up_base[level]
    return link + half if link < tree.down_base[level] else link - half


@settings(deadline=None, max_examples=80)
@given(trees, seeds)
def test_a_moved_cable_or_node_is_judged_as_the_naive_reading_does(name, seed):
    tree = TREES[name]
    rng = np.random.default_rng(seed)
    job = random_partition(tree, rng)
    nodes, links = set(job.nodes.tolist()), set(job.links.tolist())
    for _ in range(6):
        kind = rng.integers(3)
        moved_nodes, moved_links = set(nodes), set(links)
        if kind == 0:
            moved_nodes -= {int(rng.choice(sorted(nodes)))}
            moved_nodes |= {int(rng.integers(tree.n_nodes))}
        elif links:
            gone = int(rng.choice(sorted(links)))
            level = max(k for k in range(tree.levels) if gone >= tree.up_base[k])
            first = gone - (gone - tree.up_base[level]) % tree.ports[level]
            new = first + int(rng.integers(tree.ports[level]))  # another port of the same switch
            moved_links -= {gone, reverse(tree, gone)}
            moved_links |= {new, reverse(tree, new)}

        expected = naive.is_legal(tree, moved_nodes, moved_links)

        assert legal(tree, sorted(moved_nodes), sorted(moved_links)) == expected


def test_moves_of_a_cable_are_illegal_but_for_those_that_make_another_legal_partition():
    """Every move of one cable in a job of three leaves and a remainder, 3 of 4 ports used."""
    tree = fat_tree_of_radix(8, BW)
    job = place(tree, np.random.default_rng(3), Shape(1, 3, 3, 0, 1))
    owned = set(job.links.tolist())
    legal_moves = 0
    for link in job.links[job.links < tree.down_base[1]].tolist():
        first = link - (link - tree.up_base[1]) % 4
        for new in set(range(first, first + 4)) - owned:
            moved = owned - {link, reverse(tree, link)} | {new, reverse(tree, new)}
            expected = naive.is_legal(tree, job.nodes.tolist(), moved)
            assert legal(tree, job.nodes, sorted(moved)) == expected
            legal_moves += expected

    assert legal_moves == 2  # the remainder leaf may use any of the three ports of S


def two_pods(a, b, ports=((0, 1),) * 2):
    """Radix 4, leaf counts of two pods; S all, spines as given for the L2s of pod A and pod B."""
    tree = TREES["radix 4"]
    nodes, links = [], []
    for pod, counts in enumerate((a, b)):
        for i, count in enumerate(counts):
            leaf = 2 * pod + i
            nodes += [2 * leaf + slot for slot in range(count)]
            links += cables(tree, 1, leaf, range(count))
        for i in range(2):
            below = sum(count > i for count in counts)
            links += cables(tree, 2, 2 * pod + i, ports[pod][:below])
    return Partition(np.array(nodes), np.array(links, dtype=np.int64))


@pytest.mark.parametrize("counts", [([2], [2, 1]), ([2, 1], [2])])
def test_the_five_node_job_whose_remainder_leaf_is_in_the_larger_tree_breaks_1_alone(counts):
    """The counterexample to necessity (it is non-blocking all the same): n_T^r = 3 > n_T = 2."""
    job = two_pods(*counts)

    assert broken(TREES["radix 4"], job) == ["1"]
    assert (
        "holds 3 nodes, not fewer than n_T = 2"
        in broken_conditions(TREES["radix 4"], job)[0].reason
    )


def test_every_condition_is_named_when_it_alone_fails():
    tree = TREES["radix 8"]

    def job(counts, sets, spines=None):
        """Leaf -> nodes, leaf -> ports, L2 -> spines."""
        nodes = [4 * leaf + slot for leaf, count in counts.items() for slot in range(count)]
        links = [link for leaf, ports in sets.items() for link in cables(tree, 1, leaf, ports)]
        for switch, ports in (spines or {}).items():
            links += cables(tree, 2, switch, ports)
        return Partition(np.array(nodes), np.array(links, dtype=np.int64))

    one_pod = job({0: 2, 1: 2, 2: 1}, {0: [0, 1], 1: [0, 1], 2: [1]})
    assert broken(tree, one_pod) == []
    assert broken(tree, job({0: 2, 1: 1, 2: 1}, {0: [0, 1], 1: [0], 2: [1]})) == ["2"]
    assert broken(tree, job({0: 2, 1: 2, 2: 1}, {0: [0, 1], 1: [0, 2], 2: [0]})) == ["4"]
    assert broken(tree, job({0: 2, 1: 2, 2: 1}, {0: [0, 1], 1: [0, 1], 2: [2]})) == ["4"]
    assert broken(tree, job({0: 2, 1: 2}, {0: [0, 1, 2], 1: [0, 1]})) == ["4", "balance"]
    assert broken(tree, job({0: 2, 1: 2}, {0: [0, 1], 1: [0, 1]}, {0: [0]})) == ["balance"]
    # two pods of two leaves of 2 and a remainder pod of one leaf
    sets = {0: [0, 1], 1: [0, 1], 4: [0, 1], 5: [0, 1], 8: [0, 1]}
    spines = {0: [0, 3], 1: [1, 2], 4: [0, 3], 5: [1, 2], 8: [3], 9: [1]}
    counts = dict.fromkeys(sets, 2)
    assert broken(tree, job(counts, sets, spines)) == []
    assert broken(tree, job(counts, sets, spines | {4: [0, 1]})) == ["6"]
    assert broken(tree, job(counts, sets, spines | {8: [1]})) == ["6"]
    assert broken(tree, job(counts, sets, spines | {8: [0, 3]})) == ["balance"]
    other_s = sets | {4: [2, 1], 5: [2, 1]}
    moved = {6 if switch == 4 else switch: ports for switch, ports in spines.items()}
    assert "5" in broken(tree, job(counts, other_s, moved))
    both = counts | {1: 1}
    assert "2" not in broken(tree, job(both, sets | {1: [0]}, spines))  # a remainder leaf in A
    two_short = job(counts | {1: 1, 5: 1}, sets | {1: [0], 5: [0]}, spines)
    assert {"2", "3"} <= set(broken(tree, two_short))


def test_trees_with_parallel_leaf_cables_are_outside_the_theory():
    tree = build_fat_tree((4, 2, 4), (1, 2, 4), (1, 2, 1), BW)
    job = Partition(np.array([0, 4]), np.array([], dtype=np.int64))

    assert broken(tree, job) == ["tree"]


@pytest.mark.parametrize("owned", [[], [1], [1, 2], [1, 2, 3]])
def test_a_job_on_one_leaf_owns_no_uplinks_or_as_many_as_nodes(owned):
    tree = TREES["radix 8"]
    job = Partition(np.array([4, 6]), np.array(cables(tree, 1, 1, owned), dtype=np.int64))

    assert (broken(tree, job) == []) == (len(owned) in {0, 2})


def test_reasons_say_where_what_and_what_was_expected():
    tree = TREES["radix 8"]
    job = Partition(
        np.array([0, 1, 4, 5]), np.array(cables(tree, 1, 0, [0, 1]) + cables(tree, 1, 1, [0, 3]))
    )

    reasons = [breach.reason for breach in broken_conditions(tree, job)]

    assert reasons == ["s1.1 has L2 [0, 3], expected the same S as s1.0: [0, 1]."]
