"""Read JSON documents and node lists; write files whole or not at all."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.table import Table, brief
from coupling.terminal_text import write_data
from fabricsim.checking.documents import parse_json
from fabricsim.checking.inputs import read_text
from fabricsim.checking.sheets import sheet
from netsim.common.arrays import Ints
from netsim.common.atomic_write import replace_file
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology

if TYPE_CHECKING:
    import pandas as pd


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
