"""
Collective algorithms on a binomial tree, and in one step, with root 0.

Each function takes the number of ranks n and bytes, and returns the steps. The tree is that of
MPICH: the parent of a rank lacks its lowest set bit, and the subtree of a rank is the ranks from
it on, up to the distance to its parent. `with_root` moves the root.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from patterns.base import Floats, Ints, Step
from patterns.doubling import allgather_doubling
from patterns.messages import message_step
from patterns.rounds import allgather_ring


def broadcast_binomial(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a broadcast down the tree, the furthest messages first."""
    return [message_step(src, dst, nbytes) for src, dst, _ in _levels(n_ranks)]


def reduce_binomial(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a reduction up the tree."""
    return _backwards(broadcast_binomial(n_ranks, nbytes))


def allreduce_binomial(n_ranks: int, nbytes: float) -> list[Step]:
    """Return an allreduce made of a reduction to rank 0 and a broadcast."""
    return reduce_binomial(n_ranks, nbytes) + broadcast_binomial(n_ranks, nbytes)


def scatter_binomial(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a scatter down the tree: a message holds what its receiver's subtree needs."""
    return [message_step(src, dst, nbytes * below) for src, dst, below in _levels(n_ranks)]


def gather_binomial(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a gather up the tree."""
    return _backwards(scatter_binomial(n_ranks, nbytes))


def scatter_linear(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a scatter in one step, in which rank 0 sends to all others."""
    here = np.arange(n_ranks)
    return [message_step(np.zeros_like(here), here, nbytes)]


def gather_linear(n_ranks: int, nbytes: float) -> list[Step]:
    """Return a gather in one step, in which all others send to rank 0."""
    return _backwards(scatter_linear(n_ranks, nbytes))


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


def _levels(n_ranks: int) -> list[tuple[Ints, Ints, Floats]]:
    """Return parents, children and size of the children's subtrees, from the root down."""
    levels = []
    for k in reversed(range((n_ranks - 1).bit_length())):
        parent = np.arange(0, n_ranks - (1 << k), 2 << k)
        child = parent + (1 << k)
        levels.append((parent, child, np.minimum(1 << k, n_ranks - child).astype(np.float64)))
    return levels


def _backwards(steps: list[Step]) -> list[Step]:
    """Return the steps in reverse order, each message the other way."""
    return [replace(step, src=step.dst, dst=step.src) for step in reversed(steps)]
