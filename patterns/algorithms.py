"""The collective algorithms as patterns of their own."""

from dataclasses import dataclass

from patterns.base import Step
from patterns.doubling import halving_doubling, rabenseifner, recursive_doubling
from patterns.rounds import allgather_bruck, alltoall_pairwise
from patterns.template import Rooted, Sized, check_root
from patterns.trees import broadcast_binomial, rotated


@dataclass(frozen=True, slots=True)
class RecursiveDoubling(Sized):
    """
    Allreduce by recursive doubling: whole vectors at distances 1, 2, 4 and so on.

    Parameters
    ----------
    nbytes : float
        Bytes of the vector, and of each message.

    Notes
    -----
    RD of Mishra20, figure 3. See `patterns.doubling.recursive_doubling`.
    """

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        return recursive_doubling(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class RecursiveHalvingVectorDoubling(Sized):
    """
    Allreduce by recursive halving, then vector doubling: most bytes travel far.

    Parameters
    ----------
    nbytes : float
        Bytes of the vector; messages have 1/2, 1/4, ... and back again.

    Notes
    -----
    RHVD of Mishra20. See `patterns.doubling.halving_doubling`.
    """

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        return halving_doubling(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class Rabenseifner(Sized):
    """
    Allreduce by Rabenseifner's algorithm as in MPICH: most bytes travel to near ranks.

    Parameters
    ----------
    nbytes : float
        Bytes of the vector; messages have 1/2, 1/4, ... and back again.

    Notes
    -----
    See `patterns.doubling.rabenseifner`.
    """

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        return rabenseifner(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class Binomial(Rooted):
    """
    Broadcast down a binomial tree.

    Parameters
    ----------
    nbytes : float
        Bytes of each message.
    root : int
        Rank at the top.

    Notes
    -----
    Binomial of Mishra20. See `patterns.trees.broadcast_binomial`.
    """

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        root = check_root(self.root, n_ranks)
        return rotated(broadcast_binomial(n_ranks, self.nbytes), root, n_ranks)


@dataclass(frozen=True, slots=True)
class Bruck(Sized):
    """
    Allgather by Bruck's algorithm: the known blocks double in each step.

    For an all-to-all by Bruck's algorithm take ``all-to-all`` with that `algorithm`.

    Parameters
    ----------
    nbytes : float
        Bytes of the block that each rank gives.

    Notes
    -----
    See `patterns.rounds.allgather_bruck`.
    """

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        return allgather_bruck(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class Pairwise(Sized):
    """
    All-to-all by pairwise exchange: n - 1 rounds with one partner each.

    Parameters
    ----------
    nbytes : float
        Bytes that a rank has for each other.

    Notes
    -----
    See `patterns.rounds.alltoall_pairwise`.
    """

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        return alltoall_pairwise(n_ranks, self.nbytes)
