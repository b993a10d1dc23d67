"""What a path that somebody gave holds: results, a sweep, or a moment."""

from collections.abc import Sequence
from pathlib import Path

from coupling.errors import ResultError
from coupling.explorer.cells import SweepView
from coupling.explorer.moment import Moment, moment_of
from coupling.explorer.run_view import RunView, exhibit_of
from fabricsim.checking.outputs import PLAN


def shown_of(paths: Sequence[Path]) -> RunView | Moment:
    """
    Read what is to be looked at.

    `paths`: result directories, or one sweep, or one snapshot (``-``: standard input).
    """
    files = [path for path in paths if str(path) == "-" or path.is_file()]
    if not files:
        sweeps = [path for path in paths if (path / PLAN).is_file()]
        if not sweeps:
            return exhibit_of(paths)
        if len(paths) > 1:
            raise ResultError(f"{sweeps[0]}: expected a sweep alone, got {len(paths)} paths.")
        return SweepView(sweeps[0])
    if len(paths) > 1:
        raise ResultError(
            f"{files[0]}: expected result directories, or one snapshot alone, got {len(paths)} "
            "paths with a file among them."
        )
    return moment_of(files[0])
