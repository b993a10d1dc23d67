"""Where the ranks of a job go: slots 0..k-1, one for each node, with several ranks on each."""

from collections.abc import Sequence

import numpy as np

from patterns.base import Ints, choice, integer, integers
from patterns.errors import PatternError

MAPPINGS = ("block", "round-robin")


def slot_of_rank(mapping: str | Sequence[int], n_ranks: int, ranks_per_slot: int = 1) -> Ints:
    """
    Return the slot of each rank.

    `mapping` {"block", "round-robin"} or sequence of int: ``"block"`` fills one slot after the
    other, ``"round-robin"`` deals ranks out in turn; or the slot of each rank. `n_ranks`: ranks of
    the job, at least 1. Result (n,): slot of each rank; all of 0..k-1 occur, none more than
    `ranks_per_slot` times.

    Examples
    --------
    >>> slot_of_rank("block", 5, 2), slot_of_rank("round-robin", 5, 2)
    (array([0, 0, 1, 1, 2]), array([0, 1, 2, 0, 1]))
    """
    n_ranks = integer("n_ranks", n_ranks, 1)
    limit = integer("ranks_per_slot", ranks_per_slot, 1)
    n_slots = -(-n_ranks // limit)
    if isinstance(mapping, str):
        rank = np.arange(n_ranks)
        block = choice("mapping", mapping, MAPPINGS) == "block"
        return rank // limit if block else rank % n_slots
    slots = np.array(integers("mapping", mapping, 0), dtype=np.int64)
    if slots.size != n_ranks:
        raise PatternError(f"mapping must have {n_ranks} entries, one a rank, got {slots.size}.")
    used = np.bincount(slots)
    if used.min() == 0:
        raise PatternError(f"mapping must use all of its slots; slot {used.argmin()} is empty.")
    if used.max() > limit:
        raise PatternError(
            f"mapping must put at most {limit} ranks on a slot; "
            f"slot {used.argmax()} has {used.max()}."
        )
    return slots
