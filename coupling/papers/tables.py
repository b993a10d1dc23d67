"""Claims of a paper as one number a row: what it is, its unit, the paper's value and ours."""

import re
from collections.abc import Sequence

import pandas as pd

from coupling.papers.paper import Claim

NUMBER_HEADS = (
    *("where", "quantity", "unit", "paper", "ours", "low", "high", "statement", "why they differ"),
)
_NUMBER = re.compile(
    r"(?:(?P<name>[^\d-].*?) )?(?P<low>-?\d[\d.]*)(?:-(?P<high>-?\d[\d.]*))? ?(?P<unit>%|h)?"
)
_UNITS = (  # of a quantity, by its words
    (r"^%| in %|utilisation, |nodes that LaaS holds|capacity lost|isolated jobs", "%"),
    (r"points", "percentage points"),
    (r" in h\b|wait in h", "h"),
    (r"ms per job", "ms"),
    (r" in s\b", "s"),
    (r"hops|APH", "hops"),
    (r": (jobs|nodes)|gap of", "count"),
)


def numbers_of(claims: Sequence[Claim]) -> list[tuple[str, ...]]:
    """Return the numbers of claims, one a row of `NUMBER_HEADS`."""
    # A range is two rows. Claims without a number of ours are left out.
    rows: list[tuple[str, ...]] = []
    where, before = "", ""
    for claim in claims:
        where = claim.where or where
        what = re.sub(r"^the same(?: with|,)? ?", f"{before}, ", claim.what)
        before = claim.what if what == claim.what else before
        ours = [_NUMBER.fullmatch(cell) for cell in claim.ours.split(", ")]
        paper = [_NUMBER.fullmatch(cell) for cell in claim.paper.split(", ")]
        ends = [tuple(one.split("-")) for one in claim.interval.split(", ") if one]
        ends = ends or [("", "")] * len(ours)
        alike = all(paper) and (1 < len(paper) <= len(ours) or len(paper) == len(ours))
        for at, (name, own) in enumerate(zip(_items(what, len(ours)), ours, strict=True)):
            if own is None:
                continue
            theirs = paper[at] if alike and at < len(paper) else None
            exact = alike and not any(cell and cell["name"] for cell in paper)
            said = "" if exact else claim.paper
            quantity = f"{name}, {own['name']}" if own["name"] else name
            for end in ("low", "high") if own["high"] else ("low",):
                label = {"low": ", least", "high": ", most"}[end] if own["high"] else ""
                value = "" if theirs is None else theirs[end] or theirs["low"]
                unit = own["unit"] or _unit(quantity)
                row = (where, quantity + label, unit, value, own[end], *ends[at], said, claim.why)
                rows.append(row)
    return rows


def _items(what: str, count: int) -> list[str]:
    """Return what each of the numbers of a claim is: ``of A, B, C`` or ``: A, B, C`` name them."""
    if count == 1:
        return [what]
    head, mark, tail = what.rpartition(": ") if ": " in what else what.partition(" of ")
    names = re.split(r"[,;] ", tail)
    rest = "".join(f", {one}" for one in names[count:])
    if not mark or len(names) < count:
        return [what] * count
    return [f"{head}{rest}: {name}" for name in names[:count]]


def _unit(quantity: str) -> str:
    """Return the unit of a number that has none beside it."""
    return next((unit for words, unit in _UNITS if re.search(words, quantity)), "ratio")


def span(values: Sequence[float] | pd.Series, digits: int, unit: str = "") -> str:
    """Return from where to where values go."""
    own = [float(value) for value in values]
    if not own:
        return "-"
    ends = dict.fromkeys(f"{value:.{digits}f}" for value in (min(own), max(own)))
    return "-".join(ends) + unit


def pivot(
    table: pd.DataFrame, row: str, column: str, value: str, digits: int, *, heads: Sequence[str]
) -> list[list[str]]:
    """Return a number by two columns as rows of cells; `heads` give their order."""
    rows = list(dict.fromkeys(table[row]))
    known = table.set_index([row, column])[value]
    return [
        [r, *(f"{known[r, c]:.{digits}f}" if (r, c) in known.index else "-" for c in heads[1:])]
        for r in rows
    ]


def long(table: pd.DataFrame, kind: str, value: str, run: str = "policy") -> pd.DataFrame:
    """Return a table as charts take it."""
    return pd.DataFrame(
        {"class": table[kind], "run": table[run], "ours": table[value]}
    ).reset_index(drop=True)
