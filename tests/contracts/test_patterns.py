"""What every pattern of the registry promises."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from patterns import PATTERNS, PatternError, make_pattern

DATA = Path(__file__).parents[1] / "patterns" / "data"
CHAIN, FAN = {"name": "nearest-neighbor"}, {"name": "one-to-all", "nbytes": 7}

REQUIRED = {
    "hybrid": {"parts": [CHAIN, FAN], "weights": [0.25, 0.75]},
    "sequence": {"parts": [CHAIN, FAN, CHAIN]},
    "matrix": {"file": str(DATA / "chain4.csv")},
}
"""Options that a pattern cannot do without."""

VARIANTS = [
    {"name": "stencil", "dims": 1},
    {"name": "stencil", "dims": 2, "periodic": False},
    {"name": "stencil", "dims": 3, "points": "all"},
    {"name": "stencil", "dims": 3, "points": "all", "periodic": [True, False, True]},
    {"name": "stencil", "dims": 4, "points": "all", "nbytes": 4},
    {"name": "stencil", "grid": [2, 3, 2]},
    {"name": "unstructured-mesh", "neighbors": 12, "seed": 3},
    {"name": "pairs", "seed": 7},
    {"name": "permutation", "to": [2, 1, 3, 0]},
    {"name": "shift", "distance": -5},
    {"name": "sub-all-to-all", "over": [0, 1]},
    {"name": "sub-all-to-all", "dims": 4, "over": [3, 0]},
    {"name": "sub-all-to-all", "grid": [4, 3, 2], "algorithm": "bruck"},
    {"name": "one-to-all", "root": 3},
    {"name": "broadcast", "root": 1, "algorithm": "scatter-recursive-doubling"},
    {"name": "sequence", "parts": [CHAIN, {"name": "rhvd"}], "shares": [0.9, 0.1]},
    {
        "name": "hybrid",
        "parts": [{"name": "sequence", "parts": [CHAIN, FAN]}, {"name": "pairs"}],
        "weights": [0.5, 0.5],
    },
    {"name": "mix", "mix": "A"},
    {"name": "training", "tp": 2, "pp": 3, "layers": 4, "microbatches": 8},
    {"name": "training", "dp": 2, "tp": 4, "pp": 2},
    *(
        {"name": name, "algorithm": algorithm, "nbytes": nbytes}
        for name, kind in PATTERNS.items()
        for algorithm in getattr(kind, "algorithms", ())
        for nbytes in ([64, 20000] if algorithm == "mpich" else [1])
    ),
]
"""Specifications besides the least ones."""

SPECS = [{"name": name, **REQUIRED.get(name, {})} for name in PATTERNS] + VARIANTS
SIZED = [spec for spec in SPECS if "nbytes" in {f.name for f in fields(PATTERNS[spec["name"]])}]
SCALING = [  # not: halos of edges and corners, the choice of MPICH, activations of training
    spec
    for spec in SIZED
    if spec.get("points") != "all"
    and getattr(make_pattern(spec), "algorithm", None) != "mpich"
    and not {"tp", "pp"} & spec.keys()
]
NAMES = {
    *("stencil", "unstructured-mesh", "pairs", "permutation", "shift", "ring"),
    *("nearest-neighbor", "all-to-all", "sub-all-to-all", "one-to-all", "all-to-one"),
    *("recursive-doubling", "rhvd", "binomial", "bruck", "rabenseifner", "pairwise"),
    *("allreduce", "allgather", "reduce-scatter", "broadcast", "gather", "scatter"),
    *("hybrid", "sequence", "mix", "matrix", "training"),
}
"""Names that scripts rely on."""


def named(spec):
    """Return a short test id."""
    options = (f"{key}={value}" for key, value in spec.items() if key not in {"name", "file"})
    return " ".join([spec["name"], *options]).replace("{'name': ", "").replace("}", "")


every_spec = pytest.mark.parametrize("spec", SPECS, ids=named)


def test_the_registry_has_the_names_that_scripts_rely_on():
    assert set(PATTERNS) == NAMES


def fitting(pattern):
    """Return a rank count that the pattern exists for, large where possible."""
    return next(n for n in (24, 16, 12, 4) if not isinstance(outcome(pattern, n), PatternError))


def outcome(pattern, n_ranks):
    """Return the steps, or the error where the pattern does not exist for so many ranks."""
    try:
        return pattern.steps(n_ranks)
    except PatternError as error:
        return error


@every_spec
def test_steps_hold_proper_messages_for_any_rank_count(spec):
    """Positive finite bytes, ranks in range, nobody to itself, no empty step; or an error."""
    pattern = make_pattern(spec)
    built = 0
    for n_ranks in range(1, 71):
        steps = outcome(pattern, n_ranks)
        if isinstance(steps, PatternError):
            assert str(n_ranks) in str(steps) or f"0..{n_ranks - 1}" in str(steps)
            continue
        built += 1
        assert not steps if n_ranks == 1 else steps or spec["name"] == "shift"
        for step in steps:
            assert step.src.dtype == step.dst.dtype == np.int64
            assert step.nbytes.dtype == np.float64
            assert step.src.shape == step.dst.shape == step.nbytes.shape != (0,)
            assert np.all((step.src >= 0) & (step.src < n_ranks))
            assert np.all((step.dst >= 0) & (step.dst < n_ranks))
            assert np.all(step.src != step.dst)
            assert np.all((step.nbytes > 0) & np.isfinite(step.nbytes))

    assert built > 1


@every_spec
def test_a_pair_of_ranks_exchanges_at_most_one_message_each_way_in_a_step(spec):
    """Messages that would meet the same partner twice are one."""
    pattern = make_pattern(spec)
    for n_ranks in (2, 3, 4, 6, 8, 12, 24, 30):
        steps = outcome(pattern, n_ranks)
        if isinstance(steps, PatternError):
            continue
        for step in steps:
            assert np.unique(step.src * n_ranks + step.dst).size == step.src.size


@every_spec
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


@every_spec
def test_steps_are_new_lists_that_callers_may_change(spec):
    pattern = make_pattern(spec)
    n_ranks = fitting(pattern)
    steps = pattern.steps(n_ranks)
    count = len(steps)

    steps.clear()

    assert len(pattern.steps(n_ranks)) == count > 0


@every_spec
def test_no_pattern_exists_for_less_than_one_rank(spec):
    with pytest.raises(PatternError, match="at least 1 rank, got 0"):
        make_pattern(spec).steps(0)


@every_spec
def test_an_unknown_option_is_an_error_that_lists_the_known_ones(spec):
    known = sorted(field.name for field in fields(PATTERNS[spec["name"]]) if field.init)

    with pytest.raises(PatternError) as caught:
        make_pattern({**spec, "nbites": 1})

    assert f"pattern {spec['name']!r}: unknown option 'nbites'" in str(caught.value)
    assert f"choose from {', '.join(known)}" in str(caught.value)


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_a_missing_required_option_is_an_error_that_names_it(name):
    with pytest.raises(PatternError, match=f"pattern '{name}': .*{next(iter(REQUIRED[name]))}"):
        make_pattern({"name": name})


@pytest.mark.parametrize("spec", SIZED[: len(NAMES)], ids=named)
def test_bytes_that_are_no_positive_number_are_an_error(spec):
    for value in (0, -1, float("nan"), float("inf"), 10**400, "1 MiB", True, None, [1]):
        with pytest.raises(PatternError, match="nbytes: expected a positive number, got"):
            make_pattern({**spec, "nbytes": value})


@pytest.mark.parametrize("spec", SCALING, ids=named)
def test_bytes_scale_with_the_size(spec):
    """Twice the size is twice the bytes of every message."""
    single, double = (make_pattern({**spec, "nbytes": nbytes}) for nbytes in (100, 200))
    n_ranks = fitting(single)

    for one, two in zip(single.steps(n_ranks), double.steps(n_ranks), strict=True):
        np.testing.assert_allclose(two.nbytes, 2 * one.nbytes)
