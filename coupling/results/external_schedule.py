"""Jobs as another simulator ran them: its table of jobs, beside a run."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path

import numpy as np
import pandas as pd

from coupling.errors import ResultError
from coupling.results.columns import JOB_COLUMNS, finished
from fabricsim.checking import brief
from fabricsim.checking.inputs import read_text
from fabricsim.checking.sheets import plain_cell, refuse_separator

# By our name: those that Batsim and evalys write, and ours.
_NAMES: Mapping[str, tuple[str, str]] = {
    "id": ("job_id", "id"),
    "submit_s": ("submission_time", "submit_s"),
    "start_s": ("starting_time", "start_s"),
    "end_s": ("finish_time", "end_s"),
    "n_nodes": ("requested_number_of_resources", "n_nodes"),
    "run_s": ("execution_time", "run_s"),
    "wait_s": ("waiting_time", "wait_s"),
    "turnaround_s": ("turnaround_time", "turnaround_s"),
}
_NOT_NEEDED = frozenset(
    [
        "workload_name",
        "profile",
        "requested_time",
        "success",
        "final_state",
        "stretch",
        "allocated_resources",
        "consumed_energy",
        "metadata",
    ]
) | frozenset(JOB_COLUMNS)
_FOLLOW = {
    "wait_s": ("submit_s", "start_s"),
    "run_s": ("start_s", "end_s"),
    "turnaround_s": ("submit_s", "end_s"),
}
_ROUNDED = 1e-4  # of a time, as other programs write it
_LEAST_S = 0.01
_PLAIN = re.compile(r"[0-9.eE+-]+")  # what other programs write; Python takes more for numbers
_DIGITS = 6  # of a difference: less is how numbers were written
_UNITS = {"milliseconds": 1e3, "microseconds": 1e6, "minutes": 1 / 60, "hours": 1 / 3600}
_ALIKE = 1.2  # ratio up to which two sums of times are in one unit
_NEVER_RAN = ("", "-1", "-1.0", "-1.000000")  # starts: of jobs that we dropped, Batsim rejected


@dataclass(frozen=True, slots=True, eq=False)
class ExternalSchedule:
    """What another simulator says of jobs."""

    name: str  # Of its file
    # By id: ``submit_s`` (NaN where the file has none), ``start_s``, ``end_s``, ``n_nodes`` (0
    # where the file has none)
    jobs: pd.DataFrame
    unread: tuple[str, ...]  # Columns that nothing is known of
    rejected: int  # Jobs that it did not run


def read_elsewhere(path: Path) -> ExternalSchedule:
    """Read a table of jobs: CSV with the columns of Batsim's ``jobs.csv``, or ours."""
    reader = csv.DictReader(io.StringIO(read_text(path, ResultError)), strict=True)
    try:
        columns, rows = list(reader.fieldnames or []), list(reader)
    except csv.Error as error:
        raise ResultError(f"{path}: row {reader.line_num}: {error}.") from None
    refuse_separator(columns, f"{path}: row 1", ResultError)
    own = {name: next((one for one in both if one in columns), "") for name, both in _NAMES.items()}
    _check_columns(path, columns, own)
    found = dict[int, dict[str, float]]()
    rejected = 0
    for number, row in enumerate(rows, start=2):
        place = f"{path}: row {number}"
        if None in row or None in row.values():
            raise ResultError(f"{place}: expected {len(columns)} cells, as in the first row.")
        if row[own["start_s"]] in _NEVER_RAN:
            rejected += 1
            continue
        job, times = _schedule_row(place, row, own)
        _check_times(place, times)
        if job in found:
            raise ResultError(f"{place}: job {job} is there twice.")
        found[job] = times
    if not found:
        raise ResultError(f"{path}: expected jobs that ran, got none.")
    jobs = pd.DataFrame.from_dict(found, orient="index")
    jobs = jobs.reindex(columns=["submit_s", "start_s", "end_s", "n_nodes"])
    known = {name for both in _NAMES.values() for name in both} | _NOT_NEEDED
    unread = tuple(name for name in columns if name not in known)
    return ExternalSchedule(
        path.name, jobs.assign(n_nodes=jobs["n_nodes"].fillna(0)), unread, rejected
    )


def _check_columns(path: Path, columns: Sequence[str], own: Mapping[str, str]) -> None:
    """Refuse a table without what a comparison needs, or with a column twice."""
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise ResultError(f"{path}: column {brief(twice[0])} is there twice.")
    for name in ("id", "start_s"):
        if not own[name]:
            raise _missing_ids(path, name, columns)
    if not own["end_s"] and not own["run_s"]:
        raise _missing_ids(path, "end_s", columns)


def _missing_ids(path: Path, name: str, columns: Sequence[str]) -> ResultError:
    found = ", ".join(columns[:6]) or "none"
    return ResultError(
        f"{path}: expected a column {' or '.join(_NAMES[name])}, got the columns {found}."
    )


