"""Blame: which other jobs hold a job up, and on which links."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from netsim.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Culprits:
    """
    Shares of the time that jobs lose, as a table with B rows.

    Parameters
    ----------
    victim, culprit : (B,) int array
        Identities of jobs; the rows of a victim are contiguous.
    kind : (B,) int array
        Class of the links where the time is lost, as numbered by who asked.
    share : (B,) float array
        Part of the victim's lost time; the shares of a victim add up to 1. A job that is not
        held up has no rows.
    """

    victim: Ints
    culprit: Ints
    kind: Ints
    share: Floats

    def by_culprit(self) -> dict[int, float]:
        """
        Return the shares of culprits, over all victims and classes of links.

        Result: largest first.
        """
        total: dict[int, float] = {}
        for culprit, share in zip(self.culprit.tolist(), self.share.tolist(), strict=True):
            total[culprit] = total.get(culprit, 0.0) + share
        return dict(sorted(total.items(), key=lambda entry: -entry[1]))


@dataclass(frozen=True, slots=True, eq=False)
class Closers:
    """
    Who closes the pool of links before which a job loses most of what closed pools cost it.

    Parameters
    ----------
    victim : int
        Its identity.
    culprit : (C,) int array
        Who closes the pool.
    kind : int
        Class of the links of the pool.
    closing : (C,) float array
        How much each adds to its closing, above 0.
    slowdown : float
        Interference of the victim, with what it loses here.
    lost : float
        Share of its time that it loses here.
    """

    victim: int
    culprit: Ints
    kind: int
    closing: Floats
    slowdown: float
    lost: float

    @property
    def part(self) -> float:
        """Part of the time lost: s' p / (1 - p) of s - 1, with s = s' / (1 - p)."""
        return min(1.0, self.slowdown * self.lost / (self.slowdown - 1.0))


def with_closers(told: Culprits, closers: Sequence[Closers]) -> Culprits:
    """
    Return shares of the time lost on links joined with those of the time lost before closed pools.

    `told`: of the first. Result: where a victim has none of the second, its rows as they are.
    """
    if not closers:
        return told
    victims = dict.fromkeys(told.victim.tolist())
    part = {own.victim: own.part if own.victim in victims else 1.0 for own in closers}
    victims |= dict.fromkeys(part)
    place = {victim: number for number, victim in enumerate(victims)}
    kept = np.array([1.0 - part.get(victim, 0.0) for victim in told.victim.tolist()])
    sizes = [own.culprit.size for own in closers]
    victim = np.concatenate([told.victim, np.repeat(list(part), sizes)])
    culprit = np.concatenate([told.culprit, *(own.culprit for own in closers)])
    kind = np.concatenate([told.kind, np.repeat([own.kind for own in closers], sizes)])
    share = np.concatenate(
        [
            told.share * kept,
            *(part[own.victim] * own.closing / own.closing.sum() for own in closers),
        ]
    )
    order = np.lexsort((kind, culprit, np.array([place[one] for one in victim.tolist()])))
    rows = np.stack([victim, culprit, kind], axis=1)[order]
    is_first = np.ones(order.size, dtype=np.bool_)
    is_first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    total = np.add.reduceat(share[order], np.flatnonzero(is_first))
    rows = rows[is_first]
    is_there = total > 0.0
    victim, culprit, kind = rows[is_there].T.copy()
    return Culprits(victim, culprit, kind, total[is_there])


class TellsCulprits(Protocol):
    """What a model keeps of a solution from which blame can be told."""

    def culprits(self, jobs: Iterable[int], kinds: Ints | None = None) -> Culprits:
        """
        Return who holds jobs up, and on which class of links.

        Parameters
        ----------
        jobs : iterable of int
            Identities of jobs of the solution.
        kinds : (E,) int array, optional
            Class of each link of the fabric, 0, 1, ...; absent: all are of class 0.

        Returns
        -------
        Culprits
            Shares of each job's lost time.
        """


def no_culprits() -> Culprits:
    """
    Return a table without rows.

    Result: of a model that does not tell, or of jobs that nobody holds up.
    """
    none = np.empty(0, dtype=np.int64)
    return Culprits(none, none, none, np.empty(0))
