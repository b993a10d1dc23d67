"""The commands `export` and `snapshot`: write a result, or a moment of it, for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import print_json, print_lines
from coupling.errors import ResultError

_SIMGRID = "simgrid"


def export(
    result: of.ResultFolder,
    to: Annotated[
        str,
        typer.Option(
            help="perfetto (Trace Event JSON), evalys (jobset CSV), batsim (workload), simgrid "
            "(folder with platform, schedule and player)."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            callback=of.output, help="File to write, - for standard output; a folder for simgrid."
        ),
    ],
    run: of.RunName = None,
    iterations: Annotated[
        int | None,
        typer.Option(min=1, help="For simgrid: iterations of a job at most.  [default: 20]"),
    ] = None,
    as_json: of.AsJson = False,
) -> None:
    """
    Write a result for Perfetto, evalys, Batsim or SimGrid.

    Example:

      fabricsim export results/try --to perfetto --out try.json
    """
    from coupling.inputs.files import write_whole
    from coupling.report.exchange import VIEWERS
    from coupling.runs.stored import Stored
    from fabricsim.checking import choice

    choice("--to", to, (*VIEWERS, _SIMGRID), error=ResultError)
    if to == _SIMGRID:
        _export_to_simgrid(result, out, run, iterations, as_json=as_json)
        return
    if iterations is not None:
        raise ResultError(f"--iterations: expected beside --to {_SIMGRID}, got --to {to}.")
    results = Stored.open(result).results()
    if run is not None:
        choice("--run", run, [own.name for own in results], error=ResultError)
        results = [own for own in results if own.name == run]
    write_whole(out, VIEWERS[to](results))
    if as_json and str(out) != "-":
        print_json({"out": str(out), "to": to, "runs": [own.name for own in results]})


def _export_to_simgrid(
    folder: Path, out: Path, run: str | None, iterations: int | None, *, as_json: bool
) -> None:
    """Write platform, schedule and player into a folder."""
    from coupling.inputs.files import write_whole
    from coupling.report.exchange import ITERATIONS, remarks, simgrid_files
    from coupling.runs.retrace import retrace
    from coupling.runs.stored import Stored

    if str(out) == "-":
        raise ResultError(f"--out: expected a folder beside --to {_SIMGRID}, got '-'.")
    retraced = retrace(Stored.open(folder), run)
    written = simgrid_files(retraced, iterations or ITERATIONS)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{out}: cannot be made: {error.strerror}.") from None
    for name, text in written.items():
        write_whole(out / name, text)
    notes = remarks(retraced)
    if as_json:
        print_json({"out": str(out), "to": _SIMGRID, "files": list(written), "remarks": notes})
    else:
        print_lines(*(f"{one}." for one in notes))


def snapshot(
    result: of.ResultFolder,
    at: Annotated[str, typer.Option(help="Moment of the run: seconds, or such as '3 h'.")],
    run: Annotated[
        str | None, typer.Option(help="Allocator of the run, where several are compared.")
    ] = None,
    out: of.NewFile = Path("-"),
    as_json: of.AsJson = False,
) -> None:
    """
    Write placements and owned links at one moment of a run.

    Example:

      fabricsim snapshot results/try --at '3 h' --run jigsaw --out then.json
    """
    from coupling.inputs.files import write_whole
    from coupling.runs.retrace import moment
    from coupling.runs.stored import Stored
    from netsim.common.errors import UnitError
    from netsim.common.units import parse_time

    try:
        at_s = parse_time(at)
    except UnitError as error:
        raise ResultError(f"--at: {error}") from None
    document = moment(Stored.open(result), at_s, run)
    write_whole(out, json.dumps(document, indent=1) + "\n")
    if as_json and str(out) != "-":
        print_json({"out": str(out), "at_s": at_s, "jobs": len(document["jobs"])})
