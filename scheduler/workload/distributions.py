"""Distributions of what jobs sample, as a communication profile writes them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist

import numpy as np

from netsim.common.arrays import Floats
from netsim.common.errors import UnitError
from netsim.common.rng import UNIFORM_STEP
from scheduler.errors import WorkloadError

_MOST = 1e18  # of weights, so that their sum is a number
_PAIR = 2

Unit = Callable[[str | float], float]
"""Reads a number with a unit, such as `netsim.common.units.parse_size`."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution of numbers, or one number."""

    kind: str  # "constant", "uniform", "log_uniform", "lognormal", "choice": its form
    # the constant; lowest and highest value; mean and deviation of the logarithm; or the values
    numbers: tuple[float, ...]
    weights: tuple[float, ...] = ()  # of the values of a choice; empty for equal ones

    def quantile(self, share: Floats) -> Floats:
        """Return the inverse of the cumulative distribution at shares (n,) in [0, 1)."""
        if self.kind == "choice":
            weights = self.weights or (1.0,) * len(self.numbers)
            edges = np.array(list(accumulate(weights))) / math.fsum(weights)
            index = np.searchsorted(edges, share, side="right")
            return np.array(self.numbers, dtype=np.float64)[np.minimum(index, len(weights) - 1)]
        if self.kind == "constant":
            return np.full(len(share), self.numbers[0])
        first, second = self.numbers
        if self.kind == "uniform":
            return first + (second - first) * share
        if self.kind == "log_uniform":
            return first * (second / first) ** share
        above_0 = np.maximum(share, UNIFORM_STEP)  # nothing lies below the share 0
        normal = [NormalDist().inv_cdf(part) for part in above_0.tolist()]
        return np.exp(first + second * np.array(normal))

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value that can be drawn; infinite beyond all floats."""
        if self.kind == "lognormal":
            mean, deviation = self.numbers
            reach = deviation * NormalDist().inv_cdf(1.0 - UNIFORM_STEP)
            return _bounded_exp(mean - reach), _bounded_exp(mean + reach)
        return min(self.numbers), max(self.numbers)


def _bounded_exp(power: float) -> float:
    """Return e to a power; infinite where no float is as large."""
    try:
        return math.exp(power)
    except OverflowError:
        return math.inf


def read_distribution(value: object, unit: Unit, place: str) -> Distribution:
    """
    Read a number, or a table with one of the forms, as a communication profile has it.

    ``uniform = [low, high]``, ``log_uniform = [low, high]``, ``lognormal = [mu, sigma]`` (of the
    natural logarithm of the value in seconds, bytes or as a fraction), or ``choice = [...]``, with
    ``weights`` where they are not equal.
    """
    if not isinstance(value, Mapping):
        return Distribution("constant", _read_numbers([value], unit, place))
    kinds = [key for key in value if key in _SHAPES]
    strange = sorted(set(value) - set(_SHAPES) - ({"weights"} if kinds == ["choice"] else set()))
    if strange or len(kinds) != 1:
        raise WorkloadError(
            f"{place}: expected a number or a table with one of {', '.join(_SHAPES)} "
            f"(choice may have weights), got {dict(value)!r}."
        )
    (kind,) = kinds
    entries = value[kind]
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise WorkloadError(f"{place}: expected a list after {kind}, got {entries!r}.")
    numbers = _read_numbers(entries, float if kind == "lognormal" else unit, place)
    problem = _SHAPES[kind](numbers)
    if problem:
        raise WorkloadError(f"{place}: expected {problem} after {kind}, got {list(entries)!r}.")
    return Distribution(kind, numbers, _read_weights(value.get("weights"), len(numbers), place))


def _interval_fault(numbers: Sequence[float]) -> str:
    """Say what is wrong with the ends of an interval."""
    fine = len(numbers) == _PAIR and numbers[0] <= numbers[1]
    return "" if fine else "two values, the lower first,"


def _log_interval(numbers: Sequence[float]) -> str:
    """Say what is wrong with the ends of an interval of logarithms."""
    if numbers[0] <= 0 or math.isinf(numbers[-1] / numbers[0]):
        return "two positive values"
    return _interval_fault(numbers)


def _moments_fault(numbers: Sequence[float]) -> str:
    """Say what is wrong with a mean and a deviation."""
    fine = len(numbers) == _PAIR and numbers[1] >= 0
    return "" if fine else "mean and deviation of the logarithm"


_SHAPES: dict[str, Callable[[Sequence[float]], str]] = {
    "uniform": _interval_fault,
    "log_uniform": _log_interval,
    "lognormal": _moments_fault,
    "choice": lambda _: "",
}


def _read_numbers(entries: Sequence[object], unit: Unit, place: str) -> tuple[float, ...]:
    """Read finite numbers with their units."""
    numbers = []
    for entry in entries:
        if isinstance(entry, bool) or not isinstance(entry, (int, float, str)):
            raise WorkloadError(f"{place}: expected a number, got {entry!r}.")
        try:
            number = unit(entry)
        except (UnitError, ValueError, OverflowError) as error:
            reason = error if isinstance(error, UnitError) else f"expected a number, got {entry!r}."
            raise WorkloadError(f"{place}: {reason}") from error
        if not math.isfinite(number):
            raise WorkloadError(f"{place}: expected a finite number, got {entry!r}.")
        numbers.append(number)
    return tuple(numbers)


def _read_weights(value: object, n_values: int, place: str) -> tuple[float, ...]:
    """Read the weights of a choice."""
    if value is None:
        return ()
    weights = _read_numbers(value, float, place) if isinstance(value, list) else ()
    in_range = len(weights) == n_values and 0 <= min(weights) <= max(weights) <= _MOST
    if not in_range or not any(weights):
        raise WorkloadError(
            f"{place}: expected {n_values} weights from 0 to {_MOST:g}, one above 0, got {value!r}."
        )
    return weights
