"""Is a partition rearrangeable non-blocking: by theorem, by all permutations, or a witness."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

import numpy as np

from fabricsim.checking import whole, wrong
from netsim.common.arrays import Ints
from netsim.common.errors import PartitionError, RoutingError
from netsim.flows.partition import Partition, TreePartition, on_tree
from netsim.nonblocking.conditions import broken_conditions, legal_part
from netsim.nonblocking.exact import ExactRouter, Witness
from netsim.nonblocking.router import PermutationRouter
from netsim.routing.base import flow_ends
from netsim.topology.fattree import FatTree
from netsim.topology.routes import Routes

_STRUCTURED = 200  # structured permutations tried at most
_UNDECIDED = 2  # give up where so many integer programs ran out of time


@dataclass(frozen=True, slots=True, eq=False)
class Certificate:
    """A permutation and routes that carry it with at most one flow per directed link."""

    # src, dst: (F,): the flows
    src: Ints
    dst: Ints
    routes: Routes  # links of each flow; no link is in two routes


class Status(StrEnum):
    """How a question about permutations came out."""

    PROVED = "proved"  # by the theorem
    EXHAUSTED = "exhausted"  # every kind of permutation was routed
    ROUTED = "routed"  # the permutation given was
    BLOCKED = "blocked"
    SAMPLED = "sampled"  # none tried is blocked; others are left
    UNDECIDED = "undecided"  # out of time
    NOT_ASKED = "not-asked"


_ANSWERS = {
    Status.PROVED: True,
    Status.EXHAUSTED: True,
    Status.ROUTED: True,
    Status.BLOCKED: False,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    Whether a partition is rearrangeable non-blocking, and why.

    Parameters
    ----------
    status : Status
        How the question came out.
    method : str
        How the answer was found, and what was tried, for people.
    certificate : Certificate or None
        The last permutation routed.
    witness : Witness or None
        A permutation that cannot be routed; given exactly where `holds` is False.
    """

    status: Status
    method: str
    certificate: Certificate | None = None
    witness: Witness | None = None

    @property
    def holds(self) -> bool | None:
        """The answer; None where there is none."""
        return _ANSWERS.get(self.status)


def rearrangeable(
    tree: FatTree,
    partition: Partition,
    *,
    permutations: Sequence[tuple[Ints, Ints]] = (),
    n_random: int = 100,
    seed: int = 1,
    exhaustive_limit: int = 2000,
) -> Verdict:
    """
    Decide whether every permutation of a job's nodes can be routed with one flow per link.

    Parameters
    ----------
    tree : FatTree
        Two or three levels.
    partition : Partition
        Nodes and owned links.
    permutations : sequence of (src, dst)
        Permutations of nodes, or parts of one, to route before all others.
    n_random : int, default 100
        Random permutations to route.
    seed : int, default 1
        Of the random permutations.
    exhaustive_limit : int, default 2000
        Try all permutations where at most so many differ in their flows between leaves.

    Returns
    -------
    Verdict
        Yes by the conditions or by exhaustion, no with a witness, or undecided.

    Raises
    ------
    PartitionError
        If the partition does not fit the tree.
    RoutingError
        If a permutation given is none.

    Notes
    -----
    A legal partition, and what contains one, is non-blocking by the theorem; the permutations
    are routed all the same and the last is the certificate. Otherwise permutations are decided
    one by one: those given, swaps of two leaves or pods, shifts, random ones, and then, if they
    are few enough, all leaf-to-leaf flow matrices, which is all that paths depend on.
    """
    job = on_tree(tree, partition)
    n_random = whole("n_random", n_random, 0, error=PartitionError)
    limit = whole("exhaustive_limit", exhaustive_limit, 0, error=PartitionError)
    rng = np.random.default_rng(whole("seed", seed, 0, error=PartitionError))
    permutations = [_checked_permutation(pair, tree) for pair in permutations]
    legal, how = _legal_partition(tree, partition)
    if legal is not None:
        router = PermutationRouter(tree, legal)
        certificate = None
        for src, dst in (*permutations, *_random_permutations(job, rng, max(n_random, 1))):
            certificate = Certificate(src, dst, router.routes(src, dst))
        tried = len(permutations) + max(n_random, 1)
        return Verdict(Status.PROVED, f"{how}; {tried} permutations routed", certificate)
    exact = ExactRouter(tree, partition)
    few = (
        *permutations,
        *islice(_structured_permutations(job), _STRUCTURED),
        *_random_permutations(job, rng, n_random),
    )
    verdict = _try_permutations(exact, few)
    if verdict.status is Status.BLOCKED:
        return verdict
    matrices = list(islice(flow_matrices(job.nodes_on_leaf.tolist()), limit + 1))
    if len(matrices) > limit:
        return verdict
    every = _try_permutations(exact, (_permutation_of_counts(job, matrix) for matrix in matrices))
    if every.status is not Status.SAMPLED:
        return every
    method = f"exhaustive: all {len(matrices)} leaf-to-leaf flow matrices routed"
    return Verdict(Status.EXHAUSTED, method, every.certificate)


