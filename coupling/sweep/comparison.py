"""What a sweep says: paired differences with intervals, ranks, and what they depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import Any

import numpy as np
import pandas as pd

from coupling.errors import ResultError
from coupling.results.comparison import BASELINE_NAMES
from coupling.results.summary import size_class_names
from coupling.sweep.factors import SAMPLE, is_policy, is_seed
from coupling.sweep.intervals import block_interval, mean_interval
from coupling.sweep.sweep import ALL, METRICS, Comparison, Sweep
from fabricsim.checking import choice, unknown

OVER = ("seeds", "days")
_BY_CLASS = {
    "mean_turnaround_s": "turnaround_s",
    "mean_wait_s": "wait_s",
    "mean_network_slowdown": "network_slowdown",
    "mean_interference": "interference",
}
"""Column of the sums by class that has what a number of the summary is the mean of."""
_SUMS = {"node_hours": "node_s"}
_MORE_IS_BETTER = ("utilization", "throughput")
POLICY = "policy"
SILENT = "no traffic"
_ROW = [POLICY, "metric", "by", "class", "baseline", "mean", "difference", "low", "high", "samples"]
_TWO = 2
REST = "together, and by chance"
"""The share of a variance that no factor explains alone."""
_MOST_LEVELS = 8  # of a number; more values are put into classes of equal count
_CLASSES = 5


def better(metric: str) -> int:
    """Say which way is better."""
    return 1 if metric.startswith(_MORE_IS_BETTER) else -1


def possible(metric: str) -> tuple[float, float]:
    """Return the least and greatest value that a number of the summary can have."""
    if metric.startswith("utilization"):
        return 0.0, 1.0
    ratios = ("slowdown", "interference", "placement_factor")
    return (1.0 if metric.endswith(ratios) else 0.0), inf


def compare_policies(
    sweep: Sweep,
    *,
    baseline: str | None = None,
    metrics: Sequence[str] = METRICS,
    by: Sequence[str] = (),
    over: str = "seeds",
) -> Comparison:
    """Compare the policies of a sweep, sample by sample, as `Sweep.compare` says."""
    choice("over", over, OVER, error=ResultError)
    factors = list(sweep.plan.spec.design.factors)
    policies = _policy_factors(factors, by)
    metrics = tuple(metrics)
    for metric in metrics:
        if metric not in sweep.cells.select_dtypes("number"):
            known = sorted(set(METRICS) & set(sweep.cells))
            numbers = unknown("metric", metric, known)
            raise ResultError(f"{numbers[:-1]}, or another summary number.")
    cells = sweep.cells.assign(**{POLICY: _policy_names(sweep.cells, policies)})
    names = list(dict.fromkeys(cells[POLICY]))
    sides = _Sides.of(factors, policies, _baseline_policy(names, baseline))
    labels = cells[["cell", POLICY, *sides.rest]]
    tables = [_of_metric(cells, metric, sides) for metric in metrics]
    if over == "days":
        days = sweep.days.merge(labels, on="cell")
        tables = [_over_days(table, days, sides.baseline) for table in tables]
    else:
        classes = sweep.classes.merge(labels, on="cell")
        tables += [
            _of_classes(classes, metric, kind, sides)
            for metric in metrics
            if metric in _BY_CLASS
            for kind in ("size", "pattern")
        ]
    first = _wide_table(cells, metrics[0], sides)
    pairs = _relative_differences(first, sides)
    return Comparison(
        sides.baseline,
        metrics,
        over,
        pd.concat(tables, ignore_index=True),
        _win_counts(first, sides.baseline, better(metrics[0])),
        _variance_shares(cells, pairs, metrics[0], sides),
        pairs.reset_index(),
        _unlike_samples(cells, sides),
    )


@dataclass(frozen=True, slots=True)
class _Sides:
    """Policy to compare with; factors of a sample except the policy; those of chance among them."""

    baseline: str
    rest: tuple[str, ...]
    units: tuple[str, ...]

    @classmethod
    def of(cls, factors: Sequence[str], policies: Sequence[str], baseline: str) -> _Sides:
        """Part the factors of a sweep."""
        rest = tuple(name for name in factors if name not in policies)
        return cls(baseline, rest, tuple(name for name in rest if is_seed(name)))


def _policy_factors(factors: Sequence[str], by: Sequence[str]) -> list[str]:
    """Return the factors whose values are compared."""
    for name in by:
        if name not in factors:
            raise ResultError(unknown("factor", name, factors))
    found = list(by) or [name for name in factors if is_policy(name)]
    if not found:
        raise ResultError(
            "expected a factor to compare, such as scheduler.allocator, got a sweep over "
            f"{', '.join(factors)}; name one of them with --by."
        )
    return found


def _policy_names(cells: pd.DataFrame, policies: Sequence[str]) -> pd.Series:
    """Return what tables call the policy of each cell."""
    varied = [name for name in policies if len(cells[name].unique()) > 1] or list(policies)
    return cells[varied].astype(str).agg(" / ".join, axis=1)


def _baseline_policy(names: Sequence[str], asked: str | None) -> str:
    """Return the policy that the others are compared with."""
    if len(names) < _TWO:
        raise ResultError(f"expected two policies to compare, got {', '.join(names)} alone.")
    if asked is not None and asked not in names:
        raise ResultError(f"--baseline: {unknown('policy', asked, names)}")
    known = [name for name in BASELINE_NAMES if name in names]
    return asked or (known[0] if known else names[0])


def _wide_table(cells: pd.DataFrame, metric: str, sides: _Sides) -> pd.DataFrame:
    """Return a row per sample and a column per policy."""
    order = list(dict.fromkeys(cells[POLICY]))
    index: Any = list(sides.rest) or [pd.Series(0, index=cells.index, name=ALL)]
    wide = cells.pivot_table(index=index, columns=POLICY, values=metric, sort=False)
    return wide.reindex(columns=order)  # a number that no cell has leaves no column


def _unlike_samples(cells: pd.DataFrame, sides: _Sides) -> dict[str, int]:
    """Count the samples in which other jobs ran, or were killed, than under the baseline."""
    jobs, killed = (_wide_table(cells, name, sides) for name in ("jobs", "killed"))
    apart = [own.ne(own[sides.baseline], axis=0) for own in (jobs, killed)]
    found = (apart[0] | apart[1]).sum()
    return {str(name): int(count) for name, count in found.items() if count}


def _relative_differences(wide: pd.DataFrame, sides: _Sides) -> pd.DataFrame:
    """Return the difference of each policy to the baseline, relative to it, in each sample."""
    there = wide[sides.baseline]
    others = wide[[name for name in wide if name != sides.baseline]]
    # NaN where there is no ratio to 0
    return (others.div(there.where(there != 0), axis=0) - 1.0).mask(others.eq(there, axis=0), 0.0)


def _of_metric(cells: pd.DataFrame, metric: str, sides: _Sides) -> pd.DataFrame:
    """Return the differences of all jobs in one metric."""
    rows = _policy_rows(_wide_table(cells, metric, sides), sides, metric)
    return pd.DataFrame([{**row, "metric": metric, "by": ALL, "class": ALL} for row in rows])[_ROW]


def _policy_rows(
    wide: pd.DataFrame, sides: _Sides, metric: str
) -> Iterator[dict[str, str | float]]:
    """Yield means, difference and interval of each policy: samples are independent units."""
    # Ratios of times and bounded slowdowns are averaged as logarithms: no interval reaches below
    # -100 %, and the other policy as baseline gives the inverse.
    relative = _relative_differences(wide, sides)
    least, most = possible(metric)
    for name in relative:
        sides_of = wide[[sides.baseline, name]].dropna()
        both, there = relative[name].loc[sides_of.index], sides_of[sides.baseline]
        logs = metric.endswith(("_s", "bounded_slowdown")) and not (both <= -1.0).any()
        own = np.log1p(both) if logs else both
        own = own if own.notna().all() else own * nan  # no mean without the samples of no ratio
        apart = own.groupby(list(sides.units), sort=False).mean() if sides.units else own.iloc[:0]
        values = apart.to_numpy(dtype=np.float64)
        below = (1.0 / there[there != 0]).mean()
        ends = least * below - 1.0, most * below - 1.0 if isfinite(most) else inf
        if logs:
            ends = -float(np.log(there).mean()) if least else -inf, inf
        low, high = mean_interval(values, possible=ends)
        mean = float(values.mean() if values.size else own.mean())
        if logs:
            mean, low, high = np.expm1([mean, low, high]).tolist()
        yield {
            POLICY: str(name),
            "baseline": float(there.mean()),
            "mean": float(sides_of[name].mean()),
            "difference": mean,
            "low": low,
            "high": high,
            "samples": values.size or len(both),
        }


def _of_classes(classes: pd.DataFrame, metric: str, kind: str, sides: _Sides) -> pd.DataFrame:
    """Return the differences in one metric by size class or pattern."""
    column = _BY_CLASS[metric]
    keys = [kind, POLICY, *sides.rest]
    sums = classes.groupby(keys, as_index=False, sort=False)[["jobs", column]].sum()
    sums[metric] = sums[column] / sums["jobs"]
    present = set(sums[kind])
    rows: list[dict[str, str | float]] = []
    for name in size_class_names() if kind == "size" else sorted(present):
        own = sums[sums[kind] == name]
        if name in present and sides.baseline in set(own[POLICY]):
            shown = {"metric": metric, "by": kind, "class": name or SILENT}
            rows += [
                {**row, **shown}
                for row in _policy_rows(_wide_table(own, metric, sides), sides, metric)
            ]
    return pd.DataFrame(rows, columns=_ROW)


def _over_days(table: pd.DataFrame, days: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Replace the intervals of one metric by those over days of the log."""
    metric = str(table["metric"].iloc[0])
    column = _BY_CLASS.get(metric) or _SUMS.get(metric)
    if column is None:
        return table.assign(low=nan, high=nan)
    by_day = days.pivot_table(
        index="day", columns=POLICY, values=column, aggfunc="sum", fill_value=0.0
    )
    if len(by_day) < _TWO:
        raise ResultError(
            "--over days: expected a log of several days, got one day of submissions "
            '(workload.arrivals = "log" keeps them).'
        )
    there = by_day[baseline].to_numpy()
    found = table.copy()
    for row in found.index:
        here = by_day[found.loc[row, POLICY]].to_numpy()
        low, high = block_interval(here, there)
        found.loc[row, ["difference", "low", "high"]] = [
            here.sum() / there.sum() - 1.0,
            low - 1.0,
            high - 1.0,
        ]
        found.loc[row, "samples"] = len(by_day)
    return found


