"""A legal partition inside one that owns more links than it needs."""

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.flows.partition import Partition, TreePartition, on_tree
from netsim.nonblocking.bundles import has_bundles, unbundled
from netsim.nonblocking.conditions import roles_of
from netsim.topology.fattree import FatTree


def legal_part(tree: FatTree, partition: Partition) -> Partition | None:
    """
    Return the same nodes with a legal choice of the links, None where there is none.

    What contains a legal partition is rearrangeable non-blocking, whatever else it owns. Node
    counts against (1)-(3) are not looked at, so the result needs the check of the conditions.
    Taking indices in ascending order loses nothing: whether index i can be in S, and in S^r,
    depends on the links of that index alone, and what can be in S^r can be in S.
    """
    job = on_tree(tree, partition)
    if job.leaves.size == 1:
        return Partition(partition.nodes, np.empty(0, dtype=np.int64))
    if has_bundles(tree):
        apart = unbundled(tree)
        part = legal_part(apart.tree, apart.inside(partition))
        return None if part is None else apart.outside(part)
    roles = roles_of(job)
    own_leaf, own_l2 = job.leaf_up & job.leaf_down, job.l2_up & job.l2_down
    full = np.setdiff1d(np.arange(job.leaves.size), roles.short)
    can_s: Bools = np.logical_and.reduce(own_leaf[full], axis=0)
    can_rest: Bools = can_s & own_leaf[roles.short].all(axis=0)
    spread = _leaves_per_pod(job, full)
    trees = [pod for pod in range(job.pods.size) if pod != roles.rest_pod]
    several = job.pods.size > 1
    if several:
        common: Bools = np.logical_and.reduce(
            own_l2[trees], axis=0
        )  # (l2_per_pod, ports): S_i^* at most
        rest: Bools = common & own_l2[roles.rest_pod] if roles.rest_pod >= 0 else common
        in_rest = int(spread[roles.rest_pod]) if roles.rest_pod >= 0 else 0
        can_s &= (common.sum(axis=1) >= spread[trees[0]]) & (rest.sum(axis=1) >= in_rest)
        can_rest &= can_s & (rest.sum(axis=1) > in_rest)
    n_rest = int(job.nodes_on_leaf[roles.short].max(initial=0))
    s_rest = _first(can_rest, n_rest)
    s = s_rest | _first(can_s & ~s_rest, roles.n_l - n_rest)
    if s.sum() < roles.n_l or s_rest.sum() < n_rest:
        return None
    chosen = np.tile(s, (job.leaves.size, 1))
    chosen[roles.short] = s_rest
    links = [_links(tree, 1, job.leaves, chosen)]
    if several:
        sets = np.zeros_like(own_l2)
        for i in np.flatnonzero(s).tolist():
            used = in_rest + int(s_rest[i])
            star_rest = _first(rest[i], used) if roles.rest_pod >= 0 else np.zeros_like(rest[i])
            missing = int(spread[trees[0]]) - int(star_rest.sum())
            star = star_rest | _first(common[i] & ~star_rest, missing)
            sets[trees, i] = star
            if roles.rest_pod >= 0:
                sets[roles.rest_pod, i] = star_rest
        switches = (job.pods[:, None] * tree.parents[1] + np.arange(tree.parents[1])).ravel()
        links.append(_links(tree, 2, switches, sets.reshape(switches.size, -1)))
    return Partition(partition.nodes, np.concatenate(links))


def _leaves_per_pod(job: TreePartition, leaves: Ints) -> Ints:
    """Count some leaves by pod."""
    return np.bincount(job.pod_of_leaf[leaves], minlength=job.pods.size)


def _first(mask: Bools, count: int) -> Bools:
    """Keep the first set places of a mask."""
    lowest: Bools = mask & (np.cumsum(mask) <= count)
    return lowest


def _links(tree: FatTree, level: int, switches: Ints, ports: Bools) -> Ints:
    """Return both directions of the cables at chosen up-ports of switches."""
    row, port = np.nonzero(ports)
    offset = switches[row] * tree.ports[level] + port
    return np.concatenate([tree.up_base[level] + offset, tree.down_base[level] + offset])
