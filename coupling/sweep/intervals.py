"""Intervals by the bootstrap: over seeds, and over days of a log."""

from collections.abc import Iterator
from math import ceil, inf, nan, sqrt

import numpy as np

from netsim.common.arrays import Floats, Ints

LEVEL = 0.95
RESAMPLES = 10_000
_AT_ONCE = 2_000_000  # numbers drawn together
FEWEST = 3
"""Samples, or blocks of days, that an interval needs: two say little on how far a third is off."""
FEW = 15  # samples below which resampling leaves the truth out too often
_MANY = 200


def mean_interval(
    values: Floats, *, possible: tuple[float, float] = (-inf, inf)
) -> tuple[float, float]:
    """
    Return an interval for the mean of what independent samples gave.

    Expanded percentile interval of Hesterberg15, section 5.3: quantiles of the means of resampled
    samples, so far out that the interval of few normal samples is as wide as Student's. Below
    `FEW` samples it is Student's itself: no resampling leaves the range of so few.

    `possible`: least and greatest value that the mean can have, where the interval is cut off: that
    of Student knows nothing of them. Result: nan from fewer than `FEWEST` samples.
    """
    count = values.size
    if count < FEWEST:
        return nan, nan
    if count < FEW:
        reach = _student_reach(count) * float(values.std(ddof=1)) / sqrt(count)
        least, most = possible
        mean = float(values.mean())
        return max(mean - reach, min(least, mean)), min(mean + reach, max(most, mean))
    low, high = _interval_quantiles(count)
    means = np.concatenate([values[rows].mean(axis=1) for rows in _resampled_rows(count, count)])
    ends = np.quantile(means, [low, high])
    return float(ends[0]), float(ends[1])


def block_interval(
    here: Floats, there: Floats, *, length: int | None = None
) -> tuple[float, float]:
    """
    Return an interval for the ratio of two sums over days that depend on each other.

    Circular block bootstrap (Politis92), with the quantiles of `mean_interval` for as many samples
    as there are blocks.
    """
    days = here.size
    length = max(1, round(days ** (1 / 3))) if length is None else length
    if days < FEWEST * length:
        return nan, nan
    low, high = _interval_quantiles(days // length)
    steps: Ints = np.arange(length)
    ratios = []
    for starts in _resampled_rows(days, ceil(days / length)):
        rows = ((starts[:, :, None] + steps) % days).reshape(len(starts), -1)[:, :days]
        below = there[rows].sum(axis=1)
        ratios.append(here[rows].sum(axis=1) / np.where(below == 0, nan, below))
    ends = np.nanquantile(np.concatenate(ratios), [low, high])
    return float(ends[0]), float(ends[1])


def _interval_quantiles(count: int) -> tuple[float, float]:
    """Return the quantiles of resampled means that an interval ends at."""
    from scipy.stats import norm  # noqa: PLC0415 (slow to import)

    share = float(norm.cdf(-sqrt(count / (count - 1)) * _student_reach(count)))
    return share, 1.0 - share


def _student_reach(count: int) -> float:
    """Return how many standard errors Student's interval reaches to each side."""
    from scipy.stats import t  # noqa: PLC0415 (slow to import)

    return float(t.ppf((1 + LEVEL) / 2, count - 1))


def _resampled_rows(count: int, picked: int) -> Iterator[Ints]:
    """Yield rows of numbers below a count, drawn with replacement; all rows together."""
    rng = np.random.default_rng(1)
    left = RESAMPLES if count <= _MANY else RESAMPLES // 5  # their quantiles are less far out
    rows = max(1, min(left, _AT_ONCE // max(count, picked)))
    while left > 0:
        yield rng.integers(count, size=(min(rows, left), picked))
        left -= rows
