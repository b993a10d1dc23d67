"""What a sweep keeps: files of each cell, of which the last marks it finished; tables of all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from coupling.errors import ResultError
from coupling.inputs.files import Table
from coupling.results.columns import decoded, finished
from coupling.results.framed import nodes_used
from coupling.results.manifest import read_checked, read_object, sha256, write_file
from coupling.results.result import Result
from coupling.results.summary import size_class
from coupling.sweep.factors import Label
from coupling.sweep.plan import Cell, Plan, digest_of

if TYPE_CHECKING:
    import pandas as pd


GATHERED = "gathered.json"
CELLS, CLASSES, DAYS = "cells", "classes", "days"
_KEYS = {CLASSES: ["cell", "size", "pattern"], DAYS: ["cell", "day"]}
_AT_ONCE = 500  # cells whose sums are in memory together


class SweepTables:
    """Tables over all cells, each read and checked when it is asked for."""

    def __init__(
        self, folder: Path, digests: Mapping[str, str], tables: Mapping[str, pd.DataFrame]
    ) -> None:
        self._folder, self._digests, self._tables = folder, digests, dict(tables)

    def __repr__(self) -> str:
        return f"<Gathered {str(self._folder)!r}: {', '.join(self._digests)}>"

    def table(self, name: str) -> pd.DataFrame:
        """Return a table: ``cells``, ``classes`` or ``days``."""
        if name not in self._tables:
            path = table_path(self._folder, name)
            try:
                self._tables[name] = decoded(path, read_checked(path, self._digests[name]))
            except ResultError as error:
                again = f"fabricsim gather {quote(str(self._folder))} makes it again"
                raise ResultError(f"{str(error).removesuffix('.')}; {again}.") from None
        return self._tables[name]


def table_path(folder: Path, name: str) -> Path:
    """Return where a table over all cells is."""
    return folder / f"{name}.parquet"


def opened(plan: Plan, folder: Path) -> SweepTables:
    """Return what is gathered of a plan; gather it where that is still to do."""
    path = folder / GATHERED
    if path.is_file():
        document = Table(read_object(path), f"{path}:", ResultError)
        if document.text("plan_sha256") == digest_of(folder):
            files = Table(document.mapping("files"), f"{path}: files", ResultError)
            return SweepTables(folder, {name: files.text(name) for name in (CELLS, *_KEYS)}, {})
    return gathered(plan, folder)


def gathered(plan: Plan, folder: Path) -> SweepTables:
    """Collect the cells of a plan into tables, also as files."""
    import pandas as pd  # noqa: PLC0415 (slow to import)

    store = Store(folder)
    _refuse_missing(plan, store)
    rows, parts = [], dict[str, list[pd.DataFrame]]({name: [] for name in _KEYS})
    for begin in range(0, len(plan.cells), _AT_ONCE):
        sums = []
        for cell in plan.cells[begin : begin + _AT_ONCE]:
            mark = store.counted(cell)
            rows.append({"cell": cell.name, **cell.factors, **numbers_of(mark["summary"])})
            sums.append(store.read(CLASSES, cell, mark)[[*GROUPS, *SUMS]].assign(cell=cell.name))
        together = pd.concat(sums, ignore_index=True)
        for name, keys in _KEYS.items():
            parts[name].append(together.groupby(keys, as_index=False, sort=False)[SUMS].sum())
    tables = {name: pd.concat(own, ignore_index=True) for name, own in parts.items()}
    tables[CELLS] = pd.DataFrame(rows)
    files = {
        name: _keep_file(table_path(folder, name), table.to_parquet(index=False))
        for name, table in tables.items()
    }
    _keep_file(folder / GATHERED, json_bytes({"plan_sha256": digest_of(folder), "files": files}))
    return SweepTables(folder, files, tables)


def _refuse_missing(plan: Plan, store: Store) -> None:
    """Refuse a sweep of which cells are still to compute."""
    missing = [cell for cell in plan.cells if not store.has(cell)]
    if missing:
        first = ", ".join(f"{name} = {one}" for name, one in missing[0].factors.items())
        raise ResultError(
            f"{store.folder}: {len(missing):,} of {len(plan.cells):,} cells are not finished, the "
            f"first has {first}; compute them with fabricsim sweep {quote(str(store.folder))}."
        )


def _keep_file(path: Path, data: bytes) -> str:
    """Write a file whose content is new (readers may lack the right to write); return its hash."""
    if path.is_file() and path.read_bytes() == data:
        return sha256(data)
    return write_file(path, data)


DAY_S = 86400.0
_MARKS = "marks"
_COSTS = "costs"
GROUPS = ["day", "size", "pattern"]
SUMS = ["jobs", "wait_s", "turnaround_s", "run_s", "node_s", "network_slowdown", "interference"]
_LEFT_OUT = ["nodes"]  # of job tables: half of their bytes


def jobs_of(result: Result) -> pd.DataFrame:
    """Return the job table of a cell, as a sweep keeps it."""
    return result.jobs.drop(columns=_LEFT_OUT)


def classes_of(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return sums over the jobs of each day, size class and pattern."""
    import pandas as pd  # noqa: PLC0415 (slow to import)

    done = finished(jobs)
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
            "node_s": nodes_used(done) * run_s,
            "network_slowdown": done["network_slowdown"],
            "interference": done["interference"],
        }
    )
    return table.groupby(GROUPS, as_index=False, sort=True).sum()


