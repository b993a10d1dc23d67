"""TOPOLOGIES: fabrics from a table of fields or a machine name."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fabricsim.checking import unknown
from netsim.common.errors import TopologyError, UnitError
from netsim.common.units import parse_rates
from netsim.formats.fields import Fields
from netsim.topology.base import Topology, require_sane
from netsim.topology.building import (
    FabricTooLargeError,
    check_size,
    class_rates,
    router_fields,
)
from netsim.topology.dragonfly import VARIANTS, build_dragonfly
from netsim.topology.dragonflyplus import build_dragonfly_plus
from netsim.topology.fattree import FatTree, build_fat_tree, fat_tree_of_radix
from netsim.topology.gpucluster import (
    EFFICIENCIES,
    FABRICS,
    GPU_EFFICIENCY,
    GPU_LINKS,
    NIC_EFFICIENCY,
    ON_FAILURE,
    GpuCluster,
    Hosts,
    build_gpu_cluster,
)
from netsim.topology.hyperx import build_hyperx
from netsim.topology.machines import MACHINES
from netsim.topology.outage import depopulate, exclude, fail
from netsim.topology.slimfly import build_slim_fly
from netsim.topology.switches import DEFAULT_SWITCH, SWITCHES, Switch
from netsim.topology.torus import build_torus

DEFAULT_BANDWIDTH = 12.5e9  # bytes per second: 100 Gb/s, where a table names none


_RATIO = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?)(?::([0-9]{1,6}))?")  # "7:1"
_SIZES = {
    *("children", "parents", "parallel", "radix", "levels", "hosts", "gpus", "nics", "groups"),
    *("spines", "cores", "dims", "nodes_per_router", "routers", "global_links", "lanes"),
    *("leaves", "nodes_per_leaf", "nodes", "q", "rails", "nodes_per_group", "spines_per_rail"),
}

PRESETS: Mapping[str, Switch] = {
    DEFAULT_SWITCH: SWITCHES[DEFAULT_SWITCH],
    "none": Switch(packet_bytes=0.0, buffer_bytes=0.0, delay_s=0.0),
}
"""Values of `latency`: ``none`` is a fluid without packets, buffers and latencies."""

Common = Mapping[str, Any]


def make_topology(spec: Mapping[str, Any] | str) -> Topology:
    """
    Build a fabric from its description.

    Parameters
    ----------
    spec : mapping or str
        Table with ``kind`` and its fields, or the name of a machine. A machine may stand for
        a kind as well, to change its bandwidth or latency: ``{"kind": "cab", ...}``.

    Returns
    -------
    Topology
        The fabric; links have 100 Gb/s in each direction unless `spec` says otherwise.

    Raises
    ------
    TopologyError
        If a name or field is unknown, or a value does not fit.

    Examples
    --------
    >>> make_topology("thunder-1458").n_nodes
    1458
    >>> float(make_topology({"kind": "cab", "bandwidth": "40 Gb/s"}).capacity[0])
    5000000000.0
    """
    if not isinstance(spec, (str, Mapping)):
        raise TopologyError(f"topology: expected a table or a machine name, got {spec!r}.")
    table = _resolved_fields({"kind": spec} if isinstance(spec, str) else spec)
    fields = Fields(table, f"topology {table['kind']!r}")
    fields.raw("kind")
    common = _common_keywords(fields)
    excluded, cables = fields.listed("excluded"), fields.listed("failed_links")
    switches = fields.listed("failed_switches")
    try:
        topology = TOPOLOGIES[table["kind"]](fields, common)
    except FabricTooLargeError as error:
        sizes = ", ".join(name for name in table if name in _SIZES)
        raise TopologyError(f"{sizes}: {error}" if sizes else str(error)) from None
    preset = _switch_preset(fields)
    topology = replace(
        topology,
        buffer_bytes=fields.buffer("buffer", preset.buffer_bytes),
        packet_bytes=fields.size("packet", preset.packet_bytes),
        limiter_link=_host_rate(fields, "limiter_link", topology),
        loopback_bw=_host_rate(fields, "loopback_bw", topology),
        loopback_lat=fields.latency("loopback_lat", topology.loopback_lat),
        assumed=_assumed_switches(fields, topology),
    )
    if topology.loopback_lat and not topology.loopback_bw:
        raise fields.fault("loopback_lat", "expected loopback_bw beside it.")
    fields.finish()
    for name in ("excluded", "failed_switches"):
        fields.look_up(name, topology.names.vertices)
    fields.look_up("failed_links", topology.names.links)
    return require_sane(fail(exclude(topology, excluded), cables, switches))


def _host_rate(fields: Fields, name: str, topology: Topology) -> float:
    """Read a rate of all hosts, in bytes per second; 0 where there is none."""
    if name not in fields:
        return float(getattr(topology, name))  # of a platform
    if isinstance(topology, GpuCluster):
        raise fields.fault(name, "expected none on a GPU cluster, whose hosts have links inside.")
    rate = fields.rates(name, 0.0)
    if isinstance(rate, tuple):
        raise fields.error(name, "one bandwidth such as '20 GB/s'")
    return rate


def _resolved_fields(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put the fields of a machine in the place of its name, and check the kind."""
    kind = spec.get("kind")
    if isinstance(kind, str) and kind in MACHINES:
        spec = {**MACHINES[kind], **{name: spec[name] for name in spec if name != "kind"}}
        kind = spec["kind"]
    if not isinstance(kind, str) or kind not in TOPOLOGIES:
        names = [*sorted(TOPOLOGIES), *sorted(MACHINES)]
        if "kind" not in spec:
            raise TopologyError(f"field 'kind' is missing; choose from {', '.join(names)}.")
        raise TopologyError(unknown("topology", kind, names))
    return spec


