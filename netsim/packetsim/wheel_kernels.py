"""Events in order of time, in a wheel of sorted lists; and random numbers. Compiled."""

from numba import uint64

from netsim.common.arrays import Table
from netsim.common.jit import njit
from netsim.packetsim.columns import NONE, Ints32


@njit(inline="always")
def schedule(clock: Table, wheel: Ints32, events: Table, event: int, time: float) -> None:
    """Put an event that is not scheduled into its slot of the wheel, behind earlier ones."""
    slot = int(time * clock[0]["per_ns"]) & (wheel.size - 1)
    before = NONE
    at = wheel[slot]
    while at != NONE and (events[at]["time"] < time or (events[at]["time"] == time and at < event)):
        before = at
        at = events[at]["next"]
    events[event]["time"] = time
    events[event]["next"] = at
    if before == NONE:
        wheel[slot] = event
    else:
        events[before]["next"] = event
    clock[0]["scheduled"] += 1


@njit(inline="always")
def draw(clock: Table) -> float:
    """Return a random number in [0, 1): SplitMix64, as in `netsim.common.rng`."""
    state = clock[0]["random"] + uint64(0x9E3779B97F4A7C15)
    clock[0]["random"] = state
    state = (state ^ (state >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> uint64(27))) * uint64(0x94D049BB133111EB)
    state ^= state >> uint64(31)
    return float((state >> uint64(11)) * 2.0**-53)


@njit(inline="always")
def idle_delay(clock: Table) -> float:
    """Return the random delay before a link or NIC that was idle."""
    return float(clock[0]["idle_least"] + clock[0]["idle_span"] * draw(clock))
