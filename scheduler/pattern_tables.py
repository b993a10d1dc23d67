"""Tables of patterns in files: sizes with units, and matrix files that lie beside them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netsim.units import parse_size


def settled(spec: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """
    Turn sizes into bytes and let matrix files start in a folder, in patterns at any depth.

    Parameters
    ----------
    spec : mapping
        As for `patterns.make_pattern`, but sizes (options that end in ``bytes``) may have units.
    folder : Path
        Where the relative paths of matrix files start.

    Returns
    -------
    dict
        What `patterns.make_pattern` takes.

    Raises
    ------
    UnitError
        If a size cannot be read, or cannot be meant.

    Examples
    --------
    >>> settled({"name": "ring", "nbytes": "1 GB"}, Path())
    {'name': 'ring', 'nbytes': 1000000000.0}
    """

    def entry(key: str, value: object) -> object:
        if isinstance(value, Mapping):
            return settled(value, folder)
        if isinstance(value, list):
            return [entry("", part) for part in value]
        if str(key).endswith("bytes"):
            return parse_size(value)  # type: ignore[arg-type]  # it refuses other types
        if key == "file" and isinstance(value, str) and value:
            return str(folder / value)
        return value

    return {key: entry(key, value) for key, value in spec.items()}