def _win_counts(wide: pd.DataFrame, baseline: str, sign: int) -> pd.DataFrame:
    """Count in how many samples each policy beats the baseline, and how stable the order is."""
    from scipy.stats import kendalltau  # noqa: PLC0415 (slow to import)

    scores = sign * wide.dropna()
    means = scores.mean().to_numpy()
    taus = [float(kendalltau(row, means).statistic) for row in scores.to_numpy()]
    known = [tau for tau in taus if tau == tau]  # noqa: PLR0124 (not NaN)
    best = scores.max(axis=1)
    return pd.DataFrame(
        {
            POLICY: name,
            "wins": int((scores[name] > scores[baseline]).sum()),
            "ties": int((scores[name] == scores[baseline]).sum()),
            "samples": len(scores),
            "first": int((scores[name] == best).sum()),
            "tau": float(np.mean(known)) if known else nan,
        }
        for name in wide
        if name != baseline
    )


def _variance_shares(
    cells: pd.DataFrame, pairs: pd.DataFrame, metric: str, sides: _Sides
) -> pd.DataFrame:
    """Return how much of the metric, and of each policy's difference, each factor explains."""
    rows = [
        {"outcome": metric, "factor": name, "share": share}
        for name, share in explained(cells[metric], cells[[POLICY, *sides.rest]]).items()
    ]
    if sides.rest:
        known = pairs.index.to_frame(index=False)
        for policy in pairs:
            outcome = pairs[policy].reset_index(drop=True)
            rows += [
                {"outcome": f"difference of {policy}", "factor": name, "share": share}
                for name, share in explained(outcome, known).items()
            ]
    return pd.DataFrame(rows, columns=["outcome", "factor", "share"])


