"""Write what a command measured against packets into the table that reports and pages quote."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from measured.packets import Errors

from netsim.registries import accuracy
from netsim.registries.accuracy import TABLE, Comparison

PLACE = Path(accuracy.__file__).with_name(TABLE)
DIGITS = 6  # more would be noise of the machine that measured


def comparison_of(e: Errors, source: str, **setting: Any) -> Comparison:  # noqa: ANN401 (its fields)
    """Return a row of the table; `source`: the command, `setting`: the row's other fields."""
    return Comparison(
        jobs=e.n_jobs,
        mean_error=e.mean / 100,
        p90_error=e.p90 / 100,
        worst_error=e.worst / 100,
        contended_error=e.contended / 100,
        bias=e.bias,
        rank=e.rank,
        source=source,
        **setting,
    )


def record_comparisons(source: str, rows: Sequence[Comparison], path: Path = PLACE) -> None:
    """
    Replace the rows of one command.

    Parameters
    ----------
    source : str
        The command, as in the rows.
    rows : sequence of Comparison
        What it measured.
    path : Path, optional
        The table.
    """
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    kept = [row for row in old if row["source"] != source]
    new = [
        {key: round(v, DIGITS) if isinstance(v, float) else v for key, v in asdict(row).items()}
        for row in rows
    ]
    lines = ",\n".join(json.dumps(row) for row in [*kept, *new])
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
