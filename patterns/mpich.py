"""
Which algorithm MPICH takes for a collective of some size.

The rules and limits are the defaults of MPICH (``MPIR_*_intra_auto`` and the control variables
``MPIR_CVAR_*_MSG_SIZE``), unchanged from version 1.5 to 4: Thakur, Rabenseifner and Gropp,
*Optimization of collective communication operations in MPICH*, 2005, section 4, measured them.
"""

from patterns.base import Step
from patterns.doubling import (
    allgather_doubling,
    rabenseifner,
    recursive_doubling,
    reduce_scatter_halving,
)
from patterns.rounds import (
    allgather_bruck,
    allgather_ring,
    alltoall_bruck,
    alltoall_direct,
    alltoall_pairwise,
    reduce_scatter_pairwise,
)
from patterns.trees import broadcast_binomial, broadcast_scatter_doubling, broadcast_scatter_ring

_WORD = 8  # bytes of a value, a double: Rabenseifner's algorithm needs one for each member
_LONG = 524288  # bytes; BCAST_LONG, ALLGATHER_LONG, REDUCE_SCATTER_COMMUTATIVE_LONG
_BCAST_SHORT, _BCAST_MIN_PROCS = 12288, 8
_ALLGATHER_SHORT = 81920
_ALLREDUCE_SHORT = 2048
_ALLTOALL_SHORT, _ALLTOALL_MEDIUM, _ALLTOALL_MIN_PROCS = 256, 32768, 8


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
