"""The command that lists what can be named: parse and print."""

import json
import sys
from typing import Annotated

import typer

from coupling.cli.network import AsJson

_KINDS = (
    *("allocators", "routings", "patterns", "topologies", "models", "queues"),
    *("generators", "readers"),
)


def names(
    kind: Annotated[str, typer.Argument(help=f"{', '.join(_KINDS[:-1])} or {_KINDS[-1]}.")],
    as_json: AsJson = False,
) -> None:
    """
    List allocators, patterns, topologies and other names.

    Example:

      fabricsim list allocators
    """
    from coupling.errors import ExperimentError
    from coupling.inputs.names import names_of
    from fabricsim.checking import choice

    found = names_of(choice("list", kind, _KINDS, error=ExperimentError))
    text = json.dumps(found, indent=2) if as_json else repr(found)
    sys.stdout.write(f"{text}\n")


def register(app: typer.Typer) -> None:
    """
    Add the command to the application.

    Parameters
    ----------
    app : Typer
        The command `fabricsim`.
    """
    app.command("list")(names)
