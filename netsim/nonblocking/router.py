"""Route any permutation on a legal partition with at most one flow per directed link."""

from types import ModuleType

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import PartitionError, RoutingError
from netsim.common.jit import load_kernels
from netsim.flows.partition import Partition, on_tree
from netsim.nonblocking.conditions import broken_conditions, has_bundles, roles_of, unbundled
from netsim.routing.updown import up_down_routes
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes


class PermutationRouter:
    """
    Routes permutations of a job's nodes on the links that it owns, one flow per link.

    The proof of sufficiency (Smith and Lowenthal, *Jigsaw*, HPDC 2021, section 3.3) as an
    algorithm. The flows between leaves are the edges of a bipartite multigraph from leaves to
    leaves in which no leaf has more than n_L edges; a colouring with n_L colours assigns them to
    the L2 indices S. At the remainder leaf n_L - n_L^r dummy edges from the leaf to itself are
    coloured too, and the colours are named so that the dummies get S minus S^r. The flows of each
    index between pods are coloured alike with the spines S_i^*, dummies at the remainder tree
    getting S_i^* minus S_i^{*r}. Colouring by alternating paths never fails, so the routes are the
    certificate that the permutation is routed without contention.
    """

    def __init__(self, tree: FatTree, partition: Partition) -> None:
        broken = broken_conditions(tree, partition)
        if broken:
            reasons = " ".join(f"({breach.condition}) {breach.reason}" for breach in broken)
            raise PartitionError(f"not a legal partition: {reasons}")
        self._apart = unbundled(tree) if has_bundles(tree) else None
        self._tree = tree
        if self._apart is not None:
            tree, partition = self._apart.tree, self._apart.inside(partition)
        self._job = on_tree(tree, partition)
        roles = roles_of(self._job)
        self._n_l, self._rest_pod = roles.n_l, roles.rest_pod
        self._rest_leaf = int(roles.short[0]) if roles.short.size else -1
        self._kernels = _kernels()

    def routes(self, src: Ints, dst: Ints) -> Routes:
        """Route flows that make up a permutation, or part of one."""
        job, tree = self._job, self._job.tree
        ends = job.index(src), job.index(dst)
        for end, verb in zip(ends, ("sends", "receives"), strict=True):
            if np.any(np.bincount(end) > 1):
                raise RoutingError(f"not a permutation: a node {verb} more than one flow.")
        s, d = (job.leaf_of_node[end] for end in ends)
        ports = np.zeros((tree.levels, src.size), dtype=np.int64)
        crossing = np.flatnonzero(s != d)
        s, d = s[crossing], d[crossing]
        if crossing.size:  # a job on one leaf owns no set S
            ports[1, crossing] = self._leaf_ports(s, d)
        p, q = job.pod_of_leaf[s], job.pod_of_leaf[d]
        far = np.flatnonzero(p != q)
        if far.size:
            flows = crossing[far]
            ports[2, flows] = self._l2_ports(p[far], q[far], ports[1, flows])
        routes = up_down_routes(tree, src, dst, ports, ports // np.array(tree.parents)[:, None])
        if self._apart is None:
            return routes
        return Routes(routes.indptr, self._apart.link[routes.links], self._tree.n_links)

    def _leaf_ports(self, s: Ints, d: Ints) -> Ints:
        """Return an up-port in S for flows between leaves, in S^r at the remainder leaf."""
        job, rest = self._job, self._rest_leaf
        full = 0 if rest != 0 else 1
        sets = [np.flatnonzero(job.leaf_up[full])]
        n_dummies = 0
        if rest >= 0:
            in_rest = job.leaf_up[rest, sets[0]]
            sets = [sets[0][in_rest], sets[0][~in_rest]]
            n_dummies = self._n_l - int(job.nodes_on_leaf[rest])
        dummies = np.full(n_dummies, rest)
        left, right = np.concatenate([s, dummies]), np.concatenate([d, dummies])
        n = job.leaves.size
        colors = self._kernels.color_edges(left, right, n, n, self._n_l)
        name = np.empty(self._n_l, dtype=np.int64)
        of_dummies = np.zeros(self._n_l, dtype=np.bool_)
        of_dummies[colors[s.size :]] = True
        name[~of_dummies] = sets[0]
        if n_dummies:
            name[of_dummies] = sets[1]
        named: Ints = name[colors[: s.size]]
        return named

    def _l2_ports(self, p: Ints, q: Ints, index: Ints) -> Ints:
        """Return a spine in S_i^* for flows between pods by their L2 index i."""
        job, rest = self._job, self._rest_pod
        n_pods, n_l2 = job.pods.size, job.tree.parents[1]
        star = job.l2_up[0 if rest != 0 else 1]  # (l2_per_pod, ports): S_i^*
        in_rest = job.l2_up[rest] if rest >= 0 else star
        missing = star & ~in_rest
        dummy_index = np.repeat(np.arange(n_l2), missing.sum(axis=1))
        dummies = dummy_index * n_pods + rest
        left = np.concatenate([index * n_pods + p, dummies])
        right = np.concatenate([index * n_pods + q, dummies])
        n_colors = int(star.sum(axis=1).max())
        colors = self._kernels.color_edges(left, right, n_l2 * n_pods, n_l2 * n_pods, n_colors)
        of_dummies = np.zeros((n_l2, n_colors), dtype=np.bool_)
        of_dummies[dummy_index, colors[p.size :]] = True
        name = np.full((n_l2, n_colors), -1, dtype=np.int64)
        owners = star.any(axis=1)
        name[of_dummies] = np.nonzero(missing)[1]
        name[~of_dummies & owners[:, None]] = np.nonzero(star & in_rest)[1]
        named: Ints = name[index, colors[: p.size]]
        return named


def _kernels() -> ModuleType:
    """Return the compiled kernels."""
    return load_kernels("netsim.nonblocking.router_kernels", "permutation router", seconds=5)
