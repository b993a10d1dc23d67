"""What every pattern of the registry promises."""

import numpy as np
import pytest

from patterns import PATTERNS, PatternError, make_pattern

VARIANTS = [
    {"name": "stencil", "dims": 1},
    {"name": "stencil", "dims": 2, "periodic": False},
    {"name": "stencil", "dims": 3, "points": "all"},
    {"name": "stencil", "dims": 3, "points": "all", "periodic": [True, False, True]},
    {"name": "stencil", "dims": 4, "points": "all", "nbytes": 4},
    {"name": "stencil", "grid": [2, 3, 2]},
    {"name": "unstructured-mesh", "neighbors": 12, "seed": 3},
    {"name": "pairs", "seed": 7},
    {"name": "sub-all-to-all", "over": [0, 1]},
    {"name": "sub-all-to-all", "dims": 4, "over": [3, 0]},
    {"name": "sub-all-to-all", "grid": [4, 3, 2]},
]
"""Specifications besides the bare names."""

SPECS = [{"name": name} for name in PATTERNS] + VARIANTS


def outcome(pattern, n_ranks):
    """Return the steps, or the error where the pattern does not exist for so many ranks."""
    try:
        return pattern.steps(n_ranks)
    except PatternError as error:
        return error


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_steps_hold_proper_messages_for_any_rank_count(spec):
    """Positive finite bytes, ranks in range, nobody to itself, no empty step; or an error."""
    pattern = make_pattern(spec)
    built = 0
    for n_ranks in range(1, 71):
        steps = outcome(pattern, n_ranks)
        if isinstance(steps, PatternError):
            assert str(n_ranks) in str(steps)
            continue
        built += 1
        assert bool(steps) == (n_ranks > 1)
        for step in steps:
            assert step.src.dtype == step.dst.dtype == np.int64
            assert step.nbytes.dtype == np.float64
            assert step.src.shape == step.dst.shape == step.nbytes.shape != (0,)
            assert np.all((step.src >= 0) & (step.src < n_ranks))
            assert np.all((step.dst >= 0) & (step.dst < n_ranks))
            assert np.all(step.src != step.dst)
            assert np.all((step.nbytes > 0) & np.isfinite(step.nbytes))

    assert built >= 1


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_a_pair_of_ranks_exchanges_at_most_one_message_each_way_in_a_step(spec):
    """Messages that would meet the same partner twice are one."""
    pattern = make_pattern(spec)
    for n_ranks in (2, 3, 4, 6, 8, 12, 24, 30):
        steps = outcome(pattern, n_ranks)
        if isinstance(steps, PatternError):
            continue
        for step in steps:
            assert np.unique(step.src * n_ranks + step.dst).size == step.src.size


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_equal_specifications_are_equal_values_with_equal_steps(spec):
    """A pattern can be a key of a cache."""
    one, other = make_pattern(spec), make_pattern(dict(spec))

    assert one == other
    assert hash(one) == hash(other)
    for n_ranks in (2, 8, 12, 24, 60):
        first, second = outcome(one, n_ranks), outcome(other, n_ranks)
        if isinstance(first, PatternError):
            assert isinstance(second, PatternError)
            continue
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a.src, b.src)
            np.testing.assert_array_equal(a.dst, b.dst)
            np.testing.assert_array_equal(a.nbytes, b.nbytes)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_an_unknown_option_is_an_error_that_lists_the_known_ones(spec):
    with pytest.raises(PatternError, match=r"unknown option 'nbites'.*choose from .*nbytes"):
        make_pattern({**spec, "nbites": 1})


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "1 MiB", True, None, [1]])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_bytes_that_are_no_positive_number_are_an_error(spec, value):
    with pytest.raises(PatternError, match=r"nbytes must be .*got"):
        make_pattern({**spec, "nbytes": value})
