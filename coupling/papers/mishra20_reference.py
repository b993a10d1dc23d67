"""Mishra20: what the paper prints, and how values are compared with the default's."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import pandas as pd

DEFAULT = "slurm-best-fit"
OURS = ("greedy", "balanced", "adaptive")
PATTERNS = {"rhvd": "RHVD", "recursive-doubling": "RD", "binomial": "binomial"}
LOGS = ("intrepid", "theta", "mira")
SYNTHETIC = "synthetic"
Values = tuple[float, ...]
Marks = dict[tuple[str, str], float | tuple[float, float]]
Said = TypeVar("Said")
PAPER_HOURS: Mapping[tuple[str, str], tuple[Values, Values]] = {  # Table 3: default, then ours
    ("intrepid", "RHVD"): ((1382, 1351, 1256, 1251), (57, 49, 27, 27)),
    ("intrepid", "RD"): ((1382, 1345, 1264, 1257), (57, 52, 32, 33)),
    ("theta", "RHVD"): ((2189, 1740, 1700, 1663), (45303, 31190, 34539, 33092)),
    ("theta", "RD"): ((2189, 1810, 1731, 1706), (45303, 34901, 35874, 31809)),
    ("mira", "RHVD"): ((3289, 3956, 2342, 2435), (17387, 34966, 3685, 4751)),
    ("mira", "RD"): ((3289, 3285, 2559, 2637), (17387, 15845, 6336, 5631)),
}
PAPER_INDIVIDUAL: Mapping[tuple[str, str], Values] = {  # Table 4, per cent
    ("intrepid", "RHVD"): (3.65, 7.23, 7.81),
    ("intrepid", "RD"): (1.70, 8.12, 8.29),
    ("theta", "RHVD"): (9.65, 9.65, 9.65),
    ("theta", "RD"): (13.56, 13.56, 13.56),
    ("mira", "RHVD"): (10.84, 19.69, 21.71),
    ("mira", "RD"): (9.45, 24.32, 24.91),
}
PAPER_BEST = {"intrepid": (76, 57), "theta": (70, 15), "mira": (82, 61)}  # of a job, 6.3
PAPER_MIXES: Mapping[str, Values] = {  # Figure 6: mean over the three, per cent, A to E
    "intrepid": (2.59, 3.92, 5.49, 3.71, 5.19),
    "theta": (5.89, 8.92, 12.49, 7.94, 11.11),
    "mira": (7.20, 10.90, 15.27, 6.68, 9.36),
}
PAPER_COST: Mapping[tuple[str, str], float] = {  # section 6.4: mean over the three, per cent
    ("intrepid", "RHVD"): 5.72,
    ("intrepid", "RD"): 5.56,
    ("intrepid", "binomial"): 5.72,
    ("theta", "RHVD"): 17.84,
    ("theta", "RD"): 15.88,
    ("theta", "binomial"): 15.87,
    ("mira", "RHVD"): 6.09,
    ("mira", "RD"): 5.48,
    ("mira", "binomial"): 5.40,
}
PAPER_SHARES = {  # section 6.5, Intrepid, per cent: turnaround, then node hours
    ("30%", "adaptive"): (2.55, 2.61),
    ("90%", "adaptive"): (11.10, 7.85),
}
PAPER_SHARES_GREEDY = ((0.6, 2.8), (0.5, 1.9))
PAPER_TURNAROUND = {"theta": 25.7, "mira": 28.7}  # section 6.5, mean over the three


def means(table: pd.DataFrame, keys: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Return means over the draws."""
    return table.groupby(list(keys), sort=False, as_index=False)[list(values)].mean()


def against(table: pd.DataFrame, keys: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Return numbers over those of the default in the same row of keys."""
    base = table[table["allocator"] == DEFAULT].set_index(list(keys))[list(values)]
    base = base.where(base > 0).rename(columns={value: f"{value}/" for value in values})
    joined = table.join(base, on=list(keys))
    return joined.assign(**{f"{value}/": joined[value] / joined[f"{value}/"] for value in values})


def said_of(table: Mapping[tuple[str, str], Said], log: str, kind: str) -> list[Said]:
    """Return what the paper says of a log; of all its logs where the load is synthetic."""
    return [table[one, kind] for one in LOGS if (one, kind) in table and log in (one, SYNTHETIC)]


def either(values: Sequence[float]) -> float | tuple[float, float]:
    """Return a value, or both ends of several."""
    return values[0] if len(set(values)) == 1 else (min(values), max(values))
