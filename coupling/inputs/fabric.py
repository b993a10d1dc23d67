"""The fabric of a snapshot or a command line: topology, routing, InfiniBand behind tables."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.files import Table, is_path, read_json
from fabricsim.checking import brief, meant
from fabricsim.checking.documents import parse_json, parse_toml
from fabricsim.checking.inputs import read_text, without_packing
from netsim.common.errors import NetsimError
from netsim.formats.importers.graphs import from_networkx, is_graph
from netsim.formats.importers.infiniband import read_name_map
from netsim.formats.importers.registry import FORMATS, guess_format
from netsim.formats.importers.sketch import Settings
from netsim.infiniband.wiring import Wiring
from netsim.registries.routings import make_routing, usual_routing
from netsim.registries.topologies import TOPOLOGIES, make_topology
from netsim.routing.base import Routing
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.machines import MACHINES
from netsim.topology.switches import with_default_switch


def is_fabric_file(what: str, folder: Path) -> bool:
    """Say whether a text names a file rather than a machine or a kind of fabric."""
    return what not in MACHINES and what not in TOPOLOGIES and (folder / what).is_file()


def described(what: str, form: str | None) -> tuple[Any, Path]:
    """Return the description of a topology that a user named, unchecked, and its folder."""
    # A machine's name, a JSON or TOML file with a topology, or a file of another format; ``-`` is
    # standard input, but not TOML.
    path = Path(what)
    if what in MACHINES:
        return what, Path()
    if what != "-" and not path.exists():
        raise SnapshotError(
            f"{what}: expected a file or a machine ({', '.join(sorted(MACHINES))})"
            f"{meant(what, MACHINES)}."
        )
    if what == "-" and form is None:
        return _from_stdin(), Path()
    ending = Path(without_packing(path.name)).suffix.lower()
    if form is None and ending in {".json", ".toml"}:
        return _topology_table(
            _read_toml(path) if ending == ".toml" else read_json(path), what
        ), path.parent
    spec = {"kind": "file", "path": path.name}
    return (spec if form is None else {**spec, "format": form}), path.parent


def _from_stdin() -> Any:  # noqa: ANN401 (whatever a table may hold)
    """Return the fabric that standard input describes: JSON, or a file of another format."""
    text = read_text("-", SnapshotError)
    if text.lstrip().startswith(("{", "[")):
        document = parse_json(text, "-", SnapshotError)
        if not isinstance(document, dict):
            raise SnapshotError(f"-: expected a JSON object, got {brief(document)}.")
        return _topology_table(document, "-")
    try:
        fabric = FORMATS[guess_format(text, "<stdin>")](text, "<stdin>", Settings())
    except NetsimError as error:
        raise SnapshotError(str(error)) from None
    return with_default_switch(fabric)


def _topology_table(document: dict[str, Any], what: str) -> Any:  # noqa: ANN401 (whatever a table may hold)
    """Return the topology of a document, or the document that is one."""
    if {"topology", "kind"} <= document.keys():
        raise SnapshotError(f"{what}: expected fields of a fabric or a table topology, got both.")
    return document.get("topology", document)


def with_names(
    spec: object,
    name_map: Path | str | None,
    host_pattern: str | None,
    source: str,
) -> Any:  # noqa: ANN401 (whatever a table may hold)
    """Return a description with better names for the GUIDs of its file, and its rule of hosts."""
    more = {} if name_map is None else {"name_map": str(Path(name_map).absolute())}
    more |= {} if host_pattern is None else {"host_pattern": host_pattern}
    if not more:
        return spec
    if not isinstance(spec, Mapping) or spec.get("kind") != "file":
        option = f"--{next(iter(more)).replace('_', '-')}"
        raise SnapshotError(f"{option}: expected beside a file of a fabric, got {source}.")
    return {**spec, **more}


def left_open(spec: object) -> tuple[str, ...]:
    """Return what a description of a fabric leaves open, beside what its file does."""
    if isinstance(spec, Topology):
        return ()
    table = dict(spec) if isinstance(spec, Mapping) else {"kind": spec}
    kind = table.get("kind")
    table = (dict(MACHINES.get(kind, {})) if isinstance(kind, str) else {}) | table
    if "bandwidth" in table or kind == "file":
        return ()
    ways = "both directions together" if table.get("duplex") == "half" else "each direction"
    return (f"every link has 100 Gb/s in {ways}: no bandwidth was given",)


def _read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    return parse_toml(read_text(path, SnapshotError), str(path), SnapshotError)


def topology_of(table: Table, folder: Path) -> Topology:
    """Build the topology of a document: a machine's name, a table, or a Python object."""
    spec = table.raw("topology")
    if not (isinstance(spec, (str, Mapping, Topology)) or is_graph(spec)):
        raise table.error("topology", "a machine name, or a table with its kind")
    return build_topology(spec, folder, partial(table.fault, "topology"))


