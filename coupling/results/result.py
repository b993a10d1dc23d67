"""Result: job, link and time tables of a run, and the files they are kept in."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from coupling.errors import ResultError
from netsim.wholefile import replace_file

TABLES = ("jobs", "links", "timeline", "blame", "partitions")
CSV = "jobs.csv"
TEXT = "text"  # as pandas keeps it
JOB_COLUMNS = {
    "id": "int64",
    "submit_s": "float64",
    "start_s": "float64",
    "end_s": "float64",
    "n_nodes": "int64",
    "idle_nodes": "int64",
    "runtime_reference_s": "float64",
    "wait_s": "float64",
    "turnaround_s": "float64",
    "slowdown": "float64",
    "interference": "float64",
    "placement_factor": "float64",
    "lost_s": "float64",
    "pattern": TEXT,
    "comm_fraction": "float64",
    "aph": "float64",
    "communication_cost": "float64",
    "nodes": TEXT,
    "killed": "bool",
    "dropped": TEXT,
}
PARTITION_COLUMNS = {"id": "int64", "links": TEXT}


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """
    What a run produced.

    Parameters
    ----------
    name : str
        What the run is called in comparisons: its allocator.
    jobs : DataFrame
        A row per job, in the order of the log, dropped ones at the end with the reason in
        ``dropped``. Columns as in docs/results.md; units are in the names.
    links : DataFrame
        A row per directed link: name, class, bytes, busy fraction, node-seconds lost there.
    timeline : DataFrame
        A row per instant: running and queued jobs, utilisation, mean interference.
    blame : DataFrame
        A row per victim, culprit and class of links: node-seconds lost to interference.
    summary : mapping
        Numbers by name; fractions, not per cent. The same for the same seed.
    cost : mapping, optional
        What the run cost: events, CPU seconds with and without the network.
    partitions : DataFrame
        A row per job that owned links: its id, and which links.
    """

    name: str
    jobs: pd.DataFrame
    links: pd.DataFrame
    timeline: pd.DataFrame
    blame: pd.DataFrame
    summary: Mapping[str, Any]
    cost: Mapping[str, float] = field(default_factory=dict)
    partitions: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=list(PARTITION_COLUMNS))
    )

    def save(self, folder: Path, *, csv: bool = False) -> None:
        """
        Write the result into an existing folder.

        Parameters
        ----------
        folder : Path
            Files of the same names are replaced.
        csv : bool, default False
            Also write the job table as CSV.

        Raises
        ------
        ResultError
            If a file cannot be written.
        """
        try:
            for name in TABLES:
                replace_file(
                    folder / f"{name}.parquet", getattr(self, name).to_parquet(index=False)
                )
            if csv:
                self.save_csv(folder)
            replace_file(folder / "cost.json", _json(self.cost))
            replace_file(folder / "summary.json", _json(self.summary))
        except OSError as error:
            raise ResultError(f"{folder}: cannot be written: {error.strerror}.") from error

    def save_csv(self, folder: Path) -> None:
        """
        Write the job table as ``jobs.csv``.

        Parameters
        ----------
        folder : Path
            Where to write; the file is replaced, whole.
        """
        replace_file(folder / CSV, self.jobs.to_csv(index=False))

    @classmethod
    def load(cls, folder: Path) -> "Result":
        """
        Read a result back.

        Parameters
        ----------
        folder : Path
            Where `save` wrote it.

        Returns
        -------
        Result
            The same tables and numbers.

        Raises
        ------
        ResultError
            If the folder holds no complete result, or that of another version.
        """
        try:
            tables = {name: pd.read_parquet(folder / f"{name}.parquet") for name in TABLES}
            summary, cost = (
                json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
                for name in ("summary", "cost")
            )
        except (OSError, ValueError) as error:
            raise ResultError(f"{folder}: no complete result: {error}.") from error
        for name, columns in (("jobs", JOB_COLUMNS), ("partitions", PARTITION_COLUMNS)):
            absent = [column for column in columns if column not in tables[name]]
            if absent:
                raise ResultError(f"{folder}/{name}.parquet: expected a column {absent[0]!r}.")
        if "nodes" not in summary:
            raise ResultError(f"{folder}/summary.json: expected a number 'nodes'.")
        return cls(str(summary.get("name", folder.name)), summary=summary, cost=cost, **tables)


def _json(value: Mapping[str, Any]) -> str:
    """Write a mapping as indented JSON; NaN is refused, JSON has none."""
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def folded(numbers: Iterable[int]) -> str:
    """
    Write numbers with ascending runs folded.

    Parameters
    ----------
    numbers : iterable of int
        In any order, which can be read back.

    Returns
    -------
    str
        Numbers and runs between commas.

    Examples
    --------
    >>> folded([4, 5, 6, 9, 2])
    '4-6,9,2'
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
