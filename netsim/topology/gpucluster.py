"""GPU clusters: hosts of GPUs and adapters, whose endpoints hang on a fat-tree."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import TopologyError
from netsim.topology.base import Endpoints, Topology
from netsim.topology.building import check_size, reverse_links
from netsim.topology.fattree import FatTree, build_fat_tree

FABRICS = ("rail", "rail-only", "clos", "dual-plane")
ON_FAILURE = ("respread", "double", "plane", "abort")
EFFICIENCIES = ("none", "nccl")

NIC_EFFICIENCY, GPU_EFFICIENCY = 0.96, 370 / 450
"""What NCCL reaches of an adapter's rate (192 of 200, 96 of 100 GB/s: nccl 812, nccl-tests 119) and
of NVLink's (370 of 450: nccl-tests 212)."""

GPU_LINKS: Mapping[str, float] = {
    "nvlink3": 300e9,
    "nvlink4": 450e9,
    "nvlink5": 900e9,
    "pcie4": 31.5e9,
    "pcie5": 63e9,
}
"""Bytes per second of a GPU into the network of its host, each way: NVLink of A100, H100 and B200,
PCI Express x16 of generations 4 and 5 (128b/130b coding)."""


@dataclass(frozen=True, slots=True)
class Hosts:
    """What a host of a GPU cluster has."""

    # gpus, nics, planes: GPUs, adapters, and ports of an adapter, each into a plane of its own
    gpus: int
    nics: int
    planes: int = 1
    # bytes per second of a GPU into the network of its host, each way; 0: traffic inside a host
    # costs nothing
    gpu_rate: float = 0.0
    # whether a message to another host leaves by the adapter of the receiver's GPU, as NCCL's PXN
    # has it; else by that of the sender's
    pxn: bool = True
    # what messages of a lost adapter do: ``respread``, ``double``, ``plane`` or ``abort``
    on_failure: str = "respread"
    # whether collectives have NCCL's latencies; rates of links are then those it reaches
    nccl: bool = False

    @property
    def ends(self) -> int:
        """Endpoints of a host: plane p of adapter a is number ``p * nics + a``."""
        return self.nics * self.planes

    def nic_of(self, gpu: Ints) -> Ints:
        """Return the first adapter of GPUs: neighbours share one, or each has several."""
        return gpu * self.nics // self.gpus

    def gpu_of(self, nic: Ints) -> Ints:
        """Return the first GPU of adapters."""
        return nic * self.gpus // self.nics


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GpuCluster(Topology):
    """
    Hosts of GPUs, whose adapters hang on a fat-tree.

    Nodes are hosts. The links of `tree` come first, under the same numbers; its nodes are adapters
    or hosts. Then each GPU has a link into the network of its host, ``n3>h3#5``, and one back.
    """

    tree: FatTree  # between endpoints, as built: all links are there
    hosts: Hosts  # what a host has
    fabric: str  # a key of `FABRICS`
    # hosts_per_unit, units_per_pod: hosts of a unit (rack, scalable unit, segment), and units of a
    # pod
    hosts_per_unit: int
    units_per_pod: int
    tree_end: Ints  # (n_endpoints,): endpoint of `tree` that each endpoint of the cluster is
    filled_in: str = ""  # what a preset has that its source does not state

    @property
    def _kind_words(self) -> str:
        ratio = self.tree.oversubscription
        width = "" if ratio < 1.005 else f", oversubscribed {ratio:.3g}:1"  # noqa: PLR2004 (rounding)
        gpus = f"{self.hosts.gpus} GPU{'s' * (self.hosts.gpus > 1)}"
        nics = f"{self.hosts.nics} adapter{'s' * (self.hosts.nics > 1)}"
        return f"GPU cluster, {self.fabric}, {gpus} and {nics} a host{width}"

    @property
    def n_fabric_links(self) -> int:
        """Links between hosts and switches; those inside hosts come after."""
        return self.tree.n_links

    @cached_property
    def endpoints(self) -> Endpoints:
        """Ends of paths: ports of adapters, host by host."""
        return Endpoints.of(*self.node_links)

    @cached_property
    def node_links(self) -> tuple[Ints, Ints]:
        """Links of adapters, host by host and as `Hosts.ends` numbers them; first of each host."""
        first = np.arange(self.n_nodes + 1) * self.hosts.ends
        return self.tree.endpoints.link[self.tree_end], first

    @cached_property
    def endpoint_tree(self) -> FatTree:
        """The tree as routings see it, with what is out of service."""
        fields: dict[str, Any] = {
            "buffer_bytes": self.buffer_bytes,
            "packet_bytes": self.packet_bytes,
            "assumed": self.assumed,
        }
        if self.absent is not None:
            fields["absent"] = self.absent[self.absent < self.n_fabric_links]
        return replace(self.tree, **fields)

    @cached_property
    def _ports_below(self) -> Bools:
        """Which ports of some host reach each switch by going up, (switches, ends)."""
        head, tail = self.link_head - self.n_nodes, self.link_tail - self.n_nodes
        below = np.zeros((self.tree.n_switches, self.hosts.ends), dtype=np.bool_)
        below[head[self.node_links[0]], np.arange(self.tree_end.size) % self.hosts.ends] = True
        for kind in ("leaf-up", "L2-up"):
            start = self.first_of_kind.get(kind)
            if start is not None:
                up = slice(start, start + self._n_like(start))
                np.logical_or.at(below, head[up], below[tail[up]])
        return below

    def _n_like(self, start: int) -> int:
        """Return how many links are of the kind whose first is given."""
        after = [first for first in (*self.first_of_kind.values(), self.n_links) if first > start]
        return min(after) - start

    def switches_of_rail(self, rail: int) -> Ints:
        """Return the leaves of adapter number `rail` alone, in all units and planes."""
        own = np.arange(self.hosts.ends) % self.hosts.nics == rail
        leaves = np.unique(self.link_head[self.node_links[0]])
        below = self._ports_below[leaves - self.n_nodes]
        found: Ints = leaves[~below[:, ~own].any(axis=1)]
        return found

    def switch_words(self, switch: int) -> str:
        """Name a switch with its tier, and with the rail, the plane or the unit it is of."""
        ports = np.flatnonzero(self._ports_below[switch - self.n_nodes])
        rails, planes = np.unique(ports % self.hosts.nics), np.unique(ports // self.hosts.nics)
        name = self.vertex_name(switch)
        usual = self._usual_name(switch)
        tier = {"s1": "leaf", "s2": "spine"}.get(usual.partition(".")[0], "core")
        words = [f"{tier} {name}"]
        if rails.size == 1 and self.hosts.nics > 1:
            words.append(f"rail {rails[0]}")
        if planes.size == 1 and self.hosts.planes > 1:
            words.append(f"plane {planes[0]}")
        if tier == "leaf":
            links, _ = self.node_links
            host = int(np.argmax(self.link_head[links] == switch)) // self.hosts.ends
            words.append(f"unit {host // self.hosts_per_unit}")
        return ", ".join(words)

    def between_hosts(self) -> "GpuCluster":
        """Return the cluster without the networks inside hosts."""
        if not self.hosts.gpu_rate:
            return self
        kept = slice(self.n_fabric_links)
        columns = ("link_tail", "link_head", "link_cable", "capacity", "channel")
        return replace(
            self,
            hosts=replace(self.hosts, gpu_rate=0.0),
            n_switches=self.tree.n_switches,
            absent=None if self.absent is None else self.absent[self.absent < kept.stop],
            **{name: getattr(self, name)[kept] for name in columns},
        )

    def intra_links(self, host: Ints, gpu: Ints) -> tuple[Ints, Ints]:
        """Return the links of GPUs into the network of their hosts, and those back."""
        out = self.n_fabric_links + host * self.hosts.gpus + gpu
        return out, out + self.n_nodes * self.hosts.gpus

    def hops(self, src: Ints, dst: Ints) -> Ints:
        """Return the links between switches (F,): 0 in a unit, 2 in a pod, 4 beyond."""
        src, dst = self._node_pairs(src, dst)
        unit, pod = self.hosts_per_unit, self.hosts_per_unit * self.units_per_pod
        found: Ints = 2 * (src // unit != dst // unit) + 2 * (src // pod != dst // pod)
        return found

    def _usual_name(self, vertex: int) -> str:
        """Return ``n17``, the tree's name of a switch, or ``h17`` for the network of host 17."""
        inner = vertex - self.n_nodes - self.tree.n_switches
        if vertex < self.n_nodes or inner >= 0:
            return f"n{vertex}" if inner < 0 else f"h{inner}"
        return self.tree.vertex_name(vertex - self.n_nodes + self.tree.n_nodes)

    def usual_number(self, name: str) -> int | None:
        """Return the vertex of such a name, None where there is none."""
        match = re.fullmatch(r"([nh])([0-9]{1,18})", name, flags=re.ASCII)
        if match is not None:
            inside = match[1] == "h"
            if int(match[2]) >= self.n_nodes or (inside and not self.hosts.gpu_rate):
                return None
            return int(match[2]) + inside * (self.n_nodes + self.tree.n_switches)
        vertex = self.tree.usual_number(name)
        return None if vertex is None else vertex - self.tree.n_nodes + self.n_nodes

    @property
    def first_of_kind(self) -> dict[str, int]:
        """First link of each level and direction, and of those inside hosts."""
        first = self.n_fabric_links
        inside = {"gpu-out": first, "gpu-in": first + self.n_nodes * self.hosts.gpus}
        return self.tree.first_of_kind | (inside if self.hosts.gpu_rate else {})


def build_gpu_cluster(
    n_hosts: int,
    hosts: Hosts,
    fabric: str,
    *,
    hosts_per_unit: int,
    units_per_pod: int | None = None,
    spines: int | None = None,
    cores: int | None = None,
    oversubscription: tuple[Fraction, ...] = (Fraction(1),),
    **common: Any,  # noqa: ANN401 (keywords of build_fat_tree)
) -> GpuCluster:
    """
    Build a GPU cluster of whole units; absent switches: as many as a switch below has links up.

    Leaves of a unit, by `fabric`: one for each adapter of a host, which share spines ("rail") or do
    not ("rail-only"); one for all adapters ("clos"); or two for each adapter, in planes apart
    ("dual-plane"). `units_per_pod`: with three tiers. `spines` are of each pod, rail (rail-only) or
    plane, `cores` of all pods (of a plane). `oversubscription`: links down over links up of a leaf,
    and of a spine where there are three tiers.
    """
    _check_hosts(hosts, fabric)
    units = _divided("hosts", n_hosts, "hosts_per_unit", hosts_per_unit)
    pods = 1 if units_per_pod is None else _divided("units", units, "units_per_pod", units_per_pod)
    per_pod = units // pods
    rails = 1 if fabric in ("clos", "rail-only") else hosts.nics
    width = hosts_per_unit * (hosts.nics if fabric == "clos" else 1)
    up = _uplinks("a leaf", width, oversubscription[0])
    spines = up if spines is None else spines
    children, parents = [width, rails * per_pod], [1, spines]
    parallel = [1, _divided("uplinks of a leaf", up, "spines", spines)]
    if units_per_pod is None:
        if cores is not None or len(oversubscription) > 1:
            what = "oversubscription of two levels" if cores is None else "cores"
            raise TopologyError(f"{what}: needs three tiers (units_per_pod).")
    else:
        down = children[1] * parallel[1]
        up = _uplinks("a spine", down, oversubscription[-1] if len(oversubscription) > 1 else 1)
        above = up if cores is None else _divided("cores", cores, "spines", spines)
        children.append(pods)
        parents.append(above)
        parallel.append(_divided("uplinks of a spine", up, "cores / spines", above))
    parents[0] = {"rail-only": hosts.nics, "dual-plane": hosts.planes}.get(fabric, 1)
    check_size(2 * n_hosts * hosts.gpus if hosts.gpu_rate else 0)
    tree = build_fat_tree(children, parents, parallel, **common)
    return _joined(tree, hosts, fabric, hosts_per_unit, per_pod)


def _check_hosts(hosts: Hosts, fabric: str) -> None:
    """Refuse hosts that cannot be, or do not go with the fabric."""
    if max(hosts.gpus, hosts.nics) % min(hosts.gpus, hosts.nics):
        raise TopologyError(
            f"nics: expected a divisor or a multiple of gpus = {hosts.gpus}, got {hosts.nics}."
        )
    if not hosts.pxn and fabric == "rail-only":
        raise TopologyError(
            "pxn: expected true where fabric = 'rail-only': no path leads from rail to rail."
        )
    if hosts.on_failure == "plane" and fabric != "dual-plane":
        raise TopologyError(
            f"on_failure: 'plane' needs fabric = 'dual-plane', got fabric = {fabric!r}."
        )


def _divided(what: str, total: int, by_what: str, part: int) -> int:
    """Return how many parts fill a total, or refuse with the nearest totals that do."""
    if part < 1 or total % part or total < part:
        low = total // max(part, 1) * part
        near = f"{low} or {low + part}" if low else f"{part}"
        raise TopologyError(
            f"{what}: expected a multiple of {by_what} = {part}, such as {near}, got {total}."
        )
    return total // part


def _uplinks(what: str, down: int, ratio: Fraction | int) -> int:
    """Return the links up of a switch."""
    up = Fraction(down) / ratio
    if up.denominator != 1 or up < 1:
        raise TopologyError(
            f"oversubscription: {what} has {down} links down; at {_ratio(ratio)} it would have "
            f"{float(up):.4g} up, expected a whole number."
        )
    return int(up)


def _ratio(ratio: Fraction | int) -> str:
    """Return a ratio as it is written."""
    exact = Fraction(ratio)
    return f"{exact.numerator}:{exact.denominator}"


def _joined(
    tree: FatTree, hosts: Hosts, fabric: str, hosts_per_unit: int, per_pod: int
) -> GpuCluster:
    """Put adapters together to hosts, and add the links inside these."""
    n_hosts = tree.endpoints.size // hosts.ends
    host, slot = np.divmod(np.arange(n_hosts * hosts.ends), hosts.ends)
    plane, nic = np.divmod(slot, hosts.nics)
    tree_end = host * hosts.nics + nic
    if fabric in ("rail", "dual-plane"):
        unit, place = np.divmod(host, hosts_per_unit)
        adapter = (unit * hosts.nics + nic) * hosts_per_unit + place
        tree_end = adapter * hosts.planes + plane
    shift = n_hosts - tree.n_nodes
    tail, head = tree.link_tail + shift, tree.link_head + shift
    cable = tree.link_cable.copy()
    out = tree.endpoints.link[tree_end]
    back = reverse_links(tree.link_tail, tree.link_head, tree.link_cable)[out]
    tail[out], head[back] = host, host
    if fabric == "clos":
        cable[out] = cable[back] = slot
    capacity, n_switches = tree.capacity, tree.n_switches
    if hosts.gpu_rate:
        owner, gpu = np.divmod(np.arange(n_hosts * hosts.gpus), hosts.gpus)
        inside = n_hosts + n_switches + owner
        tail, head = np.concatenate([tail, owner, inside]), np.concatenate([head, inside, owner])
        cable = np.concatenate([cable, gpu, gpu])
        capacity = np.concatenate([capacity, np.full(2 * owner.size, hosts.gpu_rate)])
        n_switches += n_hosts
    channel = np.arange(tail.size)
    channel[: tree.n_links] = tree.channel
    return GpuCluster(
        name=f"{fabric} of {n_hosts} x {hosts.gpus} GPUs on {tree.name}",
        n_nodes=n_hosts,
        n_switches=n_switches,
        link_tail=tail,
        link_head=head,
        link_cable=cable,
        capacity=capacity,
        channel=channel,
        latency_base_s=tree.latency_base_s,
        latency_per_link_s=tree.latency_per_link_s,
        tree=tree,
        hosts=hosts,
        fabric=fabric,
        hosts_per_unit=hosts_per_unit,
        units_per_pod=per_pod,
        tree_end=tree_end,
    )