def build_topology(
    spec: Any,  # noqa: ANN401 (a graph has no type of ours)
    folder: Path,
    fault: Callable[[str], Exception],
) -> Topology:
    """Build a topology. `folder`: where relative paths start."""
    if isinstance(spec, Topology):
        return spec
    try:
        if isinstance(spec, (str, Mapping)):
            return make_topology(_with_folder(spec, folder))
        return with_default_switch(from_networkx(spec))
    except NetsimError as error:
        raise fault(str(error)) from None
    except MemoryError:
        raise fault("the fabric is too large for the memory.") from None


def routing_of(
    table: Table, topology: Topology, folder: Path, seed: int, *, owned: bool
) -> Routing:
    """Make the routing of a document; by default the usual one of the topology."""
    # A name, a table with ``name``, or one with ``lft``, a dump of forwarding tables, and
    # ``fabric``, its `ibnetdiscover` output where the topology itself is not read from one.
    spec = table.raw("routing", usual_routing(topology, owned=owned))
    if not isinstance(spec, (str, Mapping)):
        raise table.error("routing", "a name, or a table with name or lft")
    return build_routing(spec, topology, folder, seed, partial(table.fault, "routing"))


def build_routing(
    spec: str | Mapping[str, Any],
    topology: Topology,
    folder: Path,
    seed: int,
    fault: Callable[[str], Exception],
) -> Routing:
    """Make a routing. `folder`: where relative paths start."""
    try:
        return make_routing(_with_folder(spec, folder), topology, seed)
    except NetsimError as error:
        raise fault(str(error)) from None


def read_wiring(
    path: Path, name_map: Path | None = None, like: Topology | None = None
) -> tuple[Wiring, str]:
    """Read what `ibnetdiscover` printed: a PGFT, or a graph and why it is no PGFT."""
    from netsim.formats.importers import infiniband  # noqa: PLC0415 (few fabrics are read so)

    better = None
    if name_map is not None:
        better = read_name_map(read_text(name_map, SnapshotError), str(name_map))
    wiring, remark = infiniband.read_wiring(read_text(path, SnapshotError), str(path), better, like)
    return wiring, "" if isinstance(wiring.topology, FatTree) else remark


def require_same(wiring: Wiring, topology: Topology, source: str) -> None:
    """Demand that a wired fabric is the topology of a snapshot, link by link."""
    own = wiring.topology
    same = own.n_nodes == topology.n_nodes and own.n_switches == topology.n_switches
    if not (
        same
        and np.array_equal(own.link_tail, topology.link_tail)
        and np.array_equal(own.link_head, topology.link_head)
    ):
        raise SnapshotError(
            f"{source}: expected the fabric of the snapshot ({topology.summary}) with "
            f"{topology.n_nodes} nodes, got {own.name} with {own.n_nodes}."
        )


def _with_folder(spec: str | Mapping[str, Any], folder: Path) -> str | Mapping[str, Any]:
    """Let the relative paths of a topology or routing start in a folder."""
    if isinstance(spec, str):
        return spec
    return {
        key: str(folder / value) if is_path(key, spec) else value for key, value in spec.items()
    }
