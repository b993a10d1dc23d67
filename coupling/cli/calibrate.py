"""The command `calibrate`: fit a communication profile to counters of ports, or to runs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from coupling.cli import options as of
from coupling.cli.outputs import write_answer
from coupling.errors import SnapshotError
from coupling.terminal_text import remark

_COUNTERS = ("squeue", "sacct", "at", "before", "after", "seconds", "lft", "noise", "tick_s")


@of.with_groups
def calibrate(
    topology: of.Fabric,
    jobs: of.SiteJobs,
    before: Annotated[
        Path | None,
        typer.Option(help="Counters of ports: perfquery -x, ibdiagnet2.pm or .db_csv, UFM (CSV)."),
    ] = None,
    after: Annotated[Path | None, typer.Option(help="The same ports, read later.")] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="Between the two readings; where the files do not state it."),
    ] = None,
    lft: Annotated[
        Path | None, typer.Option("--lft", help="Dump of the tables that are loaded.")
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(help="Instead of counters: sacct -X -P with repeated runs of jobs."),
    ] = None,
    routing: of.Routing = None,
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
        str | None, typer.Option(help="With --runs: of times without an offset.")
    ] = None,
    seed: of.Seed = 1,
    top: Annotated[int, typer.Option("--top", min=1, help="Groups and cables shown.")] = 15,
    out: Annotated[
        Path | None,
        typer.Option(callback=of.output, help="Write the profile (TOML) to this file."),
    ] = None,
    html: of.Page = None,
    why: of.Why = False,
    as_json: of.AsJson = False,
) -> None:
    r"""
    Fit a communication profile to port counters or runs.

    Example:

      fabricsim calibrate --topology fabric.txt --squeue squeue.json \
        --before a.txt --after b.txt --seconds 60 --out profile.toml
    """
    from coupling.calibration.answers import profile_text
    from coupling.calibration.calibrate import calibrate as fit_to_counters
    from coupling.calibration.runs import calibrate_runs
    from coupling.inputs.files import write_whole
    from coupling.report.calibrate import calibration_answer, profile_head
    from coupling.report.terminal import ProgressDisplay
    from coupling.site.site import refuse_two_stdins

    given: dict[str, Any] = (
        {"topology": topology}
        | vars(jobs)
        | {
            "before": before,
            "after": after,
            "seconds": seconds,
            "lft": lft,
            "routing": routing,
            "by": by,
            "noise": noise,
            "tick_s": tick,
            "timezone": timezone,
            "seed": seed,
        }
    )
    given = {name: value for name, value in given.items() if value is not None}
    refuse_two_stdins(given | {"runs": runs})
    if runs is not None:
        strange = [name for name in _COUNTERS if name in given]
        if strange:
            raise SnapshotError(
                f"--runs: expected without --{strange[0].removesuffix('_s')}, got both."
            )
        with ProgressDisplay() as progress:
            found = calibrate_runs(runs, progress=progress, **given)
    else:
        if timezone is not None:
            raise SnapshotError("--timezone: expected --runs beside it, it is missing.")
        for name in ("before", "after"):
            if name not in given:
                raise SnapshotError(
                    f"--{name}: expected counters of ports, or --runs instead; it is missing."
                )
        found = fit_to_counters(**given)
    if out is not None:
        write_whole(out, profile_text(found.profile, profile_head(found)))
    write_answer(
        found,
        lambda rows: calibration_answer(found, rows, why=why or rows is None),
        top,
        html=html,
        as_json=as_json,
    )
    if out is not None and str(out) != "-":
        remark(f"The profile is in {out}: --profile of now, whatif, place and replay reads it.")
