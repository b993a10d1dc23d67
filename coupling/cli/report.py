"""The command `report`: write the HTML report of results or of a sweep."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupling.cli import options as of
from coupling.cli.outputs import print_json
from coupling.cli.sweep import Question, is_sweep
from coupling.errors import ResultError
from coupling.terminal_text import visible

if TYPE_CHECKING:
    from coupling.runs.stored import Lineup
    from netsim.topology.base import Topology


def report(
    results: of.ResultFolders,
    out: Annotated[
        Path | None,
        typer.Option(
            callback=of.output,
            help="File to write; default: report.html in the directory, if it is one.",
        ),
    ] = None,
    baseline: of.Baseline = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            help="Also write each figure here as PDF and SVG for a paper's column, with its "
            "numbers as CSV."
        ),
    ] = None,
    as_json: of.AsJson = False,
) -> None:
    """
    Write the HTML report of results or of a sweep, with pictures.

    Example:

      fabricsim report results/full results/tapered --out both.html
    """
    if len(results) == 1 and is_sweep(results[0]):
        _report_sweep(results[0], out, baseline, figures, as_json=as_json)
        return
    from coupling.report.figures import run_figures, write_figures

    if out is None and len(results) > 1:
        raise ResultError(f"report: expected --out FILE for {len(results)} directories, got none.")
    path = out or results[0] / "report.html"
    lineup, fabrics = write_pages(results, path, baseline)
    written = []
    if figures is not None:
        written = write_figures(run_figures(lineup.results, fabrics, lineup.baseline), figures)
    if as_json:
        runs = [result.name for result in lineup.results]
        print_json({"file": str(path), "runs": runs, "figures": [str(one) for one in written]})
    else:
        for one in (path, *written):
            sys.stdout.write(f"{visible(str(one))}\n")


def _report_sweep(
    folder: Path, out: Path | None, baseline: str | None, figures: Path | None, *, as_json: bool
) -> None:
    """Write the page of a sweep: into its folder, with its pictures, or to another file."""
    from coupling.inputs.files import write_whole
    from coupling.report.sweep import sweep_answer, write_sweep_page
    from coupling.sweep.sweep import Sweep

    if figures is not None:
        raise ResultError(
            f"--figures: expected results, got the sweep {folder}, whose pictures are beside its "
            "page."
        )
    sweep = Sweep.open(folder)
    found = Question(baseline).answer(sweep)
    if out is None:
        page = write_sweep_page(sweep, found, folder)
    else:
        write_whole(out, sweep_answer(found, sweep).html())
        page = out
    if as_json:
        print_json({"file": str(page), "cells": len(sweep.cells)})
    else:
        sys.stdout.write(f"{visible(str(page))}\n")


def write_pages(
    folders: Sequence[Path], path: Path, baseline: str | None = None
) -> tuple[Lineup, Mapping[str, Topology]]:
    """Write a page over result directories; return the runs, and their fabrics by name."""
    from coupling.api import write_report
    from coupling.runs.given_objects import drawable_fabrics
    from coupling.runs.stored import Stored, line_up

    stored = [Stored.open(folder) for folder in folders]
    lineup = line_up(stored, baseline)
    results = iter(lineup.results)  # one campaign after the other
    fabrics = drawable_fabrics(
        (campaign.experiment, list(islice(results, len(campaign.places)))) for campaign in stored
    )
    write_report(
        lineup.results,
        _merge_tables([campaign.experiment.tables() for campaign in stored], folders),
        _merge_tables([campaign.manifest for campaign in stored], folders),
        path,
        baseline=lineup.baseline,
        notes=[] if len(stored) == 1 else difference_notes(lineup),
        fabrics=fabrics,
    )
    return lineup, fabrics


def difference_notes(lineup: Lineup) -> list[str]:
    """Return in what runs differ apart from the allocator."""
    from coupling.results.formatting import listing

    notes = []
    for key, by_run in lineup.differences.items():
        values: dict[str, list[str]] = {}
        for name, value in by_run.items():
            values.setdefault(value, []).append(name)
        parts = "; ".join(f"{value}: {listing(names)}" for value, names in values.items())
        notes.append(f"{key} differs: {parts}.")
    return notes


def _merge_tables(tables: Sequence[Mapping[str, Any]], folders: Sequence[Path]) -> dict[str, Any]:
    """Merge tables; where values differ, name the folder of each."""
    merged: dict[str, Any] = {}
    for key in dict.fromkeys(key for table in tables for key in table):
        values = [table.get(key) for table in tables]
        if all(value == values[0] for value in values):
            merged[key] = values[0]
        elif all(isinstance(value, Mapping) for value in values):
            merged[key] = _merge_tables([dict(value or {}) for value in values], folders)
        else:
            merged[key] = ", ".join(
                f"{value} ({folder})" for value, folder in zip(values, folders, strict=True)
            )
    return merged
