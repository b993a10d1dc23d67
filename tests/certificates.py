"""Proofs that an answer is right, whoever made it; nothing here knows the code under test."""

import math

SLACK = 1e-9  # relative; answers are floating-point numbers


def assert_max_min_fair(rates, lists, capacity, weights=None, channel=None):
    """
    Demand that rates are max-min fair.

    No channel carries more than its capacity, and every flow has a full channel on which
    no flow has a greater rate over weight (Bertsekas & Gallager, *Data Networks*, 2nd ed.,
    section 6.5.2). A flow without links must be infinitely fast.
    """
    channel = range(len(capacity)) if channel is None else channel
    weights = [1.0] * len(lists) if weights is None else weights
    rows = [[int(channel[link]) for link in row] for row in lists]
    limit = {int(channel[link]): float(c) for link, c in enumerate(capacity)}
    carried = dict.fromkeys(limit, 0.0)
    greatest = dict.fromkeys(limit, 0.0)
    for rate, weight, row in zip(rates, weights, rows, strict=True):
        for c in row:
            carried[c] += rate
            greatest[c] = max(greatest[c], rate / weight)
    for c, total in carried.items():
        assert total <= limit[c] * (1 + SLACK), f"channel {c} carries {total} of {limit[c]}"
    for flow, (rate, weight, row) in enumerate(zip(rates, weights, rows, strict=True)):
        if not row:
            assert math.isinf(rate), f"flow {flow} crosses no link but has rate {rate}"
            continue
        bottlenecks = [
            c
            for c in row
            if carried[c] >= limit[c] * (1 - SLACK) and rate / weight >= greatest[c] * (1 - SLACK)
        ]
        assert bottlenecks, f"flow {flow} has no bottleneck"


def assert_permutation_routed(fabric, owned, src, dst, lists):
    """
    Demand that routes carry a permutation with at most one flow per directed link.

    `fabric` gives the tail and head vertex of every directed link (nodes first), `owned` the
    links between switches that may be used. Every route must be a chain of links from its
    source to its destination, no link may be in two routes, and no node may send or receive
    twice.
    """
    n_nodes, tail, head = fabric
    assert len(set(src)) == len(src), "a node sends twice"
    assert len(set(dst)) == len(dst), "a node receives twice"
    user = {}
    for flow, (start, end, row) in enumerate(zip(src, dst, lists, strict=True)):
        at = start
        for link in row:
            assert tail[link] == at, f"flow {flow}: link {link} does not leave vertex {at}"
            at = head[link]
            between_switches = tail[link] >= n_nodes and at >= n_nodes
            assert not between_switches or link in owned, f"flow {flow}: link {link} is not owned"
            assert link not in user, f"link {link} carries flows {user[link]} and {flow}"
            user[link] = flow
        assert at == end, f"flow {flow} ends at {at}, not {end}"


def assert_cut_blocks(fabric, owned, src, dst, weights):
    """
    Demand that link weights prove a permutation cannot be routed with one flow per link.

    If it could, the flows would use disjoint links, so the shortest minimal paths of all of
    them, weighed with min(1, .), could not add up to more than the weights of all links.
    """
    n_nodes, tail, head = fabric
    free = {e for e in range(len(tail)) if tail[e] < n_nodes or head[e] < n_nodes}
    out, back = {}, {}
    for link in range(len(tail)):
        back.setdefault(head[link], []).append(link)
        if link in owned or link in free:
            out.setdefault(tail[link], []).append(link)
    assert all(weight >= 0 for weight in weights.values()), "a weight is negative"
    assert set(weights) <= set(owned), "a weight lies on a link that is not owned"
    total = 0.0
    for start, end in zip(src, dst, strict=True):
        hops = _hops_to(end, back, tail)
        cost = {start: 0.0}
        for _ in range(hops[start]):
            reached = {}
            for vertex, so_far in cost.items():
                for link in out.get(vertex, ()):
                    to = head[link]
                    if hops.get(to) == hops[vertex] - 1:
                        value = so_far + weights.get(link, 0.0)
                        reached[to] = min(reached.get(to, math.inf), value)
            cost = reached
        total += min(1.0, cost.get(end, math.inf))
    assert total > sum(weights.values()) + 1e-6, f"paths need {total} of {sum(weights.values())}"


def _hops_to(end, back, tail):
    """Return the links from every vertex to one, on the whole fabric."""
    hops, ring = {end: 0}, [end]
    while ring:
        before = [tail[link] for vertex in ring for link in back.get(vertex, ())]
        depth = hops[ring[0]] + 1
        ring = [vertex for vertex in dict.fromkeys(before) if vertex not in hops]
        hops.update(dict.fromkeys(ring, depth))
    return hops
