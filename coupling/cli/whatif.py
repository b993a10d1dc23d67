"""The command `whatif`: what a failure or another change does to jobs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from coupling.cli import options as of
from coupling.cli.outputs import remark_now_and_then, write_answer
from coupling.errors import SnapshotError

STOPPED_STATUS = 130  # of a partial table


@of.with_groups
def whatif(
    jobs: of.SiteJobs,
    snapshot: Annotated[
        Path | None, typer.Argument(help="Snapshot (JSON); or give --topology and --squeue.")
    ] = None,
    topology: Annotated[str | None, typer.Option("--topology", help="Fabric, as for now.")] = None,
    fail: Annotated[
        list[str] | None, typer.Option(help="Switch, node or cable A>B that fails; repeatable.")
    ] = None,
    drain: Annotated[
        list[str] | None, typer.Option(help="Nodes, or a switch, whose jobs have ended.")
    ] = None,
    add_cables: Annotated[
        list[str] | None, typer.Option("--add-cables", help="A>B, or A>B*4, between switches.")
    ] = None,
    routing: Annotated[str | None, typer.Option(help="Another routing.")] = None,
    taper: Annotated[
        float | None, typer.Option(help="Capacity from below / to above of every leaf.")
    ] = None,
    move: Annotated[list[str] | None, typer.Option(help="JOB=NODES, other nodes of a job.")] = None,
    each_switch: Annotated[
        bool, typer.Option("--each-switch", help="Rank the failures of each switch.")
    ] = False,
    each_cable: Annotated[
        bool, typer.Option("--each-cable", help="Rank the failures of each cable in use.")
    ] = False,
    each_rail: Annotated[
        bool, typer.Option("--each-rail", help="Rank the rails of a GPU cluster.")
    ] = False,
    each_nic: Annotated[
        bool, typer.Option("--each-nic", help="Rank the adapters of a GPU cluster in use.")
    ] = False,
    samples: of.Samples = 50,
    seed: of.Seed = 1,
    top: of.Top = 20,
    out: of.TableFile = None,
    why: of.Why = False,
    as_json: of.AsJson = False,
) -> None:
    r"""
    Predict what a failure or another change does to jobs.

    Exit status 1 when a job is cut off.

    Example:

      fabricsim whatif --topology topology.conf --squeue squeue.json \
        --fail spine1
    """
    from coupling.inputs.snapshot import read_snapshot
    from coupling.report.whatif import ranking_answer, whatif_answer
    from coupling.site.changes import Changes
    from coupling.site.site import read_site, refuse_two_stdins, site_of_snapshot
    from coupling.site.whatif import rank_failures, whatif_of

    kinds = {"switch": each_switch, "cable": each_cable, "rail": each_rail, "NIC": each_nic}
    chosen = [kind for kind, wanted in kinds.items() if wanted]
    if len(chosen) > 1:
        both = " and ".join(f"--each-{kind.lower()}" for kind in chosen)
        raise SnapshotError(f"expected one kind of part that fails, got {both}.")
    each = chosen[0] if chosen else ""
    changes = Changes(
        fail=tuple(fail or ()),
        drain=tuple(drain or ()),
        add_cables=tuple(add_cables or ()),
        routing=routing,
        taper=taper,
        move=tuple(move or ()),
    )
    if bool(changes.texts) == bool(each):
        raise SnapshotError(
            "expected a change (--fail, --drain, --add-cables, --routing, --taper, --move), or one "
            "of --each-switch, --each-cable, --each-rail, --each-nic; got "
            f"{'both' if each else 'none'}."
        )
    site: dict[str, Any] = {"topology": topology} | vars(jobs) | {"samples": samples, "seed": seed}
    refuse_two_stdins(site | {"snapshot": snapshot})
    if (snapshot is None) == (topology is None):
        raise SnapshotError(
            "expected a snapshot, or --topology with --squeue or --sacct; got "
            f"{'neither' if snapshot is None else 'both'}."
        )
    here = read_site(**site) if snapshot is None else site_of_snapshot(read_snapshot(snapshot))
    if each:
        ranking = rank_failures(
            here, each, remark_now_and_then("{1:,} of {2:,} failures of a {0} tried")
        )
        write_answer(
            ranking,
            lambda rows: ranking_answer(ranking, rows, why=why),
            top,
            out=out,
            as_json=as_json,
        )
        if ranking.stopped:
            raise typer.Exit(STOPPED_STATUS)
        return
    found = whatif_of(here, changes, seed)
    write_answer(
        found, lambda rows: whatif_answer(found, rows, why=why), top, out=out, as_json=as_json
    )
    if found.cut_off:
        raise typer.Exit(1)
