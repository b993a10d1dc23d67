"""Jigsaw's formal conditions: which a partition fulfils or breaks, and its legal part."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from netsim.common.arrays import Bools, Ints
from netsim.flows.partition import Partition, TreePartition, on_tree
from netsim.topology.fattree import FatTree, build_fat_tree

_THREE_LEVELS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Unbundled:
    """
    A tree of three levels with bundles, as one without.

    Where p cables join a leaf and an L2 switch, the switch is p switches: switch k has cable k of
    every bundle and the k-th share of the up-ports. That takes ways away and adds none: what is
    rearrangeable non-blocking there is so on the tree itself.
    """

    tree: FatTree  # without bundles; nodes, leaves and their links are numbered as before
    # (E,): link of the tree with bundles for each link of this one, -1 where it has none
    link: Ints

    def inside(self, partition: Partition) -> Partition:
        """Return a partition of the tree with bundles as one of this one."""
        if partition.links is None:
            return partition
        return Partition(partition.nodes, np.flatnonzero(np.isin(self.link, partition.links)))

    def outside(self, partition: Partition) -> Partition:
        """Return a partition of this tree as one of the tree with bundles."""
        if partition.links is None:
            return partition
        return Partition(partition.nodes, self.link[partition.links])


def has_bundles(tree: FatTree) -> bool:
    """Say whether cables between leaves and L2 switches are parallel below further switches."""
    return tree.levels == _THREE_LEVELS and tree.parallel[1] > 1


@lru_cache(maxsize=8)
def unbundled(tree: FatTree) -> Unbundled:
    """Return a tree with bundles as one without."""
    cables, width, up = tree.parallel[1], tree.parents[1], tree.ports[2]
    share = np.arange(up) * cables // up  # of which switch each up-port is
    place = np.arange(up) - np.searchsorted(share, share)
    size = int(np.bincount(share).max())
    parents = (tree.parents[0], width * cables, size)
    plain = build_fat_tree(tree.children, parents, (tree.parallel[0], 1, 1), "1 B/s")
    link = np.full(plain.n_links, -1, dtype=np.int64)
    link[: plain.up_base[2]] = np.arange(plain.up_base[2])
    switch, port = np.divmod(np.arange(tree.counts[2] * up), up)
    pod, l2 = np.divmod(switch, width)
    mine = ((pod * cables + share[port]) * width + l2) * size + place[port]
    for here, there in ((plain.up_base, tree.up_base), (plain.down_base, tree.down_base)):
        link[here[2] + mine] = there[2] + np.arange(mine.size)
    if tree.absent is not None:
        link[np.isin(link, tree.absent)] = -1
    return Unbundled(plain, link)


@dataclass(frozen=True, slots=True)
class Breach:
    """One condition that a partition breaks."""

    # ``"1"`` to ``"6"``; ``"balance"``: as many uplinks as downlinks at every switch, which the
    # paper takes as given; ``"cables"``: both directions of a cable or none; ``"tree"``: the tree
    # itself is outside the theory
    condition: str
    reason: str  # where, what was found and what was expected


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """The parts that leaves and pods play in the conditions."""

    n_l: int  # nodes on a full leaf, n_L
    short: Ints  # (k,): leaves, numbered within the job, that hold fewer; legal with at most one
    rest_pod: int  # remainder tree, numbered within the job; -1 where there is none


def broken_conditions(tree: FatTree, partition: Partition) -> list[Breach]:
    """
    Return which of Jigsaw's conditions (1)-(6) a partition breaks.

    Parameters
    ----------
    tree : FatTree
        Two or three levels.
    partition : Partition
        Nodes and owned links of a job.

    Returns
    -------
    list of Breach
        Empty for a legal partition, which then is rearrangeable non-blocking.

    Raises
    ------
    PartitionError
        If the partition does not fit the tree.

    Notes
    -----
    Source: Smith and Lowenthal, *Jigsaw*, HPDC 2021, section 3.2.2. Where the text needs
    reading: a job on one leaf needs no links (none, or n_L uplinks, are legal); a job in one
    pod, or on a two-level tree, is L_T leaves and an optional remainder leaf and
    no spine links; the pod of the remainder leaf is the remainder tree; L_T^r may be 0. A
    two-level tree with parallel cables counts each cable as a root of its own. Three levels with
    parallel cables between leaves and L2 switches count each as an L2 switch of its own that has
    its share of the up-ports (`netsim.nonblocking.conditions`); what breaks that is ``"tree"``. A
    tapered tree has fewer uplinks than nodes on a leaf, or than leaves in a pod: a partition is
    legal that owns as many as it has nodes and leaves, so a leaf serves no more of its nodes than
    it has uplinks.
    """
    job = on_tree(tree, partition)
    if has_bundles(tree):
        apart = unbundled(tree)
        if not broken_conditions(apart.tree, apart.inside(partition)):
            return []
        what = "has parallel cables between leaves and L2 switches, and with each as a switch of"
        return [
            Breach(
                "tree",
                f"the fabric ({tree.summary}) {what} its own the conditions are not fulfilled.",
            )
        ]
    roles = roles_of(job)
    checks = [_check_nodes(job, roles), _check_cables(job), _check_balance(job)]
    if job.leaves.size > 1:
        checks.append(_leaf_sets(job, roles))
    if job.pods.size > 1:
        checks.append(_spine_sets(job, roles))
    return [breach for check in checks for breach in check]


def roles_of(job: TreePartition) -> Roles:
    """
    Return which leaves and pod of a partition are the remainder.

    With one short leaf, its pod is the remainder tree; with none, the one smaller pod is.
    """
    n_l = int(job.nodes_on_leaf.max())
    short = np.flatnonzero(job.nodes_on_leaf < n_l)
    rest_pod = -1
    if job.pods.size > 1:
        in_pod = np.bincount(job.pod_of_leaf, weights=job.nodes_on_leaf)
        if short.size == 1:
            rest_pod = int(job.pod_of_leaf[short[0]])
        elif in_pod.min() < in_pod.max():
            rest_pod = int(in_pod.argmin())
    return Roles(n_l, short, rest_pod)


def _check_nodes(job: TreePartition, roles: Roles) -> Iterator[Breach]:
    """Check (1)-(3): how many nodes lie on which leaf and in which pod."""
    counts = job.nodes_on_leaf
    if roles.short.size > 1:
        held = ", ".join(f"{counts[i]}" for i in roles.short)
        number = "3" if job.pods.size > 1 else "2"
        reason = (
            f"only one leaf may hold fewer than n_L = {roles.n_l} nodes, but leaves hold {held}."
        )
        yield Breach(number, reason)
    if job.pods.size == 1:
        return
    for leaf in roles.short:
        if job.pod_of_leaf[leaf] != roles.rest_pod:
            where = _leaf_name(job, int(leaf))
            yield Breach("2", f"{where} holds {counts[leaf]} of n_L = {roles.n_l} in a full tree.")
    in_pod = np.bincount(job.pod_of_leaf, weights=counts).astype(np.int64)
    full = np.delete(in_pod, roles.rest_pod) if roles.rest_pod >= 0 else in_pod
    if full.min() < full.max():
        yield Breach("1", f"trees hold {sorted(set(full.tolist()))} nodes, expected n_T in each.")
    elif roles.rest_pod >= 0 and in_pod[roles.rest_pod] >= full[0]:
        rest = in_pod[roles.rest_pod]
        yield Breach("1", f"the remainder tree holds {rest} nodes, not fewer than n_T = {full[0]}.")


def _check_cables(job: TreePartition) -> Iterator[Breach]:
    """Check that links are owned as whole cables."""
    for level, up, down in ((1, job.leaf_up, job.leaf_down), (2, job.l2_up, job.l2_down)):
        for *switch, port in np.argwhere(up != down).tolist():
            name = _leaf_name(job, switch[0]) if level == 1 else _l2_name(job, *switch)
            yield Breach("cables", f"{name}, up-port {port}: one direction is owned alone.")


def _check_balance(job: TreePartition) -> Iterator[Breach]:
    """Check that every switch has as many uplinks as links down to nodes and leaves."""
    for link in job.stray.tolist():
        yield Breach("balance", f"{job.tree.link_name(link)} serves no node of the job.")
    owned = (job.leaf_up & job.leaf_down).sum(axis=1)
    if job.leaves.size == 1 and not job.leaf_up.any() and not job.leaf_down.any():
        owned = job.nodes_on_leaf
    for leaf in np.flatnonzero(owned != job.nodes_on_leaf).tolist():
        have, want = owned[leaf], job.nodes_on_leaf[leaf]
        yield Breach("balance", f"{_leaf_name(job, leaf)} has {have} uplinks for {want} nodes.")
    if job.tree.levels == _THREE_LEVELS:
        below = _leaf_links_of_l2(job) * (job.pods.size > 1)  # in one pod, flows turn at L2
        uplinks = (job.l2_up & job.l2_down).sum(axis=2)
        for pod, i in np.argwhere(uplinks != below).tolist():
            have, want = uplinks[pod, i], below[pod, i]
            yield Breach("balance", f"{_l2_name(job, pod, i)} has {have} uplinks, expected {want}.")


def _leaf_sets(job: TreePartition, roles: Roles) -> Iterator[Breach]:
    """Check (4) and (5): full leaves share S, in all trees; the remainder leaf has S^r in it."""
    owned = job.leaf_up & job.leaf_down
    full = np.setdiff1d(np.arange(job.leaves.size), roles.short)
    first_of_pod = {int(job.pod_of_leaf[leaf]): int(leaf) for leaf in full[::-1]}
    for leaf in full.tolist():
        first = first_of_pod[int(job.pod_of_leaf[leaf])]
        if not np.array_equal(owned[leaf], owned[first]):
            yield Breach("4", _index_difference(job, owned, leaf, first, "expected the same S as"))
    for leaf in first_of_pod.values():
        if not np.array_equal(owned[leaf], owned[full[0]]):
            yield Breach(
                "5", _index_difference(job, owned, leaf, int(full[0]), "expected the same S as")
            )
    for leaf in roles.short.tolist():
        same_pod = int(job.pod_of_leaf[leaf]) in first_of_pod
        first = first_of_pod.get(int(job.pod_of_leaf[leaf]), int(full[0]))
        if np.any(owned[leaf] & ~owned[first]):
            reason = _index_difference(job, owned, leaf, first, "expected a subset of S at")
            yield Breach("4" if same_pod else "5", reason)


def _spine_sets(job: TreePartition, roles: Roles) -> Iterator[Breach]:
    """Check (6): L2 switch i of every tree has the spines S_i^*, of the remainder tree a subset."""
    owned = job.l2_up & job.l2_down
    trees = [pod for pod in range(job.pods.size) if pod != roles.rest_pod]
    for i in range(owned.shape[1]):
        common = owned[trees[0], i]
        for pod in trees[1:]:
            if not np.array_equal(owned[pod, i], common):
                yield Breach("6", _spine_difference(job, i, (pod, trees[0]), "expected S_i^*"))
        if roles.rest_pod < 0:
            continue
        rest = owned[roles.rest_pod, i]
        # a remainder tree that is too large has more spines: (1) or balance says so
        smaller, larger = (rest, common) if rest.sum() <= common.sum() else (common, rest)
        if np.any(smaller & ~larger):
            pair = (roles.rest_pod, trees[0])
            yield Breach("6", _spine_difference(job, i, pair, "expected a subset of S_i^*"))


def _leaf_links_of_l2(job: TreePartition) -> Ints:
    """Return the leaf cables owned at every L2 switch of each pod, (P, l2_per_pod)."""
    below = np.zeros((job.pods.size, job.leaf_up.shape[1]), dtype=np.int64)
    np.add.at(below, job.pod_of_leaf, (job.leaf_up & job.leaf_down).astype(np.int64))
    return below


def _leaf_name(job: TreePartition, leaf: int) -> str:
    """Return the fabric's name of a leaf numbered within the job."""
    return job.tree.vertex_name(job.tree.n_nodes + int(job.leaves[leaf]))


