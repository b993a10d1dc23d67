"""Aggregated tables of a sweep, so that comparing 10,000 cells opens no file of a cell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from coupling.errors import ResultError
from coupling.inputs.table import Table
from coupling.results.columns import decoded
from coupling.results.manifest import read_checked, read_object, sha256, write_file
from coupling.sweep.plan import Plan, digest_of
from coupling.sweep.store import GROUPS, SUMS, Store, json_bytes, numbers_of

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
                again = f"fabricsim gather {self._folder} makes it again"
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
            f"{store.folder}: {len(missing):,} of {len(plan.cells):,} cells are not finished, "
            f"the first has {first}; compute them with fabricsim sweep {store.folder}."
        )


def _keep_file(path: Path, data: bytes) -> str:
    """Write a file whose content is new (readers may lack the right to write); return its hash."""
    if path.is_file() and path.read_bytes() == data:
        return sha256(data)
    return write_file(path, data)
