"""Fields: the entries of a topology table, read with checks that name the field."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

from fabricsim.checking import Table, wholes
from netsim.common.errors import TopologyError, UnitError
from netsim.common.units import Quantity, parse_buffer, parse_latency, parse_rates, parse_size


class Fields(Table):
    """Entries of a table; a key that is never read is unknown."""

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        super().__init__(table, f"{where}:", TopologyError)

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Read a list of positive whole numbers; without a default the field is required."""
        return self._checked_field(name, default, wholes, 1)

    def flags(self, name: str, count: int, *, default: bool) -> tuple[bool, ...]:
        """Read one boolean for all, or one for each."""
        value = self.raw(name, default)
        values = value if isinstance(value, (list, tuple)) else [value] * count
        if len(values) != count or not all(isinstance(entry, bool) for entry in values):
            raise self.error(name, f"true or false, or a list of {count} of them")
        return tuple(values)

    def rates(self, name: str, default: float) -> float | tuple[float, ...]:
        """Read one or more bandwidths, in bytes per second."""
        value = self.raw(name, default)
        try:
            rates = parse_rates(value)
        except UnitError as error:
            raise self.fault(name, str(error)) from None
        return rates if isinstance(value, (list, tuple)) else rates[0]

    def latency(self, name: str, default: float) -> float:
        """Read a latency, in seconds."""
        try:
            return parse_latency(self.raw(name, default))
        except UnitError as error:
            raise self.fault(name, str(error)) from None

    def buffer(self, name: str, default: float) -> float:
        """Read what a port buffers, in bytes."""
        return self._bytes(parse_buffer, name, default)

    def size(self, name: str, default: float) -> float:
        """Read an amount of data, in bytes."""
        return self._bytes(parse_size, name, default)

    def _bytes(self, parse: Callable[[Quantity], float], name: str, default: float) -> float:
        """Read a number of bytes."""
        try:
            return parse(self.raw(name, default))
        except UnitError as error:
            raise self.fault(name, str(error)) from None

    def listed(self, name: str) -> tuple[str | int, ...]:
        """Read a list of names, host lists or numbers; empty when the field is absent."""
        value = self.raw(name, ())
        entries = value if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(entry, str) or _is_integer(entry) for entry in entries):
            raise self.error(name, "a list of names or numbers")
        return tuple(entries)

    def look_up(self, name: str, find: Callable[[Sequence[str | int]], object]) -> None:
        """Check that what a list names is there: `find` raises `TopologyError` where it is not."""
        entries = self.listed(name)
        try:
            find(entries)
        except TopologyError as error:
            raise self.fault(name, str(error)) from None


def _is_integer(value: object) -> TypeGuard[int]:
    """Distinguish whole numbers from booleans and the rest."""
    return isinstance(value, int) and not isinstance(value, bool)
