"""The commands `lft export`, `lft load` and `lft check`: forwarding tables of InfiniBand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coupling.cli import options as of
from coupling.cli.outputs import print_json, print_lines
from coupling.errors import SnapshotError
from coupling.terminal_text import remark

if TYPE_CHECKING:
    from coupling.inputs.snapshot import Snapshot
    from coupling.site.table_check import TableCheck
    from netsim.infiniband.dump import LftDump
    from netsim.infiniband.export import Export
    from netsim.infiniband.lft import LFT
    from netsim.infiniband.wiring import Wiring

_MOST_FAULTS = 3  # of a snapshot that its error names


def export(
    snapshot: of.SnapshotFile,
    fabric: of.Wiring,
    out: of.NewFile,
    base: Annotated[
        Path | None, typer.Option(help="Dump of the tables in force; default D-mod-k.")
    ] = None,
    name_map: of.NameMap = None,
    allow_unknown: Annotated[
        bool,
        typer.Option(
            "--allow-unknown", help="Let partitions pass that nothing shows to be non-blocking."
        ),
    ] = False,
    as_json: of.AsJson = False,
) -> None:
    r"""
    Write routing tables that keep each job's traffic on the links it owns, once all checks pass.

    Example:

      fabricsim lft export partitions.json --fabric ibnetdiscover.txt \
        --out tables.lft
    """
    from coupling.inputs.files import write_whole
    from coupling.site.partition_check import partition_faults, traffic_faults
    from fabricsim.checking.inputs import read_text
    from netsim.common.errors import NetsimError
    from netsim.infiniband.dump import read_lft_dump
    from netsim.infiniband.export import tables_in_force
    from netsim.routing.wraparound import Wraparound
    from netsim.topology.fattree import FatTree

    wiring, irregularity, jobs = _snapshot_on(snapshot, fabric, base, name_map)
    dump = None if base is None else read_lft_dump(read_text(base, SnapshotError), str(base))
    # Without a dump: D-mod-k, or the tables of OpenSM's ftree where parts are missing.
    start = tables_in_force(wiring, dump, str(base or fabric))
    owners = [job for job in jobs.jobs if job.partition.links is not None]
    tables = start
    if owners:
        tree = wiring.topology
        if not isinstance(tree, FatTree):
            raise SnapshotError(f"{fabric}: owned links need a fat-tree; {irregularity}")
        _require_sound(snapshot, partition_faults(jobs, tree, allow_unknown=allow_unknown))
        routing = Wraparound.on(tree)
        try:
            tables = start.confined_to([(routing, job.partition) for job in owners])
        except NetsimError as error:
            raise SnapshotError(f"{snapshot}: {error}") from None
        _require_sound(snapshot, traffic_faults(jobs, tables.after))
    text = tables.text()
    write_whole(out, text)
    _report_export(jobs, tables, text, out, as_json=as_json)


def load(
    dump: Annotated[Path, typer.Argument(help="Dump of OpenSM, - for standard input.")],
    fabric: of.Wiring,
    name_map: of.NameMap = None,
    as_json: of.AsJson = False,
) -> None:
    """
    Read routing tables and walk them between all nodes.

    Exit status 1 where not all reach each other.

    Example:

      fabricsim lft load opensm-lfts.dump --fabric ibnetdiscover.txt
    """
    from coupling.inputs.fabric import read_wiring
    from coupling.inputs.files import require_one_stdin
    from coupling.site.table_check import check_tables
    from fabricsim.checking.documents import json_fields

    require_one_stdin({"DUMP": dump, "--fabric": fabric, "--name-map": name_map})
    wiring, irregularity = read_wiring(fabric, name_map)
    found, tables = _tables_in(dump, wiring)
    check = check_tables(tables, wiring)
    if as_json:
        print_json(
            {
                "fabric": wiring.topology.name,
                "irregularity": irregularity or None,
                "switches": len(found.ports),
                "entries": sum(len(ports) for ports in found.ports.values()),
            }
            | json_fields(check)
            | {"fault": check.fault or None}
        )
    else:
        print_lines(*_load_lines(wiring, irregularity, found, check))
    if check.fault:
        raise typer.Exit(1)


def check(
    snapshot: of.SnapshotFile,
    fabric: of.Wiring,
    base: Annotated[Path, typer.Option(help="Dump of the tables that are loaded now.")],
    name_map: of.NameMap = None,
    as_json: of.AsJson = False,
) -> None:
    r"""
    Check that the loaded tables keep jobs apart.

    Exit status 1 where jobs share links, leave those that they own, or packets can block for good.

    Example:

      fabricsim lft check partitions.json --fabric ibnetdiscover.txt \
        --base opensm-lfts.dump
    """
    from coupling.site.table_check import check_jobs_apart

    wiring, irregularity, jobs = _snapshot_on(snapshot, fabric, base, name_map)
    _, tables = _tables_in(base, wiring)
    found = check_jobs_apart(jobs, tables)
    if as_json:
        fabric_lines = {"fabric": wiring.topology.name, "irregularity": irregularity or None}
        print_json(fabric_lines | found.to_dict())
    else:
        print_lines(*found.lines())
    if not found.passed:
        raise typer.Exit(1)


def _snapshot_on(
    path: Path, fabric: Path, base: Path | None, name_map: Path | None
) -> tuple[Wiring, str, Snapshot]:
    """Read a fabric and a snapshot on it, whose own fabric it must be, under the names of both."""
    from coupling.inputs.fabric import read_wiring, require_same, topology_of
    from coupling.inputs.files import Table, read_json, require_one_stdin
    from coupling.inputs.snapshot import snapshot_from
    from netsim.routing.multipath import MULTIPATH_RULES
    from netsim.topology.names import with_names_of

    named = {"SNAPSHOT": path, "--fabric": fabric, "--base": base, "--name-map": name_map}
    require_one_stdin(named)
    document = read_json(path)
    folder = Path() if str(path) == "-" else path.parent
    own = None
    if "topology" in document:
        own = topology_of(Table(document, f"{path}:", SnapshotError), folder)
    wiring, irregularity = read_wiring(fabric, name_map, own)
    if own is not None:
        require_same(wiring, own, str(fabric))
        wiring = replace(wiring, topology=with_names_of(wiring.topology, own))
    given = document.get("routing")
    name = given.get("name") if isinstance(given, dict) else given
    if name in MULTIPATH_RULES:
        raise SnapshotError(
            f"{path}: routing: expected one that tables can hold, got {name!r}, under which "
            "switches choose the way of each packet."
        )
    known = {key: value for key, value in document.items() if key != "routing"}
    known["topology"] = wiring.topology
    return wiring, irregularity, snapshot_from(known, str(path), folder)


def _tables_in(path: Path, wiring: Wiring) -> tuple[LftDump, LFT]:
    """Read a dump of forwarding tables."""
    from fabricsim.checking.inputs import read_text
    from netsim.common.errors import NetsimError
    from netsim.infiniband.dump import read_lft_dump, tables_of

    dump = read_lft_dump(read_text(path, SnapshotError), str(path))
    try:
        return dump, tables_of(dump, wiring)
    except NetsimError as error:
        raise SnapshotError(f"{path}: {error}") from None


def _require_sound(path: Path, faults: list[str]) -> None:
    """Refuse a snapshot of which anything is wrong."""
    if faults:
        left = len(faults) - _MOST_FAULTS
        more = f"; and {left} more" if left > 0 else ""
        raise SnapshotError(f"{path}: {'; '.join(faults[:_MOST_FAULTS])}{more}.")


def _report_export(
    snapshot: Snapshot, tables: Export, text: str, out: Path, *, as_json: bool
) -> None:
    """Report what was written."""
    import numpy as np

    from coupling.site.partition_check import owned_links
    from netsim.infiniband.wiring import missing_parts

    topology = tables.wiring.topology
    if not tables.wiring.whole:
        remark(f"{topology.summary}, with parts missing: {'; '.join(missing_parts(tables.wiring))}")
    owners = [job for job in snapshot.jobs if job.partition.links is not None]
    taken = [job.partition.nodes for job in snapshot.jobs]
    free = np.setdiff1d(topology.usable_nodes, np.concatenate([np.empty(0, np.int64), *taken]))
    owned = np.concatenate([np.empty(0, np.int64), *map(owned_links, owners)])
    crossed = np.intersect1d(tables.crossed(free), owned).size if owners else 0
    entries = sum(line.startswith("0x") for line in text.splitlines())
    if as_json and str(out) != "-":
        print_json(
            {
                "out": str(out),
                "switches": sum(device.is_switch for device in tables.wiring.fabric.devices),
                "entries": entries,
                "changed": tables.changed,
                "jobs": [job.id for job in owners],
                "crossed_by_others": crossed,
            }
        )
    idle = len(snapshot.jobs) - len(owners)
    rest = f" ({idle} own no links)" if idle else ""
    if crossed:
        remark(f"{crossed} owned links lie on routes between nodes of no job")
    remark(
        f"{entries} entries, {tables.changed} changed for {len(owners)} jobs{rest}; "
        f"load with: opensm -R file,no_fallback -U {out}"
    )


def _load_lines(wiring: Wiring, irregularity: str, dump: LftDump, check: TableCheck) -> list[str]:
    """Return sentences on loaded tables."""
    entries = sum(len(ports) for ports in dump.ports.values())
    size = f"{len(dump.ports)} switches, {entries:,} entries"
    lines = [f"{wiring.topology.summary}; {check.nodes} nodes and {size} in the tables."]
    if irregularity:
        lines.append(irregularity)
    if check.fault:
        lines.append(f"Not all nodes reach each other: {check.fault}")
        return lines
    lines.append(
        f"All {check.pairs:,} pairs of nodes are connected, by {check.longest_route} links at most."
    )
    if check.pairs_as_d_mod_k is not None:
        lines.append(f"{check.pairs_as_d_mod_k:,} pairs are routed as by D-mod-k.")
    return lines
