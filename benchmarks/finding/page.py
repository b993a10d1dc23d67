"""The page of the finding: its tables, and what they say; the words stand in words.md."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.finding.runs import (
    BASELINE,
    ISOLATING,
    LOGS,
    NO_NETWORK,
    SCATTERED,
    SCENARIOS,
    SHARING,
    SYNTHETIC,
)
from coupling.sweep.intervals import mean_interval
from netsim.registries.accuracy import ANY, comparisons
from netsim.topology.switches import SWITCHES

WORDS = Path(__file__).with_name("words.md")
# What isolation costs a whole log where nobody communicates, in makespan: logs.md, columns of
# the infinite network.
PRICE: Mapping[str, Mapping[str, float]] = {
    "Thunder": {"jigsaw": 42.6 / 41.0 - 1, "ta": 44.6 / 41.0 - 1},
    "Atlas": {"jigsaw": 85.7 / 81.6 - 1, "ta": 90.8 / 81.6 - 1},
}
MIXES = ("near", "mixed", "far")
LOADS = {"phases": "compute phases", "always": "always communicating"}
_KEYS = ["log", "allocator", "model", "mix", "fraction"]
_AGAINST = {BASELINE: "`first-free`", SCATTERED: "`random`"}
_COLUMNS = ["log", "allocator", "patterns", "fraction", "assumption", "quantity"]
_COLUMNS += ["value", "low", "high", "unit"]
_FAR_BEYOND = 1.5  # times what Baseline loses under the boldest assumption


def biases() -> dict[str, float]:
    """Return the part of the true excess that the model is known to find: by load, and its span."""
    buffer_bytes = SWITCHES["codes"].buffer_bytes  # as the experiment files have it
    like = [
        row
        for row in comparisons()
        if (row.model, row.machine, row.routing, row.buffer_bytes)
        == ("fluid", "full fat-tree", "d-mod-k", buffer_bytes)
    ]
    found = {row.load: row.bias for row in like if row.traffic_class == ANY}
    every = [row.bias for row in like]
    by_load = {name: found[load] for name, load in LOADS.items()}
    return {**by_load, "least": min(every), "most": max(every)}


def losses(found: pd.DataFrame) -> pd.DataFrame:
    """
    Return the node time lost to neighbours, with intervals over draws.

    Columns ``log``, ``allocator``, ``scenario`` (empty: it emerged), ``mix``, ``fraction``,
    ``loss``, ``low`` and ``high``; losses are fractions of the work of the jobs.
    """
    assumed_rows = found[(found["part"] == "assumed") & (found["model"] != NO_NETWORK)]
    simulated = found[found["part"].isin(["simulated", "sharing"])]
    table = []
    for keys, own in pd.concat([simulated, assumed_rows]).groupby(_KEYS, sort=False):
        row = dict(zip(_KEYS, keys, strict=True))
        assumed = own["part"].iloc[0] == "assumed"
        values = own.sort_values("draw")["neighbours"].to_numpy(dtype=np.float64)
        loss, (low, high) = float(values.mean()), mean_interval(values)
        model = row.pop("model")
        row |= {"scenario": model if assumed else "", "loss": loss, "low": low, "high": high}
        table.append(row)
    return pd.DataFrame(table)


def page(made: Mapping[str, Any], found: pd.DataFrame) -> str:
    """Return the page; `made`: the bias of the model, and by log when and with what it was run."""
    every = losses(found)
    table = every[every["log"].isin(list(LOGS))]
    emergent = table[table["scenario"] == ""]
    compact = emergent[emergent["allocator"] == BASELINE]
    least = compact[compact["fraction"] == compact["fraction"].min()]
    jobs = [
        f"{log} {found[found['log'] == log].drop_duplicates('draw')['jobs'].sum():,} jobs"
        for log in LOGS
    ]
    return WORDS.read_text(encoding="utf-8").format(
        made=_made(made["logs"]),
        synthetic=_synthetic(found, every[every["log"].isin(list(SYNTHETIC))]),
        synthetic_jobs=f"{found[found['log'].isin(list(SYNTHETIC))]['jobs'].max():,}",
        pays=_markdown(
            [
                "log",
                "Jigsaw costs",
                *(f"{name}, {mix}" for name in _AGAINST.values() for mix in MIXES),
            ],
            [_pays(emergent, log) for log in LOGS],
        ),
        nearest=_nearest_table(table),
        shorter_compact=_shorter(found, emergent, BASELINE),
        shorter_scattered=_shorter(found, emergent, SCATTERED),
        ratio=f"{_ratio(emergent):.0f}",
        least=f"{least['fraction'].min():g}",
        least_loss=_share(least["loss"].max()),
        draws=found["draw"].nunique(),
        price=_price_table(found),
        jobs=", ".join(jobs),
        cells=f"{len(found):,}",
        bias_phases=f"{made['bias']['phases']:.2f}",
        bias_always=f"{made['bias']['always']:.2f}",
    )


def numbers(found: pd.DataFrame) -> pd.DataFrame:
    """
    Return all numbers of the finding, one a row.

    Columns ``log``, ``allocator``, ``patterns``, ``fraction``, ``assumption`` (empty: simulated),
    ``quantity``, ``value``, ``low``, ``high`` (95 %) and ``unit``.
    """
    rows = []
    for _, row in losses(found).iterrows():
        keys = [row["log"], row["allocator"], row["mix"], row["fraction"], row["scenario"]]
        lost = [100 * row[name] for name in ("loss", "low", "high")]
        rows.append([*keys, "node time lost to interference", *lost, "% of work"])
        if row["allocator"] in _AGAINST:
            change = [100 * value for value in _interval(*_pair(found, row))]
            rows.append([*keys, "makespan of jigsaw against it", *change, "%"])
    for log, allocator in product((*LOGS, *SYNTHETIC), (*ISOLATING, SHARING)):
        base, own = _nobody(found, log, BASELINE), _nobody(found, log, allocator)
        for quantity in ("makespan", "turnaround"):
            change = [100 * value for value in _interval(own, base, f"{quantity}_h")]
            what = f"{quantity} against {BASELINE}"
            rows.append([log, allocator, "", 0.0, "no communication", what, *change, "%"])
    placed = found[found["part"] == "placed"]
    for (log, fraction, allocator), own in placed.groupby(["log", "fraction", "allocator"]):
        for name in ("neighbours", "placement"):
            value = 100 * own[name].to_numpy(dtype=np.float64)
            what = f"node time lost to {name}, both counted"
            ends = [value.mean(), *mean_interval(value)]
            rows.append([log, allocator, "mixed", fraction, "", what, *ends, "% of work"])
    table = pd.DataFrame(rows, columns=_COLUMNS)
    return table.round(2).reset_index(drop=True)


def _made(logs: Mapping[str, Mapping[str, str]]) -> str:
    """Say when and with what the logs were run."""
    alike: dict[str, list[str]] = {}
    for log, one in logs.items():
        model = one.get("model", "phased")  # of records that do not name it
        what = f"{one['date']}, fabricsim {one['fabricsim']}, model `{model}` as of"
        alike.setdefault(f"{what} {one['model_code']}", []).append(log)
    return "; ".join(f"{', '.join(names)} on {what}" for what, names in alike.items())


def _synthetic(found: pd.DataFrame, table: pd.DataFrame) -> str:
    """Say in how many settings of the synthetic logs isolation pays for sure."""
    own = table[table["scenario"] == ""]
    parts = [f"{_shorter(found, own, one)} against {name}" for one, name in _AGAINST.items()]
    return "Jigsaw is shorter in " + ", and in ".join(parts)


def _share(value: float) -> str:
    """Write a fraction in per cent."""
    return f"{value * 100:.1f} %"


def _pays(emergent: pd.DataFrame, log: str) -> list[str]:
    """Return what Jigsaw costs a log, and from which communication fractions on it gains more."""
    price = PRICE[log]["jigsaw"]
    own = emergent[emergent["log"] == log]
    ends = [
        _even(own[(own["allocator"] == allocator) & (own["mix"] == mix)], price)
        for allocator in _AGAINST
        for mix in MIXES
    ]
    return [log, _share(price), *ends]


def _even(own: pd.DataFrame, price: float) -> str:
    """Return the fraction from which on losses exceed a price, by log-linear interpolation."""
    own = own.sort_values("fraction")
    fractions = own["fraction"].to_numpy(dtype=np.float64)
    lost = np.log(own["loss"].to_numpy(dtype=np.float64))
    if lost[0] >= np.log(price):
        return f"below {fractions[0]:g}"
    if lost[-1] < np.log(price):
        return "none"
    at = int(np.argmax(lost >= np.log(price)))
    return f"{np.interp(np.log(price), lost[at - 1 : at + 1], fractions[at - 1 : at + 1]):.2f}"


def _nearest_table(table: pd.DataFrame) -> str:
    """Return which assumptions were nearest, by fraction, over logs and patterns."""
    own = table[table["scenario"] == ""]
    order = ["nothing", *SCENARIOS, "more than all"]
    rows = []
    for fraction, alike in own.groupby("fraction"):
        row = [f"{fraction:g}"]
        for allocator in _AGAINST:
            same = alike[alike["allocator"] == allocator]
            pairs = zip(same["log"], same["loss"], strict=True)
            names = {nearest(table, str(log), value) for log, value in pairs}
            row.append(", ".join(sorted(names, key=order.index)).replace("%", " %"))
        rows.append(row)
    return _markdown(["fraction", *(f"against {name}" for name in _AGAINST.values())], rows)


def nearest(table: pd.DataFrame, log: str, loss: float) -> str:
    """Return the assumption under which Baseline loses most nearly as much."""
    assumed_rows = (
        table[table["log"] == log].drop_duplicates("scenario").set_index("scenario")["loss"]
    )
    known = {"nothing": 0.0} | {name: float(assumed_rows[name]) for name in SCENARIOS}
    if loss > _FAR_BEYOND * max(known.values()):
        return "more than all"
    return min(known, key=lambda name: abs(known[name] - loss))


def _ratio(emergent: pd.DataFrame) -> float:
    """Return how many times more random nodes lose, in the median of all communication."""
    wide = emergent.pivot_table(
        index=["log", "mix", "fraction"], columns="allocator", values="loss"
    )
    return float((wide[SCATTERED] / wide[BASELINE]).median())


def _shorter(found: pd.DataFrame, emergent: pd.DataFrame, allocator: str) -> str:
    """Count the settings in which isolation makes the parts shorter for sure."""
    rows = [row for _, row in emergent[emergent["allocator"] == allocator].iterrows()]
    sure = [row for row in rows if _interval(*_pair(found, row))[2] < 0.0]
    if not sure:
        return f"none of {len(rows)} settings"
    least = min(row["fraction"] for row in sure)
    return f"{len(sure)} of {len(rows)} settings, from a fraction of {least:g} on"


def _pair(found: pd.DataFrame, row: pd.Series) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs of Jigsaw, and those of a row."""
    own = found[(found["log"] == row["log"]) & (found["allocator"] == row["allocator"])]
    if row["scenario"]:
        own = own[own["model"] == row["scenario"]]
    else:
        own = own[(own["part"] == "simulated") & (own["mix"] == row["mix"])]
        own = own[own["fraction"] == row["fraction"]]
    return _nobody(found, str(row["log"]), "jigsaw"), own