def _schedule_row(
    place: str, row: Mapping[str, str], own: Mapping[str, str]
) -> tuple[int, dict[str, float]]:
    """Return the id of a job and its numbers."""
    values = {name: plain_cell(row[key]) for name, key in own.items() if key}
    job = values.pop("id").rpartition("!")[2]  # Batsim: workload!job
    if not (job.isascii() and job.isdecimal()):
        raise ResultError(f"{place}: {own['id']}: expected a whole number, got {brief(job)}.")
    numbers = {}
    for name, text in values.items():
        try:
            numbers[name] = float(text) if _PLAIN.fullmatch(text) else inf
        except ValueError:
            numbers[name] = inf
        if not isfinite(numbers[name]):
            raise ResultError(f"{place}: {own[name]}: expected a number, got {brief(text)}.")
    return int(job), numbers


def _check_times(place: str, times: dict[str, float]) -> None:
    """Refuse times that contradict each other; put in the end where it is missing."""
    if "end_s" not in times:
        times["end_s"] = times["start_s"] + times["run_s"]
    for name, (first, last) in _FOLLOW.items():
        if first not in times:
            continue
        length = times[last] - times[first]
        slack = max(_LEAST_S, _ROUNDED * max(abs(times[last]), abs(times[first])))
        if length < -slack:
            raise ResultError(
                f"{place}: expected {_NAMES[last][0]} from {_NAMES[first][0]} {times[first]:g} on, "
                f"got {times[last]:g}."
            )
        if name in times and abs(times[name] - length) > slack:
            raise ResultError(
                f"{place}: {_NAMES[name][0]}: expected {_NAMES[last][0]} - {_NAMES[first][0]} = "
                f"{length:g}, got {times[name]:g}; are all in one unit?"
            )


@dataclass(frozen=True, slots=True)
class Agreement:
    """A run beside another simulator's, over the jobs that both have."""

    run: str  # Our run
    # jobs, only_here, only_there: jobs of both, and of one of them
    jobs: int
    only_here: int
    only_there: int
    # here, there: ``makespan_s``, ``mean_wait_s``, ``mean_turnaround_s``, ``mean_run_s`` of these
    # jobs; waits from our submissions where the other table has none
    here: Mapping[str, float]
    there: Mapping[str, float]
    # Of ``start_s`` and ``end_s`` in seconds and of ``run`` relative to ours: ``mean`` of the
    # absolute differences, ``most``, and ``job``, whose that is
    differences: Mapping[str, Mapping[str, float]]


def agreement(run: str, jobs: pd.DataFrame, other: ExternalSchedule) -> Agreement:
    """Compare the job table of a run with what another simulator says of the same jobs."""
    ours = finished(jobs).set_index("id")
    both = ours.index.intersection(other.jobs.index)
    if both.empty:
        raise ResultError(f"{other.name}: expected jobs of the run {run}, got none of its ids.")
    here, there = ours.loc[both], other.jobs.loc[both]
    there = there.assign(submit_s=there["submit_s"].fillna(here["submit_s"]))
    sizes = (there["n_nodes"] > 0) & (there["n_nodes"] != here["n_nodes"])
    if sizes.any():
        job = both[sizes.to_numpy()][0]
        raise ResultError(
            f"{other.name}: job {job}: expected {here['n_nodes'][job]:g} nodes as in {run}, got "
            f"{there['n_nodes'][job]:g}."
        )
    _check_unit(run, here, there, other.name)
    run_s = here["end_s"] - here["start_s"]
    longer = (there["end_s"] - there["start_s"]) - run_s
    apart = {
        "start_s": there["start_s"] - here["start_s"],
        "end_s": there["end_s"] - here["end_s"],
        "run": longer / run_s.where(run_s > 0.0),
    }
    return Agreement(
        run,
        len(both),
        len(ours) - len(both),
        len(other.jobs) - len(both),
        _job_means(here),
        _job_means(there),
        {name: dict(_difference_spread(values)) for name, values in apart.items()},
    )


def _check_unit(run: str, here: pd.DataFrame, there: pd.DataFrame, name: str) -> None:
    """Refuse times in another unit than seconds, as sums of run times tell."""
    ours, theirs = (float((one["end_s"] - one["start_s"]).sum()) for one in (here, there))
    for unit, ratio in _UNITS.items():
        if ours > 0.0 and 1 / _ALIKE < theirs / (ours * ratio) < _ALIKE:
            raise ResultError(
                f"{name}: expected seconds, got run times that are {theirs / ours:.4g} times those "
                f"of {run}, as if in {unit}."
            )


def _job_means(table: pd.DataFrame) -> dict[str, float]:
    """Return makespan and means of jobs."""
    return {
        "makespan_s": float(table["end_s"].max()),
        "mean_wait_s": float((table["start_s"] - table["submit_s"]).mean()),
        "mean_turnaround_s": float((table["end_s"] - table["submit_s"]).mean()),
        "mean_run_s": float((table["end_s"] - table["start_s"]).mean()),
    }


def _difference_spread(values: pd.Series) -> Iterator[tuple[str, float]]:
    """Yield the mean of differences, the largest, and whose that is."""
    values = values.abs().fillna(0.0).round(_DIGITS)
    yield "mean", float(values.mean())
    yield "most", float(values.max())
    yield "job", int(values.index[int(np.argmax(values.to_numpy()))])
