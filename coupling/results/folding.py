"""Numbers with ascending runs folded, as tables of a result hold nodes and links."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from netsim.common.arrays import Ints


def folded(numbers: Iterable[int]) -> str:
    """
    Write numbers with ascending runs folded.

    `numbers`: in any order, which can be read back.

    Examples
    --------
    >>> folded([4, 5, 6, 9, 2])
    '4-6,9,2'
    """
    return folded_each([np.array(list(numbers), dtype=np.int64)])[0]


def folded_each(lists: Sequence[Ints]) -> list[str]:
    """Write each of some lists as `folded` does, all at once."""
    if not lists:
        return []
    numbers, ends = np.concatenate(lists), np.cumsum([len(own) for own in lists])
    begins = np.ones(numbers.size + 1, dtype=bool)  # of a run; one more for lists of nothing
    begins[1:-1] = np.diff(numbers) != 1
    begins[ends] = True
    first = np.flatnonzero(begins[:-1])
    last = np.append(first, numbers.size)[1:] - 1
    runs = [
        str(a) if a == b else f"{a}-{b}"
        for a, b in zip(numbers[first].tolist(), numbers[last].tolist(), strict=True)
    ]
    until = np.searchsorted(first, ends).tolist()
    return [",".join(runs[a:b]) for a, b in pairwise([0, *until])]
