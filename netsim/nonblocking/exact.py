"""Route one permutation on any partition, legal or not, or prove that it cannot be routed."""

from dataclasses import dataclass

import numpy as np

from netsim.common.arrays import Bools, Floats, Ints
from netsim.common.errors import RoutingError
from netsim.common.jit import load_kernels
from netsim.flows.partition import Partition, on_tree
from netsim.nonblocking.milp import FreeCables, PathProgram
from netsim.routing.updown import up_down_routes
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes

_SEARCH_STEPS = 200_000  # a few ms; what stays undecided goes to the integer program
_MILP_SECONDS = 60.0


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
            _count(job.leaf_up, tree.parallel[1]),
            _count(job.leaf_down, tree.parallel[1]),
            _count(l2_up, top),
            _count(l2_down, top),
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
        ports[1, crossing] = l2 + w[1] * _cable(job.leaf_up, flows[:, 0], l2, w[1])
        cables[1, crossing] = _cable(job.leaf_down, flows[:, 1], l2, w[1])
        far = flows[:, 2] != flows[:, 3]
        if far.any():
            n_l2, s = w[1], spine[far]
            up_switch, down_switch = (flows[far][:, end] * n_l2 + l2[far] for end in (2, 3))
            up, down = (own.reshape(-1, own.shape[2]) for own in (job.l2_up, job.l2_down))
            ports[2, crossing[far]] = s + w[2] * _cable(up, up_switch, s, w[2])
            cables[2, crossing[far]] = _cable(down, down_switch, s, w[2])
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
            weights |= _weigh(own, weight, base[1] + job.leaves * tree.ports[1])
        if tree.levels > 2:  # noqa: PLR2004
            switch = job.pods[:, None] * tree.parents[1] + np.arange(tree.parents[1])
            for own, weight, base in l2_parts:
                flat = own.reshape(-1, own.shape[2]), weight.reshape(-1, weight.shape[2])
                weights |= _weigh(*flat, base[2] + switch.ravel() * tree.ports[2])
        return weights


def _count(owned: Bools, cables: int) -> Ints:
    """Count the owned cables to each parent; up-port q leads to parent q mod w."""
    shape = *owned.shape[:-1], cables, owned.shape[-1] // cables
    count: Ints = owned.reshape(shape).sum(axis=-2)
    return count


def _cable(owned: Bools, switch: Ints, parent: Ints, n_parents: int) -> Ints:
    """Hand out the owned cables of every (switch, parent) in ascending order."""
    given: dict[tuple[int, int], int] = {}
    cables = np.empty(switch.size, dtype=np.int64)
    for flow, pair in enumerate(zip(switch.tolist(), parent.tolist(), strict=True)):
        rank = given.get(pair, 0)
        given[pair] = rank + 1
        cables[flow] = np.flatnonzero(owned[pair[0], pair[1] :: n_parents])[rank]
    return cables


def _weigh(owned: Bools, weight: Floats, first: Ints) -> dict[int, float]:
    """Put the weight of each (switch, parent) on its owned links."""
    parent = np.arange(owned.shape[1]) % weight.shape[1]
    on_port = np.where(owned, weight[:, parent], 0.0)
    rows, ports = np.nonzero(on_port)
    links = first[rows] + ports
    return dict(zip(links.tolist(), on_port[rows, ports].tolist(), strict=True))
