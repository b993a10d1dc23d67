"""Read tables of TOML and JSON field by field; errors name file, place, field and choices."""

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import PurePath
from typing import Any

import numpy as np

from coupling.errors import CouplingError, ExperimentError

_BRIEF = 80  # characters of a wrong value that an error shows


def brief(value: object) -> str:
    """
    Write a value for an error message: on one line, and not all of a long one.

    Parameters
    ----------
    value : object
        What came.

    Returns
    -------
    str
        Its representation, cut where it is long.
    """
    text = repr(value)
    return text if len(text) <= _BRIEF else f"{text[: _BRIEF - 3]}..."


def plain(value: Any) -> Any:  # noqa: ANN401 (whatever a table may hold)
    """
    Turn what stands for lists, texts and numbers in Python into those that a file can hold.

    Parameters
    ----------
    value : any
        A table, or what stands in one.

    Returns
    -------
    any
        Lists for arrays, tuples and ranges, texts for paths, Python's numbers for numpy's, at any
        depth; anything else as it is.
    """
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple, range)):
        return [plain(entry) for entry in value]
    return str(value) if isinstance(value, PurePath) else value


class Table:
    """
    One table of a file; every field is asked for once, what is left over is an error.

    Parameters
    ----------
    values : mapping of str to any
        The table as parsed.
    place : str
        File and table, e.g. ``"easy.toml: [scheduler]"``.
    kind : type of CouplingError
        Class of the errors.
    """

    def __init__(
        self, values: object, place: str, kind: type[CouplingError] = ExperimentError
    ) -> None:
        self._kind = kind
        if not isinstance(values, Mapping):
            raise kind(f"{place}: expected a table, got {brief(values)}.")
        self._values: Mapping[str, Any] = values
        self._place = place
        self._known: set[str] = set()

    def __contains__(self, key: str) -> bool:
        """Say whether the table has a field, which is then known."""
        self._known.add(key)
        return key in self._values

    def error(self, key: str, expected: str) -> CouplingError:
        """
        Make the error for a bad field.

        Parameters
        ----------
        key : str
            Name of the field.
        expected : str
            What it should hold.

        Returns
        -------
        CouplingError
            Of the table's kind, ready to be raised.
        """
        got = f"got {brief(self._values[key])}" if key in self._values else "it is missing"
        return self._kind(f"{self._place} {key}: expected {expected}, {got}.")

    def fault(self, key: str, what: str) -> CouplingError:
        """
        Make the error for a field that something else found bad.

        Parameters
        ----------
        key : str
            Name of the field.
        what : str
            What is wrong, as a sentence.

        Returns
        -------
        CouplingError
            Of the table's kind, ready to be raised.
        """
        return self._kind(f"{self._place} {key}: {what}")

    def text(self, key: str, default: str | None = None, choices: Sequence[str] = ()) -> str:
        """
        Return a text field.

        Parameters
        ----------
        key : str
            Name of the field.
        default : str, optional
            Value where the field is missing; without it the field must be there.
        choices : sequence of str, optional
            Allowed values.

        Returns
        -------
        str
            The value.
        """
        self._known.add(key)
        value = self._values.get(key, default)
        if not isinstance(value, str) or (choices and value not in choices):
            raise self.error(key, f"one of {', '.join(choices)}" if choices else "a text")
        return value

    def integer(self, key: str, default: int | None = None, least: int = 0) -> int:
        """
        Return a whole number.

        Parameters
        ----------
        key : str
            Name of the field.
        default : int, optional
            Value where the field is missing; without it the field must be there.
        least : int, default 0
            Smallest allowed value.

        Returns
        -------
        int
            The value.
        """
        self._known.add(key)
        value = self._values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(key, f"a whole number from {least}")
        return value

    def number(
        self, key: str, default: float | None = None, least: float = 0.0, most: float = inf
    ) -> float:
        """
        Return a number.

        Parameters
        ----------
        key : str
            Name of the field.
        default : float, optional
            Value where the field is missing; without it the field must be there.
        least, most : float
            Smallest and largest allowed value.

        Returns
        -------
        float
            The value.
        """
        self._known.add(key)
        value = self._values.get(key, default)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not least <= value <= most:
            limits = f"from {least:g}" if most == inf else f"from {least:g} to {most:g}"
            raise self.error(key, f"a number {limits}")
        return float(value)

    def flag(self, key: str, default: bool | None = None) -> bool:
        """
        Return true or false.

        Parameters
        ----------
        key : str
            Name of the field.
        default : bool, optional
            Value where the field is missing; without it the field must be there.

        Returns
        -------
        bool
            The value.
        """
        self._known.add(key)
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "true or false")
        return value

    def names(self, key: str) -> tuple[str, ...]:
        """
        Return a list of texts.

        Parameters
        ----------
        key : str
            Name of the field; missing means an empty list.

        Returns
        -------
        tuple of str
            The values, all different.
        """
        self._known.add(key)
        value = self._values.get(key, [])
        is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not is_list or len(set(value)) != len(value):
            raise self.error(key, "a list of different names")
        return tuple(value)

    def raw(self, key: str, default: object = None) -> Any:  # noqa: ANN401 (checked by its reader)
        """
        Return a field as it is, for a reader of its own.

        Parameters
        ----------
        key : str
            Name of the field.
        default : object, optional
            Value where the field is missing.

        Returns
        -------
        any
            The value.
        """
        self._known.add(key)
        return self._values.get(key, default)

    def table(self, key: str) -> "Table":
        """
        Return a table inside this one.

        Parameters
        ----------
        key : str
            Name of the table; missing means an empty one.

        Returns
        -------
        Table
            The inner table.
        """
        self._known.add(key)
        return Table(self._values.get(key, {}), f"{self._place[:-1]}.{key}]", self._kind)

    def mapping(self, key: str) -> dict[str, Any]:
        """
        Return a table inside this one as it is, for what checks its own options.

        Parameters
        ----------
        key : str
            Name of the field; missing means an empty table.

        Returns
        -------
        dict
            Its entries.
        """
        value = self.raw(key, {})
        if not isinstance(value, Mapping):
            raise self.error(key, "a table of options")
        return dict(value)

    def renamed(self, place: str) -> "Table":
        """
        Return the table with a better name for errors; what was asked for stays known.

        Parameters
        ----------
        place : str
            File and table.

        Returns
        -------
        Table
            A view of the same fields.
        """
        table = Table(self._values, place, self._kind)
        table._known = self._known
        return table

    def finish(self) -> None:
        """
        Refuse fields that nobody has asked for.

        Raises
        ------
        CouplingError
            Of the table's kind, naming the first of them and the known ones.
        """
        for key in self._values:
            if key not in self._known:
                known = ", ".join(sorted(self._known))
                name = key if str(key).isprintable() else brief(key)
                raise self._kind(f"{self._place} {name}: unknown key; choose from {known}.")
