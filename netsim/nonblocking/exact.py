"""Route one permutation on any partition, legal or not, or prove that it cannot be routed."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from netsim.common.arrays import Bools, Floats, Ints
from netsim.common.errors import RoutingError
from netsim.common.jit import load_kernels
from netsim.flows.partition import Partition, on_tree
from netsim.routing.updown import up_down_routes
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes

_SOLVED = 0
_GAP = 1e-6  # flows; far above the solver's tolerance, far below the least cut, 1/2
_SEARCH_STEPS = 200_000  # a few ms; what stays undecided goes to the integer program
_MILP_SECONDS = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class FreeCables:
    """Cables free between two switches of a partition."""

    # leaf_up, leaf_down: (L, A): between each leaf and each of the A L2 switches of its pod
    leaf_up: Ints
    leaf_down: Ints
    # l2_up, l2_down: (P, A, T): between each L2 switch of each pod and each of its T spines
    l2_up: Ints
    l2_down: Ints


class PathProgram:
    """
    Choose paths for as many flows as possible, no cable carrying two.

    Variables: flows of a pair of leaves through each L2 index, and flows of a pair of pods through
    each L2 index and spine. Constraints: no more than the demand of a pair of leaves, no more than
    the free cables, and between pods no more through an index than go on to spines. Rows of `flows`
    are source and target leaf, source and target pod; equal rows together.
    """

    def __init__(self, free: FreeCables, flows: Ints) -> None:
        from scipy.sparse import csr_array  # noqa: PLC0415 (slow to import, and rarely needed)

        self._free, self._n_flows = free, flows.shape[0]
        self._pairs, self._demand = np.unique(flows, axis=0, return_counts=True)
        far = self._pairs[:, 2] != self._pairs[:, 3]
        self._pod_pairs, pod_pair = np.unique(self._pairs[far][:, 2:], axis=0, return_inverse=True)
        n_pairs, n_pods_pairs = self._pairs.shape[0], self._pod_pairs.shape[0]
        _, n_l2, n_spines = free.l2_up.shape
        y = np.arange(n_pairs * n_l2).reshape(n_pairs, n_l2)
        z = y.size + np.arange(n_pods_pairs * n_l2 * n_spines).reshape(-1, n_l2, n_spines)
        self._y, self._z = y, z
        rows = [
            (np.arange(n_pairs)[:, None] + 0 * y, y, 1.0),
            (self._keys(self._pairs[:, 0], free.leaf_up), y, 1.0),
            (self._keys(self._pairs[:, 1], free.leaf_down), y, 1.0),
            (self._keys(self._pod_pairs[:, 0], free.l2_up), z, 1.0),
            (self._keys(self._pod_pairs[:, 1], free.l2_down), z, 1.0),
        ]
        limits = [self._demand, *(part.ravel() for part in self._parts())]
        through = np.arange(n_pods_pairs * n_l2).reshape(-1, n_l2)
        limits.append(np.zeros(through.size, dtype=np.int64))
        base = np.cumsum([0, *(limit.size for limit in limits)])
        entries = [(row + base[i], column, sign) for i, (row, column, sign) in enumerate(rows)]
        entries.append((through[pod_pair] + base[5], y[far], 1.0))
        entries.append((np.broadcast_to(through[:, :, None], z.shape) + base[5], z, -1.0))
        self._base, self._limit = base, np.concatenate(limits).astype(np.float64)
        row, column, value = (
            np.concatenate(
                [np.ravel(np.broadcast_to(entry[k], entry[1].shape)) for entry in entries]
            )
            for k in range(3)
        )
        self._matrix = csr_array((value, (row, column)), shape=(base[-1], y.size + z.size))
        self._gain = np.zeros(y.size + z.size)
        self._gain[: y.size] = -1.0

    def solve(self, seconds: float) -> tuple[Ints, Ints] | None:
        """Return the path of every flow, or fewer rows where not all can be routed."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 (slow to import)

        result = milp(
            self._gain,
            constraints=LinearConstraint(self._matrix, ub=self._limit),
            integrality=np.ones(self._gain.size, dtype=np.int64),
            bounds=Bounds(0, np.inf),
            options={"time_limit": seconds},
        )
        if result.status != _SOLVED or result.x is None:
            return None
        chosen = np.rint(result.x).astype(np.int64)
        through, onward = chosen[self._y], chosen[self._z]
        pair, index = np.nonzero(through)
        repeats = through[pair, index]
        pair, index = np.repeat(pair, repeats), np.repeat(index, repeats)
        return index, self._spines(pair, index, onward)

    def cut(self) -> tuple[Floats, ...] | None:
        """Return weights of cables that prove the flows too many, where there are such."""
        from scipy.optimize import linprog  # noqa: PLC0415 (slow to import)

        matrix: Any = self._matrix  # sparse, which the published types do not know
        result = linprog(self._gain, A_ub=matrix, b_ub=self._limit, method="highs")
        if result.fun is None or -result.fun > self._n_flows - _GAP:
            return None
        weight = np.maximum(-result.ineqlin.marginals, 0.0)
        return tuple(
            weight[self._base[i] : self._base[i + 1]].reshape(part.shape)
            for i, part in enumerate(self._parts(), start=1)
        )

    def _parts(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the free cables as one tuple."""
        free = self._free
        return free.leaf_up, free.leaf_down, free.l2_up, free.l2_down

    @staticmethod
    def _keys(switch: Ints, cables: Ints) -> Ints:
        """Return, for each variable of a row of pairs, the number of the cable it uses."""
        numbers: Ints = np.arange(cables.size).reshape(cables.shape)[switch]
        return numbers

    def _spines(self, pair: Ints, index: Ints, onward: Ints) -> Ints:
        """Hand the spines of every pair of pods and index to its flows, in any order."""
        waiting = {
            (*pods.tolist(), i): np.repeat(np.arange(counts.size), counts).tolist()
            for pods, by_index in zip(self._pod_pairs, onward, strict=True)
            for i, counts in enumerate(by_index)
        }
        spine = np.zeros(pair.size, dtype=np.int64)
        for flow, (row, i) in enumerate(zip(pair.tolist(), index.tolist(), strict=True)):
            p, q = self._pairs[row, 2:].tolist()
            if p != q:
                spine[flow] = waiting[p, q, i].pop()
        return spine


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """A permutation that cannot be routed with one flow per directed link, and what shows it."""

    # src, dst: (F,): the flows
    src: Ints
    dst: Ints
    evidence: str  # ``"cut"``, ``"exhaustive"`` or ``"integer-programming"``
    # for a cut: a weight for some owned links. Routed flows would use disjoint links, yet the
    # lightest minimal paths of all flows, each counted with at most 1, add up to more than all
    # weights together. Empty for the other kinds: all choices of paths were tried, or the integer
    # program that chooses them has no solution.
    weights: dict[int, float]


class ExactRouter:
    """
    Decides single permutations on a partition that need not fulfil any condition.

    Paths go up and then down; a flow chooses an L2 switch and, between pods, a spine. A depth-first
    search decides small cases; what it leaves open, an integer program does. The duals of the
    linear relaxation are the weights of a cut where it already falls short.
    """

    def __init__(self, tree: FatTree, partition: Partition) -> None:
        self._tree = tree
        self._job = job = on_tree(tree, partition)
        l2_up, l2_down = job.l2_up, job.l2_down
        if tree.levels == 2:  # noqa: PLR2004 (the roots are the L2 switches)
            l2_up = l2_down = np.zeros((1, tree.parents[1], 1), dtype=np.bool_)
        top = 1 if tree.levels == 2 else tree.parallel[2]  # noqa: PLR2004
        self._free = FreeCables(
            _count_cables(job.leaf_up, tree.parallel[1]),
            _count_cables(job.leaf_down, tree.parallel[1]),
            _count_cables(l2_up, top),
            _count_cables(l2_down, top),
        )
        self._kernels = load_kernels(
            "netsim.nonblocking.router_kernels", "permutation router", seconds=5
        )

    def decide(self, src: Ints, dst: Ints) -> Routes | Witness | None:
        """Route a permutation, or show that it cannot be done; None where the budget ends first."""
        job = self._job
        ends = job.index(src), job.index(dst)
        if any(np.any(np.bincount(end) > 1) for end in ends):
            raise RoutingError("not a permutation: a node sends or receives more than one flow.")
        s, d = (job.leaf_of_node[end] for end in ends)
        crossing = np.flatnonzero(s != d)
        crossing = crossing[np.lexsort((d[crossing], s[crossing]))]
        s, d = s[crossing], d[crossing]
        flows = np.column_stack([s, d, job.pod_of_leaf[s], job.pod_of_leaf[d]])
        status, choices = self._search(flows)
        evidence = "exhaustive"
        if status < 0:
            solved = PathProgram(self._free, flows).solve(_MILP_SECONDS)
            if solved is None:
                return None
            choices, evidence = solved, "integer-programming"
            status = int(choices[0].size == crossing.size)
        if status == 1:
            return self._routes(src, dst, crossing, flows, choices)
        weights = self._cut(flows)
        return Witness(src, dst, "cut" if weights else evidence, weights)

    def _search(self, flows: Ints) -> tuple[int, tuple[Ints, Ints]]:
        """Return 1, 0 or -1 (routed, impossible, undecided), and L2 index and spine of each."""
        free = self._free
        _, n_l2, n_spines = free.l2_up.shape
        found = self._kernels.search_paths(
            flows,
            n_l2,
            n_spines,
            free.leaf_up,
            free.leaf_down,
            free.l2_up,
            free.l2_down,
            _SEARCH_STEPS,
        )
        l2, spine = divmod(found[:-1], n_spines)
        return int(found[-1]), (l2, spine)

    def _routes(
        self, src: Ints, dst: Ints, crossing: Ints, flows: Ints, choices: tuple[Ints, Ints]
    ) -> Routes:
        """Give every flow cables of its own between the switches it goes through."""
        tree, job = self._tree, self._job
        w = tree.parents
        ports = np.zeros((tree.levels, src.size), dtype=np.int64)
        cables = np.zeros_like(ports)
        l2, spine = choices
        ports[1, crossing] = l2 + w[1] * _hand_out_cables(job.leaf_up, flows[:, 0], l2, w[1])
        cables[1, crossing] = _hand_out_cables(job.leaf_down, flows[:, 1], l2, w[1])
        far = flows[:, 2] != flows[:, 3]
        if far.any():
            n_l2, s = w[1], spine[far]
            up_switch, down_switch = (flows[far][:, end] * n_l2 + l2[far] for end in (2, 3))
            up, down = (own.reshape(-1, own.shape[2]) for own in (job.l2_up, job.l2_down))
            ports[2, crossing[far]] = s + w[2] * _hand_out_cables(up, up_switch, s, w[2])
            cables[2, crossing[far]] = _hand_out_cables(down, down_switch, s, w[2])
        return up_down_routes(tree, src, dst, ports, cables)

    def _cut(self, flows: Ints) -> dict[int, float]:
        """Return the weight of every owned link on which a cut puts one."""
        cut = PathProgram(self._free, flows).cut()
        if cut is None:
            return {}
        tree, job = self._tree, self._job
        leaf_parts = ((job.leaf_up, cut[0], tree.up_base), (job.leaf_down, cut[1], tree.down_base))
        l2_parts = ((job.l2_up, cut[2], tree.up_base), (job.l2_down, cut[3], tree.down_base))
        weights: dict[int, float] = {}
        for own, weight, base in leaf_parts:
            weights |= _weigh_links(own, weight, base[1] + job.leaves * tree.ports[1])
        if tree.levels > 2:  # noqa: PLR2004
            switch = job.pods[:, None] * tree.parents[1] + np.arange(tree.parents[1])
            for own, weight, base in l2_parts:
                flat = own.reshape(-1, own.shape[2]), weight.reshape(-1, weight.shape[2])
                weights |= _weigh_links(*flat, base[2] + switch.ravel() * tree.ports[2])
        return weights


def _count_cables(owned: Bools, cables: int) -> Ints:
    """Count the owned cables to each parent; up-port q leads to parent q mod w."""
    shape = *owned.shape[:-1], cables, owned.shape[-1] // cables
    count: Ints = owned.reshape(shape).sum(axis=-2)
    return count


def _hand_out_cables(owned: Bools, switch: Ints, parent: Ints, n_parents: int) -> Ints:
    """Hand out the owned cables of every (switch, parent) in ascending order."""
    given: dict[tuple[int, int], int] = {}
    cables = np.empty(switch.size, dtype=np.int64)
    for flow, pair in enumerate(zip(switch.tolist(), parent.tolist(), strict=True)):
        rank = given.get(pair, 0)
        given[pair] = rank + 1
        cables[flow] = np.flatnonzero(owned[pair[0], pair[1] :: n_parents])[rank]
    return cables


def _weigh_links(owned: Bools, weight: Floats, first: Ints) -> dict[int, float]:
    """Put the weight of each (switch, parent) on its owned links."""
    parent = np.arange(owned.shape[1]) % weight.shape[1]
    on_port = np.where(owned, weight[:, parent], 0.0)
    rows, ports = np.nonzero(on_port)
    links = first[rows] + ports
    return dict(zip(links.tolist(), on_port[rows, ports].tolist(), strict=True))
