"""What the command `now` does: read a site, estimate, print."""

import sys
from pathlib import Path
from typing import Any

from coupling.cli.do.estimate import print_json
from coupling.errors import SnapshotError
from coupling.inputs.files import write_table, write_whole
from coupling.report.columns import text_of
from coupling.report.now import now_html, terminal_parts
from coupling.site.now import now_of
from coupling.site.site import read_site, refuse_two_stdins


def run_now(
    site: dict[str, Any], top: int, html: Path | None, out: Path | None, *, why: bool, as_json: bool
) -> None:
    """
    Estimate what the jobs of a site do to each other, and show it.

    Parameters
    ----------
    site : dict
        Keywords of `coupling.site.site.read_site`.
    top : int
        Jobs and cables that are shown.
    html : Path or None
        Also write a page.
    out : Path or None
        Also write the table of all jobs: .csv or .parquet by its name.
    why : bool
        List what was assumed.
    as_json : bool
        Print JSON instead of tables.

    Raises
    ------
    CouplingError, WorkloadError
        If the input is wrong.
    """
    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise SnapshotError(f"--out {out}: expected a name that ends in .csv or .parquet.")
    refuse_two_stdins(site)
    found = now_of(read_site(**site))
    if html is not None:
        write_whole(html, now_html(found))
    if out is not None:
        write_table(out, found.to_frame())
    if as_json:
        print_json(found.to_dict())
    else:
        sys.stdout.write(text_of(*terminal_parts(found, top, why=why)))
