"""PGFT(h; m; w; p) as numbers: the checks of a description, and the ends of its cables."""

from math import prod

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError
from netsim.common.units import Bandwidth
from netsim.topology.building import cable_rates

_MIN_LEVELS, _MAX_LEVELS = 2, 4


def check_shape(
    m: tuple[int, ...],
    w: tuple[int, ...],
    p: tuple[int, ...],
    bandwidth: Bandwidth,
    down_cable: str,
) -> tuple[float, ...]:
    """Check the description of a tree; return bytes per second of each level's cables."""
    h = len(m)
    if not (_MIN_LEVELS <= h <= _MAX_LEVELS and len(w) == len(p) == h):
        raise TopologyError(
            f"children, parents and parallel must have one entry per level, 2 to 4 levels; "
            f"got {h}, {len(w)} and {len(p)} entries."
        )
    if any(value < 1 for value in (*m, *w, *p)):
        raise TopologyError(
            f"children, parents and parallel must be at least 1, got {m}, {w}, {p}."
        )
    if down_cable not in {"mirror", "source"}:
        raise TopologyError(f"down_cable must be 'mirror' or 'source', got {down_cable!r}.")
    rates = cable_rates(bandwidth)
    if len(rates) not in {1, h}:
        raise TopologyError(
            f"bandwidth must be one value, or one for each of {h} levels, got {len(rates)}."
        )
    return rates if len(rates) == h else rates * h


def level_cables(
    level: int, m: tuple[int, ...], w: tuple[int, ...], p: tuple[int, ...]
) -> tuple[Ints, Ints, Ints]:
    """Return child, parent and cable (C,) of the cables above a level, by child and up-port."""
    low = prod(w[:level])
    count = low * prod(m[level:])
    ports = w[level] * p[level]
    child = np.repeat(np.arange(count), ports)
    q = np.tile(np.arange(ports), count)
    below, digit_and_above = child % low, child // low
    above = digit_and_above // m[level]
    parent = below + low * (q % w[level]) + low * w[level] * above
    return child, parent, q // w[level]