def _common_keywords(fields: Fields) -> Common:
    """Read what every kind understands, as keywords of the builders."""
    # a stated base latency says what paths take: nothing else is assumed
    alone = "latency_base_s" in fields and "latency" not in fields
    per_link_s = 0.0 if alone else _switch_preset(fields).delay_s
    return {
        "bandwidth": fields.rates("bandwidth", DEFAULT_BANDWIDTH),
        "half_duplex": fields.text("duplex", "full", ("full", "half")) == "half",
        "latency_base_s": fields.latency("latency_base_s", 0.0),
        "latency_per_link_s": fields.latency("latency_per_link_s", per_link_s),
    }


def _switch_preset(fields: Fields) -> Switch:
    """Return the switch whose packets, buffers and delay stand for those that are not stated."""
    return PRESETS[fields.text("latency", DEFAULT_SWITCH, PRESETS)]


def _assumed_switches(fields: Fields, topology: Topology) -> tuple[str, ...]:
    """Return what neither table nor file states of the switches."""
    if "latency" in fields:
        return ()
    origin = topology.origin
    latency = "latency_base_s" in fields or "latency_per_link_s" in fields
    latency = latency or (origin is not None and origin.states_latency)
    stated = {"buffer": "buffer" in fields, "packet": "packet" in fields, "delay": latency}
    return tuple(key for key in stated if not stated[key])


def _fat_tree(fields: Fields, common: Common) -> Topology:
    """Read a fat-tree: by radix, or PGFT(children; parents; parallel)."""
    down_cable = fields.text("down_cable", "mirror", ("mirror", "source"))
    by_shape = [name for name in ("children", "parents", "parallel") if name in fields]
    by_radix = [name for name in ("radix", "levels") if name in fields]
    if by_shape and by_radix:
        raise fields.error(by_radix[0], f"left out where {by_shape[0]!r} is given")
    if by_shape:
        children = fields.integers("children")
        parents = fields.integers("parents")
        parallel = fields.integers("parallel", (1,) * len(children))
        tree = build_fat_tree(children, parents, parallel, down_cable=down_cable, **common)
    else:
        levels = fields.integer("levels", 3, least=1)
        radix = fields.integer("radix", least=1)
        tree = fat_tree_of_radix(radix, levels=levels, down_cable=down_cable, **common)
    return _without_missing(fields, tree)


