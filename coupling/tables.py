"""Read TOML tables field by field, with errors that name file, table, field and choices."""

from collections.abc import Mapping, Sequence
from typing import Any

from coupling.errors import ExperimentError


class Table:
    """
    One table of a file; every field is asked for once, what is left over is an error.

    Parameters
    ----------
    values : mapping of str to any
        The table as parsed.
    place : str
        File and table, e.g. ``"easy.toml: [scheduler]"``.
    """

    def __init__(self, values: object, place: str) -> None:
        if not isinstance(values, Mapping):
            raise ExperimentError(f"{place}: expected a table, got {values!r}.")
        self._values: Mapping[str, Any] = values
        self._place = place
        self._known: set[str] = set()

    def __contains__(self, key: str) -> bool:
        """Say whether the table has a field."""
        return key in self._values

    def error(self, key: str, expected: str) -> ExperimentError:
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
        ExperimentError
            Ready to be raised.
        """
        got = f"got {self._values[key]!r}" if key in self._values else "it is missing"
        return ExperimentError(f"{self._place} {key}: expected {expected}, {got}.")

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

    def flag(self, key: str, default: bool) -> bool:
        """
        Return true or false.

        Parameters
        ----------
        key : str
            Name of the field.
        default : bool
            Value where the field is missing.

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
        return Table(self._values.get(key, {}), f"{self._place[:-1]}.{key}]")

    def finish(self) -> None:
        """
        Refuse fields that nobody has asked for.

        Raises
        ------
        ExperimentError
            Naming the first of them and the known ones.
        """
        for key in self._values:
            if key not in self._known:
                known = ", ".join(sorted(self._known))
                raise ExperimentError(f"{self._place} {key}: unknown key; choose from {known}.")
