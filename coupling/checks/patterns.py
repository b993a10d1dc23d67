"""What every pattern promises: proper messages for any number of ranks, and equal values."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass

import numpy as np

from patterns.base import Pattern, Step
from patterns.errors import PatternError

Make = Callable[..., Pattern]
"""Makes the pattern, with options over those that it has."""

_RANKS = range(1, 71)
_NO_SIZES = (0, -1, 0.5, float("nan"), float("inf"), 10**400, "1 mb", "0 B", True, None, [1])


def outcome(pattern: Pattern, n_ranks: int) -> list[Step] | PatternError:
    """Return the steps, or the error where the pattern does not exist for so many ranks."""
    try:
        return list(pattern.steps(n_ranks))
    except PatternError as error:
        return error


def is_value(make: Make) -> Iterator[str]:
    """Check that a pattern is an immutable value."""
    kind = type(make())
    if not is_dataclass(kind) or not kind.__dataclass_params__.frozen:
        yield f"{kind.__name__} is no frozen dataclass"


def proper_messages(make: Make) -> Iterator[str]:
    """Check ranks and bytes of every message, or the error where there are none."""
    pattern, built = make(), 0
    for n_ranks in _RANKS:
        steps = outcome(pattern, n_ranks)
        if isinstance(steps, PatternError):
            if str(n_ranks) not in str(steps) and f"0..{n_ranks - 1}" not in str(steps):
                yield f"{n_ranks} ranks: the error does not name the number: {steps}"
            continue
        built += 1
        if n_ranks == 1 and steps:
            yield "1 rank: sends messages"
        for place, step in enumerate(steps):
            for what in _step_faults(step, n_ranks):
                yield f"{n_ranks} ranks, step {place}: {what}"
        if steps and steps[-1].hide_s is None:
            yield f"{n_ranks} ranks: hide_s of the last step is None, expected seconds"
    if built <= 1:
        yield f"exists for {built} of the numbers of ranks from 1 to {_RANKS[-1]}"


def one_message_each_way(make: Make) -> Iterator[str]:
    """Check that messages which would meet the same partner twice are one."""
    pattern = make()
    for n_ranks in (2, 3, 4, 6, 8, 12, 24, 30):
        steps = outcome(pattern, n_ranks)
        for step in [] if isinstance(steps, PatternError) else steps:
            if np.unique(step.src * n_ranks + step.dst).size != step.src.size:
                yield f"{n_ranks} ranks: a pair exchanges two messages in one step"


def equal_values(make: Make) -> Iterator[str]:
    """Check that a pattern can be a key of a cache."""
    one, other = make(), make()
    if one != other:
        yield "two of the same options differ"
    if hash(one) != hash(other):
        yield "two of the same options have different hashes"
    for n_ranks in (2, 8, 12, 24, 60):
        first, second = outcome(one, n_ranks), outcome(other, n_ranks)
        if isinstance(first, PatternError) or isinstance(second, PatternError):
            if type(first) is not type(second):
                yield f"{n_ranks} ranks: one exists, the other does not"
        elif not _same_steps(first, second):
            yield f"{n_ranks} ranks: two of the same options give different steps"


def steps_are_new(make: Make) -> Iterator[str]:
    """Check that a caller that empties a list of steps empties his own."""
    pattern = make()
    for n_ranks in (24, 16, 12, 4):
        if isinstance(outcome(pattern, n_ranks), PatternError):
            continue
        steps = pattern.steps(n_ranks)
        count = len(steps)
        if isinstance(steps, list):
            steps.clear()
        if not len(pattern.steps(n_ranks)) == count > 0:
            yield f"{n_ranks} ranks: {count} steps, then {len(pattern.steps(n_ranks))}"
        return


def no_ranks(make: Make) -> Iterator[str]:
    """Check that no pattern exists for less than one rank."""
    found = outcome(make(), 0)
    if not isinstance(found, PatternError):
        yield f"0 ranks: {len(found)} steps come out"
    elif "got 0" not in str(found):
        yield f"0 ranks: the error does not name the number: {found}"


def unclaimed(pattern: object) -> frozenset[str]:
    """Return the rule about bytes, where a pattern has no such option."""
    options = {field.name for field in fields(pattern)}  # type: ignore[arg-type]
    return frozenset() if "nbytes" in options else frozenset([SIZES])


def sizes_are_positive(make: Make) -> Iterator[str]:
    """Check that bytes which are no positive number are refused, where bytes are an option."""
    if unclaimed(make()):
        return
    for value in _NO_SIZES:
        try:
            made = make(nbytes=value)
        except PatternError as error:
            if "nbytes: expected a size in bytes such as '64 KiB'" in str(error):
                continue
            yield f"nbytes = {str(value)[:20]!r}: the error does not say what is expected: {error}"
        else:
            yield f"nbytes = {value!r} is taken: {made!r}"


SIZES = "nbytes, where it is an option, must be a size of at least one byte"
RULES: Mapping[str, Callable[[Make], Iterator[str]]] = {
    "a pattern is a frozen dataclass; its fields are its options": is_value,
    "messages are proper for any number of ranks: int64 ranks in range, none to itself, positive "
    "float64 bytes, no empty step; or a PatternError names the number": proper_messages,
    "two ranks exchange at most one message each way in a step": one_message_each_way,
    "equal options give equal values, hashes and steps": equal_values,
    "callers may change the list of steps": steps_are_new,
    "less than one rank is refused with a PatternError": no_ranks,
    SIZES: sizes_are_positive,
}


def _step_faults(step: Step, n_ranks: int) -> Iterator[str]:
    """Yield what is wrong with the messages of one step."""
    if not (step.src.dtype == step.dst.dtype == np.int64):
        yield f"ranks are {step.src.dtype} and {step.dst.dtype}, expected int64"
    if step.nbytes.dtype != np.float64:
        yield f"bytes are {step.nbytes.dtype}, expected float64"
    if not step.src.shape == step.dst.shape == step.nbytes.shape or step.src.shape == (0,):
        yield f"shapes are {step.src.shape}, {step.dst.shape} and {step.nbytes.shape}"
        return
    for name, ranks in (("src", step.src), ("dst", step.dst)):
        if not np.all((ranks >= 0) & (ranks < n_ranks)):
            yield f"{name} holds ranks out of 0..{n_ranks - 1}"
    if not np.all(step.src != step.dst):
        yield "a rank sends to itself"
    if not np.all((step.nbytes > 0) & np.isfinite(step.nbytes)):
        yield "bytes are not positive and finite"
    if not (isinstance(step.rounds, int) and step.rounds >= 1):
        yield f"rounds are {step.rounds!r}, expected a whole number from 1"
    if step.hide_s is not None and not 0.0 <= step.hide_s < np.inf:
        yield f"hide_s is {step.hide_s!r}, expected seconds from 0, or None"


def _same_steps(first: list[Step], second: list[Step]) -> bool:
    """Say whether two lists of steps hold the same messages."""
    return len(first) == len(second) and all(
        one.rounds == other.rounds and np.array_equal(getattr(one, name), getattr(other, name))
        for one, other in zip(first, second, strict=True)
        for name in ("src", "dst", "nbytes")
    )
