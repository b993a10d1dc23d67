"""What the command `place` does: read a site, rate placements, write tables, print."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coupling.cli.do.estimate import print_json
from coupling.errors import SnapshotError
from coupling.inputs.fabric import read_wiring, require_same
from coupling.inputs.fabric_argument import described
from coupling.inputs.files import write_table, write_whole
from coupling.inputs.snapshot import snapshot_from
from coupling.report.columns import copied_lines, text_of
from coupling.report.place import place_html, place_parts
from coupling.site.partition_check import partition_faults, traffic_faults
from coupling.site.place import document_of, place_on
from coupling.site.placement_options import PlacementOption, Placing
from coupling.site.site import Site, read_site, refuse_two_stdins
from coupling.terminal_text import remark
from fabricsim.checking.inputs import read_text
from netsim.common.errors import NetsimError
from netsim.infiniband.difference import Difference, difference_of
from netsim.infiniband.dump import read_lft_dump
from netsim.infiniband.export import Export, tables_in_force
from netsim.infiniband.lft import LFT
from netsim.routing.wraparound import Wraparound
from netsim.topology.fattree import FatTree


@dataclass(frozen=True, slots=True)
class Output:
    """Where to, and how much: rows, a page, a file for the table, tables to load, JSON."""

    top: int
    html: Path | None
    out: Path | None
    lft: Path | None
    why: bool
    as_json: bool


def run_place(
    site: dict[str, Any], wanted: dict[str, Any], base: Path | None, output: Output
) -> bool:
    """
    Find the best nodes for one more job, and show them.

    Parameters
    ----------
    site : dict
        Keywords of `coupling.site.site.read_site`.
    wanted : dict
        Keywords of `coupling.site.place.place_on`.
    base : Path or None
        Dump of the tables that are loaded.
    output : Output
        What to show and write.

    Returns
    -------
    bool
        Whether there is a placement now, and its tables can be loaded safely.

    Raises
    ------
    CouplingError, SchedulerError, NetsimError
        If the input is wrong.
    """
    if output.out is not None and output.out.suffix not in (".csv", ".parquet"):
        raise SnapshotError(f"--out {output.out}: expected a name that ends in .csv or .parquet.")
    if output.lft is not None and (
        base is None or not wanted["isolated"] or str(output.lft) == "-"
    ):
        raise SnapshotError(
            "--lft: expected a file, with --isolated and --base (the tables that are loaded) "
            "beside it."
        )
    refuse_two_stdins(site | {"base": base})
    here = read_site(**site, idle=True)
    tables = None
    if base is not None:
        here, tables = _loaded(here, site, base)
    found = place_on(here, rules=site["profile"], seed=site["seed"], **wanted)
    difference = None
    if output.lft is not None and tables is not None and found.options:
        difference = _write_tables(here, found.options[0], tables, output.lft)
    _show(found, difference, output)
    return bool(found.options) and (difference is None or difference.safe)


def _loaded(here: Site, site: dict[str, Any], base: Path) -> tuple[Site, Export]:
    """Return the site under the tables that are loaded, and these tables."""
    scene = here.scene
    own = scene.topology
    path, names = _wiring_file(str(site["topology"]), site["name_map"])
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
    tree = start.wiring.topology
    if not isinstance(tree, FatTree):
        raise SnapshotError("--lft: owned links need a fat-tree.")
    document = document_of(here, best)
    snapshot = snapshot_from(document | {"topology": tree}, here.scene.source, Path())
    new = next(job for job in snapshot.jobs if job.id == "new")
    try:
        tables = start.kept_to([(Wraparound.on(tree), new.partition)])
    except NetsimError as error:
        raise SnapshotError(f"--lft: {error}") from None
    faults = [
        *partition_faults(snapshot, tree, allow_unknown=False),
        *traffic_faults(snapshot, tables.after),
    ]
    if faults:
        raise SnapshotError(f"--lft: {faults[0]}.")
    difference = difference_of(tables)
    write_whole(out, tables.text())
    write_whole(_beside(out, "back"), start.text())
    write_whole(_beside(out, "diff"), "".join(f"{own.line()}\n" for own in difference.entries))
    write_whole(_beside(out, "json"), json.dumps(_named(here, document), indent=1) + "\n")
    return difference


def _beside(out: Path, ending: str) -> Path:
    """Return the name of a file beside the tables."""
    return out.with_name(f"{out.name}.{ending}")


def _named(here: Site, document: dict[str, Any]) -> dict[str, Any]:
    """Return jobs as a snapshot that names nodes and links, for `lft check`."""
    topology = here.scene.topology
    jobs = []
    for job in document["jobs"]:
        own = dict(job) | {"nodes": [topology.vertex_name(node) for node in job["nodes"]]}
        if "links" in job:
            own["links"] = [topology.link_name(link) for link in job["links"]]
        jobs.append(own)
    return {"jobs": jobs}


def _show(found: Placing, difference: Difference | None, output: Output) -> None:
    """Print placements, and write what was asked for."""
    if output.html is not None:
        write_whole(output.html, place_html(found))
    if output.out is not None:
        write_table(output.out, found.to_frame())
    if output.as_json:
        told = found.to_dict()
        if difference is not None:
            told["tables"] = {
                "file": str(output.lft),
                "changed": [own.line() for own in difference.entries],
                "credit_loop_before": bool(difference.loop_before.size),
                "credit_loop_after": bool(difference.loop_after.size),
                "credit_loop_between": bool(difference.loop_between.size),
            }
        print_json(told)
        return
    parts = place_parts(found, output.top, why=output.why)
    if difference is not None and output.lft is not None:
        parts.append(copied_lines(*_steps(difference, output.lft, found.options[0].nodelist)))
    sys.stdout.write(text_of(*parts))
    if output.lft is not None and difference is None:
        remark("no placement now, so no tables were written")


def _steps(difference: Difference, out: Path, nodelist: str) -> list[str]:
    """Say how tables are loaded, and taken back."""
    switches = len({own.guid for own in difference.entries})
    entries = f"{len(difference.entries):,} entries of {switches:,} switches"
    lines = [f"Tables of placement 1: {entries} change ({_beside(out, 'diff')})."]
    if difference.loop_before.size:
        lines.append("The tables that are loaded now have a credit loop.")
    if not difference.safe:
        lines.append("Do not load them: packets could stop each other for good (credit loop).")
        return lines
    check = f"fabricsim lft check {_beside(out, 'json')} --fabric FABRIC --base DUMP"
    return [
        *lines,
        "No credit loop before, after or in between: switches may be loaded in any order.",
        f"1. Hold the nodes ({nodelist}), so that nobody starts there.",
        f"2. Load: opensm -R file,no_fallback -U {out} (or replace the file it has, and SIGHUP).",
        f"3. Dump what is loaded, and look: {check}",
        f"4. Start the job: sbatch --nodelist={nodelist}",
        f"5. When it has ended, go back in the same way: -U {_beside(out, 'back')}",
    ]
