"""
Collective algorithms in which ranks exchange at distances that double or halve.

Each function takes the number of ranks n and bytes, and returns the steps. They need a power of
two; other counts are folded as in MPICH: of the first 2 r ranks, where r ranks are in excess of a
power of two, each even one lends its data to its right neighbour before, and gets its result
after. The power of two that takes part keeps its order.
"""

from dataclasses import dataclass

import numpy as np

from patterns.base import Floats, Ints, Step
from patterns.messages import message_step


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
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


def _fold(n_ranks: int) -> _Fold:
    """Return how ranks fold to the next lower power of two."""
    excess = n_ranks - (1 << (n_ranks.bit_length() - 1))
    lenders = 2 * np.arange(excess)
    return _Fold(np.concatenate([lenders + 1, np.arange(2 * excess, n_ranks)]), lenders)


def recursive_doubling(n_ranks: int, nbytes: float) -> list[Step]:
    """
    Return an allreduce in which the whole vector is exchanged at doubling distances.

    log2 n steps; two more where n is no power of two. Mishra20, figure 3; Thakur, Rabenseifner and
    Gropp, *Optimization of collective communication operations in MPICH*, 2005, section 4.5.
    """
    fold = _fold(n_ranks)
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
    fold = _fold(n_ranks)
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
    fold = _fold(n_ranks)
    share = nbytes / fold.members.size
    halving = [fold.exchange(d, share * d) for d in reversed(fold.distances)]
    return [fold.lend(nbytes), *halving, *reversed(halving), fold.repay(nbytes)]


def reduce_scatter_halving(n_ranks: int, nbytes: float) -> list[Step]:
    """
    Return a reduce-scatter by recursive halving.

    Thakur et al., 2005, section 4.4; MPICH, ``reduce_scatter_intra_recursive_halving.c``: a member
    sends the blocks that the half without it will own.
    """
    fold, block = _fold(n_ranks), nbytes / n_ranks
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
    fold = _fold(n_ranks)
    doubling = [
        fold.exchange(distance, nbytes * fold.held(distance)) for distance in fold.distances
    ]
    return [fold.lend(nbytes), *doubling, fold.repay(nbytes * (n_ranks - 1))]
