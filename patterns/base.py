"""Step and Pattern: messages and their bytes, over ranks 0..n-1."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fabricsim import checking
from fabricsim.checking.units import SIZE, quantity
from patterns.errors import PatternError

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
    channel : (F,) int array, optional
        Adapter by which a collective of GPUs sends each message, -1: that of the receiver's GPU.
    hide_s : float, optional
        Seconds of computation beside this step, and beside those before it that say None: the
        next step starts when both have ended.
    label : str
        What tables call it.
    latency_s : float
        Seconds of all rounds together beside the latency of their messages.
    """

    src: Ints
    dst: Ints
    nbytes: Floats
    rounds: int = 1
    channel: Ints | None = None
    hide_s: float | None = 0.0
    label: str = ""
    latency_s: float = 0.0

    def __repr__(self) -> str:
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


DEFAULT_NBYTES = 2.0**20
"""Bytes of a message where a pattern does not state them: 1 MiB."""

LEAST_BYTES, MOST_BYTES = 1e-3, 1e18
"""Of a message; beyond, sums of bytes and times leave the range of numbers."""


def settle(pattern: object, **values: object) -> None:
    """Store checked values in a frozen dataclass, from its ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(pattern, name, value)


def size(name: str, value: object) -> float:
    """Return the bytes of a number, or of a text such as ``"1 MiB"``."""
    nbytes = quantity(value, SIZE, PatternError, name)
    if not nbytes:
        raise checking.wrong(name, f"{SIZE.expected}, above 0", value, PatternError)
    if not LEAST_BYTES <= nbytes <= MOST_BYTES:
        expected = f"{SIZE.expected}, from {LEAST_BYTES:g} to {MOST_BYTES:g} bytes"
        raise checking.wrong(name, expected, value, PatternError)
    return nbytes


positive = partial(checking.number, positive=True, error=PatternError)
integer = partial(checking.whole, error=PatternError)
integers = partial(checking.wholes, error=PatternError)
choice = partial(checking.choice, error=PatternError)
flag = partial(checking.flag, error=PatternError)


class Template(ABC):
    """Pattern that leaves out empty steps, and has none for a job of one rank."""

    __slots__ = ()

    def steps(self, n_ranks: int) -> list[Step]:
        """Return the steps of an iteration, without empty ones; equal ones may be one object."""
        n_ranks = integer("n_ranks", n_ranks, 1)
        if n_ranks == 1:
            return []
        return [step for step in self._steps(n_ranks) if step.src.size]

    @abstractmethod
    def _steps(self, n_ranks: int) -> Iterable[Step]:
        """Return the steps for at least two ranks; empty ones are allowed."""


@dataclass(frozen=True, slots=True)
class Sized(Template):
    """Pattern that knows one size."""

    nbytes: float = DEFAULT_NBYTES  # bytes, as the pattern says of what

    def __post_init__(self) -> None:
        settle(self, nbytes=size("nbytes", self.nbytes))


@dataclass(frozen=True, slots=True)
class Rooted(Template):
    """Pattern that knows one size and one special rank."""

    nbytes: float = DEFAULT_NBYTES  # bytes, as the pattern says of what
    root: int = 0

    def __post_init__(self) -> None:
        settle(self, nbytes=size("nbytes", self.nbytes), root=integer("root", self.root, 0))


def check_root(root: int, n_ranks: int) -> int:
    """Return the root of a job that has such a rank."""
    if root >= n_ranks:
        raise PatternError(f"root must be a rank of the job, 0..{n_ranks - 1}, got {root}.")
    return root


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
