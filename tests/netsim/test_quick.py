"""Frozen dataclasses that are made quickly are what they would be otherwise."""

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from netsim.quick import quickly_made


@dataclass(frozen=True, slots=True)
class Slow:
    first: int
    second: tuple[int, ...]
    third: str = "none"
    fourth: object = None


@quickly_made
@dataclass(frozen=True, slots=True)
class Quick:
    first: int
    second: tuple[int, ...]
    third: str = "none"
    fourth: object = None


class Derived(Quick):
    pass


GIVEN = [((1, (2, 3)), {}), ((1,), {"second": (), "fourth": 4.5}), ((1, (2,), "three", 4), {})]


def seen(thing):
    return repr(thing).partition("(")[2], hash(thing)


@pytest.mark.parametrize(("values", "named"), GIVEN)
def test_an_object_has_the_fields_of_one_that_is_made_slowly(values, named):
    made = Quick(*values, **named)
    assert seen(made) == seen(Slow(*values, **named))
    assert type(made) is Quick
    assert made == Quick(*values, **named) != replace(made, first=7)


def test_no_field_can_be_set_afterwards():
    made = Quick(1, ())
    with pytest.raises(FrozenInstanceError):
        made.first = 2
    with pytest.raises(FrozenInstanceError):
        del made.third


def test_what_is_missing_is_told_as_before():
    with pytest.raises(TypeError, match=r"Quick.__init__\(\) missing 1 .*'second'"):
        Quick(1)
    assert inspect.signature(Quick) == inspect.signature(Slow)


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))  # noqa: S301 (our own)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_copies_are_equal(again):
    made = Quick(1, (2, 3), fourth=4.5)
    assert again(made) == made
    assert type(again(made)) is Quick


def test_derived_classes_are_made_slowly():
    made = Derived(1, (2, 3))
    assert type(made) is Derived
    assert (made.first, made.second, made.third) == (1, (2, 3), "none")
