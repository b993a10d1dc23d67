"""Max-min fair rates of flows that share links, per flow or weighted per sender."""

import numpy as np

from fabricsim.checking import unknown
from netsim.common.arrays import Bools, Floats, Ints, numbers_below, numbers_from
from netsim.common.errors import NetsimError
from netsim.common.jit import load_kernels
from netsim.flows.contention import Hops
from netsim.flows.limiters import limited_hops, limited_links
from netsim.topology.base import Topology
from netsim.topology.routes import Routes, require_routes

FAIRNESS = ("per-sender", "per-flow")


def max_min_rates(
    routes: Routes,
    capacity: Floats,
    weights: Floats | None = None,
    channel: Ints | None = None,
) -> Floats:
    """
    Return the max-min fair rate of every flow.

    Parameters
    ----------
    routes : Routes
        Links crossed by each of the F flows.
    capacity : (E,) float array
        Bytes per second of each directed link, positive and finite; links of one channel
        have the same.
    weights : (F,) float array, optional
        Positive weights: on a bottleneck, flows get rates in proportion. 1 when absent.
    channel : (E,) int array, optional
        Channel of each link, in 0..E-1: links of one channel share one capacity
        (`Topology.channel`). Absent: a channel for every link.

    Returns
    -------
    rates : (F,) float array
        Bytes per second; ``inf`` for a flow that crosses no link (it stays inside a node).

    Raises
    ------
    NetsimError
        If an array has the wrong length or holds a value out of its range.

    Notes
    -----
    Progressive filling (Bertsekas & Gallager, *Data Networks*, 2nd ed., section 6.5.2): all
    rate/weight rise together; a channel that saturates fixes its flows. The rates are the
    only ones at which every flow has a saturated channel on which no flow has a greater
    rate/weight. Cost O(n log E) for n route entries. A flow that crosses a channel twice
    takes its rate from it twice.

    Examples
    --------
    Two flows share link 0, and one of them also crosses the slower link 1.

    >>> routes = Routes.from_lists([[0], [0, 1]], n_links=2)
    >>> max_min_rates(routes, np.array([10.0, 4.0]))
    array([6., 4.])
    """
    require_routes(routes, NetsimError)
    capacity = numbers_from("capacity", capacity, 0.0, NetsimError)
    if channel is not None:
        channel = numbers_below("channel", channel, max(1, routes.n_links), NetsimError)
    if weights is not None:
        weights = numbers_from("weights", weights, 0.0, NetsimError)
    channels, channel_capacity = as_channels(routes, capacity, channel)
    weights = np.ones(routes.n_flows) if weights is None else np.asarray(weights, dtype=float)
    if weights.shape != (routes.n_flows,) or not _positive_finite(weights).all():
        raise NetsimError(
            f"weights must hold {routes.n_flows} positive finite values, got "
            f"shape {weights.shape} with {np.count_nonzero(~_positive_finite(weights))} unusable."
        )
    return _filled_rates(Hops(routes.indptr, channels, np.ones(1)), channel_capacity, weights)


def multipath_rates(hops: Hops, topology: Topology) -> Floats:
    """
    Return the max-min fair rate of every flow where packets may be spread over paths.

    `hops`: links of each flow, with the part of it that each carries: the split is fixed, so the
    slowest part decides. Result (F,): bytes per second; ``inf`` for a flow that crosses no link.
    """
    hops, _ = limited_hops(hops, topology)
    channel, capacity = limited_links(topology)
    routes = Routes(hops.indptr, hops.link, channel.size)
    channels, capacity = as_channels(routes, capacity, channel)
    return _filled_rates(hops._replace(link=channels), capacity, np.ones(routes.n_flows))


def _filled_rates(hops: Hops, capacity: Floats, weights: Floats) -> Floats:
    """Return the rates of flows over channels."""
    kernels = load_kernels("netsim.flows.maxmin_kernels", "max-min solver", seconds=3)
    rates: Floats = kernels.progressive_filling(*hops, capacity, weights)
    return rates


def is_per_sender(fairness: str) -> bool:
    """Return whether rates are shared among senders ("per-sender") or flows ("per-flow")."""
    if fairness not in FAIRNESS:
        raise NetsimError(unknown("fairness", fairness, FAIRNESS))
    return fairness == "per-sender"


def as_channels(routes: Routes, capacity: Floats, channel: Ints | None) -> tuple[Ints, Floats]:
    """Return the channels that flows cross (nnz,), and what each carries; 1 for unused ones."""
    capacity = np.asarray(capacity, dtype=float)
    if capacity.shape != (routes.n_links,) or not _positive_finite(capacity).all():
        raise NetsimError(
            f"capacity must hold {routes.n_links} positive finite values, got "
            f"shape {capacity.shape} with {np.count_nonzero(~_positive_finite(capacity))} unusable."
        )
    if channel is None:
        return routes.links, capacity
    if channel.shape != capacity.shape or np.any((channel < 0) | (channel >= capacity.size)):
        raise NetsimError(f"channel must hold {capacity.size} values in 0..{capacity.size - 1}.")
    channel_capacity = np.ones(capacity.size)
    channel_capacity[channel] = capacity
    if np.any(channel_capacity[channel] != capacity):
        raise NetsimError("capacity: expected the same for all links of a channel, got others.")
    return channel[routes.links], channel_capacity


def _positive_finite(values: Floats) -> Bools:
    """Return which values are positive and finite."""
    return (values > 0) & np.isfinite(values)
