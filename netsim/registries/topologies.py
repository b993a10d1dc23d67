"""TOPOLOGIES: fabrics from a table of fields or a machine name."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fabricsim.checking import unknown
from netsim.common.errors import TopologyError
from netsim.formats.fields import Fields
from netsim.topology.base import Topology
from netsim.topology.building import FabricTooLargeError
from netsim.topology.dragonfly import build_dragonfly
from netsim.topology.fattree import FatTree, build_fat_tree, fat_tree_of_radix
from netsim.topology.gateways import VARIANTS
from netsim.topology.limits import require_sane
from netsim.topology.machines import MACHINES
from netsim.topology.outage import depopulate, exclude, fail
from netsim.topology.switches import DEFAULT_SWITCH, SWITCHES, Switch
from netsim.topology.torus import build_torus

DEFAULT_BANDWIDTH = 12.5e9  # bytes per second: 100 Gb/s, where a table names none


_SIZES = {
    *("children", "parents", "parallel", "radix", "levels", "rails", "nodes_per_group", "groups"),
    *("spines_per_rail", "dims", "nodes_per_router", "routers", "global_links", "lanes"),
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
    table = _resolved({"kind": spec} if isinstance(spec, str) else spec)
    fields = Fields(table, f"topology {table['kind']!r}")
    fields.raw("kind")
    common = _common(fields)
    excluded, cables = fields.listed("excluded"), fields.listed("failed_links")
    switches = fields.listed("failed_switches")
    try:
        topology = TOPOLOGIES[table["kind"]](fields, common)
    except FabricTooLargeError as error:
        sizes = ", ".join(name for name in table if name in _SIZES)
        raise TopologyError(f"{sizes}: {error}" if sizes else str(error)) from None
    preset = _preset(fields)
    topology = replace(
        topology,
        buffer_bytes=fields.buffer("buffer", preset.buffer_bytes),
        packet_bytes=fields.size("packet", preset.packet_bytes),
        assumed=_assumed(fields),
    )
    fields.finish()
    for name in ("excluded", "failed_switches"):
        fields.look_up(name, topology.names.vertices)
    fields.look_up("failed_links", topology.names.links)
    return require_sane(fail(exclude(topology, excluded), cables, switches))


def _resolved(spec: Mapping[str, Any]) -> Mapping[str, Any]:
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


def _common(fields: Fields) -> Common:
    """Read what every kind understands, as keywords of the builders."""
    # a stated base latency says what paths take: nothing else is assumed
    alone = "latency_base_s" in fields and "latency" not in fields
    per_link_s = 0.0 if alone else _preset(fields).delay_s
    return {
        "bandwidth": fields.rates("bandwidth", DEFAULT_BANDWIDTH),
        "half_duplex": fields.text("duplex", "full", ("full", "half")) == "half",
        "latency_base_s": fields.latency("latency_base_s", 0.0),
        "latency_per_link_s": fields.latency("latency_per_link_s", per_link_s),
    }


def _preset(fields: Fields) -> Switch:
    """Return the switch whose packets, buffers and delay stand for those that are not stated."""
    return PRESETS[fields.text("latency", DEFAULT_SWITCH, PRESETS)]


def _assumed(fields: Fields) -> tuple[str, ...]:
    """Return what the table does not state of its switches."""
    if "latency" in fields:
        return ()
    latency = "latency_base_s" in fields or "latency_per_link_s" in fields
    stated = {"buffer": "buffer" in fields, "packet": "packet" in fields, "delay": latency}
    return tuple(key for key in stated if not stated[key])


def _fat_tree(fields: Fields, common: Common) -> Topology:
    """Read a fat-tree: by radix, or as PGFT(h; m; w; p)."""
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
    return _populated(fields, tree)


def _rail_tree(fields: Fields, common: Common) -> Topology:
    """Read a rail-optimised tree: PGFT whose nodes have one up-port for each rail."""
    rails = fields.integer("rails", 8, least=2)
    children = (fields.integer("nodes_per_group", 32, least=1), fields.integer("groups", least=1))
    spines = fields.integer("spines_per_rail", children[0], least=1)
    parallel = (1, fields.integer("parallel", 1, least=1))
    tree = build_fat_tree(children, (rails, spines), parallel, **common)
    return _populated(fields, tree)


def _populated(fields: Fields, tree: FatTree) -> FatTree:
    """Take out what a table says is missing."""
    fields.look_up("missing", tree.names.vertices)
    return depopulate(tree, fields.listed("missing"))


def _torus(fields: Fields, common: Common) -> Topology:
    """Read a torus or mesh."""
    dims = fields.integers("dims")
    return build_torus(
        dims,
        nodes_per_router=fields.integer("nodes_per_router", 1, least=1),
        wrap=fields.flags("wrap", len(dims), default=True),
        **common,
    )


def _dragonfly(fields: Fields, common: Common) -> Topology:
    """Read a dragonfly."""
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


def _file(fields: Fields, common: Common) -> Topology:
    """Read a fabric from a file of one of many formats."""
    # networkx and YAML are slow to import, and the InfiniBand reader builds on this package
    from netsim.formats.importers.registry import FORMATS, read_topology  # noqa: PLC0415
    from netsim.formats.importers.sketch import Settings, in_tree  # noqa: PLC0415

    given = {**common, "bandwidth": common["bandwidth"] if "bandwidth" in fields else None}
    form = fields.text("format", "", FORMATS) if "format" in fields else None
    names = fields.text("name_map") if "name_map" in fields else None
    pattern = fields.text("host_pattern") if "host_pattern" in fields else None
    settings = Settings(**given, host_pattern=pattern)
    found = read_topology(fields.text("path"), form, settings, names)
    return in_tree(found) if fields.flag("as_tree", default=False) else found


TOPOLOGIES: dict[str, Callable[[Fields, Common], Topology]] = {
    "fat-tree": _fat_tree,
    "rail-tree": _rail_tree,
    "torus": _torus,
    "dragonfly": _dragonfly,
    "file": _file,
}
