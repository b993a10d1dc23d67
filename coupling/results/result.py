"""Result: job, link and time tables of a run, and the files they are kept in."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling.errors import ResultError
from coupling.inputs.files import Table, sheet_of
from coupling.results.columns import COLUMNS, FURTHER, read_table, typed
from coupling.results.framed import LazyTable, TableColumns
from coupling.results.manifest import (
    SUMMARY,
    by_other_version,
    hashes_of,
    read_checked,
    read_object,
    write_file,
)
from fabricsim.checking import path_of, shortened
from fabricsim.checking.errors import public_class
from netsim.common.arrays import Ints
from netsim.common.hostlist import expand_hostlist
from netsim.registries.accuracy import ANY, TRAFFIC_CLASSES

if TYPE_CHECKING:
    import pandas as pd

TABLES = tuple(COLUMNS)
COST = "cost.json"
CSV = "jobs.csv"
_GROUPS = (  # numbers of the summary by name
    "dropped_by_reason",
    "log_remarks",
    "infinite_network",
    "replay",
    "wait_node_hours",
    "wait_job_hours",
    "price_of_isolation",
)
_NO_PARTITIONS = TableColumns({"id": np.zeros(0, dtype=np.int64), "links": []})
FILES = (*(f"{name}.parquet" for name in TABLES), COST, SUMMARY)


class _StoredTables(Mapping[str, "pd.DataFrame"]):
    """Tables that not every run has; each is decoded on first use."""

    def __init__(self, folder: Path, hashes: Mapping[str, str]) -> None:
        self._folder = folder
        self._digest = {
            name: hashes.get(f"{name}.parquet")
            for name in FURTHER
            if f"{name}.parquet" in hashes or (not hashes and self._table_path(name).exists())
        }
        for name, digest in self._digest.items():
            read_checked(self._table_path(name), digest)

    def __getitem__(self, name: str) -> "pd.DataFrame":
        """Read a table."""
        path = self._table_path(name)
        return read_table(name, path, read_checked(path, self._digest[name]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._digest)

    def __len__(self) -> int:
        return len(self._digest)

    def __repr__(self) -> str:
        return f"<tables {', '.join(self._digest) or 'none'}>"

    def _table_path(self, name: str) -> Path:
        """Return the file of a table."""
        return self._folder / f"{name}.parquet"


@public_class
@dataclass(frozen=True, eq=False)
class Result:
    """
    What a run produced.

    Parameters
    ----------
    name : str
        What the run is called in comparisons: its allocator.
    jobs : DataFrame
        A row per job, in the order of the log, dropped ones at the end with the reason in
        ``dropped``. Columns as in docs/reference/results.md; units are in the names.
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
    extras : mapping of str to DataFrame, optional
        Tables that not every result has, by name of the file: ``"waits"``, ``"links/timeline"``.
    """

    name: str
    jobs: LazyTable = LazyTable()  # noqa: RUF009 (it holds no table)
    links: LazyTable = LazyTable()  # noqa: RUF009 (it holds no table)
    timeline: LazyTable = LazyTable()  # noqa: RUF009 (it holds no table)
    blame: LazyTable = LazyTable()  # noqa: RUF009 (it holds no table)
    summary: Mapping[str, Any]  # type: ignore[misc] # tables have no defaults
    cost: Mapping[str, float] = field(default_factory=dict)
    partitions: LazyTable = LazyTable(_NO_PARTITIONS)  # noqa: RUF009
    extras: Mapping[str, "pd.DataFrame"] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Result {shortened(self.name)!r}: {len(self.jobs)} jobs>"

    def to_frame(self) -> "pd.DataFrame":
        """
        Return the table of jobs.

        Returns
        -------
        DataFrame
            A row for each job (docs/reference/results.md); a copy.
        """
        return self.jobs.copy()

    def _repr_html_(self) -> str:
        """Return the table of jobs as notebooks show it, its middle left out where it is long."""
        return str(self.jobs.to_html(max_rows=20))

    def save(self, folder: str | Path, *, csv: bool = False) -> dict[str, str]:
        """
        Write the result into an existing folder.

        Parameters
        ----------
        folder : str or Path
            Files of the same names are replaced.
        csv : bool, default False
            Also write the job table as CSV.

        Returns
        -------
        dict of str to str
            SHA-256 by name of each file; they are kept in the manifest of a result directory.

        Raises
        ------
        ResultError
            If a file cannot be written.
        """
        folder = path_of("folder", folder, error=ResultError)
        hashes = {}
        for name, data in self._files(csv=csv):
            (folder / name).parent.mkdir(exist_ok=True)
            hashes[name] = write_file(folder / name, data)
        return hashes

    def _files(self, *, csv: bool) -> Iterator[tuple[str, bytes]]:
        """Yield name and contents of each file; the summary last."""
        for name in TABLES:
            yield f"{name}.parquet", typed(name, getattr(self, name)).to_parquet(index=False)
        for name, table in self.extras.items():
            yield f"{name}.parquet", typed(name, table).to_parquet(index=False)
        if csv:
            yield CSV, sheet_of(self.jobs).encode()
        yield COST, _json_bytes(self.cost)
        yield SUMMARY, _json_bytes(self.summary)

    @classmethod
    def load(cls, folder: str | Path) -> "Result":
        """
        Read a result back.

        Parameters
        ----------
        folder : str or Path
            Where `save` wrote it: a result directory, or one run of it.

        Returns
        -------
        Result
            The same tables and numbers.

        Raises
        ------
        ResultError
            If a file is missing, is not the one that the manifest knows by its hash, or holds
            something else than a result of this version.
        """
        folder = path_of("folder", folder, error=ResultError)
        hashes = hashes_of(folder) or {}
        data = {name: read_checked(folder / name, hashes.get(name)) for name in FILES}
        try:
            summary, cost = _read_summary(folder / SUMMARY), read_object(folder / COST)
            _check_numbers(cost, f"{folder / COST}:")
            tables = {
                name: read_table(name, folder / f"{name}.parquet", data[f"{name}.parquet"])
                for name in TABLES
            }
        except ResultError as error:
            if not hashes:
                raise
            raise by_other_version(folder, error) from None  # its files are those of the run
        name, extras = str(summary.get("name", folder.name)), _StoredTables(folder, hashes)
        return cls(name, summary=summary, cost=cost, extras=extras, **tables)


def _read_summary(path: Path) -> dict[str, Any]:
    """Read the summary of a run."""
    summary = read_object(path)
    place = f"{path}:"
    table = Table(summary, place, ResultError)
    table.text("name")
    table.integer("nodes", least=1)
    for group in _GROUPS:
        _check_numbers(table.mapping(group), f"{place} {group}:")
    if "network" in summary:
        _check_network(Table(table.mapping("network"), f"{place} network:", ResultError))
    texts = ("assumed_fabric", "assumed_switch", "routing_limits", "log_time_zone")
    for key in (key for key in texts if key in summary):
        table.text(key)
    if "on_common_links" in summary:
        table.flag("on_common_links")
    checked = ("name", *texts, "network", "on_common_links", *_GROUPS)
    others = {key: summary[key] for key in summary if key not in checked}
    _check_numbers(others, place)
    return summary


def _check_network(table: Table) -> None:
    """Refuse a network that is described otherwise than `netsim.registries.accuracy.Setting` is."""
    for name in ("model", "fairness", "machine"):
        table.text(name)
    table.number("buffer_bytes", None, 0.0)
    table.text("traffic_class", ANY, TRAFFIC_CLASSES)
    table.integer("nodes", 0, 0)
    table.text("hot_spot", "")
    for name, kind in (("routings", str), ("ranks_per_node", int)):
        entries = table.raw(name)
        if not isinstance(entries, list) or any(type(entry) is not kind for entry in entries):
            raise table.error(name, f"a list of {'texts' if kind is str else 'whole numbers'}")
    table.finish()


def _check_numbers(values: Mapping[str, Any], place: str) -> None:
    """Refuse what is neither a number nor absent."""
    table = Table(values, place, ResultError)
    for name, value in values.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if value is not None and not (number and abs(value) <= sys.float_info.max):  # nor NaN
            raise table.error(name, "a number or null")


def _json_bytes(value: Mapping[str, Any]) -> bytes:
    """Write a mapping as indented JSON; NaN is refused, JSON has none."""
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode("utf-8")


def save_jobs_csv(result: Result, folder: Path) -> str:
    """Write the job table of a result as ``jobs.csv``; return the SHA-256 of the file."""
    return write_file(folder / CSV, sheet_of(result.jobs).encode())


def owned_links(partitions: "pd.DataFrame") -> Callable[[int], Ints | None]:
    """Return the directed links of a job as a function of its id; None where it owned none."""
    written = dict(zip(partitions["id"].tolist(), partitions["links"].tolist(), strict=True))

    def of(job: int) -> Ints | None:
        """Return the links of a job."""
        if job not in written:
            return None
        links = [int(link) for link in expand_hostlist(f"[{written[job]}]")]
        try:
            return np.array(links, dtype=np.int64)
        except OverflowError:
            raise ResultError(f"partitions: job {job} owns link {max(links)}.") from None

    return of
