"""Compiled packet-level simulation of iterating jobs; import through `netsim.common.jit`."""

import numpy as np
from numba import from_dtype, int64, types, uint64

from netsim.common.arrays import Table
from netsim.common.jit import njit
from netsim.packetsim.records import (
    BUSY,
    CROWDED,
    DCQCN,
    DEADLOCK,
    DONE,
    END_POINT,
    FIXED,
    IDLE,
    NONE,
    RECORDS,
    RUNNING,
    SPRAY,
    STALLED,
    UNLIMITED,
    World,
)

# DCQCN, Zhu et al. 2015, section 4 and table 14: bytes of a queue between which packets are marked,
# with the greatest chance; ns between notifications and between rises; bytes between rises; rises
# to the old rate; share of a link of 40 Gb/s by which the rate then rises; gain of alpha
_QUEUE_LEAST, _QUEUE_MOST, _MARK_MOST = 5e3, 200e3, 0.01
_NOTIFY_NS, _RISE_NS, _RISE_BYTES, _FAST = 50e3, 55e3, 10e6, 5
_RISE, _GAIN = 40e6 / 40e9, 1.0 / 256.0
_SLOWEST = 1e-4  # share of the link below which no rate falls
_FREE_CHANNEL = 2  # of a torus: the one for any minimal path
_WORLD = types.NamedTuple(tuple(from_dtype(record)[::1] for record in RECORDS), World)


@njit(inline="always", allocates=False)
def schedule(world: World, event: int, time: float) -> None:
    """Put an event that is not scheduled into its slot of the wheel, behind earlier ones."""
    clock, wheel, events = world.clock, world.wheel, world.events
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


@njit(inline="always", allocates=False)
def draw(clock: Table) -> float:
    """Return a random number in [0, 1): SplitMix64, as in `netsim.common.rng`."""
    state = clock[0]["random"] + uint64(0x9E3779B97F4A7C15)
    clock[0]["random"] = state
    state = (state ^ (state >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> uint64(27))) * uint64(0x94D049BB133111EB)
    state ^= state >> uint64(31)
    return float((state >> uint64(11)) * 2.0**-53)


@njit(inline="always", allocates=False)
def idle_delay(clock: Table) -> float:
    """Return the random delay before a link or NIC that was idle."""
    return float(clock[0]["idle_least"] + clock[0]["idle_span"] * draw(clock))


@njit(allocates=False)
def first_place(world: World, flow: int, packet: int) -> int:
    """Return the first place of a packet, written down where each packet has places of its own."""
    clock, entries, flows = world.clock, world.entries, world.flows
    if clock[0]["rule"] == FIXED:
        return int(flows[flow]["entry"])
    base = packet * clock[0]["width"]
    entries[base]["channel"] = flows[flow]["target"]
    channel = flows[flow]["entry"] * clock[0]["per_link"]
    entries[base + 1]["channel"] = channel
    entries[base + 1]["queue"] = channel * max(1, clock[0]["ports"])
    return int(base + 1)


@njit(allocates=False)
def is_first(world: World, packet: int) -> bool:
    """Say whether a packet is at the first place of its path."""
    clock, packets, flows = world.clock, world.packets, world.flows
    place = packets[packet]["entry"]
    if clock[0]["rule"] == FIXED:
        return bool(place == flows[packets[packet]["flow"]]["entry"])
    return bool(place % clock[0]["width"] == 1)


@njit(allocates=False)
def _next_channel(world: World, next_hop: Table, here: int, number: int, link: int) -> int:
    """Return the channel of a link for a packet that comes by another one, on channel `here`."""
    clock, link_ends = world.clock, world.link_ends
    per_link = clock[0]["per_link"]
    if next_hop["escape"] != NONE:
        return int(link * per_link + _FREE_CHANNEL)
    rank, following = link_ends[number]["rank"], link_ends[link]["rank"]
    turned = 1 if 0 < following <= rank else 0
    return int(link * per_link + here % per_link + turned)


@njit(allocates=False)
def _occupied_slots(world: World, channel: int) -> int:
    """Return how many packets hold a place of a channel or wait for one."""
    clock, channels = world.clock, world.channels
    return int(clock[0]["ahead"] - channels[channel]["free"] + channels[channel]["waiting"])


