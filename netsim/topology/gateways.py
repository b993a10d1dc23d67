"""Gateways: which routers of a dragonfly group hold the cables to the other groups."""

from collections.abc import Callable

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError

_ARIES_LANES = (1, 3, 2)  # green, black, blue cables per router pair, as on Edison and Theta
_PLAIN = (1, 1, 1)

Wiring = tuple[Ints, tuple[int, int, int]]


def canonical(groups: int, rows: int, columns: int, global_links: int | None) -> Wiring:
    """
    Spread the global ports over the routers in order (absolute arrangement).

    Port ``t * K + k`` of a group is cable k to its t-th other group; each router holds the same
    number h of consecutive ports, the last one maybe fewer. With one cable a pair, G = a * h + 1
    and one row this is the dragonfly of J. Kim et al., *Technology-driven, highly-scalable
    dragonfly topology*, ISCA 2008, in the absolute arrangement (C. Camarero et al., 2014).
    """
    per_pair = 1 if global_links is None else global_links
    port = np.arange((groups - 1) * per_pair)
    per_router = max(1, -(-port.size // (rows * columns)))
    return _same_in_all(groups, (port // per_router).reshape(groups - 1, per_pair)), _PLAIN


def aries(groups: int, rows: int, columns: int, global_links: int | None) -> Wiring:
    """
    Wire as on Cray XC: every row holds the same columns for each other group.

    With c = K / rows, cable ``row * c + i`` to the t-th other group is at column ``(t * c + i) mod
    columns`` of that row. Read off the link dumps of ALCF Theta (K = 24) and NERSC Edison (K = 12);
    a test compares every router pair.
    """
    per_pair = rows if global_links is None else global_links
    if per_pair % rows:
        raise TopologyError(f"global_links must be a multiple of {rows} rows, got {per_pair}.")
    per_row = per_pair // rows
    row, place = np.divmod(np.arange(per_pair), per_row)
    peer = np.arange(groups - 1)[:, None]
    return _same_in_all(groups, row * columns + (peer * per_row + place) % columns), _ARIES_LANES


def best_case(groups: int, rows: int, columns: int, global_links: int | None) -> Wiring:
    """
    Join every router to its twin in every other group: 3 hops at most.

    The best case of *Improving job node allocation on HECToR*, section 7.2.1.
    """
    _require_cables(global_links, rows * columns)
    twins = np.tile(np.arange(rows * columns), (groups - 1, 1))
    return _same_in_all(groups, twins), _PLAIN


def worst_case(groups: int, rows: int, columns: int, global_links: int | None) -> Wiring:
    """
    Join the first routers of the groups only: one cable a pair, 5 hops at most.

    The worst case of *Improving job node allocation on HECToR*, section 7.2.2: "always at the node
    coordinate (0, 0, z)".
    """
    del rows, columns
    _require_cables(global_links, 1)
    return _same_in_all(groups, np.zeros((groups - 1, 1), dtype=np.int64)), _PLAIN


def simgrid(groups: int, rows: int, columns: int, global_links: int | None) -> Wiring:
    """
    Wire as SimGrid does: group i holds its cable to group j at row 0, column j.

    SimGrid's parallel cables are one of their joint bandwidth.
    """
    del rows
    _require_cables(global_links, 1)
    if groups > columns:
        raise TopologyError(
            f"variant 'simgrid' needs a column for each of {groups} groups, got {columns}."
        )
    peer, group = np.arange(groups - 1), np.arange(groups)[:, None]
    return (peer + (peer >= group))[:, :, None], _PLAIN


def _same_in_all(groups: int, places: Ints) -> Ints:
    """Give every group the same table of (other group, cable)."""
    return np.broadcast_to(places, (groups, *places.shape)).copy()


def _require_cables(global_links: int | None, only: int) -> None:
    """Refuse a number of cables that the variant does not have."""
    if global_links not in {None, only}:
        raise TopologyError(f"global_links must be {only} here, got {global_links}.")


VARIANTS: dict[str, Callable[[int, int, int, int | None], Wiring]] = {
    "canonical": canonical,
    "aries": aries,
    "best-case": best_case,
    "worst-case": worst_case,
    "simgrid": simgrid,
}
