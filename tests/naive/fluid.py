"""
The contention model of a snapshot by plain sweeps: every formula as it is written, no increments.

What a job puts on links and what jobs do to each other there are both computed from `Traffic`.
Vectors run over the sampled states; everything else is loops and dictionaries.
"""

from types import SimpleNamespace

import numpy as np

from netsim.common.rng import shuffled
from netsim.flows.traffic import hops_of
from netsim.flows.virtual_channels import channels_in_order, has_virtual_channels

STATES, CHANNELS, BUFFERS = 16, 4, 3.0
EQUAL = 1.0 + 1e-9  # drain times that differ by less are the same


def flows_by_step(traffic, topology):
    """Return the flows of each step: sender, bytes, latency, hops (link, share, channel)."""
    hops = hops_of(traffic)
    channel = np.zeros(hops.link.size, dtype=int)
    if (
        has_virtual_channels(topology)
        and not topology.half_duplex
        and traffic.routes.path_sets is None
    ):
        channel = channels_in_order(topology, traffic.routes)
    link, part = topology.channel[hops.link], np.broadcast_to(hops.share, hops.link.shape)
    steps = [[] for _ in range(int(traffic.step.max(initial=-1)) + 1)]
    for f, number in enumerate(traffic.step.tolist()):
        own = range(hops.indptr[f], hops.indptr[f + 1])
        path = [(int(link[h]), float(part[h]), min(3, int(channel[h]))) for h in own]
        flow = SimpleNamespace(sender=int(traffic.sender[f]), nbytes=float(traffic.nbytes[f]))
        flow.path, flow.latency = path, float(traffic.latency_s[f])
        steps[number].append(flow)
    return steps


def end_alone(flow, flows, capacity):
    """Return when a flow ends: processor sharing on the link that takes longest."""
    longest = 0.0
    for link, share, _ in flow.path:
        sizes = [g.nbytes * part for g in flows for other, part, _ in g.path if other == link]
        bytes_by_then = sum(min(size, flow.nbytes * share) for size in sizes)
        longest = max(longest, bytes_by_then / capacity[link])
    return longest


def weigh(flows, capacity):
    """Give flows their weight 1/o, its integral until their end, and their sender's injection."""
    for flow in flows:
        flow.end = end_alone(flow, flows, capacity)
    for flow in flows:
        group = [g for g in flows if g.sender == flow.sender and g.path]  # open on its link
        flow.weight, flow.integral, flow.injected = 1.0 / max(1, len(group)), 0.0, 0.0
        ends = sorted(g.end for g in group)
        before = 0.0
        for rank, end in enumerate(ends):
            flow.integral += max(0.0, min(end, flow.end) - before) / (len(group) - rank)
            before = min(end, flow.end)
        for g in group:
            flow.injected += g.nbytes * g.path[0][1] / capacity[g.path[0][0]]


def drain_times(flows, capacity):
    """Return the drain time of each link; flows get the place of their slowest."""
    drain = {}
    for flow in flows:
        for link, share, _ in flow.path:
            drain[link] = drain.get(link, 0.0) + flow.nbytes * share / capacity[link]
    for flow in flows:
        flow.longest = max((drain[link] for link, _, _ in flow.path), default=0.0)
        near = [n for n, (link, _, _) in enumerate(flow.path) if drain[link] * EQUAL > flow.longest]
        flow.slowest = near[0] if near else 0
    return drain


def wait_before_slow(flows, uses, fabric):
    """Add up what waits on links before the slowest of a path, and its room in the buffers."""
    capacity, buffer_bytes, packet_bytes = fabric
    bytes_of = dict.fromkeys(uses, 0.0)
    for flow in flows:
        for link, share, _ in flow.path[: flow.slowest]:
            bytes_of[link] += flow.nbytes * share
    for flow in flows:
        filled, room, upstream = 1.0, 0.0, 0.0
        if packet_bytes > 0.0:
            filled = flow.nbytes / (packet_bytes * np.ceil(flow.nbytes / packet_bytes))
        for link, share, _ in reversed(flow.path[: flow.slowest]):
            room += flow.nbytes * share / bytes_of[link] * buffer_bytes[link] * filled
            uses[link].room += room / capacity[link]
        for link, share, _ in flow.path[: flow.slowest]:
            upstream = max(upstream, uses[link].drain)
            own = flow.nbytes * share / capacity[link]
            uses[link].waiting += own * (1.0 - upstream / flow.longest)


