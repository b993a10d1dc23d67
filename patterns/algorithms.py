"""The collective algorithms as patterns of their own."""

from dataclasses import dataclass

from patterns.base import Rooted, Sized, Step, check_root
from patterns.doubling import halving_doubling, rabenseifner, recursive_doubling
from patterns.rounds import allgather_bruck, alltoall_pairwise
from patterns.trees import broadcast_binomial, with_root


@dataclass(frozen=True, slots=True)
class RecursiveDoubling(Sized):
    """Allreduce by recursive doubling: RD of Mishra20, figure 3."""

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        return recursive_doubling(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class RecursiveHalvingVectorDoubling(Sized):
    """Allreduce by recursive halving, then vector doubling: RHVD of Mishra20."""

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        return halving_doubling(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class Rabenseifner(Sized):
    """Allreduce by Rabenseifner's algorithm as in MPICH: most bytes travel to near ranks."""

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        return rabenseifner(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class Binomial(Rooted):
    """Broadcast down a binomial tree: Binomial of Mishra20."""

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        root = check_root(self.root, n_ranks)
        return with_root(broadcast_binomial(n_ranks, self.nbytes), root, n_ranks)


@dataclass(frozen=True, slots=True)
class Bruck(Sized):
    """
    Allgather by Bruck's algorithm: the known blocks double in each step.

    For an all-to-all by Bruck's algorithm take ``all-to-all`` with that `algorithm`.
    """

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        return allgather_bruck(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class Pairwise(Sized):
    """All-to-all by pairwise exchange: n - 1 rounds with one partner each."""

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        return alltoall_pairwise(n_ranks, self.nbytes)
