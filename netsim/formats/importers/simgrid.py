"""Platforms of SimGrid and Batsim: one `<cluster>`, flat or as a torus, fat-tree or dragonfly."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, fromstring

import numpy as np

from fabricsim.checking import unknown
from netsim.common.errors import TopologyError
from netsim.formats.importers.sketch import Settings, complete_labels, fit_labels
from netsim.topology.base import Topology
from netsim.topology.building import check_size, router_fields
from netsim.topology.dragonfly import build_dragonfly
from netsim.topology.fattree import build_fat_tree
from netsim.topology.names import Origin
from netsim.topology.torus import build_torus

FORM = "simgrid-xml"
_POWERS = {power: 1000.0**at for at, power in enumerate(["", "k", "M", "G", "T", "P", "E"])}
_POWERS |= {f"{power}i": 1024.0**at for at, power in enumerate(["", "K", "M", "G", "T", "P", "E"])}
_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
_SECONDS |= {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_NUMBER = r"\s*([0-9]{1,30}\.?[0-9]{0,30}(?:[eE][+-]?[0-9]{1,3})?|\.[0-9]{1,30})\s*"
_RATE = re.compile(_NUMBER + r"(?:([kMGTPE]|[KMGTPE]i|)([bB])ps)?\s*", re.ASCII)
_TIME = re.compile(_NUMBER + r"([a-z]{0,2})\s*", re.ASCII)
_RANGE = re.compile(r"\s*([0-9]{1,9})(?:\s*-\s*([0-9]{1,9}))?\s*", re.ASCII)
_ENTITY = re.compile(r"<!ENTITY", re.IGNORECASE)
_SHARING = ("SPLITDUPLEX", "FULLDUPLEX", "SHARED", "FATPIPE")
_KINDS = ("FLAT", "TORUS", "FAT_TREE", "DRAGONFLY")
_ATTRIBUTES = (
    *("id", "prefix", "suffix", "radical", "speed", "core", "bw", "lat", "sharing_policy"),
    *("topology", "topo_parameters", "bb_bw", "bb_lat", "bb_sharing_policy", "router_id"),
    *("limiter_link", "loopback_bw", "loopback_lat"),
)
_CABINET = ("id", "prefix", "suffix", "radical", "speed", "bw", "lat")
_ZONES = ("zone", "AS")
_IGNORED = ("config", "prop", "trace", "trace_connect")
_JOINING = ("link", "route", "zoneRoute", "ASroute", "router")  # of what is left out, too
_LEFT_OUT = ("master", "storage")  # Batsim's roles of hosts that run no jobs
_MOST_HOSTS = 2**24


@dataclass(frozen=True, slots=True)
class _Cluster:
    """A cluster: what its attributes say."""

    place: str  # for errors
    hosts: tuple[str, ...]
    kind: str
    parameters: str
    rate: float
    half_duplex: bool
    latency_s: float
    router: str
    backbone: float  # bytes per second of what all traffic shares; 0: none
    backbone_latency_s: float
    limiter: float  # bytes per second that a host sends and receives at most; 0: none
    loopback: tuple[float, float]  # bytes per second, 0: none; and latency in seconds

    def fault(self, attribute: str, expected: str, got: object) -> TopologyError:
        """Make the error for an attribute."""
        text = repr(got)
        text = text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004
        return TopologyError(f"{self.place}: {attribute}: expected {expected}, got {text}.")


class _Built(NamedTuple):
    """A fabric, and the names of its switches where they have some."""

    topology: Topology
    switches: Sequence[str | None]


def read_simgrid(text: str, source: str, settings: Settings) -> Topology:
    """Read a platform of one cluster; others must have Batsim's role of master or storage."""
    if _ENTITY.search(text):
        raise TopologyError(f"{source}: expected a platform without entities of its own.")
    body = text.lstrip()  # SimGrid takes blank lines above the declaration
    try:
        root = fromstring(body)  # noqa: S314 (no entities, and expat loads no DTD)
    except ParseError as error:
        line = error.position[0] + text[: len(text) - len(body)].count("\n")
        reason = str(error).partition(":")[0]
        raise TopologyError(f"{source}:{line}: expected XML: {reason}.") from None
    if root.tag != "platform":
        raise TopologyError(f"{source}: expected <platform>, got <{root.tag[:40]}>.")
    element, assumed = _only_cluster(root, source)
    cluster = (_read_cabinets if element.tag in _ZONES else _read_cluster)(element, source)
    if settings.bandwidth is not None:
        assumed.append("the bandwidth given goes before that of the file")
        if isinstance(settings.bandwidth, tuple):
            raise TopologyError(f"{source}: bandwidth must be one value, as in the file.")
        cluster = replace(cluster, rate=settings.bandwidth)
    cluster = replace(cluster, half_duplex=cluster.half_duplex or settings.half_duplex)
    try:
        built = _BUILDERS[cluster.kind](cluster)
    except TopologyError as error:
        if str(error).startswith(cluster.place):  # its own refusals have the place
            raise
        raise TopologyError(f"{cluster.place}: topo_parameters: {error}") from None
    topology = built.topology
    if settings.states_latency:
        own = settings.latency_base_s, settings.latency_per_link_s
        assumed.append("the latency given goes before that of the file")
        topology = replace(topology, latency_base_s=own[0], latency_per_link_s=own[1])
    elif cluster.kind == "TORUS" and cluster.latency_s:
        assumed.append("a path takes the latency of a link more: SimGrid's hosts are the routers")
    assumed.append("speeds and cores of hosts are not used")
    rate, latency_s = cluster.loopback
    topology = replace(topology, loopback_bw=rate, loopback_lat=latency_s)
    hosts = fit_labels(cluster.hosts, settings.names, assumed, source)
    labels = complete_labels(topology, [*hosts, *built.switches])
    origin = Origin(source, FORM, labels, tuple(assumed), states_latency=True)
    return replace(topology, origin=origin)