def _checked_permutation(pair: object, tree: FatTree) -> tuple[Ints, Ints]:
    """Check one permutation that is given."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:  # noqa: PLR2004 (sources, destinations)
        raise wrong("permutations", "pairs of sources and destinations", pair, RoutingError)
    return flow_ends(pair[0], pair[1], tree)


def flow_matrices(counts: Sequence[int]) -> Iterator[list[list[int]]]:
    """Iterate over the leaf-to-leaf flow counts of all permutations."""

    def rows(total: int, room: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(room) == 1:
            if total <= room[0]:
                yield (total,)
            return
        for first in range(min(total, room[0]) + 1):
            for rest in rows(total - first, room[1:]):
                yield first, *rest

    def fill(leaf: int, room: tuple[int, ...]) -> Iterator[list[list[int]]]:
        if leaf == len(counts):
            yield []
            return
        for row in rows(counts[leaf], room):
            left = tuple(free - used for free, used in zip(room, row, strict=True))
            for rest in fill(leaf + 1, left):
                yield [list(row), *rest]

    return fill(0, tuple(counts))


def _legal_partition(tree: FatTree, partition: Partition) -> tuple[Partition | None, str]:
    """Return the partition, or the part of its links, that fulfils the conditions."""
    if not broken_conditions(tree, partition):
        return partition, "conditions (1)-(6)"
    part = legal_part(tree, partition)
    if part is not None and not broken_conditions(tree, part):
        return part, "contains a partition that fulfils conditions (1)-(6)"
    return None, ""


def _try_permutations(
    router: ExactRouter, permutations: Sequence[tuple[Ints, Ints]] | Iterator[tuple[Ints, Ints]]
) -> Verdict:
    """Decide permutations one by one until one is blocked or too many are left open."""
    certificate, tried, undecided = None, 0, 0
    for src, dst in permutations:
        tried += 1
        answer = router.decide(src, dst)
        if isinstance(answer, Witness):
            method = f"{answer.evidence}; permutation {tried} of those tried is blocked"
            return Verdict(Status.BLOCKED, method, certificate, answer)
        if answer is None:
            undecided += 1
            if undecided == _UNDECIDED:
                break
        else:
            certificate = Certificate(src, dst, answer)
    left = f", {undecided} undecided within the time limit" if undecided else ""
    status = Status.UNDECIDED if undecided else Status.SAMPLED
    return Verdict(status, f"{tried} permutations tried, none blocked{left}", certificate)


def _random_permutations(
    job: TreePartition, rng: np.random.Generator, count: int
) -> Iterator[tuple[Ints, Ints]]:
    """Iterate over random permutations."""
    for _ in range(count):
        yield job.nodes, rng.permutation(job.nodes)


def _structured_permutations(job: TreePartition) -> Iterator[tuple[Ints, Ints]]:
    """Iterate over permutations that load few switches: swaps of pods and leaves, then shifts."""
    for group in (job.pod_of_leaf[job.leaf_of_node], job.leaf_of_node):
        count = int(group.max()) + 1
        for a in range(count):
            for b in range(a + 1, count):
                yield _swap_groups(
                    job.nodes, np.flatnonzero(group == a), np.flatnonzero(group == b)
                )
    for shift in range(1, job.nodes.size):
        yield job.nodes, np.roll(job.nodes, shift)


def _swap_groups(nodes: Ints, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    """Exchange as many nodes of two groups as the smaller one has."""
    size = min(a.size, b.size)
    dst = nodes.copy()
    dst[a[:size]], dst[b[:size]] = nodes[b[:size]], nodes[a[:size]]
    return nodes, dst


def _permutation_of_counts(job: TreePartition, matrix: list[list[int]]) -> tuple[Ints, Ints]:
    """Return a permutation with these leaf-to-leaf flow counts."""
    free = [job.nodes[job.leaf_of_node == leaf].tolist() for leaf in range(job.leaves.size)]
    dst = [free[d].pop() for row in matrix for d, count in enumerate(row) for _ in range(count)]
    return job.nodes, np.array(dst, dtype=np.int64)
