"""The command `view`: explore a result in the browser."""

import json
import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from coupling.cli import options as of
from coupling.errors import CouplingError


def view(
    results: Annotated[
        list[Path],
        typer.Argument(
            help="Result directories of run, several are compared; or one of sweep; or a snapshot."
        ),
    ],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0: any that is free.")
    ] = 0,
    browser: Annotated[bool, typer.Option(help="Open the browser, too.")] = True,
    as_json: of.AsJson = False,
) -> None:
    r"""
    Explore a result in the browser.

    Needs the extra view: pip install 'fabricsim\[view]'.

    Example:

      fabricsim view results/try
    """
    if find_spec("bokeh") is None:
        raise CouplingError(
            "view: expected the package bokeh, it is missing; pip install 'fabricsim[view]'."
        )
    from coupling.explorer.server import Explorer, shown_of

    shown = shown_of(results)
    shown.prepare()
    explorer = Explorer(shown, port)
    explorer.serve(lambda: _announce_address(explorer.address, browser=browser, as_json=as_json))


def _announce_address(address: str, *, browser: bool, as_json: bool) -> None:
    """Print the address, and open the browser there where there is one."""
    line = json.dumps({"address": address}) if as_json else f"{address}\nCtrl+C ends it."
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    if browser:
        try:
            webbrowser.open(address)
        except (webbrowser.Error, OSError):
            return
