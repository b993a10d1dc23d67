"""What builders of fabrics share: rates, latencies, a bound on the size, links of cables."""

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError, UnitError
from netsim.common.units import Bandwidth, Quantity, parse_latency, parse_rates

_MOST_LINKS = 10_000_000


class FabricTooLargeError(TopologyError):
    """A fabric that is not built, for want of memory."""


def check_size(n_links: int) -> None:
    """Refuse a fabric before the memory is full."""
    if n_links > _MOST_LINKS:
        raise FabricTooLargeError(
            f"the fabric would have {n_links:,} directed links; at most {_MOST_LINKS:,} are built."
        )


def reverse_links(tail: Ints, head: Ints, cable: Ints) -> Ints:
    """Return the link (E,) in the other direction of each link's cable."""
    there, back = np.lexsort((cable, head, tail)), np.lexsort((cable, tail, head))
    matches = (tail[there] == head[back]) & (head[there] == tail[back])
    if not np.all(matches & (cable[there] == cable[back])):
        raise TopologyError("every cable must be given in both directions, each once.")
    reverse = np.empty_like(there)
    reverse[there] = back
    return reverse


def compact_kinds(names: tuple[str, ...], kind: Ints) -> tuple[tuple[str, ...], Ints]:
    """Leave out the kinds that nothing is of; number the others in order."""
    first = {}
    for number in range(len(names)):
        here = kind == number
        if here.any():
            first[number] = int(here.argmax())
    order = sorted(first, key=first.__getitem__)
    new = np.zeros(len(names), dtype=np.int64)
    new[order] = np.arange(len(order))
    return tuple(names[number] for number in order), new[kind]


def cable_rates(bandwidth: Bandwidth) -> tuple[float, ...]:
    """Read the bandwidths of a fabric in bytes per second, as many as were given."""
    try:
        return parse_rates(bandwidth)
    except UnitError as error:
        raise TopologyError(f"bandwidth: {error}") from None


def latency_seconds(latency: Quantity) -> float:
    """Read a latency of a fabric in seconds."""
    try:
        return parse_latency(latency)
    except UnitError as error:
        raise TopologyError(f"latency: {error}") from None
