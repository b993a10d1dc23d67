"""The command `replay`: replay a Slurm record, and try another scheduler on it."""

from pathlib import Path
from shlex import join, quote
from typing import Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import default_folder, write_answer
from coupling.errors import Stopped
from coupling.terminal_text import remark


def replay(
    log: Annotated[
        Path, typer.Argument(help="Output of sacct -X -P, or of squeue --json, with node lists.")
    ],
    topology: of.Fabric,
    name_map: of.NameMap = None,
    host_pattern: of.HostPattern = None,
    profile: of.ProfileFile = None,
    unknown: of.Unknown = "skip",
    timezone: of.TimeZone = None,
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
    seed: of.Seed = 1,
    top: of.Top = 10,
    html: of.Page = None,
    out: Annotated[
        Path | None, typer.Option(help="Result directory; default results/replay, numbered.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a replay that was killed.")
    ] = False,
    why: of.Why = False,
    as_json: of.AsJson = False,
) -> None:
    r"""
    Replay a Slurm record, and try another scheduler on it.

    Example:

      fabricsim replay records.txt --topology topology.conf \
        --free-from 2024-05-30T09:00 --then scheduler.allocator=jigsaw
    """
    from coupling.replay import replay as replaying
    from coupling.report.replay import replay_answer
    from coupling.report.terminal import ProgressDisplay

    folder = out or default_folder("replay", resume=resume)
    try:
        with ProgressDisplay() as progress:
            found = replaying.replay(
                log=log,
                topology=topology,
                name_map=name_map,
                host_pattern=host_pattern,
                profile=profile,
                unknown=unknown,
                timezone=timezone,
                free_from=free_from,
                then=then or [],
                changes=changes or [],
                fit=fit,
                seeds=seeds,
                seed=seed,
                out=folder,
                resume=resume,
                progress=progress,
            )
    except Stopped as stop:
        if folder.exists():
            stop.add_note(f"go on with --resume --out {quote(str(folder))}")
        raise
    folders = [folder]
    if found.freed is not None:
        names = (replaying.RECORDED, replaying.FREED, *([replaying.THEN] if found.then else []))
        folders = [folder / name for name in names]
    write_answer(
        found,
        lambda rows: replay_answer(found, rows, why=why or rows is None),
        top,
        html=html,
        as_json=as_json,
    )
    to = f" --out {quote(str(folder / 'report.html'))}" if len(folders) > 1 else ""
    drawn = f"fabricsim report {join(map(str, folders))}{to}"
    remark(f"Results are in {folder}; pictures: {drawn}")
