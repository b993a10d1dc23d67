"""Tables of the coupling's own documents: experiments and snapshots."""

import tomllib
from typing import Any

from checking import Table as CheckedTable
from checking import brief, plain
from coupling.errors import CouplingError, ExperimentError

__all__ = ["Table", "brief", "plain", "value_of"]


def value_of(text: str) -> Any:  # noqa: ANN401 (a TOML value)
    """
    Read a value as it is typed on a command line.

    Parameters
    ----------
    text : str
        TOML, or a bare word.

    Returns
    -------
    any
        The value.
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()


class Table(CheckedTable):
    """
    A table whose errors are the coupling's.

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
        super().__init__(values, place, kind)
