"""Matplotlib and tables for a command, which shows nobody the help of their functions."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def load_drawing() -> None:
    """
    Load Matplotlib, if it has not been, without the help that it writes for setters of artists.

    It does so at every start, which is a quarter of the time that it takes to load.
    """
    if "matplotlib.artist" in sys.modules:
        return
    _load("matplotlib.figure", "matplotlib.artist", "kwdoc", _no_help)


def load_tables() -> None:
    """
    Load pandas, if it has not been, without the help that Arrow writes for functions.

    Arrow does so at every start, from the help of their options, which it takes apart for it.
    """
    if "pyarrow.compute" in sys.modules:
        return
    _load("pandas", "pyarrow.vendored.docscrape", "NumpyDocString", _no_parameters)


def _load(module: str, helper: str, name: str, instead: Callable[[Any], object]) -> None:
    """Import a module with something else in place of what writes help, where that is found."""
    try:
        holder = import_module(helper)
        whole = getattr(holder, name)
    except (ImportError, AttributeError):  # their own affair, not promised to anybody: with help
        import_module(module)
        return
    setattr(holder, name, instead)
    try:
        import_module(module)
    finally:
        setattr(holder, name, whole)


def _no_parameters(help_text: str) -> dict[str, list[object]]:
    """Return what the help of options says of each: nothing."""
    del help_text
    return {"Parameters": []}


def _no_help(artist: object) -> str:
    """Return the help of an artist's setters: none."""
    del artist
    return ""
