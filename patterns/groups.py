"""The same communication inside each of many groups of ranks."""

from collections.abc import Sequence

import numpy as np

from patterns.base import Ints, Step
from patterns.volume import replaced


def within(groups: Ints, steps: Sequence[Step]) -> list[Step]:
    """
    Return steps that every group does at the same time.

    `groups` (G, m): ranks of each of G disjoint groups of equal size. `steps`: steps of one group,
    over its members 0..m-1.
    """

    def everywhere(step: Step) -> Step:
        src, dst = groups[:, step.src].ravel(), groups[:, step.dst].ravel()
        return Step(src, dst, np.tile(step.nbytes, len(groups)))

    return replaced(steps, everywhere)
