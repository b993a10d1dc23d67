"""How packets are spread where routers choose, link by link in fractions: slow, obviously right."""

from collections import defaultdict
from fractions import Fraction

from netsim.topology.dragonfly import Dragonfly


def router_links(fabric):
    """Return links in service between routers: number, tail and head."""
    absent = set() if fabric.absent is None else set(fabric.absent.tolist())
    first = fabric.n_nodes
    ends = enumerate(zip(fabric.link_tail.tolist(), fabric.link_head.tolist(), strict=True))
    return [
        (link, tail - first, head - first)
        for link, (tail, head) in ends
        if link not in absent and tail >= first and head >= first
    ]


def distances(links, goals):
    """Return links to go to the nearest goal, of the routers from which one can be reached."""
    found = dict.fromkeys(goals, 0)
    togo = 0
    while True:
        nearer = {tail for _, tail, head in links if found.get(head) == togo} - set(found)
        if not nearer:
            return found
        togo += 1
        found |= dict.fromkeys(nearer, togo)


def poured(links, goals, start):
    """Return the share of each link, and of each goal, where any nearer link may be taken."""
    togo = distances(links, goals)
    shares, mass = defaultdict(Fraction), {start: Fraction(1)}
    for step in range(togo[start], 0, -1):
        for router in [r for r in mass if togo[r] == step]:
            part = mass.pop(router)
            onward = [(k, head) for k, tail, head in links if tail == router]
            onward = [(k, head) for k, head in onward if togo.get(head) == step - 1]
            for link, head in onward:
                shares[link] += part / len(onward)
                mass[head] = mass.get(head, Fraction(0)) + part / len(onward)
    return shares, mass


def into(links, group, home):
    """Return the links inside groups, and those that lead into one."""
    return [
        (k, tail, head)
        for k, tail, head in links
        if group[tail] == group[head] or group[head] == home
    ]


def minimal_shares(fabric, start, end):
    """Return the share of each link: over one cable between groups where that will do."""
    links, group = router_links(fabric), groups(fabric)
    near = into(links, group, group[end])
    if start not in distances(near, [end]):
        near = links
    return {} if start == end else poured(near, [end], start)[0]


def detour_shares(fabric, start, end):
    """Return the share of each link of packets that go through a third group, or router."""
    links, group = router_links(fabric), groups(fabric)
    if start == end or not isinstance(fabric, Dragonfly):
        return {}
    if group[start] == group[end]:
        return detour_shares_inside(links, group, start, end)
    last = into(links, group, group[end])
    reach = distances(last, [end])
    linked = {tail for _, tail, _ in links}
    total, thirds = defaultdict(Fraction), 0
    for third in sorted(set(group) - {group[start], group[end]}):
        members = [r for r in range(len(group)) if group[r] == third]
        first = into(links, group, third)
        if start not in distances(first, members) or any(
            r in linked and r not in reach for r in members
        ):
            continue
        thirds += 1
        out, entries = poured(first, members, start)
        for link, share in out.items():
            total[link] += share
        for router, mass in entries.items():
            for link, share in poured(last, [end], router)[0].items():
                total[link] += mass * share
    return {link: share / thirds for link, share in total.items()}


def detour_shares_inside(links, group, start, end):
    """Return the share of each link of packets that go by a third router of their group."""
    inside = [link for link in links if group[link[1]] == group[link[2]] == group[end]]
    reach = distances(inside, [end])
    total, thirds = defaultdict(Fraction), 0
    for third in {r for r in range(len(group)) if group[r] == group[end]} - {start, end}:
        if third in reach and start in distances(inside, [third]):
            thirds += 1
            for leg in (poured(inside, [third], start), poured(inside, [end], third)):
                for link, share in leg[0].items():
                    total[link] += share
    return {link: share / thirds for link, share in total.items()}


