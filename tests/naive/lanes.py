"""What jobs have on virtual channels (lanes), and do to each other, from its description."""

from collections import defaultdict


def on_lanes(link, on, weight, drain, how):
    """
    Return per lane the share of the weight, and for which part of the step it is full.

    `on`: pairs (flow, end) of those on the link, a flow (sender, bytes, links); `weight`: of the
    flows of each sender; `how`: for which part some lane of the link is full, what tells the
    lanes of a path, and what `stalling.closed` returns.
    """
    filled, lane_of, by_lane = how
    share, full = defaultdict(float), defaultdict(float)
    total = sum(weight[sender] for (sender, _, _), _ in on)
    for (sender, _, path), end in on:
        place = path.index(link)
        lane = lane_of(path)[place]
        share[lane] += weight[sender] / total
        if max(drain[before] for before in path[: place + 1]) < end:
            full[lane] = filled
    return {
        lane: (share[lane], *by_lane.get((link, lane), (full[lane], 0.0, 0.0, 0.0)))
        for lane in share
    }


def met(own, steps, weights):
    """
    Return the part of the others' weight on own lanes, and what they hold and queue there.

    `own`: from `on_lanes`; `steps`: triples (job, step, its entry) of the others; `weights`: weight
    x length of these. Of several own lanes the fullest counts.
    """
    weight, held, queued = defaultdict(float), defaultdict(float), defaultdict(float)
    for (other, b, entry), weight_s in zip(steps, weights, strict=True):
        for lane, (share, full, *_) in entry[10].items():
            weight[lane] += share * weight_s / other.cycle()
            held[lane] += other.fills * full * other.length(b) / other.cycle()
            queued[lane] += share * entry[9] / other.cycle()
    alike = max(weight[lane] for lane in own) / sum(weight.values())
    return alike, max(held[lane] for lane in own), max(queued[lane] for lane in own)


def beside(n, m, alike):
    """Return what others weigh: those on other lanes at most as much as the own lane, or 1."""
    return min(n, alike * n + max(1.0, m + alike * n))
