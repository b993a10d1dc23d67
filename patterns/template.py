"""What all patterns of this package share: the rules of `steps`, and the commonest options."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

from patterns.base import Step
from patterns.errors import PatternError
from patterns.options import DEFAULT_NBYTES, integer, settle, size


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
        """Check the options."""
        settle(self, nbytes=size("nbytes", self.nbytes))


@dataclass(frozen=True, slots=True)
class Rooted(Template):
    """Pattern that knows one size and one special rank."""

    nbytes: float = DEFAULT_NBYTES  # bytes, as the pattern says of what
    root: int = 0

    def __post_init__(self) -> None:
        """Check the options."""
        settle(self, nbytes=size("nbytes", self.nbytes), root=integer("root", self.root, 0))


def check_root(root: int, n_ranks: int) -> int:
    """Return the root of a job that has such a rank."""
    if root >= n_ranks:
        raise PatternError(f"root must be a rank of the job, 0..{n_ranks - 1}, got {root}.")
    return root
