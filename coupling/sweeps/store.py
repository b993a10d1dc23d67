"""What a sweep keeps of its cells: files of which the last one marks a finished cell."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from coupling.errors import ResultError
from coupling.reading.table import Table
from coupling.results.columns import decoded
from coupling.results.manifest import read_checked, read_object, write_file
from coupling.results.result import Result
from coupling.results.summary import size_class
from coupling.sweeps.factors import Label
from coupling.sweeps.plan import Cell, Plan

CELLS = "cells.parquet"
DAY_S = 86400.0
_MARKS = "marks"
_COSTS = "costs"
_GROUPS = ["day", "size", "pattern"]
_LEFT_OUT = ["nodes"]  # of job tables: half of their bytes


def jobs_of(result: Result) -> pd.DataFrame:
    """Return the job table of a cell, as a sweep keeps it."""
    return result.jobs.drop(columns=_LEFT_OUT)


def classes_of(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return sums over the jobs of each day, size class and pattern."""
    done = jobs[jobs["dropped"] == ""]
    run_s = done["end_s"] - done["start_s"]
    table = pd.DataFrame(
        {
            "day": (done["submit_s"] // DAY_S).astype("int64"),
            "size": size_class(done["n_nodes"]).astype(str),
            "pattern": done["pattern"].astype(str),
            "jobs": 1,
            "wait_s": done["wait_s"],
            "turnaround_s": done["turnaround_s"],
            "run_s": run_s,
            "node_s": done["n_nodes"] * run_s,
            "slowdown": done["slowdown"],
            "interference": done["interference"],
        }
    )
    return table.groupby(_GROUPS, as_index=False, sort=True).sum()


class Store:
    """
    The directory of a sweep.

    Parameters
    ----------
    folder : Path
        The directory.

    Notes
    -----
    A cell is finished when its mark is there, which is written last and has the hashes of the
    other files. Whoever computes a cell writes the same bytes, so that it does no harm if
    two do.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Store {str(self.folder)!r}>"

    def add(self, cell: Cell, result: Result, cost: Mapping[str, float], *, jobs: bool) -> None:
        """Keep a cell."""
        tables = {"jobs": jobs_of(result)} if jobs else {}
        tables["classes"] = classes_of(result.jobs)
        files = {}
        for name, table in tables.items():
            self._make(self.table(name, cell).parent)
            files[name] = self._write(name, cell, table)
        document = {
            "cell": cell.name,
            "factors": dict(cell.factors),
            "files": files,
            "summary": dict(result.summary),
        }
        for kind, content in ((_COSTS, cost), (_MARKS, document)):
            self._make(self.folder / kind)
            write_file(self._json(kind, cell), _json(content))

    def _write(self, name: str, cell: Cell, table: pd.DataFrame) -> str:
        """Write a table of a cell with its factors in front; return its hash."""
        labels = pd.DataFrame(dict(cell.factors), index=table.index)
        labelled = pd.concat([labels, table], axis=1)
        return write_file(self.table(name, cell), labelled.to_parquet(index=False))

    def table(self, name: str, cell: Cell) -> Path:
        """Return where a table of a cell is."""
        return self.folder / name / f"cell={cell.name}" / f"{name}.parquet"

    def is_finished(self, cell: Cell, *, jobs: bool) -> bool:
        """Say whether a cell is there, undamaged."""
        if not self._json(_MARKS, cell).exists():
            return False
        try:
            document = self.read(cell)
        except ResultError:
            return False
        if document["factors"] != dict(cell.factors):
            self._label_anew(cell, document)
        return "jobs" in document["files"] or not jobs

    def _label_anew(self, cell: Cell, document: Mapping[str, Any]) -> None:
        """Write the factors of a cell that an earlier plan called otherwise."""
        files = {}
        for name in document["files"]:
            path = self.table(name, cell)
            table = decoded(path, path.read_bytes())
            table = table.drop(columns=list(document["factors"]))
            files[name] = self._write(name, cell, table)
        content = {**document, "factors": dict(cell.factors), "files": files}
        write_file(self._json(_MARKS, cell), _json(content))

    def read(self, cell: Cell) -> dict[str, Any]:
        """Read the mark of a cell, and check its files."""
        path = self._json(_MARKS, cell)
        document = read_object(path)
        table = Table(document, f"{path}:", ResultError)
        table.mapping("summary")
        if table.text("cell") != cell.name:
            raise table.error("cell", cell.name)
        table.mapping("factors")
        for name, digest in table.mapping("files").items():
            read_checked(self.table(name, cell), digest)
        return document

    def cost(self, cell: Cell) -> dict[str, Any]:
        """Return what a cell cost."""
        path = self._json(_COSTS, cell)
        return read_object(path) if path.is_file() else {}

    def gather(self, plan: Plan) -> pd.DataFrame:
        """Collect the cells of a plan into one table, also as a file."""
        missing = [cell for cell in plan.cells if not self._json(_MARKS, cell).exists()]
        if missing:
            first = ", ".join(f"{name} = {one}" for name, one in missing[0].factors.items())
            raise ResultError(
                f"{self.folder}: {len(missing):,} of {len(plan.cells):,} cells are not finished, "
                f"the first has {first}; compute them with fabricsim sweep {self.folder}."
            )
        table = _frame(plan, [self.read(cell)["summary"] for cell in plan.cells])
        path, data = self.folder / CELLS, table.to_parquet(index=False)
        if not path.is_file() or path.read_bytes() != data:  # who only reads may not write
            write_file(path, data)
        return table

    def classes(self, plan: Plan) -> pd.DataFrame:
        """Return sums by day, size class and pattern of all cells of a plan."""
        tables = []
        for cell in plan.cells:
            path = self.table("classes", cell)
            table = decoded(path, path.read_bytes())
            tables.append(table.assign(cell=cell.name))
        return pd.concat(tables, ignore_index=True)

    def _json(self, kind: str, cell: Cell) -> Path:
        """Return where something small of a cell is."""
        return self.folder / kind / f"{cell.name}.json"

    def _make(self, folder: Path) -> None:
        """Make a folder."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ResultError(f"{folder}: cannot be made: {error.strerror}.") from error


def _frame(plan: Plan, summaries: list[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a row per cell."""
    rows = [
        {"cell": cell.name, **cell.factors, **_numbers(summary)}
        for cell, summary in zip(plan.cells, summaries, strict=True)
    ]
    return pd.DataFrame(rows)


def _numbers(summary: Mapping[str, Any], prefix: str = "") -> dict[str, Label]:
    """Return the numbers of a summary by dotted name; NaN where there is none."""
    found: dict[str, Label] = {}
    for name, value in summary.items():
        if isinstance(value, Mapping) and name != "network":
            found |= _numbers(value, f"{prefix}{name}.")
        elif value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            found[f"{prefix}{name}"] = float("nan") if value is None else value
    return found


def _json(value: Mapping[str, Any]) -> bytes:
    """Write a mapping as JSON."""
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()
