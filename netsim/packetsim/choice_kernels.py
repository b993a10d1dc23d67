"""The next link of a packet where switches choose. Compiled."""

import numpy as np

from netsim.common.arrays import Table
from netsim.common.jit import njit
from netsim.packetsim.columns import FIXED, NONE, SPRAY, Ints32, Paths
from netsim.packetsim.wheel_kernels import draw

_FREE_CHANNEL = 2  # of a torus: the one for any minimal path


@njit()
def first_place(clock: Table, entries: Table, flows: Table, flow: int, packet: int) -> int:
    """Return the first place of a packet, written down where each packet has places of its own."""
    if clock[0]["rule"] == FIXED:
        return int(flows[flow]["entry"])
    base = packet * clock[0]["width"]
    entries[base]["channel"] = flows[flow]["target"]
    channel = flows[flow]["entry"] * clock[0]["per_link"]
    entries[base + 1]["channel"] = channel
    entries[base + 1]["lane"] = channel * max(1, clock[0]["lanes"])
    return int(base + 1)


@njit()
def is_first(clock: Table, packets: Table, flows: Table, packet: int) -> bool:
    """Say whether a packet is at the first place of its path."""
    place = packets[packet]["entry"]
    if clock[0]["rule"] == FIXED:
        return bool(place == flows[packets[packet]["flow"]]["entry"])
    return bool(place % clock[0]["width"] == 1)


@njit()
def _channel(clock: Table, turns: Table, way: Table, here: int, number: int, link: int) -> int:
    """Return the channel of a link for a packet that comes by another one, on channel `here`."""
    per_link = clock[0]["per_link"]
    if way["escape"] != NONE:
        return int(link * per_link + _FREE_CHANNEL)
    rank, following = turns[number]["rank"], turns[link]["rank"]
    turned = 1 if 0 < following <= rank else 0
    return int(link * per_link + here % per_link + turned)


@njit()
def _occupied(clock: Table, channels: Table, channel: int) -> int:
    """Return how many packets hold a place of a channel or wait for one."""
    return int(clock[0]["ahead"] - channels[channel]["free"] + channels[channel]["waiting"])


@njit()
def _least(
    clock: Table,
    channels: Table,
    turns: Table,
    ways: Table,
    options: Ints32,
    key: int,
    here: int,
    number: int,
) -> int:
    """Return how occupied the least occupied of the channels that lead on is."""
    way = ways[key]
    least = np.iinfo(np.int32).max
    for i in range(way["first"], way["first"] + way["count"]):
        channel = _channel(clock, turns, way, here, number, options[i])
        least = min(least, _occupied(clock, channels, channel))
    return int(least)


@njit()
def _target(
    clock: Table,
    channels: Table,
    flows: Table,
    turns: Table,
    ways: Table,
    options: Ints32,
    flow: int,
    here: int,
    number: int,
) -> int:
    """
    Return where a packet goes first: to its end, or into a third group drawn at random.

    The shorter of the two queues, each times the links to go: UGAL-L (J. Kim et al., *Technology-
    driven, highly-scalable dragonfly topology*, 2008).
    """
    f = flows[flow]
    groups, states, state = clock[0]["groups"], clock[0]["states"], turns[number]["state"]
    group = int(draw(clock) * (groups - 2))
    low, high = min(f["home"], f["group"]), max(f["home"], f["group"])
    if group >= low:
        group += 1
    if group >= high:
        group += 1
    target = ways.size // states - groups + group
    straight, round_ = f["target"] * states + state, target * states + state
    own = _least(clock, channels, turns, ways, options, straight, here, number)
    other = _least(clock, channels, turns, ways, options, round_, here, number)
    longer = ways[round_]["togo"] + clock[0]["beyond"]
    return int(f["target"]) if own * ways[straight]["togo"] <= other * longer else int(target)


@njit()
def onward(
    clock: Table,
    channels: Table,
    paths: Paths,
    packets: Table,
    flows: Table,
    packet: int,
    number: int,
) -> int:
    """
    Choose the next channel of a packet that comes off a link, and write it down.

    Returns NONE at the end of its path.
    """
    entries, turns, ways, options = paths
    place, at = packets[packet]["entry"], packets[packet]["flow"]
    flow = flows[at]
    if number == flow["end"]:
        return NONE
    here = entries[place]["channel"]
    base = place - place % clock[0]["width"]
    if place == base + 1 and clock[0]["groups"] > 0 and flow["home"] != flow["group"]:
        entries[base]["channel"] = _target(
            clock, channels, flows, turns, ways, options, at, here, number
        )
    state, states = turns[number]["state"], clock[0]["states"]
    key = entries[base]["channel"] * states + state
    if ways[key]["count"] == 0:
        entries[base]["channel"] = flow["target"]
        key = flow["target"] * states + state
    way = ways[key]
    if way["count"] == 0:
        channel = flow["end"] * clock[0]["per_link"]
    else:
        start = int(draw(clock) * way["count"]) if way["count"] > 1 else 0
        channel = _channel(clock, turns, way, here, number, options[way["first"] + start])
        if clock[0]["rule"] != SPRAY:
            least = _occupied(clock, channels, channel)
            for i in range(1, way["count"]):
                option = options[way["first"] + (start + i) % way["count"]]
                other = _channel(clock, turns, way, here, number, option)
                occupied = _occupied(clock, channels, other)
                if occupied < least:
                    least, channel = occupied, other
        if way["escape"] != NONE and channels[channel]["free"] == 0:
            channel = way["escape"]
    entries[place + 1]["channel"] = channel
    lanes = clock[0]["lanes"]
    entries[place + 1]["lane"] = channel * lanes + turns[number]["port"] if lanes else channel
    return int(channel)
