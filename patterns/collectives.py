"""The collective operations of MPI with a choice of algorithms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from patterns.base import Step
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
from patterns.options import DEFAULT_NBYTES, choice, integer, settle, size
from patterns.rounds import (
    allgather_bruck,
    allgather_ring,
    allreduce_ring,
    reduce_scatter_pairwise,
    reduce_scatter_ring,
)
from patterns.template import Template, check_root
from patterns.trees import (
    allreduce_binomial,
    broadcast_binomial,
    broadcast_scatter_doubling,
    broadcast_scatter_ring,
    gather_binomial,
    gather_linear,
    rotated,
    scatter_binomial,
    scatter_linear,
)

Algorithm = Callable[[int, float], list[Step]]
"""Takes the number of ranks and bytes, returns the steps with root 0."""


@dataclass(frozen=True, slots=True)
class Collective(Template):
    """
    Collective operation by one of several algorithms.

    Parameters
    ----------
    algorithm : str
        A key of `algorithms`.
    nbytes : float
        Bytes, as the operation says of what.
    """

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
    """
    Collective operation with a special rank, by one of several algorithms.

    Parameters
    ----------
    algorithm : str
        A key of `algorithms`.
    nbytes : float
        Bytes, as the operation says of what.
    root : int
        The special rank.
    """

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
        return rotated(self.algorithms[self.algorithm](n_ranks, self.nbytes), root, n_ranks)


@dataclass(frozen=True, slots=True)
class AllReduce(Collective):
    """
    Every rank gives a vector and gets the sum of all (MPI_Allreduce).

    Parameters
    ----------
    algorithm : {"mpich", "recursive-doubling", "rabenseifner", "rhvd", "ring", "binomial"}
        Binomial is a reduction to rank 0 and a broadcast; MPICH chooses by size.
    nbytes : float
        Bytes of the vector.
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
    """
    Every rank gives a block and gets those of all (MPI_Allgather).

    Parameters
    ----------
    algorithm : {"mpich", "recursive-doubling", "bruck", "ring"}
        How; MPICH chooses by size.
    nbytes : float
        Bytes of the block that each rank gives.
    """

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "mpich": allgather_mpich,
        "recursive-doubling": allgather_doubling,
        "bruck": allgather_bruck,
        "ring": allgather_ring,
    }


@dataclass(frozen=True, slots=True)
class ReduceScatter(Collective):
    """
    Every rank gives a vector and gets its own part of the sum (MPI_Reduce_scatter_block).

    Parameters
    ----------
    algorithm : {"mpich", "recursive-halving", "pairwise", "ring"}
        How; MPICH chooses by size.
    nbytes : float
        Bytes of the vector that each rank gives; of n ranks, each gets 1/n of it.
    """

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "mpich": reduce_scatter_mpich,
        "recursive-halving": reduce_scatter_halving,
        "pairwise": reduce_scatter_pairwise,
        "ring": reduce_scatter_ring,
    }


@dataclass(frozen=True, slots=True)
class Broadcast(RootedCollective):
    """
    One rank has a message that all get (MPI_Bcast).

    Parameters
    ----------
    algorithm : {"mpich", "binomial", "scatter-ring", "scatter-recursive-doubling"}
        The last two scatter the message and gather it at all; MPICH chooses by size.
    nbytes : float
        Bytes of the message.
    root : int
        Rank that has it.
    """

    algorithm: str = "mpich"

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "mpich": broadcast_mpich,
        "binomial": broadcast_binomial,
        "scatter-ring": broadcast_scatter_ring,
        "scatter-recursive-doubling": broadcast_scatter_doubling,
    }


@dataclass(frozen=True, slots=True)
class Gather(RootedCollective):
    """
    One rank gets a block from each (MPI_Gather).

    Parameters
    ----------
    algorithm : {"binomial", "linear"}
        Up a tree, as MPICH, or all at once.
    nbytes : float
        Bytes of the block that each rank gives.
    root : int
        Rank that gets them.
    """

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "binomial": gather_binomial,
        "linear": gather_linear,
    }


@dataclass(frozen=True, slots=True)
class Scatter(RootedCollective):
    """
    One rank has a block for each (MPI_Scatter).

    Parameters
    ----------
    algorithm : {"binomial", "linear"}
        Down a tree, as MPICH, or all at once.
    nbytes : float
        Bytes of the block that each rank gets.
    root : int
        Rank that has them.
    """

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "binomial": scatter_binomial,
        "linear": scatter_linear,
    }
