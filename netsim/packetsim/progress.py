"""How far simulations of packets are, by what they move over links."""

import logging
import time
from collections.abc import Mapping

from netsim.common.time_budget import spoken
from netsim.packetsim.columns import World
from netsim.packetsim.forecast import Forecast

_LOG = logging.getLogger("fabricsim")
_TELL_S = 10.0
_LAST = 0.02  # of a simulation: what is left, as long as nobody knows better


class Progress:
    """
    Says how far all simulations are that a question takes, one after the other.

    Parameters
    ----------
    forecast : Forecast
        Of all, announced where it is long.
    by_group : mapping of int to float
        Packets that each group of jobs is to move over links.
    """

    def __init__(self, forecast: Forecast, by_group: Mapping[int, float]) -> None:
        self._left = dict(by_group)
        self._done = self._expected = 0.0
        self._told_s = self._since_s = time.monotonic()
        if forecast.cpu_s > _TELL_S:
            _LOG.warning("packet simulation: %s", forecast)

    def begin(self, group: int, expected: float, after: float) -> None:
        """Note what a simulation is to move over links, and what its group will after it."""
        self._expected, self._left[group] = expected, max(0.0, after)

    def tell(self, world: World) -> None:
        """Say how far all is, from time to time."""
        at_s = time.monotonic()
        if at_s - self._told_s < _TELL_S:
            return
        self._told_s, hops = at_s, float(world.clock["hops"][0])
        share = min(1.0, float((world.jobs["count"][:-1] / world.jobs["need"][:-1]).min()))
        # by the forecast at first, then by the iterations that are done
        by_forecast = (1.0 - share**2) * max(self._expected - hops, _LAST * self._expected)
        left = by_forecast + share * (1.0 - share) * hops + sum(self._left.values())
        done = self._done + hops
        _LOG.warning(
            "packet simulation: %.0f %%, about %s left",
            100.0 * done / (done + left),
            spoken((at_s - self._since_s) * left / done),
        )

    def end(self, world: World) -> None:
        """Count what a simulation has moved."""
        self._done += float(world.clock["hops"][0])
