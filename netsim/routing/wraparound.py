"""Jigsaw's routing: D-mod-k mapped onto the links that a job owns, with wraparound."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.common.errors import RoutingError
from netsim.common.jit import load_kernels
from netsim.flows.partition import Partition, TreePartition, on_tree
from netsim.routing.base import flow_ends
from netsim.routing.dmodk import DModK
from netsim.routing.updown import need_fat_tree
from netsim.topology.base import Topology
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes

_LEVELS = 2, 3
_MOST_BITS = 64


@dataclass(frozen=True, slots=True)
class Wraparound:
    """
    Routes that stay on a job's own links; D-mod-k for jobs that own none.

    At each switch on the way up, the candidates C are the owned up-ports from which the destination
    can be reached on owned links by a shortest path, in ascending order; the flow takes ``C[key mod
    |C|]``. At a leaf the key is the slot of the destination among the job's nodes on its leaf, at
    an L2 switch the rank of the destination's leaf among the job's leaves of its pod. With the
    whole of a full tree owned this is D-mod-k; on a remainder switch |C| shrinks, and the ports
    wrap around. Among parallel cables down, a switch takes the one that mirrors the up-port of a
    flow from a switch with the same uplinks as the destination's, or, where that is a cable of
    another switch, the one at place ``key mod count``. Where a leaf has more nodes than uplinks to
    different switches (a tapered tree, parallel cables), the L2 key counts on within the leaf, as
    D-mod-k's division by products of w does.

    A choice depends on the switch and the destination alone, so the routes are a linear forwarding
    table. Source: S. A. Smith and D. K. Lowenthal, *Jigsaw*, HPDC 2021, section 4 (which names the
    method and leaves the keys open).
    """

    tree: FatTree

    @classmethod
    def on(cls, topology: Topology) -> "Wraparound":
        """Make the routing for a fabric."""
        return cls(need_fat_tree(topology, "jigsaw"))

    def routes(
        self,
        src: Ints,
        dst: Ints,
        partition: Partition | None = None,
    ) -> Routes:
        """Route flows between endpoints of a job."""
        if partition is None or partition.links is None:
            return DModK(self.tree).routes(src, dst)
        src, dst = flow_ends(src, dst, self.tree)
        if _is_plain(self.tree, partition):
            kernels = load_kernels("netsim.routing.wraparound_kernels", "routes of partitions", 2)
            ends = src, dst, partition.nodes, partition.links
            try:
                indptr, links = kernels.owned_paths(*ends, self.tree.shape)
            except TypeError:  # arrays with gaps
                whole = (np.ascontiguousarray(part, np.int64) for part in ends)
                indptr, links = kernels.owned_paths(*whole, self.tree.shape)
            if indptr.size:  # else some flow has no way, or is not the job's: refused below
                return Routes(indptr, links, self.tree.n_links)
        table = _table(on_tree(self.tree, partition), src, dst)
        return Routes.from_padded(table, self.tree.n_links)


def _is_plain(tree: FatTree, partition: Partition) -> bool:
    """Say whether the kernel takes such trees, and the partition lies on it."""
    if tree.levels not in _LEVELS or tree.absent is not None or set(tree.parallel) != {1}:
        return False
    nodes, links = partition.nodes, partition.links
    return bool(
        tree.ports[0] == 1
        and max(tree.nodes_per_leaf, *tree.ports[1:]) <= _MOST_BITS
        and nodes.size
        and nodes[nodes.argmax()] < tree.n_nodes
        and (links is None or not links.size or links[links.argmax()] < tree.n_links)
    )


def _table(job: TreePartition, src: Ints, dst: Ints) -> Ints:
    """Return the links of every path, up in columns 0..h-1, down in h..2h-1, -1 beyond the turn."""
    tree = job.tree
    to_node = job.index(dst)
    src_leaf, dst_leaf = job.leaf_of_node[job.index(src)], job.leaf_of_node[to_node]
    table = np.full((src.size, 2 * tree.levels), -1, dtype=np.int64)
    moves = src != dst
    table[moves, 0] = tree.up_base[0] + src[moves]
    table[moves, -1] = tree.down_base[0] + dst[moves]
    crossing = np.flatnonzero(src_leaf != dst_leaf)
    if not crossing.size:
        return table
    s, d = src_leaf[crossing], dst_leaf[crossing]
    w, p = tree.parents, tree.parallel
    candidates = _leaf_candidates(job, s, d)
    s_pod, d_pod = job.pod_of_leaf[s], job.pod_of_leaf[d]
    key = job.slot[to_node[crossing]]
    port = _pick_port(candidates, key)
    _require_path(port >= 0, tree, src[crossing], dst[crossing])
    down = _pick_down(job.leaf_down, d, key, port, p[1])
    table[crossing, 1] = tree.up_base[1] + job.leaves[s] * tree.ports[1] + port
    table[crossing, -2] = tree.down_base[1] + job.leaves[d] * tree.ports[1] + down
    far = np.flatnonzero(s_pod != d_pod)
    if far.size:
        flows, l2 = crossing[far], port[far] % w[1]
        s, d = s_pod[far] * w[1] + l2, d_pod[far] * w[1] + l2
        candidates = _l2_candidates(job, s, d)
        key = _l2_key(job)[to_node[flows]]
        port = _pick_port(candidates, key)
        _require_path(port >= 0, tree, src[flows], dst[flows])
        down = _pick_down(job.l2_down.reshape(-1, tree.ports[2]), d, key, port, p[2])
        switch = (job.pods[:, None] * w[1] + np.arange(w[1])).ravel()
        table[flows, 2] = tree.up_base[2] + switch[s] * tree.ports[2] + port
        table[flows, 3] = tree.down_base[2] + switch[d] * tree.ports[2] + down
    return table


def _leaf_candidates(job: TreePartition, src_leaf: Ints, dst_leaf: Ints) -> Bools:
    """Return at which up-ports (F, ports) shortest owned paths between two leaves start."""
    candidates: Bools = (
        job.leaf_up[src_leaf] & _same_parent(job.leaf_down, job.tree.parallel[1])[dst_leaf]
    )
    if job.pods.size > 1:
        candidates &= _joined_pods(job)[job.pod_of_leaf[src_leaf], job.pod_of_leaf[dst_leaf]]
    return candidates


def _l2_candidates(job: TreePartition, src_l2: Ints, dst_l2: Ints) -> Bools:
    """
    Return at which up-ports (F, ports) there is a spine that two L2 switches both own.

    L2 switches of one index in different pods: pod within the job times L2 switches of a pod, plus
    index.
    """
    up, down = (own.reshape(-1, job.tree.ports[2]) for own in (job.l2_up, job.l2_down))
    candidates: Bools = up[src_l2] & _same_parent(down, job.tree.parallel[2])[dst_l2]
    return candidates


def _joined_pods(job: TreePartition) -> Bools:
    """Return, for pods a and b and a leaf's up-port, whether owned spine links join its L2s."""
    spines = _same_parent(job.l2_down, job.tree.parallel[2])
    up, down = (part.transpose(1, 0, 2).astype(np.float32) for part in (job.l2_up, spines))
    by_l2: Bools = (up @ down.transpose(0, 2, 1)) > 0  # (l2, P, P): spines that both pods own
    by_l2[:, np.arange(job.pods.size), np.arange(job.pods.size)] = True
    port_to_l2 = np.arange(job.tree.ports[1]) % job.tree.parents[1]
    return by_l2[port_to_l2].transpose(1, 2, 0)


