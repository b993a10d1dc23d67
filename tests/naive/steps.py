"""What a step of a job alone puts on each link, from its description."""

from collections import defaultdict
from itertools import pairwise

from naive import filling, lanes, stalling


def constants(
    step,
    capacity,
    *,
    per_flow=False,
    buffer=0.0,
    packet=0.0,
    ports=None,
    lane_of=None,
    closes=False,
):
    """
    Return tau, lam and per link (B, m, q, G, e, E, v, stage, closed, z) of one step.

    `step` is a list of flows (sender, bytes, links, latency); `ports` says of each link how many
    it stands for, absent: all for themselves; `lane_of`: of the links of a path; what is on
    lanes comes last then, with how long they are closed if `closes`. `packet`: what a place of a
    buffer takes, 0: that is not known.
    """
    flows = [
        (index if per_flow else sender, nbytes, links)
        for index, (sender, nbytes, links, _) in enumerate(step)
        if links
    ]
    drain = defaultdict(float)
    for _, nbytes, links in flows:
        for link in links:
            drain[link] += nbytes / capacity[link]
    opened = defaultdict(list)  # end times of the flows that each sender opens
    sizes = defaultdict(list)
    for sender, nbytes, _ in flows:
        sizes[sender].append(nbytes)
    power = {s: exponent(sum(b) / len(b), buffer) for s, b in sizes.items()}
    ends = [max(drain[link] for link in links) for _, _, links in flows]
    for (sender, _, _), end in zip(flows, ends, strict=True):
        opened[sender].append(end)
    full = {link: _fill(link, flows, packet) for link in drain}
    filled, closed = filling.filled(flows, ends, drain, capacity, buffer, ports=ports, full=full)
    known = drain, capacity, buffer, lane_of
    by_lane = stalling.closed(flows, ends, *known, packet=packet, told=closes)
    table = {}
    for link, own in drain.items():
        on = [(f, end) for f, end in zip(flows, ends, strict=True) if link in f[2]]
        weight = {sender: len(opened[sender]) ** -power[sender] for (sender, _, _), _ in on}
        m = sum(weight[sender] for (sender, _, _), _ in on)
        through = defaultdict(float)
        for (sender, _, links), _ in on:
            if links[0] != link:
                through[links[links.index(link) - 1]] += weight[sender]
        q = len({sender for (sender, _, _), _ in on})
        g = sum(drain[links[0]] * weight[sender] for (sender, _, links), _ in on) / m
        presence = sum(_presence(opened[s], end, power[s]) for (s, _, _), end in on)
        if through and buffer > 0 and not per_flow:  # who comes through one port, as one at most
            room = {before: ports[before] if ports else 1 for before in through}
            fits = sum(min(room[before], through[before]) for before in through)
            m, presence, q = fits, presence * fits / m, min(q, sum(room.values()))
        taken = full[link] if buffer > 0 and not per_flow else 1.0
        m, presence, q = m * taken, presence * taken, q * taken
        last = max(end for _, end in on)
        stage = max(_stage(f[2].index(link), len(f[2])) for f, _ in on)
        queue = own * _queued(link, flows, drain, capacity, buffer * full[link])
        table[link] = (own, m, q, g, last, presence, filled[link], stage, closed[link], queue)
        if lane_of is not None:
            how = filled[link], lane_of, by_lane
            table[link] += (lanes.on_lanes(link, on, weight, drain, how),)
    tau = max(drain.values(), default=0.0)
    lam = max((latency for _, _, links, latency in step if links), default=0.0)
    return tau, lam, table


def _queued(link, flows, drain, capacity, buffer):
    """Return how long the queue of own packets before a link is, in the mean over its use."""
    coming, links = [], 1.0
    for _, nbytes, path in flows:
        place = path.index(link) if link in path else 0
        if place:
            slowest = max(drain[before] for before in path[:place])
            coming.append((slowest, nbytes / capacity[link]))
            links += nbytes / (drain[path[place - 1]] * capacity[path[place - 1]])
    peak = max(
        (sum(own * min(1, t / slowest) for slowest, own in coming) - t for t, _ in coming),
        default=0.0,
    )
    return in_the_mean(peak, links * buffer / capacity[link])


def in_the_mean(peak, room):
    """Return a queue that grows to a peak and shrinks, evenly, as far as there is room."""
    if peak <= 0 or room == 0:
        return 0.0
    return peak / 2 if peak <= room else room * (1 - room / peak / 2)


def _stage(place, n_links):
    """Return the number of a link, from both ends inwards; the fourth and further are alike."""
    if place < n_links - place:
        return 2 * min(place, 3)
    return 2 * min(n_links - 1 - place, 3) + 1


def _fill(link, flows, packet):
    """Return how full the packets of all flows on a link together are."""
    on = [nbytes for _, nbytes, path in flows if link in path]
    return sum(on) / sum(nbytes / filling.fill(nbytes, packet) for nbytes in on)


def exponent(message, buffer):
    """Return c: flows of a sender with o open ones weigh o^-c."""
    if buffer == 0:
        return 1
    return 1 - 0.25 * max(0, 1 - 2 * buffer / message)


def _presence(ends, until, power=1):
    """Integrate (flows still open)^-power from 0 to `until`."""
    points = sorted({0.0, *ends, until})
    return sum(
        (high - low) / sum(end >= high for end in ends) ** power
        for low, high in pairwise(points)
        if high <= until
    )
