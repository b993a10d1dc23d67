"""Which factor matters most: the share of a variance that each explains."""

from math import nan

import numpy as np
import pandas as pd

from coupling.sweep.factors import is_seed

REST = "together, and by chance"
_MOST_LEVELS = 8  # of a number; more values are put into classes of equal count
_CLASSES = 5


def explained(outcome: pd.Series, factors: pd.DataFrame) -> dict[str, float]:
    """
    Return the share of the variance of an outcome that each factor explains alone.

    Epsilon squared of a one-way analysis of variance, (SS - df MS_within) / SS_total (Kelley35),
    which is 0 in the mean for a factor without effect; negative ones count 0.
    """
    known = outcome.notna().to_numpy()
    values, table = outcome[known].reset_index(drop=True), factors[known].reset_index(drop=True)
    total = float(((values - values.mean()) ** 2).sum())
    if len(values) < 2 or total <= 1e-12 * max(1.0, float((values**2).sum())):  # noqa: PLR2004
        return {}
    shares = {str(name): _share(values, _levels(table[name]), total) for name in table}
    left = 1.0 - sum(share for share in shares.values() if not np.isnan(share))
    return {**shares, REST: max(0.0, left)}


def _levels(column: pd.Series) -> pd.Series:
    """Return the classes of a factor."""
    numbers = pd.api.types.is_numeric_dtype(column) and not is_seed(str(column.name))
    if numbers and column.nunique() > _MOST_LEVELS:
        return pd.qcut(column, _CLASSES, labels=False, duplicates="drop")
    return column


def _share(values: pd.Series, levels: pd.Series, total: float) -> float:
    """Return the share of a variance that classes explain."""
    groups = values.groupby(levels)
    n_levels, n_values = groups.ngroups, len(values)
    if n_levels == 1:
        return 0.0
    if 2 * n_levels > n_values:
        return nan
    within = float(((values - groups.transform("mean")) ** 2).sum())
    spread = total - within - (n_levels - 1) * within / (n_values - n_levels)
    return max(0.0, spread / total)