@njit(allocates=False)
def _least_occupied(world: World, key: int, here: int, number: int) -> int:
    """Return how occupied the least occupied of the channels that lead on is."""
    next_hops, options = world.next_hops, world.options
    next_hop = next_hops[key]
    least = np.iinfo(np.int32).max
    for i in range(next_hop["first"], next_hop["first"] + next_hop["count"]):
        channel = _next_channel(world, next_hop, here, number, options[i])
        least = min(least, _occupied_slots(world, channel))
    return int(least)


@njit(allocates=False)
def _ugal_target(world: World, flow: int, here: int, number: int) -> int:
    """
    Return where a packet goes first: to its end, or by a third group or router drawn at random.

    The shorter of the two queues, each times the links to go: UGAL-L (J. Kim et al., *Technology-
    driven, highly-scalable dragonfly topology*, 2008).
    """
    clock, link_ends, next_hops, flows = world.clock, world.link_ends, world.next_hops, world.flows
    f = flows[flow]
    states, state = clock[0]["states"], link_ends[number]["state"]
    third = int(draw(clock) * f["others"])
    if third >= f["low"]:
        third += 1
    if third >= f["high"]:
        third += 1
    target = f["through"] + third
    straight, nonminimal = f["target"] * states + state, target * states + state
    own = _least_occupied(world, straight, here, number)
    other = _least_occupied(world, nonminimal, here, number)
    onward = clock[0]["nonminimal_hops"]
    if f["router"] != NONE:
        onward = next_hops[f["target"] * states + f["router"] + third]["hops_left"]
    longer = next_hops[nonminimal]["hops_left"] + onward
    return (
        int(f["target"])
        if own * next_hops[straight]["hops_left"] <= other * longer
        else int(target)
    )


@njit(allocates=False)
def choose_channel(world: World, packet: int, number: int) -> int:
    """
    Choose the next channel of a packet that comes off a link, and write it down.

    Returns NONE at the end of its path.
    """
    clock, channels, entries, link_ends = (
        world.clock,
        world.channels,
        world.entries,
        world.link_ends,
    )
    next_hops, options, packets, flows = world.next_hops, world.options, world.packets, world.flows
    place, at = packets[packet]["entry"], packets[packet]["flow"]
    flow = flows[at]
    if number == flow["end"]:
        return NONE
    here = entries[place]["channel"]
    base = place - place % clock[0]["width"]
    if place == base + 1 and flow["others"] > 0:
        entries[base]["channel"] = _ugal_target(world, at, here, number)
    state, states = link_ends[number]["state"], clock[0]["states"]
    key = entries[base]["channel"] * states + state
    if next_hops[key]["count"] == 0:
        entries[base]["channel"] = flow["target"]
        key = flow["target"] * states + state
    next_hop = next_hops[key]
    if next_hop["count"] == 0:
        channel = flow["end"] * clock[0]["per_link"]
    else:
        start = int(draw(clock) * next_hop["count"]) if next_hop["count"] > 1 else 0
        channel = _next_channel(world, next_hop, here, number, options[next_hop["first"] + start])
        if clock[0]["rule"] != SPRAY:
            least = _occupied_slots(world, channel)
            for i in range(1, next_hop["count"]):
                option = options[next_hop["first"] + (start + i) % next_hop["count"]]
                other = _next_channel(world, next_hop, here, number, option)
                occupied = _occupied_slots(world, other)
                if occupied < least:
                    least, channel = occupied, other
        if next_hop["escape"] != NONE and channels[channel]["free"] == 0:
            channel = next_hop["escape"]
    entries[place + 1]["channel"] = channel
    ports = clock[0]["ports"]
    entries[place + 1]["queue"] = channel * ports + link_ends[number]["port"] if ports else channel
    return int(channel)


@njit(allocates=False)
def admit(world: World, packet: int, now: float) -> None:
    """Give a packet, which has a slot of its channel, its time on the link."""
    clock, links, channels, entries = world.clock, world.links, world.channels, world.entries
    packets = world.packets
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
        schedule(world, number, p["time"])
    else:
        packets[link["tail"]]["next"] = packet
    link["tail"] = packet