def _rail_tree(fields: Fields, common: Common) -> Topology:
    """Read rails side by side: a fat-tree with a link of a node to each."""
    rails = fields.integer("rails", 8, least=2)
    children = fields.integer("nodes_per_group", 32, least=1), fields.integer("groups", least=1)
    spines = fields.integer("spines_per_rail", children[0], least=1)
    parallel = 1, fields.integer("parallel", 1, least=1)
    tree = build_fat_tree(children, (rails, spines), parallel, **common)
    return _without_missing(fields, tree)


def _gpu_cluster(fields: Fields, common: Common) -> Topology:
    """Read hosts of GPUs and adapters: rails, Clos or two planes."""
    gpus = fields.integer("gpus", 8, least=1)
    fabric = fields.text("fabric", "rail", FABRICS)
    nccl = fields.text("efficiency", "none", EFFICIENCIES) == "nccl"
    if nccl:
        rates = common["bandwidth"]
        several = isinstance(rates, tuple)
        reached = tuple(NIC_EFFICIENCY * rate for rate in (rates if several else (rates,)))
        common = {**common, "bandwidth": reached if several else reached[0]}
    hosts = Hosts(
        gpus,
        fields.integer("nics", gpus, least=1),
        planes=2 if fabric == "dual-plane" else 1,
        gpu_rate=_gpu_rate(fields) * (GPU_EFFICIENCY if nccl else 1.0),
        pxn=fields.flag("pxn", default=True),
        on_failure=fields.text("on_failure", "respread", ON_FAILURE),
        nccl=nccl,
    )
    optional = ("units_per_pod", "spines", "cores")
    given = {name: fields.integer(name, least=1) for name in optional if name in fields}
    cluster = build_gpu_cluster(
        fields.integer("hosts", least=1),
        hosts,
        fabric,
        hosts_per_unit=fields.integer("hosts_per_unit", 32, least=1),
        oversubscription=_ratios(fields),
        **given,
        **common,
    )
    filled_in = fields.text("filled_in") if "filled_in" in fields else ""
    return replace(cluster, filled_in=filled_in)


def _gpu_rate(fields: Fields) -> float:
    """Read what a GPU sends into the network of its host: a name, a bandwidth, or none."""
    value = fields.raw("gpu_link", "nvlink4")
    if value == "none":
        return 0.0
    if isinstance(value, str) and value in GPU_LINKS:
        return GPU_LINKS[value]
    try:
        (rate,) = parse_rates(value)
    except (UnitError, ValueError):
        names = ", ".join((*GPU_LINKS, "none"))
        raise fields.error("gpu_link", f"a bandwidth such as '450 GB/s', or {names}") from None
    return rate


def _ratios(fields: Fields) -> tuple[Fraction, ...]:
    """Read one or two ratios of links down to links up, such as 2 or "7:1"."""
    value = fields.raw("oversubscription", 1)
    entries = value if isinstance(value, (list, tuple)) else [value]
    found = []
    for entry in entries or [None]:
        match = _RATIO.fullmatch(str(entry)) if not isinstance(entry, bool) else None
        ratio = None if match is None else Fraction(match[1]) / Fraction(match[2] or 1)
        if ratio is None or ratio <= 0 or len(entries) > 2:  # noqa: PLR2004 (levels with links up)
            raise fields.error("oversubscription", "a ratio such as '2:1', or one for each level")
        found.append(ratio)
    return tuple(found)


def _without_missing(fields: Fields, tree: FatTree) -> FatTree:
    """Take out what a table says is missing."""
    fields.look_up("missing", tree.names.vertices)
    return depopulate(tree, fields.listed("missing"))


def _read_torus(fields: Fields, common: Common) -> Topology:
    """Read a torus or mesh of any dimension."""
    dims = fields.integers("dims")
    return build_torus(
        dims,
        nodes_per_router=fields.integer("nodes_per_router", 1, least=1),
        wrap=fields.flags("wrap", len(dims), default=True),
        **common,
    )


