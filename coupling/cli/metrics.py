"""The command `metrics`: utilisation, waits and distances in detail."""

from pathlib import Path
from typing import Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import print_json, print_parts


def metrics(
    results: of.ResultFolders,
    baseline: of.Baseline = None,
    per_minute: Annotated[
        Path | None,
        typer.Option(
            callback=of.output, help="Also write the utilisation of every minute to this CSV file."
        ),
    ] = None,
    as_json: of.AsJson = False,
) -> None:
    """
    Utilisation, waits and distances in detail.

    Example:

      fabricsim metrics results/try --baseline fifo
    """
    from coupling.inputs.files import write_whole
    from coupling.report.metrics import metrics_document, metrics_parts, minutes_sheet
    from coupling.runs.stored import Stored, line_up

    lineup = line_up([Stored.open(folder) for folder in results], baseline)
    if per_minute is not None:
        write_whole(per_minute, minutes_sheet(lineup.results))
    if as_json:
        print_json(metrics_document(lineup.results, lineup.baseline))
    else:
        print_parts(*metrics_parts(lineup.results, lineup.baseline))
