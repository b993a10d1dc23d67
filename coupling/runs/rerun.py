"""Reproduce a result from its directory, and say whether the bytes agree."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from coupling.errors import ResultError
from coupling.results.columns import FURTHER, decoded
from coupling.results.manifest import NOT_AGAIN, SUMMARY
from coupling.results.result import TABLES
from coupling.runs.assembly import assemble
from coupling.runs.campaign import run_campaign
from coupling.runs.engine import Progress
from coupling.runs.stored import Stored

REPEATED = (*(f"{name}.parquet" for name in (*TABLES, *FURTHER)), SUMMARY)


@dataclass(frozen=True, slots=True)
class Rerun:
    """What a second run of an experiment gave."""

    # What is wrong with input files, by path; with any, nothing was run
    changed_inputs: Mapping[str, str]
    versions: Mapping[str, tuple[str, str]]  # Version then and now, of distributions that differ
    differences: Mapping[str, str]  # By file of the result: how it differs
    runs: tuple[str, ...]  # Runs that were compared

    @property
    def agrees(self) -> bool:
        """Whether inputs and all bytes agree."""
        return not self.changed_inputs and not self.differences


def rerun(stored: Stored, *, workers: int = 1, progress: Progress | None = None) -> Rerun:
    """Run an experiment again in a temporary directory and compare."""
    if stored.experiment.workload_table.get("path") == "-":
        raise ResultError(f"{stored.folder}: the workload came from standard input.")
    if why_not := stored.manifest.get(NOT_AGAIN):
        raise ResultError(f"{stored.folder}: cannot be run again: {why_not}.")
    stored.results()  # refuses what is not as the first run wrote it
    changed = _changed_inputs(stored)
    if changed:
        return Rerun(changed, {}, {}, ())
    with TemporaryDirectory(prefix="fabricsim-rerun-") as desk:
        campaign = run_campaign(
            stored.experiment, Path(desk) / "result", workers=workers, progress=progress
        )
        again = Stored.open(campaign.folder)
        differences = {
            str((place / name).relative_to(stored.folder)): how
            for place, other in zip(stored.places, again.places, strict=True)
            for name in REPEATED
            if (place / name).exists()
            if (how := _file_difference(place / name, other / name))
        }
    names = tuple(result.name for result in campaign.results)
    versions = _version_changes(stored.manifest["versions"], campaign.manifest["versions"])
    return Rerun({}, versions, differences, names)


def _changed_inputs(stored: Stored) -> dict[str, str]:
    """Say which inputs are not those of the first run."""
    before = dict(stored.manifest.get("inputs_sha256", {}))
    now = assemble(stored.experiment).hashes
    gone = sorted(set(before.values()) - set(now.values()))
    return {
        path: f"expected SHA-256 {' or '.join(gone) or 'of no file'}, got {found}"
        for path, found in now.items()
        if found not in before.values()
    }


def _version_changes(
    before: Mapping[str, str], now: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return the versions that are not the same."""
    return {
        name: (then, now.get(name, "none"))
        for name, then in before.items()
        if now.get(name, "none") != then
    }


def _file_difference(one: Path, other: Path) -> str:
    """Say how two files of a result differ; empty where they do not."""
    if one.read_bytes() == other.read_bytes():
        return ""
    if one.suffix != ".parquet":
        return "other contents"
    try:
        here, there = (decoded(path, path.read_bytes()) for path in (one, other))
    except ResultError:
        return "damaged, no Parquet file"
    if list(here.columns) != list(there.columns) or len(here) != len(there):
        return f"{len(here):,} rows of {len(here.columns)} columns, now {len(there):,} rows"
    found = (_column_differs(here[name], there[name]) for name in here.columns)
    same = "equal values in other bytes, as another version of pandas or pyarrow writes them"
    return next(filter(None, found), same)


def _column_differs(here: pd.Series, there: pd.Series) -> str:
    """Say how two columns of as many rows differ; empty where they do not."""
    was, now = _plain_values(here), _plain_values(there)
    if was.dtype != now.dtype:
        return f"{here.name} holds {here.dtype}, now {there.dtype}"
    unequal = ((was != now) & ~(was.isna() & now.isna())).to_numpy()
    row = int(unequal.argmax()) if unequal.size else 0
    return (
        f"{int(unequal.sum()):,} rows differ in {here.name}, first row {row}: "
        f"{here.iloc[row]}, now {there.iloc[row]}"
        if unequal.any()
        else ""
    )


def _plain_values(values: pd.Series) -> pd.Series:
    """Return values that can be compared with those of any other column."""
    plain = pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)
    return values if plain else values.astype(object).map(str, na_action="ignore")