def _nobody(found: pd.DataFrame, log: str, allocator: str) -> pd.DataFrame:
    """Return the runs of a policy in which nobody meets anybody."""
    own = (found["part"] == "assumed") & (found["model"] == NO_NETWORK)
    return found[own & (found["log"] == log) & (found["allocator"] == allocator)]


def _paired(here: pd.DataFrame, there: pd.DataFrame, value: str) -> str:
    """Write the relative difference of two runs, over draws, with its interval."""
    mean, low, high = _interval(here, there, value)
    return f"{mean * 100:+.0f} % ({low * 100:+.0f} to {high * 100:+.0f})"


def _interval(
    here: pd.DataFrame, there: pd.DataFrame, value: str = "makespan_h"
) -> tuple[float, float, float]:
    """Return the relative difference of two runs over draws: mean, and the ends of its interval."""
    both = here.set_index("draw")[value] / there.set_index("draw")[value] - 1.0
    return float(both.mean()), *mean_interval(both.to_numpy(dtype=np.float64))


def _price_table(found: pd.DataFrame) -> str:
    """Return what each policy costs the real logs where no job communicates."""
    rows = []
    for log, allocator in product(LOGS, ISOLATING):
        base, own = _nobody(found, log, BASELINE), _nobody(found, log, allocator)
        whole = PRICE[log].get(allocator)
        last = "" if whole is None else f"{whole * 100:+.1f} %"
        both = [_paired(own, base, value) for value in ("makespan_h", "turnaround_h")]
        rows.append([log, allocator, *both, last])
    heads = ["log", "allocator", "makespan of the parts", "mean turnaround", "makespan, whole log"]
    return _markdown(heads, rows)


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    lines = [" | ".join(row) for row in (heads, ["---"] * len(heads), *rows)]
    return "\n".join(f"| {line} |" for line in lines)
