"""Fit fractions of communication to what links carried, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from netsim.common.arrays import Bools, Floats, Ints

HUBER = 2.5
"""Residuals beyond so many deviations count linearly: background traffic, cables that are slow."""
FEWEST_FILLED = 4
"""Links that decide whether a pattern fits: of fewer, one slow cable would be half."""
_ROUNDS = 30
_CLOSE = 1e-6
_RANK = 1e-6
"""Of the largest singular value; directions below change no link."""
_IN_NULL = 0.05
_MAD = 1.4826  # deviation of a normal distribution / median of its absolute values
_MOST_MIXED = 300  # columns that are solved for at once
_LEAST_SIGMA = 1e-4  # of the capacity of a link
_IDLE = 1e-3  # of the capacity: links with less fit any pattern
_LOW, _HIGH = 0.05, 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Fractions of G groups that make M links carry what they carried."""

    # fraction, low, high: (G,): best value, and the interval that holds 90 % of the fits to
    # redrawn residuals
    fraction: Floats
    low: Floats
    high: Floats
    # Groups that the links do not distinguish: they share one value
    alike: tuple[tuple[int, ...], ...]
    unseen: tuple[int, ...]  # Groups that send over no measured link
    # predicted, deviation: (M,): what each link would carry under the fit, and by how much its
    # measure may be off
    predicted: Floats
    deviation: Floats
    rank: int  # Independent directions of the groups that the links see
    # By how much residuals of links that carry something are larger than expected of the counters
    # alone; at least 1
    noise: float


def deviations(rate: Floats, predicted: Floats, capacity: Floats, noise: float) -> Floats:
    """Return the error of measured rates; `noise`: a share of the larger of both rates."""
    return np.hypot(noise * np.maximum(rate, predicted), _LEAST_SIGMA * capacity)


def choose(
    columns: Sequence[Sequence[Floats]], rate: Floats, sigma: Floats
) -> tuple[list[int], list[list[float]]]:
    """Choose the column of each group that fits best; also return by how much others fit worse."""
    # Group by group until none changes; the differences are sums of squares in units of the noise.
    target = rate / sigma
    scaled = [[column / sigma for column in own] for own in columns]
    chosen = _start_columns(scaled, target)
    margin: list[list[float]] = [[0.0] * len(own) for own in scaled]
    residual = target
    for _ in range(_ROUNDS):
        before = list(chosen)
        matrix = _column_matrix(scaled, chosen, target.size)
        value = _bounded_fit(matrix, target)
        residual = target - matrix @ value
        for group, own in enumerate(scaled):
            without = residual + value[group] * own[chosen[group]]
            loss = [_single_loss(column, without) for column in own]
            best = int(np.argmin(loss))
            margin[group] = [each - loss[best] for each in loss]
            if loss[best] < loss[chosen[group]] - _CLOSE:
                chosen[group] = best
                value[group] = _best_fraction(own[best], without)
            residual = without - value[group] * own[chosen[group]]
        if chosen == before:
            break
    scale = max(1.0, float((residual**2).mean()))
    return chosen, [[each / scale for each in own] for own in margin]


def _start_columns(columns: Sequence[Sequence[Floats]], target: Floats) -> list[int]:
    """Return the column of each group that takes most where all may take a part."""
    flat = [column for own in columns for column in own]
    many = len(flat) > _MOST_MIXED
    parts = np.ones(len(flat)) if many or not flat else _bounded_fit(np.column_stack(flat), target)
    chosen, at = [], 0
    for own in columns:
        volume = [
            part * column.sum() if not many else -_single_loss(column, target)
            for part, column in zip(parts[at : at + len(own)].tolist(), own, strict=True)
        ]
        chosen.append(int(np.argmax(volume)))
        at += len(own)
    return chosen


def fit(
    matrix: Floats,
    measured: tuple[Floats, Ints],
    capacity: Floats,
    *,
    noise: float,
    samples: int,
    seed: int,
) -> Fit:
    """Fit the fraction of each group; `matrix` (M, G): load of each link if a group only sends."""
    # A device is read as a whole, so its residuals are redrawn together.
    rate, switch = measured
    groups = matrix.shape[1]
    seen = np.flatnonzero((matrix > 0.0).any(axis=0))
    unseen = tuple(np.setdiff1d(np.arange(groups), seen).tolist())
    sigma = deviations(rate, np.zeros_like(rate), capacity, noise)
    sets, rank = _dependent_columns(matrix[:, seen] / sigma[:, None])
    joined = np.column_stack([matrix[:, seen[own]].sum(axis=1) for own in sets] or [0.0 * rate])
    value, sigma = _robust_fit(joined, rate, capacity, noise)
    predicted = joined @ value
    scores = (rate - predicted) / sigma
    busy = np.maximum(rate, predicted) > _IDLE * capacity
    scale = max(1.0, _MAD * _median_or_zero(np.abs(scores[busy])))
    low, high = _bootstrap_intervals(
        joined / sigma[:, None], predicted / sigma, (scores, switch), samples, seed
    )
    found = [np.zeros(groups) for _ in range(3)]
    for place, own in enumerate(sets):
        for all_, one in zip(found, (value, low, high), strict=True):
            all_[seen[own]] = one[place]
    fraction = found[0]
    return Fit(
        fraction,
        np.minimum(found[1], fraction),
        np.maximum(found[2], fraction),
        tuple(tuple(seen[own].tolist()) for own in sets if len(own) > 1),
        unseen,
        predicted,
        sigma * scale,
        rank,
        scale,
    )


