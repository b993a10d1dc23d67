"""The command about papers: parse and call."""

from pathlib import Path
from typing import Annotated

import typer

from coupling.cli.network import AsJson


def paper(
    name: Annotated[str, typer.Argument(help="pollard18, smith21, stoltzfus13, mishra20 or yang.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Small inputs that ship: minutes, no log needed.")
    ] = False,
    logs: Annotated[
        Path | None, typer.Option(help="Folder of the public job logs that the paper needs.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Directory; default results/NAME or results/NAME-quick.")
    ] = None,
    recorded: Annotated[
        Path | None, typer.Option(help="Run nothing: make the page of this record, NAME.json.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a field of the experiments, e.g. workload.n_jobs=500."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Run this experiment file of the paper; repeatable."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes on this machine.")] = 1,
    as_json: AsJson = False,
) -> None:
    """
    Run a paper's experiments; its numbers beside ours.

    Finished cells are kept: stopped and started again, it goes on.

    Example:

      fabricsim paper smith21 --quick
    """
    from coupling.cli.do.paper import Asked, run_paper

    changed, chosen = tuple(changes or ()), tuple(only or ())
    run_paper(Asked(name, quick, logs, out, recorded, changed, chosen, workers, as_json))


def register(app: typer.Typer) -> None:
    """
    Add the command to the application.

    Parameters
    ----------
    app : Typer
        The command `fabricsim`.
    """
    app.command()(paper)
