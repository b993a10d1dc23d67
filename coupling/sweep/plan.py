"""The cells of a sweep: checked, known by the hash of what they compute, and computed."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from coupling.errors import CouplingError, ExperimentError, ResultError
from coupling.inputs.experiment import Experiment
from coupling.inputs.files import Table, hashes
from coupling.inputs.plugins import sources
from coupling.results.formatting import counted
from coupling.results.manifest import read_object, sha256, write_file
from coupling.results.result import Result
from coupling.runs.assembly import RunInputs, RunParts, assemble
from coupling.runs.engine import run_parts, with_reference_runtimes
from coupling.runs.setup import check_parts
from coupling.stopping import Progress, shielded
from coupling.sweep.factors import Label
from coupling.sweep.spec import Spec
from fabricsim.checking import shortened
from fabricsim.checking.outputs import PLAN
from netsim.common.errors import NetsimError
from patterns.errors import PatternError
from scheduler.errors import SchedulerError

_BASELINE_KNOWS_NOT = (
    ("scheduler", "allocator"),
    ("scheduler", "allocator_options"),
    ("network", "routing"),
)
_NOT_CHECKED = (("workload",), ("communication",), ("run", "seed"), ("run", "seeds"))
_ANY_POLICY: Mapping[str, Any] = {
    "allocator": "first-free",
    "allocator_options": {},
    "queue": "easy",
    "queue_options": {},
    "routing": None,
}
_NOTHING = RunParts.__new__(RunParts)


class CellRunner:
    """
    Runs experiments one after the other; what they share is read and made once.

    Of fabrics and job logs the last few are cached, of workloads with their communication and
    reference run times the last one: experiments that share them should stand together.
    """

    def __init__(self) -> None:
        self._inputs = RunInputs()
        self._parts = self._reference = ("", _NOTHING)
        self._checked: set[str] = set()

    def parts(self, experiment: Experiment) -> RunParts:
        """Return fabric and workload, the same object for experiments that differ elsewhere."""
        tables, seeds = experiment.tables(), experiment.all_seeds
        own = [tables.get(key) for key in ("topology", "workload", "communication")]
        key = _cache_key([own, seeds["workload"], seeds["communication"]])
        if key != self._parts[0]:
            neutral = replace(experiment, **_ANY_POLICY)
            self._parts = (key, assemble(neutral, self._inputs))
        return self._parts[1]

    def inputs(self, experiment: Experiment) -> dict[str, str]:
        """Return the SHA-256 of all files that an experiment reads, plug-ins included, by path."""
        own = hashes(experiment.routing, experiment.folder) | sources(experiment.tables())
        return {**self.parts(experiment).hashes, **own}

    def check(self, experiment: Experiment) -> RunParts:
        """Make every part that a run will need, so that errors show before anything is run."""
        parts = self.parts(experiment)
        sizes = sorted({(job.n_nodes, job.sizes) for job in parts.workload.jobs})
        key = _cache_key([_without_fields(experiment.tables(), *_NOT_CHECKED), sizes])
        if key not in self._checked:
            check_parts(experiment, parts)
            self._checked.add(key)
        return parts

    def run(self, experiment: Experiment, progress: Progress | None = None) -> Result:
        """Run an experiment."""
        parts = self.parts(experiment)
        key = _cache_key(
            [self._parts[0], _without_fields(experiment.tables(), *_BASELINE_KNOWS_NOT)]
        )
        with shielded(progress) as report:
            if key != self._reference[0]:
                self._reference = (key, with_reference_runtimes(experiment, parts, report))
            return run_parts(experiment, self._reference[1], report)

    def pilot(self, experiment: Experiment, n_jobs: int) -> tuple[Result, float, int]:
        """Run the first jobs as a sweep does; return the result, CPU s a job, and jobs in all."""
        parts = self.parts(experiment)
        jobs = parts.workload.jobs
        few = replace(parts, workload=replace(parts.workload, jobs=jobs[:n_jobs]))
        begin_s = time.process_time()
        with shielded(None) as report:
            result = run_parts(replace(experiment, attribution=False), few, report)
        return result, (time.process_time() - begin_s) / min(n_jobs, len(jobs)), len(jobs)


def _without_fields(tables: Mapping[str, Any], *left_out: tuple[str, ...]) -> dict[str, Any]:
    """Return tables without some of them, or some of their fields."""
    return {
        name: {key: one for key, one in table.items() if (name, key) not in left_out}
        if isinstance(table, Mapping)
        else table
        for name, table in tables.items()
        if (name,) not in left_out
    }


def _cache_key(value: object) -> str:
    """Write what something depends on."""
    return json.dumps(value, sort_keys=True)


SWEEP = "sweep.toml"
OURS = (CouplingError, NetsimError, PatternError, SchedulerError)
_VERSION = 1
_MOST_SHOWN = 3  # values of a factor, and reasons, in a message
Checked = Callable[[int, int], None]
"""Called with the number of cells that were checked, and of all."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of a sweep."""

    name: str  # Hash of what it computes: experiment, contents of input files, version of fabricsim
    inputs: tuple[str, ...]  # SHA-256 of the files that it reads
    factors: Mapping[str, Label]  # Value of each factor


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep and its cells."""

    spec: Spec  # What was asked for
    cells: tuple[Cell, ...]  # In the order of `Spec.combinations`

    def __repr__(self) -> str:
        return f"<Plan {shortened(self.spec.name)!r}: {len(self.cells)} cells>"

    def experiment(self, index: int) -> Experiment:
        """Return the experiment of a cell."""
        return self.spec.experiment(self.spec.combinations[index])

    def save(self, folder: Path) -> None:
        """Write `SWEEP` and `PLAN`, from which any machine with the same files computes cells."""
        digest = write_file(folder / SWEEP, self.spec.to_toml().encode())
        cells = [{"cell": cell.name, "inputs": list(cell.inputs)} for cell in self.cells]
        document = {"version": _VERSION, "sweep_sha256": digest, "cells": cells}
        write_file(folder / PLAN, (json.dumps(document) + "\n").encode())

    @classmethod
    def load(cls, folder: Path) -> "Plan":
        """Read a plan. `folder`: where `save` wrote it."""
        if not (folder / PLAN).is_file():
            raise ResultError(f"{folder}: expected a sweep with {PLAN}, found none.")
        document = Table(read_object(folder / PLAN), f"{folder / PLAN}:", ResultError)
        document.integer("version", least=_VERSION, most=_VERSION)
        try:
            found = sha256((folder / SWEEP).read_bytes())
        except OSError as error:
            reason = error.strerror
            raise ResultError(f"{folder / SWEEP}: cannot be read: {reason}.") from None
        if document.text("sweep_sha256") != found:
            raise ResultError(f"{folder / SWEEP}: the file was changed after {PLAN} was written.")
        spec = Spec.read(folder / SWEEP)
        entries = document.raw("cells")
        if not isinstance(entries, list) or len(entries) != len(spec.design):
            raise document.error("cells", f"a list of {len(spec.design)} cells")
        cells = []
        for number, (one, values) in enumerate(
            zip(entries, spec.combinations, strict=True), start=1
        ):
            table = Table(one, f"{folder / PLAN}: cell {number}", ResultError)
            name, inputs = table.text("cell"), table.names("inputs")
            cells.append(Cell(name, inputs, spec.factors_of(values)))
        return cls(spec, tuple(cells))


def make_plan(spec: Spec, checked: Checked | None = None) -> Plan:
    """Check every cell of a sweep, as far as that is possible without running it."""
    bench = CellRunner()
    cells: list[Cell] = []
    faults: dict[str, list[Mapping[str, Label]]] = {}
    known: dict[str, Mapping[str, Label]] = {}
    for number, values in enumerate(spec.combinations, start=1):
        factors = spec.factors_of(values)
        try:
            experiment = spec.experiment(values)
            _refuse_standard_input(experiment)
            bench.check(experiment)
            inputs = bench.inputs(experiment)
        except OURS as error:
            faults.setdefault(str(error).removeprefix(f"{spec.source}: "), []).append(factors)
        else:
            name = cell_name(experiment, inputs)
            if name in known:
                one, other = (_cell_words(one) for one in (known[name], factors))
                raise ExperimentError(f"{spec.source}: {one} and {other} are the same run.")
            known[name] = factors
            cells.append(Cell(name, tuple(sorted(set(inputs.values()))), factors))
        if checked is not None:
            checked(number, len(spec.combinations))
    if faults:
        raise ExperimentError(_cell_faults(spec, faults))
    return Plan(spec, tuple(cells))


def _refuse_standard_input(experiment: Experiment) -> None:
    """Refuse what can be read only once."""
    if experiment.workload_table.get("path") == "-":
        raise ExperimentError(
            f"{experiment.source}: [workload] path: expected a file, which each worker can read, "
            "got standard input."
        )


def cell_name(experiment: Experiment, inputs: Mapping[str, str]) -> str:
    """Return the hash of what an experiment computes; `inputs`: SHA-256 of its files by path."""
    known = [_by_content(experiment.tables(), inputs), sorted(inputs.values())]
    return f"c{hash_of(known)}"  # never taken for a number


def hash_of(known: Any) -> str:  # noqa: ANN401 (whatever JSON can hold)
    """Return the hash of what a computation depends on, and of the version of fabricsim."""
    text = json.dumps([known, _own_version()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:15]


@cache
def _own_version() -> str:
    """Return the version of fabricsim, which takes as long to find as a small cell to check."""
    return version("fabricsim")


def _by_content(value: Any, inputs: Mapping[str, str]) -> Any:  # noqa: ANN401 (a TOML value)
    """Return a table with hashes in the place of the files that it names."""
    if isinstance(value, Mapping):
        return {key: _by_content(inner, inputs) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_by_content(inner, inputs) for inner in value]
    return inputs.get(value, value) if isinstance(value, str) else value


def _cell_faults(spec: Spec, faults: Mapping[str, Sequence[Mapping[str, Label]]]) -> str:
    """Say which cells can never run, and why."""
    total, bad = len(spec.combinations), sum(map(len, faults.values()))
    lines = [
        f"{reason.removesuffix('.')} ({counted(len(cells), 'cell')}: "
        f"{_special_values(cells, spec)})"
        for reason, cells in faults.items()
    ]
    more = len(lines) - _MOST_SHOWN
    ends = f"; and {counted(more, 'other reason')}" if more > 0 else ""
    return (
        f"{spec.source}: {bad:,} of {counted(total, 'cell')} can never run: "
        f"{'; '.join(lines[:_MOST_SHOWN])}{ends}."
    )


def _special_values(cells: Sequence[Mapping[str, Label]], spec: Spec) -> str:
    """Say what is special to cells: the values of the factors that not all values are among."""
    words = []
    for name in spec.design.factors:
        own = list(dict.fromkeys(cell[name] for cell in cells))
        if len(own) < len(spec.labels[name]):
            shown = ", ".join(map(str, own[:_MOST_SHOWN]))
            words.append(f"{name} = {shown}{', ...' if len(own) > _MOST_SHOWN else ''}")
    return "; ".join(words) or "all"


def _cell_words(factors: Mapping[str, Label]) -> str:
    """Write the values of a cell."""
    return ", ".join(f"{name} = {value}" for name, value in factors.items())


def digest_of(folder: Path) -> str:
    """Return the hash of the plan in a directory."""
    return sha256((folder / PLAN).read_bytes())
