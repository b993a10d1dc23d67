"""
Steps of collective algorithms: by distances that double or halve, in rounds, down trees.

Each function takes the number of ranks n and bytes, and returns the steps. Doubling and halving
need a power of two; other counts are folded as in MPICH: of the first 2 r ranks, where r ranks are
in excess of a power of two, each even one lends its data to its right neighbour before, and gets
its result after. The power of two that takes part keeps its order.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from patterns.base import Floats, Ints, Step
from patterns.messages import message_step, repeated


@dataclass(frozen=True, slots=True, eq=False)
class _RankFold:
    """The ranks that take part, and those that lend."""

    members: Ints  # the power of two ranks that take part
    lenders: Ints  # the even ranks in excess; the host of each is the next rank

    @property
    def distances(self) -> list[int]:
        """Powers of two below the number of members, smallest first."""
        return [1 << k for k in range(self.members.size.bit_length() - 1)]

    def lend(self, nbytes: float) -> Step:
        """Return the step in which lenders give their data away."""
        return message_step(self.lenders, self.lenders + 1, nbytes)

    def repay(self, nbytes: float) -> Step:
        """Return the step in which lenders get their result."""
        return message_step(self.lenders + 1, self.lenders, nbytes)

    def exchange(self, distance: int, nbytes: float | Floats) -> Step:
        """Return the step in which members exchange across a distance in their own order."""
        partner = self.members[np.arange(self.members.size) ^ distance]
        return message_step(self.members, partner, nbytes)

    def held(self, distance: int) -> Floats:
        """Return the blocks of all ranks in each member's aligned group of so many members."""
        blocks = np.ones(self.members.size)
        blocks[: self.lenders.size] = 2  # a host answers for its lender too
        groups: Floats = blocks.reshape(-1, distance).sum(axis=1)
        return np.repeat(groups, distance)


def _rank_fold(n_ranks: int) -> _RankFold:
    """Return how ranks fold to the next lower power of two."""
    excess = n_ranks - (1 << (n_ranks.bit_length() - 1))
    lenders = 2 * np.arange(excess)
    return _RankFold(np.concatenate([lenders + 1, np.arange(2 * excess, n_ranks)]), lenders)


def recursive_doubling(n_ranks: int, nbytes: float) -> list[Step]:
    """
    Return an allreduce in which the whole vector is exchanged at doubling distances.

    log2 n steps; two more where n is no power of two. Mishra20, figure 3; Thakur, Rabenseifner and
    Gropp, *Optimization of collective communication operations in MPICH*, 2005, section 4.5.
    """
    fold = _rank_fold(n_ranks)
    exchanges = [fold.exchange(distance, nbytes) for distance in fold.distances]
    return [fold.lend(nbytes), *exchanges, fold.repay(nbytes)]


def rabenseifner(n_ranks: int, nbytes: float) -> list[Step]:
    """
    Return Rabenseifner's allreduce as MPICH does it.

    Reduce-scatter at distances 1, 2, 4 and so on with 1/2, 1/4, 1/8 of the vector, then the same
    steps backwards as allgather: most bytes travel to near ranks. Two more steps where n is no
    power of two. Thakur et al., 2005, section 4.5; MPICH,
    ``allreduce_intra_reduce_scatter_allgather.c``.
    """
    fold = _rank_fold(n_ranks)
    halving = [fold.exchange(distance, nbytes / (2 * distance)) for distance in fold.distances]
    return [fold.lend(nbytes), *halving, *reversed(halving), fold.repay(nbytes)]


def halving_doubling(n_ranks: int, nbytes: float) -> list[Step]:
    """
    Return recursive halving with vector doubling (RHVD), an allreduce.

    Mishra20: the first half of the ranks does not talk to the second after the first step of
    halving, and messages double in vector doubling. Bytes as in MPICH's MPI_Reduce_scatter by
    recursive halving (distance n/2 with 1/2 of the vector, n/4 with 1/4, and so on), then the same
    backwards, as in its MPI_Allgather by recursive doubling: most bytes travel far.
    """
    fold = _rank_fold(n_ranks)
    share = nbytes / fold.members.size
    halving = [fold.exchange(d, share * d) for d in reversed(fold.distances)]
    return [fold.lend(nbytes), *halving, *reversed(halving), fold.repay(nbytes)]