def step_demand(flows, fabric):
    """Return what one step puts on each link alone."""
    capacity, buffer_bytes, packet_bytes = fabric
    weigh(flows, capacity)
    drain = drain_times(flows, capacity)
    zeros = ("weight", "part", "end", "integral", "feed", "senders", "first", "offered", "room")
    uses = {link: SimpleNamespace(**dict.fromkeys(zeros, 0.0), waiting=0.0) for link in drain}
    for link, use in uses.items():
        use.drain, use.seen, use.channel = drain[link], set(), np.zeros(CHANNELS)
    wait_before_slow(flows, uses, fabric)
    for flow in flows:
        upstream = 0.0
        for hop, (link, share, channel) in enumerate(flow.path):
            use, own = uses[link], flow.nbytes * share / capacity[link]
            weight, integral = (flow.weight, flow.integral) if hop else (1.0, flow.end)
            use.weight += weight * share
            use.part += own * share / use.drain
            use.end = max(use.end, flow.end)
            use.integral += integral * share
            use.feed += weight * share * flow.injected
            use.offered += own / upstream if upstream else flow.weight * share
            if hop == 0 or flow.sender not in use.seen:
                use.seen.add(flow.sender)
                use.senders += share
                use.first += own * min(1.0, packet_bytes / flow.nbytes)
            upstream = max(upstream, use.drain)
            use.channel[channel] += flow.weight * share
    for link, use in uses.items():
        use.feed /= use.weight
        use.blocked, use.time = 0.0, use.end
        if use.waiting > 0.0 and buffer_bytes[link] > 0.0:
            use.blocked = max(0.0, 1.0 - use.room / use.waiting)
    return uses


def demand(traffic, topology):
    """Return a job alone: its steps with what they put on links."""
    port = topology.capacity if topology.multipath is None else topology.multipath.capacity
    buffer_bytes = topology.buffer_bytes * topology.capacity / port
    job = SimpleNamespace(compute=traffic.compute_s, steps=[], share=np.full(STATES, 1 / STATES))
    for flows in flows_by_step(traffic, topology):
        uses = step_demand(flows, (topology.capacity, buffer_bytes, topology.packet_bytes))
        step = SimpleNamespace(uses=uses, drain=max((u.drain for u in uses.values()), default=0.0))
        step.alone = step.drain + max((flow.latency for flow in flows), default=0.0)
        step.duration = step.alone
        job.steps.append(step)
    job.alone = job.compute + sum(step.alone for step in job.steps)
    job.links = sorted({link for step in job.steps for link in step.uses})
    return job


def presence(job, link, buffer_s):
    """Return what a job adds to a link: by state, means over an iteration, and by channel."""
    period = job.compute + sum(step.duration for step in job.steps)
    cell = period / STATES
    own = SimpleNamespace(by_state=np.zeros((4, STATES)), channel=np.zeros(CHANNELS), blocked=0.0)
    own.use = own.weight = own.burst = own.blocked_use = own.blocked_weight = 0.0
    begin, weight_s, length_s = job.compute, 0.0, 0.0
    for step in job.steps:
        if link in step.uses:
            use = step.uses[link]
            w = use.integral + max(0.0, use.time - use.end) * use.senders
            lag = use.weight - use.drain / use.time
            if buffer_s > 0.0 and use.time > use.end and lag > 0.0:
                closing = use.senders * buffer_s / lag
                if closing < use.end:
                    w = use.integral / use.end * closing + (use.time - closing) * use.senders
            length = max(1e-15, min(step.duration, max(use.end, use.time)))
            weight, rate, there = w / length, use.drain / length, length / period
            own.use += rate * there
            own.weight += weight * there
            own.burst += weight * there * min(length, use.drain / use.offered)
            own.blocked_use += use.blocked * rate * there
            own.blocked_weight += use.blocked * use.integral / length * there
            own.blocked += use.blocked * there
            own.channel += use.channel
            weight_s, length_s = weight_s + w, length_s + length
            values = np.array([weight, rate, min(use.offered, weight), use.blocked])
            for number, state in enumerate(job.order):
                part = min(begin + length, (number + 1) * cell) - max(begin, number * cell)
                own.by_state[:, state] += max(0.0, part) / cell * values
        begin += step.duration
    there = min(1.0, length_s / period)
    own.variance = (weight_s / length_s) ** 2 * there * (1.0 - there)
    own.memory = own.variance * length_s * (1.0 - there)
    own.channel /= own.channel.sum()
    return own


