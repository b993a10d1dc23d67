"""A campaign: the runs of one experiment, their result directory, and how it is resumed."""

import hashlib
import json
import platform
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import tomli_w

from coupling.errors import ResultError
from coupling.experiments.assembly import Parts, assemble
from coupling.experiments.engine import Progress, check_parts, run_parts, with_reference_runtimes
from coupling.experiments.experiment import Experiment
from coupling.experiments.workers import run_in_workers
from coupling.results.result import CSV, Result
from netsim.wholefile import is_leftover, replace_file

DEPENDENCIES = ("fabricsim", "numpy", "scipy", "numba", "pandas", "pyarrow", "simpy", "networkx")
MANIFEST = "manifest.json"


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


def run_campaign(
    experiment: Experiment,
    folder: str | Path,
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
    folder : str or Path
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
        If the directory holds something else or cannot be written.
    ExperimentError, SchedulerError, NetsimError, PatternError
        If the experiment is wrong; nothing has been written then.

    Notes
    -----
    A run is written into a hidden directory that is renamed when it is complete, so that
    what is there is finished, whenever the process is killed.
    """
    folder = Path(folder)
    parts = assemble(experiment)
    variants = experiment.variants()
    for variant in variants:
        check_parts(variant, parts)
    manifest = _manifest(experiment, parts)
    _open(folder, manifest["fingerprint"], resume=resume)
    _write_head(folder, experiment, manifest)
    pending = [variant for variant in variants if not _finished(_place(folder, variant, variants))]
    if pending:
        parts = with_reference_runtimes(experiment, parts, progress)
    keep = _Keeper(folder, variants, csv)
    with closing(_run_all(pending, parts, workers, progress)) as finished:
        for variant, result in finished:
            keep(variant, result)
    places = [_place(folder, variant, variants) for variant in variants]
    results = tuple(Result.load(place) for place in places)
    if csv:
        for place, result in zip(places, results, strict=True):
            _add_csv(place, result)
    manifest |= {"complete": True, "cost": {result.name: result.cost for result in results}}
    _write_manifest(folder, manifest)
    return Campaign(experiment, results, manifest, folder)


def _run_all(
    pending: Sequence[Experiment], parts: Parts, workers: int, progress: Progress | None
) -> Generator[tuple[Experiment, Result]]:
    """Yield (variant, result) as runs finish."""
    if workers == 1 or len(pending) <= 1:
        for variant in pending:
            yield variant, run_parts(variant, parts, progress)
        return
    yield from run_in_workers(pending, parts, workers, progress)


class _Keeper:
    """Writes each result as soon as it is there."""

    def __init__(self, folder: Path, variants: Sequence[Experiment], csv: bool) -> None:
        self._folder, self._variants, self._csv = folder, variants, csv

    def __call__(self, variant: Experiment, result: Result) -> None:
        """Write a result beside its place and move it there."""
        place = _place(self._folder, variant, self._variants)
        partial = self._folder / f".{variant.label}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        try:
            result.save(partial, csv=self._csv)
            if place != self._folder:
                partial.rename(place)
                return
            for path in sorted(partial.iterdir(), key=lambda path: path.name == "summary.json"):
                path.replace(place / path.name)  # the summary last: it marks the run as finished
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _place(folder: Path, variant: Experiment, variants: Sequence[Experiment]) -> Path:
    """Return where a run is kept: the directory itself when nothing is compared."""
    return folder if len(variants) == 1 else folder / variant.label


def _add_csv(place: Path, result: Result) -> None:
    """Write the job table of a run that an earlier campaign has kept without it."""
    if (place / CSV).exists():
        return
    try:
        result.save_csv(place)
    except OSError as error:
        raise ResultError(f"{place}: cannot be written: {error.strerror}.") from error


def _finished(place: Path) -> bool:
    """Say whether a run is complete."""
    return (place / "summary.json").exists()


def _open(folder: Path, fingerprint: str, *, resume: bool) -> None:
    """Make the directory, or check that it may be gone on with."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        present = sorted(path.name for path in folder.iterdir() if not _left_over(path))
    except OSError as error:
        raise ResultError(f"{folder}: cannot be used for results: {error.strerror}.") from error
    if not present:
        return
    if not resume:
        raise ResultError(
            f"{folder}: expected an empty or new directory, found {present[0]}; "
            "choose another with --out, or go on with --resume."
        )
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["fingerprint"]
    except (OSError, ValueError, KeyError) as error:
        raise ResultError(f"{folder}: holds no result that could be resumed.") from error
    if found != fingerprint:
        raise ResultError(
            f"{folder}: holds the result of another experiment, input or version; "
            "choose another directory with --out."
        )


def _left_over(path: Path) -> bool:
    """Say whether a file or folder is what a killed process had begun to write."""
    return is_leftover(path.name) or (path.name.startswith(".") and path.name.endswith(".partial"))


def _write_head(folder: Path, experiment: Experiment, manifest: Mapping[str, Any]) -> None:
    """Write what is known before the first run."""
    text = tomli_w.dumps(experiment.located().tables())
    replace_file(folder / "experiment.resolved.toml", text)
    _write_manifest(folder, manifest)


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Replace the manifest, whole."""
    replace_file(folder / MANIFEST, json.dumps(manifest, indent=2, allow_nan=False) + "\n")


def _manifest(experiment: Experiment, parts: Parts) -> dict[str, Any]:
    """Return where a result comes from."""
    versions = {name: _version(name) for name in DEPENDENCIES}
    tables = experiment.tables()
    print_of = json.dumps([tables, dict(parts.hashes), versions["fabricsim"]], sort_keys=True)
    return {
        "name": experiment.name,
        "seed": experiment.seed,
        "seeds": dict(experiment.all_seeds),
        "fabric": parts.topology.name,
        "nodes": parts.n_nodes,
        "inputs_sha256": dict(parts.hashes),
        "workload": parts.workload.source,
        "jobs": len(parts.workload.jobs),
        "dropped": dict(parts.workload.dropped),
        "estimates": parts.estimates,
        "communication": dict(parts.profile),
        "python": platform.python_version(),
        "versions": versions,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "fingerprint": hashlib.sha256(print_of.encode()).hexdigest(),
        "complete": False,
    }


def _version(name: str) -> str:
    """Return the installed version of a distribution."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
