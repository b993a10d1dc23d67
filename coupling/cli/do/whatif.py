"""What the command `whatif` does: read jobs and fabric, change, compare, print."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coupling.cli.do.estimate import print_json
from coupling.errors import SnapshotError
from coupling.inputs.files import write_table
from coupling.inputs.snapshot import read_snapshot
from coupling.report.columns import text_of
from coupling.report.whatif import ranking_parts, whatif_parts
from coupling.site.changes import Changes
from coupling.site.site import Site, read_site, refuse_two_stdins, site_of_snapshot
from coupling.site.whatif import rank_failures, whatif_of
from coupling.terminal_text import remark

_EVERY_S = 10.0  # between lines of progress


@dataclass(frozen=True, slots=True)
class Output:
    """Where to, and how much: rows of a terminal, a file for the table, JSON."""

    top: int
    out: Path | None
    why: bool
    as_json: bool


def run_whatif(
    snapshot: Path | None, site: dict[str, Any], changes: Changes, each: str, output: Output
) -> bool:
    """
    Compare jobs before and after a change, or rank failures, and show what comes out.

    Parameters
    ----------
    snapshot : Path or None
        Jobs on a fabric; ``-`` is standard input.
    site : dict
        Instead: keywords of `coupling.site.site.read_site`.
    changes : Changes
        What is otherwise.
    each : {"", "switch", "cable"}
        Instead: let each of these fail alone.
    output : Output
        What to show.

    Returns
    -------
    bool
        Whether nobody is cut off by the change; True for rankings.

    Raises
    ------
    CouplingError, WorkloadError
        If the input is wrong.
    """
    if bool(changes.told) == bool(each):
        raise SnapshotError(
            "expected a change (--fail, --drain, --add-cables, --routing, --taper, --move), or one "
            f"of --each-switch and --each-cable; got {'both' if each else 'none'}."
        )
    out = output.out
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise SnapshotError(f"--out {out}: expected a name that ends in .csv or .parquet.")
    refuse_two_stdins(site | {"snapshot": snapshot})
    here = _site(snapshot, site)
    if each:
        ranking = rank_failures(here, each, _progress(each))
        _show(ranking, ranking_parts(ranking, output.top, why=output.why), output)
        return True
    found = whatif_of(here, changes, site["seed"])
    _show(found, whatif_parts(found, output.top, why=output.why), output)
    return not found.cut_off


def _site(snapshot: Path | None, site: dict[str, Any]) -> Site:
    """Read the jobs and their fabric."""
    if (snapshot is None) == (site["topology"] is None):
        raise SnapshotError(
            "expected a snapshot, or --topology with --squeue or --sacct; got "
            f"{'neither' if snapshot is None else 'both'}."
        )
    if snapshot is None:
        return read_site(**site)
    return site_of_snapshot(read_snapshot(snapshot))


def _show(found: Any, parts: list[Any], output: Output) -> None:  # noqa: ANN401 (an answer)
    """Write the table of an answer, and print it."""
    if output.out is not None:
        write_table(output.out, found.to_frame())
    if output.as_json:
        print_json(found.to_dict())
    else:
        sys.stdout.write(text_of(*parts))


def _progress(what: str) -> Callable[[int, int], None]:
    """Return what tells now and then how many were tried."""
    told = time.monotonic()

    def tell(tried: int, of: int) -> None:
        nonlocal told
        if time.monotonic() - told > _EVERY_S:
            told = time.monotonic()
            remark(f"{tried:,} of {of:,} failures of a {what} tried")

    return tell
