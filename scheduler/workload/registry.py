"""Formats and generators by name, and the workload of a ``[workload]`` table."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fabricsim.checking import build, look_up, path_of, unknown, wrong
from fabricsim.checking.inputs import without_packing
from scheduler.errors import WorkloadError
from scheduler.workload.alea import read_alea_swf
from scheduler.workload.base import Workload
from scheduler.workload.filters import Filters, Reader, refine
from scheduler.workload.json_lists import read_batsim_json, read_flux_json
from scheduler.workload.placement import read_placement_log
from scheduler.workload.slurm import read_sacct
from scheduler.workload.squeue import read_squeue_json
from scheduler.workload.swf import read_swf
from scheduler.workload.synthetic import hector_like, kalos_like, laas, lublin, synth
from scheduler.workload.table import read_csv, read_parquet

READERS: dict[str, Reader] = {
    "swf": read_swf,
    "alea-swf": read_alea_swf,
    "sacct": read_sacct,
    "squeue-json": read_squeue_json,
    "csv": read_csv,
    "parquet": read_parquet,
    "batsim-json": read_batsim_json,
    "flux-json": read_flux_json,
    "placement-log": read_placement_log,
}
GENERATORS: dict[str, Callable[..., Workload]] = {
    "synth": synth,
    "laas": laas,
    "lublin": lublin,
    "hector-like": hector_like,
    "kalos-like": kalos_like,
}

_ENDS = {".swf": "swf", ".csv": "csv", ".parquet": "parquet"}
_FILTERS = tuple(Filters.__dataclass_fields__)
_OF_LINES = ("sacct", "csv")  # files that may lack a header


def make_workload(
    table: Mapping[str, Any],
    folder: str | Path | None = None,
    source: str = "[workload]",
    seed: int | None = None,
) -> Workload:
    """
    Read or sample the workload that a table describes.

    Parameters
    ----------
    table : mapping
        Either ``path`` and ``format`` (default: as the name ends, else ``"swf"``), or
        ``generator`` and its arguments; and the fields of `Filters`. From Python also ``jobs``, a
        `Workload`, alone.
    folder : str or Path, optional
        Where a relative path starts; default: the working directory.
    source : str, default "[workload]"
        What errors call the table.
    seed : int, optional
        For generators that sample, unless the table holds a seed; absent: that of the generator.

    Returns
    -------
    Workload
        Jobs, and what was dropped.

    Raises
    ------
    WorkloadError
        If a name or key is unknown, an argument is missing, a value is out of range, or
        the file cannot be read.

    Examples
    --------
    >>> make_workload({"generator": "synth", "mean_nodes": 16, "n_jobs": 5}).source
    'synth(mean_nodes=16, n_jobs=5, seed=1)'
    """
    if not isinstance(table, Mapping):
        raise wrong(source, "a table", table, WorkloadError)
    if isinstance(table.get("jobs"), Workload) and len(table) == 1:
        made: Workload = table["jobs"]
        return made
    options: dict[str, Any] = dict(table)
    if isinstance(options.get("path"), Path):
        options["path"] = str(options["path"])
    folder = Path() if folder is None else path_of("folder", folder, error=WorkloadError)
    if "generator" in options:
        drawn = _sampled_workload(dict(options), source, seed)
        return _known_by(drawn, options) if seed is None or "seed" in options else drawn
    path = options.pop("path", None)
    if not isinstance(path, str):
        raise WorkloadError(
            f"{source}: expected path, the name of a job log, or generator, one of "
            f"{', '.join(GENERATORS)}; got {path!r}."
        )
    name = options.pop("format", format_of(path) or "swf")
    try:
        reader = look_up("format", name, READERS, WorkloadError)
    except WorkloadError as error:
        raise WorkloadError(f"{source}: {error}") from error
    _check_keys(options, _FILTERS, f"{source}: format {name!r}")
    _check_filters(options, source)
    if options.get("columns") is not None and name not in _OF_LINES:
        raise WorkloadError(
            f"{source}: columns: expected format {' or '.join(_OF_LINES)}, got {name!r}."
        )
    if path == "-":
        return reader(path, **options)
    place = str((folder / path).resolve())
    return _known_by(reader(folder / path, **options), {"path": place, "format": name, **options})


def _known_by(workload: Workload, table: Mapping[str, Any]) -> Workload:
    """Note in a workload, which is new, what makes it again."""
    object.__setattr__(workload, "table", dict(table))
    return workload


def format_of(path: str | Path) -> str | None:
    """Return the key of `READERS` that the end of a name stands for; None for other endings."""
    name = without_packing(str(path).lower())
    return next((form for end, form in _ENDS.items() if name.endswith(end)), None)


def _sampled_workload(options: dict[str, Any], source: str, seed: int | None) -> Workload:
    """Call the generator of a table, and filter what it samples."""
    if "path" in options:
        raise WorkloadError(f"{source}: expected path or generator, got both.")
    name = options.pop("generator")
    kept = tuple(key for key in _FILTERS if key not in ("processors_per_node", "columns"))
    filters = {key: options.pop(key) for key in kept if key in options}
    _check_filters(filters, source)
    try:
        drawn = build("generator", name, GENERATORS, options, WorkloadError, seed=seed, others=kept)
    except WorkloadError as error:  # it reads no file: an argument is wrong
        raise WorkloadError(f"{source}: {error}") from error
    return refine(drawn, **filters)


def _check_keys(options: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    """Refuse keys that nothing reads."""
    for key in options:
        if key not in known:
            raise WorkloadError(f"{place}: {unknown('key', key, known)}")


def _check_filters(options: Mapping[str, Any], source: str) -> None:
    """Refuse filters that are out of range, in the name of the table."""
    try:
        Filters(**options)
    except WorkloadError as error:
        raise WorkloadError(f"{source}: {error}") from error