def reduce_scatter_halving(n_ranks: int, nbytes: float) -> list[Step]:
    """
    Return a reduce-scatter by recursive halving.

    Thakur et al., 2005, section 4.4; MPICH, ``reduce_scatter_intra_recursive_halving.c``: a member
    sends the blocks that the half without it will own.
    """
    fold, block = _rank_fold(n_ranks), nbytes / n_ranks
    index = np.arange(fold.members.size)
    halving = [
        fold.exchange(distance, block * fold.held(distance)[index ^ distance])
        for distance in reversed(fold.distances)
    ]
    return [fold.lend(nbytes), *halving, fold.repay(block)]


def allgather_doubling(n_ranks: int, nbytes: float) -> list[Step]:
    """
    Return an allgather by recursive doubling.

    Thakur et al., 2005, section 4.1: a member sends all blocks it holds. For counts that are no
    power of two the folding is ours; MPICH takes Bruck's algorithm or the ring there.
    """
    fold = _rank_fold(n_ranks)
    doubling = [
        fold.exchange(distance, nbytes * fold.held(distance)) for distance in fold.distances
    ]
    return [fold.lend(nbytes), *doubling, fold.repay(nbytes * (n_ranks - 1))]


def alltoall_direct(n_ranks: int, nbytes: float) -> list[Step]:
    """Return an all-to-all in one step of n (n - 1) messages."""
    here, distance = np.arange(n_ranks), np.arange(1, n_ranks)
    there = (here[:, None] + distance) % n_ranks
    return [message_step(np.repeat(here, n_ranks - 1), there.ravel(), nbytes)]


def alltoall_pairwise(n_ranks: int, nbytes: float) -> list[Step]:
    """
    Return an all-to-all of rounds in which a rank exchanges with one other, as MPICH does.

    In round k with rank XOR k when n is a power of two; else it sends to rank + k.
    """
    here = np.arange(n_ranks)
    if n_ranks & (n_ranks - 1):
        return _shift_rounds(n_ranks, nbytes)
    return [message_step(here, here ^ k, nbytes) for k in range(1, n_ranks)]


def alltoall_bruck(n_ranks: int, nbytes: float) -> list[Step]:
    """
    Return an all-to-all in one step for each binary digit of n - 1.

    Bruck et al., *Efficient algorithms for all-to-all communications*, 1997, index algorithm with
    radix 2: in step k a rank sends to rank + 2^k all that has to travel a distance with binary
    digit k set.
    """
    here, travel = np.arange(n_ranks), np.arange(1, n_ranks)
    return [
        message_step(here, (here + hop) % n_ranks, nbytes * np.count_nonzero(travel & hop))
        for hop in _powers_below(n_ranks)
    ]


def allgather_bruck(n_ranks: int, nbytes: float) -> list[Step]:
    """
    Return an allgather in which the known blocks double in each step.

    Bruck et al., 1997, concatenation algorithm: in step k a rank sends its first 2^k blocks, or as
    many as are missing, to rank - 2^k.
    """
    here = np.arange(n_ranks)
    return [
        message_step(here, (here - hop) % n_ranks, nbytes * min(hop, n_ranks - hop))
        for hop in _powers_below(n_ranks)
    ]


def allgather_ring(n_ranks: int, nbytes: float) -> list[Step]:
    """Return an allgather in which each block travels round the ring in n - 1 equal rounds."""
    return _ring_round(n_ranks, nbytes, n_ranks - 1)


