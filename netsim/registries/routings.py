"""ROUTINGS: routings from a name or a table of options."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from fabricsim.checking import brief, build, whole
from netsim.common.errors import RoutingError
from netsim.routing.base import Routing
from netsim.routing.cluster import ClusterRouting
from netsim.routing.dimension import DimensionOrder
from netsim.routing.dmodk import DModK, SModK
from netsim.routing.dragonfly import Minimal, Valiant
from netsim.routing.ecmp import Ecmp, GraphEcmp
from netsim.routing.multipath import MULTIPATH_RULES, MultipathRouting
from netsim.routing.shortest import Rerouted, Shortest
from netsim.routing.updown import LeastLoadedPerJob
from netsim.routing.wraparound import Wraparound
from netsim.topology.base import Topology, require_topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.fattree import FatTree
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.hyperx import HyperX
from netsim.topology.torus import Torus

_USUAL = (
    (FatTree, "d-mod-k"),
    (GpuCluster, "d-mod-k"),
    (Torus, "dimension-order"),
    (HyperX, "dimension-order"),
    (Dragonfly, "minimal"),
)
_BY_LINKS = (Shortest, GraphEcmp, LeastLoadedPerJob, MultipathRouting)  # which see absent links
_TWO = 2  # groups between which there is no third one
Options = Mapping[str, Any]


def make_routing(spec: Mapping[str, Any] | str, topology: Topology, seed: int = 1) -> Routing:
    """
    Make a routing for a fabric.

    Parameters
    ----------
    spec : mapping or str
        A name, a table with ``name`` and options, or a table with ``lft``, the path of a dump of
        forwarding tables, and ``fabric``, that of the `ibnetdiscover` output it belongs to (left
        out where the topology itself was read from one).
    topology : Topology
        The fabric.
    seed : int, default 1
        Seed of the routings that draw; the others ignore it.

    Returns
    -------
    Routing
        The routing; where links are absent, flows that meet one take a shortest path.

    Raises
    ------
    RoutingError
        If the name or an option is unknown, or the routing does not fit the fabric.

    Examples
    --------
    >>> import numpy as np
    >>> from netsim.registries.topologies import make_topology
    >>> routing = make_routing("d-mod-k", make_topology("cab"))
    >>> routing.routes(np.array([0]), np.array([18])).hops
    array([4])
    """
    require_topology(topology, RoutingError)
    if not isinstance(spec, (str, Mapping)):
        raise RoutingError(f"routing: expected a name or a table, got {brief(spec)}.")
    table = {"name": spec} if isinstance(spec, str) else spec
    if isinstance(topology, GpuCluster):
        return ClusterRouting(make_routing(spec, topology.endpoint_tree, seed), topology)
    if "lft" in table:
        return _round_failures(_loaded_tables(table, topology), topology)
    options = {key: value for key, value in table.items() if key != "name"}
    if "seed" in options:
        raise RoutingError(
            f"routing {table.get('name')!r}: seed: expected it next to `routing` in a snapshot "
            "(`seed = 3`), in an experiment as `[run] seeds = {routing = 3}`, not in its table."
        )
    fixed = {"topology": topology, "seed": whole("routing seed", seed, 0, error=RoutingError)}
    routing = build("routing", table.get("name"), ROUTINGS, options, RoutingError, fixed=fixed)
    return _round_failures(routing, topology)


def on_changed(routing: Routing, topology: Topology) -> Routing:
    """Return a routing on its fabric after other failures, or with other capacities."""
    if isinstance(routing, ClusterRouting) and isinstance(topology, GpuCluster):
        return ClusterRouting(on_changed(routing.inner, topology.endpoint_tree), topology)
    inner = routing.inner if isinstance(routing, Rerouted) else routing
    if isinstance(inner, (Shortest, LeastLoadedPerJob)):
        return type(inner).on(topology)
    if isinstance(inner, MultipathRouting):
        return MultipathRouting.on(topology, rule=inner.rule)
    if isinstance(inner, GraphEcmp):
        return replace(inner, paths=Shortest(topology))
    return _round_failures(inner, topology)


def _loaded_tables(table: Options, topology: Topology) -> Routing:
    """Read forwarding tables; the readers of files are slow to import."""
    from netsim.formats.importers.infiniband import load_tables  # noqa: PLC0415

    return load_tables(table, topology)


def _round_failures(routing: Routing, topology: Topology) -> Routing:
    """Lead flows that meet an absent link another way, where the routing does not itself."""
    if topology.absent is None or isinstance(routing, _BY_LINKS):
        return routing
    return Rerouted.around(routing, topology)


def _drawing_nothing(make: Callable[[Topology], Routing]) -> Callable[[Topology, int], Routing]:
    """Wrap a routing that needs no seed."""

    def without_seed(topology: Topology, seed: int) -> Routing:
        del seed
        return make(topology)

    return without_seed


ROUTINGS: dict[str, Callable[[Topology, int], Routing]] = {
    "d-mod-k": _drawing_nothing(DModK.on),
    "s-mod-k": _drawing_nothing(SModK.on),
    "ecmp": Ecmp.on,
    "least-loaded-per-job": _drawing_nothing(LeastLoadedPerJob.on),
    "shortest": _drawing_nothing(Shortest.on),
    "jigsaw": _drawing_nothing(Wraparound.on),
    "dimension-order": _drawing_nothing(DimensionOrder.on),
    "minimal": _drawing_nothing(Minimal.on),
    "valiant": Valiant.on,
} | {rule: _drawing_nothing(partial(MultipathRouting.on, rule=rule)) for rule in MULTIPATH_RULES}


def limits_of(routing: Routing) -> tuple[str, ...]:
    """
    Return what a routing does not do that its name may promise, a phrase each.

    `routing`: as `make_routing` made it.
    """
    inner = routing.inner if isinstance(routing, Rerouted) else routing
    if isinstance(inner, MultipathRouting) and inner.rule == "adaptive":
        fabric = inner.topology
        if isinstance(fabric, Dragonfly) and fabric.groups == _TWO:
            text = "adaptive routing takes minimal paths between groups: others lead through a"
            return (f"{text} third group, the fabric has two groups",)
    return ()


def usual_routing(topology: Topology, *, owned: bool) -> str:
    """Return the routing that a fabric has where none is named."""
    if owned and isinstance(topology, (FatTree, GpuCluster)):
        return "jigsaw"
    return next((name for kind, name in _USUAL if isinstance(topology, kind)), "shortest")
