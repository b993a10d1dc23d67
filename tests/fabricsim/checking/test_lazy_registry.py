"""Things by name that are loaded when they are asked for."""

from decimal import Decimal
from fractions import Fraction

import pytest

from fabricsim.checking.registry import Registry
from netsim.contention_models import CONTENTION_MODELS
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