@njit(allocates=False)
def wait(world: World, packet: int, place: int) -> None:
    """Put a packet behind those that wait for a slot of the channel at a place of its path."""
    channels, queues, entries, packets = world.channels, world.queues, world.entries, world.packets
    entry = entries[place]
    queue = queues[entry["queue"]]
    packets[packet]["next"] = NONE
    channels[entry["channel"]]["waiting"] += 1
    if queue["head"] != NONE:
        packets[queue["tail"]]["next"] = packet
        queue["tail"] = packet
        return
    queue["head"] = queue["tail"] = packet
    _append_queue(world, entry["channel"], entry["queue"])


@njit(allocates=False)
def _append_queue(world: World, channel: int, queue: int) -> None:
    """Give a queue the last turn at a channel."""
    channels, queues = world.channels, world.queues
    c = channels[channel]
    queues[queue]["next"] = NONE
    if c["first"] == NONE:
        c["first"] = queue
    else:
        queues[c["last"]]["next"] = queue
    c["last"] = queue


@njit(allocates=False)
def release(world: World, channel: int, now: float) -> int:
    """
    Give back a slot; packets that wait move up, and give back theirs.

    Returns the packet that left a NIC thereby, or NONE.
    """
    channels, queues, entries, packets = world.channels, world.queues, world.entries, world.packets
    while True:
        c = channels[channel]
        number = c["first"]
        if number == NONE:
            c["free"] += 1
            return NONE
        queue = queues[number]
        packet = queue["head"]
        c["waiting"] -= 1
        queue["head"] = packets[packet]["next"]
        c["first"] = queue["next"]
        if queue["head"] != NONE:
            _append_queue(world, channel, number)
        admit(world, packet, now)
        if is_first(world, packet):
            return int(packet)
        channel = entries[packets[packet]["entry"] - 1]["channel"]


@njit(allocates=False)
def queue_flow(world: World, number: int, flow: int) -> None:
    """Give a message the last turn at its NIC."""
    nics, flows = world.nics, world.flows
    nic = nics[number]
    flows[flow]["next"] = NONE
    if nic["first"] == NONE:
        nic["first"] = flow
    else:
        flows[nic["last"]]["next"] = flow
    nic["last"] = flow


@njit(allocates=False)
def begin_step(world: World, number: int, now: float) -> bool:
    """Give the flows of a step to their NICs, in their order; say whether any is to come."""
    clock, nics, flows, steps, jobs = world.clock, world.nics, world.flows, world.steps, world.jobs
    order = world.order
    first, end = steps[number]["flow"], steps[number + 1]["flow"]
    n_open = end - first
    if clock[0]["by_rank"] == 1:
        count = jobs[steps[number]["job"]]["count"]
        for i in range(steps[number]["receives"], steps[number + 1]["receives"]):
            if flows[order[i]]["done"] <= count:
                n_open += 1
    steps[number]["open"] = n_open
    for i in range(end - 1, first - 1, -1):
        if clock[0]["shuffles"] == 1:
            other = first + int(draw(clock) * (i + 1 - first))
            at = order[other]
            order[other] = order[i]
            order[i] = at
        else:
            at = order[first + end - 1 - i]
        flow = flows[at]
        flow["unsent"] = flow["packets"]
        nic = nics[flow["nic"]]
        queue_flow(world, flow["nic"], at)
        nic["ready_at"] = max(nic["ready_at"], now)
        if nic["state"] == IDLE:
            time = now + idle_delay(clock)
            nic["fresh"] = 1 if nic["free_at"] <= time else 0
            nic["state"] = BUSY
            schedule(world, clock[0]["links"] + flow["nic"], max(time, nic["free_at"]))
    return bool(n_open > 0)


@njit(allocates=False)
def _end_iteration(world: World, number: int, now: float) -> bool:
    """Count an iteration; say whether the job communicates on at once."""
    clock, jobs = world.clock, world.jobs
    job = jobs[number]
    job["step"] = job["first"]
    place = job["count"] - job["dropped"]
    if 0 <= place < clock[0]["kept"]:
        world.lasted[number * clock[0]["kept"] + place] = now - job["last_end"]
    job["count"] += 1
    job["last_end"] = now
    if job["count"] == job["dropped"]:
        job["first_end"] = now
    if job["count"] == 1:
        job["comm_first"] = now - job["began"]
    else:
        job["comm_sum"] += now - job["began"]
    if job["count"] == job["need"]:
        job["need_end"] = now
        clock[0]["unfinished"] -= 1
        if job["leaves"] == 1:
            return False
    if job["compute"] > 0.0:
        part = 1.0 - job["spread"]
        if job["spread"] > 0.0:
            part += 2.0 * job["spread"] * draw(clock)
        job["wake"] = now + job["compute"] * part
        clock[0]["wake"] = min(clock[0]["wake"], job["wake"])
        return False
    job["began"] = now
    return True


