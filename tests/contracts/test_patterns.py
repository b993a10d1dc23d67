"""What every pattern of the registry promises."""

from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from coupling.checks.patterns import RULES, outcome
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
    *("hybrid", "sequence", "mix", "matrix", "training", "gpu-collective"),
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


@every_spec
@pytest.mark.parametrize("rule", RULES)
def test_a_pattern_keeps_the_rule(rule, spec):
    assert list(RULES[rule](partial(with_options, spec))) == []


def with_options(spec, **more):
    """Make a pattern with options over those of a specification."""
    return make_pattern({**spec, **more})


@every_spec
def test_two_ranks_and_more_talk(spec):
    """A shift by all ranks moves nothing."""
    pattern = make_pattern(spec)
    for n_ranks in range(2, 71):
        steps = outcome(pattern, n_ranks)
        assert isinstance(steps, PatternError) or steps or spec["name"] == "shift"


@every_spec
def test_steps_are_lists(spec):
    """Callers may change them."""
    pattern = make_pattern(spec)

    assert isinstance(pattern.steps(fitting(pattern)), list)


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


@pytest.mark.parametrize("spec", SCALING, ids=named)
def test_bytes_scale_with_the_size(spec):
    """Twice the size is twice the bytes of every message."""
    single, double = (make_pattern({**spec, "nbytes": nbytes}) for nbytes in (100, 200))
    n_ranks = fitting(single)

    for one, two in zip(single.steps(n_ranks), double.steps(n_ranks), strict=True):
        np.testing.assert_allclose(two.nbytes, 2 * one.nbytes)