def groups(fabric):
    """Return the group of each router; a torus is one group."""
    size = getattr(fabric, "routers_per_group", fabric.n_switches)
    return [router // size for router in range(fabric.n_switches)]


def nonminimal_fraction(fabric, flows):
    """
    Return the part of each flow of a step that goes round.

    `flows`: source node, destination node, bytes.
    """
    per, group = fabric.nodes_per_router, groups(fabric)
    loads = [defaultdict(float), defaultdict(float)]
    ways = {}
    sent = defaultdict(float)
    for src, dst, nbytes in flows:
        sent[src] += nbytes / fabric.capacity[src]
        ends = src // per, dst // per
        if ends not in ways:
            ways[ends] = minimal_shares(fabric, *ends), detour_shares(fabric, *ends)
        straight, round_ = ways[ends]
        for load, shares in zip(loads, (straight, round_ or straight), strict=True):
            for link, share in shares.items():
                load[link] += float(share) * nbytes / fabric.capacity[link]
    longest = max(sent.values())
    far = {k for k, tail, head in router_links(fabric) if group[tail] != group[head]}
    found = []
    for src, dst, _ in flows:
        straight, round_ = ways[src // per, dst // per]
        if not round_:
            found.append(0.0)
            continue
        a = max(loads[0][link] for link in straight) / longest
        inside = not far & set(round_)
        between = {link: float(share) for link, share in round_.items() if inside or link in far}
        c = sum(share * loads[1][link] for link, share in between.items())
        b = sum(share * loads[0][link] for link, share in between.items())
        b, c = (load / sum(between.values()) / longest for load in (b, c))
        found.append(a / (max(1.0, c, 6.5 * b * (b / a) ** 2) + a))
    return found


def constants(fabric, flows, part):
    """
    Return B, m, q, G, e, E, w, v of each (step, link), m and q divided by the part of their flows.

    `flows`: step, source, destination and bytes of each. `part`: of each, what goes round. Where no
    buffer is stated, or messages are short: a flow weighs 1 / (open flows of its sender).
    """
    found = {}
    for a in sorted({step for step, *_ in flows}):
        mine = [f for f, (step, *_) in enumerate(flows) if step == a]
        share = {f: _shares(fabric, flows[f][1], flows[f][2], part[f]) for f in mine}
        drain, own = defaultdict(float), defaultdict(float)
        for f in mine:
            for link, (total, square, *_) in share[f].items():
                drain[link] += total * flows[f][3] / fabric.capacity[link]
                own[link] += square * flows[f][3] / fabric.capacity[link]
        finish = {f: max(drain[link] for link in share[f]) for f in mine}
        rows = {link: dict.fromkeys("mqGeE", 0.0) for link in drain}
        for sender in sorted({flows[f][1] for f in mine}):
            _add_sender(
                [f for f in mine if flows[f][1] == sender], share, finish, drain[sender], rows
            )
        for link, row in rows.items():
            v = own[link] / drain[link]
            row |= {
                "B": drain[link],
                "G": row["G"] / row["m"],
                "m": row["m"] / v,
                "q": row["q"] / v,
            }
            row["w"] = _wait(fabric, link, [(flows[f][3], share[f].get(link)) for f in mine])
            row["v"] = -_queue(fabric, link, row["B"], row["G"])
            found[a, link] = row
    return found


def _wait(fabric, link, on):
    """Return the longest wait, of the part that others meet, as often as a packet is there."""
    on = [(nbytes, own) for nbytes, own in on if own]
    met = sum(own[3] * nbytes for nbytes, own in on) / sum(own[0] * nbytes for nbytes, own in on)
    packets = sum(own[0] * max(1.0, nbytes / 4096) for nbytes, own in on)
    return met * min(1.0, packets) * fabric.buffer_bytes / fabric.capacity[link]


def _queue(fabric, link, drain, feed):
    """Return how many buffers of own packets wait before a link between groups."""
    ends = fabric.link_tail[link] - fabric.n_nodes, fabric.link_head[link] - fabric.n_nodes
    if fabric.buffer_bytes == 0 or min(ends) < 0 or not hasattr(fabric, "routers_per_group"):
        return 0.0
    if ends[0] // fabric.routers_per_group == ends[1] // fabric.routers_per_group:
        return 0.0
    buffer = fabric.buffer_bytes / fabric.capacity[link]
    return min(max(0.0, drain - feed) / 2 / buffer, drain / feed)


def _add_sender(flows, share, finish, injection_s, rows):
    """Add what the flows of a sender weigh on links."""
    present, before, greatest = 0.0, 0.0, defaultdict(float)
    for place, f in enumerate(sorted(flows, key=finish.get)):
        present += (finish[f] - before) / (len(flows) - place)
        before = finish[f]
        for link, (total, _, most, met) in share[f].items():
            row = rows[link]
            row["m"] += total / len(flows)
            row["G"] += total / len(flows) * injection_s
            row["e"] = max(row["e"], finish[f])
            row["E"] += met * present
            greatest[link] = max(greatest[link], most)
    for link, most in greatest.items():
        rows[link]["q"] += most


def _ways(fabric, src, dst, part):
    """Return the part of a flow on each link of its minimal ways, and of its detours."""
    per = fabric.nodes_per_router
    straight = minimal_shares(fabric, src // per, dst // per)
    found = [{link: float(share) * (1.0 - part) for link, share in straight.items()}, {}]
    if part > 0.0:
        round_ = detour_shares(fabric, src // per, dst // per)
        found[1] = {link: float(share) * part for link, share in round_.items()}
    return found


def _shares(fabric, src, dst, part):
    """
    Return for each link of a flow its part there, and three things more.

    The sum of squares by way; the greatest by way; and what others meet: on minimal ways the share
    of the way that the link is, times the part.
    """
    found = {src: (1.0,) * 4, fabric.n_nodes + dst: (1.0,) * 4}
    for kind, way in enumerate(_ways(fabric, src, dst, part)):
        for link, share in way.items():
            total, square, most, met = found.get(link, (0.0,) * 4)
            seen = share if kind else share * share / (1.0 - part)
            found[link] = total + share, square + share * share, max(most, share), met + seen
    return found


def lanes(fabric, flows, part):
    """
    Return per (step, link) the share of the flows' weight on each virtual channel.

    Arguments as for `constants`. A packet begins on channel 0 and changes to the next one behind
    each link between groups.
    """
    found = defaultdict(lambda: defaultdict(float))
    per = fabric.nodes_per_router * fabric.routers_per_group
    for f, (step, src, dst, _) in enumerate(flows):
        weight = 1.0 / sum(other[:2] == (step, src) for other in flows)
        for end in (src, fabric.n_nodes + dst):
            found[step, end][0] += weight
        for kind, way in enumerate(_ways(fabric, src, dst, part[f])):
            for link, share in way.items():
                group = (fabric.link_tail[link] - fabric.n_nodes) // fabric.routers_per_group
                lane = 0
                if group != src // per:
                    lane = 2 if kind and group == dst // per else 1
                found[step, link][lane] += weight * share
    return {
        place: {lane: own / sum(on.values()) for lane, own in on.items()}
        for place, on in found.items()
    }


def parts_among(fabric, jobs, alone):
    """
    Return the part of each flow of each job that goes round among the others.

    `jobs`: seconds of an iteration alone, and flows as for `constants`. `alone`: of each job, what
    goes round alone.
    """
    use, seen = {}, {}
    for job, (period_s, flows) in jobs.items():
        use[job], seen[job] = defaultdict(float), defaultdict(float)
        on = lanes(fabric, flows, alone[job])
        for f, (step, src, dst, nbytes) in enumerate(flows):
            for link, (total, *_) in _shares(fabric, src, dst, alone[job][f]).items():
                busy = total * nbytes / fabric.capacity[link] / period_s
                use[job][link] += busy
                seen[job][link] += on[step, link].get(0, 0.0) * busy  # channel 0 of the link
    found = {}
    for job, (_, flows) in jobs.items():
        others = [other for other in jobs if other != job]
        busy = {
            link: (sum(seen[one][link] for one in others), sum(use[one][link] for one in others))
            for link in range(fabric.n_links)
        }
        found[job] = [
            _part_among(fabric, src, dst, part, busy)
            for (_, src, dst, _), part in zip(flows, alone[job], strict=True)
        ]
    return found


def _part_among(fabric, src, dst, alone, busy):
    """
    Return the part of a flow that goes round.

    `busy`: of each link for how much of the time others keep channel 0 busy, and all channels.
    """
    per = fabric.nodes_per_router
    ends = src // per, dst // per
    first = {link for link, tail, _ in router_links(fabric) if tail == ends[0]}
    free = []
    for shares in (minimal_shares(fabric, *ends), detour_shares(fabric, *ends)):
        begin = {link: float(share) for link, share in shares.items() if link in first}
        if not begin:
            return alone
        held = sum(share * min(1.0, busy[link][0]) for link, share in begin.items())
        goes_on = min(
            [
                1.0,
                *(
                    1.0 / busy[link][1]
                    for link in shares
                    if busy[link][1] > 1.0 and link not in begin
                ),
            ]
        )
        free.append((1.0 - held / sum(begin.values())) * goes_on)
    away = free[1] * (1.0 - free[0])  # the minimal way is busy, and the detour is not
    back = free[0] * (1.0 - free[1])
    return alone * (1.0 - back) + (1.0 - alone) * away
