"""What a sweep combines with what."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coupling.errors import CouplingError
from coupling.sweep.factors import MOST_CELLS, read_design
from scheduler.errors import WorkloadError

PLACE = "f.toml: [sweep]"
NAMES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4, unique=True)
LISTS = st.lists(st.integers(-50, 50), min_size=1, max_size=4, unique=True)


@st.composite
def grids(draw):
    return {f"run.{name}": draw(LISTS) for name in draw(NAMES)}


def combined(tables):
    return list(read_design(tables, PLACE).combinations())


@given(grids())
def test_a_grid_has_every_combination_once(grid):
    """The cross product, by the standard library."""
    found = [tuple(values[name] for name in grid) for values in combined(grid)]

    assert found == list(product(*grid.values()))


@given(grids(), LISTS, st.integers(1, 6))
def test_zipped_lists_go_in_step_and_samples_are_joint(grid, values, samples):
    """A zip and the samples count once each, whatever the number of their factors."""
    pairs = {"network.a": values, "network.b": [-value for value in values]}
    chance = {"network.c": {"uniform": [0, 1]}, "network.d": {"integers": [1, 3]}}
    tables = {**grid, "zip": [pairs], "random": chance, "samples": samples}
    found = combined(tables)

    one_sample = {(v["sample"], v["network.c"], v["network.d"]) for v in found}
    assert len(found) == len(read_design(grid, PLACE)) * len(values) * samples
    assert all(v["network.a"] == -v["network.b"] for v in found)
    assert len(one_sample) == samples
    assert all(0 <= c < 1 and d in (1, 2, 3) for _, c, d in one_sample)


@given(st.integers(0, 2**32), st.integers(1, 20), st.integers(1, 20))
def test_more_samples_begin_with_the_same_ones(seed, few, more):
    """A sweep that is made longer keeps its cells; another factor beside changes no sample."""
    own = {"network.c": {"lognormal": [0.0, 1.0]}}
    short = combined({"random": own, "samples": few, "seed": seed})
    beside = {**own, "network.d": {"log_uniform": [1, 10]}}
    long = combined({"random": beside, "samples": few + more, "seed": seed})

    assert [v["network.c"] for v in short] == [v["network.c"] for v in long[:few]]


def test_names_may_be_dotted_or_tables():
    """TOML reads a name without quotes as tables inside each other."""
    bare = {"scheduler": {"allocator": ["ta"], "allocator_options": {"order": ["index"]}}}

    assert combined(bare) == [
        {"scheduler.allocator": "ta", "scheduler.allocator_options.order": "index"}
    ]


def test_a_choice_may_be_of_anything():
    drawn = combined(
        {"random": {"scheduler.queue": {"choice": ["easy", {"name": "sjf"}]}}, "samples": 40}
    )

    values = [one["scheduler.queue"] for one in drawn]
    assert "easy" in values
    assert {"name": "sjf"} in values


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        ({}, r"f.toml: \[sweep\]: expected lists of values by name of a field, got none\."),
        ({"run.seed": []}, r"run.seed: expected a list of values, got \[\]\."),
        ({"run.seed": 3}, r"run.seed: expected a list of values, got 3\."),
        ({"run.seed": [1, 2, 1]}, r"run.seed: 1 is there twice"),
        ({"zip": [{"run.a": [1, 2], "run.b": [1]}]}, r"one length, got: run.a has 2, run.b has 1"),
        ({"zip": [{"run.a": [1]}], "run.a": [1]}, r"run.a: varied twice"),
        ({"zip": {"run.a": [1]}}, r"zip: expected a list of tables of lists"),
        ({"random": {"run.a": {"uniform": [0, 1]}}}, r"samples: expected a whole number from 1 on"),
        ({"samples": 3}, r"random: expected distributions by name of a field, got none"),
        ({"random": {"run.a": 3}, "samples": 1}, r"run.a: expected a distribution, got 3"),
        ({"random": {"run.a": {"integers": [3, 1]}}, "samples": 1}, r"integers = \[first, last\]"),
        ({"run.a": list(range(1001)), "run.b": list(range(1001))}, rf"at most {MOST_CELLS:,}"),
    ],
)
def test_a_design_that_makes_no_sense_is_told(tables, told):
    """An empty grid is no sweep."""
    with pytest.raises(CouplingError, match=told):
        read_design(tables, PLACE)


def test_a_wrong_interval_is_told_as_in_profiles():
    """One reader of distributions."""
    with pytest.raises(WorkloadError, match=r"run.a: expected two values, the lower first"):
        read_design({"random": {"run.a": {"uniform": [2, 1]}}, "samples": 2}, PLACE)
