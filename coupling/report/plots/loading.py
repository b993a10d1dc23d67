"""Matplotlib for a command, which shows nobody the help of its functions."""

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


def _no_help(artist: object) -> str:
    """Return the help of an artist's setters: none."""
    del artist
    return ""
