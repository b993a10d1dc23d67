"""
Collective algorithms in which all ranks do the same in every round.

Each function takes the number of ranks and bytes, and returns the steps; a step may be empty
for one rank. n stands for the number of ranks.
"""

import numpy as np

from patterns.base import Step
from patterns.messages import message_step, repeated


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
        return _shifts(n_ranks, nbytes)
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
    return _ring(n_ranks, nbytes, n_ranks - 1)


def reduce_scatter_ring(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a reduce-scatter in which each block gathers its sum in n - 1 rounds of a ring."""
    return _ring(n_ranks, nbytes / n_ranks, n_ranks - 1)


def reduce_scatter_pairwise(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a reduce-scatter in which a rank sends a block to rank + k in round k."""
    return _shifts(n_ranks, nbytes / n_ranks)


def allreduce_ring(n_ranks: int, nbytes: float) -> list[Step]:
    """Return an allreduce of a reduce-scatter and an allgather round the ring."""
    return _ring(n_ranks, nbytes / n_ranks, 2 * (n_ranks - 1))


def _ring(n_ranks: int, nbytes: float, rounds: int) -> list[Step]:
    """Return one step of rounds in which each rank sends so many bytes to the next."""
    here = np.arange(n_ranks)
    return [repeated(message_step(here, (here + 1) % n_ranks, nbytes), rounds)] if rounds else []


def _shifts(n_ranks: int, nbytes: float) -> list[Step]:
    """Return n - 1 rounds in which each rank sends one rank further."""
    here = np.arange(n_ranks)
    return [message_step(here, (here + k) % n_ranks, nbytes) for k in range(1, n_ranks)]


def _powers_below(n_ranks: int) -> list[int]:
    """Return the powers of two below a number, smallest first."""
    return [1 << k for k in range((n_ranks - 1).bit_length())]
