"""What the command `replay` does: read a record, replay it, write results, print."""

import sys
from pathlib import Path
from typing import Any

from coupling.cli.do.estimate import print_json
from coupling.cli.do.results import write_pages
from coupling.cli.do.run import default_folder
from coupling.guard import remark
from coupling.replays.replay import FREED, RECORDED, THEN, replay
from coupling.report.columns import text_of
from coupling.report.replay import replay_parts
from coupling.report.terminal import ProgressDisplay


def run_replay(options: dict[str, Any], out: Path | None, top: int, *, as_json: bool) -> None:
    """
    Replay a record, and show what came out.

    Parameters
    ----------
    options : dict
        Keywords of `coupling.replays.replay.replay`.
    out : Path or None
        Folder for results; None: ``results/replay``, numbered if it exists.
    top : int
        Jobs that are shown.
    as_json : bool
        Print JSON instead of tables.

    Raises
    ------
    CouplingError, SchedulerError, NetsimError, PatternError
        If the input is wrong.
    """
    folder = out or default_folder("replay", resume=False)
    with ProgressDisplay() as progress:
        found = replay(**options, folder=folder, progress=progress)
    names = [""] if found.freed is None else [RECORDED, FREED, *([THEN] if found.then else [])]
    write_pages([folder / name for name in names], folder / "report.html")
    if as_json:
        print_json(found.to_dict())
    else:
        sys.stdout.write(text_of(*replay_parts(found, top)))
    remark(f"Results and report.html are in {folder}")
