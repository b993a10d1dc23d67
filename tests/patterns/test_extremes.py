"""Every number of every pattern at the ends of the range of numbers: right, or refused."""

import inspect
import math
import re
import warnings

import numpy as np
import pytest

from patterns import PATTERNS, PatternError, make_pattern

NUMBERS = (
    *(0, -1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**64, 10**30, 10**400, True),
    *(0.5, 5e-324, 1e-320, 1e-300, 1e30, 1e150, 1e300, 1e308, -1e308),
    *(math.nan, math.inf, -math.inf),
)
TEXTS = ("1e-320 B", "1e-30 B", "1 EB", "1e18 B", "1e308 B", "1e300 GB", "1e999 B")
FIELDS = [
    (name, field)
    for name, made in PATTERNS.items()
    for field, parameter in inspect.signature(made).parameters.items()
    if re.search("int|float", str(parameter.annotation))
]
RING = {"name": "ring"}
FURTHER = {
    "sequence": {"parts": [RING, RING]},
    "hybrid": {"parts": [RING, RING], "weights": [0.5, 0.5]},
    "permutation": {"to": [1, 2, 3, 4, 0]},
}


@pytest.fixture
def matrix(tmp_path):
    """Return a function that writes a matrix of an entry and returns what a pattern needs."""

    def write(entry):
        (tmp_path / "m.csv").write_text(f"src,dst,bytes\n0,1,{entry}\n0,1,{entry}\n4,2,{entry}\n")
        return {"name": "matrix", "file": str(tmp_path / "m.csv")}

    return write


def outcome(spec):
    """Return the steps of a pattern of five ranks, and in their place the words of an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return make_pattern(spec).steps(5), ""
        except PatternError as error:
            return [], str(error)


def require_sense(spec, field):
    """Demand finite bytes between ranks, or one line about the field."""
    steps, words = outcome(spec)
    if words:
        assert "\n" not in words
        assert len(words) < 500
        assert field in words or "ranks" in words
    for step in steps:
        assert np.isfinite(step.nbytes).all()
        assert (step.nbytes > 0).all()
        assert set(np.concatenate([step.src, step.dst]).tolist()) <= set(range(5))


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_an_extreme_option_is_right_or_refused(name, field, matrix):
    spec = matrix(1) if name == "matrix" else {"name": name, **FURTHER.get(name, {})}
    for value in (*NUMBERS, *TEXTS):
        require_sense(spec | {field: value}, field)
        require_sense(spec | {field: [value, 1]}, field)


@pytest.mark.parametrize("entry", ["1e308", "1e-320", "5e-324", "1e300", "nan", "inf", "-1"])
def test_an_extreme_matrix_is_refused(entry, matrix):
    with pytest.raises(PatternError, match=r"m\.csv"):
        make_pattern(matrix(entry))


@pytest.mark.parametrize("scale", [1e-320, 1e308])
def test_a_scale_that_takes_entries_out_of_range_is_refused(scale, matrix):
    with pytest.raises(PatternError, match="scal"):
        make_pattern(matrix(5) | {"scale": scale})


def test_entries_that_are_shares_of_a_whole_are_taken(matrix):
    steps = make_pattern(matrix(1e-9)).steps(5)

    assert steps[0].nbytes.tolist() == [2e-9, 1e-9]
