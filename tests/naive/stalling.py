"""For how long lanes are closed, and what who comes then waits, from its description."""

from collections import defaultdict
from itertools import pairwise

from naive.filling import fill


def closed(flows, ends, drain, capacity, buffer, lane_of, *, packet=0.0, told=True):  # noqa: C901, PLR0912, PLR0917
    """
    Return of each link and lane v, for which part of the step it is closed (s), s W and s D.

    Arguments as for `filling.filled`; `lane_of`: tells the lanes of a path; `packet`: bytes of a
    place, 0: not known. Nothing if not `told`.
    """
    if not told or buffer == 0:
        return {}
    whole = [(sender, nbytes / fill(nbytes, packet), path) for sender, nbytes, path in flows]
    total, brought = defaultdict(float), defaultdict(lambda: defaultdict(float))
    for _, nbytes, path in whole:
        way = list(zip(path, lane_of(path), strict=True))
        for at in way:
            total[at] += nbytes
        for before, at in pairwise(way):
            brought[at][before] += nbytes
    waiting, late, room = defaultdict(float), defaultdict(float), defaultdict(lambda: buffer)
    full_of = _full(flows, whole, lane_of)
    ways = _waiting(whole, ends, drain, lane_of)
    for way, parts, _, nbytes in ways:
        for i, part in enumerate(parts):
            waiting[way[i]] += nbytes
            late[way[i]] += part * nbytes
            room[way[i]] += sum(buffer * nbytes / total[ahead] for ahead in way[i + 1 :])
    full, ahead = defaultdict(float), defaultdict(float)
    for way, parts, end, _ in ways:
        for i, (at, part) in enumerate(zip(way, parts, strict=False)):
            if part * waiting[at] > room[at]:
                gone = waiting[at] - room[at]
                for later in way[i + 1 :]:
                    gone = _come(brought[later], gone)
                begin = (1 - part) * end * room[at] / (part * waiting[at])
                full[at] = max(full[at], full_of[way[-1]] * gone / capacity[way[-1][0]] - begin)
    for way, parts, end, _ in ways:
        for at, part in zip(way, parts, strict=False):
            queue = _come(brought[at], buffer) * end / waiting[at]
            ahead[at] = max(ahead[at], min(queue, part * full[at]))
    found, tau = {}, max(drain.values())
    for at in total:
        s = full[at] / tau
        alike = 1 - 1.5 * buffer / late[at] if late[at] > 0 else 0.0
        found[at] = max(0.0, s, alike), s, s * ahead[at], s * full[at]
    return found


def _full(flows, whole, lane_of):
    """Return how full the packets on each link and lane are."""
    sent, taken = defaultdict(float), defaultdict(float)
    for (_, nbytes, path), (_, most, _) in zip(flows, whole, strict=True):
        for at in zip(path, lane_of(path), strict=True):
            sent[at] += nbytes
            taken[at] += most
    return {at: sent[at] / taken[at] for at in sent}


def _come(brought, most):
    """Return what comes to a lane if each before it has brought so much, or all it has."""
    return sum(min(most, nbytes) for nbytes in brought.values())


def _waiting(flows, ends, drain, lane_of):
    """
    Return of the flows that wait their lanes up to the slowest link, parts, end and bytes.

    These are the flows of each sender that end last; `parts` says how much of it waits on each.
    """
    last, found = defaultdict(float), []
    for (sender, _, _), end in zip(flows, ends, strict=True):
        last[sender] = max(last[sender], end)
    for (sender, nbytes, path), end in zip(flows, ends, strict=True):
        if end == last[sender]:
            n = next(i for i, link in enumerate(path) if drain[link] >= end)
            way = list(zip(path, lane_of(path), strict=True))[: n + 1]
            parts = [1 - max(drain[link] for link in path[: i + 1]) / end for i in range(n)]
            found.append((way, parts, end, nbytes))
    return found


def stalled(own, link, state, others, mean):
    """
    Return how long a packet waits in the mean that comes to a closed lane; how often, per weight.

    `own`: from `lanes.on_lanes`; `others`: as for `lanes.met`; `mean`: their weight.
    """
    shut, ahead, full = defaultdict(float), defaultdict(float), defaultdict(float)
    for other, b, entry in others:
        for lane, (_, _, s, s_ahead, s_full) in entry[10].items():
            running = other.fills * other.length(b) / other.cycle()
            shut[lane] += s * running
            ahead[lane] += s_ahead * running
            full[lane] += s_full * running
    lanes = [lane for lane in own if shut[lane] > 0]
    if not lanes:
        return 0.0, 0.0
    ahead_s = max(ahead[lane] / shut[lane] for lane in lanes)
    full_s = max(full[lane] / shut[lane] for lane in lanes)
    steps = sum(link in entries for _, _, entries in state.steps)
    crossing = max(1, steps * min(1, full_s / state.period))
    wait = ahead_s * (1 - crossing * ahead_s / full_s / 2)
    if crossing * ahead_s > full_s:
        wait = full_s / crossing / 2
    return wait, max(shut[lane] for lane in lanes) / mean


def late(stall, n, times, end):
    """
    Return what a step waits that is not late already, as its flows go on with those who wait.

    `stall`: from `stalled`; `n`: weight of the others; `times`: how long the link takes, and how
    long if nobody waited for links ahead; `end`: when it is done alone.
    """
    wait, shut = stall
    taken, free = times
    return wait * min(1.0, shut * n) - max(0.0, taken - max(end, free))
