"""InfiniBand: fabrics as `ibnetdiscover` prints them, with the rates of their ports."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fabricsim.checking.inputs import read_text
from netsim.common.arrays import Ints
from netsim.common.errors import RoutingError, TopologyError
from netsim.formats.importers.sketch import Settings, complete_labels, fit_capacities, fit_labels
from netsim.infiniband.discover import Device, IbFabric, Port, read_ibnetdiscover
from netsim.infiniband.dump import read_lft_dump, tables_of
from netsim.infiniband.lft import LFT
from netsim.infiniband.wiring import (
    Wiring,
    found_wiring,
    missing_parts,
    wire_damaged_tree,
    wire_fat_tree,
    wire_graph,
)
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.names import Origin, guid_name
from netsim.topology.structure.recognise import recognise_tree

FORM = "ibnetdiscover"
# Gb/s of data on one lane: signalling less coding, InfiniBand Architecture Specification 1.x
# (8b/10b up to QDR; 64b/66b after it: FDR10 10.3125, FDR 14.0625, EDR 25.78125 Gb/s on the wire)
LANE_GBITS = {
    "SDR": 2.0,
    "DDR": 4.0,
    "QDR": 8.0,
    "FDR10": 10.0,
    "FDR": 14.0625 * 64 / 66,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
_AGGREGATOR = "Aggregation Node"  # SHARP's, as switches describe theirs
_MOST_ADAPTERS = 64  # of a host; a name that more have in common is none of a host
_NO_HOSTS = ("localhost", "localhost.localdomain")
_MANAGED = re.compile(r"[^;]+;([^;:\s]+):([^;]+)")  # "MF0;ibsw2:SX6036/U1"
_DESCRIPTION = re.compile(r"(\S+)(?:\s+(?:HCA-\d+|mlx\d+_\d+|hfi\d+_\d+|ibp\S*))?")
_CARD = re.compile(  # what follows the host in a name map: device, part number or maker
    r"(\S+)\s+(?:HCA|mlx\d|mthca\d|hfi\d|qib\d|ib[ps]?\d|MT\d|ConnectX|InfiniHost|Mellanox|NVIDIA|"
    r"QLogic|Intel|Cornelis).*",
    re.IGNORECASE,
)

Hosts = Callable[[Device, Mapping[str, str]], str]
"""Takes an adapter and names by GUID; returns its host, empty where it is not known."""
_LINE = re.compile(r'(?:0x|[SH]-)?([0-9a-fA-F]{1,16})\s+(?:"([^"]+)"|(\S+))\s*(?:#.*)?')
KEYS = ("lft", "fabric")


def read_wiring(
    text: str,
    source: str,
    better: Mapping[str, str] | None = None,
    like: Topology | None = None,
    hosts: Hosts | None = None,
) -> tuple[Wiring, str]:
    """
    Read `ibnetdiscover` output as a fat-tree where it is one, else as a graph, with a remark.

    A node is an adapter; with `hosts`, or `like` a fabric that has hosts of several adapters, all
    adapters of a host are one node, each a link of it.

    Every cable has 1 byte/s. Vertices are called by host or GUID; GUIDs, hosts and descriptions are
    further names. The remark says why it is a graph, what the tree lacks, or that its ports are not
    in OpenSM's order, so that ftree's tables may be others than D-mod-k's.
    """
    whole = read_ibnetdiscover(text, source)
    own = _hosts_like(like) if hosts is None and like is not None else hosts
    whole, members, joined = _joined_adapters(whole, own, dict(better or {}))
    fabric, number = _without_aggregators(whole)
    wiring, remark = _wired_fabric(fabric, source)
    if isinstance(like, FatTree) and like.name != wiring.topology.name:
        wiring, remark = _damaged_tree(fabric, like) or (wiring, remark)
    device = np.where(wiring.device >= 0, number[wiring.device], -1)
    wiring = replace(wiring, fabric=whole, device=device)
    named = _named_topology(wiring, members, source, {**(better or {}), **joined}, remark)
    return replace(wiring, topology=named), remark


def _joined_adapters(
    fabric: IbFabric, hosts: Hosts | None, better: dict[str, str]
) -> tuple[IbFabric, list[tuple[Device, ...]], dict[str, str]]:
    """
    Make one device of all adapters of a host, whose ports are theirs in order.

    Result: the fabric; of each device the adapters that it is, ordered by name; hosts by the GUID
    of their first adapter.
    """
    devices = fabric.devices
    of_host: dict[str, list[int]] = {}
    for i, device in enumerate(devices):
        if hosts is not None and not device.is_switch and (host := hosts(device, better)):
            of_host.setdefault(host, []).append(i)
    several = {host: own for host, own in of_host.items() if 1 < len(own) <= _MOST_ADAPTERS}
    if not several:
        return fabric, [(device,) for device in devices], {}
    place: dict[int, tuple[int, int]] = {}  # first adapter of the host, and ports before its own
    members: dict[int, tuple[int, ...]] = {i: (i,) for i in range(len(devices))}
    merged = list(devices)
    for host, own in several.items():
        ordered = sorted(own, key=lambda i: (_in_parts(devices[i].name), devices[i].guid))
        first, ports = ordered[0], 0
        for i in ordered:
            place[i] = first, ports
            ports += devices[i].n_ports
            members.pop(i)
        members[first] = tuple(ordered)
        own_adapters = tuple(devices[i] for i in ordered)
        merged[first] = replace(devices[first], name=host, n_ports=ports, members=own_adapters)
    remaining = sorted(members)
    new = {i: at for at, i in enumerate(remaining)}

    def moved(port: Port) -> Port:
        first, before = place.get(port[0], (port[0], 0))
        return new[first], before + port[1]

    remark = (
        f"adapters ({sum(map(len, several.values()))}) of hosts with several ({len(several)}, "
        f"{next(iter(several))} first) are links of one node"
    )
    joined = IbFabric(
        tuple(merged[i] for i in remaining),
        {moved(here): moved(there) for here, there in fabric.cables.items()},
        {moved(port): rate for port, rate in fabric.rates.items()},
        (*fabric.remarks, remark),
    )
    names = {f"{merged[place[own[0]][0]].guid:016x}": host for host, own in several.items()}
    return joined, [tuple(devices[i] for i in members[first]) for first in remaining], names


def host_names(pattern: str | None) -> Hosts:
    """
    Return the rule by which adapters belong to hosts.

    The host is the first word of the name of an adapter, from the name map or else its own
    description, where its card follows or nothing; or what a pattern finds, its first group if it
    has one.
    """
    if pattern is None:
        return _first_word
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise TopologyError(
            f"host_pattern: expected a regular expression, got {pattern!r}: {error}."
        ) from None

    def found(device: Device, better: Mapping[str, str]) -> str:
        match = wanted.search(better.get(f"{device.guid:016x}") or device.name)
        return "" if match is None else match[1 if wanted.groups else 0] or ""

    return found


def _first_word(device: Device, better: Mapping[str, str]) -> str:
    """Return the host that the first word of an adapter's name is."""
    mapped = better.get(f"{device.guid:016x}", "").strip()
    name = mapped or device.name
    match = _DESCRIPTION.fullmatch(name) or (_CARD.fullmatch(name) if mapped else None)
    host = match[1] if match else ""
    return "" if host.lower() in _NO_HOSTS else host


