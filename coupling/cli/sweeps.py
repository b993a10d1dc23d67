"""The commands about sweeps: parse and call."""

from pathlib import Path
from typing import Annotated

import typer

from coupling.cli.network import AsJson


def sweep(
    experiment: Annotated[
        Path, typer.Argument(help="Experiment file with a table \\[sweep], or a sweep's directory.")
    ],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a field, e.g. --set workload.n_jobs=100."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Directory; default results/NAME.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes on this machine.")] = 1,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, e.g. tcp://host:8786.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="Only write cells and a job-array script, here.")
    ] = None,
    tasks: Annotated[
        int | None, typer.Option(min=1, help="Tasks of the array; default: one per cell.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Compute the cells of one task of an array, e.g. 3/40.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check all cells and estimate time and disk.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="No effect: finished cells are always kept.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """
    Parameter sweep: paired differences with intervals.

    Example:

      fabricsim sweep examples/sweep.toml --workers 2
    """
    del resume
    from coupling.cli.do.sweep import Request, run

    changed = tuple(changes or ())
    run(Request(experiment, changed, out, workers, dask, plan, tasks, task, dry_run, as_json))


def gather(
    folder: Annotated[Path, typer.Argument(help="Directory of the sweep.")],
    as_json: AsJson = False,
) -> None:
    """
    Collect the cells of a sweep that ran as a job array.

    Example:

      fabricsim gather results/sweep
    """
    from coupling.cli.do.sweep import run_gather

    run_gather(folder, as_json=as_json)


def register(app: typer.Typer) -> None:
    """
    Add the commands to the application.

    Parameters
    ----------
    app : Typer
        The command `fabricsim`.
    """
    app.command()(sweep)
    app.command()(gather)
