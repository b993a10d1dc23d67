"""Proofs that an answer is right, whoever made it; nothing here knows the code under test."""

import math

SLACK = 1e-9  # relative; answers are floating-point numbers


def assert_max_min_fair(rates, lists, capacity, weights=None, channel=None):
    """
    Demand that rates are max-min fair.

    No channel carries more than its capacity, and every flow has a full channel on which
    no flow has a greater rate over weight (Bertsekas & Gallager, *Data Networks*, 2nd ed.,
    section 6.5.2). A flow without links must be infinitely fast.
    """
    channel = range(len(capacity)) if channel is None else channel
    weights = [1.0] * len(lists) if weights is None else weights
    rows = [[int(channel[link]) for link in row] for row in lists]
    limit = {int(channel[link]): float(c) for link, c in enumerate(capacity)}
    carried = dict.fromkeys(limit, 0.0)
    greatest = dict.fromkeys(limit, 0.0)
    for rate, weight, row in zip(rates, weights, rows, strict=True):
        for c in row:
            carried[c] += rate
            greatest[c] = max(greatest[c], rate / weight)
    for c, total in carried.items():
        assert total <= limit[c] * (1 + SLACK), f"channel {c} carries {total} of {limit[c]}"
    for flow, (rate, weight, row) in enumerate(zip(rates, weights, rows, strict=True)):
        if not row:
            assert math.isinf(rate), f"flow {flow} crosses no link but has rate {rate}"
            continue
        bottlenecks = [
            c
            for c in row
            if carried[c] >= limit[c] * (1 - SLACK) and rate / weight >= greatest[c] * (1 - SLACK)
        ]
        assert bottlenecks, f"flow {flow} has no bottleneck"
