"""Tables of patterns in files: matrix files that lie beside them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def located(spec: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """
    Let matrix files start in a folder, in patterns at any depth.

    `spec`: as for `patterns.make_pattern`. `folder`: where the relative paths of matrix files
    start.

    Examples
    --------
    >>> located({"name": "matrix", "file": "there.csv"}, Path("data"))["file"]
    'data/there.csv'
    """

    def entry(key: str, value: object) -> object:
        if isinstance(value, Mapping):
            return located(value, folder)
        if isinstance(value, list):
            return [entry("", part) for part in value]
        given = key == "file" and isinstance(value, str) and value
        return str(folder / value) if given else value  # type: ignore[operator]

    return {key: entry(key, value) for key, value in spec.items()}
