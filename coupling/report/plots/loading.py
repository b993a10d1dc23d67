"""Matplotlib and tables for a command, which shows nobody the help of their functions."""

import sys
from importlib import import_module


def load_drawing() -> None:
    """
    Load Matplotlib, if it has not been, without the help that it writes for setters of artists.

    It does so at every start, which is a quarter of the time that it takes to load.
    """
    if "matplotlib.artist" in sys.modules:
        return
    from matplotlib import artist  # noqa: PLC0415 (the rest is loaded below)

    whole = artist.kwdoc
    artist.kwdoc = _no_help
    try:
        import_module("matplotlib.figure")
    finally:
        artist.kwdoc = whole


def load_tables() -> None:
    """
    Load pandas, if it has not been, without the help that Arrow writes for functions.

    Arrow does so at every start, from the help of their options, which it takes apart for it.
    """
    if "pyarrow.compute" in sys.modules:
        return
    from pyarrow.vendored import docscrape  # noqa: PLC0415 (the rest is loaded below)

    whole = docscrape.NumpyDocString
    docscrape.NumpyDocString = _no_parameters
    try:
        import_module("pandas")
    finally:
        docscrape.NumpyDocString = whole


def _no_parameters(help_text: str) -> dict[str, list[object]]:
    """Return what the help of options says of each: nothing."""
    del help_text
    return {"Parameters": []}


def _no_help(artist: object) -> str:
    """Return the help of an artist's setters: none."""
    del artist
    return ""
