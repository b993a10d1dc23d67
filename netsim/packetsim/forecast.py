"""What a packet simulation will cost, and how far it is."""

import logging
import os
import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from netsim.common.arrays import Floats
from netsim.common.errors import ContentionError
from netsim.common.units import duration_text, require_within_a_day
from netsim.flows.contention import Traffic
from netsim.packetsim.records import ENTRY, FLOW, PACKET, World
from netsim.packetsim.world import packets_of
from netsim.topology.switches import Switch

_LOG = logging.getLogger("fabricsim")
_REPORT_S = 10.0
_LAST = 0.02  # of a simulation: what is left at least, until it ends
HOPS_PER_S = 4e6  # packets moved over a link in a second of CPU time; 1024 nodes, 2024
_PER_PLACE = ENTRY.itemsize + 12 * 8  # of a path, with what building the tables takes
_PER_FLOW = FLOW.itemsize + 12 * 8
_MOST_PACKETS = 2**31 - 1  # of a message


@dataclass(frozen=True, slots=True)
class Forecast:
    """Cost of a simulation."""

    hops: float  # packets moved over a link, in all
    memory_bytes: float  # memory that packets and paths can take

    @property
    def cpu_s(self) -> float:
        """CPU seconds: within a factor of two where links are loaded, of five else."""
        return self.hops / HOPS_PER_S

    def __str__(self) -> str:
        return (
            f"{self.hops:.1e} packets over links, about {duration_text(self.cpu_s)} of CPU time "
            f"and {self.memory_bytes / 1e6:,.0f} MB"
        )


def require_affordable(forecast: Forecast) -> None:
    """Refuse a simulation that would take more than a day, or more memory than there is."""
    require_within_a_day(
        f"the packet simulation would move {forecast}",
        forecast.cpu_s,
        "ask for fewer iterations, larger packets, fewer jobs or another model",
    )
    free = free_memory_bytes()
    if forecast.memory_bytes > free:
        raise ContentionError(
            f"the packet simulation would move {forecast}, of which {free / 1e6:,.0f} MB are free: "
            "smaller buffers, larger packets or fewer jobs take less."
        )


def forecast_of(
    parts: Sequence[Traffic], iteration_s: Floats, until_s: float, switch: Switch, width: int = 0
) -> Forecast:
    """
    Forecast the cost of jobs that run together for some time.

    `iteration_s` (J,): seconds of an iteration of each job. `until_s`: for how long they run, and
    at least for one iteration each. `width`: places that each packet has of its own, where switches
    choose.
    """
    hops, packets, places, flows, links = 0.0, 0, 0, 0, 0
    for part, seconds in zip(parts, iteration_s, strict=True):
        count = packets_of(part.nbytes, switch.packet_bytes)
        if count.max(initial=0) > _MOST_PACKETS:
            raise ContentionError(
                f"a message of {part.nbytes.max():.3g} bytes would be {count.max():.1e} packets, "
                f"at most {_MOST_PACKETS:.1e} are counted: ask for shorter messages or larger "
                "packets."
            )
        hops += max(1.0, until_s / seconds) * float((count * part.routes.hops).sum())
        packets += int(np.bincount(part.step, count).max(initial=0.0))
        places += part.routes.links.size
        flows += count.size
        links = max(links, part.routes.n_links)
    packets = min(packets, (2 * links) * switch.slots)
    each = PACKET.itemsize + width * ENTRY.itemsize
    memory = 2.0 * packets * each + places * _PER_PLACE + flows * _PER_FLOW
    return Forecast(hops, memory)


def fluid_iteration_s(part: Traffic, capacity: Floats, switch: Switch) -> float:
    """
    Return about how long an iteration takes alone: the busiest link of each step, and the delays.

    `capacity` (E,): bytes per second of each directed link. Result: seconds.
    """
    routes = part.routes
    flow = np.repeat(np.arange(routes.n_flows), routes.hops)
    keys, place = np.unique(part.step[flow] * routes.n_links + routes.links, return_inverse=True)
    seconds = np.bincount(place, part.nbytes[flow] / capacity[routes.links])
    busiest = np.zeros(int(part.step.max(initial=0)) + 1)
    np.maximum.at(busiest, keys // routes.n_links, seconds)
    first = np.minimum(part.nbytes, switch.packet_bytes) / capacity[routes.links].min()
    latest = np.zeros(busiest.size)
    np.maximum.at(latest, part.step, (routes.hops - 1) * (first + switch.delay_s))
    return part.compute_s + float(busiest.sum() + latest.sum())


def free_memory_bytes() -> float:
    """
    Return how much memory may still be taken.

    Result: bytes: what the system has available, or less where this process is limited.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    most = float("inf") if limit == resource.RLIM_INFINITY else float(limit)
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return min(most, 1024.0 * float(line.split()[1]))
    except (OSError, ValueError):
        pass
    return min(most, float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")))


class Progress:
    """
    Reports how far the simulations of one question are, one after the other.

    `forecast`: of all, announced where it is long. `by_group`: packets that each group of jobs is
    to move over links.
    """

    def __init__(self, forecast: Forecast, by_group: Mapping[int, float]) -> None:
        self._left = dict(by_group)
        self._done = self._expected = 0.0
        self._reported_s = self._since_s = time.monotonic()
        if forecast.cpu_s > _REPORT_S:
            _LOG.warning("packet simulation: %s", forecast)

    def begin(self, group: int, expected: float, after: float) -> None:
        """Note what a simulation is to move over links, and what its group will after it."""
        self._expected, self._left[group] = expected, max(0.0, after)

    def report(self, world: World) -> None:
        """Say how far all is, from time to time."""
        at_s = time.monotonic()
        if at_s - self._reported_s < _REPORT_S:
            return
        self._reported_s, hops = at_s, float(world.clock["hops"][0])
        asked = world.jobs[world.jobs["need"] > 0]  # not of persistent jobs
        share = min(1.0, float((asked["count"] / asked["need"]).min()))
        # by the forecast at first, then by the iterations that are done
        by_forecast = (1.0 - share**2) * max(self._expected - hops, _LAST * self._expected)
        left = by_forecast + share * (1.0 - share) * hops + sum(self._left.values())
        done = self._done + hops
        _LOG.warning(
            "packet simulation: %.0f %%, about %s left",
            100.0 * done / (done + left),
            duration_text((at_s - self._since_s) * left / done),
        )

    def end(self, world: World) -> None:
        """Count what a simulation has moved."""
        self._done += float(world.clock["hops"][0])