def _same_parent(down: Bools, parallel: int) -> Bools:
    """Return, for each up-port, whether any cable down from its parent is owned."""
    if parallel == 1:
        return down
    shape = *down.shape[:-1], parallel, down.shape[-1] // parallel
    joined = down.reshape(shape).any(axis=-2, keepdims=True)
    return np.broadcast_to(joined, shape).reshape(down.shape)


def _l2_key(job: TreePartition) -> Ints:
    """Return the key of every node at an L2 switch: its leaf's rank in the pod, if balanced."""
    ports = job.leaf_up.reshape(job.leaves.size, job.tree.parallel[1], job.tree.parents[1])
    per_leaf = int(job.nodes_on_leaf.max())
    width = min(per_leaf, int(ports.any(axis=1).sum(axis=1).max()))
    return (job.leaf_rank[job.leaf_of_node] * per_leaf + job.slot) // width


def _pick_down(down: Bools, switch: Ints, key: Ints, up_port: Ints, parallel: int) -> Ints:
    """Return the up-port whose cable each flow comes down on; one per parent and destination."""
    if parallel == 1:
        return up_port
    owned = down[switch]
    n_parents = owned.shape[1] // parallel
    parent = up_port % n_parents
    mirror = _pick_port(owned, key)
    at_parent = owned & (np.arange(owned.shape[1]) % n_parents == parent[:, None])
    return np.where(mirror % n_parents == parent, mirror, _pick_port(at_parent, key))


def _pick_port(candidates: Bools, key: Ints) -> Ints:
    """Return the port at place ``key mod |C|`` among the candidates C of each flow, -1 of none."""
    passed = np.cumsum(candidates, axis=1, dtype=np.int32)
    count = passed[:, -1]
    place: Ints = np.argmax(passed > (key % np.maximum(count, 1))[:, None], axis=1)
    return np.where(count > 0, place, -1)


def _require_path(found: Bools, tree: FatTree, src: Ints, dst: Ints) -> None:
    """Refuse a flow for which there is no way."""
    if not found.all():
        flow = int(np.argmin(found))
        here, there = (tree.vertex_name(int(ends[flow])) for ends in (src, dst))
        raise RoutingError(
            f"no shortest path from {here} to {there} on the links that the job owns."
        )