def _only_cluster(root: Element, source: str) -> tuple[Element, list[str]]:
    """Find the cluster whose hosts run jobs; say what is left out."""
    clusters: list[Element] = []
    others: dict[str, None] = {}
    assumed: list[str] = []
    for element in _elements(root):
        if (element.tag in ("cluster", "host")) and _role(element) in _LEFT_OUT:
            name = element.get("id", "")[:40]
            assumed.append(f"{element.tag} {name!r}: left out, its role is {_role(element)}")
        elif element.tag == "cluster" or element.tag in _ZONES:
            clusters.append(element)
        else:
            others[f"<{element.tag[:40]}>"] = None
    joining = {f"<{tag}>" for tag in _JOINING} if assumed else set()
    mixed = [tag for tag in others if tag not in joining]
    if len(clusters) != 1 or mixed:
        found = [
            f"{own.tag} {own.get('id', '')[:40]!r} ({own.get('topology', 'FLAT')[:40]})"
            for own in clusters
        ]
        shown = ", ".join([*found[:4], *(["..."] if len(found) > 4 else []), *mixed[:6]])  # noqa: PLR2004
        raise TopologyError(
            f"{source}: expected one <cluster> alone, a fabric of one kind, got "
            f"{shown or 'nothing'}."
        )
    return clusters[0], assumed


def _elements(root: Element) -> Iterator[Element]:
    """Yield what a platform and its zones hold; zones of cabinets whole."""
    stack = list(reversed(root))
    while stack:
        element = stack.pop()
        if element.tag in _ZONES and element.find("cabinet") is None:
            stack += reversed(element)
        elif element.tag not in _IGNORED:
            yield element


def _role(element: Element) -> str:
    """Return the role that Batsim gives hosts."""
    roles = [own.get("value", "") for own in element.iter("prop") if own.get("id") == "role"]
    return roles[0] if roles else ""


