"""Patterns made of patterns: weighted sums, sequences, and the mixes of Mishra20."""

from collections.abc import Sequence as Many
from dataclasses import dataclass
from math import isclose
from typing import cast

import numpy as np

from patterns.base import DEFAULT_NBYTES, Pattern, Step, Template, choice, positive, settle, size
from patterns.collectives import Binomial, RecursiveDoubling, RecursiveHalvingVectorDoubling
from patterns.errors import PatternError
from patterns.messages import injection_bytes, scaled_steps, total_messages

_MIXES = {  # compute share, then share of each collective in the run time
    "A": (0.67, {"rhvd": 0.33}),
    "B": (0.50, {"rhvd": 0.50}),
    "C": (0.30, {"rhvd": 0.70}),
    "D": (0.50, {"recursive-doubling": 0.15, "binomial": 0.35}),
    "E": (0.30, {"recursive-doubling": 0.21, "binomial": 0.49}),
}
_COLLECTIVES = {
    "rhvd": RecursiveHalvingVectorDoubling,
    "recursive-doubling": RecursiveDoubling,
    "binomial": Binomial,
}


@dataclass(frozen=True, slots=True)
class Hybrid(Template):
    """
    Weighted sum of communication matrices, in one step.

    M_hyb = sum of alpha_i M_i, sum of alpha_i = 1, of Yang, section on hybrid communication
    patterns. Since "alpha_i indicates the percentage of communication amount", each M_i is first
    scaled to the same sum.

    Half a chain, half a message from rank 0 to each other rank, 10 bytes a rank.

    >>> from patterns import make_pattern
    >>> chain, fan = {"name": "nearest-neighbor"}, {"name": "one-to-all"}
    >>> spec = {"name": "hybrid", "parts": [chain, fan], "weights": [0.5, 0.5], "nbytes": 10}
    >>> step, = make_pattern(spec).steps(3)
    >>> list(zip(step.src.tolist(), step.dst.tolist(), step.nbytes.tolist(), strict=True))
    [(0, 1, 11.25), (0, 2, 7.5), (1, 0, 3.75), (1, 2, 3.75), (2, 1, 3.75)]
    """

    # patterns; of each, the matrix of all bytes of an iteration counts
    parts: tuple[Pattern, ...] = ()
    weights: tuple[float, ...] = ()  # share of each part in all bytes sent, positive, summing to 1
    # bytes that a rank sends in an iteration, on average over the ranks
    nbytes: float = DEFAULT_NBYTES

    def __post_init__(self) -> None:
        parts = _check_parts(self.parts)
        weights = _check_shares("weights", self.weights, len(parts))
        settle(self, parts=parts, weights=weights, nbytes=size("nbytes", self.nbytes))

    def _steps(self, n_ranks: int) -> list[Step]:
        total = self.nbytes * n_ranks
        matrices = []
        for number, (part, weight) in enumerate(zip(self.parts, self.weights, strict=True)):
            matrix = total_messages(_steps_of_part(number, part, n_ranks), n_ranks)
            matrices += scaled_steps([matrix], weight * total / float(matrix.nbytes.sum()))
        return [total_messages(matrices, n_ranks)]


@dataclass(frozen=True, slots=True)
class Sequence(Template):
    """Patterns one after the other."""

    parts: tuple[Pattern, ...] = ()  # patterns in order
    # share of each part in the communication time of an ideal placement (all injection time),
    # positive, summing to 1; bytes are scaled so, their total injection time stays. Default: the
    # parts as they are.
    shares: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        parts = _check_parts(self.parts)
        shares = None
        if self.shares is not None:
            shares = _check_shares("shares", self.shares, len(parts))
        settle(self, parts=parts, shares=shares)

    def _steps(self, n_ranks: int) -> list[Step]:
        if self.shares is None:
            return [step for part in self.parts for step in part.steps(n_ranks)]
        steps = [_steps_of_part(k, part, n_ranks) for k, part in enumerate(self.parts)]
        injected = np.array([injection_bytes(part, n_ranks) for part in steps])
        factors = np.array(self.shares) * injected.sum() / injected
        pairs = zip(steps, factors.tolist(), strict=True)
        return [step for part, factor in pairs for step in scaled_steps(part, factor)]


@dataclass(frozen=True, slots=True)
class Mix(Template):
    """Mixes A to E of compute and communication (Mishra20, figure 6)."""

    # "A", "B", "C", "D", "E": A, B, C: RHVD, 33, 50 and 70 % of the run time; D: 15 % RD, 35 %
    # binomial; E: 21 % RD, 49 % binomial. D and E are those like CMC2D.
    mix: str = "D"
    # bytes of each collective, before they are scaled to the shares (of injection time)
    nbytes: float = DEFAULT_NBYTES

    def __post_init__(self) -> None:
        settle(self, mix=choice("mix", self.mix, _MIXES), nbytes=size("nbytes", self.nbytes))

    @property
    def comm_fraction(self) -> float:
        """Communication share of the run time that belongs to the mix."""
        return 1 - _MIXES[self.mix][0]

    def _steps(self, n_ranks: int) -> list[Step]:
        share_of = _MIXES[self.mix][1]
        parts = tuple(_COLLECTIVES[name](nbytes=self.nbytes) for name in share_of)
        shares = tuple(share / self.comm_fraction for share in share_of.values())
        return Sequence(parts, shares).steps(n_ranks)


def _check_parts(value: object) -> tuple[Pattern, ...]:
    """Return a non-empty tuple of patterns."""
    parts = tuple(value) if isinstance(value, Many) and not isinstance(value, str) else ()
    if not parts or not all(hasattr(part, "steps") for part in parts):
        raise PatternError(f"parts must be a list of patterns, got {value!r}.")
    return cast("tuple[Pattern, ...]", parts)


def _check_shares(name: str, value: object, n_parts: int) -> tuple[float, ...]:
    """Return one positive number for each part, with sum 1."""
    if not isinstance(value, Many) or isinstance(value, str) or len(value) != n_parts:
        raise PatternError(f"{name} must be a list of {n_parts} numbers, got {value!r}.")
    shares = tuple(positive(f"each entry of {name}", entry) for entry in value)
    if not isclose(sum(shares), 1, abs_tol=1e-9):
        raise PatternError(f"{name} must sum to 1, got {list(shares)} with sum {sum(shares)}.")
    return shares


def _steps_of_part(number: int, part: Pattern, n_ranks: int) -> Many[Step]:
    """Return the steps of a part that must send something, to have a share."""
    steps = part.steps(n_ranks)
    if not steps:
        raise PatternError(f"part {number} of {part} sends nothing among {n_ranks} ranks.")
    return steps
