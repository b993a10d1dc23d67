"""Files and tables in them: read, named by tables, hashed; written whole or not at all."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling.errors import CouplingError, ExperimentError, SnapshotError
from coupling.terminal_text import check_text, write_data
from fabricsim.checking import Table as CheckedTable
from fabricsim.checking import brief
from fabricsim.checking.documents import parse_json, parse_toml
from fabricsim.checking.inputs import read_text
from fabricsim.checking.sheets import sheet
from netsim.common.arrays import Ints
from netsim.common.atomic_write import replace_file
from netsim.common.errors import NetsimError, TopologyError
from netsim.topology.base import Topology
from patterns.errors import PatternError
from scheduler.errors import SchedulerError

if TYPE_CHECKING:
    import pandas as pd


def value_of(text: str, place: str) -> Any:  # noqa: ANN401 (a TOML value)
    """Read a value as it is typed on a command line: TOML within its bounds, or a bare word."""
    import tomllib  # noqa: PLC0415 (most commands read none)

    line = f"value = {text}"
    try:
        tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return text.strip()
    except (RecursionError, ValueError):
        pass  # beyond the bounds, which the next line reports
    return parse_toml(line, place, ExperimentError)["value"]


class Table(CheckedTable):
    """One table of a file; every field is asked for once, what is left over is an error."""

    def __init__(
        self, values: object, place: str, kind: type[CouplingError] = ExperimentError
    ) -> None:
        super().__init__(values, place, kind)


@contextmanager
def error_context(where: str) -> Iterator[None]:
    """Put file and table, e.g. ``"easy.toml: [scheduler]"``, before an error of ours."""
    try:
        yield
    except (NetsimError, PatternError, SchedulerError, CouplingError) as error:
        raise ExperimentError(f"{where} {error}") from error


PATH_KEYS = frozenset({"path", "profile", "file", "lft", "fabric", "name_map"})


def located(value: Any, folder: Path) -> Any:  # noqa: ANN401 (a TOML value)
    """Return a table with absolute paths; standard input (``-``) stays."""
    if isinstance(value, Mapping):
        return {
            key: _absolute_path(inner, folder) if is_path(key, value) else located(inner, folder)
            for key, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [located(inner, folder) for inner in value]
    return value


def hashes(value: Any, folder: Path) -> dict[str, str]:  # noqa: ANN401 (a TOML value)
    """Return SHA-256 by path of the files that a table names and that exist."""
    found = {}
    for name in _table_paths(value):
        place = folder / name
        if place.is_file():
            found[str(place)] = hashlib.sha256(place.read_bytes()).hexdigest()
    return found


def require_one_stdin(named: Mapping[str, object]) -> None:
    """Refuse two inputs, by option, that are both standard input: it is read once."""
    found = [name for name, value in named.items() if str(value) == "-"]
    if len(found) > 1:
        raise SnapshotError(
            f"{' and '.join(found[:2])}: expected standard input (-) once at most, got it twice."
        )


def _table_paths(value: Any) -> Iterator[str]:  # noqa: ANN401 (a TOML value)
    """Yield the paths in a table."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if is_path(key, value):
                yield inner
            else:
                yield from _table_paths(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _table_paths(inner)


def is_path(key: str, table: Mapping[str, Any]) -> bool:
    """Say whether a field of a table holds the path of a file."""
    if key not in PATH_KEYS or (key == "fabric" and "lft" not in table):  # that of a GPU cluster
        return False
    return isinstance(table[key], str) and table[key] != "-"


def _absolute_path(path: str, folder: Path) -> str:
    absolute = str((folder / path).resolve())
    check_text(absolute, "path")
    return absolute


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object. `path`: the file, which gzip may have packed; ``-`` is standard input."""
    document = parse_json(read_text(path, SnapshotError), str(path), SnapshotError)
    if not isinstance(document, dict):
        raise SnapshotError(f"{path}: expected a JSON object, got {brief(document)}.")
    return document


def write_whole(path: Path, data: str | bytes) -> None:
    """Write a file (``-``: standard output); on failure the old one, or none, is left."""
    if str(path) == "-" and isinstance(data, str):
        write_data(data)
        return
    try:
        replace_file(path, data)
    except OSError as error:
        raise SnapshotError(f"{path}: cannot be written: {error.strerror}.") from None


def sheet_of(frame: "pd.DataFrame") -> str:
    """Write a table as comma-separated values, in which no text is a formula."""
    whole = frame.astype(object).where(frame.notna(), None)
    columns = [whole.iloc[:, place].tolist() for place in range(frame.shape[1])]
    return sheet(list(map(str, frame.columns)), zip(*columns, strict=True))


def write_table(path: Path, frame: "pd.DataFrame") -> None:
    """Write CSV, or Parquet by its ending; on failure the old file, or none, is left."""
    parquet = path.suffix == ".parquet"
    data = frame.to_parquet(index=False) if parquet else sheet_of(frame)
    try:
        replace_file(path, data)
    except OSError as error:
        raise SnapshotError(f"{path}: cannot be written: {error.strerror}.") from None


def node_list(table: Table, key: str, topology: Topology) -> Ints:
    """Read nodes in order, repeats included: numbers, names and host lists."""
    value = table.raw(key)
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list) or not entries:
        raise table.error(key, "a list of nodes, or a host list such as n[001-018]")
    try:
        found = np.array(topology.names.nodes(entries), dtype=np.int64)
    except TopologyError as error:
        raise table.fault(key, str(error)) from None
    if not found.size:
        raise table.error(key, "at least one node")
    if topology.usable is not None:
        idle = found[~np.isin(found, topology.usable)]
        if idle.size:
            name = topology.vertex_name(int(idle[0]))
            raise table.fault(key, f"node {name} takes no jobs on the fabric ({topology.summary}).")
    return found