def _hosts_like(fabric: Topology) -> Hosts:
    """Return the rule by which adapters belong to the nodes of a fabric that has their GUIDs."""

    def found(device: Device, better: Mapping[str, str]) -> str:
        del better
        vertex = fabric.names.find(guid_name(device.guid))
        is_node = vertex is not None and vertex < fabric.n_nodes
        return fabric.vertex_name(vertex) if is_node and vertex is not None else ""

    return found


def _in_parts(name: str) -> list[tuple[int, str]]:
    """Return a name in parts, numbers by their value."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _named_topology(
    wiring: Wiring,
    members: Sequence[tuple[Device, ...]],
    source: str,
    better: dict[str, str],
    remark: str,
) -> Topology:
    """Return the topology of a fabric with all names of its devices."""
    topology = wiring.topology
    names, assumed = _device_labels(wiring, better), list(wiring.fabric.remarks)
    own = iter(fit_labels([name for name in names if name], {}, assumed, source))
    labels = complete_labels(topology, [next(own) if name else None for name in names])
    aliases = []
    for vertex, i in enumerate(wiring.device.tolist()):
        if i >= 0:
            further = {names[vertex]}
            for device in members[i]:
                mapped = better.get(f"{device.guid:016x}", "")
                further |= {
                    device.name,
                    mapped,
                    _host_of_description(device),
                    *_module_names(device),
                }
                if not device.is_switch:
                    further.add(mapped.partition(" ")[0])
                further |= {guid_name(guid) for guid in (device.guid, device.port_guid) if guid}
            aliases += [(name, vertex) for name in sorted(further - {labels[vertex], ""})]
    why = "" if isinstance(topology, FatTree) else remark
    origin = Origin(source, FORM, labels, tuple(assumed), why, aliases=tuple(aliases))
    return replace(topology, origin=replace(origin, ports=wiring.port))


def _without_aggregators(fabric: IbFabric) -> tuple[IbFabric, Ints]:
    """Take out adapters inside switches that reduce data: they are no hosts."""
    remaining = [
        i for i, d in enumerate(fabric.devices) if d.is_switch or _AGGREGATOR not in d.name
    ]
    new = {old: i for i, old in enumerate(remaining)}
    cables = {
        (new[i], p): (new[j], q)
        for (i, p), (j, q) in fabric.cables.items()
        if i in new and j in new
    }
    rates = {(new[i], p): rate for (i, p), rate in fabric.rates.items() if i in new}
    devices = tuple(fabric.devices[i] for i in remaining)
    return IbFabric(devices, cables, rates, fabric.remarks), np.array(remaining, dtype=np.int64)


def _wired_fabric(fabric: IbFabric, source: str) -> tuple[Wiring, str]:
    """Take a fabric as a fat-tree or graph."""
    try:
        return wire_fat_tree(fabric), ""
    except TopologyError as error:
        ports = str(error)
    graph = wire_graph(fabric)
    if not (graph.topology.n_nodes and graph.topology.n_links):
        raise TopologyError(f"{source}: no channel adapter with a cable in it.")
    named = replace(graph.topology, origin=Origin(source, FORM, tuple(_device_labels(graph, {}))))
    try:
        found = recognise_tree(named)
    except TopologyError as error:
        return _damaged_tree(fabric) or (graph, str(error))
    remark = (
        f"a fat-tree, but its ports are not in OpenSM's order ({ports.rstrip('.')}): the tables of "
        f"ftree may be others than D-mod-k's; load its LFT dump to route as it does"
    )
    return found_wiring(graph, found), remark


def _damaged_tree(fabric: IbFabric, like: FatTree | None = None) -> tuple[Wiring, str] | None:
    """Take a fabric as a fat-tree of which parts are missing, if it is one."""
    try:
        wiring = wire_damaged_tree(fabric, like=like)
    except TopologyError:
        return None
    lacks = "; ".join(missing_parts(wiring))
    remark = (
        f"a fat-tree with parts missing ({lacks}): OpenSM routes it by ftree where the roots are "
        f"named to it (-a), else by another engine"
    )
    return wiring, remark


def read_infiniband(text: str, source: str, settings: Settings) -> Topology:
    """Read `ibnetdiscover` output as a fat-tree, else as a graph that says why it is none."""
    hosts = host_names(settings.host_pattern)
    wiring, remark = read_wiring(text, source, settings.names, hosts=hosts)
    topology, n_nodes, origin = wiring.topology, wiring.topology.n_nodes, wiring.topology.origin
    assert origin is not None  # noqa: S101 (it has just been named)
    is_tree = isinstance(topology, FatTree)
    assumed = [remark] if is_tree and remark else []
    adapters = [d for d in wiring.fabric.devices if not d.is_switch]
    aggregators = sum(_AGGREGATOR in d.name for d in adapters)
    if aggregators:
        assumed.append(f"aggregation nodes inside switches ({aggregators}) are left out: no hosts")
    idle = len(adapters) - aggregators - int(np.count_nonzero(wiring.device[:n_nodes] >= 0))
    if idle:
        assumed.append(f"channel adapters without a cable ({idle}) are left out")
    n_leaves = topology.n_leaves if isinstance(topology, FatTree) else 0
    if np.any(wiring.device[: n_nodes + n_leaves] < 0):
        assumed.append("places of the tree without a device are missing nodes and leaves")
    capacity = fit_capacities(topology, _link_rates(wiring, source), settings, assumed)
    numbers = np.arange(topology.n_links)
    return replace(
        topology,
        name=topology.name if is_tree else f"{FORM} {source.rpartition('/')[2]}",
        capacity=capacity,
        channel=np.minimum(numbers, topology.reverse) if settings.half_duplex else numbers,
        latency_base_s=settings.latency_base_s,
        latency_per_link_s=settings.latency_per_link_s,
        origin=replace(origin, assumed=(*assumed, *origin.assumed)),
    )


def _device_labels(wiring: Wiring, better: dict[str, str]) -> list[str]:
    """Return a name for every vertex; empty where a place of a tree has no device."""
    devices = wiring.fabric.devices
    shared = Counter(better.values())  # by adapters of one host
    better = _with_hosts({guid: name for guid, name in better.items() if shared[name] == 1})
    said = [match[1] if (match := _DESCRIPTION.fullmatch(d.name)) else "" for d in devices]
    often = Counter(said)
    names = []
    for i in wiring.device.tolist():
        if i < 0:
            names.append("")
            continue
        guid = f"{devices[i].guid:016x}"
        described = said[i] if often[said[i]] == 1 else ""
        kind = "S" if devices[i].is_switch else "H"
        names.append(better.get(guid) or described or f"{kind}-{guid}")
    return names


def _with_hosts(better: dict[str, str]) -> dict[str, str]:
    """Return a name map with the host alone where its card follows, and no other has that host."""
    hosts = {
        guid: match[1] for guid, name in better.items() if (match := _CARD.fullmatch(name.strip()))
    }
    often = Counter(
        [*hosts.values(), *(name for guid, name in better.items() if guid not in hosts)]
    )
    return better | {guid: host for guid, host in hosts.items() if often[host] == 1}


def _host_of_description(device: Device) -> str:
    """Return the host in a description, of an adapter or a managed switch."""
    match = _DESCRIPTION.fullmatch(device.name)
    managed = _MANAGED.fullmatch(device.name)
    return managed[1] if managed else match[1] if match else ""


def _module_names(device: Device) -> list[str]:
    """Return the shorter names of a module of a switch: ``core1/L01`` and ``core1/L01/U1``."""
    managed = _MANAGED.fullmatch(device.name)
    if not managed:
        return []
    _, *parts = managed[2].split("/")
    return ["/".join([managed[1], *parts[:count]]) for count in range(1, len(parts) + 1)]


def _link_rates(wiring: Wiring, source: str) -> list[float | None]:
    """
    Return bytes per second of every link, as of its slower end; in holes, the slowest.

    None where unknown.
    """
    reverse = wiring.topology.reverse.tolist()
    tails, ports = wiring.device[wiring.topology.link_tail].tolist(), wiring.port.tolist()
    ends = [
        _port_rate(wiring.fabric, tail, port, source)
        for tail, port in zip(tails, ports, strict=True)
    ]
    slowest = min((end for end in ends if end), default=None)
    rates: list[float | None] = []
    for link, back in enumerate(reverse):
        known = [end for end in (ends[link], ends[back]) if end]
        rates.append(slowest if ports[link] < 0 else min(known, default=None))
    return rates


def _port_rate(fabric: IbFabric, device: int, port: int, source: str) -> float | None:
    """Return bytes per second of a port, such as 4 * 8 Gb/s of ``4xQDR``."""
    text = fabric.rates.get((device, port))
    if text is None:
        return None
    width, _, speed = text.partition("x")
    if speed not in LANE_GBITS or len(width) > 2 or not int(width):  # noqa: PLR2004 (12x is most)
        choices = ", ".join(LANE_GBITS)
        raise TopologyError(
            f"{source}: port {port} of {fabric.devices[device].name!r}: expected a width and one "
            f"of {choices}, got {text!r}."
        )
    return int(width) * LANE_GBITS[speed] * 1e9 / 8


def read_name_map(text: str, source: str) -> dict[str, str]:
    """
    Read a map of GUIDs to names.

    `text`: lines ``0x<guid> "name"`` or ``H-<guid> name``; ``#`` starts a comment; adapters of one
    host may share a name. Result: names by GUID in 16 hexadecimal digits.

    Examples
    --------
    >>> read_name_map('0x2c90300080e84 "login 1"', "example")
    {'0002c90300080e84': 'login 1'}
    """
    names: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None:
            raise TopologyError(
                f"{source}:{number}: expected a GUID and a name, got {stripped[:60]!r}."
            )
        guid, name = match[1].lower().zfill(16), match[2] or match[3]
        if guid in names:
            raise TopologyError(f"{source}:{number}: GUID {guid} again.")
        names[guid] = name
    return names


def load_tables(spec: Mapping[str, Any], topology: Topology) -> LFT:
    """Read forwarding tables (``lft``) and their fabric (``fabric``, if not `topology`)."""
    unknown = sorted(set(spec) - set(KEYS))
    if unknown:
        raise RoutingError(f"unknown key {unknown[0]!r}; choose from {', '.join(KEYS)}.")
    origin = topology.origin
    own = origin.source if origin is not None and origin.form == FORM else None
    dump, fabric = spec["lft"], spec.get("fabric", own)
    for key, path in (("lft", dump), ("fabric", fabric)):
        if not isinstance(path, str):
            expected = "the path of a dump" if key == "lft" else "the path of ibnetdiscover output"
            raise RoutingError(f"{key}: expected {expected}, got {path!r}.")
    hosts = None if topology.endpoints.one_each or fabric != own else _hosts_like(topology)
    wiring, _ = read_wiring(read_text(fabric, RoutingError), fabric, hosts=hosts)
    wired = wiring.topology
    same = (wired.n_nodes, wired.n_switches) == (topology.n_nodes, topology.n_switches)
    if not (
        same
        and np.array_equal(wired.link_tail, topology.link_tail)
        and np.array_equal(wired.link_head, topology.link_head)
    ):
        raise RoutingError(
            f"{fabric}: expected the fabric {topology.summary}, got {wired.summary}."
        )
    tables = tables_of(read_lft_dump(read_text(dump, RoutingError), dump), wiring)
    return LFT(topology, tables.out)
