"""Compiled packet-level simulation of iterating jobs; import through `netsim.kernelcache`."""

import numpy as np
from numba import from_dtype, int32, int64

from netsim.arrays import Table
from netsim.packets.columns import (
    BUSY,
    CHANNEL,
    CLOCK,
    CROWDED,
    DEADLOCK,
    DONE,
    ENTRY,
    EVENT,
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
    Ints32,
)
from netsim.packets.queue_kernels import admit, release, wait
from netsim.packets.wheel_kernels import draw, idle_delay, schedule, uncounted

_CLOCK, _EVENTS, _LINKS, _CHANNELS, _LANES, _ENTRIES, _PACKETS, _NICS, _FLOWS, _STEPS, _JOBS = (
    from_dtype(record)[::1]
    for record in (CLOCK, EVENT, LINK, CHANNEL, LANE, ENTRY, PACKET, NIC, FLOW, STEP, JOB)
)
_WORLD = (
    _CLOCK,
    int32[::1],
    _EVENTS,
    _LINKS,
    _CHANNELS,
    _LANES,
    _ENTRIES,
    _PACKETS,
    _NICS,
    _FLOWS,
    _STEPS,
    _JOBS,
    int32[::1],
)


@uncounted()
def _make_packet(
    clock: Table,
    wheel: Ints32,
    events: Table,
    links: Table,
    channels: Table,
    lanes: Table,
    entries: Table,
    packets: Table,
    nics: Table,
    flows: Table,
    number: int,
    now: float,
) -> None:
    """Let a NIC make the next packet of the message whose turn it is."""
    nic = nics[number]
    at = nic["first"]
    flow = flows[at]
    flow["unsent"] -= 1
    packet = clock[0]["spare"]
    p = packets[packet]
    clock[0]["spare"] = p["next"]
    place = flow["entry"]
    size = clock[0]["packet"] if flow["unsent"] > 0 else flow["rest"]
    p["time"], p["bytes"], p["entry"], p["flow"] = now, size, place, at
    if flow["unsent"] == 0 or (clock[0]["turns"] == 1 and nic["fresh"] == 0):
        nic["first"] = flow["next"]
        if flow["unsent"] > 0:
            _queue_flow(nics, flows, number, at)
    nic["fresh"] = 0
    channel = channels[entries[place]["channel"]]
    if channel["free"] > 0:
        channel["free"] -= 1
        admit(clock, wheel, events, links, channels, entries, packets, packet, now)
    else:
        nic["waiting"] += 1
        wait(channels, lanes, entries, packets, packet, place)
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


@uncounted()
def _queue_flow(nics: Table, flows: Table, number: int, flow: int) -> None:
    """Give a message the last turn at its NIC."""
    nic = nics[number]
    flows[flow]["next"] = NONE
    if nic["first"] == NONE:
        nic["first"] = flow
    else:
        flows[nic["last"]]["next"] = flow
    nic["last"] = flow


@uncounted()
def _begin_step(
    clock: Table,
    wheel: Ints32,
    events: Table,
    nics: Table,
    flows: Table,
    steps: Table,
    order: Ints32,
    number: int,
    now: float,
) -> None:
    """Give the flows of a step to their NICs, in random order."""
    first, end = steps[number]["flow"], steps[number + 1]["flow"]
    steps[number]["open"] = end - first
    for i in range(end - 1, first - 1, -1):
        other = first + int(draw(clock) * (i + 1 - first))
        at = order[other]
        order[other] = order[i]
        order[i] = at
        flow = flows[at]
        flow["unsent"] = flow["unarrived"] = flow["packets"]
        nic = nics[flow["nic"]]
        _queue_flow(nics, flows, flow["nic"], at)
        if nic["state"] == IDLE:
            time = now + idle_delay(clock)
            nic["fresh"] = 1 if nic["free_at"] <= time else 0
            nic["state"] = BUSY
            schedule(
                clock, wheel, events, clock[0]["links"] + flow["nic"], max(time, nic["free_at"])
            )


