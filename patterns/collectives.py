"""The collective operations of MPI with a choice of algorithms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from patterns.base import DEFAULT_NBYTES, Step, Template, check_root, choice, integer, settle, size
from patterns.doubling import (
    allgather_doubling,
    halving_doubling,
    rabenseifner,
    recursive_doubling,
    reduce_scatter_halving,
)
from patterns.mpich import (
    allgather_mpich,
    allreduce_mpich,
    broadcast_mpich,
    reduce_scatter_mpich,
)
from patterns.rounds import (
    allgather_bruck,
    allgather_ring,
    allreduce_ring,
    reduce_scatter_pairwise,
    reduce_scatter_ring,
)
from patterns.trees import (
    allreduce_binomial,
    broadcast_binomial,
    broadcast_scatter_doubling,
    broadcast_scatter_ring,
    gather_binomial,
    gather_linear,
    scatter_binomial,
    scatter_linear,
    with_root,
)

Algorithm = Callable[[int, float], list[Step]]
"""Takes the number of ranks and bytes, returns the steps with root 0."""


@dataclass(frozen=True, slots=True)
class Collective(Template):
    """Collective operation by one of several algorithms."""

    algorithm: str = "mpich"
    nbytes: float = DEFAULT_NBYTES

    algorithms: ClassVar[Mapping[str, Algorithm]]

    def __post_init__(self) -> None:
        """Check the options."""
        algorithm = choice("algorithm", self.algorithm, self.algorithms)
        settle(self, algorithm=algorithm, nbytes=size("nbytes", self.nbytes))

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        return self.algorithms[self.algorithm](n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class RootedCollective(Template):
    """Collective operation with a special rank, by one of several algorithms."""

    algorithm: str = "binomial"
    nbytes: float = DEFAULT_NBYTES
    root: int = 0

    algorithms: ClassVar[Mapping[str, Algorithm]]

    def __post_init__(self) -> None:
        """Check the options."""
        algorithm = choice("algorithm", self.algorithm, self.algorithms)
        nbytes = size("nbytes", self.nbytes)
        settle(self, algorithm=algorithm, nbytes=nbytes, root=integer("root", self.root, 0))

    def _steps(self, n_ranks: int) -> list[Step]:
        """Return the steps."""
        root = check_root(self.root, n_ranks)
        return with_root(self.algorithms[self.algorithm](n_ranks, self.nbytes), root, n_ranks)


@dataclass(frozen=True, slots=True)
class AllReduce(Collective):
    """
    Every rank gives a vector of `nbytes` and gets the sum of all (MPI_Allreduce).

    Binomial is a reduction to rank 0 and a broadcast; MPICH chooses by size.
    """

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "mpich": allreduce_mpich,
        "recursive-doubling": recursive_doubling,
        "rabenseifner": rabenseifner,
        "rhvd": halving_doubling,
        "ring": allreduce_ring,
        "binomial": allreduce_binomial,
    }


@dataclass(frozen=True, slots=True)
class AllGather(Collective):
    """Every rank gives a block of `nbytes` and gets those of all (MPI_Allgather)."""

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "mpich": allgather_mpich,
        "recursive-doubling": allgather_doubling,
        "bruck": allgather_bruck,
        "ring": allgather_ring,
    }


@dataclass(frozen=True, slots=True)
class ReduceScatter(Collective):
    """Every rank gives a vector of `nbytes` and gets 1/n of the sum (MPI_Reduce_scatter_block)."""

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "mpich": reduce_scatter_mpich,
        "recursive-halving": reduce_scatter_halving,
        "pairwise": reduce_scatter_pairwise,
        "ring": reduce_scatter_ring,
    }


@dataclass(frozen=True, slots=True)
class Broadcast(RootedCollective):
    """One rank has a message that all get (MPI_Bcast)."""

    # "mpich", "binomial", "scatter-ring", "scatter-recursive-doubling": the last two scatter the
    # message and gather it at all; MPICH chooses by size
    algorithm: str = "mpich"

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "mpich": broadcast_mpich,
        "binomial": broadcast_binomial,
        "scatter-ring": broadcast_scatter_ring,
        "scatter-recursive-doubling": broadcast_scatter_doubling,
    }


@dataclass(frozen=True, slots=True)
class Gather(RootedCollective):
    """One rank gets a block from each (MPI_Gather), up a tree, as MPICH, or all at once."""

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "binomial": gather_binomial,
        "linear": gather_linear,
    }


@dataclass(frozen=True, slots=True)
class Scatter(RootedCollective):
    """One rank has a block for each (MPI_Scatter), down a tree, as MPICH, or all at once."""

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "binomial": scatter_binomial,
        "linear": scatter_linear,
    }
