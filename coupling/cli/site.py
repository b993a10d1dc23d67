"""The commands about a site's own files: parse and call."""

from pathlib import Path
from typing import Annotated

import typer

from coupling.cli.network import AsJson, NameMap
from coupling.cli.outputs import output

Fabric = Annotated[
    str,
    typer.Option(
        "--topology", help="topology.conf, output of ibnetdiscover, a machine, or any other fabric."
    ),
]
Queue = Annotated[
    Path | None, typer.Option("--squeue", help="Output of squeue --json, - for standard input.")
]
Records = Annotated[
    Path | None, typer.Option("--sacct", help="Instead: output of sacct -X -P, with --at.")
]
At = Annotated[
    str | None,
    typer.Option("--at", help="Moment, on the clock of the records: 2024-05-30T09:00."),
]
ProfileFile = Annotated[
    Path | None,
    typer.Option("--profile", help="How jobs communicate (TOML); default: five patterns."),
]
Unknown = Annotated[
    str,
    typer.Option("--unknown", help="Hosts that the fabric has not: skip them, or stop."),
]
Draws = Annotated[
    int, typer.Option("--draws", min=1, help="How often patterns and fractions are drawn.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]
Why = Annotated[bool, typer.Option("--why", help="List what was assumed.")]
Top = Annotated[int, typer.Option("--top", min=1, help="Jobs and cables that are shown.")]


def now(
    topology: Fabric,
    squeue: Queue = None,
    sacct: Records = None,
    at: At = None,
    name_map: NameMap = None,
    profile: ProfileFile = None,
    unknown: Unknown = "skip",
    routing: Annotated[
        str | None, typer.Option(help="Instead of the usual one of the fabric.")
    ] = None,
    draws: Draws = 50,
    seed: Seed = 1,
    top: Top = 20,
    html: Annotated[
        Path | None, typer.Option(callback=output, help="Also write a page to this file.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(callback=output, help="Also write the table of jobs: .csv or .parquet."),
    ] = None,
    why: Why = False,
    as_json: AsJson = False,
) -> None:
    """
    Estimate interference among running jobs from site files.

    Example:

      fabricsim now --topology topology.conf --squeue squeue.json
    """
    from coupling.cli.do.now import run_now

    site = {
        "topology": topology,
        "squeue": squeue,
        "sacct": sacct,
        "at": at,
        "name_map": name_map,
        "profile": profile,
        "unknown": unknown,
        "routing": routing,
        "draws": draws,
        "seed": seed,
    }
    run_now(site, top, html, out, why=why, as_json=as_json)


def whatif(
    snapshot: Annotated[
        Path | None, typer.Argument(help="Snapshot (JSON); or give --topology and --squeue.")
    ] = None,
    topology: Annotated[str | None, typer.Option("--topology", help="Fabric, as for now.")] = None,
    squeue: Queue = None,
    sacct: Records = None,
    at: At = None,
    name_map: NameMap = None,
    profile: ProfileFile = None,
    unknown: Unknown = "skip",
    fail: Annotated[
        list[str] | None, typer.Option(help="Switch, node or cable A>B that fails; repeatable.")
    ] = None,
    drain: Annotated[
        list[str] | None, typer.Option(help="Nodes, or a switch, whose jobs have ended.")
    ] = None,
    add_cables: Annotated[
        list[str] | None, typer.Option("--add-cables", help="A>B, or A>B*4, between switches.")
    ] = None,
    routing: Annotated[str | None, typer.Option(help="Another routing.")] = None,
    taper: Annotated[
        float | None, typer.Option(help="Capacity from below / to above of every leaf.")
    ] = None,
    move: Annotated[list[str] | None, typer.Option(help="JOB=NODES, other nodes of a job.")] = None,
    each_switch: Annotated[
        bool, typer.Option("--each-switch", help="Rank the failures of each switch.")
    ] = False,
    each_cable: Annotated[
        bool, typer.Option("--each-cable", help="Rank the failures of each cable in use.")
    ] = False,
    draws: Draws = 50,
    seed: Seed = 1,
    top: Top = 20,
    out: Annotated[
        Path | None, typer.Option(callback=output, help="Also write the table: .csv or .parquet.")
    ] = None,
    why: Why = False,
    as_json: AsJson = False,
) -> None:
    r"""
    Predict what a failure or another change does to jobs.

    Exit status 1 when somebody is cut off.

    Example:

      fabricsim whatif --topology topology.conf --squeue squeue.json \
        --fail spine1
    """
    from coupling.cli.do.whatif import Output, run_whatif
    from coupling.errors import SnapshotError
    from coupling.site.changes import Changes

    if each_switch and each_cable:
        raise SnapshotError("expected --each-switch or --each-cable, got both.")
    site = {
        "topology": topology,
        "squeue": squeue,
        "sacct": sacct,
        "at": at,
        "name_map": name_map,
        "profile": profile,
        "unknown": unknown,
        "draws": draws,
        "seed": seed,
    }
    changes = Changes(
        fail=tuple(fail or ()),
        drain=tuple(drain or ()),
        add_cables=tuple(add_cables or ()),
        routing=routing,
        taper=taper,
        move=tuple(move or ()),
    )
    each = "switch" if each_switch else "cable" if each_cable else ""
    if not run_whatif(snapshot, site, changes, each, Output(top, out, why, as_json)):
        raise typer.Exit(1)


def replay(
    log: Annotated[
        Path, typer.Argument(help="Output of sacct -X -P, or of squeue --json, with node lists.")
    ],
    topology: Fabric,
    name_map: NameMap = None,
    profile: ProfileFile = None,
    unknown: Unknown = "skip",
    timezone: Annotated[
        str | None, typer.Option(help="Of times without an offset, such as Europe/Paris.")
    ] = None,
    free_from: Annotated[
        str | None,
        typer.Option("--free-from", help="Schedule freely from this time on."),
    ] = None,
    then: Annotated[
        list[str] | None,
        typer.Option(
            "--then", help="Setting from then on: scheduler.allocator=jigsaw; repeatable."
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="Setting of all runs, not fitted: scheduler.window=20."),
    ] = None,
    fit: Annotated[
        bool, typer.Option("--fit/--no-fit", help="Look for the queue settings that fit best.")
    ] = True,
    seeds: Annotated[
        int, typer.Option(min=1, help="How often communication is drawn for gains.")
    ] = 5,
    seed: Seed = 1,
    top: Top = 10,
    html: Annotated[
        Path | None, typer.Option(callback=output, help="Also write a page to this file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Result directory; default results/replay, numbered.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a replay that was killed.")
    ] = False,
    why: Why = False,
    as_json: AsJson = False,
) -> None:
    r"""
    Replay a Slurm record, and try another scheduler on it.

    Example:

      fabricsim replay records.txt --topology topology.conf \
        --free-from 2024-05-30T09:00 --then scheduler.allocator=jigsaw
    """
    from coupling.cli.do.replay import run_replay

    options = {
        "log": log,
        "topology": topology,
        "name_map": name_map,
        "profile": profile,
        "unknown": unknown,
        "timezone": timezone,
        "free_from": free_from,
        "then": then or [],
        "changes": changes or [],
        "fit": fit,
        "seeds": seeds,
        "seed": seed,
    }
    run_replay(options, (out, html), top, resume=resume, why=why, as_json=as_json)


def place(
    topology: Fabric,
    nodes: Annotated[int, typer.Option("--nodes", min=1, help="Nodes that the job needs.")],
    squeue: Queue = None,
    sacct: Records = None,
    at: At = None,
    name_map: NameMap = None,
    profile: ProfileFile = None,
    unknown: Unknown = "skip",
    routing: Annotated[
        str | None, typer.Option(help="Instead of the usual one of the fabric.")
    ] = None,
    pattern: Annotated[
        str | None, typer.Option(help="Pattern of the job; default: drawn from the profile.")
    ] = None,
    comm_fraction: Annotated[
        float | None,
        typer.Option("--comm-fraction", help="Share of its time beside --pattern; default 0.3."),
    ] = None,
    isolated: Annotated[
        bool, typer.Option("--isolated", help="On links that no other job uses.")
    ] = False,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Nodes that take no jobs: drained or down.")
    ] = None,
    lft: Annotated[
        Path | None,
        typer.Option(
            "--lft", callback=output, help="Write tables for the best isolated placement."
        ),
    ] = None,
    base: Annotated[
        Path | None, typer.Option("--base", help="Dump of the tables that are loaded now.")
    ] = None,
    draws: Draws = 50,
    seed: Seed = 1,
    top: Top = 5,
    html: Annotated[
        Path | None, typer.Option(callback=output, help="Also write a page to this file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(callback=output, help="Also write the table: .csv or .parquet.")
    ] = None,
    why: Why = False,
    as_json: AsJson = False,
) -> None:
    """
    Find the best nodes for one more job on the machine.

    Exit status 1 when there is no placement now.

    Example:

      fabricsim place --nodes 32 --topology topology.conf --squeue squeue.json
    """
    from coupling.cli.do.place import Output, run_place

    site = {
        "topology": topology,
        "squeue": squeue,
        "sacct": sacct,
        "at": at,
        "name_map": name_map,
        "profile": profile,
        "unknown": unknown,
        "routing": routing,
        "draws": draws,
        "seed": seed,
    }
    wanted = {
        "nodes": nodes,
        "pattern": pattern,
        "comm_fraction": comm_fraction,
        "isolated": isolated,
        "exclude": exclude or [],
    }
    if not run_place(site, wanted, base, Output(top, html, out, lft, why, as_json)):
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    """
    Add the commands to the application.

    Parameters
    ----------
    app : Typer
        The command `fabricsim`.
    """
    app.command()(now)
    app.command()(whatif)
    app.command()(replay)
    app.command()(place)
