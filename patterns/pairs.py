"""One partner or two: random pairs, permutations, shifts, rings and chains."""

from dataclasses import dataclass

import numpy as np

from patterns.base import DEFAULT_NBYTES, Sized, Step, Template, integer, integers, settle, size
from patterns.errors import PatternError
from patterns.messages import exchange_step, message_step, seeded


@dataclass(frozen=True, slots=True)
class Pairs(Template):
    """
    Random pairs of ranks exchange messages; an odd rank is idle.

    Pairs of Pollard18, section V: "random-pairs communication".
    """

    nbytes: float = DEFAULT_NBYTES  # bytes of each message; a pair sends one each way
    seed: int = 1  # equal seeds give equal pairs

    def __post_init__(self) -> None:
        settle(self, nbytes=size("nbytes", self.nbytes), seed=integer("seed", self.seed, 0))

    def _steps(self, n_ranks: int) -> list[Step]:
        half = n_ranks // 2
        a, b = seeded(self.seed, n_ranks).permutation(n_ranks)[: 2 * half].reshape(2, half)
        partner = np.arange(n_ranks)  # the idle rank is its own partner
        partner[a], partner[b] = b, a
        return [message_step(np.arange(n_ranks), partner, self.nbytes)]


@dataclass(frozen=True, slots=True)
class Permutation(Template):
    """Every rank sends one message and receives one, in one step."""

    nbytes: float = DEFAULT_NBYTES
    # equal seeds give equal permutations; each permutation without fixed points is as likely
    seed: int = 1
    # the permutation itself, for jobs of just so many ranks: rank i sends to ``to[i]``; a fixed
    # point sends nothing
    to: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        to = None if self.to is None else integers("to", self.to, 0)
        if to is not None and sorted(to) != list(range(len(to))):
            raise PatternError(
                f"to must hold each of 0..{len(to) - 1} once, got {list(to[:8])} "
                f"({len(set(to))} different of {len(to)})."
            )
        nbytes = size("nbytes", self.nbytes)
        settle(self, nbytes=nbytes, seed=integer("seed", self.seed, 0), to=to)

    def _steps(self, n_ranks: int) -> list[Step]:
        here = np.arange(n_ranks)
        if self.to is not None:
            if len(self.to) != n_ranks:
                raise PatternError(
                    f"to is a permutation of {len(self.to)} ranks, the job has {n_ranks}."
                )
            return [message_step(here, np.array(self.to), self.nbytes)]
        random = seeded(self.seed, n_ranks)
        there = random.permutation(n_ranks)
        while np.any(there == here):  # a third of all permutations has no fixed point
            there = random.permutation(n_ranks)
        return [message_step(here, there, self.nbytes)]


@dataclass(frozen=True, slots=True)
class Shift(Template):
    """
    Every rank i sends to rank i + distance, modulo the ranks.

    A distance that is a multiple of the number of ranks sends nothing.
    """

    distance: int = 1  # how far; negative for backwards
    nbytes: float = DEFAULT_NBYTES

    def __post_init__(self) -> None:
        distance = integer("distance", self.distance)
        settle(self, distance=distance, nbytes=size("nbytes", self.nbytes))

    def _steps(self, n_ranks: int) -> list[Step]:
        here = np.arange(n_ranks)
        return [message_step(here, (here + self.distance % n_ranks) % n_ranks, self.nbytes)]


@dataclass(frozen=True, slots=True)
class Ring(Sized):
    """
    Every rank exchanges with the next and the previous of a ring.

    With two ranks, both neighbours are the same rank and get one message.
    """

    def _steps(self, n_ranks: int) -> list[Step]:
        here = np.arange(n_ranks if n_ranks > 2 else 1)  # noqa: PLR2004 (two ranks: one pair)
        return [exchange_step(here, (here + 1) % n_ranks, self.nbytes)]


@dataclass(frozen=True, slots=True)
class NearestNeighbor(Sized):
    """Ranks exchange with those one below and one above: M_nn of Yang."""

    def _steps(self, n_ranks: int) -> list[Step]:
        here = np.arange(n_ranks - 1)
        return [exchange_step(here, here + 1, self.nbytes)]
