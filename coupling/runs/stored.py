"""Result directories that exist: find their runs, and say whether runs can stand in one table."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coupling.errors import ExperimentError, ResultError
from coupling.inputs.experiment import Experiment
from coupling.results.comparison import find_baseline, unlike
from coupling.results.manifest import (
    RESOLVED,
    SUMMARY,
    by_other_version,
    read_checked,
    read_manifest,
)
from coupling.results.result import FILES, Result
from coupling.runs.given_objects import FABRIC, JOBS
from fabricsim.checking import unknown
from fabricsim.checking.outputs import MANIFEST

_MOST_HELD = 3  # result directories that are offered in place of the one above them
_NO_DIFFERENCE = (  # in the name; change no run
    "scheduler.allocator",
    "run.self_check",
    "run.links_timeline",
    "run.attribution",
)


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """A finished campaign, as its directory has it."""

    folder: Path  # The directory
    experiment: Experiment  # What was run
    manifest: Mapping[str, Any]  # Seed, versions, hashes of inputs, cost
    places: tuple[Path, ...]  # Directory of each run, in the order of the comparison

    @classmethod
    def open(cls, folder: Path) -> "Stored":
        """Read what a result directory says about itself. `folder`: as `fabricsim run` wrote it."""
        if not (folder / MANIFEST).is_file():
            hint = (
                f"; it is one run of {folder.parent}." if _is_run(folder) else _held_results(folder)
            )
            raise ResultError(
                f"{folder}: expected a result directory with {MANIFEST}, found none{hint}"
            )
        manifest = read_manifest(folder)
        if not manifest["complete"]:
            raise ResultError(
                f"{folder}: the result is not complete: go on with fabricsim run --resume."
            )
        for name in (RESOLVED, *(manifest["files"].keys() & {FABRIC, JOBS})):
            read_checked(folder / name, manifest["files"].get(name))
        try:
            experiment = Experiment.read(folder / RESOLVED)
        except ExperimentError as error:
            raise by_other_version(folder, error) from None
        experiment = replace(experiment, name=manifest["name"])
        variants = experiment.variants()
        places = tuple(
            folder if len(variants) == 1 else folder / variant.label for variant in variants
        )
        names = [f"{place.name}/" if place != folder else "" for place in places]
        for name in (RESOLVED, *(f"{place}{file}" for place in names for file in FILES)):
            if name not in manifest["files"]:
                raise ResultError(f"{folder / MANIFEST}: files: expected {name!r}, got no hash.")
        return cls(folder, experiment, manifest, places)

    def results(self) -> list[Result]:
        """Read the runs. Result: in the order of the comparison."""
        return [Result.load(place) for place in self.places]


def _is_run(folder: Path) -> bool:
    """Say whether a directory is one run of a comparison."""
    return (folder / SUMMARY).exists() and (folder.parent / MANIFEST).exists()


@dataclass(frozen=True, slots=True, eq=False)
class Lineup:
    """Runs of one or more campaigns, to be shown beside each other."""

    results: tuple[Result, ...]  # The runs, each with a name of its own
    # Name of the run that the others are compared with; empty where there is none, or where runs
    # have other jobs
    baseline: str
    # Per setting in which runs differ: its value by name of the run
    differences: Mapping[str, Mapping[str, str]]
    same_jobs: bool  # Whether all runs have the same jobs, with the same work


def line_up(stored: Sequence[Stored], baseline: str | None = None) -> Lineup:
    """Put the runs of campaigns beside each other, as ``allocator`` or ``folder/allocator``."""
    folders = [campaign.folder.resolve() for campaign in stored]
    if len(set(folders)) < len(folders):
        twice = next(path for path in folders if folders.count(path) > 1)
        raise ResultError(f"{twice}: given twice.")
    _require_one_machine(stored)
    results: list[Result] = []
    settings: dict[str, dict[str, str]] = {}
    original: list[Result] = []
    for campaign, prefix in zip(stored, _name_prefixes(stored), strict=True):
        loaded = zip(campaign.results(), campaign.experiment.variants(), strict=True)
        for result, variant in loaded:
            name = f"{prefix}{result.name}"
            original.append(result)
            results.append(replace(result, name=name))
            settings[name] = _run_settings(variant, campaign.manifest)
    same = not unlike(results)
    if baseline is not None and baseline not in settings:
        raise ResultError(f"--baseline: {unknown('run', baseline, settings)}")
    found = find_baseline(original)
    chosen = baseline or ("" if found is None else results[original.index(found)].name)
    return Lineup(tuple(results), chosen if same else "", _setting_differences(settings), same)


def _require_one_machine(stored: Sequence[Stored]) -> None:
    """Refuse machines of different size."""
    first = stored[0]
    for other in stored[1:]:
        if other.manifest.get("nodes") != first.manifest.get("nodes"):
            there, here = (
                f"{campaign.folder} has {campaign.manifest.get('fabric')} "
                f"({campaign.manifest.get('nodes')} nodes)"
                for campaign in (first, other)
            )
            raise ResultError(
                f"different machines cannot be compared: {there}, {here}; expected runs on "
                "machines of equally many nodes."
            )


def _held_results(folder: Path) -> str:
    """Name result directories inside a directory that is none."""
    held = sorted(str(path.parent) for path in folder.glob(f"*/{MANIFEST}"))[:_MOST_HELD]
    return f"; did you mean {' or '.join(held)}?" if held else "."


def _name_prefixes(stored: Sequence[Stored]) -> list[str]:
    """Return what stands before the names of the runs of each campaign."""
    if len(stored) == 1:
        return [""]
    names = [campaign.folder.resolve().name for campaign in stored]
    if len(set(names)) < len(names):
        names = [str(campaign.folder) for campaign in stored]
    return [f"{name}/" for name in names]


def _run_settings(variant: Experiment, manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of a run by name, with what else could make a difference."""
    tables = {key: value for key, value in variant.tables().items() if key != "compare"}
    inputs = sorted(str(value) for value in manifest.get("inputs_sha256", {}).values())
    return flat_settings(tables) | {
        "input files": " ".join(text[:12] for text in inputs),
        "fabricsim": str(manifest.get("versions", {}).get("fabricsim", "unknown")),
    }


def flat_settings(table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Write nested tables as ``table.field`` and value."""
    flat: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            flat |= flat_settings(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value if isinstance(value, str) else _setting_text(value)
    return flat


def _setting_text(value: object) -> str:
    """Write a setting; the order of fields within a list of tables makes no difference."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def _setting_differences(settings: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return the settings that are not the same for all runs."""
    keys = dict.fromkeys(key for values in settings.values() for key in values)
    values = {
        key: {name: own.get(key, "(default)") for name, own in settings.items()} for key in keys
    }
    return {
        key: by_run
        for key, by_run in values.items()
        if len(set(by_run.values())) > 1 and key not in _NO_DIFFERENCE
    }
