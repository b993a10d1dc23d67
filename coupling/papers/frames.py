"""Small tables as JSON, and back."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd


def to_json(table: pd.DataFrame) -> dict[str, Any]:
    """Return a table of texts and numbers as JSON has it: columns, and rows; NaN is null."""
    plain = table.astype(object).where(table.notna(), None)
    rows = [[_plain(cell) for cell in row] for row in plain.itertuples(index=False, name=None)]
    return {"columns": [str(name) for name in table.columns], "rows": rows}


def _plain(cell: Any) -> Any:  # noqa: ANN401 (of a table)
    """Return a cell as Python has it; six digits are kept of a number."""
    if hasattr(cell, "item"):
        cell = cell.item()
    return float(f"{cell:.6g}") if isinstance(cell, float) and math.isfinite(cell) else cell


def from_json(document: Mapping[str, Any]) -> pd.DataFrame:
    """Return the table that `to_json` wrote."""
    table = pd.DataFrame(document["rows"], columns=document["columns"])
    for name in table.columns:
        if not any(isinstance(cell, str) for cell in table[name]):
            table[name] = pd.to_numeric(table[name]).astype("float64")
    return table