class Store:
    """
    The directory of a sweep.

    A cell is finished when its mark is there, which is written last and has the hashes of the
    other files. These are looked into where a table is read, not before: to count a cell, its mark
    and the lengths of its files are enough. Whoever computes a cell writes the same bytes, so that
    it does no harm if two do.

    `folder`: The directory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return f"<Store {str(self.folder)!r}>"

    def add(self, cell: Cell, result: Result, cost: Mapping[str, float], *, jobs: bool) -> None:
        """Keep a cell."""
        tables = {"jobs": jobs_of(result)} if jobs else {}
        tables["classes"] = classes_of(result.jobs)
        document = {
            "cell": cell.name,
            "factors": dict(cell.factors),
            **self._write_all(cell, tables),
            "summary": dict(result.summary),
        }
        for kind, content in ((_COSTS, cost), (_MARKS, document)):
            self._make_folder(self.folder / kind)
            write_file(self._json_path(kind, cell), json_bytes(content))

    def _write_all(self, cell: Cell, tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
        """Write tables of a cell with its factors in front; return what the mark says of them."""
        import pandas as pd  # noqa: PLC0415 (slow to import)

        files, sizes = {}, {}
        for name, table in tables.items():
            self._make_folder(self.table(name, cell).parent)
            labels = pd.DataFrame(dict(cell.factors), index=table.index)
            data = pd.concat([labels, table], axis=1).to_parquet(index=False)
            files[name] = write_file(self.table(name, cell), data)
            sizes[name] = len(data)
        return {"files": files, "bytes": sizes}

    def table(self, name: str, cell: Cell) -> Path:
        """Return where a table of a cell is."""
        return self.folder / name / f"cell={cell.name}" / f"{name}.parquet"

    def is_finished(self, cell: Cell, *, jobs: bool) -> bool:
        """Say whether a cell is there, undamaged."""
        try:
            document = self.mark(cell)
            for name, digest in document["files"].items():
                read_checked(self.table(name, cell), digest)
        except ResultError:
            return False
        if document["factors"] != dict(cell.factors):
            self._label_anew(cell, document)
        return "jobs" in document["files"] or not jobs

    def _label_anew(self, cell: Cell, document: Mapping[str, Any]) -> None:
        """Write the factors of a cell that an earlier plan called otherwise."""
        tables = {
            name: self.read(name, cell, document).drop(columns=list(document["factors"]))
            for name in document["files"]
        }
        mark = {"factors": dict(cell.factors), **self._write_all(cell, tables)}
        write_file(self._json_path(_MARKS, cell), json_bytes({**document, **mark}))

    def has(self, cell: Cell) -> bool:
        """Say whether a cell has a mark."""
        return self._json_path(_MARKS, cell).is_file()

    def mark(self, cell: Cell) -> dict[str, Any]:
        """Read the mark of a cell; no table is opened."""
        path = self._json_path(_MARKS, cell)
        document = read_object(path)
        table = Table(document, f"{path}:", ResultError)
        if table.text("cell") != cell.name:
            raise table.error("cell", cell.name)
        for key in ("factors", "summary", "files"):
            table.mapping(key)
        document["bytes"] = table.mapping("bytes") if "bytes" in table else {}
        return document

    def counted(self, cell: Cell) -> dict[str, Any]:
        """Read the mark of a cell, and see that its files have the length that it states."""
        document = self.mark(cell)
        for name, digest in document["files"].items():
            path, expected = self.table(name, cell), document["bytes"].get(name)
            if expected is None:
                read_checked(path, digest)
                continue
            try:
                found = path.stat().st_size
            except OSError as error:
                raise ResultError(f"{path}: cannot be read: {error.strerror}.") from None
            if found != expected:
                raise ResultError(
                    f"{path}: expected {expected} bytes, got {found:,}: this is not the file that "
                    "the run wrote."
                )
        return document

    def read(self, name: str, cell: Cell, mark: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Read a table of a cell, and check it by the mark, which may be at hand."""
        path, mark = self.table(name, cell), mark or self.mark(cell)
        if name not in mark["files"]:
            raise ResultError(f"{path}: expected a table of the cell, the sweep left it out.")
        return decoded(path, read_checked(path, mark["files"][name]))

    def cost(self, cell: Cell) -> dict[str, Any]:
        """Return what a cell cost."""
        path = self._json_path(_COSTS, cell)
        return read_object(path) if path.is_file() else {}

    def _json_path(self, kind: str, cell: Cell) -> Path:
        """Return where something small of a cell is."""
        return self.folder / kind / f"{cell.name}.json"

    def _make_folder(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ResultError(f"{folder}: cannot be made: {error.strerror}.") from error


def numbers_of(summary: Mapping[str, Any], prefix: str = "") -> dict[str, Label]:
    """Return the numbers of a summary by dotted name; NaN where there is none."""
    found: dict[str, Label] = {}
    for name, value in summary.items():
        if isinstance(value, Mapping) and name != "network":
            found |= numbers_of(value, f"{prefix}{name}.")
        elif value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
            found[f"{prefix}{name}"] = float("nan") if value is None else value
    return found


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """Write a mapping as JSON."""
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()
