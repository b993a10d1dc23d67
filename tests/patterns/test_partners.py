"""Patterns with few partners: meshes, pairs, permutations, shifts, rings, chains, fans."""

import numpy as np
import pytest

from patterns import PatternError, make_pattern
from patterns.grid import near_cubic


def listed(spec, n):
    """Return the messages of a pattern of one step."""
    (step,) = make_pattern(spec).steps(n)
    return list(zip(step.src.tolist(), step.dst.tolist(), step.nbytes.tolist(), strict=True))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"name": "ring"}, [(0, 1), (0, 3), (1, 0), (1, 2), (2, 1), (2, 3), (3, 0), (3, 2)]),
        ({"name": "nearest-neighbor"}, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)]),
        ({"name": "shift", "distance": 3}, [(0, 3), (1, 0), (2, 1), (3, 2)]),
        ({"name": "shift", "distance": -1}, [(0, 3), (1, 0), (2, 1), (3, 2)]),
        ({"name": "one-to-all", "root": 2}, [(2, 0), (2, 1), (2, 3)]),
        ({"name": "all-to-one", "root": 2}, [(0, 2), (1, 2), (3, 2)]),
        ({"name": "permutation", "to": [0, 3, 1, 2]}, [(1, 3), (2, 1), (3, 2)]),
    ],
)
def test_four_ranks_talk_as_written_down(spec, expected):
    assert listed({**spec, "nbytes": 6}, 4) == [(src, dst, 6.0) for src, dst in expected]


@pytest.mark.parametrize("name", ["ring", "nearest-neighbor", "pairs", "shift", "permutation"])
def test_two_ranks_send_one_message_each_way(name):
    assert listed({"name": name, "nbytes": 6}, 2) == [(0, 1, 6.0), (1, 0, 6.0)]


def test_a_shift_may_be_as_far_as_one_likes():
    assert listed({"name": "shift", "distance": 10**18 + 2, "nbytes": 6}, 5) == listed(
        {"name": "shift", "distance": 2, "nbytes": 6}, 5
    )


def test_a_shift_by_a_multiple_of_the_ranks_sends_nothing():
    assert make_pattern({"name": "shift", "distance": 6}).steps(3) == []


@pytest.mark.parametrize("n", [2, 3, 8, 9, 70])
def test_pairs_are_disjoint_and_mutual_and_leave_one_idle_at_most(n):
    sent = {src: dst for src, dst, _ in listed({"name": "pairs"}, n)}

    assert all(sent[dst] == src for src, dst in sent.items())
    assert len(sent) == n - n % 2


@pytest.mark.parametrize("n", [2, 3, 8, 9, 70])
def test_a_permutation_reaches_every_rank_once_and_none_itself(n):
    pairs = [(src, dst) for src, dst, _ in listed({"name": "permutation", "seed": 5}, n)]

    assert sorted(src for src, _ in pairs) == sorted(dst for _, dst in pairs) == list(range(n))
    assert all(src != dst for src, dst in pairs)


def test_permutations_of_three_ranks_are_both_rotations_as_often():
    """Among three ranks just two permutations move everyone; 400 seeds, 4 standard errors."""
    forward = sum(
        listed({"name": "permutation", "seed": seed}, 3)[0][1] == 1 for seed in range(400)
    )

    assert abs(forward - 200) < 4 * 10


@pytest.mark.parametrize("name", ["pairs", "permutation", "unstructured-mesh"])
def test_another_seed_is_another_draw_and_equal_seeds_are_one(name):
    draws = [listed({"name": name, "seed": seed}, 64) for seed in (0, 0, 1)]

    assert draws[0] == draws[1] != draws[2]


@pytest.mark.parametrize("n", [2, 3, 7, 12, 64, 101])
@pytest.mark.parametrize("neighbors", [1, 6, 12])
def test_a_mesh_is_mutual_with_enough_neighbours(n, neighbors):
    """Both directions carry the same bytes: a quarter, half, once or twice the size."""
    spec = {"name": "unstructured-mesh", "neighbors": neighbors, "nbytes": 100, "seed": 2}
    sent = {(src, dst): nbytes for src, dst, nbytes in listed(spec, n)}
    degree = np.bincount([src for src, _ in sent], minlength=n)

    assert all(sent[dst, src] == nbytes for (src, dst), nbytes in sent.items())
    assert set(sent.values()) <= {25.0, 50.0, 100.0, 200.0}
    assert degree.min() >= min(neighbors, n - 1)
    assert degree.mean() <= min(2 * neighbors, n - 1)


@pytest.mark.parametrize("n", [5, 40, 128, 129, 343])
def test_ranks_of_a_mesh_talk_to_the_nearest_points(n):
    """Drawn again here, and every distance looked at."""
    random = np.random.default_rng([3, n])
    grid = near_cubic(n, 3)
    cells = np.array(np.unravel_index(np.arange(n), grid, order="F")).T
    points = (cells + random.random((3, n)).T) / np.array(grid)
    far = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    pairs = set()
    for rank in range(n):
        order = [other for other in np.argsort(far[rank]).tolist() if other != rank]
        pairs |= {pair for other in order[:4] for pair in ((rank, other), (other, rank))}

    told = listed({"name": "unstructured-mesh", "neighbors": 4, "seed": 3}, n)

    assert {(src, dst) for src, dst, _ in told} == pairs


def test_a_mesh_draws_all_four_sizes_as_often():
    """About 2,600 pairs; each size has a quarter of them within 4 standard errors."""
    sizes = [nbytes for src, dst, nbytes in listed({"name": "unstructured-mesh"}, 729) if src < dst]
    counts = np.unique(sizes, return_counts=True)[1]

    assert counts.size == 4
    assert np.all(np.abs(counts - len(sizes) / 4) < 4 * np.sqrt(len(sizes) * 3 / 16))


def test_ranks_of_a_mesh_that_talk_have_near_numbers():
    """On a 10 x 10 x 10 grid, neighbours lie a plane apart at most but for the jitter."""
    gaps = [abs(src - dst) for src, dst, _ in listed({"name": "unstructured-mesh"}, 1000)]

    assert np.median(gaps) <= 110  # random numbers: a third of 1000
    assert max(gaps) < 350


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"name": "unstructured-mesh", "neighbors": 0},
            "neighbors: expected a whole number",
        ),
        ({"name": "pairs", "seed": -1}, "seed: expected a whole number from 0, got -1"),
        ({"name": "shift", "distance": 0.5}, r"distance: expected a whole number, got 0\.5"),
        ({"name": "permutation", "to": [0, 0]}, r"to must hold each of 0\.\.1 once"),
        ({"name": "permutation", "to": [1, 2]}, r"to must hold each of 0\.\.1 once"),
        ({"name": "broadcast", "root": -1}, "root: expected a whole number from 0, got -1"),
    ],
)
def test_an_impossible_option_is_an_error(spec, message):
    with pytest.raises(PatternError, match=message):
        make_pattern(spec)


def test_a_permutation_of_other_ranks_is_an_error():
    with pytest.raises(PatternError, match="permutation of 2 ranks, the job has 3"):
        make_pattern({"name": "permutation", "to": [1, 0]}).steps(3)