def _read_dragonfly(fields: Fields, common: Common) -> Topology:
    """Read groups of routers: canonical, Aries and others."""
    fields.require("groups", "routers")
    many = isinstance(fields.raw("routers"), (list, tuple))
    return build_dragonfly(
        fields.integer("groups", least=1),
        fields.integers("routers") if many else fields.integer("routers", least=1),
        nodes_per_router=fields.integer("nodes_per_router", 1, least=1),
        variant=fields.text("variant", "canonical", VARIANTS),
        global_links=fields.integer("global_links", least=1) if "global_links" in fields else None,
        lanes=fields.integers("lanes") if "lanes" in fields else None,
        **common,
    )


def _read_file(fields: Fields, common: Common) -> Topology:
    """Read a file: ibnetdiscover, topology.conf, GraphML, CSV and others."""
    # networkx and YAML are slow to import, and the InfiniBand reader builds on this package
    from netsim.formats.importers.registry import FORMATS, read_topology  # noqa: PLC0415
    from netsim.formats.importers.sketch import Settings, in_tree  # noqa: PLC0415

    given = {**common, "bandwidth": common["bandwidth"] if "bandwidth" in fields else None}
    form = fields.text("format", "", FORMATS) if "format" in fields else None
    names = fields.text("name_map") if "name_map" in fields else None
    pattern = fields.text("host_pattern") if "host_pattern" in fields else None
    stated = any(name in fields for name in ("latency", "latency_base_s", "latency_per_link_s"))
    settings = Settings(**given, host_pattern=pattern, states_latency=stated)
    found = read_topology(fields.text("path"), form, settings, names)
    return in_tree(found) if fields.flag("as_tree", default=False) else found


def _read_switch(fields: Fields, common: Common) -> Topology:
    """Read one switch with nodes on it."""
    nodes = fields.integer("nodes", least=1)
    check_size(2 * nodes)
    rates = class_rates(common["bandwidth"], ())
    rest = {key: value for key, value in common.items() if key != "bandwidth"}
    router = np.zeros(nodes, dtype=np.int64)
    return Topology(name=f"switch({nodes})", **router_fields(router, 1, (), rates, **rest))


def _read_hyperx(fields: Fields, common: Common) -> Topology:
    """Read a grid of routers, all-to-all along each axis."""
    return build_hyperx(
        fields.integers("dims"),
        nodes_per_router=fields.integer("nodes_per_router", 1, least=1),
        parallel=fields.integers("parallel") if "parallel" in fields else None,
        **common,
    )


def _read_slim_fly(fields: Fields, common: Common) -> Topology:
    """Read a Slim Fly: 2 q² routers, at most two links apart."""
    name = "nodes_per_router"
    nodes = fields.integer(name, least=1) if name in fields else None
    return build_slim_fly(fields.integer("q", least=1), nodes_per_router=nodes, **common)


def _read_dragonfly_plus(fields: Fields, common: Common) -> Topology:
    """Read groups of leaves and spines, joined at the spines."""
    name = "global_links"
    return build_dragonfly_plus(
        *(fields.integer(count, least=1) for count in ("groups", "leaves", "spines")),
        nodes_per_leaf=fields.integer("nodes_per_leaf", 1, least=1),
        global_links=fields.integer(name, least=1) if name in fields else None,
        **common,
    )


TOPOLOGIES: dict[str, Callable[[Fields, Common], Topology]] = {
    "fat-tree": _fat_tree,
    "rail-tree": _rail_tree,
    "gpu-cluster": _gpu_cluster,
    "torus": _read_torus,
    "dragonfly": _read_dragonfly,
    "dragonfly+": _read_dragonfly_plus,
    "hyperx": _read_hyperx,
    "slim-fly": _read_slim_fly,
    "switch": _read_switch,
    "file": _read_file,
}
