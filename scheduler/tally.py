"""Tally: what a simulation has done, counted; a regression shows in it without a clock."""

from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """
    Work counted; the copies of a cluster count into the same tally.

    Parameters
    ----------
    allocator_calls : int
        How often an allocator was asked for a placement.
    cluster_copies : int
        Copies made of the machine, to ask what would be.
    rate_changes : int
        How often a job was given a rate, its first one among them.
    """

    allocator_calls: int = 0
    cluster_copies: int = 0
    rate_changes: int = 0
