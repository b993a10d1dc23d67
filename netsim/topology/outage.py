"""Changed fabrics: parts out of service, nodes never installed, cables added; leaf tapers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from netsim.common.arrays import Bools, Floats, Ints
from netsim.common.errors import TopologyError
from netsim.topology.base import Topology
from netsim.topology.building import check_size
from netsim.topology.fattree import FatTree
from netsim.topology.gpucluster import GpuCluster
from netsim.topology.levels import connected_parts, links_in_service
from netsim.topology.names import Origin
from netsim.topology.reach import unreachable

_MOST_CABLES = 10_000  # between two switches


def exclude(topology: Topology, vertices: Sequence[str | int]) -> Topology:
    """Keep nodes from jobs; they and their links stay in the fabric."""
    if not vertices:
        return topology
    gone = _marked_vertices(topology, vertices)
    up = topology.link_tail < topology.n_nodes
    gone[topology.link_tail[up & gone[topology.link_head]]] = True
    usable = topology.usable_nodes
    return replace(topology, usable=usable[~gone[usable]])


def fail(
    topology: Topology, cables: Sequence[str | int] = (), vertices: Sequence[str | int] = ()
) -> Topology:
    """
    Take cables and switches out of service; nodes that this cuts off are not `usable`.

    Of nodes that reached each other the best connected part stays. What had no path before, as from
    one of several disjoint rails to another, is no loss.
    """
    if not (cables or vertices):
        return topology
    if "" in (*cables, *vertices):
        raise TopologyError("expected the name of what fails, got an empty text.")
    links = topology.names.links(cables)
    require_outside(topology, links, topology.names.vertices(vertices))
    gone = _marked_vertices(topology, vertices)
    absent = gone[topology.link_tail] | gone[topology.link_head]
    if topology.absent is not None:
        absent[topology.absent] = True
    failed = np.array(links, dtype=np.int64)
    absent[failed] = absent[topology.reverse[failed]] = True
    usable = topology.usable_nodes[~gone[topology.usable_nodes]]
    damaged = _same_cables(topology, usable, np.flatnonzero(absent))
    lost = _cut_off(topology, damaged)
    if not lost.size:
        return damaged
    return _same_cables(damaged, np.setdiff1d(usable, lost, assume_unique=True))


def require_outside(topology: Topology, links: Sequence[int], vertices: Sequence[int]) -> None:
    """Refuse failures inside hosts of a GPU cluster, which no path avoids."""
    if isinstance(topology, GpuCluster) and (
        max(links, default=0) >= topology.n_fabric_links
        or max(vertices, default=0) >= topology.n_nodes + topology.tree.n_switches
    ):
        raise TopologyError("a host whose own network fails is out: name the host.")


def _same_cables(topology: Topology, usable: Ints, absent: Ints | None = None) -> Topology:
    """Let only some nodes be usable; the pairs of links that `reverse` sorts out are known."""
    absent = topology.absent if absent is None else absent
    made = replace(topology, usable=usable, absent=absent)
    made.__dict__["reverse"] = topology.reverse
    return made


def _cut_off(before: Topology, after: Topology) -> Ints:
    """Return the nodes that a failure cuts off: part by part of those that reached each other."""
    if not unreachable(after).nodes.size:
        return np.empty(0, dtype=np.int64)
    lost = []
    rest = _touched_nodes(before, after)
    while rest.size:
        apart = unreachable(_same_cables(before, rest)).nodes
        part = np.setdiff1d(rest, apart, assume_unique=True)
        if not part.size:
            break  # nodes that never had a link in service
        lost.append(unreachable(_same_cables(after, part)).nodes)
        rest = apart
    return np.concatenate([np.empty(0, dtype=np.int64), *lost])


def _touched_nodes(before: Topology, after: Topology) -> Ints:
    """Return the usable nodes of the connected parts of a fabric in which a link failed."""
    worked = links_in_service(before)
    failed = worked & ~links_in_service(after)
    size = before.n_nodes + before.n_switches
    part = connected_parts(size, before.link_tail[worked], before.link_head[worked])
    usable = after.usable_nodes
    found: Ints = usable[np.isin(part[usable], part[before.link_tail[failed]])]
    return found


def _marked_vertices(topology: Topology, vertices: Sequence[str | int]) -> Bools:
    """Mark the nodes and switches that a user named."""
    mark = np.zeros(topology.n_nodes + topology.n_switches, dtype=bool)
    mark[topology.names.vertices(vertices)] = True
    return mark


def depopulate(tree: FatTree, missing: Sequence[str | int]) -> FatTree:
    """
    Take nodes and leaves out of a tree, as if they had never been installed.

    OpenSM's ftree numbers the nodes by its ca-order: the leaves that are there, in their order; on
    each the nodes that are there in port order, then dummies up to the largest number of nodes on
    any leaf. So ``d = leaf * max + place among the present``: a hole shifts the later nodes of its
    leaf, a missing leaf all later nodes, and a leaf without nodes takes dummies only (OpenSM needs
    the roots given, ``-a``, where leaves are missing or empty).
    """
    if not missing:
        return tree
    single = tree.parents[0] == 1  # with several rails a node outlives each of its leaves
    there = np.ones(tree.n_nodes + tree.n_leaves * single, dtype=bool)
    vertices = np.array(tree.names.vertices(missing), dtype=np.int64)
    if vertices.max(initial=0) >= there.size:
        raise TopologyError(
            f"only nodes and leaves can be missing, got {tree.vertex_name(vertices.max())!r}; let "
            f"other switches fail."
        )
    there[vertices] = False
    leaf = np.arange(tree.n_nodes) // tree.nodes_per_leaf
    nodes, leaves = there[: tree.n_nodes], there[tree.n_nodes :]
    if single:
        nodes = nodes & leaves[leaf]
    if not nodes.any():
        raise TopologyError(f"all nodes of the fabric ({tree.summary}) are missing.")
    on_leaf = np.bincount(leaf[nodes], minlength=tree.n_nodes // tree.nodes_per_leaf)
    leaf_rank = np.cumsum(leaves if single else on_leaf > 0) - 1
    before: Ints = np.cumsum(nodes) - nodes  # present nodes with a smaller number
    place = before - before[leaf * tree.nodes_per_leaf]
    order = np.where(nodes, leaf_rank[leaf] * on_leaf.max() + place, -1)
    gone = np.zeros(tree.n_nodes + tree.n_switches, dtype=bool)
    gone[: tree.n_nodes] = ~nodes
    gone[tree.n_nodes : there.size] = ~leaves
    absent = gone[tree.link_tail] | gone[tree.link_head]
    return replace(
        tree,
        usable=np.intersect1d(tree.usable_nodes, np.flatnonzero(nodes)),
        absent=np.flatnonzero(absent),
        order=order,
    )


@dataclass(frozen=True, slots=True, eq=False)
class LeafTapers:
    """Switches with nodes, and how much they can pass on."""

    leaf: Ints  # (L,): vertices, ascending
    # below, above: (L,): bytes per second that its nodes can send to it, and it to other switches,
    # by the links in service
    below: Floats
    above: Floats

    @property
    def taper(self) -> Floats:
        """Capacity from below / capacity to other switches, (L,); infinite where there is none."""
        with np.errstate(divide="ignore"):
            found: Floats = self.below / self.above
        return found

    @property
    def columns(self) -> tuple[Ints, Floats, Floats, Floats]:
        """Leaf, below, above and taper."""
        return self.leaf, self.below, self.above, self.taper


def leaf_tapers(topology: Topology) -> LeafTapers:
    """Return how tapered each leaf is."""
    size, nodes = topology.n_nodes + topology.n_switches, topology.n_nodes
    works = links_in_service(topology)
    tail, head = topology.link_tail[works], topology.link_head[works]
    capacity = topology.capacity[works]
    up = tail < nodes
    below = np.bincount(head[up], weights=capacity[up], minlength=size).astype(np.float64)
    on = (tail >= nodes) & (head >= nodes)
    above = np.bincount(tail[on], weights=capacity[on], minlength=size).astype(np.float64)
    leaf = nodes + np.flatnonzero(below[nodes:] > 0.0)
    return LeafTapers(leaf, below[leaf], above[leaf])


def with_taper(topology: Topology, taper: float) -> Topology:
    """
    Give all cables above a leaf the capacity at which every leaf has one taper.

    The taper is the capacity from the nodes of a leaf over that to other switches. A cable between
    two leaves has the lower of both. A leaf without a cable to another switch is an error.
    """
    found = leaf_tapers(topology)
    if not found.above.all():
        name = topology.vertex_name(int(found.leaf[found.above == 0.0][0]))
        raise TopologyError(f"{name} has no cable to another switch, whose capacity could change.")
    factor = np.full(topology.n_nodes + topology.n_switches, np.inf)
    factor[found.leaf] = found.taper / taper
    ends = topology.link_tail, topology.link_head
    scale = np.minimum(factor[ends[0]], factor[ends[1]])
    touched = (np.minimum(*ends) >= topology.n_nodes) & np.isfinite(scale)
    return replace(topology, capacity=topology.capacity * np.where(touched, scale, 1.0))


def add_cables(topology: Topology, cables: Sequence[tuple[str, str, int]]) -> Topology:
    """Add cables between switches."""
    if isinstance(topology, GpuCluster):  # what it becomes has no adapters and GPUs
        raise TopologyError(f"added cables: expected no GPU cluster, got {topology.name}.")
    tail, head, cable, capacity = [], [], [], []
    laid: dict[tuple[int, int], int] = {}
    for first, second, count in cables:
        a, b = (_named_switch(topology, name) for name in (first, second))
        if a == b or not 1 <= count <= _MOST_CABLES:
            raise TopologyError(
                f"cables {first}>{second}: expected two switches and 1 to {_MOST_CABLES} cables, "
                f"got {count}."
            )
        between, rate = _cables_between(topology, a, b)
        begin = between + laid.get((min(a, b), max(a, b)), 0)
        laid[min(a, b), max(a, b)] = laid.get((min(a, b), max(a, b)), 0) + count
        for k in range(begin, begin + count):
            tail += [a, b]
            head += [b, a]
            cable += [k, k]
            capacity += [rate, rate]
    old, n_links = topology.n_links, topology.n_links + len(tail)
    check_size(n_links)
    fresh = np.arange(old, n_links)
    channel = old + (fresh - old) // 2 * 2 if topology.half_duplex else fresh
    return Topology(
        name=f"{topology.name} with {len(tail) // 2} cables added",
        n_nodes=topology.n_nodes,
        n_switches=topology.n_switches,
        link_tail=np.concatenate([topology.link_tail, np.array(tail, dtype=np.int64)]),
        link_head=np.concatenate([topology.link_head, np.array(head, dtype=np.int64)]),
        link_cable=np.concatenate([topology.link_cable, np.array(cable, dtype=np.int64)]),
        capacity=np.concatenate([topology.capacity, capacity]),
        channel=np.concatenate([topology.channel, channel]),
        latency_base_s=topology.latency_base_s,
        latency_per_link_s=topology.latency_per_link_s,
        usable=topology.usable,
        absent=topology.absent,
        origin=_changed_origin(topology),
        buffer_bytes=topology.buffer_bytes,
        packet_bytes=topology.packet_bytes,
        assumed=topology.assumed,
    )


def _named_switch(topology: Topology, name: str) -> int:
    """Return the switch of a name."""
    vertex = topology.vertex_number(name)
    if vertex < topology.n_nodes:
        raise TopologyError(f"{name}: expected a switch, got a node.")
    return vertex


def _cables_between(topology: Topology, a: int, b: int) -> tuple[int, float]:
    """Return the cables that join two switches, and how fast a further one is."""
    from_a = topology.link_tail == a
    joined = from_a & (topology.link_head == b)
    same = joined if joined.any() else from_a & (topology.link_head >= topology.n_nodes)
    if not same.any():
        raise TopologyError(
            f"{topology.vertex_name(a)} has no cable to a switch that gives the rate of a new one."
        )
    number = int(topology.link_cable[joined].max(initial=-1)) + 1
    return number, float(topology.capacity[same].max())


def _changed_origin(topology: Topology) -> Origin:
    """Return the names of a fabric that is no longer what it was built as."""
    why = "cables were added"
    if topology.origin is not None:
        return replace(topology.origin, irregularity=why)
    size = topology.n_nodes + topology.n_switches
    labels = tuple(topology.vertex_name(vertex) for vertex in range(size))
    return Origin(topology.name, "description", labels, irregularity=why)
