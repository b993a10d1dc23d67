"""Comma-separated values: texts that a spreadsheet would take for formulas stay texts."""

import csv
import re
from collections.abc import Iterable, Sequence

_FORMULA = re.compile("'*[=+@\t\r\n\uff0b\uff0d\uff1d\uff20-]")  # the wide forms as well
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "vertical bars", " ": "blanks"}
_END = "\r\n"


def sheet(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""
    Write a table as comma-separated values.

    Result: a line for the header and one for each row. A text that starts like a formula (``=``,
    ``+``, ``-``, ``@``, tab or line end) and is no number gets an apostrophe in front, as OWASP
    advises against CSV injection; `plain_cell` takes it off again.

    >>> sheet(["user", "change"], [["=1+1", -0.5], ["-7", None]])
    "user,change\n'=1+1,-0.5\n-7,\n"
    """
    lines = _Lines()
    writer = csv.writer(lines, lineterminator=_END)  # with which cells of either are quoted
    writer.writerow(map(_guard_cell, header))
    for row in rows:
        writer.writerow(map(_guard_cell, row))
    return "".join(lines.written)


def refuse_separator(
    header: Sequence[str], place: str, error: type[ValueError], expected: str = "commas"
) -> None:
    """Refuse a table whose header is not parted by the expected separator."""
    only = header[0].strip() if len(header) == 1 else ""
    found = next((name for mark, name in _SEPARATORS.items() if mark in only), "")
    if found:
        raise error(f"{place}: expected columns separated by {expected}, got {found}.")


def plain_cell(cell: str) -> str:
    """
    Return the text of a cell that was read.

    >>> plain_cell("'=1+1"), plain_cell("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell, 1) else cell


class _Lines:
    """Takes lines as the writer ends them, and ends them as we do."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, line: str) -> None:
        """Keep a line."""
        self.written.append(line.removesuffix(_END) + "\n")


def _guard_cell(value: object) -> object:
    """Return what stands in a cell."""
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value
    return None if value != value else value  # noqa: PLR0124 (NaN)
