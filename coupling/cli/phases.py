"""The commands `ecmp-audit` and `stagger`: what collisions of hashes and of phases cost."""

from typing import Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import write_answer


@of.with_groups
def ecmp_audit(
    snapshot: of.SnapshotFile,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, max=10_000, help="Seeds of the hash.")
    ] = 100,
    qps: Annotated[
        int | None, typer.Option("--qps", min=1, max=128, help="Queue pairs of a message.")
    ] = None,
    *,
    forms: of.AnswerForms,
) -> None:
    """
    How long iterations take over seeds of ECMP's hash.

    Beside packets that are sprayed, with the links that are busiest.

    Example:

      fabricsim ecmp-audit examples/gpu_jobs.json --seeds 100
    """
    from coupling.inputs.snapshot import read_snapshot
    from coupling.report.phases import audit_answer
    from coupling.site.ecmp_audit import ecmp_audit

    found = ecmp_audit(read_snapshot(snapshot), seeds=seeds, qps=qps)
    write_answer(found, lambda _: audit_answer(found, str(snapshot)), **vars(forms))


@of.with_groups
def stagger(
    snapshot: of.SnapshotFile,
    *,
    forms: of.AnswerForms,
) -> None:
    """
    By how much jobs should start later to communicate in turn.

    Example:

      fabricsim stagger examples/gpu_jobs.json
    """
    from coupling.inputs.snapshot import read_snapshot
    from coupling.report.phases import stagger_answer
    from coupling.site.stagger import stagger

    found = stagger(read_snapshot(snapshot))
    write_answer(found, lambda _: stagger_answer(found, str(snapshot)), **vars(forms))
