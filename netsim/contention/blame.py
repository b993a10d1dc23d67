"""Blame: which other jobs hold a job up, and on which links."""

from dataclasses import dataclass

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


def no_culprits() -> Culprits:
    """
    Return a table without rows.

    Result: of a model that does not tell, or of jobs that nobody holds up.
    """
    none = np.empty(0, dtype=np.int64)
    return Culprits(none, none, none, np.empty(0))
