"""Compiled packet-level simulation of iterating jobs; import through `netsim.common.jit`."""

import numpy as np
from numba import from_dtype, int32, int64, types

from netsim.common.arrays import Table
from netsim.common.jit import njit
from netsim.packetsim.choice_kernels import first_place, onward
from netsim.packetsim.columns import (
    BUSY,
    CHANNEL,
    CLOCK,
    CROWDED,
    DEADLOCK,
    DONE,
    ENTRY,
    EVENT,
    FIXED,
    FLOW,
    IDLE,
    JOB,
    LANE,
    LINK,
    NIC,
    NONE,
    PACKET,
    RUNNING,
    STALLED,
    STEP,
    TURN,
    WAY,
    Ints32,
    Paths,
)
from netsim.packetsim.queue_kernels import admit, release, wait
from netsim.packetsim.step_kernels import arrived, queue_flow, sent, wake_job
from netsim.packetsim.wheel_kernels import draw, idle_delay, schedule

_CLOCK, _EVENTS, _LINKS, _CHANNELS, _LANES, _ENTRIES, _PACKETS, _NICS, _FLOWS, _STEPS, _JOBS = (
    from_dtype(record)[::1]
    for record in (CLOCK, EVENT, LINK, CHANNEL, LANE, ENTRY, PACKET, NIC, FLOW, STEP, JOB)
)
_PATHS = types.NamedTuple(
    (_ENTRIES, from_dtype(TURN)[::1], from_dtype(WAY)[::1], int32[::1]), Paths
)
_WORLD = (
    _CLOCK,
    int32[::1],
    _EVENTS,
    _LINKS,
    _CHANNELS,
    _LANES,
    _PATHS,
    _PACKETS,
    _NICS,
    _FLOWS,
    _STEPS,
    _JOBS,
    int32[::1],
)


@njit()
def _make_packet(
    clock: Table,
    wheel: Ints32,
    events: Table,
    links: Table,
    channels: Table,
    lanes: Table,
    paths: Paths,
    packets: Table,
    nics: Table,
    flows: Table,
    number: int,
    now: float,
) -> int:
    """
    Let a NIC make the next packet of the message whose turn it is.

    Returns the packet, if it found a place at once, or NONE.
    """
    entries = paths.entries
    nic = nics[number]
    at = nic["first"]
    flow = flows[at]
    flow["unsent"] -= 1
    packet = clock[0]["spare"]
    p = packets[packet]
    clock[0]["spare"] = p["next"]
    place = first_place(clock, entries, flows, at, packet)
    size = clock[0]["packet"] if flow["unsent"] > 0 else flow["rest"]
    p["time"], p["bytes"], p["entry"], p["flow"] = now, size, place, at
    p["last"] = 1 if flow["unsent"] == 0 else 0
    if flow["unsent"] == 0 or (clock[0]["turns"] == 1 and nic["fresh"] == 0):
        nic["first"] = flow["next"]
        if flow["unsent"] > 0:
            queue_flow(nics, flows, number, at)
    nic["fresh"] = 0
    channel = channels[entries[place]["channel"]]
    if channel["free"] > 0:
        channel["free"] -= 1
        admit(clock, wheel, events, links, channels, entries, packets, packet, now)
    else:
        nic["waiting"] += 1
        wait(channels, lanes, entries, packets, packet, place)
        packet = NONE
    time = (
        now + size * nic["per_byte"] + (clock[0]["gap_least"] + clock[0]["gap_span"] * draw(clock))
    )
    nic["free_at"] = time
    if nic["first"] == NONE:
        nic["state"] = IDLE
    elif nic["waiting"] >= clock[0]["ahead"]:
        nic["state"] = STALLED
    else:
        schedule(clock, wheel, events, clock[0]["links"] + number, time)
    return int(packet)


@njit()
def _leave_nic(
    clock: Table, wheel: Ints32, events: Table, nics: Table, number: int, now: float
) -> None:
    """Note that a packet that waited in a NIC is on its way."""
    nic = nics[number]
    nic["waiting"] -= 1
    if nic["state"] == STALLED:
        nic["state"] = BUSY
        time = now + idle_delay(clock)
        schedule(clock, wheel, events, clock[0]["links"] + number, time)


