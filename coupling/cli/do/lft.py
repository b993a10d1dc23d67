"""What the commands `lft export` and `lft load` do."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from coupling.cli.do.estimate import print_json
from coupling.errors import SnapshotError
from coupling.inputs.fabric import read_wiring, require_same, topology_of
from coupling.inputs.files import read_json, write_whole
from coupling.inputs.referenced_files import require_one_stdin
from coupling.inputs.snapshot import Snapshot, snapshot_from
from coupling.inputs.table import Table
from coupling.report.columns import text_lines, text_of
from coupling.site.partition_check import owned_links, partition_faults, traffic_faults
from coupling.site.table_check import TableCheck, check_tables
from coupling.site.table_isolation import check_jobs_apart
from coupling.terminal_text import remark
from fabricsim.checking.inputs import read_text
from netsim.common.errors import NetsimError
from netsim.infiniband.dump import LftDump, read_lft_dump, tables_of
from netsim.infiniband.export import Export, tables_in_force
from netsim.infiniband.tree_wiring import missing_parts
from netsim.infiniband.wiring import Wiring
from netsim.routing.spread import SPREADING
from netsim.routing.wraparound import Wraparound
from netsim.topology.fattree import FatTree
from netsim.topology.names import with_names_of

_TOLD = 3  # faults of a snapshot that its error names


def run_export(
    path: Path,
    fabric: Path,
    out: Path,
    base: Path | None,
    name_map: Path | None = None,
    *,
    allow_unknown: bool,
    as_json: bool,
) -> None:
    """
    Write the tables that keep each job's traffic inside its partition.

    `path`: snapshot; nodes and links may have the fabric's own names. ``-`` is standard input.
    `fabric`: output of `ibnetdiscover` on the running fabric. `out`: file to write, for ``opensm -R
    file,no_fallback -U FILE``; ``-`` is standard output. `base`: dump of the tables in force, which
    all other traffic keeps; None: D-mod-k, or what OpenSM's ftree fills where parts are missing.
    """
    named = {"SNAPSHOT": path, "--fabric": fabric, "--base": base, "--name-map": name_map}
    require_one_stdin(named)
    wiring, irregularity, snapshot = _snapshot_on(path, fabric, name_map)
    dump = None if base is None else read_lft_dump(read_text(base, SnapshotError), str(base))
    start = tables_in_force(wiring, dump, str(base or fabric))
    owners = [job for job in snapshot.jobs if job.partition.links is not None]
    tables = start
    if owners:
        tree = wiring.topology
        if not isinstance(tree, FatTree):
            raise SnapshotError(f"{fabric}: owned links need a fat-tree; {irregularity}")
        _require(path, partition_faults(snapshot, tree, allow_unknown=allow_unknown))
        routing = Wraparound.on(tree)
        try:
            tables = start.kept_to([(routing, job.partition) for job in owners])
        except NetsimError as error:
            raise SnapshotError(f"{path}: {error}") from None
        _require(path, traffic_faults(snapshot, tables.after))
    text = tables.text()
    write_whole(out, text)
    _tell(snapshot, tables, text, out, as_json=as_json)


def _require(path: Path, faults: list[str]) -> None:
    """Refuse a snapshot of which anything is wrong."""
    if faults:
        more = f"; and {len(faults) - _TOLD} more" if len(faults) > _TOLD else ""
        raise SnapshotError(f"{path}: {'; '.join(faults[:_TOLD])}{more}.")


def _tell(snapshot: Snapshot, tables: Export, text: str, out: Path, *, as_json: bool) -> None:
    """Say what was written."""
    topology = tables.wiring.topology
    if not tables.wiring.whole:
        remark(f"{topology.name} with parts missing: {'; '.join(missing_parts(tables.wiring))}")
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


def run_load(path: Path, fabric: Path, name_map: Path | None = None, *, as_json: bool) -> bool:
    """
    Read a dump of forwarding tables and say what it does.

    `path`: dump of OpenSM or of `dump_fts`; ``-`` is standard input. `fabric`: output of
    `ibnetdiscover` on the fabric.
    """
    require_one_stdin({"DUMP": path, "--fabric": fabric, "--name-map": name_map})
    wiring, irregularity = read_wiring(fabric, name_map)
    dump = read_lft_dump(read_text(path, SnapshotError), str(path))
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


def run_check(
    path: Path, fabric: Path, base: Path, name_map: Path | None = None, *, as_json: bool
) -> bool:
    """
    Say whether loaded tables keep the jobs of a snapshot apart.

    `path`: snapshot; ``-`` is standard input. `fabric`: output of `ibnetdiscover` on the fabric.
    `base`: dump of the tables that are loaded. Result: whether no two jobs share a link, each stays
    on the links that it owns, and no packets can stop each other for good.
    """
    named = {"SNAPSHOT": path, "--fabric": fabric, "--base": base, "--name-map": name_map}
    require_one_stdin(named)
    wiring, irregularity, snapshot = _snapshot_on(path, fabric, name_map)
    dump = read_lft_dump(read_text(base, SnapshotError), str(base))
    try:
        tables = tables_of(dump, wiring)
    except NetsimError as error:
        raise SnapshotError(f"{base}: {error}") from None
    found = check_jobs_apart(snapshot, tables)
    if as_json:
        print_json(
            {"fabric": wiring.topology.name, "irregularity": irregularity or None} | found.to_dict()
        )
    else:
        sys.stdout.write(text_of(text_lines(*found.lines())))
    return found.passed


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


def _snapshot_on(path: Path, fabric: Path, name_map: Path | None) -> tuple[Wiring, str, Snapshot]:
    """Read a fabric and a snapshot on it, whose own fabric it must be, under the names of both."""
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
    if name in SPREADING:
        raise SnapshotError(
            f"{path}: routing: expected one that tables can hold, got {name!r}, under which "
            "switches choose the way of each packet."
        )
    known = {key: value for key, value in document.items() if key != "routing"}
    known["topology"] = wiring.topology
    return wiring, irregularity, snapshot_from(known, str(path), folder)
