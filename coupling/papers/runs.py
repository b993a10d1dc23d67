"""The runs of a paper: its experiment files as sweeps, and what no experiment file can say."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from coupling.errors import ExperimentError
from coupling.results.manifest import read_object, write_file
from coupling.sweep.plan import hash_of
from coupling.sweep.spec import Spec
from coupling.sweep.store import Store
from coupling.sweep.sweep import Progress, Sweep, run_sweep
from fabricsim.checking import look_up
from fabricsim.checking.documents import parse_toml

EXPERIMENTS = "experiments"
_RUNS, _STORED = "runs", "kept"


@dataclass(frozen=True, slots=True)
class Runs:
    """Finished sweeps of a paper."""

    folder: Path  # Where they are
    sweeps: Mapping[str, Sweep]  # By the name of their experiment file
    quick: bool  # Whether they are those of the quick mode
    logs: Path | None  # The folder of logs, in the full mode

    def cells(self, *names: str) -> pd.DataFrame:
        """Return the cells of sweeps as one table; files that the mode lacks are left out."""
        tables = []
        for name in names:
            if name in self.sweeps:
                sweep, store = self.sweeps[name], Store(self.folder / _RUNS / name)
                costs = [store.cost(cell) for cell in sweep.plan.cells]
                per_job = [cost.get("scheduling_ms_per_job", float("nan")) for cost in costs]
                tables.append(sweep.cells.assign(file=name, scheduling_ms_per_job=per_job))
        if not tables:
            raise ExperimentError(f"--only: expected one of {', '.join(names)} among the files.")
        return pd.concat(tables, ignore_index=True)

    def jobs(self, file: str, cell: str) -> pd.DataFrame:
        """Return the job table of a cell."""
        plan, store = self.sweeps[file].plan, Store(self.folder / _RUNS / file)
        found = next(one for one in plan.cells if one.name == cell)
        return store.read("jobs", found)

    def stored(
        self,
        name: str,
        depends: Any,  # noqa: ANN401 (whatever JSON can tell)
        make: Callable[[], pd.DataFrame],
    ) -> pd.DataFrame:
        """Return a stored table, made anew if `depends` or the version differs."""
        path = self.folder / _STORED / f"{name}-{hash_of(depends)}.json"
        if path.is_file():
            return from_json(read_object(path)["table"])
        table = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps({"table": to_json(table)}).encode())
        return table


def experiment_files(paper: str, *, quick: bool) -> dict[str, str]:
    """Return the experiment files of a paper, by name."""
    folder = files("coupling.papers") / EXPERIMENTS / paper / ("quick" if quick else "full")
    found = {
        one.name.removesuffix(".toml"): one.read_text(encoding="utf-8")
        for one in (folder.iterdir() if folder.is_dir() else ())
        if one.name.endswith(".toml")
    }
    return dict(sorted(found.items()))


def words_of(paper: str, name: str) -> str:
    """Return ``setup``, ``reasons`` or ``quick`` of a paper."""
    file = files("coupling.papers") / EXPERIMENTS / paper / f"{name}.md"
    return file.read_text(encoding="utf-8").strip()


def specs_of(
    paper: str,
    *,
    quick: bool,
    logs: Path | None,
    changes: Sequence[str],
    only: Sequence[str] = (),
) -> dict[str, Spec]:
    """Read the experiment files of a paper, or only some; set fields by `changes`."""
    found = {}
    texts = experiment_files(paper, quick=quick)
    for name in only:
        look_up("--only", name, texts, ExperimentError)
    for name, text in texts.items():
        if only and name not in only:
            continue
        source = f"{paper}/{name}.toml"
        tables = parse_toml(text, source, ExperimentError)
        varied = tables.pop("sweep")
        found[name] = Spec.make(
            tables, varied, source=source, folder=logs or Path(), changes=changes
        )
    return found


def run_all(
    specs: Mapping[str, Spec],
    folder: Path,
    *,
    quick: bool,
    logs: Path | None,
    workers: int = 1,
    progress: Progress | None = None,
) -> Runs:
    """Compute the unfinished sweeps of a paper."""
    total, before = sum(len(spec.design) for spec in specs.values()), 0
    sweeps = {}
    for name, spec in specs.items():
        reported = None if progress is None else _counted_progress(progress, before, total)
        sweeps[name] = run_sweep(spec, folder / _RUNS / name, workers=workers, progress=reported)
        before += len(spec.design)
    return Runs(folder, sweeps, quick, logs)


def _counted_progress(progress: Progress, before: int, total: int) -> Progress:
    """Return a progress of one sweep that tells that of all."""

    def tell(what: str, done: int, _total: int) -> None:
        if what == "computed":
            progress(what, before + done, total)

    return tell


def to_json(table: pd.DataFrame) -> dict[str, Any]:
    """Return a table of texts and numbers as JSON has it: columns, and rows; NaN is null."""
    plain = table.astype(object).where(table.notna(), None)
    rows = [[_plain_cell(cell) for cell in row] for row in plain.itertuples(index=False, name=None)]
    return {"columns": [str(name) for name in table.columns], "rows": rows}


def _plain_cell(cell: Any) -> Any:  # noqa: ANN401 (of a table)
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