def _l2_name(job: TreePartition, pod: int, i: int) -> str:
    """Return the fabric's name of L2 switch i of a pod numbered within the job."""
    l2 = int(job.pods[pod]) * job.tree.parents[1] + i
    return job.tree.vertex_name(job.tree.n_nodes + job.tree.n_leaves + l2)


def _index_difference(
    job: TreePartition, owned: Bools, leaf: int, other: int, expected: str
) -> str:
    """Say which L2 indices two leaves have."""
    mine, yours = (np.flatnonzero(owned[row]).tolist() for row in (leaf, other))
    return f"{_leaf_name(job, leaf)} has L2 {mine}, {expected} {_leaf_name(job, other)}: {yours}."


def _spine_difference(job: TreePartition, i: int, pods: tuple[int, int], expected: str) -> str:
    """Say which spines the L2 switches i of two pods have."""
    owned = job.l2_up & job.l2_down
    mine, yours = (np.flatnonzero(owned[pod, i]).tolist() for pod in pods)
    names = [_l2_name(job, pod, i) for pod in pods]
    return f"{names[0]} has spines {mine}, {expected} of {names[1]}: {yours}."


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
    spread = np.bincount(job.pod_of_leaf[full], minlength=job.pods.size)  # leaves by pod
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
    s_rest = _first_places(can_rest, n_rest)
    s = s_rest | _first_places(can_s & ~s_rest, roles.n_l - n_rest)
    if s.sum() < roles.n_l or s_rest.sum() < n_rest:
        return None
    chosen = np.tile(s, (job.leaves.size, 1))
    chosen[roles.short] = s_rest
    links = [_cable_links(tree, 1, job.leaves, chosen)]
    if several:
        sets = np.zeros_like(own_l2)
        for i in np.flatnonzero(s).tolist():
            used = in_rest + int(s_rest[i])
            star_rest = (
                _first_places(rest[i], used) if roles.rest_pod >= 0 else np.zeros_like(rest[i])
            )
            missing = int(spread[trees[0]]) - int(star_rest.sum())
            star = star_rest | _first_places(common[i] & ~star_rest, missing)
            sets[trees, i] = star
            if roles.rest_pod >= 0:
                sets[roles.rest_pod, i] = star_rest
        switches = (job.pods[:, None] * tree.parents[1] + np.arange(tree.parents[1])).ravel()
        links.append(_cable_links(tree, 2, switches, sets.reshape(switches.size, -1)))
    return Partition(partition.nodes, np.concatenate(links))


def _first_places(mask: Bools, count: int) -> Bools:
    """Keep the first set places of a mask."""
    lowest: Bools = mask & (np.cumsum(mask) <= count)
    return lowest


def _cable_links(tree: FatTree, level: int, switches: Ints, ports: Bools) -> Ints:
    """Return both directions of the cables at chosen up-ports of switches."""
    row, port = np.nonzero(ports)
    offset = switches[row] * tree.ports[level] + port
    return np.concatenate([tree.up_base[level] + offset, tree.down_base[level] + offset])
