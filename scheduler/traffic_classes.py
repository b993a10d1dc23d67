"""Traffic classes: how jobs communicate, by which the known errors of models are looked up."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from netsim.common.arrays import Ints
from netsim.registries.accuracy import ANY, FEW, MANY, ONE, STEPS
from patterns.base import Pattern
from scheduler.traffic import CACHED_PATTERNS, PlacedTraffic, RankFlows, rank_flows

_STEPS = 3  # from so many an iteration goes in steps
_FEW = 16  # open messages of a sender
_FAN_IN = 4  # messages of one step that make a rank the root of an incast or scatter
_MOST = 2 / 3  # of what is sent: the kind that names a mix


def traffic_class(flows: RankFlows) -> str:
    """
    Return the traffic class of a job.

    `STEPS` from three steps on; `ONE` where one rank sends or gets more than half of all bytes, in
    four messages at once or more; else `FEW` or `MANY` by how many messages a sender has open at
    once, as the mean over the bytes.
    """
    if flows.n_rounds >= _STEPS:
        return STEPS
    if any(_one_has_most(flows, ranks) for ranks in (flows.src, flows.dst)):
        return ONE
    at_once = _at_once(flows, flows.src)
    return MANY if (at_once * flows.nbytes).sum() > _FEW * flows.nbytes.sum() else FEW


def _one_has_most(flows: RankFlows, ranks: Ints) -> bool:
    """Say whether one of the senders, or receivers, has most of the bytes and many messages."""
    own = np.bincount(ranks, weights=flows.nbytes)
    if not own.size or own.max() <= 0.5 * own.sum():
        return False
    return int(_at_once(flows, ranks)[ranks == own.argmax()].max()) >= _FAN_IN


def _at_once(flows: RankFlows, ranks: Ints) -> Ints:
    """Return for each message how many its sender, or receiver, has in that step."""
    n_ranks = int(ranks.max(initial=0)) + 1
    at = flows.step * n_ranks + ranks
    found: Ints = np.bincount(at)[at] if at.size else at
    return found


@lru_cache(maxsize=CACHED_PATTERNS)
def pattern_class(pattern: Pattern, n_ranks: int) -> str:
    """Return the traffic class of a job of so many ranks."""
    return traffic_class(rank_flows(pattern, n_ranks))


def communicating_nodes(placed: PlacedTraffic) -> float:
    """Return how many of its nodes a job keeps communicating, on average over its iteration."""
    traffic = placed.traffic
    return (traffic.n_nodes or 1) * max(0.0, 1.0 - traffic.compute_s / placed.ideal_s)


def dominant_class(weighted: Iterable[tuple[str, float]]) -> str:
    """Return the class with two thirds or more of the node-time on communication, else `ANY`."""
    total: dict[str, float] = {}
    for kind, weight in weighted:
        total[kind] = total.get(kind, 0.0) + weight
    if not total:
        return ANY
    most = max(total, key=lambda kind: total[kind])
    return most if 0.0 < _MOST * sum(total.values()) <= total[most] else ANY