def _read_cluster(element: Element, source: str) -> _Cluster:
    """Read the attributes of a cluster."""
    name = element.get("id", "")
    place = f"{source}: cluster {name[:40]!r}"
    _check_attributes(element, _ATTRIBUTES, place)
    sharing = _choice(element, "sharing_policy", _SHARING, place)
    if sharing == "FATPIPE":
        what = "cables that messages share, got 'FATPIPE'"
        raise TopologyError(f"{place}: sharing_policy: expected {what}.")
    kind = _choice(element, "topology", _KINDS, place)
    if kind != "FLAT" and _rate(element, "limiter_link", place):
        raise TopologyError(
            f"{place}: limiter_link: expected none where topology is {kind}: SimGrid limits every "
            "router by it too, which is not read."
        )
    prefix, suffix = element.get("prefix", ""), element.get("suffix", "")
    backbone, backbone_latency_s = _backbone(element, place)
    return _Cluster(
        place=place,
        hosts=tuple(f"{prefix}{own}{suffix}" for own in _numbers(element, place)),
        kind=kind,
        parameters=element.get("topo_parameters", ""),
        rate=_rate(element, "bw", place),
        half_duplex=sharing == "SHARED",
        latency_s=_time(element, "lat", place),
        router=element.get("router_id") or f"{prefix}{name}_router{suffix}",
        backbone=backbone if kind == "FLAT" else 0.0,
        backbone_latency_s=backbone_latency_s if kind == "FLAT" else 0.0,
        limiter=_rate(element, "limiter_link", place),
        loopback=_loopback(element, place),
    )


def _loopback(element: Element, place: str) -> tuple[float, float]:
    """Return bandwidth, 0 for none, and latency of what a node sends to itself."""
    rate, latency_s = _rate(element, "loopback_bw", place), _time(element, "loopback_lat", place)
    if latency_s and not rate:
        what = "a bandwidth beside loopback_lat, it is missing"
        raise TopologyError(f"{place}: loopback_bw: expected {what}.")
    return rate, latency_s


def _read_cabinets(zone: Element, source: str) -> _Cluster:
    """Read a zone of cabinets, whose hosts are alike: a flat cluster."""
    place = f"{source}: zone {zone.get('id', '')[:40]!r}"
    cabinets, backbones = zone.findall("cabinet"), zone.findall("backbone")
    others = {own.tag[:40] for own in zone} - {"cabinet", "backbone", "router", *_IGNORED}
    if others or len(backbones) > 1:
        got = f"<{min(others)}>" if others else f"{len(backbones)} backbones"
        raise TopologyError(f"{place}: expected cabinets and one backbone alone, got {got}.")
    hosts, speeds = list[str](), set[tuple[float, float]]()
    for cabinet in cabinets:
        where = f"{place}: cabinet {cabinet.get('prefix', '')[:40]!r}"
        _check_attributes(cabinet, _CABINET, where)
        prefix, suffix = cabinet.get("prefix", ""), cabinet.get("suffix", "")
        hosts += [f"{prefix}{own}{suffix}" for own in _numbers(cabinet, where)]
        speeds.add((_rate(cabinet, "bw", where), _time(cabinet, "lat", where)))
        if len(speeds) > 1:
            raise TopologyError(f"{where}: expected bw and lat of the cabinets before, got others.")
    check_size(2 * len(hosts))
    ((rate, latency_s),) = speeds
    backbone = backbones[0] if backbones else Element("backbone")
    router = zone.find("router")
    return _Cluster(
        place=place,
        hosts=tuple(hosts),
        kind="FLAT",
        parameters="",
        rate=rate,
        half_duplex=False,
        latency_s=latency_s,
        router="" if router is None else router.get("id", ""),
        backbone=_rate(backbone, "bandwidth", f"{place}: backbone"),
        backbone_latency_s=_time(backbone, "latency", f"{place}: backbone"),
        limiter=0.0,
        loopback=(0.0, 0.0),
    )


def _check_attributes(element: Element, known: Sequence[str], place: str) -> None:
    """Refuse unknown attributes, and what lacks hosts, bandwidth or latency."""
    for key in element.attrib:
        if key not in known:
            raise TopologyError(f"{place}: {unknown('attribute', key[:40], known)}")
    for key in ("id", "prefix", "suffix", "radical", "bw", "lat"):
        if key not in element.attrib:
            raise TopologyError(f"{place}: {key}: expected a value, it is missing.")


def _backbone(element: Element, place: str) -> tuple[float, float]:
    """Return what all traffic shares, 0 for nothing, and the latency of the backbone."""
    rate, latency_s = _rate(element, "bb_bw", place), _time(element, "bb_lat", place)
    if latency_s and not rate:
        raise TopologyError(f"{place}: bb_bw: expected a bandwidth beside bb_lat, it is missing.")
    sharing = _choice(element, "bb_sharing_policy", ("SHARED", "FATPIPE"), place)
    if sharing == "SHARED" or not rate:
        return rate, latency_s
    if rate < _rate(element, "bw", place):
        raise TopologyError(
            f"{place}: bb_bw: expected at least bw where bb_sharing_policy is FATPIPE, got "
            f"{element.get('bb_bw', '')[:40]!r}."
        )
    return 0.0, latency_s


