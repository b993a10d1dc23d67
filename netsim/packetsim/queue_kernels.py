"""Packets on their way: from channel to channel, over links, and waiting. Compiled."""

from netsim.common.arrays import Table
from netsim.common.jit import njit
from netsim.packetsim.choice_kernels import is_first
from netsim.packetsim.columns import NONE, Ints32
from netsim.packetsim.wheel_kernels import idle_delay, schedule


@njit()
def admit(
    clock: Table,
    wheel: Ints32,
    events: Table,
    links: Table,
    channels: Table,
    entries: Table,
    packets: Table,
    packet: int,
    now: float,
) -> None:
    """Give a packet, which has a slot of its channel, its time on the link."""
    p = packets[packet]
    number = channels[entries[p["entry"]]["channel"]]["link"]
    link = links[number]
    start = link["free_at"]
    if start < now + (clock[0]["idle_least"] + clock[0]["idle_span"]):
        start = max(start, now + idle_delay(clock))
    size = p["bytes"]
    link["free_at"] = start + size * link["per_byte"]
    link["packets"] += 1
    link["bytes"] += size
    link["waited"] += start - p["time"]
    p["time"] = start + max(link["lag_least"], size * link["lag_per_byte"]) + link["delay"]
    p["next"] = NONE
    if link["head"] == NONE:
        link["head"] = packet
        schedule(clock, wheel, events, number, p["time"])
    else:
        packets[link["tail"]]["next"] = packet
    link["tail"] = packet


@njit()
def wait(
    channels: Table, lanes: Table, entries: Table, packets: Table, packet: int, place: int
) -> None:
    """Put a packet behind those that wait for a slot of the channel at a place of its path."""
    entry = entries[place]
    lane = lanes[entry["lane"]]
    packets[packet]["next"] = NONE
    channels[entry["channel"]]["waiting"] += 1
    if lane["head"] != NONE:
        packets[lane["tail"]]["next"] = packet
        lane["tail"] = packet
        return
    lane["head"] = lane["tail"] = packet
    _queue_lane(channels, lanes, entry["channel"], entry["lane"])


@njit()
def _queue_lane(channels: Table, lanes: Table, channel: int, lane: int) -> None:
    """Give a lane the last turn at a channel."""
    c = channels[channel]
    lanes[lane]["next"] = NONE
    if c["first"] == NONE:
        c["first"] = lane
    else:
        lanes[c["last"]]["next"] = lane
    c["last"] = lane


@njit()
def release(
    clock: Table,
    wheel: Ints32,
    events: Table,
    links: Table,
    channels: Table,
    lanes: Table,
    entries: Table,
    packets: Table,
    flows: Table,
    channel: int,
    now: float,
) -> int:
    """
    Give back a slot; packets that wait move up, and give back theirs.

    Returns the packet that left a NIC thereby, or NONE.
    """
    while True:
        c = channels[channel]
        number = c["first"]
        if number == NONE:
            c["free"] += 1
            return NONE
        lane = lanes[number]
        packet = lane["head"]
        c["waiting"] -= 1
        lane["head"] = packets[packet]["next"]
        c["first"] = lane["next"]
        if lane["head"] != NONE:
            _queue_lane(channels, lanes, channel, number)
        admit(clock, wheel, events, links, channels, entries, packets, packet, now)
        if is_first(clock, packets, flows, packet):
            return int(packet)
        channel = entries[packets[packet]["entry"] - 1]["channel"]
