"""The command `place`: the best nodes for one more job, and the tables that isolate it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coupling.cli import options as of
from coupling.cli.outputs import print_json, print_parts
from coupling.errors import SnapshotError
from coupling.terminal_text import remark

if TYPE_CHECKING:
    from coupling.site.placement_options import PlacementOption
    from coupling.site.site import Site
    from netsim.infiniband.export import Difference, Export


@of.with_groups
def place(
    topology: of.Fabric,
    nodes: Annotated[int, typer.Option("--nodes", min=1, help="Nodes that the job needs.")],
    jobs: of.SiteJobs,
    routing: of.Routing = None,
    pattern: Annotated[
        str | None, typer.Option(help="Pattern of the job; default: drawn from the profile.")
    ] = None,
    comm_fraction: Annotated[
        float | None,
        typer.Option("--comm-fraction", help="Share of its time with --pattern; default 0.3."),
    ] = None,
    isolated: Annotated[
        bool, typer.Option("--isolated", help="On links that no other job uses.")
    ] = False,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Nodes that take no jobs: drained or down.")
    ] = None,
    lft: Annotated[
        Path | None,
        typer.Option(
            "--lft", callback=of.output, help="Write tables for the best isolated placement."
        ),
    ] = None,
    base: Annotated[
        Path | None, typer.Option("--base", help="Dump of the tables that are loaded now.")
    ] = None,
    samples: of.Samples = 50,
    seed: of.Seed = 1,
    top: of.Top = 5,
    html: of.Page = None,
    out: of.TableFile = None,
    why: of.Why = False,
    as_json: of.AsJson = False,
) -> None:
    """
    Find the best nodes for one more job on the machine.

    Exit status 1 when there is no placement now.

    Example:

      fabricsim place --nodes 32 --topology topology.conf --squeue squeue.json
    """
    from coupling.inputs.files import write_table, write_whole
    from coupling.report.columns import copied_lines
    from coupling.report.now import PAGE_ROWS, place_answer
    from coupling.site.place import place_on
    from coupling.site.site import read_site, refuse_two_stdins

    if lft is not None and (base is None or not isolated or str(lft) == "-"):
        raise SnapshotError(
            "--lft: expected a file, with --isolated and --base (the tables that are loaded) "
            "beside it."
        )
    site: dict[str, Any] = (
        {"topology": topology} | vars(jobs) | {"routing": routing, "samples": samples, "seed": seed}
    )
    refuse_two_stdins(site | {"base": base})
    here = read_site(**site, idle=True)
    tables = None
    if base is not None:
        here, tables = _loaded_site(here, topology, jobs.name_map, base)
    found = place_on(
        here,
        nodes,
        rules=jobs.profile,
        pattern=pattern,
        comm_fraction=comm_fraction,
        isolated=isolated,
        exclude=exclude or [],
        seed=seed,
    )
    change = None
    if lft is not None and tables is not None and found.options:
        change = _write_tables(here, found.options[0], tables, lft)
    if html is not None:
        write_whole(html, place_answer(found, PAGE_ROWS).html())
    if out is not None:
        write_table(out, found.to_frame())
    if as_json:
        tables_json = {} if change is None else {"tables": _table_document(change, lft)}
        print_json(found.to_dict() | tables_json)
    else:
        parts = place_answer(found, top, why=why).parts()
        if change is not None and lft is not None:
            parts.append(copied_lines(*_load_steps(change, lft, found.options[0].nodelist)))
        print_parts(*parts)
        if lft is not None and change is None:
            remark("no placement now, so no tables were written")
    if not found.options or (change is not None and not change.safe):
        raise typer.Exit(1)


def _loaded_site(here: Site, what: str, names: Path | None, base: Path) -> tuple[Site, Export]:
    """Return the site under the tables that are loaded, and these tables."""
    from coupling.inputs.fabric import read_wiring, require_same
    from fabricsim.checking.inputs import read_text
    from netsim.common.errors import NetsimError
    from netsim.infiniband.dump import read_lft_dump
    from netsim.infiniband.export import tables_in_force
    from netsim.infiniband.lft import LFT

    scene = here.scene
    own = scene.topology
    path, names = _wiring_file(what, names)
    wiring, _ = read_wiring(path, names, own)
    require_same(wiring, own, str(path))
    try:
        dump = read_lft_dump(read_text(base, SnapshotError), str(base))
        tables = tables_in_force(wiring, dump, str(base))
    except NetsimError as error:
        raise SnapshotError(str(error)) from None
    routing = LFT(own, tables.before.out)
    assumed = tuple(what for what in here.assumed if not what.startswith("routing "))
    return replace(here, scene=replace(scene, routing=routing), assumed=assumed), tables


def _wiring_file(what: str, name_map: Path | None) -> tuple[Path, Path | None]:
    """Return the output of ibnetdiscover behind a fabric, itself or described, and its names."""
    from coupling.inputs.fabric import described

    spec, folder = described(what, None)
    if not isinstance(spec, Mapping) or spec.get("kind") != "file" or what == "-":
        raise SnapshotError(f"--base: expected output of ibnetdiscover as --topology, got {what}.")
    if spec.get("as_tree"):
        raise SnapshotError(
            f"--base: tables are those of the fabric as it is, but {what} takes it as a tree "
            f"(as_tree)."
        )
    own = spec.get("name_map")
    return folder / spec["path"], name_map or (None if own is None else folder / own)


def _write_tables(here: Site, best: PlacementOption, start: Export, out: Path) -> Difference:
    """Write what to load for the best placement, the difference, and the way back."""
    from coupling.inputs.files import write_whole
    from coupling.inputs.snapshot import snapshot_from
    from coupling.site.partition_check import partition_faults, traffic_faults
    from coupling.site.place import document_of
    from netsim.common.errors import NetsimError
    from netsim.infiniband.export import difference_of
    from netsim.routing.wraparound import Wraparound
    from netsim.topology.fattree import FatTree

    tree = start.wiring.topology
    if not isinstance(tree, FatTree):
        raise SnapshotError("--lft: owned links need a fat-tree.")
    document = document_of(here, best)
    snapshot = snapshot_from(document | {"topology": tree}, here.scene.source, Path())
    new = next(job for job in snapshot.jobs if job.id == "new")
    try:
        tables = start.confined_to([(Wraparound.on(tree), new.partition)])
    except NetsimError as error:
        raise SnapshotError(f"--lft: {error}") from None
    faults = [
        *partition_faults(snapshot, tree, allow_unknown=False),
        *traffic_faults(snapshot, tables.after),
    ]
    if faults:
        raise SnapshotError(f"--lft: {faults[0]}.")
    change = difference_of(tables)
    write_whole(out, tables.text())
    write_whole(_with_ending(out, "back"), start.text())
    write_whole(_with_ending(out, "diff"), "".join(f"{own.line()}\n" for own in change.entries))
    named = json.dumps(_named_jobs(here, document), indent=1) + "\n"
    write_whole(_with_ending(out, "json"), named)
    return change


def _with_ending(out: Path, ending: str) -> Path:
    """Return the name of a file that is written with the tables."""
    return out.with_name(f"{out.name}.{ending}")


def _named_jobs(here: Site, document: dict[str, Any]) -> dict[str, Any]:
    """Return jobs as a snapshot that names nodes and links, for `lft check`."""
    topology = here.scene.topology
    jobs = []
    for job in document["jobs"]:
        own = dict(job) | {"nodes": [topology.vertex_name(node) for node in job["nodes"]]}
        if "links" in job:
            own["links"] = [topology.link_name(link) for link in job["links"]]
        jobs.append(own)
    return {"jobs": jobs}


def _table_document(change: Difference, out: Path | None) -> dict[str, Any]:
    """Return what the new tables change, for programs."""
    return {
        "file": str(out),
        "changed": [own.line() for own in change.entries],
        "credit_loop_before": bool(change.loop_before.size),
        "credit_loop_after": bool(change.loop_after.size),
        "credit_loop_between": bool(change.loop_between.size),
    }


def _load_steps(change: Difference, out: Path, nodelist: str) -> list[str]:
    """Return how tables are loaded, and taken back."""
    switches = len({own.guid for own in change.entries})
    entries = f"{len(change.entries):,} entries of {switches:,} switches"
    lines = [f"Tables of placement 1: {entries} change ({_with_ending(out, 'diff')})."]
    if change.loop_before.size:
        lines.append("The tables that are loaded now have a credit loop.")
    if not change.safe:
        lines.append("Do not load them: packets could stop each other for good (credit loop).")
        return lines
    check = f"fabricsim lft check {_with_ending(out, 'json')} --fabric FABRIC --base DUMP"
    return [
        *lines,
        "No credit loop before, after or in between: switches may be loaded in any order.",
        f"1. Hold the nodes ({nodelist}), so that no job starts there.",
        f"2. Load: opensm -R file,no_fallback -U {out} (or replace the file it has, and SIGHUP).",
        f"3. Dump what is loaded, and look: {check}",
        f"4. Start the job: sbatch --nodelist={nodelist}",
        f"5. When it has ended, go back in the same way: -U {_with_ending(out, 'back')}",
    ]