def reduce_scatter_ring(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a reduce-scatter in which each block gathers its sum in n - 1 rounds of a ring."""
    return _ring_round(n_ranks, nbytes / n_ranks, n_ranks - 1)


def reduce_scatter_pairwise(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a reduce-scatter in which a rank sends a block to rank + k in round k."""
    return _shift_rounds(n_ranks, nbytes / n_ranks)


def allreduce_ring(n_ranks: int, nbytes: float) -> list[Step]:
    """Return an allreduce of a reduce-scatter and an allgather round the ring."""
    return _ring_round(n_ranks, nbytes / n_ranks, 2 * (n_ranks - 1))


def _ring_round(n_ranks: int, nbytes: float, rounds: int) -> list[Step]:
    """Return one step of rounds in which each rank sends so many bytes to the next."""
    here = np.arange(n_ranks)
    return [repeated(message_step(here, (here + 1) % n_ranks, nbytes), rounds)] if rounds else []


def _shift_rounds(n_ranks: int, nbytes: float) -> list[Step]:
    """Return n - 1 rounds in which each rank sends one rank further."""
    here = np.arange(n_ranks)
    return [message_step(here, (here + k) % n_ranks, nbytes) for k in range(1, n_ranks)]


def _powers_below(n_ranks: int) -> list[int]:
    """Return the powers of two below a number, smallest first."""
    return [1 << k for k in range((n_ranks - 1).bit_length())]


def broadcast_binomial(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a broadcast down the tree, the furthest messages first."""
    return [message_step(src, dst, nbytes) for src, dst, _ in _tree_levels(n_ranks)]


def allreduce_binomial(n_ranks: int, nbytes: float) -> list[Step]:
    """Return an allreduce made of a reduction to rank 0 and a broadcast."""
    down = broadcast_binomial(n_ranks, nbytes)
    return _reversed_steps(down) + down


def scatter_binomial(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a scatter down the tree: a message holds what its receiver's subtree needs."""
    return [message_step(src, dst, nbytes * below) for src, dst, below in _tree_levels(n_ranks)]


def gather_binomial(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a gather up the tree."""
    return _reversed_steps(scatter_binomial(n_ranks, nbytes))


def scatter_linear(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a scatter in one step, in which rank 0 sends to all others."""
    here = np.arange(n_ranks)
    return [message_step(np.zeros_like(here), here, nbytes)]


def gather_linear(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a gather in one step, in which all others send to rank 0."""
    return _reversed_steps(scatter_linear(n_ranks, nbytes))


def broadcast_scatter_ring(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a broadcast of a scatter down the tree and an allgather round the ring."""
    block = nbytes / n_ranks
    return scatter_binomial(n_ranks, block) + allgather_ring(n_ranks, block)


def broadcast_scatter_doubling(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a broadcast of a scatter down the tree and an allgather by doubling."""
    block = nbytes / n_ranks
    return scatter_binomial(n_ranks, block) + allgather_doubling(n_ranks, block)


def with_root(steps: Iterable[Step], root: int, n_ranks: int) -> list[Step]:
    """Return steps in which `root` takes the part of rank 0, root + 1 that of 1, and so on."""
    if root == 0:
        return list(steps)
    return [
        replace(step, src=(step.src + root) % n_ranks, dst=(step.dst + root) % n_ranks)
        for step in steps
    ]


def _tree_levels(n_ranks: int) -> list[tuple[Ints, Ints, Floats]]:
    """Return parents, children and size of the children's subtrees, from the root down."""
    levels = []
    for k in reversed(range((n_ranks - 1).bit_length())):
        parent = np.arange(0, n_ranks - (1 << k), 2 << k)
        child = parent + (1 << k)
        levels.append((parent, child, np.minimum(1 << k, n_ranks - child).astype(np.float64)))
    return levels


def _reversed_steps(steps: list[Step]) -> list[Step]:
    """Return the steps in reverse order, each message the other way."""
    return [replace(step, src=step.dst, dst=step.src) for step in reversed(steps)]
