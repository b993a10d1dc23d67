"""The command about plug-ins: parse and call."""

from typing import Annotated

import typer

from coupling.cli.network import AsJson


def check_plugin(
    target: Annotated[
        str, typer.Argument(help="FILE.py, module:Name, FILE.py:Name, or a name that is known.")
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            help="allocators, queues, patterns, topologies, routings, contention_models or "
            "readers, where the target does not tell."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="An option of the part, e.g. --set step=2; path of a log."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """
    Check that a plug-in conforms.

    Exit status 1 when a rule is broken.

    Example:

      fabricsim check-plugin mine.py --kind allocators
    """
    from coupling.cli.do.plugin import run_check_plugin

    if not run_check_plugin(target, kind, changes or [], as_json=as_json):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """
    Add the command to the application.

    Parameters
    ----------
    app : Typer
        The command `fabricsim`.
    """
    app.command("check-plugin")(check_plugin)