def explained(outcome: pd.Series, factors: pd.DataFrame) -> dict[str, float]:
    """Return the share of variance that each factor explains alone, at least 0."""
    # Epsilon squared, (SS - df MS_within) / SS_total (Kelley35), is 0 in the mean without effect.
    known = outcome.notna().to_numpy()
    values, table = outcome[known].reset_index(drop=True), factors[known].reset_index(drop=True)
    total = float(((values - values.mean()) ** 2).sum())
    if len(values) < 2 or total <= 1e-12 * max(1.0, float((values**2).sum())):  # noqa: PLR2004
        return {}
    shares, seen = dict[str, float](), list[list[int]]()
    for name in sorted(table, key=lambda name: name != SAMPLE):
        levels = _factor_levels(table[name])
        codes = pd.factorize(levels)[0].tolist()
        if name != SAMPLE:  # in which all that is drawn varies together
            # A factor that varies just as another one cannot be distinguished from it.
            shares[str(name)] = nan if codes in seen else _variance_share(values, levels, total)
        seen += [codes] if any(codes) else []
    left = 1.0 - sum(share for share in shares.values() if not np.isnan(share))
    return {**shares, REST: max(0.0, left)}


def _factor_levels(column: pd.Series) -> pd.Series:
    """Return the classes of a factor."""
    numbers = pd.api.types.is_numeric_dtype(column) and not is_seed(str(column.name))
    if numbers and column.nunique() > _MOST_LEVELS:
        return pd.qcut(column, _CLASSES, labels=False, duplicates="drop")
    return column


def _variance_share(values: pd.Series, levels: pd.Series, total: float) -> float:
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
