"""What the command `replay` does: read a record, replay it, write results, print."""

import sys
from pathlib import Path
from typing import Any

from coupling.cli.do.estimate import print_json
from coupling.cli.do.results import write_pages
from coupling.cli.do.run import default_folder
from coupling.errors import Stopped
from coupling.inputs.files import write_whole
from coupling.replay.replay import FREED, RECORDED, THEN, replay
from coupling.report.columns import text_of
from coupling.report.replay import replay_html, replay_parts
from coupling.report.terminal import ProgressDisplay
from coupling.terminal_text import remark


def run_replay(
    options: dict[str, Any],
    files: tuple[Path | None, Path | None],
    top: int,
    *,
    resume: bool,
    why: bool,
    as_json: bool,
) -> None:
    """
    Replay a record, and show what came out.

    Parameters
    ----------
    options : dict
        Keywords of `coupling.replay.replay.replay`.
    files : tuple of Path or None
        Folder for results (None: ``results/replay``, numbered if it exists), and a page.
    top : int
        Jobs that are shown.
    resume : bool
        Go on with the folder, or the last one.
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
    folder = out or default_folder("replay", resume=resume)
    try:
        with ProgressDisplay() as progress:
            found = replay(**options, out=folder, resume=resume, progress=progress)
    except Stopped as stop:
        if folder.exists():
            stop.add_note(f"go on with --resume --out {folder}")
        raise
    names = [""] if found.freed is None else [RECORDED, FREED, *([THEN] if found.then else [])]
    write_pages([folder / name for name in names], folder / "report.html")
    if html is not None:
        write_whole(html, replay_html(found))
    if as_json:
        print_json(found.to_dict())
    else:
        sys.stdout.write(text_of(*replay_parts(found, top, why=why)))
    remark(f"Results and report.html are in {folder}")
