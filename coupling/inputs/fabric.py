"""The fabric of a snapshot: topology, routing, and InfiniBand fabrics behind routing tables."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from coupling.errors import SnapshotError
from coupling.inputs.referenced_files import is_path
from coupling.inputs.table import Table
from fabricsim.checking.inputs import read_text
from netsim.common.errors import NetsimError
from netsim.formats.importers.graphs import from_networkx, is_graph
from netsim.formats.importers.infiniband import read_name_map
from netsim.infiniband.wiring import Wiring
from netsim.registries.routings import make_routing, usual_routing
from netsim.registries.topologies import make_topology
from netsim.routing.base import Routing
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.switches import with_default_switch


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
    except (MemoryError, OverflowError, ValueError):  # numpy's, of sizes beyond all memory
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