@njit(allocates=False)
def end_step(world: World, number: int, now: float) -> None:
    """Go on to a job's next step, or to its next iteration, until something is to come."""
    jobs = world.jobs
    job = jobs[number]
    while True:
        job["step"] += 1
        if job["step"] == jobs[number + 1]["first"] and not _end_iteration(world, number, now):
            return
        if begin_step(world, job["step"], now):
            return


@njit(allocates=False)
def sent(world: World, flow: int, now: float) -> None:
    """Note that the last packet of a message has left its NIC."""
    flows, steps = world.flows, world.steps
    step = steps[flows[flow]["step"]]
    step["open"] -= 1
    if step["open"] == 0:
        end_step(world, step["job"], now)


@njit(allocates=False)
def arrived(world: World, at: int, now: float) -> None:
    """Count a packet of a message that has arrived; the last one may end a step."""
    clock, flows, steps, jobs = world.clock, world.flows, world.steps, world.jobs
    flow = flows[at]
    flow["unarrived"] -= 1
    if flow["unarrived"] > 0:
        return
    flow["unarrived"] = flow["packets"]
    flow["done"] += 1
    step = steps[flow["into"]]
    if clock[0]["by_rank"] == 1 and (
        step["open"] == 0 or jobs[step["job"]]["count"] + 1 != flow["done"]
    ):
        return  # too early: counted when its step begins
    step["open"] -= 1
    if step["open"] == 0:
        end_step(world, step["job"], now)


@njit(allocates=False)
def wake_job(world: World) -> float:
    """Start the job whose compute phase ends first; return when that is."""
    clock, jobs = world.clock, world.jobs
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
    first = jobs[which]["first"]
    if not begin_step(world, first, now):
        end_step(world, which, now)
    return float(now)


@njit(allocates=False)
def _mark_packet(world: World, packet: int, channel: int) -> None:
    """Mark a packet by the queue that it joins, as RED does."""
    clock, packets = world.clock, world.packets
    queue = _occupied_slots(world, channel) * clock[0]["packet"]
    if queue > _QUEUE_LEAST:
        part = (queue - _QUEUE_LEAST) / (_QUEUE_MOST - _QUEUE_LEAST)
        if part >= 1.0 or draw(clock) < part * _MARK_MOST:
            packets[packet]["marked"] = 1


@njit(allocates=False)
def _catch_up(pacer: Table, now: float) -> None:
    """Let the rate of a message rise as time and bytes have passed."""
    while now - pacer["decayed"] >= _RISE_NS:
        pacer["decayed"] += _RISE_NS
        pacer["alpha"] *= 1.0 - _GAIN
    while pacer["rate"] < 1.0:
        if now - pacer["raised"] >= _RISE_NS:
            pacer["raised"] += _RISE_NS
            pacer["by_time"] += 1
        elif pacer["bytes"] >= _RISE_BYTES:
            pacer["bytes"] -= _RISE_BYTES
            pacer["by_bytes"] += 1
        else:
            return
        if max(pacer["by_time"], pacer["by_bytes"]) > _FAST:
            pacer["target"] = min(1.0, pacer["target"] + _RISE)
        pacer["rate"] = 0.5 * (pacer["rate"] + pacer["target"])
        if pacer["rate"] > 1.0 - _RISE:
            pacer["rate"] = 1.0


@njit(allocates=False)
def _notify_sender(world: World, at: int, now: float) -> None:
    """Notify a sender that a packet of its message came marked: its rate falls."""
    pacer = world.pacers[world.flows[at]["pacer"]]
    if now - pacer["notified"] < _NOTIFY_NS:
        return
    _catch_up(pacer, now)
    pacer["notified"] = pacer["decayed"] = pacer["raised"] = now
    pacer["target"] = pacer["rate"]
    pacer["rate"] = max(_SLOWEST, pacer["rate"] * (1.0 - 0.5 * pacer["alpha"]))
    pacer["alpha"] = (1.0 - _GAIN) * pacer["alpha"] + _GAIN
    pacer["by_time"] = pacer["by_bytes"] = 0
    pacer["bytes"] = 0.0


