"""Queues: what packets met before each link."""

from dataclasses import dataclass

from netsim.packetsim.running import LinkUse
from netsim.topology.base import Topology


@dataclass(frozen=True, slots=True)
class LinkQueue:
    """
    What packets met before one link.

    Parameters
    ----------
    link : str
        Directed link.
    utilization : float
        Share of the time in which the link sent.
    waited_s : float
        Mean seconds that a packet waited for a place on it and for its turn.
    """

    link: str
    utilization: float
    waited_s: float


def queues_of(topology: Topology, use: LinkUse | None) -> tuple[LinkQueue, ...]:
    """
    Name the links of a packet simulation.

    `use`: what its links carried; None where no packets were simulated.
    """
    if use is None:
        return ()
    rows = zip(use.links.tolist(), use.utilization.tolist(), use.waited_s.tolist(), strict=True)
    return tuple(
        LinkQueue(topology.link_name(link), busy, waited_s) for link, busy, waited_s in rows
    )
