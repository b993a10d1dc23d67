"""Random disjoint pairs."""

from dataclasses import dataclass

import numpy as np

from patterns.base import Step
from patterns.messages import message_step, non_empty, seeded
from patterns.options import DEFAULT_NBYTES, integer, positive, settle


@dataclass(frozen=True, slots=True)
class Pairs:
    """
    Random disjoint pairs of ranks that exchange messages, in one step.

    With an odd number of ranks one is idle.

    Parameters
    ----------
    nbytes : float
        Bytes of each message; a pair sends one each way.
    seed : int
        Equal seeds give equal pairs.

    Notes
    -----
    Pairs of seed 000, section V: "random-pairs communication".
    """

    nbytes: float = DEFAULT_NBYTES
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the options."""
        settle(self, nbytes=positive("nbytes", self.nbytes), seed=integer("seed", self.seed, 0))

    def steps(self, n_ranks: int) -> list[Step]:
        """
        Return the steps of one iteration.

        Parameters
        ----------
        n_ranks : int
            Ranks of the job, at least 1.

        Returns
        -------
        list of Step
            One step; none for one rank.
        """
        half = n_ranks // 2
        a, b = seeded(self.seed, n_ranks).permutation(n_ranks)[: 2 * half].reshape(2, half)
        partner = np.arange(n_ranks)  # the idle rank is its own partner
        partner[a], partner[b] = b, a
        return non_empty([message_step(np.arange(n_ranks), partner, self.nbytes)])
