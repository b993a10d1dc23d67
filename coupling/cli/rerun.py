"""The command `rerun`: run a result again and compare the bytes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import print_json, print_lines

if TYPE_CHECKING:
    from coupling.runs.rerun import Rerun


def rerun(
    result: of.ResultFolder,
    workers: Annotated[int, typer.Option(min=1, help="Compared runs at the same time.")] = 1,
    as_json: of.AsJson = False,
) -> None:
    """
    Run a result again and compare the bytes.

    Exit status 1 where an input has changed or bytes differ.

    Example:

      fabricsim rerun results/try
    """
    from coupling.report.terminal import ProgressDisplay
    from coupling.runs.engine import planned
    from coupling.runs.rerun import rerun as run_again
    from coupling.runs.stored import Stored
    from fabricsim.checking.documents import json_fields

    stored = Stored.open(result)
    with ProgressDisplay(plan=planned(stored.experiment)) as progress:
        found = run_again(stored, workers=workers, progress=progress)
    if as_json:
        print_json({"agrees": found.agrees} | json_fields(found))
    else:
        print_lines(*_verdict_lines(result, found))
    if not found.agrees:
        raise typer.Exit(1)


def _verdict_lines(folder: Path, found: Rerun) -> list[str]:
    """Return sentences on what a second run gave."""
    from coupling.results.formatting import listing
    from coupling.runs.rerun import REPEATED

    lines = [f"{path}: changed: {how}." for path, how in found.changed_inputs.items()]
    if lines:
        return [*lines, f"{folder} cannot be reproduced: its input has changed."]
    lines = [f"{name} was {then}, now {now}." for name, (then, now) in found.versions.items()]
    lines += [f"{name}: {how}." for name, how in found.differences.items()]
    if found.differences:
        differ = f"{len(found.differences)} of {len(found.runs) * len(REPEATED)} files differ"
        return [*lines, f"{folder}: not reproduced, {differ}."]
    return [*lines, f"{folder}: {listing(found.runs)} reproduced byte by byte."]
