"""Step and Pattern: messages and their bytes, over ranks 0..n-1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """
    Messages sent at once; the next step starts when all have arrived.

    Parameters
    ----------
    src, dst : (F,) int array
        Sending and receiving rank of each message; never equal.
    nbytes : (F,) float array
        Bytes of each message, positive: of all rounds together.
    rounds : int
        Equal rounds that follow each other, as in a ring: each sends 1/rounds of the bytes and
        starts when all messages of the round before have arrived.
    """

    src: Ints
    dst: Ints
    nbytes: Floats
    rounds: int = 1

    def __repr__(self) -> str:
        """Return one line."""
        rounds = f" in each of {self.rounds} rounds" if self.rounds > 1 else ""
        return f"<Step: {self.src.size} messages{rounds}, {self.nbytes.sum():g} bytes>"


class Pattern(Protocol):
    """
    Communication of one iteration of a job, as steps over ranks 0..n-1.

    A pattern is an immutable, hashable value (a frozen dataclass): equal patterns give
    equal steps, random ones through a ``seed`` of their own.
    """

    def steps(self, n_ranks: int) -> Sequence[Step]:
        """
        Return the steps of one iteration.

        Parameters
        ----------
        n_ranks : int
            Ranks of the job, at least 1.

        Returns
        -------
        sequence of Step
            In order; empty steps are left out, so a job of one rank has none. Neighbours with
            the same messages may be one step of several rounds.

        Raises
        ------
        PatternError
            If the pattern does not exist for so many ranks.
        """

    def __hash__(self) -> int:
        """Return a hash that equal patterns share; the steps of a pattern can be cached."""
