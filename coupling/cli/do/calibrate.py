"""What the command `calibrate` does: read counters or runs, fit, write a profile, print."""

import sys
from pathlib import Path
from typing import Any

from coupling.calibration.calibrate import calibrate
from coupling.calibration.profile_writer import profile_text
from coupling.calibration.runs import calibrate_runs
from coupling.cli.do.estimate import print_json
from coupling.errors import SnapshotError
from coupling.inputs.files import write_whole
from coupling.report.calibrate import calibration_html, calibration_parts, profile_head
from coupling.report.columns import text_of
from coupling.report.terminal import ProgressDisplay
from coupling.site.site import refuse_two_stdins
from coupling.terminal_text import remark

_COUNTERS = ("squeue", "sacct", "at", "before", "after", "seconds", "lft", "noise", "tick_s")


def run_calibrate(
    given: dict[str, Any],
    top: int,
    files: tuple[Path | None, Path | None],
    *,
    why: bool,
    as_json: bool,
) -> None:
    """
    Fit how jobs communicate, and show it.

    Parameters
    ----------
    given : dict
        Keywords of `calibrate`, and ``runs``, with which those of `calibrate_runs` count.
    top : int
        Groups and cables that are shown.
    files : tuple of Path or None
        Where to write the profile, and a page.
    why : bool
        List what was assumed.
    as_json : bool
        Print JSON instead of tables.

    Raises
    ------
    CouplingError, SchedulerError, NetsimError, PatternError
        If the input is wrong.
    """
    out, html = files
    options = {name: value for name, value in given.items() if value is not None}
    refuse_two_stdins(options)
    topology, runs = options.pop("topology"), options.pop("runs", None)
    if runs is not None:
        strange = [name for name in _COUNTERS if name in options]
        if strange:
            raise SnapshotError(
                f"--runs: expected without --{strange[0].removesuffix('_s')}, got both."
            )
        with ProgressDisplay() as progress:
            found = calibrate_runs(runs, topology, progress=progress, **options)
    else:
        if "timezone" in options:
            raise SnapshotError("--timezone: expected --runs beside it, it is missing.")
        for name in ("before", "after"):
            if name not in options:
                raise SnapshotError(
                    f"--{name}: expected counters of ports, or --runs instead; it is missing."
                )
        found = calibrate(topology, **options)
    if out is not None:
        write_whole(out, profile_text(found.profile, profile_head(found)))
    if html is not None:
        write_whole(html, calibration_html(found))
    if as_json:
        print_json(found.to_dict())
    else:
        sys.stdout.write(text_of(*calibration_parts(found, top, why=why)))
    if out is not None and str(out) != "-":
        remark(f"The profile is in {out}: --profile of now, whatif, place and replay reads it.")
