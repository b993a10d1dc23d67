"""System configurations of AccaSim: how many nodes there are of each group, and what each has."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fabricsim.checking import Table, unknown
from fabricsim.checking.documents import parse_json
from netsim.common.errors import TopologyError
from netsim.formats.importers.sketch import Settings, Sketch
from netsim.topology.base import Topology
from netsim.topology.building import check_size

FORM = "accasim"
_SHARED = ("core", "gpu", "mem")
_LONGEST = 80
_MIB = 1024  # of the KB in which AccaSim counts memory, as SWF does


class NodeGroup(NamedTuple):
    """Nodes that are alike."""

    name: str
    nodes: int
    has: Mapping[str, int]  # units of each resource of a node


class System(NamedTuple):
    """A system configuration."""

    name: str
    node_prefix: str  # nodes are numbered behind it, from 1, group by group
    groups: tuple[NodeGroup, ...]
    cores_per_processor: int


def read_system(text: str, source: str) -> System:
    """
    Read a system configuration.

    ``groups`` holds what a node of each has, ``resources`` the number of nodes of each group;
    ``equivalence`` says how many cores a processor of the log stands for (default 1).
    """
    found = parse_json(text, source, TopologyError)
    table = Table(found, f"{source}:", TopologyError)
    table.require("groups", "resources")
    kinds, counts = _inner(table, "groups", source), _inner(table, "resources", source)
    groups = tuple(
        NodeGroup(name, counts.integer(name, least=1), _units(kinds, name, source))
        for name in table.mapping("resources")
    )
    if not groups:
        raise table.error("resources", "the nodes of at least one group")
    try:
        check_size(2 * sum(group.nodes for group in groups))
    except TopologyError as error:
        raise table.fault("resources", str(error)) from None
    table.raw("start_time")  # of a log without a date
    name, prefix = table.text("system_name", ""), table.text("node_prefix", "node_")
    cores = _equivalence(table, source)
    table.finish()
    return System(name, prefix, groups, cores)


def _inner(table: Table, key: str, source: str) -> Table:
    """Return a table inside another one."""
    values = table.mapping(key)
    if not all(name.isprintable() and len(name) <= _LONGEST for name in values):
        raise table.error(key, f"names of at most {_LONGEST} letters, on one line")
    return Table(values, f"{source}: {key}:", TopologyError)


def _units(kinds: Table, name: str, source: str) -> dict[str, int]:
    """Read what a node of a group has."""
    if name not in kinds:
        raise kinds.error(name, "a group, as resources names it")
    units = _inner(kinds, name, f"{source}: groups")
    return {unit: units.integer(unit, least=0) for unit in kinds.mapping(name)}


def _equivalence(table: Table, source: str) -> int:
    """Read how many cores a processor of the log stands for."""
    if "equivalence" not in table:
        return 1
    equivalence = _inner(table, "equivalence", source)
    processor = _inner(equivalence, "processor", f"{source}: equivalence")
    equivalence.finish()
    cores = processor.integer("core", 1, least=1)
    processor.finish()
    return cores


def node_of(system: System, source: str) -> dict[str, Any]:
    """
    Return what each node has, as ``[scheduler] node`` takes it; cores are processors of the log.

    Nodes must be alike, and have cores, GPUs and memory alone.
    """
    first = system.groups[0]
    for group in system.groups:
        if dict(group.has) != dict(first.has):
            raise TopologyError(
                f"{source}: groups: expected nodes that are alike, where jobs share them, got "
                f"{first.name!r} and {group.name!r}, which differ."
            )
    for unit in first.has:
        if unit not in _SHARED:
            raise TopologyError(f"{source}: groups: {first.name}: {unknown('unit', unit, _SHARED)}")
    processors, rest = divmod(first.has.get("core", 0), system.cores_per_processor)
    if rest:
        raise TopologyError(
            f"{source}: equivalence: expected whole processors of {system.cores_per_processor} "
            f"cores, got {first.has['core']} cores in group {first.name!r}."
        )
    memory_mb = first.has.get("mem", 0) // _MIB
    found = {
        "cores": processors,
        "gpus": first.has.get("gpu", 0),
        **({"memory": f"{memory_mb} MiB"} if memory_mb else {}),
    }
    if not any(found.values()):
        raise TopologyError(
            f"{source}: groups: {first.name}: expected core, gpu or mem above 0, got none."
        )
    return {unit: value for unit, value in found.items() if value}


def read_accasim(text: str, source: str, settings: Settings) -> Topology:
    """Read the nodes of a system configuration, which has no network: on one switch."""
    system = read_system(text, source)
    sketch = Sketch(source, FORM, fake_roots=["switch"])
    number = 0
    for group in system.groups:
        has = ", ".join(f"{unit} {count}" for unit, count in group.has.items())
        last = number + group.nodes
        sketch.assumed.append(
            f"group {group.name!r}, {system.node_prefix}[{number + 1}-{last}]: {has or 'nothing'}"
        )
        for own in range(number + 1, last + 1):
            sketch.add_node(f"{system.node_prefix}{own}")
            sketch.join(f"{system.node_prefix}{own}", "switch")
        number = last
    sketch.add_switch("switch")
    sketch.assumed.append("one switch: the file holds no network")
    return sketch.build(settings)
