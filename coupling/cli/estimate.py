"""The commands `estimate` and `flows`: what placed jobs do to each other, what flows get."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import write_answer
from coupling.errors import SnapshotError


@of.with_groups
def estimate(
    snapshot: of.SnapshotFile,
    model: Annotated[
        str | None,
        typer.Option(
            help="Instead of the snapshot's: fluid, flow-level, packets; for "
            "comparison null, hop-cost."
        ),
    ] = None,
    fairness: Annotated[
        str | None, typer.Option(help="per-sender or per-flow, instead of the snapshot's.")
    ] = None,
    blame: Annotated[
        bool | None,
        typer.Option(
            "--blame/--no-blame",
            help="Attribute lost time to jobs; default: all models but packets, which then "
            "simulates once per job.",
        ),
    ] = None,
    *,
    forms: of.AnswerForms,
) -> None:
    """
    Estimate how much placed jobs slow each other down.

    Example:

      fabricsim estimate examples/placed_jobs.json --model flow-level
    """
    from coupling.inputs.snapshot import MODELS, read_snapshot
    from coupling.report.estimate import estimate_answer
    from coupling.site.estimate import estimate as answer
    from fabricsim.checking import choice
    from netsim.flows.maxmin import FAIRNESS
    from netsim.registries.contention_models import refuse_renamed

    refuse_renamed(model, "--model", SnapshotError)
    for name, value, choices in (("--model", model, MODELS), ("--fairness", fairness, FAIRNESS)):
        if value is not None:
            choice(name, value, choices, error=SnapshotError)
    placed = read_snapshot(snapshot)
    if model not in {None, placed.model}:
        placed = replace(placed, model=model, model_options={})
    placed = replace(placed, fairness=fairness or placed.fairness)
    found = answer(placed, blame=blame)
    write_answer(
        found, lambda rows: estimate_answer(placed, found, page=rows is None), **vars(forms)
    )


@of.with_groups
def flows(
    file: Annotated[Path, typer.Argument(help="Flows (JSON), - for standard input.")],
    *,
    forms: of.AnswerForms,
) -> None:
    """
    Rates, finish times and link loads of given flows.

    Example:

      fabricsim flows examples/three_flows.json
    """
    from coupling.inputs.files import read_json
    from coupling.report.estimate import flows_answer
    from coupling.site.flows import answer_flows

    folder = Path() if str(file) == "-" else file.parent
    found = answer_flows(read_json(file), str(file), folder)
    write_answer(
        found, lambda rows: flows_answer(found, str(file), page=rows is None), **vars(forms)
    )
