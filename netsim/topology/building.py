"""What builders of fabrics share: rates, latencies, a bound on the size, links of cables."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from netsim.common.arrays import Ints
from netsim.common.errors import TopologyError, UnitError
from netsim.common.units import Bandwidth, Quantity, parse_latency, parse_rates

_MOST_LINKS = 10_000_000

Ends = tuple[Ints, Ints, Ints]  # tail, head and number among parallel cables, of directed links


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


def all_to_all_links(shape: tuple[int, ...], parallel: int, axis: int) -> Ends:
    """
    Join the routers of a grid all-to-all along one axis; the last axis is the fastest.

    Links go by tail router, peer in ascending order, and number among `parallel` cables.
    """
    side, stride = shape[axis], prod(shape[axis + 1 :])
    peers = (side - 1) * parallel
    tail = np.repeat(np.arange(prod(shape)), peers)
    peer = np.tile(np.repeat(np.arange(side - 1), parallel), tail.size // max(1, peers))
    place = tail // stride % side
    head = tail + (peer + (peer >= place) - place) * stride
    return tail, head, np.arange(tail.size) % parallel


def router_fields(
    router: Ints,
    n_routers: int,
    classes: Sequence[Ends],
    rates: Sequence[float],
    *,
    half_duplex: bool,
    latency_base_s: Quantity,
    latency_per_link_s: Quantity,
) -> dict[str, Any]:
    """
    Return what a `Topology` needs of routers with nodes on them.

    `router` (n_nodes,): that of each node. `classes`: links between routers in both directions,
    class by class. `rates`: bytes per second of node cables, then of each class. Links: ``n`` up
    from node n, ``n_nodes + n`` down to it, then class by class.
    """
    node = np.arange(router.size)
    at = router.size + router
    ends = [
        (
            np.concatenate([node, at]),
            np.concatenate([at, node]),
            np.zeros(2 * node.size, dtype=np.int64),
        )
    ]
    ends += [(tail + router.size, head + router.size, number) for tail, head, number in classes]
    tail, head, cable = (np.concatenate(part) for part in zip(*ends, strict=True))
    links = np.arange(tail.size)
    return {
        "n_nodes": router.size,
        "n_switches": n_routers,
        "link_tail": tail,
        "link_head": head,
        "link_cable": cable,
        "capacity": np.repeat(rates, [part[0].size for part in ends]),
        "channel": np.minimum(links, reverse_links(tail, head, cable)) if half_duplex else links,
        "latency_base_s": latency_seconds(latency_base_s),
        "latency_per_link_s": latency_seconds(latency_per_link_s),
    }


def class_rates(bandwidth: Bandwidth, classes: Sequence[str]) -> tuple[float, ...]:
    """Read the bandwidths of node cables and of each class of router cables."""
    rates, count = cable_rates(bandwidth), 1 + len(classes)
    if len(rates) not in {1, count}:
        names = ", ".join(("node", *classes))
        raise TopologyError(f"bandwidth must be one value, or {count} ({names}), got {len(rates)}.")
    return rates if len(rates) == count else rates * count