def _choice(element: Element, key: str, choices: Sequence[str], place: str) -> str:
    """Read one of some words; the first is what SimGrid takes where there is none."""
    found = element.get(key, choices[0])
    if found not in choices:
        raise TopologyError(f"{place}: {unknown(key, found[:40], choices)}")
    return found


def _rate(element: Element, key: str, place: str) -> float:
    """Read bytes per second; 0 where the attribute is missing or empty."""
    text = element.get(key, "")
    if not text:
        return 0.0
    found = _RATE.fullmatch(text)
    value = 0.0
    if found:
        value = float(found[1]) * _POWERS[found[2] or ""] / (8.0 if found[3] == "b" else 1.0)
    if not 0.0 < value < float("inf"):
        what = f"a bandwidth above 0 such as '125MBps' or '1Gbps', got {text[:40]!r}"
        raise TopologyError(f"{place}: {key}: expected {what}.")
    return value


def _time(element: Element, key: str, place: str) -> float:
    """Read seconds; 0 where the attribute is missing or empty."""
    text = element.get(key, "")
    if not text:
        return 0.0
    found = _TIME.fullmatch(text)
    if not found or found[2] not in _SECONDS:
        what = f"a time such as '50us', got {text[:40]!r}"
        raise TopologyError(f"{place}: {key}: expected {what}.")
    return float(found[1]) * _SECONDS[found[2]]


def _numbers(element: Element, place: str) -> list[int]:
    """Read the numbers of hosts: ``0-9,12``."""
    text, numbers = element.get("radical", ""), list[int]()
    for part in text.split(","):
        found = _RANGE.fullmatch(part)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, -1)
        if last < first or last - first >= _MOST_HOSTS:
            what = f"numbers of hosts such as '0-9,12', got {text[:40]!r}"
            raise TopologyError(f"{place}: radical: expected {what}.")
        check_size(2 * (len(numbers) + last - first + 1))
        numbers += range(first, last + 1)
    if len(set(numbers)) < len(numbers):
        raise TopologyError(f"{place}: radical: expected each number once, got {text[:40]!r}.")
    return numbers


def _shape(cluster: _Cluster, form: str, counts: Sequence[int]) -> list[tuple[int, ...]]:
    """Read numbers by commas, parts of them by semicolons; `counts`: of each, 0 for any."""
    parts = cluster.parameters.split(";")
    found = [
        tuple(int(word) for word in part.split(","))
        if all(re.fullmatch(r"\s*[0-9]{1,9}\s*", word, re.ASCII) for word in part.split(","))
        else ()
        for part in parts
    ]
    fits = len(found) == len(counts) and all(
        own and min(own) > 0 and count in (0, len(own))
        for own, count in zip(found, counts, strict=False)
    )
    if not fits:
        raise cluster.fault("topo_parameters", form, cluster.parameters)
    return found


def _require_hosts(cluster: _Cluster, n_hosts: int) -> None:
    """Refuse another number of hosts than the shape has."""
    if len(cluster.hosts) != n_hosts:
        what = f"{n_hosts} hosts, as topo_parameters says"
        raise TopologyError(f"{cluster.place}: radical: expected {what}, got {len(cluster.hosts)}.")


def _fabric_fields(cluster: _Cluster) -> dict[str, Any]:
    """Return what the builders of all kinds take."""
    latency_s = cluster.latency_s
    return {
        "half_duplex": cluster.half_duplex,
        "latency_base_s": latency_s,
        "latency_per_link_s": latency_s,
    }


def _fat_tree(cluster: _Cluster) -> _Built:
    """Build PGFT(h; m; w; p); the cable down is chosen by the source."""
    form = "levels;children;parents;cables such as '2;4,4;1,2;1,2'"
    (levels,), children, parents, cables = _shape(cluster, form, (1, 0, 0, 0))
    if {len(children), len(parents), len(cables)} != {levels}:
        raise cluster.fault("topo_parameters", form, cluster.parameters)
    _require_hosts(cluster, prod(children))
    tree = build_fat_tree(
        children, parents, cables, cluster.rate, down_cable="source", **_fabric_fields(cluster)
    )
    return _Built(tree, [None] * tree.n_switches)


