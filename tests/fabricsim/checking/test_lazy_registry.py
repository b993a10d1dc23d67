"""Things by name that are loaded when they are asked for."""

import math
from copy import copy
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from fabricsim.checking.registry import Registry
from netsim.registries.contention_models import CONTENTION_MODELS
from patterns.registry import PATTERNS
from scheduler.allocators import ALLOCATORS
from scheduler.queues import POLICIES


def test_a_thing_is_loaded_when_it_is_asked_for() -> None:
    known: Registry[type] = Registry({"b": "fractions:Fraction", "a": "no_such_module:Thing"})
    assert list(known) == ["b", "a"]
    assert "a" in known
    assert known["b"] is Fraction
    with pytest.raises(ModuleNotFoundError):
        known["a"]


def test_what_a_user_puts_in_or_takes_out_is_not_loaded() -> None:
    known: Registry[type] = Registry({"a": "no_such_module:Thing"})
    known["a"] = known["own"] = Decimal
    assert dict(known) == {"a": Decimal, "own": Decimal}
    del known["a"]
    with pytest.raises(KeyError):
        known["a"]
    assert list(known) == ["own"]


@pytest.mark.parametrize("registry", [ALLOCATORS, CONTENTION_MODELS, PATTERNS, POLICIES])
def test_all_that_is_named_is_there(registry: Registry[object]) -> None:
    assert all(map(callable, registry.values()))


def registry() -> Registry[Any]:
    return Registry({"sums": "math:fsum", "root": "math:sqrt"})


def test_a_thing_that_could_not_be_loaded_is_loaded_when_it_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread that asks while another one loads finds it as well."""
    things = registry()
    with monkeypatch.context() as patch:
        patch.setattr("fabricsim.checking.registry.import_module", _out_of_memory)
        with pytest.raises(MemoryError):
            things["root"]

    assert things["root"] is math.sqrt


def _out_of_memory(_: str) -> None:
    raise MemoryError


def test_registries_are_joined_as_dictionaries_are() -> None:
    own = {"root": math.cbrt, "own": math.exp}
    joined, behind = registry() | own, own | registry()
    things = registry()
    things |= own

    assert dict(joined) == dict(things) == {"sums": math.fsum, **own}
    assert behind == {"sums": math.fsum, "root": math.sqrt, "own": math.exp}


def test_what_a_copy_loads_is_not_lost_to_the_original() -> None:
    things = registry()
    for other in (copy(things), things.copy()):
        assert other["root"] is math.sqrt
        other["own"] = math.exp
        assert "own" not in things

    assert things["root"] is math.sqrt