def shared_time(use, buffer_s, weight, rate):
    """Return how long a step's bytes take beside others of some weight and use."""
    longer = 1.0 + weight / use.weight
    time = use.drain * longer
    if use.senders > use.weight:
        until = use.feed
        lag = use.weight - use.weight / (use.weight + weight)
        if buffer_s > 0.0 and lag > 0.0:
            until = min(until, use.senders * buffer_s / lag)
        time = min(time, until + (use.drain - until / longer) * (1.0 + weight / use.senders))
    if rate < 1.0 - 1e-6:
        time = min(time, use.drain / (1.0 - rate))
    delayed = use.part * max(0.0, 1.0 - use.first / use.drain)
    return use.drain + delayed * (time - use.drain)


def late(step, use, own, others, buffer_s):
    """Return y of a step on a link in each state, and how long its last packets wait then."""
    weight, rate, offered, blocked = sum(other.by_state for other in others)
    mean_weight = sum(other.weight for other in others)
    times = np.array([shared_time(use, buffer_s, n, r) for n, r in zip(weight, rate, strict=True)])
    blocked_use = sum(other.blocked_use for other in others)
    if blocked_use > 1e-5:
        behind = sum(other.blocked_weight for other in others) / blocked_use - use.weight
        by_channel = sum(other.blocked * other.channel for other in others)
        on_channel = min(1.0, by_channel[own.channel > 0.0].max() / by_channel.sum())
        for i in range(STATES):
            if weight[i] > 1e-5:
                full = min(1.0, max(0.0, blocked[i]) * on_channel)
                waiting = shared_time(use, buffer_s, max(weight[i], behind), 1.0)
                times[i] = 1.0 / ((1.0 - full) / times[i] + full / max(times[i], waiting))
    variance = sum(other.variance for other in others)
    memory = sum(other.memory for other in others) / variance if variance > 1e-10 else 0.0
    rho = 1.0 / np.sqrt(1.0 + (step.duration / memory) ** 2 / 3.0) if memory > 0.0 else 1.0
    speed = use.end / np.maximum(use.end, times)
    stretched = use.end / (speed.mean() + rho * (speed - speed.mean()))
    is_early = (times < use.end) & (stretched <= use.end * (1.0 + 1e-6))
    stretched = np.where(is_early, times, stretched)
    grown = np.maximum(0.0, offered + own.use - 1.0) * (
        sum(other.burst for other in others) / mean_weight
    )
    most = BUFFERS * buffer_s
    full = most * (1.0 - most / np.maximum(1e-15, 2.0 * grown))
    wait = use.part * np.where(grown <= most, grown / 2.0, full)
    wait = np.maximum(0.0, wait - np.maximum(0.0, use.end - times))
    return stretched, np.where(weight > 1e-5, wait, 0.0)


def sweep(jobs, buffer_s, damping):
    """Evaluate all jobs once from what all put on links; return how far iterations moved."""
    on_link = {}
    for number, job in jobs.items():
        for link in job.links:
            on_link.setdefault(link, []).append(number)
    own = {
        (number, link): presence(jobs[number], link, buffer_s[link])
        for link, numbers in on_link.items()
        if len(numbers) > 1
        for number in numbers
    }
    moved = 0.0
    for number, job in jobs.items():
        delays = np.zeros((len(job.steps), STATES))
        times = []
        for row, step in zip(delays, job.steps, strict=True):
            for link, use in step.uses.items():
                others = [own[n, link] for n in on_link[link] if n != number]
                if not others or sum(other.weight for other in others) <= 1e-5:
                    continue
                y, wait = late(step, use, own[number, link], others, buffer_s[link])
                row[:] = np.maximum(row, y + wait - step.drain)
                times.append((use, y))
        job.delays, job.speed = delays, 1.0 / (1.0 + delays.sum(axis=0) / job.alone)
        job.times = times
    for job in jobs.values():
        job.share = job.speed / job.speed.sum()
        for use, y in job.times:
            use.time += damping * (max(use.end, float(job.share @ y)) - use.time)
        for step, row in zip(job.steps, job.delays, strict=True):
            change = step.alone + float(job.share @ row) - step.duration
            step.duration += damping * change
            moved = max(moved, abs(change) / job.alone)
    return moved


def interference(traffic, topology, seed=0, *, sweeps=300, damping=0.5, until=1e-5):
    """Return the interference of jobs that all start at once."""
    jobs = {number: demand(own, topology) for number, own in traffic.items()}
    for number, job in jobs.items():
        job.order = shuffled(number, STATES, seed)
    port = topology.capacity if topology.multipath is None else topology.multipath.capacity
    for _ in range(sweeps):
        if sweep(jobs, topology.buffer_bytes / port, damping) < until:
            break
    return {
        number: (job.compute + sum(step.duration for step in job.steps)) / job.alone
        for number, job in jobs.items()
    }