def _torus(cluster: _Cluster) -> _Built:
    """Build a torus whose links of nodes never limit: SimGrid's hosts are the routers."""
    (dims,) = _shape(cluster, "sides such as '3,2,2'", (0,))
    _require_hosts(cluster, prod(dims))
    rates = (2 * len(dims) * cluster.rate, cluster.rate)
    torus = build_torus(dims, rates, **{**_fabric_fields(cluster), "latency_base_s": 0.0})
    return _Built(torus, [None] * torus.n_switches)


def _dragonfly(cluster: _Cluster) -> _Built:
    """Build a dragonfly; parallel cables are one of their joint bandwidth."""
    form = "groups,cables;chassis,cables;blades,cables;nodes such as '3,4;4,3;5,1;2'"
    (groups, blue), (chassis, black), (blades, green), (nodes,) = _shape(
        cluster, form, (2, 2, 2, 1)
    )
    _require_hosts(cluster, groups * chassis * blades * nodes)
    rates = tuple(own * cluster.rate for own in (1, green, black, blue))
    fabric = build_dragonfly(
        groups,
        (chassis, blades),
        rates,
        nodes_per_router=nodes,
        variant="simgrid",
        **_fabric_fields(cluster),
    )
    return _Built(fabric, [None] * fabric.n_switches)


def _flat(cluster: _Cluster) -> _Built:
    """
    Build hosts on one switch.

    A backbone is a cable from one switch to another that all traffic crosses in this direction:
    hosts send to the first and receive from the second.
    """
    if cluster.parameters:
        raise cluster.fault("topo_parameters", "none where topology is FLAT", cluster.parameters)
    built = _with_backbone(cluster) if cluster.backbone else _star(cluster)
    return built._replace(topology=replace(built.topology, limiter_link=cluster.limiter))


def _star(cluster: _Cluster) -> _Built:
    """Build hosts on one switch alone."""
    star = Topology(
        name=f"switch({len(cluster.hosts)})",
        **router_fields(
            np.zeros(len(cluster.hosts), dtype=np.int64),
            1,
            (),
            (cluster.rate,),
            half_duplex=cluster.half_duplex,
            latency_base_s=cluster.latency_s + cluster.backbone_latency_s,
            latency_per_link_s=cluster.latency_s,
        ),
    )
    return _Built(star, [cluster.router or None])


def _with_backbone(cluster: _Cluster) -> _Built:
    """Build hosts on a backbone; every path has as many links, so takes the same time."""
    size = len(cluster.hosts)
    check_size(6 * size)
    host = np.arange(size)
    port, into, out = size + host, np.full(size, 2 * size), np.full(size, 2 * size + 1)
    tail = np.concatenate([host, port, out, into[:1]])
    head = np.concatenate([port, into, port, out[:1]])
    rates = np.full(tail.size, cluster.rate)
    rates[-1] = cluster.backbone
    there = np.arange(tail.size)
    back = there + tail.size
    own = there < size  # cables of hosts, the others work one way
    backbone = Topology(
        name=f"cluster({size})",
        n_nodes=size,
        n_switches=size + 2,
        link_tail=np.concatenate([tail, head]),
        link_head=np.concatenate([head, tail]),
        link_cable=np.zeros(2 * tail.size, dtype=np.int64),
        capacity=np.tile(rates, 2),
        channel=np.concatenate([there, np.where(own & cluster.half_duplex, there, back)]),
        absent=back[~own],
        latency_base_s=2.0 * cluster.latency_s + cluster.backbone_latency_s,
        latency_per_link_s=0.0,
    )
    names = [f"{name}_port" for name in cluster.hosts]
    router = cluster.router or "backbone"
    return _Built(backbone, [*names, f"{router}_in", f"{router}_out"])


_BUILDERS: Mapping[str, Callable[[_Cluster], _Built]] = {
    "FLAT": _flat,
    "TORUS": _torus,
    "FAT_TREE": _fat_tree,
    "DRAGONFLY": _dragonfly,
}
