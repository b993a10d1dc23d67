"""Formulas of Mishra20 on its own examples, against a plain twin, and on three levels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.leafcontention import cost_of_placement

from netsim.baselines.hop_cost import (
    common_switch_level,
    communication_cost,
    communication_ratio,
    contention_factor,
    effective_hops,
    modified_runtime,
)

FIGURE_5_COMM, FIGURE_5_NODES = np.array([4, 2]), np.array([4, 4])
TWO_LEVELS = np.zeros((1, 2), dtype=np.int64)


def test_figure_5_two_nodes_on_one_leaf_meet_the_contention_of_their_leaf():
    """C(n0, n1) = 4/4 and Hops = 2 (1 + 1) = 4 (section 5.3)."""
    leaf = np.array([0])
    contention = contention_factor(leaf, leaf, FIGURE_5_COMM, FIGURE_5_NODES)
    distance = 2 * common_switch_level(leaf, leaf, TWO_LEVELS)

    assert contention == [1.0]
    assert distance == [2]
    assert effective_hops(distance, contention) == [4.0]


@pytest.mark.parametrize(("i", "j"), [(0, 1), (1, 0)])
def test_figure_5_two_leaves_add_up_with_half_of_the_common_switch(i, j):
    """C(n0, n4) = 4/4 + 2/4 + 1/2 6/8 = 1.875 and Hops = 4 (1 + 1.875) = 11.5."""
    pair = np.array([i]), np.array([j])
    contention = contention_factor(*pair, FIGURE_5_COMM, FIGURE_5_NODES)
    distance = 2 * common_switch_level(*pair, TWO_LEVELS)

    assert contention == [1.875]
    assert distance == [4]
    assert effective_hops(distance, contention) == [11.5]


def test_the_cost_adds_the_worst_pair_of_each_step():
    """Job 1 of figure 5, recursive doubling over n0, n1 | n4, n5: 4 in step 1, 11.5 in step 2."""
    leaf_i, leaf_j = np.array([0, 1, 0, 0]), np.array([0, 1, 1, 1])
    contention = contention_factor(leaf_i, leaf_j, FIGURE_5_COMM, FIGURE_5_NODES)
    distance = 2 * common_switch_level(leaf_i, leaf_j, TWO_LEVELS)

    assert communication_cost(np.array([0, 0, 1, 1]), effective_hops(distance, contention)) == 15.5


def test_the_lowest_common_switch_of_three_levels():
    """Leaves 0, 1 in pod 0 and 2, 3 in pod 1."""
    above = np.array([[0, 0, 1, 1], [0, 0, 0, 0]])

    assert common_switch_level(np.zeros(4, int), np.arange(4), above).tolist() == [1, 2, 3, 3]


def test_the_communication_ratio_counts_contention_and_fullness():
    """Equation (1); an idle leaf is the best, a full one of communicating jobs the worst."""
    comm, busy = np.array([0, 0, 2, 3, 4]), np.array([0, 4, 4, 3, 4])

    ratio = communication_ratio(comm, busy, np.full(5, 4))

    assert ratio.tolist() == [0.0, 1.0, 1.5, 1.75, 2.0]


def test_leaves_without_nodes_divide_nothing_by_nothing():
    none = np.array([0])

    assert communication_ratio(none, none, none) == [0.0]
    assert contention_factor(none, none, none, none) == [0.0]


def test_run_time_follows_the_cost_in_its_communication_part_only():
    """Equation (7): 40 s of compute stay, 60 s of communication take 3/4 as long."""
    assert modified_runtime(100.0, 0.6, 9.0, 12.0) == pytest.approx(85.0)
    assert modified_runtime(100.0, 0.0, 9.0, 12.0) == 100.0
    assert modified_runtime(100.0, 1.0, 24.0, 12.0) == 200.0
    assert modified_runtime(100.0, 0.5, 0.0, 0.0) == 100.0


def test_a_job_that_sends_nothing_costs_nothing():
    assert communication_cost(np.empty(0, dtype=np.int64), np.empty(0)) == 0.0


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_costs_of_random_placements_are_those_of_the_plain_twin(seed):
    """Three levels of 2 pods of 3 leaves of 4 nodes, other jobs on some nodes, any messages."""
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(24)[: rng.integers(2, 12)]
    others = np.setdiff1d(np.arange(24), nodes)[: rng.integers(0, 12)]
    steps = [
        [(int(a), int(b)) for a, b in rng.integers(0, nodes.size, (rng.integers(1, 6), 2))]
        for _ in range(rng.integers(1, 4))
    ]
    comm = np.bincount(np.concatenate([nodes, others]) // 4, minlength=6)
    src, dst = (np.array([pair[k] for step in steps for pair in step]) for k in (0, 1))
    leaf_i, leaf_j = nodes[src] // 4, nodes[dst] // 4
    above = np.array([[0, 0, 0, 1, 1, 1], [0] * 6])
    contention = contention_factor(leaf_i, leaf_j, comm, np.full(6, 4))
    hops = effective_hops(2 * common_switch_level(leaf_i, leaf_j, above), contention)
    number = np.repeat(np.arange(len(steps)), [len(step) for step in steps])

    expected = cost_of_placement(nodes.tolist(), [*nodes, *others], steps, (4, 3, 2))

    assert communication_cost(number, hops) == pytest.approx(float(expected), rel=1e-12)
