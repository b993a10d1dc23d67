"""The collective operations of MPI with a choice of algorithms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from patterns.base import (
    DEFAULT_NBYTES,
    Rooted,
    Sized,
    Step,
    Template,
    check_root,
    choice,
    integer,
    settle,
    size,
)
from patterns.collective_steps import (
    allgather_bruck,
    allgather_doubling,
    allgather_ring,
    allreduce_binomial,
    allreduce_ring,
    alltoall_bruck,
    alltoall_direct,
    alltoall_pairwise,
    broadcast_binomial,
    broadcast_scatter_doubling,
    broadcast_scatter_ring,
    gather_binomial,
    gather_linear,
    halving_doubling,
    rabenseifner,
    recursive_doubling,
    reduce_scatter_halving,
    reduce_scatter_pairwise,
    reduce_scatter_ring,
    scatter_binomial,
    scatter_linear,
    with_root,
)

_WORD = 8  # bytes of a value, a double: Rabenseifner's algorithm needs one for each member
_LONG = 524288  # bytes; BCAST_LONG, ALLGATHER_LONG, REDUCE_SCATTER_COMMUTATIVE_LONG
_BCAST_SHORT, _BCAST_MIN_PROCS = 12288, 8
_ALLGATHER_SHORT = 81920
_ALLREDUCE_SHORT = 2048
_ALLTOALL_SHORT, _ALLTOALL_MEDIUM, _ALLTOALL_MIN_PROCS = 256, 32768, 8
Algorithm = Callable[[int, float], list[Step]]
"""Takes the number of ranks and bytes, returns the steps with root 0."""


def allreduce_mpich(n_ranks: int, nbytes: float) -> list[Step]:
    """Return an allreduce: recursive doubling up to 2 KiB, Rabenseifner above."""
    members = 1 << (n_ranks.bit_length() - 1)
    short = nbytes <= _ALLREDUCE_SHORT or nbytes < _WORD * members
    return (recursive_doubling if short else rabenseifner)(n_ranks, nbytes)


def allgather_mpich(n_ranks: int, nbytes: float) -> list[Step]:
    """Return an allgather: by doubling, Bruck's, or round the ring for long messages."""
    total = nbytes * n_ranks
    if total < _LONG and _power_of_two(n_ranks):
        return allgather_doubling(n_ranks, nbytes)
    return (allgather_bruck if total < _ALLGATHER_SHORT else allgather_ring)(n_ranks, nbytes)


def reduce_scatter_mpich(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a reduce-scatter: recursive halving below 512 KiB, pairwise above."""
    short = nbytes < _LONG
    return (reduce_scatter_halving if short else reduce_scatter_pairwise)(n_ranks, nbytes)


def broadcast_mpich(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a broadcast: binomial tree, or scatter and allgather for long messages."""
    if nbytes < _BCAST_SHORT or n_ranks < _BCAST_MIN_PROCS:
        return broadcast_binomial(n_ranks, nbytes)
    if nbytes < _LONG and _power_of_two(n_ranks):
        return broadcast_scatter_doubling(n_ranks, nbytes)
    return broadcast_scatter_ring(n_ranks, nbytes)


def alltoall_mpich(n_ranks: int, nbytes: float) -> list[Step]:
    """Return an all-to-all: Bruck's up to 256 bytes, all at once up to 32 KiB, pairwise above."""
    if nbytes <= _ALLTOALL_SHORT and n_ranks >= _ALLTOALL_MIN_PROCS:
        return alltoall_bruck(n_ranks, nbytes)
    medium = nbytes <= _ALLTOALL_MEDIUM
    return (alltoall_direct if medium else alltoall_pairwise)(n_ranks, nbytes)


def _power_of_two(number: int) -> bool:
    """Return whether a positive number is a power of two."""
    return number & (number - 1) == 0


@dataclass(frozen=True, slots=True)
class Collective(Template):
    """Collective operation by one of several algorithms."""

    algorithm: str = "mpich"
    nbytes: float = DEFAULT_NBYTES

    algorithms: ClassVar[Mapping[str, Algorithm]]

    def __post_init__(self) -> None:
        algorithm = choice("algorithm", self.algorithm, self.algorithms)
        settle(self, algorithm=algorithm, nbytes=size("nbytes", self.nbytes))

    def _steps(self, n_ranks: int) -> list[Step]:
        return self.algorithms[self.algorithm](n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class RootedCollective(Collective):
    """Collective operation with a special rank, by one of several algorithms."""

    algorithm: str = "binomial"
    root: int = 0

    def __post_init__(self) -> None:
        Collective.__post_init__(self)
        settle(self, root=integer("root", self.root, 0))

    def _steps(self, n_ranks: int) -> list[Step]:
        root = check_root(self.root, n_ranks)
        return with_root(self.algorithms[self.algorithm](n_ranks, self.nbytes), root, n_ranks)


@dataclass(frozen=True, slots=True)
class AllReduce(Collective):
    """
    MPI_Allreduce: every rank gets the sum of vectors of `nbytes`.

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
    """MPI_Allgather: every rank gets the blocks of `nbytes` of all."""

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "mpich": allgather_mpich,
        "recursive-doubling": allgather_doubling,
        "bruck": allgather_bruck,
        "ring": allgather_ring,
    }


@dataclass(frozen=True, slots=True)
class ReduceScatter(Collective):
    """MPI_Reduce_scatter_block: every rank gets 1/n of the sum."""

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
    """MPI_Gather: a block from each, up a tree, as MPICH, or all at once."""

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "binomial": gather_binomial,
        "linear": gather_linear,
    }


@dataclass(frozen=True, slots=True)
class Scatter(RootedCollective):
    """MPI_Scatter: a block for each, down a tree, as MPICH, or all at once."""

    algorithms: ClassVar[Mapping[str, Algorithm]] = {
        "binomial": scatter_binomial,
        "linear": scatter_linear,
    }


@dataclass(frozen=True, slots=True)
class RecursiveDoubling(Sized):
    """Allreduce by recursive doubling: RD of Mishra20, figure 3."""

    def _steps(self, n_ranks: int) -> list[Step]:
        return recursive_doubling(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class RecursiveHalvingVectorDoubling(Sized):
    """Allreduce by recursive halving, vector doubling: RHVD of Mishra20."""

    def _steps(self, n_ranks: int) -> list[Step]:
        return halving_doubling(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class Rabenseifner(Sized):
    """Allreduce by Rabenseifner's algorithm, as MPICH: most bytes go near."""

    def _steps(self, n_ranks: int) -> list[Step]:
        return rabenseifner(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class Binomial(Rooted):
    """Broadcast down a binomial tree: Binomial of Mishra20."""

    def _steps(self, n_ranks: int) -> list[Step]:
        root = check_root(self.root, n_ranks)
        return with_root(broadcast_binomial(n_ranks, self.nbytes), root, n_ranks)


@dataclass(frozen=True, slots=True)
class Bruck(Sized):
    """
    Allgather by Bruck's algorithm: the known blocks double in each step.

    For an all-to-all by Bruck's algorithm take ``all-to-all`` with that `algorithm`.
    """

    def _steps(self, n_ranks: int) -> list[Step]:
        return allgather_bruck(n_ranks, self.nbytes)


@dataclass(frozen=True, slots=True)
class Pairwise(Sized):
    """All-to-all by pairwise exchange: n - 1 rounds with one partner each."""

    def _steps(self, n_ranks: int) -> list[Step]:
        return alltoall_pairwise(n_ranks, self.nbytes)
