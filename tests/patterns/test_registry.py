"""Patterns by name, and what the package shows."""

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

import patterns
from patterns import PATTERNS, PatternError, make_pattern


def test_the_package_shows_just_what_it_lists():
    visible = {
        name
        for name, value in vars(patterns).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }

    assert set(patterns.__all__) == visible
    assert len(patterns.__all__) == len(set(patterns.__all__))


def test_everything_shown_is_documented_in_the_package():
    assert all(f"`{name}`" in (patterns.__doc__ or "") for name in patterns.__all__)


def test_an_unknown_name_is_an_error_that_lists_the_known_ones():
    with pytest.raises(PatternError) as caught:
        make_pattern({"name": "stencl"})

    assert str(caught.value) == (
        "unknown pattern 'stencl' (did you mean 'stencil'?); "
        f"choose from {', '.join(sorted(PATTERNS))}."
    )


@pytest.mark.parametrize("spec", [{}, {"dims": 3}, None, ["stencil"]])
def test_a_specification_without_a_name_is_an_error(spec):
    with pytest.raises(PatternError, match="pattern: expected a name or a table with one, got"):
        make_pattern(spec)


@pytest.mark.parametrize("name", [3, None, ["ring"], {"name": "ring"}])
def test_a_name_that_is_no_word_is_an_error(name):
    with pytest.raises(PatternError, match="unknown pattern"):
        make_pattern({"name": name})


def test_a_wrong_value_is_an_error_that_names_the_pattern():
    with pytest.raises(PatternError, match="pattern 'stencil': dims: expected a whole number"):
        make_pattern({"name": "stencil", "dims": "3"})


def test_lists_stand_for_tuples_at_any_depth():
    one = make_pattern({"name": "stencil", "grid": [2, 2], "periodic": [True, False]})
    other = make_pattern({"name": "stencil", "grid": (2, 2), "periodic": (True, False)})

    assert one == other
    assert len({one, other}) == 1


def test_the_same_options_of_another_pattern_are_another_value():
    assert make_pattern({"name": "rhvd"}) != make_pattern({"name": "rabenseifner"})


def test_whole_and_broken_numbers_of_bytes_are_the_same():
    assert make_pattern({"name": "ring", "nbytes": 4}) == make_pattern(
        {"name": "ring", "nbytes": 4.0}
    )


@pytest.mark.parametrize("name", ["recursive-doubling", "bruck", "stencil", "binomial"])
def test_a_rank_count_from_an_array_will_do(name):
    pattern = make_pattern({"name": name})

    assert len(pattern.steps(np.array([12])[0])) == len(pattern.steps(12))


def test_scipy_is_loaded_only_by_the_patterns_that_need_it():
    """A log of stencils does not pay for meshes and matrices."""
    code = (
        "import sys; from patterns import make_pattern; "
        "make_pattern({'name': 'stencil'}).steps(64); print('scipy' in sys.modules)"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603 (our own code)

    assert found.stdout.strip() == "False"
