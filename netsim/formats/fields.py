"""Fields: the entries of a topology table, read with checks that name the field."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeGuard

from netsim.errors import TopologyError, UnitError
from netsim.units import parse_buffer, parse_latency, parse_rates


class Fields:
    """
    Entries of a table; what nobody asked for is unknown.

    Parameters
    ----------
    table : mapping
        Field names and values, as TOML or JSON gives them.
    where : str
        What the table describes, for messages.
    """

    def __init__(self, table: Mapping[str, Any], where: str) -> None:
        self._table = table
        self._known: set[str] = set()
        self._where = where

    def fault(self, name: str, expected: str) -> TopologyError:
        """
        Make the error of a field.

        Parameters
        ----------
        name : str
            The field.
        expected : str
            What it should hold.

        Returns
        -------
        TopologyError
            To be raised by the caller.
        """
        got = f"got {self._table[name]!r}" if name in self._table else "it is missing"
        return TopologyError(f"{self._where}: field {name!r} must be {expected}, {got}.")

    def has(self, name: str) -> bool:
        """
        Return whether a field is there, and take note that it may be.

        Parameters
        ----------
        name : str
            The field.

        Returns
        -------
        bool
            True if the table holds it.
        """
        self._known.add(name)
        return name in self._table

    def raw(self, name: str) -> object:
        """
        Return what stands in a field, unchecked.

        Parameters
        ----------
        name : str
            The field.

        Returns
        -------
        object
            Its value; None when it is absent.
        """
        return self._table[name] if self.has(name) else None

    def integer(self, name: str, default: int | None = None, *, least: int = 1) -> int:
        """
        Read a whole number.

        Parameters
        ----------
        name : str
            The field.
        default : int, optional
            Value of an absent field; without it the field is required.
        least : int, default 1
            Smallest value allowed.

        Returns
        -------
        int
            The value.

        Raises
        ------
        TopologyError
            If it is absent and required, or no such number.
        """
        if not self.has(name) and default is not None:
            return default
        value = self._table.get(name)
        if not _is_integer(value) or value < least:
            raise self.fault(name, f"a whole number from {least}")
        return value

    def integers(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """
        Read a list of positive whole numbers.

        Parameters
        ----------
        name : str
            The field.
        default : tuple of int, optional
            Value of an absent field; without it the field is required.

        Returns
        -------
        tuple of int
            The values.

        Raises
        ------
        TopologyError
            If it is absent and required, or no such list.
        """
        if not self.has(name) and default is not None:
            return default
        value = self._table.get(name)
        if not isinstance(value, (list, tuple)) or not value:
            raise self.fault(name, "a list of whole numbers from 1")
        if not all(_is_integer(entry) and entry >= 1 for entry in value):
            raise self.fault(name, "a list of whole numbers from 1")
        return tuple(value)

    def flags(self, name: str, count: int, *, default: bool) -> tuple[bool, ...]:
        """
        Read one boolean for all, or one for each.

        Parameters
        ----------
        name : str
            The field.
        count : int
            How many there are.
        default : bool
            Value of an absent field.

        Returns
        -------
        tuple of bool
            So many values.

        Raises
        ------
        TopologyError
            If it is neither.
        """
        value = self._table[name] if self.has(name) else default
        values = value if isinstance(value, (list, tuple)) else [value] * count
        if len(values) != count or not all(isinstance(entry, bool) for entry in values):
            raise self.fault(name, f"true or false, or a list of {count} of them")
        return tuple(values)

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        """
        Read one of several words.

        Parameters
        ----------
        name : str
            The field.
        choices : collection of str
            The words.
        default : str
            Value of an absent field.

        Returns
        -------
        str
            The word.

        Raises
        ------
        TopologyError
            If it is none of them.
        """
        value = self._table[name] if self.has(name) else default
        if not isinstance(value, str) or value not in choices:
            raise self.fault(name, "one of " + ", ".join(map(repr, choices)))
        return value

    def text(self, name: str) -> str:
        """
        Read a required text.

        Parameters
        ----------
        name : str
            The field.

        Returns
        -------
        str
            Its value.

        Raises
        ------
        TopologyError
            If it is absent, empty or no text.
        """
        value = self.raw(name)
        if not isinstance(value, str) or not value:
            raise self.fault(name, "a text")
        return value

    def rates(self, name: str, default: float) -> float | tuple[float, ...]:
        """
        Read a bandwidth, or a list of them.

        Parameters
        ----------
        name : str
            The field.
        default : float
            Value of an absent field, in bytes per second.

        Returns
        -------
        float or tuple of float
            Bytes per second.

        Raises
        ------
        TopologyError
            If a value is no positive bandwidth.
        """
        value = self._table[name] if self.has(name) else default
        try:
            rates = parse_rates(value)
        except UnitError as error:
            raise self._unread(name, error) from None
        return rates if isinstance(value, (list, tuple)) else rates[0]

    def latency(self, name: str, default: float) -> float:
        """
        Read a latency.

        Parameters
        ----------
        name : str
            The field.
        default : float
            Value of an absent field, in seconds.

        Returns
        -------
        float
            Seconds.

        Raises
        ------
        TopologyError
            If it is no duration.
        """
        try:
            return parse_latency(self._table[name]) if self.has(name) else default
        except UnitError as error:
            raise self._unread(name, error) from None

    def buffer(self, name: str, default: float) -> float:
        """
        Read what a port buffers.

        Parameters
        ----------
        name : str
            The field.
        default : float
            Value of an absent field, in bytes.

        Returns
        -------
        float
            Bytes.

        Raises
        ------
        TopologyError
            If it is no amount of data.
        """
        try:
            return parse_buffer(self._table[name]) if self.has(name) else default
        except UnitError as error:
            raise self._unread(name, error) from None

    def _unread(self, name: str, error: UnitError) -> TopologyError:
        """Make the error of a quantity that cannot be read or meant."""
        return TopologyError(f"{self._where}: field {name!r}: {error}")

    def names(self, name: str) -> tuple[str | int, ...]:
        """
        Read a list of names, host lists or numbers.

        Parameters
        ----------
        name : str
            The field.

        Returns
        -------
        tuple of str or int
            The entries; empty when the field is absent.

        Raises
        ------
        TopologyError
            If it is no such list.
        """
        if not self.has(name):
            return ()
        value = self._table[name]
        entries = value if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(entry, str) or _is_integer(entry) for entry in entries):
            raise self.fault(name, "a list of names or numbers")
        return tuple(entries)

    def look_up(self, name: str, find: Callable[[Sequence[str | int]], object]) -> None:
        """
        Check that what a list names is there.

        Parameters
        ----------
        name : str
            The field.
        find : callable
            Looks names up, and raises `TopologyError`.

        Raises
        ------
        TopologyError
            If it does, with the field.
        """
        try:
            find(self.names(name))
        except TopologyError as error:
            raise TopologyError(f"{self._where}: field {name!r}: {error}") from None

    def finish(self) -> None:
        """
        Refuse what nobody asked for.

        Raises
        ------
        TopologyError
            If the table holds a field that no one has read.
        """
        unknown = sorted(set(self._table) - self._known)
        if unknown:
            raise TopologyError(
                f"{self._where}: unknown field {unknown[0]!r}; "
                f"choose from {', '.join(sorted(self._known))}."
            )


def _is_integer(value: object) -> TypeGuard[int]:
    """Tell whole numbers from booleans and the rest."""
    return isinstance(value, int) and not isinstance(value, bool)
