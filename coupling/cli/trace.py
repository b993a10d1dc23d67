"""The commands about job logs: parse and call."""

from pathlib import Path
from typing import Annotated

import typer

from coupling.cli.network import AsJson
from coupling.cli.outputs import output

LogFile = Annotated[Path, typer.Argument(help="Job log, - for standard input.")]
OutFile = Annotated[
    Path,
    typer.Argument(
        callback=output, help="File to write: .swf, .csv (also .gz) or .parquet by its name."
    ),
]
Format = Annotated[
    str | None,
    typer.Option("--format", help="swf, sacct, squeue-json, csv, ...; default by the name."),
]
PerNode = Annotated[
    int | None,
    typer.Option("--processors-per-node", help="Nodes = ceil(processors / this); default 1."),
]
MaxNodes = Annotated[int | None, typer.Option("--max-nodes", help="Drop larger jobs.")]
Scale = Annotated[int | None, typer.Option("--scale-nodes", help="Factor on all sizes.")]
Arrivals = Annotated[
    str | None, typer.Option("--arrivals", help="log, zero, or a factor on submit times.")
]
Window = Annotated[
    tuple[str, str] | None,
    typer.Option("--window", help="Keep jobs submitted between two times: seconds, or '2 h'."),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", help="Names of columns, with commas, of a file without a header."),
]


def inspect(
    file: LogFile,
    form: Format = None,
    processors_per_node: PerNode = None,
    max_nodes: MaxNodes = None,
    scale_nodes: Scale = None,
    arrivals: Arrivals = None,
    window: Window = None,
    columns: Columns = None,
    nodes: Annotated[
        int | None, typer.Option(help="Nodes of the machine, for the load; default: largest job.")
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(callback=output, help="Also write a page with pictures to this file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    r"""
    Describe a job log: sizes, times, load, users, oddities.

    Example:

      fabricsim trace inspect log.swf.gz --processors-per-node 4 \
        --html log.html
    """
    from coupling.cli.do.trace import run_inspect

    filters = {
        "processors_per_node": processors_per_node,
        "max_nodes": max_nodes,
        "scale_nodes": scale_nodes,
        "arrivals": arrivals,
        "window_s": window,
        "columns": columns.split(",") if columns is not None else None,
    }
    run_inspect(file, form, filters, nodes, html, as_json=as_json)


def convert(
    file: LogFile,
    out: OutFile,
    form: Format = None,
    processors_per_node: PerNode = None,
    max_nodes: MaxNodes = None,
    scale_nodes: Scale = None,
    arrivals: Arrivals = None,
    window: Window = None,
    columns: Columns = None,
    as_json: AsJson = False,
) -> None:
    r"""
    Write a job log in another format, filtered.

    Example:

      fabricsim trace convert jobs.sacct log.swf.gz --format sacct \
        --max-nodes 1024
    """
    from coupling.cli.do.trace import run_convert

    filters = {
        "processors_per_node": processors_per_node,
        "max_nodes": max_nodes,
        "scale_nodes": scale_nodes,
        "arrivals": arrivals,
        "window_s": window,
        "columns": columns.split(",") if columns is not None else None,
    }
    run_convert(file, out, form, filters, as_json=as_json)


def generate(
    generator: Annotated[str, typer.Argument(help="synth, laas, lublin or hector-like.")],
    out: OutFile,
    mean_nodes: Annotated[
        float | None, typer.Option(help="Mean size (synth, laas).", show_default=False)
    ] = None,
    n_nodes: Annotated[
        int | None, typer.Option("--n-nodes", help="Nodes of the machine (lublin).")
    ] = None,
    n_jobs: Annotated[int | None, typer.Option("--n-jobs", help="Number of jobs.")] = None,
    load: Annotated[float | None, typer.Option(help="Offered load (hector-like).")] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed; default 1.")] = None,
    as_json: AsJson = False,
) -> None:
    """
    Write a synthetic job log; equal seeds give equal bytes.

    Example:

      fabricsim trace generate synth synth16.swf.gz --mean-nodes 16 --seed 2
    """
    from coupling.cli.do.trace import run_generate

    arguments = {
        "mean_nodes": mean_nodes,
        "n_nodes": n_nodes,
        "n_jobs": n_jobs,
        "load": load,
        "seed": seed,
    }
    run_generate(generator, out, arguments, as_json=as_json)


def register(app: typer.Typer) -> None:
    """
    Add the commands to the application.

    Parameters
    ----------
    app : Typer
        The command `fabricsim`.
    """
    trace = typer.Typer(help="Job logs: inspect, convert, generate.", no_args_is_help=True)
    trace.command()(inspect)
    trace.command()(convert)
    trace.command()(generate)
    app.add_typer(trace, name="trace")
