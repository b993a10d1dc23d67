"""A campaign: the runs of one experiment, their result directory, and how it is resumed."""

import hashlib
import json
import platform
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from coupling.errors import ResultError
from coupling.inputs.experiment import Experiment, require_experiment
from coupling.results.manifest import NOT_AGAIN
from coupling.results.result import Result
from coupling.runs.assembly import RunParts, assemble
from coupling.runs.engine import Progress, run_parts, with_reference_runtimes
from coupling.runs.given_objects import ObjectRecord, records_of, with_records
from coupling.runs.result_directory import ResultDirectory, claimed
from coupling.runs.setup import check_parts
from coupling.runs.workers import Kept, require_sendable, run_in_workers
from coupling.stopping import require_callable, shielded
from fabricsim.checking import choice, flag, path_of, shortened, whole
from fabricsim.checking.errors import public
from netsim.common.atomic_write import temporary_name
from scheduler.workload import cancelled

DEPENDENCIES = ("fabricsim", "numpy", "scipy", "numba", "pandas", "pyarrow", "simpy", "networkx")

_OBJECTS = {"topology": "the fabric", "workload": "the jobs"}


@dataclass(frozen=True, slots=True, eq=False)
class Campaign:
    """
    The finished runs of an experiment.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    results : tuple of Result
        In the order of the comparison.
    manifest : mapping
        Seed, versions, hashes of inputs, cost.
    folder : Path
        Where everything was written.
    """

    experiment: Experiment
    results: tuple[Result, ...]
    manifest: Mapping[str, Any]
    folder: Path

    def __repr__(self) -> str:
        return f"<Campaign {shortened(str(self.folder))!r}: {len(self.results)} results>"

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __getitem__(self, name: str | int) -> Result:
        """Return a run by its name or its place."""
        if isinstance(name, int):
            return self.results[name]
        names = [result.name for result in self.results]
        return self.results[names.index(choice("run", name, names, error=ResultError))]


@public
def run_campaign(
    experiment: Experiment,
    out: str | Path,
    *,
    workers: int = 1,
    resume: bool = False,
    csv: bool = False,
    progress: Progress | None = None,
) -> Campaign:
    """
    Run an experiment with everything it compares, and write a result directory.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    out : str or Path
        Result directory: made if absent, otherwise it must be empty or resumed.
    workers : int, default 1
        Compared runs at the same time; results do not depend on it.
    resume : bool, default False
        Keep the runs that an interrupted campaign of the same experiment has finished.
    csv : bool, default False
        Also write job tables as CSV.
    progress : callable, optional
        Called now and then.

    Returns
    -------
    Campaign
        The results, as they are in the directory.

    Raises
    ------
    ResultError
        If the directory holds something else, is written into by another process, cannot be
        written, or a run that it keeps is damaged.
    ExperimentError, SchedulerError, NetsimError, PatternError
        If the experiment is wrong; nothing has been written then.

    Notes
    -----
    A fabric that was given as an object is kept as a table of fields, or as a table of cables in
    ``fabric.csv``, where that builds it again exactly; jobs that were given as objects are kept in
    ``workload.csv``. Otherwise the manifest says why the result
    cannot be run again (``not_again``).

    A run is written into a hidden directory, its hashes into the manifest, and the directory
    is renamed then: what is there is finished and known, whenever the process is killed.
    """
    require_experiment(experiment)
    folder = path_of("out", out, error=ResultError)
    whole("workers", workers, 1, error=ResultError)
    flag("resume", resume, error=ResultError)
    flag("csv", csv, error=ResultError)
    require_callable(progress)
    if workers > 1:
        require_sendable(experiment)
    parts = assemble(experiment)
    for variant in experiment.variants():
        check_parts(variant, parts)
    kept = records_of(experiment.topology, experiment.workload_table)
    manifest = _make_manifest(experiment, parts, kept)
    with claimed(folder):
        records = ResultDirectory(folder, experiment, manifest, kept, resume=resume)
        with closing(records):
            if records.pending:
                records.begin(manifest)
                with shielded(progress) as report:
                    parts = with_reference_runtimes(experiment, parts, report)
                runs = _run_all(records.pending, parts, workers, folder, progress)
                with closing(runs):
                    for variant, written in runs:
                        records.add(variant, written)
            results = records.complete(csv=csv)
    return Campaign(experiment, results, records.manifest, folder)


def _run_all(
    pending: Sequence[Experiment],
    parts: RunParts,
    workers: int,
    folder: Path,
    progress: Progress | None,
) -> Generator[tuple[Experiment, Kept]]:
    """Yield variants, and where their results are, as runs finish."""
    keep = partial(_keep_result, folder)
    if workers == 1 or len(pending) <= 1:
        for variant in pending:
            with shielded(progress) as report:
                result = run_parts(variant, parts, report)
            yield variant, keep(variant, result)
        return
    yield from run_in_workers(pending, parts, workers, keep, folder=folder, progress=progress)


def _keep_result(folder: Path, variant: Experiment, result: Result) -> Kept:
    """Write a result into a hidden folder of the result directory, also in a worker."""
    place = folder / temporary_name(variant.label)
    place.mkdir()
    return place.name, result.save(place)


def _make_manifest(
    experiment: Experiment, parts: RunParts, kept: Mapping[str, ObjectRecord]
) -> dict[str, Any]:
    """Return where a result comes from."""
    versions = {name: _installed_version(name) for name in DEPENDENCIES}
    tables, digests, inputs = experiment.tables(), dict(parts.hashes), dict(parts.hashes)
    tables = with_records(tables, kept)
    remark: dict[str, str] = {}
    for name, record in kept.items():
        digests[_OBJECTS[name]] = record.sha256
        inputs |= dict.fromkeys(record.files, record.sha256)
        remark |= {NOT_AGAIN: record.why_not} if record.why_not else {}
    print_of = json.dumps([tables, digests, versions["fabricsim"]], sort_keys=True)
    return {
        **remark,
        "name": experiment.name,
        "seed": experiment.seed,
        "seeds": dict(experiment.all_seeds),
        "fabric": parts.topology.summary,
        "nodes": parts.n_nodes,
        "inputs_sha256": inputs,
        "workload": parts.workload.source,
        "jobs": len(parts.workload.jobs),
        "dropped": dict(parts.workload.dropped),
        "cancelled_while_running": len(cancelled(parts.workload.jobs)),
        "estimates": parts.estimates,
        "communication": dict(parts.profile),
        "python": platform.python_version(),
        "versions": versions,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "fingerprint": hashlib.sha256(print_of.encode()).hexdigest(),
        "complete": False,
        "files": {},
    }


def _installed_version(name: str) -> str:
    """Return the installed version of a distribution."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
