"""What a path that somebody gave holds: results, or a moment."""

from collections.abc import Sequence
from pathlib import Path

from coupling.errors import ResultError
from coupling.explorer.exhibit import Exhibit, exhibit_of
from coupling.explorer.moment import Moment, moment_of


def shown_of(paths: Sequence[Path]) -> Exhibit | Moment:
    """
    Read what is to be looked at.

    `paths`: result directories, or one snapshot, ``-`` for standard input.
    """
    files = [path for path in paths if str(path) == "-" or path.is_file()]
    if not files:
        return exhibit_of(paths)
    if len(paths) > 1:
        raise ResultError(
            f"{files[0]}: expected result directories, or one snapshot alone, got {len(paths)} "
            "paths with a file among them."
        )
    return moment_of(files[0])
