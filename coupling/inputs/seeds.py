"""Seeds: one for each part of a run that draws, all from the run's seed."""

from collections.abc import Mapping

import numpy as np

DRAWN = ("workload", "communication", "routing", "allocator", "model")
"""Parts with a seed of their own; a new one comes last, as a seed depends on the place."""


def derived_seed(seed: int, part: str) -> int:
    """
    Return the seed of a part where it states none.

    `part`: one of `DRAWN`. Result: 32 bits of numpy's `SeedSequence`, spawned for the part: parts
    draw independently of each other, and runs with neighbouring seeds too.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(DRAWN.index(part),))
    return int(sequence.generate_state(1)[0])


def all_seeds(seed: int, given: Mapping[str, int]) -> dict[str, int]:
    """Return the seed of every part."""
    return {part: given.get(part, derived_seed(seed, part)) for part in DRAWN}


def given_seeds(seed: int, seeds: Mapping[str, int]) -> dict[str, int]:
    """
    Leave out the seeds that follow from the run's.

    Result: those that differ from `derived_seed`.
    """
    return {part: own for part, own in seeds.items() if own != derived_seed(seed, part)}
