"""Run the cells of a sweep: the only place that knows how an experiment is run."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from coupling.inputs.experiment import Experiment
from coupling.inputs.files import hashes
from coupling.inputs.plugins import sources
from coupling.results.result import Result
from coupling.runs.assembly import RunInputs, RunParts, assemble
from coupling.runs.engine import run_parts, with_reference_runtimes
from coupling.runs.setup import check_parts
from coupling.stopping import Progress, shielded

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