@njit(allocates=False)
def _next_size(world: World, at: int) -> float:
    """Return the bytes of the next packet of a message."""
    flow = world.flows[at]
    return float(world.clock[0]["packet"] if flow["unsent"] > 1 else flow["rest"])


@njit(allocates=False)
def _let_through(world: World, at: int, now: float) -> None:
    """Count a packet that may go against what its receiver takes, or the rate of its message."""
    pacer = world.pacers[world.flows[at]["pacer"]]
    size = _next_size(world, at)
    pacer["bytes"] += size
    pacer["until"] = max(pacer["until"], now) + size * pacer["per_byte"] / pacer["rate"]


@njit(allocates=False)
def _opens_at(world: World, number: int, now: float) -> float:
    """Return when a pacer lets the next packet through."""
    clock, pacer = world.clock, world.pacers[number]
    if clock[0]["scheme"] == END_POINT:
        return float(pacer["until"] - clock[0]["reaction"])
    _catch_up(pacer, now)
    return float(pacer["until"] if pacer["rate"] < 1.0 else now)


@njit(allocates=False)
def _hold_message(world: World, number: int, now: float) -> bool:
    """
    Let the message whose turn it is at a NIC wait, if its receiver or its rate wants it.

    Returns whether the NIC has no other message.
    """
    clock, nics, flows, pacers = world.clock, world.nics, world.flows, world.pacers
    nic = nics[number]
    while nic["first"] != NONE:
        at = nic["first"]
        flow = flows[at]
        if flow["granted"] == 1:
            return False
        which = flow["pacer"]
        pacer = pacers[which]
        opens = _opens_at(world, which, now)
        if pacer["first"] == NONE and opens <= now:
            _let_through(world, at, now)
            flow["granted"] = 1
            return False
        nic["first"] = flow["next"]
        flow["next"] = NONE
        if pacer["first"] == NONE:
            pacer["first"] = at
            event = clock[0]["links"] + clock[0]["nics"] + which
            schedule(world, event, min(max(opens, now), now + clock[0]["horizon"]))
        else:
            flows[pacer["last"]]["next"] = at
        pacer["last"] = at
    nic["state"] = IDLE
    return True


@njit(allocates=False)
def _open_message(world: World, which: int, now: float) -> None:
    """Give the first message that waits at a pacer back to its NIC."""
    clock, nics, flows, pacers = world.clock, world.nics, world.flows, world.pacers
    pacer = pacers[which]
    event = clock[0]["links"] + clock[0]["nics"] + which
    opens = _opens_at(world, which, now)
    if opens > now:
        schedule(world, event, min(opens, now + clock[0]["horizon"]))
        return
    at = pacer["first"]
    flow = flows[at]
    pacer["first"] = flow["next"]
    _let_through(world, at, now)
    flow["granted"] = 1
    queue_flow(world, flow["nic"], at)
    nic = nics[flow["nic"]]
    if nic["state"] == IDLE:
        nic["state"], nic["fresh"] = BUSY, 0
        schedule(world, clock[0]["links"] + flow["nic"], max(now, nic["free_at"]))
    if pacer["first"] != NONE:
        opens = _opens_at(world, which, now)
        schedule(world, event, min(max(opens, now), now + clock[0]["horizon"]))


