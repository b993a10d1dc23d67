"""What comes in from outside: which values pass, and how a refusal reads."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fabricsim.checking import (
    Table,
    brief,
    build,
    choice,
    flag,
    number,
    path_of,
    plain,
    whole,
    wholes,
)


class DoorError(ValueError):
    """Stands for the error of a package."""


@pytest.mark.parametrize(
    ("check", "value", "found"),
    [
        (lambda v: whole("n", v, 1, 5, error=DoorError), 5, 5),
        (lambda v: whole("n", v, 1, 5, error=DoorError), np.int64(1), 1),
        (lambda v: number("x", v, 0, error=DoorError), 0, 0.0),
        (lambda v: number("x", v, error=DoorError), np.float32(0.5), 0.5),
        (lambda v: flag("f", v, error=DoorError), np.True_, True),
        (lambda v: choice("c", v, ("a", "b"), error=DoorError), "b", "b"),
        (lambda v: wholes("l", v, 1, error=DoorError), np.array([1, 2]), (1, 2)),
        (lambda v: path_of("p", v, error=DoorError), "a/b", Path("a/b")),
    ],
)
def test_what_fits_becomes_a_plain_value_of_python(check, value, found):
    assert check(value) == found
    assert type(check(value)) is type(found)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, 0, 6, float("nan"), [1], 10**400])
def test_what_is_no_whole_number_within_limits_is_refused(value):
    with pytest.raises(DoorError, match=r"^n: expected a whole number from 1 to 5, got [^\n]*\.$"):
        whole("n", value, 1, 5, error=DoorError)


@pytest.mark.parametrize(
    "value", [True, "1", None, 0, -1.0, float("nan"), float("inf"), 10**400, 1j]
)
def test_what_is_no_positive_finite_number_is_refused(value):
    with pytest.raises(DoorError, match=r"^x: expected a positive number, got [^\n]*\.$"):
        number("x", value, positive=True, error=DoorError)


@pytest.mark.parametrize("value", [[], (), "12", 3, {1: 2}, [0], [True], [1.0], None])
def test_what_is_no_list_of_whole_numbers_is_refused(value):
    with pytest.raises(DoorError, match="l: expected a list of whole numbers from 1, got"):
        wholes("l", value, 1, error=DoorError)


@pytest.mark.parametrize("value", [3, None, b"x", ["x"]])
def test_what_is_no_path_is_refused(value):
    with pytest.raises(DoorError, match="p: expected a path, got"):
        path_of("p", value, error=DoorError)


def test_a_number_of_thousands_of_digits_is_refused_in_one_short_line():
    """Python itself refuses to print it."""
    with pytest.raises(DoorError, match=r"^n: expected a whole number up to 5, got a number of"):
        whole("n", 10**5000, most=5, error=DoorError)


def test_an_error_shows_a_long_value_cut_and_on_one_line():
    assert brief("x" * 200) == "'" + "x" * 76 + "..."
    assert "\n" not in brief(np.zeros((3, 3)))


def test_python_values_become_those_of_a_file_at_any_depth():
    value = {"a": (np.int64(1), Path("x")), "b": [np.arange(2), {"c": range(2)}]}

    assert plain(value, "p", DoorError) == {"a": [1, "x"], "b": [[0, 1], {"c": [0, 1]}]}


@pytest.mark.parametrize("levels", [50, 51, 900, 100_000])
def test_lists_in_lists_are_bounded_as_in_a_file(levels):
    deep = 1
    for _ in range(levels):
        deep = [deep]

    if levels == 50:
        assert plain(deep, "p", DoorError) == deep
        return
    with pytest.raises(DoorError, match=r"^p: expected values at most 50 levels inside each other"):
        plain(deep, "p", DoorError)


def test_a_table_says_what_is_missing_wrong_and_unknown():
    table = Table({"seed": 1.5, "sede": 1}, "f.toml: [run]", DoorError)

    with pytest.raises(DoorError, match=r"f\.toml: \[run\] seed: expected a whole number"):
        table.integer("seed")
    with pytest.raises(DoorError, match=r"window: expected a whole number .* it is missing"):
        table.integer("window")
    with pytest.raises(DoorError, match=r"\[run\] sede: unknown key .* choose from seed, window"):
        table.finish()


@dataclass
class Thing:
    """What a plug-in may register: nothing is checked by itself."""

    need: float
    count: int = 1
    seed: int = 0
    loud: bool = False


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("thin", {}, "unknown gadget 'thin' .*; choose from thing"),
        (["thing"], {}, r"unknown gadget \['thing'\]; choose from thing"),
        ("thing", 3, "gadget 'thing': expected a table of options, got 3"),
        ("thing", {}, "gadget 'thing': need: expected a value, it is missing"),
        ("thing", {"need": 1, "x": 2}, "unknown option 'x'; choose from count, loud, need, seed"),
        ("thing", {"need": 1, 3: 2}, "unknown option 3; choose from"),
        ("thing", {"need": "1"}, "gadget 'thing': need: expected a number, got '1'"),
        ("thing", {"need": 1, "count": True}, "count: expected a whole number, got True"),
        ("thing", {"need": 1, "loud": "no"}, "loud: expected true or false, got 'no'"),
    ],
)
def test_a_factory_that_checks_nothing_is_given_no_nonsense(name, options, message):
    with pytest.raises(DoorError, match=message):
        build("gadget", name, {"thing": Thing}, options, DoorError)


def test_a_seed_is_handed_to_what_draws_unless_the_options_hold_one():
    def seed_of(options):
        return build("gadget", "thing", {"thing": Thing}, options, DoorError, seed=7).seed

    assert seed_of({"need": 1}) == 7
    assert seed_of({"need": 1, "seed": 3}) == 3
