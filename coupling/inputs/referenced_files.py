"""Input files that the tables of an experiment name: where they are, and their hashes."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from coupling.errors import SnapshotError
from coupling.terminal_text import check_text

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