def _dependent_columns(matrix: Floats) -> tuple[list[list[int]], int]:
    """Return sets of columns that cannot be distinguished, and the rank."""
    # Columns with a part in a combination that changes nothing, and those beside them in it.
    groups = matrix.shape[1]
    if not groups:
        return [], 0
    scaled = matrix / np.linalg.norm(matrix, axis=0)
    _, sizes, rows = np.linalg.svd(scaled, full_matrices=False)
    if rows.shape[0] < groups:  # fewer links than groups: the rest changes nothing either
        _, sizes, rows = np.linalg.svd(scaled.T @ scaled)
        sizes = np.sqrt(sizes)
    nothing = rows[sizes <= _RANK * sizes[0]]
    parts = nothing.T @ nothing  # onto the combinations that change nothing
    joined: list[list[int]] = []
    left = set(range(groups))
    while left:
        ring, own = [min(left)], list[int]()
        left.discard(ring[0])
        while ring:
            here = ring.pop()
            own.append(here)
            near = [other for other in sorted(left) if abs(parts[here, other]) > _IN_NULL]
            left.difference_update(near)
            ring += near
        joined.append(sorted(own))
    return joined, groups - nothing.shape[0]


def _robust_fit(
    matrix: Floats, rate: Floats, capacity: Floats, noise: float
) -> tuple[Floats, Floats]:
    """Return fractions, and the deviations of links, where few links count little."""
    sigma = deviations(rate, np.zeros_like(rate), capacity, noise)
    weight = np.ones_like(rate)
    value = np.zeros(matrix.shape[1])
    for _ in range(_ROUNDS):
        scale = np.sqrt(weight) / sigma
        new = _bounded_fit(matrix * scale[:, None], rate * scale)
        predicted = matrix @ new
        sigma = deviations(rate, predicted, capacity, noise)
        scores = np.abs(rate - predicted) / sigma
        spread = max(1.0, _MAD * _median_or_zero(scores))
        weight = np.minimum(1.0, HUBER * spread / np.maximum(scores, _CLOSE))
        done = np.allclose(new, value, rtol=0.0, atol=_CLOSE)
        value = new
        if done:
            break
    return value, sigma


def _median_or_zero(values: Floats) -> float:
    """Return the median; 0 of nothing."""
    return float(np.median(values)) if values.size else 0.0


def misfit(
    measured: Floats, predicted: Floats, deviation: Floats, own: Floats, inner: Bools
) -> float:
    """Return by how many deviations the links that a group fills are off, median; 0 for few."""
    # Links of nodes fit many patterns, so they and `inner` links are judged apart; the worse
    # counts.
    off = np.abs(measured - predicted) / deviation
    filled = (own > 0.0) & (own > 0.5 * predicted)
    kinds = [off[filled & kind] for kind in (inner, ~inner)]
    return max((_median_or_zero(kind) for kind in kinds if kind.size >= FEWEST_FILLED), default=0.0)


def _bounded_fit(matrix: Floats, target: Floats) -> Floats:
    """Return the fractions from 0 to 1 that come nearest."""
    if not matrix.shape[1]:
        return np.empty(0)
    from scipy.optimize import lsq_linear  # noqa: PLC0415 (slow to import)

    square, right = matrix, target
    if matrix.shape[0] > matrix.shape[1]:  # the same problem, as small as it gets
        square, factor = np.linalg.qr(matrix)
        right, square = square.T @ target, factor
    found: Floats = lsq_linear(square, right, (0.0, 1.0), method="bvls").x
    return found


def _bootstrap_intervals(
    matrix: Floats,
    predicted: Floats,
    scores: tuple[Floats, Ints],
    samples: int,
    seed: int,
) -> tuple[Floats, Floats]:
    """Return the interval of each fraction from residuals redrawn by device (wild bootstrap)."""
    residual, switch = scores
    chance = np.random.default_rng(seed)
    _, device = np.unique(switch, return_inverse=True)
    freedom = max(residual.size - matrix.shape[1], 1)
    larger = np.sqrt(residual.size / freedom)
    factor = None
    if matrix.shape[0] > matrix.shape[1] > 0:
        turned, factor = np.linalg.qr(matrix)
    found: list[NDArray[np.float64]] = []
    for _ in range(samples):
        sign = chance.choice((-1.0, 1.0), device.max(initial=0) + 1)
        drawn = predicted + larger * residual * sign[device]
        if factor is None:
            found.append(_bounded_fit(matrix, drawn))
        else:
            found.append(_bounded_fit(factor, turned.T @ drawn))
    if not found:
        nothing = np.full(matrix.shape[1], np.nan)
        return nothing, nothing
    low, high = np.quantile(np.array(found), (_LOW, _HIGH), axis=0)
    return low, high


def _column_matrix(columns: Sequence[Sequence[Floats]], chosen: Sequence[int], rows: int) -> Floats:
    """Return the chosen columns as one matrix."""
    own = [group[place] for group, place in zip(columns, chosen, strict=True)]
    return np.column_stack(own) if own else np.empty((rows, 0))


def _best_fraction(column: Floats, target: Floats) -> float:
    """Return the fraction with which one column comes nearest."""
    size = float(column @ column)
    return float(np.clip(column @ target / size, 0.0, 1.0)) if size else 0.0


def _single_loss(column: Floats, target: Floats) -> float:
    """Return the robust loss of the best fraction of one column."""
    left = np.abs(target - _best_fraction(column, target) * column)
    return float(np.where(left <= HUBER, left**2, HUBER * (2.0 * left - HUBER)).sum())
