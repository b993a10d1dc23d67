"""What the commands do: read, run, write, print."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

from coupling.errors import ExperimentError, Stopped
from coupling.inputs.experiment import Experiment
from coupling.report.report import write_report
from coupling.report.terminal import ProgressDisplay, comparison_table
from coupling.results.notes import accuracy_of
from coupling.runs.campaign import Campaign, run_campaign
from coupling.runs.engine import planned
from coupling.runs.fabrics import drawable_fabrics
from coupling.terminal_text import remark
from fabricsim.checking.outputs import MANIFEST

RESULTS = Path("results")


def run_experiment(
    path: Path,
    changes: Sequence[str],
    out: Path | None,
    *,
    plugins: Sequence[Path] = (),
    workers: int,
    resume: bool,
    csv: bool,
    full: bool = False,
    as_json: bool,
) -> None:
    """
    Run an experiment file and show what came out.

    Parameters
    ----------
    path : Path
        Experiment file; ``-`` is standard input.
    changes : sequence of str
        Fields to set over those of the file.
    out : Path or None
        Result directory; None: ``results/NAME``, numbered if it exists.
    plugins : sequence of Path, default ()
        Files with plug-ins, beside those that the experiment names.
    workers : int
        Compared runs at the same time.
    resume : bool
        Go on with an interrupted campaign.
    csv : bool
        Also write job tables as CSV.
    full : bool, default False
        Print all columns of the table.
    as_json : bool
        Print the summaries as JSON instead of the table.

    Raises
    ------
    CouplingError, SchedulerError, NetsimError, PatternError
        If the input is wrong.
    """
    experiment = Experiment.read(path, changes)
    if plugins:
        experiment = replace(experiment, plugins=(*experiment.plugins, *map(str, plugins)))
    folder = out or default_folder(experiment.name, resume=resume)
    try:
        with ProgressDisplay(plan=() if resume else planned(experiment)) as progress:
            campaign = run_campaign(
                experiment, folder, workers=workers, resume=resume, csv=csv, progress=progress
            )
        page = folder / "report.html"
        fabrics = drawable_fabrics([(experiment, campaign.results)])
        write_report(
            campaign.results,
            experiment.tables(),
            campaign.manifest,
            page,
            fabrics=fabrics,
            workers=workers,
        )
    except Stopped as stop:
        if (folder / MANIFEST).exists():
            stop.add_note(f"go on with --resume --out {folder}")
        raise
    except MemoryError:
        raise ExperimentError(f"{path}: a run of it needs more memory than there is.") from None
    _show(campaign, full=full, as_json=as_json)


def _show(campaign: Campaign, *, full: bool, as_json: bool) -> None:
    """Print the outcome: a table for people, or JSON alone for programs."""
    if as_json:
        summaries = [
            {**result.summary, "network": accuracy_of(result)} for result in campaign.results
        ]
        sys.stdout.write(json.dumps(summaries, indent=2) + "\n")
        return
    sys.stdout.write(comparison_table(campaign.results, full=full) + "\n")
    remark(f"Results and report.html are in {campaign.folder}")


def default_folder(name: str, *, resume: bool) -> Path:
    """
    Return results/NAME, or the first numbered one that does not exist; the last to resume.

    Parameters
    ----------
    name : str
        Of what is run.
    resume : bool
        Whether a result is gone on with.

    Returns
    -------
    Path
        The folder.
    """
    names = (RESULTS / (name if number == 1 else f"{name}-{number}") for number in count(1))
    last = RESULTS / name
    for folder in names:
        if not folder.exists():
            return last if resume else folder
        last = folder
    raise AssertionError
