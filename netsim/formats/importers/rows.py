"""Rows of comma-separated tables, with their lines."""

import csv
from collections.abc import Sequence

from fabricsim.checking.sheets import plain_cell
from netsim.common.errors import TopologyError

Row = tuple[int, list[str]]


def read_rows(text: str, source: str) -> tuple[list[str], list[Row]]:
    """Read a header and rows parted by commas, semicolons or tabs; ``#`` starts a comment line."""
    lines = text.split("\n")
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    comma = next((mark for mark in ",;\t" if mark in first), ",")
    header: list[str] = []
    rows: list[Row] = []
    reader = csv.reader(lines, delimiter=comma, strict=True)
    try:
        for values in reader:
            row = [plain_cell(value.strip()) for value in values]
            if not any(row) or row[0].startswith("#"):
                continue
            if not header:
                header = [name.lower() for name in row]
                if len(set(header)) < len(header):
                    raise TopologyError(f"{source}:{reader.line_num}: two columns of one name.")
            elif len(row) != len(header):
                raise TopologyError(
                    f"{source}:{reader.line_num}: expected {len(header)} values, got {len(row)}."
                )
            else:
                rows.append((reader.line_num, row))
    except csv.Error as error:
        raise TopologyError(f"{source}:{reader.line_num}: expected CSV: {error}.") from None
    if not header:
        raise TopologyError(f"{source}: expected a table with a header, got nothing.")
    return header, rows


def find_column(header: Sequence[str], names: Sequence[str], source: str) -> int | None:
    """Return the number of a column; None where it is absent."""
    found = [i for i, name in enumerate(header) if name in names]
    if len(found) > 1:
        twice = " and ".join(repr(header[i]) for i in found)
        raise TopologyError(f"{source}: expected one column {names[0]!r}, got {twice}.")
    return found[0] if found else None


def need_column(header: Sequence[str], names: Sequence[str], source: str) -> int:
    """Find a column that must be there."""
    found = find_column(header, names, source)
    if found is None:
        got = ", ".join(header)[:80]
        raise TopologyError(f"{source}: expected a column {names[0]!r}, got {got!r}.")
    return found
