"""Claims of a paper decided: its value, ours with an interval, and whether the sentence holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from coupling.papers.paper import Claim, Frames, Published, Values
from netsim.common.arrays import Floats

HOLDS, FAILS = "holds", "does not hold"
QUICK, UNDECIDED = "quick mode cannot tell", "the samples cannot tell"
_LEVEL = 0.95  # of intervals
_WHOLE = 1000  # numbers from which no digits follow the point


@dataclass(frozen=True, slots=True)
class ClaimNumber:
    """A number of a claim."""

    case: str  # Which row of the table it is
    paper: Published | None  # What the paper prints, if anything
    ours: float
    # low, high: its 95 % interval over samples; NaN where there is one sample
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Decision:
    """A claim with its numbers, and what they say of it."""

    claim: Claim
    numbers: tuple[ClaimNumber, ...]
    verdict: str


def summarise(
    table: pd.DataFrame,
    keys: Sequence[str],
    values: Sequence[str],
    *,
    over: Mapping[str, str] | None = None,
    saved: bool = False,
) -> pd.DataFrame:
    """
    Return means over samples with their 95 % intervals, by `keys`.

    With `over`, ratios of means to those of the rows that have these cells and the same other keys.
    With `saved`, by how many per cent these are below 1. The column ``sample``, where there is one,
    pairs rows. Intervals: jackknife over samples and Student's t, of ratios on their logarithms.
    """
    table = table if "sample" in table else table.assign(sample=1)
    if over is not None:
        others = [*(key for key in keys if key not in over), "sample"]
        base = table[np.logical_and.reduce([table[name] == cell for name, cell in over.items()])]
        table = table.join(base.set_index(others)[list(values)].add_suffix(" below"), on=others)
    rows = []
    for cells, own in table.groupby(list(keys), sort=False):
        row = dict(zip(keys, cells, strict=True))
        for value in values:
            below = own[f"{value} below"] if over is not None else pd.Series(1.0, own.index)
            pair = np.asarray(own[value], float), np.asarray(below, float)
            ends = _ratio_of_means(*pair, in_logs=over is not None)
            if saved:
                ends = 100 * (1 - ends[[0, 2, 1]])
            row |= dict(zip((value, f"{value} low", f"{value} high"), ends.tolist(), strict=True))
        rows.append(row)
    return pd.DataFrame(rows)


def differences(
    table: pd.DataFrame,
    keys: Sequence[str],
    value: str,
    column: str,
    pairs: Iterable[Sequence[str]],
) -> pd.DataFrame:
    """Return by how much a number of one policy is above that of another, as ``more``."""
    table = table if "sample" in table else table.assign(sample=1)
    parts = []
    for one, other in pairs:
        own, base = (table[table[column] == name] for name in (one, other))
        both = own.merge(base, on=[*keys, "sample"], suffixes=("", " other"))
        more = both[value] - both[f"{value} other"]
        parts.append(both.assign(pair=f"{one} over {other}", more=more))
    return summarise(pd.concat(parts), ("pair", *keys), ("more",))


def _ratio_of_means(own: Floats, below: Floats, *, in_logs: bool) -> Floats:
    """Return a ratio of means and the ends of its interval; `in_logs`: none below 0."""
    if not below.sum() > 0:
        return np.full(3, np.nan)
    ratio, n = own.sum() / below.sum(), own.size
    rest = below.sum() - below
    if n == 1 or not np.all(rest > 0):
        return np.array([ratio, np.nan, np.nan])
    without = (own.sum() - own) / rest
    in_logs = in_logs and ratio > 0 and bool(np.all(without > 0))
    if in_logs:
        without = np.log(without)
    error = np.sqrt((n - 1) / n * np.square(without - without.mean()).sum())
    half = student.ppf((1 + _LEVEL) / 2, n - 1) * error
    ends = np.array([0.0, -half, half])
    found: Floats = ratio * np.exp(ends) if in_logs else ratio + ends
    return found


def chosen_rows(table: pd.DataFrame, rows: Mapping[str, Sequence[object]]) -> pd.DataFrame:
    """Return the rows whose cells are among those named."""
    for name, cells in rows.items():
        table = table[table[name].isin(list(cells))]
    return table


def published_value(paper: Values, cells: Sequence[str]) -> Published | None:
    """Return what the paper prints for a row."""
    for key, value in paper.items():
        own = (key,) if isinstance(key, str) else key
        if all(one in ("*", cell) for one, cell in zip(own, cells, strict=True)):
            return value
    return None


def decide(claim: Claim, tables: Frames, *, quick: bool) -> Decision:
    """Return a claim with its numbers, and whether it holds."""
    numbers = []
    for row in chosen_rows(tables[claim.table], claim.rows).to_dict("records"):
        cells = [str(row[name]) for name in claim.by]
        paper = published_value(claim.paper, cells)
        if pd.isna(row[claim.value]) or (claim.paper and paper is None):
            continue
        ends = (float(row.get(f"{claim.value} {end}", np.nan)) for end in ("low", "high"))
        numbers.append(ClaimNumber(", ".join(cells), paper, float(row[claim.value]), *ends))
    held = [_number_holds(claim, one) for one in numbers]
    verdict = FAILS if False in held else HOLDS if held and all(held) else UNDECIDED
    if quick and not claim.quick:
        verdict = QUICK
    elif verdict == FAILS and len(held) > 1:
        verdict = f"{FAILS} ({held.count(False)} of {len(held)})"
    elif verdict == UNDECIDED and (quick or not numbers):
        verdict = QUICK if quick else "not run"
    return Decision(claim, tuple(numbers), verdict)


def _number_holds(claim: Claim, number: ClaimNumber) -> bool | None:
    """Say whether a number agrees with its claim; None if its interval has both answers."""
    least, most = claim.least, claim.most
    if claim.near is not None and number.paper is not None:
        ends = np.array(_both_ends(number.paper))
        least = float((ends - claim.near * np.abs(ends)).min())
        most = float((ends + claim.near * np.abs(ends)).max())
    low, high = (number.ours if np.isnan(end) else end for end in (number.low, number.high))
    above = least is None or (True if low >= least else False if high < least else None)
    below = most is None or (True if high <= most else False if low > most else None)
    return False if False in (above, below) else None if None in (above, below) else True


def _both_ends(value: Published) -> tuple[float, float]:
    """Return the ends of what a paper prints."""
    return value if isinstance(value, tuple) else (value, value)


def printed_number(value: float) -> str:
    """Return a number as tables have it: four digits."""
    return "" if np.isnan(value) else f"{value:.0f}" if abs(value) >= _WHOLE else f"{value:.4g}"


def printed_paper(value: Published | None) -> str:
    """Return what a paper prints: a number, a range, or nothing."""
    ends = () if value is None else dict.fromkeys(_both_ends(value))
    return " to ".join(f"{one:g}" for one in ends)


def number_table(decisions: Sequence[Decision]) -> pd.DataFrame:
    """Return one number a row: paper, ours, interval, unit."""
    rows = [
        {
            "where": one.claim.where,
            "claim": one.claim.sentence,
            "case": number.case,
            "unit": one.claim.unit,
            "paper": printed_paper(number.paper),
            "ours": printed_number(number.ours),
            "low": printed_number(number.low),
            "high": printed_number(number.high),
        }
        for one in decisions
        for number in one.numbers
    ]
    return pd.DataFrame(rows)


def claim_table(decisions: Sequence[Decision]) -> pd.DataFrame:
    """Return one claim a row: what the paper says, the numbers here, and the verdict."""
    rows = [
        {
            "where": one.claim.where,
            "the paper says": one.claim.sentence,
            "holds if": _condition_text(one.claim),
            "here": _numbers_text(one),
            "verdict": one.verdict,
            "why they differ": "" if one.verdict == HOLDS else one.claim.why,
        }
        for one in decisions
    ]
    return pd.DataFrame(rows)


def _condition_text(claim: Claim) -> str:
    """Return when a claim holds."""
    if claim.near is not None:
        return f"within {100 * claim.near:g} % of the paper's"
    ends = [f"{word} {end:g}" for word, end in (("at least", claim.least), ("at most", claim.most))
            if end is not None]  # fmt: skip
    return ", ".join(ends)


def _numbers_text(decision: Decision) -> str:
    """Return the numbers of a claim in one cell: one with its interval, or from where to where."""
    numbers = decision.numbers
    if not numbers:
        return ""
    ends = [min(one.ours for one in numbers), max(one.ours for one in numbers)]
    text = " to ".join(dict.fromkeys(printed_number(one) for one in ends))
    text = f"from {text}" if " to " in text else text
    if len(numbers) == 1 and not np.isnan(numbers[0].low):
        text += f" ({printed_number(numbers[0].low)} to {printed_number(numbers[0].high)})"
    return text if decision.claim.unit in ("", "ratio") else f"{text} {decision.claim.unit}"


def decision_text(decision: Decision) -> str:
    """Return a claim in one sentence, with its verdict and the numbers here."""
    claim = decision.claim
    why = f" ({claim.why})" if claim.why and decision.verdict != HOLDS else ""
    verdict = decision.verdict.capitalize()
    if not decision.numbers:
        return f"{claim.where}: {claim.sentence} {verdict}{why}."
    return f"{claim.where}: {claim.sentence} {verdict}: here {_numbers_text(decision)}{why}."


def decision_document(decision: Decision) -> dict[str, Any]:
    """Return a claim with its numbers as JSON has it."""
    claim = decision.claim
    numbers = [
        {
            "case": one.case,
            "paper": one.paper,
            "ours": one.ours,
            "interval": None if np.isnan(one.low) else [one.low, one.high],
        }
        for one in decision.numbers
    ]
    return {
        "where": claim.where,
        "claim": claim.sentence,
        "holds_if": _condition_text(claim),
        "verdict": decision.verdict,
        "unit": claim.unit,
        "numbers": numbers,
        "why": claim.why,
    }
