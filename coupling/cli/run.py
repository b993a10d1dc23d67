"""The command `run`: simulate an experiment."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from coupling.cli.options import AsJson, Changes, FullTable
from coupling.cli.outputs import default_folder
from coupling.errors import ExperimentError, Stopped
from coupling.terminal_text import remark, visible
from fabricsim.checking.outputs import MANIFEST

PLUGINS = "coupling.plugins"
"""Key of the context under which the files of `--plugin` are."""


def run(
    context: typer.Context,
    experiment: Annotated[
        Path, typer.Argument(help="Experiment file (TOML), - for standard input.")
    ],
    changes: Changes = None,
    out: Annotated[
        Path | None, typer.Option(help="Result directory; default results/NAME, numbered.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Compared runs at the same time.")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the finished runs of an interrupted result.")
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Also write the job tables as CSV.")] = False,
    links_timeline: Annotated[
        bool, typer.Option("--links-timeline", help="Also write the load of links over time.")
    ] = False,
    full: FullTable = False,
    as_json: AsJson = False,
) -> None:
    """
    Simulate a job log on a fabric, with interference.

    Example:

      fabricsim run examples/synth16.toml --set run.seed=2
    """
    from coupling.inputs.experiment import Experiment
    from coupling.report.terminal import ProgressDisplay, comparison_table
    from coupling.results.formatting import counted
    from coupling.results.notes import accuracy_of
    from coupling.runs.campaign import run_campaign
    from coupling.runs.engine import planned

    fields = [*(changes or ()), *(["run.links_timeline=true"] if links_timeline else [])]
    asked = Experiment.read(experiment, fields)
    if plugins := context.meta.get(PLUGINS):
        asked = replace(asked, plugins=(*asked.plugins, *map(str, plugins)))
    folder = out or default_folder(asked.name, resume=resume)
    try:
        with ProgressDisplay(plan=None if resume else planned(asked)) as progress:
            campaign = run_campaign(
                asked, folder, workers=workers, resume=resume, csv=csv, progress=progress
            )
    except Stopped as stop:
        if (folder / MANIFEST).exists():
            stop.add_note(f"go on with --resume --out {quote(str(folder))}")
        raise
    except MemoryError:
        raise ExperimentError(
            f"{experiment}: a run of it needs more memory than there is."
        ) from None
    if as_json:
        summaries = [
            {**result.summary, "network": accuracy_of(result)} for result in campaign.results
        ]
        sys.stdout.write(json.dumps(summaries, indent=2) + "\n")
    else:
        head = f"{campaign.manifest['fabric']}; {counted(int(campaign.manifest['jobs']), 'job')}"
        table = comparison_table(campaign.results, full=full)
        sys.stdout.write(f"{visible(head)}\n\n{table}\n")
        folder = campaign.folder
        remark(f"Results are in {folder}; pictures: fabricsim report {quote(str(folder))}")
