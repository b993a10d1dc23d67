"""Which links packets fill while they wait further on, and who waits behind them."""

from collections import defaultdict
from itertools import pairwise
from math import ceil, exp, log


def filled(flows, ends, drain, capacity, buffer, *, ports=None, full=None):  # noqa: C901, PLR0912
    """
    Return for which part of the step each link is full, and for which each pool is closed.

    `flows` (sender, bytes, links) end at `ends`; links take `drain` seconds. `ports`: how many
    links each stands for; `full`: how full the packets on each are, absent: they are.
    """
    filled, closed = defaultdict(float), defaultdict(float)
    if buffer == 0:
        return filled, closed
    room_of = [
        buffer * (ports[link] if ports else 1) * (full.get(link, 1) if full else 1)
        for link in range(len(capacity))
    ]
    ways = [
        links[: next(i for i, link in enumerate(links) if drain[link] >= end) + 1]
        for (_, _, links), end in zip(flows, ends, strict=True)
    ]
    brought = defaultdict(lambda: defaultdict(float))
    waiting, room, most = defaultdict(float), dict(enumerate(room_of)), defaultdict(float)
    most_of = defaultdict(float)  # greatest part of a flow that waits
    for (_, nbytes, links), way, end in zip(flows, ways, ends, strict=True):
        for before, link in pairwise(links):
            brought[link][before] += nbytes
        for place, link in enumerate(way[:-1]):
            waiting[link] += nbytes
            part = 1 - max(drain[before] for before in way[: place + 1]) / end
            most[link] += nbytes * part
            most_of[link] = max(most_of[link], part)
            for ahead in way[place + 1 :]:
                room[link] += room_of[ahead] * nbytes / (drain[ahead] * capacity[ahead])
    tau = max(drain.values())
    for end, way in zip(ends, ways, strict=True):
        for place, link in enumerate(way[:-1]):
            is_pool = ports and ports[link] > 1
            this_far = max(drain[before] for before in way[: place + 1])
            part = 1 - this_far / end
            alike = most[link] if is_pool else most_of[link] * drain[link] * capacity[link]
            if alike > 0:
                filled[link] = max(filled[link], 1 - 1.5 * room_of[link] / alike)
            waits = most[link] if is_pool else part * waiting[link]
            if waits <= room[link]:
                continue
            if is_pool:
                queue = sum(min(nbytes, room_of[i]) for i, nbytes in brought[link].items())
                queue_s = min(queue, most[link] - room[link]) * end / waiting[link]
                closed[link] = max(closed[link], queue_s / tau)
            gone = waiting[link] - room[link]
            for ahead in way[place + 1 :]:
                gone = sum(min(gone, nbytes) for nbytes in brought[ahead].values())
            time = gone / capacity[way[-1]] - this_far * room[link] / waits
            filled[link] = max(filled[link], time / tau)
    for link in range(len(capacity)) if ports else ():
        if ports[link] > 1:
            full = filled.pop(link, 0.0)
            grows = max(0.0, full - closed[link])
            closed[link] = full - grows * grows / full if full > 0 else 0.0
    return filled, closed


def lost(state, others):
    """Return the share of its time that a job loses before pools that others close."""
    links = {link for _, _, table in state.steps for link in table}
    return max((_lost_before(link, state, others) for link in links), default=0.0)


def _lost_before(link, state, others):
    """Return what a job loses before one link."""
    opens, lengths, weights = 1.0, 0.0, 0.0
    for other in others:
        closed_s = [
            table[link][8] * tau if link in table and table[link][8] > 0 else 0.0
            for tau, _, table in other.steps
        ]
        share = sum(closed_s) / other.cycle() if closed_s else 0.0
        if share > 0:
            weight = -log(1 - min(0.99, share))
            opens *= exp(-weight)
            weights += weight
            lengths += weight * sum(x * x for x in closed_s) / sum(closed_s)
    if weights == 0:
        return 0.0
    length, share = lengths / weights, 1 - opens
    busy, taus, spared, begin = [], [], [], 0.0
    for alone, (tau, _, table) in zip(state.alone, state.steps, strict=True):
        if link in table:
            own, m, q, g, *_ = table[link]
            busy.append((begin, begin + alone))
            taus.append(tau)
            spared.append(max(0.0, tau - max(own, g * m / q)))
        begin += alone
    gaps = [after[0] - before[1] for before, after in pairwise(busy)]
    gaps.append(state.period - busy[-1][1] + busy[0][0])
    idle = sum(gaps)
    met = 1 - idle / state.period
    if idle > 0:
        gap = sum(x * x for x in gaps) / idle
        hit = 1 - gap / (2 * length) if length > gap else length / (2 * gap)
        met += idle / state.period * hit
    spare = sum(x * tau for x, tau in zip(spared, taus, strict=True)) / sum(taus)
    step = sum(tau * tau for tau in taus) / sum(taus)
    spare *= min(1.0, length / share / step)
    return share * met * max(0.0, 1 - spare / length)


def fill(message, packet):
    """Return how full the packets of a message are, at least 1/10,000; 1 if none is known."""
    if not packet:
        return 1.0
    count = ceil(message / packet - message / packet / 1e12)
    return min(1.0, max(1e-4, message / (packet * count)))
