"""Numbers of papers as cells of tables and as charts take them."""

from collections.abc import Sequence

import pandas as pd


def span(values: Sequence[float] | pd.Series, digits: int, unit: str = "") -> str:
    """Return from where to where values go."""
    own = [float(value) for value in values]
    if not own:
        return "-"
    ends = dict.fromkeys(f"{value:.{digits}f}" for value in (min(own), max(own)))
    return "-".join(ends) + unit


def pivot(
    table: pd.DataFrame, row: str, column: str, value: str, digits: int, *, heads: Sequence[str]
) -> list[list[str]]:
    """
    Return a number by two columns as rows of cells, first seen first.

    `heads`: of the sheet, that of the rows first: a cell stands below its own, whatever the order
    of the table and however much of it is missing.
    """
    rows = list(dict.fromkeys(table[row]))
    known = table.set_index([row, column])[value]
    return [
        [r, *(f"{known[r, c]:.{digits}f}" if (r, c) in known.index else "-" for c in heads[1:])]
        for r in rows
    ]


def long(table: pd.DataFrame, kind: str, value: str, run: str = "policy") -> pd.DataFrame:
    """Return a table as charts take it."""
    return pd.DataFrame(
        {"class": table[kind], "run": table[run], "ours": table[value]}
    ).reset_index(drop=True)
