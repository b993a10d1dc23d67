"""The command `verify`: are jobs isolated and partitions non-blocking."""

from pathlib import Path
from typing import Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import write_answer


@of.with_groups
def verify(
    snapshot: of.SnapshotFile,
    any_routing: Annotated[
        bool, typer.Option("--any-routing", help="Isolation under every minimal routing.")
    ] = False,
    permutation: Annotated[
        Path | None, typer.Option(help="File of flows 'source destination' to be routed.")
    ] = None,
    random: Annotated[int, typer.Option(min=0, help="Random permutations to try.")] = 100,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Try all permutations, up to 200,000 kinds.")
    ] = False,
    fail: Annotated[
        list[str] | None, typer.Option(help="Switch or cable A>B that fails first; repeatable.")
    ] = None,
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Accept checks that are not decided.")
    ] = False,
    *,
    forms: of.AnswerForms,
) -> None:
    """
    Check that jobs are isolated and partitions non-blocking.

    Exit status 1 when a check says no or has no answer.

    Example:

      fabricsim verify examples/partitions.json
    """
    from coupling.inputs.snapshot import read_snapshot
    from coupling.report.verify import verify_answer
    from coupling.site.verify import after_failures
    from coupling.site.verify import verify as check

    placed = read_snapshot(snapshot)
    placed = after_failures(placed, fail) if fail else placed
    found = check(
        placed,
        any_routing=any_routing,
        permutation=permutation,
        random=random,
        exhaustive=exhaustive,
        allow_unknown=allow_unknown,
    )
    write_answer(found, lambda rows: verify_answer(placed, found, page=rows is None), **vars(forms))
    if not found.passed:
        raise typer.Exit(1)
