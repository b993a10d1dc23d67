"""Loads: what jobs put on links."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from coupling.inputs.snapshot import JobId
from netsim.packetsim.running import LinkUse
from netsim.topology.base import Topology


@dataclass(frozen=True, slots=True)
class LinkQueue:
    """Queues of packets before one link."""

    link: str  # Directed link
    utilization: float  # Share of the time in which the link sent
    waited_s: float  # Mean seconds that a packet waited for a place on it and for its turn


def queues_of(topology: Topology, use: LinkUse | None) -> tuple[LinkQueue, ...]:
    """Name the queues of a packet simulation; none where no packets were simulated."""
    if use is None:
        return ()
    rows = zip(use.links.tolist(), use.utilization.tolist(), use.waited_s.tolist(), strict=True)
    return tuple(
        LinkQueue(topology.link_name(link), busy, waited_s) for link, busy, waited_s in rows
    )


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """What one job puts on one link."""

    link: str  # Directed link
    job: JobId  # The job
    nbytes: float  # Bytes per iteration
    # Share of the link's capacity that the job takes on average, among the others; None where the
    # length of an iteration is unknown
    utilization: float | None


def within_links(loads: Sequence[LinkLoad], queues: Sequence[LinkQueue]) -> tuple[LinkLoad, ...]:
    """Return loads that no link exceeds."""
    # Packets give mean iterations of jobs in windows of their own, so few may add up to too much.
    if not queues:
        return tuple(loads)
    total: dict[str, float] = {}
    for load in loads:
        total[load.link] = total.get(load.link, 0.0) + (load.utilization or 0.0)
    return tuple(
        replace(load, utilization=load.utilization / max(1.0, total[load.link]))
        if load.utilization
        else load
        for load in loads
    )
