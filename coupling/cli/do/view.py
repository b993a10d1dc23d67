"""What the command `view` does."""

import json
import sys
import webbrowser
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from coupling.errors import CouplingError


def run_view(paths: Sequence[Path], port: int, *, browser: bool, as_json: bool) -> None:
    """
    Serve the explorer until it is interrupted.

    Parameters
    ----------
    paths : sequence of Path
        Result directories, or one snapshot.
    port : int
        Where to listen on this machine; 0: any port that is free.
    browser : bool
        Open the browser.
    as_json : bool
        Print the address as JSON.

    Raises
    ------
    CouplingError
        If the extra is missing, the port is taken, or a path holds no complete result and no
        snapshot.
    """
    if find_spec("bokeh") is None:
        raise CouplingError(
            "view: expected the package bokeh, it is missing; pip install 'fabricsim[view]'."
        )
    from coupling.explorer.open_path import shown_of
    from coupling.explorer.server import Explorer

    shown = shown_of(paths)
    shown.prepare()
    explorer = Explorer(shown, port)
    explorer.serve(lambda: _tell(explorer.address, browser=browser, as_json=as_json))


def _tell(address: str, *, browser: bool, as_json: bool) -> None:
    """Print the address, and open the browser there."""
    line = json.dumps({"address": address}) if as_json else f"{address}\nCtrl+C ends it."
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    if browser:
        _opened(address)


def _opened(address: str) -> None:
    """Open the browser where there is one; the address has been printed for where there is none."""
    try:
        webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return
