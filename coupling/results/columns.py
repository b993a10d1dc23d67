"""Tables of a result: which columns they have, and how a file of one is read and checked."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from coupling.errors import ResultError
from fabricsim.checking import brief
from fabricsim.checking.inputs import MOST_BYTES
from fabricsim.checking.parquets import parquet_table

if TYPE_CHECKING:
    import pandas as pd

TEXT = "text"  # as pandas keeps it
NAMES = "category"  # one of a few texts
_MOST_ROWS = 20_000_000  # twice the links of the largest fabric; a row of them takes 50 bytes
_MOST = 1e60  # of which sums and products still are numbers
_MAY_LACK = {"communication_cost"}  # numbers that no job has on some fabrics
JOB_COLUMNS = {
    "id": "int64",
    "submit_s": "float64",
    "start_s": "float64",
    "end_s": "float64",
    "n_nodes": "int64",
    "idle_nodes": "int64",
    "runtime_reference_s": "float64",
    "wait_s": "float64",
    "turnaround_s": "float64",
    "network_slowdown": "float64",
    "interference": "float64",
    "placement_factor": "float64",
    "interference_delay_s": "float64",
    "pattern": TEXT,
    "comm_fraction": "float64",
    "aph": "float64",
    "communication_cost": "float64",
    "nodes": TEXT,
    "killed": "bool",
    "dropped": TEXT,
}
COLUMNS = {
    "jobs": JOB_COLUMNS,
    "links": {
        "link": TEXT,
        "class": TEXT,
        "bytes": "float64",
        "busy_fraction": "float64",
        "interference_delay_node_s": "float64",
    },
    "timeline": {
        "time_s": "float64",
        "running": "int64",
        "queued": "int64",
        "utilization": "float64",
        "mean_interference": "float64",
    },
    "blame": {
        "victim": "int64",
        "culprit": "int64",
        "link_class": NAMES,
        "interference_delay_node_s": "float64",
    },
    "partitions": {"id": "int64", "links": TEXT},
}
FURTHER = {
    "waits": {
        "id": "int64",
        "reason": NAMES,
        "holder": "int64",
        "root": NAMES,
        "wait_s": "float64",
        "first_s": "float64",
        "last_s": "float64",
    },
    "events": {"time_s": "float64", "action": TEXT, "what": TEXT, "n_nodes": "int64"},
    "failures": {
        "id": "int64",
        "start_s": "float64",
        "end_s": "float64",
        "n_nodes": "int64",
        "lost_s": "float64",
        "cause": TEXT,
        "nodes": TEXT,
    },
    "links/timeline": {
        "begin_s": "float64",
        "end_s": "float64",
        "link": "int32",
        "bytes": "float64",
        "busy_fraction": "float64",
    },
}
"""Columns of tables that not every result has, by name of the file."""


def read_table(name: str, path: Path, data: bytes) -> "pd.DataFrame":
    """Read a table of a result. `name`: which one: a key of `COLUMNS` or `FURTHER`."""
    table = decoded(path, data)
    for column, kind in (COLUMNS | FURTHER)[name].items():
        if list(table.columns).count(column) != 1:
            raise ResultError(
                f"{path}: expected one column {column!r}, got {brief(list(table.columns))}."
            )
        if table.empty:
            table[column] = _no_values(kind)
        if not _is_type(table[column], kind):
            raise ResultError(
                f"{path}: column {column!r}: expected values of type {kind}, "
                f"got {table[column].dtype}."
            )
        if kind == "float64" and not table.empty and (table[column].abs() > _MOST).any():
            worst = table[column].abs().max()
            raise ResultError(
                f"{path}: column {column!r}: expected numbers up to {_MOST:g}, got {worst:g}."
            )
    if name == "jobs":
        there = finished(table)
        for column, kind in JOB_COLUMNS.items():
            wanted = kind == "float64" and column not in _MAY_LACK
            if wanted and there[column].isna().any():
                raise ResultError(f"{path}: column {column!r}: expected a number for every job.")
        ran = there["id"]
        if ran.duplicated().any():
            twice = ran[ran.duplicated()].iloc[0]
            raise ResultError(f"{path}: column 'id': expected every job once, got {twice} twice.")
    return table


def finished(jobs: "pd.DataFrame") -> "pd.DataFrame":
    """Return the jobs of a job table that ran; mostly all the others stand behind them."""
    ran = (jobs["dropped"] == "").to_numpy()
    n_ran = int(np.count_nonzero(ran))
    return jobs[:n_ran] if ran[:n_ran].all() else jobs[ran]


def typed(name: str, table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table to be written: without rows its columns have no types by themselves."""
    if not table.empty:
        return table
    kinds = (COLUMNS | FURTHER)[name]
    return table.assign(**{key: _no_values(kinds[key]) for key in table.columns if key in kinds})


def _no_values(kind: str) -> "pd.Series":
    """Return no values of a type."""
    import pandas as pd  # noqa: PLC0415 (slow to import)

    return pd.Series([], dtype="str" if kind == TEXT else kind)


def decoded(path: Path, data: bytes) -> "pd.DataFrame":
    """Return what a file of a table holds, if it is not too large."""
    from pyarrow import ArrowException  # noqa: PLC0415 (slow to import)

    table = parquet_table(data, str(path), _MOST_ROWS, 4 * MOST_BYTES, ResultError)
    try:
        frame: pd.DataFrame = table.to_pandas()
    except (ArrowException, ValueError, LookupError, TypeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ResultError(f"{path}: expected a Parquet file, got: {brief(reason)}.") from None
    return frame


def _is_type(values: "pd.Series", kind: str) -> bool:
    """Say whether a column holds values of a type; texts may not be missing."""
    import pandas as pd  # noqa: PLC0415 (slow to import)

    if kind not in (TEXT, NAMES):
        return str(values.dtype) == kind
    if values.isna().any():
        return False
    if kind == NAMES:
        return isinstance(values.dtype, pd.CategoricalDtype)
    return pd.api.types.infer_dtype(values) == "string"