@njit(allocates=False)
def _make_packet(world: World, number: int, now: float) -> int:
    """
    Let a NIC make the next packet of the message whose turn it is.

    Returns the packet, if it found a place at once, or NONE.
    """
    clock, channels, entries, packets = world.clock, world.channels, world.entries, world.packets
    nics, flows = world.nics, world.flows
    nic = nics[number]
    if clock[0]["scheme"] != UNLIMITED and _hold_message(world, number, now):
        return NONE
    at = nic["first"]
    flow = flows[at]
    if clock[0]["overhead"] > 0.0 and flow["unsent"] == flow["packets"]:
        if nic["prepared"] != at:
            nic["prepared"] = at
            nic["ready_at"] += clock[0]["overhead"]
        if nic["ready_at"] > now:
            nic["free_at"] = nic["ready_at"]
            schedule(world, clock[0]["links"] + number, nic["free_at"])
            return NONE
        nic["prepared"] = NONE
    flow["unsent"] -= 1
    packet = clock[0]["spare"]
    p = packets[packet]
    clock[0]["spare"] = p["next"]
    place = first_place(world, at, packet)
    size = clock[0]["packet"] if flow["unsent"] > 0 else flow["rest"]
    p["time"], p["bytes"], p["entry"], p["flow"] = now, size, place, at
    p["last"] = 1 if flow["unsent"] == 0 else 0
    p["marked"] = flow["granted"] = 0
    if flow["unsent"] == 0 or (clock[0]["round_robin"] == 1 and nic["fresh"] == 0):
        nic["first"] = flow["next"]
        if flow["unsent"] > 0:
            queue_flow(world, number, at)
    nic["fresh"] = 0
    channel = channels[entries[place]["channel"]]
    if channel["free"] > 0:
        channel["free"] -= 1
        admit(world, packet, now)
    else:
        nic["waiting"] += 1
        wait(world, packet, place)
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
        schedule(world, clock[0]["links"] + number, time)
    return int(packet)


@njit(allocates=False)
def _leave_nic(world: World, number: int, now: float) -> None:
    """Note that a packet that waited in a NIC is on its next_hop."""
    clock, nics = world.clock, world.nics
    nic = nics[number]
    nic["waiting"] -= 1
    if nic["state"] == STALLED:
        nic["state"] = BUSY
        time = now + idle_delay(clock)
        schedule(world, clock[0]["links"] + number, time)


@njit(allocates=False)
def _arrive_packet(world: World, number: int) -> None:
    """Take the first packet off a link: on to the next channel, or to its end."""
    clock, events, links, channels = world.clock, world.events, world.links, world.channels
    entries, packets, flows = world.entries, world.packets, world.flows
    now = events[number]["time"]
    link = links[number]
    packet = link["head"]
    p = packets[packet]
    link["head"] = p["next"]
    if link["head"] != NONE:
        schedule(world, number, packets[link["head"]]["time"])
    clock[0]["hops"] += 1
    place = p["entry"]
    channel = entries[place]["channel"]
    if clock[0]["rule"] == FIXED:
        following = entries[place + 1]["channel"]
    else:
        following = choose_channel(world, packet, number)
    at = p["flow"]
    if clock[0]["scheme"] == DCQCN:
        if following != NONE:
            _mark_packet(world, packet, following)
        elif p["marked"] == 1:
            _notify_sender(world, at, now)
    if following == NONE:
        p["next"] = clock[0]["spare"]
        clock[0]["spare"] = packet
    else:
        p["entry"] = place + 1
        p["time"] = now
        if channels[following]["free"] == 0:
            wait(world, packet, place + 1)
            return
        channels[following]["free"] -= 1
        admit(world, packet, now)
    left = release(world, channel, now)
    if left != NONE:
        sender = packets[left]["flow"]
        _leave_nic(world, flows[sender]["nic"], now)
        if packets[left]["last"] == 1 and clock[0]["by_rank"] == 1:
            sent(world, sender, now)
    if following == NONE:
        arrived(world, at, now)


@njit(int64(_WORLD), cache=True, allocates=False)
def advance(world: World) -> int:
    """
    Run until all jobs have made their iterations, or the clock says pause.

    Returns DONE; RUNNING at a pause; CROWDED when there are no more spare packets, to be called
    again with more of them; DEADLOCK when packets are under next_hop and none can move.
    """
    clock, wheel, events, packets = world.clock, world.wheel, world.events, world.packets
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
            now = wake_job(world)
            continue
        clock[0]["tick"] = tick
        now = time
        wheel[tick & mask] = events[event]["next"]
        clock[0]["scheduled"] -= 1
        if event < n_links:
            _arrive_packet(world, event)
        elif event >= n_links + clock[0]["nics"]:
            _open_message(world, event - n_links - clock[0]["nics"], now)
        else:
            made = _make_packet(world, event - n_links, now)
            if made != NONE and packets[made]["last"] == 1 and clock[0]["by_rank"] == 1:
                sender = packets[made]["flow"]
                sent(world, sender, now)
    clock[0]["now"] = now
    if clock[0]["unfinished"] == 0:
        return DONE
    return CROWDED if clock[0]["spare"] == NONE else RUNNING
