"""The command about counters of ports: parse and call."""

from pathlib import Path
from typing import Annotated

import typer

from coupling.cli.network import AsJson, NameMap
from coupling.cli.outputs import output
from coupling.cli.site import At, Fabric, ProfileFile, Queue, Records, Seed, Unknown, Why


def calibrate(
    topology: Fabric,
    squeue: Queue = None,
    sacct: Records = None,
    at: At = None,
    before: Annotated[
        Path | None,
        typer.Option(help="Counters of ports: perfquery -x, ibdiagnet2.pm or .db_csv, UFM (CSV)."),
    ] = None,
    after: Annotated[Path | None, typer.Option(help="The same ports, read later.")] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="Between the two readings; where the files do not tell it."),
    ] = None,
    lft: Annotated[
        Path | None, typer.Option("--lft", help="Dump of the tables that are loaded.")
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(help="Instead of counters: sacct -X -P with repeated runs of jobs."),
    ] = None,
    name_map: NameMap = None,
    profile: ProfileFile = None,
    unknown: Unknown = "skip",
    routing: Annotated[
        str | None, typer.Option(help="Instead of the usual one of the fabric.")
    ] = None,
    by: Annotated[
        str,
        typer.Option(help="Jobs that communicate alike: name, user, account, partition, rule."),
    ] = "name",
    noise: Annotated[
        float | None, typer.Option(help="Relative counter error; default 0.02.")
    ] = None,
    tick: Annotated[
        float | None,
        typer.Option(help="Seconds of a tick of PortXmitWait; default: 4 bytes on the link."),
    ] = None,
    timezone: Annotated[
        str | None, typer.Option(help="Beside --runs: of times without an offset.")
    ] = None,
    seed: Seed = 1,
    top: Annotated[int, typer.Option("--top", min=1, help="Groups and cables shown.")] = 15,
    out: Annotated[
        Path | None, typer.Option(callback=output, help="Write the profile (TOML) to this file.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(callback=output, help="Also write a page to this file.")
    ] = None,
    why: Why = False,
    as_json: AsJson = False,
) -> None:
    r"""
    Fit a communication profile to port counters or runs.

    Example:

      fabricsim calibrate --topology fabric.txt --squeue squeue.json \
        --before a.txt --after b.txt --seconds 60 --out profile.toml
    """
    from coupling.cli.do.calibrate import run_calibrate

    given = {
        "topology": topology,
        "squeue": squeue,
        "sacct": sacct,
        "at": at,
        "before": before,
        "after": after,
        "seconds": seconds,
        "lft": lft,
        "runs": runs,
        "name_map": name_map,
        "profile": profile,
        "unknown": unknown,
        "routing": routing,
        "by": by,
        "noise": noise,
        "tick_s": tick,
        "timezone": timezone,
        "seed": seed,
    }
    run_calibrate(given, top, (out, html), why=why, as_json=as_json)


def register(app: typer.Typer) -> None:
    """
    Add the command to the application.

    Parameters
    ----------
    app : Typer
        The command `fabricsim`.
    """
    app.command()(calibrate)
