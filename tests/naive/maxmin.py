"""Max-min fair rates on exact fractions, one saturated channel after the other."""

from fractions import Fraction

import numpy as np


def max_min_rates(lists, capacity, weights=None, channel=None):
    """
    Return the rate of every flow as a fraction, None for a flow without links.

    ``lists`` holds the links of each flow; all rates over weights rise together until a
    channel is full; its flows stop, the others go on.
    """
    channel = list(range(len(capacity))) if channel is None else [int(c) for c in channel]
    limit = {channel[link]: Fraction(float(c)) for link, c in enumerate(capacity)}
    weights = [Fraction(1)] * len(lists) if weights is None else [Fraction(w) for w in weights]
    rows = [[channel[link] for link in row] for row in lists]
    rates = [None] * len(lists)
    rising = {flow for flow, row in enumerate(rows) if row}
    while rising:
        level = {}
        for c, total in limit.items():
            weight = sum(weights[f] * rows[f].count(c) for f in rising)
            taken = sum(rates[f] * row.count(c) for f, row in enumerate(rows) if rates[f])
            if weight:
                level[c] = (total - taken) / weight
        least = min(level.values())
        full = {c for c, value in level.items() if value == least}
        stopped = {f for f in rising if full & set(rows[f])}
        for flow in stopped:
            rates[flow] = least * weights[flow]
        rising -= stopped
    return rates


def sender_weights(sender, routes):
    """Return 1 / (flows open at its sender) of each flow: a card serves messages in turn."""
    outside = routes.hops > 0
    n_open = np.bincount(sender[outside], minlength=int(sender.max(initial=-1)) + 1)
    return 1.0 / np.maximum(n_open, 1)[sender]
