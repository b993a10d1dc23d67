"""The commands about a snapshot, a table of routes or a fabric: parse and call."""

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, nothing else.")]
SnapshotFile = Annotated[Path, typer.Argument(help="Snapshot (JSON), - for standard input.")]


def estimate(
    snapshot: SnapshotFile,
    model: Annotated[
        str | None,
        typer.Option(help="accurate, fast, exact, null, ... instead of the snapshot's."),
    ] = None,
    fairness: Annotated[
        str | None, typer.Option(help="per-sender or per-flow, instead of the snapshot's.")
    ] = None,
    blame: Annotated[
        bool, typer.Option(help="Say which job costs which: a prediction for each job.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """
    Estimate how much jobs slow each other down, and rank other placements.

    Example: fabricsim estimate examples/placed_jobs.json --model exact
    """
    from coupling.commands_network import run_estimate

    run_estimate(snapshot, model, fairness, blame=blame, as_json=as_json)


def flows(
    file: Annotated[Path, typer.Argument(help="Flows (JSON), - for standard input.")],
    as_json: AsJson = False,
) -> None:
    """
    Route given flows and say what they get: rates, finish times, loads of links.

    Example: fabricsim flows examples/three_flows.json
    """
    from coupling.commands_network import run_flows

    run_flows(file, as_json=as_json)


def register(app: typer.Typer) -> None:
    """
    Add the commands to the application.

    Parameters
    ----------
    app : Typer
        The command `fabricsim`.
    """
    app.command()(estimate)
    app.command()(flows)