@uncounted()
def _end_step(
    clock: Table,
    wheel: Ints32,
    events: Table,
    nics: Table,
    flows: Table,
    steps: Table,
    jobs: Table,
    order: Ints32,
    number: int,
    now: float,
) -> None:
    """Go on to a job's next step, or to its next iteration."""
    job = jobs[number]
    job["step"] += 1
    if job["step"] < jobs[number + 1]["first"]:
        _begin_step(clock, wheel, events, nics, flows, steps, order, job["step"], now)
        return
    job["step"] = job["first"]
    job["count"] += 1
    job["last_end"] = now
    if job["count"] == 1:
        job["first_end"] = now
        job["comm_first"] = now - job["began"]
    else:
        job["comm_sum"] += now - job["began"]
    if job["count"] == job["need"]:
        job["need_end"] = now
        clock[0]["unfinished"] -= 1
        if job["leaves"] == 1:
            return
    if job["compute"] > 0.0:
        part = 1.0 - job["spread"]
        if job["spread"] > 0.0:
            part += 2.0 * job["spread"] * draw(clock)
        job["wake"] = now + job["compute"] * part
        clock[0]["wake"] = min(clock[0]["wake"], job["wake"])
    else:
        job["began"] = now
        _begin_step(clock, wheel, events, nics, flows, steps, order, job["first"], now)


@uncounted()
def _wake_job(
    clock: Table,
    wheel: Ints32,
    events: Table,
    nics: Table,
    flows: Table,
    steps: Table,
    jobs: Table,
    order: Ints32,
) -> float:
    """Start the job whose compute phase ends first; return when that is."""
    now = clock[0]["wake"]
    which, following = NONE, np.inf
    for number in range(jobs.size - 1):
        wake = jobs[number]["wake"]
        if which == NONE and wake == now:
            which = number
        else:
            following = min(following, wake)
    clock[0]["wake"] = following
    jobs[which]["wake"] = np.inf
    jobs[which]["began"] = now
    clock[0]["tick"] = int(now * clock[0]["per_ns"])
    _begin_step(clock, wheel, events, nics, flows, steps, order, jobs[which]["first"], now)
    return float(now)


@uncounted()
def _arrive(
    clock: Table,
    wheel: Ints32,
    events: Table,
    links: Table,
    channels: Table,
    lanes: Table,
    entries: Table,
    packets: Table,
    nics: Table,
    flows: Table,
    steps: Table,
    jobs: Table,
    order: Ints32,
    number: int,
) -> None:
    """Take the first packet off a link: on to the next channel, or to its end."""
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
    following = entries[place + 1]["channel"]
    if following == NONE:
        at = p["flow"]
        p["next"] = clock[0]["spare"]
        clock[0]["spare"] = packet
        release(
            clock,
            wheel,
            events,
            links,
            channels,
            lanes,
            entries,
            packets,
            nics,
            flows,
            channel,
            now,
        )
        flow = flows[at]
        flow["unarrived"] -= 1
        if flow["unarrived"] == 0:
            step = steps[flow["step"]]
            step["open"] -= 1
            if step["open"] == 0:
                _end_step(clock, wheel, events, nics, flows, steps, jobs, order, step["job"], now)
        return
    p["entry"] = place + 1
    p["time"] = now
    if channels[following]["free"] > 0:
        channels[following]["free"] -= 1
        admit(clock, wheel, events, links, channels, entries, packets, packet, now)
        release(
            clock,
            wheel,
            events,
            links,
            channels,
            lanes,
            entries,
            packets,
            nics,
            flows,
            channel,
            now,
        )
    else:
        wait(channels, lanes, entries, packets, packet, place + 1)


@uncounted(int64(*_WORLD))
def advance(
    clock: Table,
    wheel: Ints32,
    events: Table,
    links: Table,
    channels: Table,
    lanes: Table,
    entries: Table,
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
            now = _wake_job(clock, wheel, events, nics, flows, steps, jobs, order)
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
                entries,
                packets,
                nics,
                flows,
                steps,
                jobs,
                order,
                event,
            )
        else:
            _make_packet(
                clock,
                wheel,
                events,
                links,
                channels,
                lanes,
                entries,
                packets,
                nics,
                flows,
                event - n_links,
                now,
            )
    clock[0]["now"] = now
    if clock[0]["unfinished"] == 0:
        return DONE
    return CROWDED if clock[0]["spare"] == NONE else RUNNING
