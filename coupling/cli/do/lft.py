"""What the commands `lft export` and `lft load` do."""

import sys
from dataclasses import replace
from pathlib import Path

from coupling.cli.do.estimate import print_json
from coupling.errors import SnapshotError
from coupling.guard import remark
from coupling.reading.fabric import demand_same, read_wiring, topology_of
from coupling.reading.files import read_json, read_text, write_whole
from coupling.reading.table import Table
from coupling.report.columns import text_lines, text_of
from coupling.snapshots.snapshot import Snapshot, snapshot_from
from coupling.snapshots.table_check import TableCheck, check_tables
from netsim.errors import NetsimError
from netsim.infiniband.dump import LftDump, export_lfts, read_lft_dump, tables_of
from netsim.infiniband.wiring import Wiring
from netsim.routing.wraparound import Wraparound
from netsim.topology.names import with_names_of


def run_export(
    path: Path,
    fabric: Path,
    out: Path,
    base: Path | None,
    name_map: Path | None = None,
    *,
    as_json: bool,
) -> None:
    """
    Write the tables that keep each job's traffic inside its partition.

    Parameters
    ----------
    path : Path
        Snapshot; nodes and links may have the fabric's own names. ``-`` is standard input.
    fabric : Path
        Output of `ibnetdiscover` on the running fabric.
    out : Path
        File to write, for ``opensm -R file,no_fallback -U FILE``; ``-`` is standard output.
    base : Path or None
        Dump of the tables in force, which all other traffic keeps; None: D-mod-k.
    name_map : Path, optional
        Better names for GUIDs.
    as_json : bool
        Print what was done as JSON.

    Raises
    ------
    CouplingError, NetsimError
        If the input is wrong; nothing is written then.
    """
    wiring, irregularity = read_wiring(fabric, name_map)
    wiring, snapshot = _snapshot_on(wiring, path, fabric)
    dump = None if base is None else read_lft_dump(read_text(base), str(base))
    owners = [job for job in snapshot.jobs if job.partition.links is not None]
    if owners and irregularity:
        raise SnapshotError(f"{fabric}: owned links need a fat-tree; {irregularity}")
    try:
        plain = export_lfts(wiring, [], dump)
        routing = Wraparound.on(wiring.topology) if owners else None
        jobs = [(routing, job.partition) for job in owners] if routing else []
        text = export_lfts(wiring, jobs, dump)
    except NetsimError as error:
        raise SnapshotError(f"{path}: {error}") from None
    lines, before = text.splitlines(), plain.splitlines()
    changed = sum(a != b for a, b in zip(lines, before, strict=True))
    entries = sum(line.startswith("0x") for line in lines)
    write_whole(out, text)
    if as_json and str(out) != "-":
        switches = sum(device.is_switch for device in wiring.fabric.devices)
        print_json(
            {
                "out": str(out),
                "switches": switches,
                "entries": entries,
                "changed": changed,
                "jobs": [job.id for job in owners],
            }
        )
    idle = len(snapshot.jobs) - len(owners)
    rest = f" ({idle} own no links)" if idle else ""
    remark(
        f"{entries} entries, {changed} changed for {len(owners)} jobs{rest}; "
        f"load with: opensm -R file,no_fallback -U {out}"
    )


def run_load(path: Path, fabric: Path, name_map: Path | None = None, *, as_json: bool) -> bool:
    """
    Read a dump of forwarding tables and say what it does.

    Parameters
    ----------
    path : Path
        Dump of OpenSM or of `dump_fts`; ``-`` is standard input.
    fabric : Path
        Output of `ibnetdiscover` on the fabric.
    name_map : Path, optional
        Better names for GUIDs.
    as_json : bool
        Print JSON instead of text.

    Returns
    -------
    bool
        Whether every node reaches every other.

    Raises
    ------
    CouplingError, NetsimError
        If a file cannot be read, or the dump is of another fabric.
    """
    wiring, irregularity = read_wiring(fabric, name_map)
    dump = read_lft_dump(read_text(path), str(path))
    try:
        tables = tables_of(dump, wiring)
    except NetsimError as error:
        raise SnapshotError(f"{path}: {error}") from None
    check = check_tables(tables, wiring)
    if as_json:
        print_json(
            {
                "fabric": wiring.topology.name,
                "irregularity": irregularity or None,
                "switches": len(dump.ports),
                "entries": sum(len(ports) for ports in dump.ports.values()),
                "nodes": check.nodes,
                "pairs": check.pairs,
                "fault": check.fault or None,
                "longest_route": check.longest,
                "pairs_as_d_mod_k": check.as_d_mod_k,
            }
        )
    else:
        sys.stdout.write(text_of(text_lines(*_lines(wiring, irregularity, dump, check))))
    return not check.fault


def _lines(wiring: Wiring, irregularity: str, dump: LftDump, check: TableCheck) -> list[str]:
    """Say in words what loaded tables do."""
    entries = sum(len(ports) for ports in dump.ports.values())
    size = f"{check.nodes} nodes, {len(dump.ports)} switches, {entries:,} entries"
    lines = [f"{wiring.topology.name}: {size}."]
    if irregularity:
        lines.append(irregularity)
    if check.fault:
        lines.append(f"Not all nodes reach each other: {check.fault}")
        return lines
    lines.append(
        f"All {check.pairs:,} pairs of nodes are connected, by {check.longest} links at most."
    )
    if check.as_d_mod_k is not None:
        lines.append(f"{check.as_d_mod_k:,} pairs are routed as by D-mod-k.")
    return lines


def _snapshot_on(wiring: Wiring, path: Path, fabric: Path) -> tuple[Wiring, Snapshot]:
    """Read a snapshot on the wired fabric, which must be its own, under the names of both."""
    document = read_json(path)
    folder = Path() if str(path) == "-" else path.parent
    if "topology" in document:
        own = topology_of(Table(document, f"{path}:", SnapshotError), folder)
        demand_same(wiring, own, str(fabric))
        wiring = replace(wiring, topology=with_names_of(wiring.topology, own))
    known = {key: value for key, value in document.items() if key != "routing"}
    known["topology"] = wiring.topology
    return wiring, snapshot_from(known, str(path), folder)