@njit()
def _arrive(
    clock: Table,
    wheel: Ints32,
    events: Table,
    links: Table,
    channels: Table,
    lanes: Table,
    paths: Paths,
    packets: Table,
    nics: Table,
    flows: Table,
    steps: Table,
    jobs: Table,
    order: Ints32,
    number: int,
) -> None:
    """Take the first packet off a link: on to the next channel, or to its end."""
    entries = paths.entries
    now = events[number]["time"]
    link = links[number]
    packet = link["head"]
    p = packets[packet]
    link["head"] = p["next"]
    if link["head"] != NONE:
        schedule(clock, wheel, events, number, packets[link["head"]]["time"])
    clock[0]["hops"] += 1
    place = p["entry"]
    channel = entries[place]["channel"]
    if clock[0]["rule"] == FIXED:
        following = entries[place + 1]["channel"]
    else:
        following = onward(clock, channels, paths, packets, flows, packet, number)
    at = p["flow"]
    if following == NONE:
        p["next"] = clock[0]["spare"]
        clock[0]["spare"] = packet
    else:
        p["entry"] = place + 1
        p["time"] = now
        if channels[following]["free"] == 0:
            wait(channels, lanes, entries, packets, packet, place + 1)
            return
        channels[following]["free"] -= 1
        admit(clock, wheel, events, links, channels, entries, packets, packet, now)
    left = release(
        clock, wheel, events, links, channels, lanes, entries, packets, flows, channel, now
    )
    if left != NONE:
        sender = packets[left]["flow"]
        _leave_nic(clock, wheel, events, nics, flows[sender]["nic"], now)
        if packets[left]["last"] == 1 and clock[0]["by_rank"] == 1:
            sent(clock, wheel, events, nics, flows, steps, jobs, order, sender, now)
    if following == NONE:
        arrived(clock, wheel, events, nics, flows, steps, jobs, order, at, now)


@njit(int64(*_WORLD), cache=True)
def advance(
    clock: Table,
    wheel: Ints32,
    events: Table,
    links: Table,
    channels: Table,
    lanes: Table,
    paths: Paths,
    packets: Table,
    nics: Table,
    flows: Table,
    steps: Table,
    jobs: Table,
    order: Ints32,
) -> int:
    """
    Run until all jobs have made their iterations, or the clock says pause.

    Returns DONE; RUNNING at a pause; CROWDED when there are no more spare packets, to be called
    again with more of them; DEADLOCK when packets are under way and none can move.
    """
    n_links = clock[0]["links"]
    mask = wheel.size - 1
    now = clock[0]["now"]
    while (
        clock[0]["unfinished"] > 0
        and clock[0]["hops"] < clock[0]["pause"]
        and clock[0]["spare"] != NONE
    ):
        tick = clock[0]["tick"]
        if clock[0]["scheduled"] > 0:
            while wheel[tick & mask] == NONE:
                tick += 1
            event = wheel[tick & mask]
            time = events[event]["time"]
        else:
            event, time = NONE, np.inf
        if clock[0]["wake"] <= time:
            if clock[0]["wake"] == np.inf:
                return DEADLOCK
            now = wake_job(clock, wheel, events, nics, flows, steps, jobs, order)
            continue
        clock[0]["tick"] = tick
        now = time
        wheel[tick & mask] = events[event]["next"]
        clock[0]["scheduled"] -= 1
        if event < n_links:
            _arrive(
                clock,
                wheel,
                events,
                links,
                channels,
                lanes,
                paths,
                packets,
                nics,
                flows,
                steps,
                jobs,
                order,
                event,
            )
        else:
            made = _make_packet(
                clock,
                wheel,
                events,
                links,
                channels,
                lanes,
                paths,
                packets,
                nics,
                flows,
                event - n_links,
                now,
            )
            if made != NONE and packets[made]["last"] == 1 and clock[0]["by_rank"] == 1:
                sender = packets[made]["flow"]
                sent(clock, wheel, events, nics, flows, steps, jobs, order, sender, now)
    clock[0]["now"] = now
    if clock[0]["unfinished"] == 0:
        return DONE
    return CROWDED if clock[0]["spare"] == NONE else RUNNING
