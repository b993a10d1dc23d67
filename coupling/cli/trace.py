"""The commands `trace inspect`, `trace convert` and `trace generate`: job logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupling.cli import options as of
from coupling.cli.outputs import print_json, print_lines, print_parts
from coupling.errors import ExperimentError

if TYPE_CHECKING:
    from scheduler.workload import Workload

LogFile = Annotated[Path, typer.Argument(help="Job log, - for standard input.")]
OutFile = Annotated[
    Path,
    typer.Argument(
        callback=of.output, help="File to write: .swf, .csv (also .gz) or .parquet by its name."
    ),
]


@of.with_groups
def inspect(
    file: LogFile,
    filters: of.LogFilters,
    nodes: Annotated[
        int | None, typer.Option(help="Nodes of the machine, for the load; default: largest job.")
    ] = None,
    html: of.Page = None,
    as_json: of.AsJson = False,
) -> None:
    r"""
    Describe a job log: sizes, times, load, users, oddities.

    Example:

      fabricsim trace inspect log.swf.gz --processors-per-node 4 \
        --html log.html
    """
    from coupling.inputs.files import write_whole
    from coupling.report.log import trace_answer
    from scheduler.workload.statistics import trace_numbers

    workload = _read_log(file, filters)
    numbers = trace_numbers(workload, nodes)
    if html is not None:
        write_whole(html, trace_answer(numbers, workload).html())
    if as_json:
        print_json(numbers)
    else:
        print_parts(*trace_answer(numbers).parts())


@of.with_groups
def convert(
    file: LogFile,
    out: OutFile,
    filters: of.LogFilters,
    as_json: of.AsJson = False,
) -> None:
    r"""
    Write a job log in another format, filtered.

    Example:

      fabricsim trace convert jobs.sacct log.swf.gz --format sacct \
        --max-nodes 1024
    """
    _write_workload(_read_log(file, filters), out, as_json=as_json)


def generate(
    generator: Annotated[str, typer.Argument(help="synth, laas, lublin, hector-like, kalos-like.")],
    out: OutFile,
    mean_nodes: Annotated[
        float | None, typer.Option(help="Mean size (synth, laas).", show_default=False)
    ] = None,
    n_nodes: Annotated[
        int | None, typer.Option("--n-nodes", help="Nodes of the machine (lublin, kalos-like).")
    ] = None,
    n_jobs: Annotated[int | None, typer.Option("--n-jobs", help="Number of jobs.")] = None,
    load: Annotated[float | None, typer.Option(help="Offered load (*-like).")] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed; default 1.")] = None,
    as_json: of.AsJson = False,
) -> None:
    """
    Write a synthetic job log; equal seeds give equal bytes.

    Example:

      fabricsim trace generate synth synth16.swf.gz --mean-nodes 16 --seed 2
    """
    from fabricsim.checking import unknown
    from scheduler.workload import GENERATORS, make_workload

    if generator not in GENERATORS:
        raise ExperimentError(f"trace generate: {unknown('generator', generator, GENERATORS)}")
    table = {
        "generator": generator,
        "mean_nodes": mean_nodes,
        "n_nodes": n_nodes,
        "n_jobs": n_jobs,
        "load": load,
        "seed": seed,
    }
    _write_workload(
        make_workload(_given_options(table), source="trace generate"), out, as_json=as_json
    )


def _read_log(path: Path, filters: of.LogFilters) -> Workload:
    """Read a log, in the format that is given or that its name ends with."""
    from scheduler.workload import READERS, make_workload
    from scheduler.workload.registry import format_of

    form = filters.form or format_of(path)
    if form is None:
        if str(path) != "-" and not path.exists():
            raise ExperimentError(f"{path}: cannot be read: No such file or directory.")
        raise ExperimentError(
            f"{path}: no format is known by the end of this name; expected --format, one of "
            f"{', '.join(READERS)}."
        )
    arrivals: str | float | None = filters.arrivals
    if arrivals not in (None, "log", "zero"):
        try:
            arrivals = float(arrivals)
        except ValueError:
            raise ExperimentError(
                f"--arrivals: expected log, zero or a positive factor, got {arrivals!r}."
            ) from None
    table = {
        "path": str(path),
        "format": form,
        "processors_per_node": filters.processors_per_node,
        "max_nodes": filters.max_nodes,
        "scale_nodes": filters.scale_nodes,
        "arrivals": arrivals,
        "window_s": filters.window,
        "columns": None if filters.columns is None else filters.columns.split(","),
    }
    return make_workload(_given_options(table), source=str(path))


def _given_options(options: dict[str, Any]) -> dict[str, Any]:
    """Leave out the options that were not given."""
    return {key: value for key, value in options.items() if value is not None}


def _write_workload(workload: Workload, out: Path, *, as_json: bool) -> None:
    """Write a workload, and report how many jobs and what is not in the file."""
    from coupling.results.formatting import counted, listing
    from scheduler.workload.writers import write_trace

    if not workload.jobs:
        reasons = listing([f"{count:,} {reason}" for reason, count in workload.dropped.items()])
        raise ExperimentError(f"{workload.source}: no job is left to write ({reasons}).")
    lost = write_trace(workload, out)
    if as_json:
        counts = {"jobs": len(workload.jobs), "dropped_by_reason": dict(workload.dropped)}
        print_json({"source": workload.source, "file": str(out), **counts, "lost": lost})
        return
    lines = [f"{out}: {counted(len(workload.jobs), 'job')} from {workload.source}"]
    lines += [f"dropped: {count:,} {reason}" for reason, count in workload.dropped.items()]
    lines += [f"not in the file: {what}" for what in lost]
    print_lines(*lines)
