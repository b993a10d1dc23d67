"""Make steps from messages: the small parts that patterns are built of."""

import numpy as np

from patterns.base import Floats, Ints, Step


def message_step(src: Ints, dst: Ints, nbytes: float | Floats) -> Step:
    """
    Return a step of messages, those of a rank to itself left out.

    `src`, `dst` (F,): sending and receiving rank.
    """
    size = np.broadcast_to(np.asarray(nbytes, dtype=np.float64), src.shape)
    apart = src != dst
    if apart.all():
        return Step(src.astype(np.int64), dst.astype(np.int64), size.copy())
    return Step(src[apart].astype(np.int64), dst[apart].astype(np.int64), size[apart])


def exchange_step(a: Ints, b: Ints, nbytes: float) -> Step:
    """
    Return a step of pairs that send to each other, in order of sender, then receiver.

    `a`, `b` (P,): the two ranks of each pair, never equal.
    """
    src, dst = np.concatenate([a, b]), np.concatenate([b, a])
    order = np.lexsort((dst, src))
    return message_step(src[order], dst[order], nbytes)


def seeded(seed: int, n_ranks: int) -> "np.random.Generator":
    """Return the random generator of a pattern for a job of so many ranks."""
    return np.random.default_rng([seed, n_ranks])


def first_of_each_pair(src: Ints, dst: Ints, n_ranks: int) -> Ints:
    """
    Return which messages are the first from their sender to their receiver.

    `src`, `dst` (F,): sending and receiving rank. Result (K,): positions of those messages, in
    order of sender, then receiver.
    """
    first: Ints = np.unique(src * n_ranks + dst, return_index=True)[1]
    return first
