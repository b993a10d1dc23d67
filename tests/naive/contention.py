"""The contention fixed point written from its description, on all links, without arrays of ours."""

from collections import defaultdict

from naive import drawn, filling, lanes, linklaws, stalling
from naive.steps import constants, in_the_mean


def slowdowns(
    jobs,
    capacity,
    *,
    cells=None,
    per_flow=False,
    lingering=True,
    buffer=0.0,
    damping=0.25,
    sweeps=3000,
):
    """
    Return the slowdown of each job.

    `jobs` are pairs (steps, compute seconds); `cells[k]` says in which part of its iteration job k
    is in each state, None for time-averaged neighbours. `buffer` bytes of a port make the last
    packet of a step wait up to buffer / capacity.
    """
    states = [_State(steps, c, capacity, per_flow, buffer) for steps, c in jobs]
    waits = [buffer / c for c in capacity]
    _settle(states, cells, lingering, waits, damping=damping, sweeps=sweeps)
    return [state.slowdown() for state in states]


def read_slowdowns(
    jobs,
    capacity,
    cells,
    *,
    buffer=0.0,
    packet=0.0,
    queues=None,
    ports=None,
    by_chance=None,
    lane_of=None,
    closes=False,
    damping=0.25,
    sweeps=3000,
):
    """
    Return slowdowns if steps met, by states, what time-averaged neighbours have settled at.

    `queues`: of each job, step and link the buffers that its own packets wait in; absent: they wait
    for links ahead. `ports`: links that each stands for; `by_chance`: if packets find theirs so.
    """
    known = {"packet": packet, "ports": ports, "lane_of": lane_of, "closes": closes}
    states = [_State(steps, c, capacity, False, buffer, **known) for steps, c in jobs]
    for state in states:
        state.by_chance = by_chance
    for j, own in enumerate(queues or []):
        states[j].fills, states[j].queues = 0.0, own
    waits = [buffer / c for c in capacity]
    _settle(states, None, True, waits, damping=damping, sweeps=sweeps)
    lost = [filling.lost(state, [x for x in states if x is not state]) for state in states]
    for state, steps in zip(states, _sweep(states, cells, True, waits), strict=True):
        state.move(steps, 1.0)
    return [state.slowdown() / (1 - part) for state, part in zip(states, lost, strict=True)]


def slowdowns_by_states(
    jobs,
    capacity,
    cells,
    *,
    buffer,
    packet=0.0,
    lane_of=None,
    closes=False,
    damping=0.25,
    sweeps=3000,
):
    """Return slowdowns where nobody's packets wait for links ahead until all has settled."""
    known = {"packet": packet, "lane_of": lane_of, "closes": closes}
    states = [_State(steps, c, capacity, False, buffer, **known) for steps, c in jobs]
    waits = [buffer / c for c in capacity]
    for state in states:
        state.fills = 0.0
    _settle(states, cells, True, waits, damping=damping, sweeps=sweeps)
    for state in states:
        state.fills = 1.0
    for state, steps in zip(states, _sweep(states, cells, True, waits), strict=True):
        state.move(steps, 1.0)
    return [state.slowdown() for state in states]


def _settle(states, cells, lingering, waits, *, damping, sweeps):
    """Sweep until no time of any step or link moves."""
    for _ in range(sweeps):
        fresh = _sweep(states, cells, lingering, waits)
        moved = [state.move(steps, damping) for state, steps in zip(states, fresh, strict=True)]
        if max(moved, default=0.0) < 1e-13:
            break


def _sweep(states, cells, lingering, waits):
    """Return for each job the time of each step and of its links among the others."""
    fresh = []
    for j, state in enumerate(states):
        others = states[:j] + states[j + 1 :]
        there = cells[:j] + cells[j + 1 :] if cells else None
        steps = range(len(state.steps))
        if there is None:
            fresh.append([_averaged(state, a, others, lingering, waits) for a in steps])
        else:
            fresh.append(
                _counted(state, [_in_states(state, a, others, there, waits) for a in steps])
            )
    return fresh


def _counted(state, steps):
    """Return times of steps and links, states counted by the iterations that are done in them."""
    n_states = len(steps[0][0]) if steps else 0
    further = sum(waits for _, waits, _ in steps)
    late = [
        sum(worst[i] + lam - d for (worst, _, _), (_, lam, _), d in _beside(steps, state))
        for i in range(n_states)
    ]
    over_time = sum(late) / n_states if n_states else 0.0
    if over_time == 0.0:
        return [(d, times) for d, (_, _, times) in zip(state.alone, steps, strict=True)]
    late = [x * (1 + further / over_time) for x in late]
    over_time += further
    iterations = sum(1 / (state.period + x) for x in late) / n_states
    part = (1 / iterations - state.period) / over_time
    return [
        (d + part * (sum(worst) / n_states + lam - d + waits), times)
        for (worst, waits, times), (_, lam, _), d in _beside(steps, state)
    ]


def _beside(steps, state):
    """Go through what is said of steps beside the steps."""
    return zip(steps, state.steps, state.alone, strict=True)


class _State:
    """Constants, stretches g and link times y of one job."""

    def __init__(
        self,
        steps,
        compute,
        capacity,
        per_flow,
        buffer,
        *,
        packet=0.0,
        ports=None,
        lane_of=None,
        closes=False,
    ):
        known = {
            "per_flow": per_flow,
            "buffer": buffer,
            "packet": packet,
            "ports": ports,
            "lane_of": lane_of,
        }
        self.steps = [constants(s, capacity, **known, closes=closes) for s in steps]
        self.has_lanes = lane_of is not None
        self.alone = [tau + lam for tau, lam, _ in self.steps]
        self.compute = compute
        self.ports = ports  # how many links each stands for; None: all for themselves
        self.fills = 1.0  # 0.0: its packets wait for no links ahead
        self.flows, self.by_chance, self.buffer = steps, None, buffer
        self.queues = [{} for _ in steps]
        self.period = compute + sum(self.alone)
        self.g = [1.0] * len(steps)
        self.y = [defaultdict(float) for _ in steps]

    def slowdown(self):
        if self.period == 0:
            return 1.0
        stretched = sum(d * g for d, g in zip(self.alone, self.g, strict=True))
        return (self.compute + stretched) / self.period

    def length(self, b):
        return self.alone[b] * self.g[b]

    def there(self, b, link):
        """Return for how long the flows of a step are on a link."""
        if not self.has_lanes:
            return self.length(b)
        return min(self.length(b), max(self.steps[b][2][link][4], self.y[b][link]))

    def cycle(self):
        return self.period * self.slowdown()

    def move(self, fresh, damping):
        """Go a part of the way; return how far, as a share of where it leads, at most."""
        moved = 0.0
        for a, (time, link_times) in enumerate(fresh):
            if self.alone[a]:
                stretch = time / self.alone[a]
                moved = max(moved, damping * abs(stretch - self.g[a]) / stretch)
                self.g[a] += damping * (stretch - self.g[a])
            for link, value in link_times.items():
                step = damping * (value - self.y[a][link])
                moved = max(moved, abs(step) / value if value else abs(step))
                self.y[a][link] += step
        return moved


def _averaged(state, a, others, lingering, waits):
    """Return the time of step a and of its links; a neighbour is there for its share of time."""
    tau, lam, table = state.steps[a]
    n, r = defaultdict(float), defaultdict(float)
    for other in others:
        for b, (_, _, entries) in enumerate(other.steps):
            share = other.alone[b] * other.g[b] / other.cycle()
            for link in entries:
                n[link] += share * _weight(other, b, link, lingering)
                r[link] += entries[link][0] / other.cycle()
    link_times = defaultdict(float)
    worst = tau
    for link, (own, m, q, big_g, *_) in table.items():
        link_times[link] = own * linklaws.beta((own, m, q, big_g), n[link], r[link], lingering)
        worst = max(worst, link_times[link] + waits[link] * min(1.0, n[link]))
    return worst + lam, link_times


def _in_states(state, a, others, cells, waits):
    """Return when a step ends where in state i others are in cell ``cells[k][i]``, and waits."""
    tau, _, table = state.steps[a]
    n_states = len(cells[0]) if cells else 1
    worst, link_times, longest = [tau] * n_states, defaultdict(float), defaultdict(float)
    for link, (own, m, q, big_g, e, _, _, stage, *_) in table.items():
        n = [
            sum(
                _weight_in_cell(other, link, there[i], n_states)
                for other, there in zip(others, cells, strict=True)
            )
            for i in range(n_states)
        ]
        link_times[link] = e
        if sum(n) == 0.0:
            continue
        steps = [
            (other, b, entries[link])
            for other in others
            for b, (_, _, entries) in enumerate(other.steps)
            if link in entries
        ]
        mean = sum(n) / n_states
        use = sum(entry[0] / other.cycle() for other, _, entry in steps) / mean
        burst = sum(
            _weight(other, b, link, True) * other.length(b) * other.there(b, link) / other.cycle()
            for other, b, _ in steps
        )
        burst /= mean
        grown = _grown(link, state, others, mean)
        queued = sum(entry[9] / other.cycle() for other, _, entry in steps) / mean
        lag = (burst / (burst + state.alone[a] * state.g[a] / 2)) ** 0.5
        held = sum(
            other.fills * entry[6] * other.alone[b] * other.g[b] / other.cycle()
            for other, b, entry in steps
        )
        queues = sum(
            other.queues[b].get(link, 0.0) * other.alone[b] * other.g[b] / other.cycle()
            for other, b, _ in steps
        )
        alike, held, same, stall = _met(state, link, table[link], steps, (mean, held, queued))
        how = alike, waits[link]
        beside = [_beside_own(state, link, table[link], x, how) for x in n]
        free = _free((own, m, q, big_g), use, n, beside)
        times = [
            linklaws.behind(
                min(1, held * x / mean),
                without,
                own * linklaws.beta((own, m, q, big_g), max(x, 1 / use - m), 1, True),
            )
            for x, without in zip(n, free, strict=True)
        ]
        speeds = [min(1.0, e / time) for time in times]
        average = sum(speeds) / n_states
        link_times[link] = late = 0.0
        for i in range(n_states):
            in_window = e / (average + lag * (speeds[i] - average))
            link_times[link] += in_window / n_states
            wait = min(waits[link], grown) * min(1.0, n[i]) * min(1.0, use * n[i])
            aside = (1 - alike) * wait + (queued - same) * n[i]
            most = waits[link] * max(2, 1 + alike * n[i] / 2)
            wait = min(most, alike * wait + same * n[i]) + min(waits[link], aside)
            wait = max(wait, waits[link] * min(3.0, queues * n[i] / mean))
            wait = max(wait, stalling.late(stall, n[i], (times[i], free[i]), e))
            if state.ports and state.ports[link] > 1:  # full if others offer more than its links
                offered, room = n[i] / state.ports[link], state.ports[link] * waits[link]
                queue = in_the_mean((offered - 1) * burst, room)
                wait = max(wait, queue * min(1.0, use * n[i]))
            wait = max(0.0, wait - max(0.0, e - times[i]))
            if state.ports and state.ports[link] > 1 and state.by_chance[link]:
                capacity = state.buffer / waits[link] / state.ports[link]
                alone = {
                    pool: (entry[0] / tau, entry[2], tau)
                    for pool, entry in table.items()
                    if state.ports[pool] > 1 and state.by_chance[pool]
                }
                met = (use * n[i], n[i]), alone, (capacity, state.buffer / capacity)
                wait = max(wait, drawn.late(state.flows[a], link, *met))
            worst[i] = max(worst[i], in_window + wait)
            late += min(wait, max(0.0, in_window + wait - tau)) / n_states
        longest[stage] = max(longest[stage], late)
    further = sum(longest.values()) - max(longest.values(), default=0.0)
    return worst, further / 3, link_times


def _met(state, link, entry, steps, of_all):
    """Return the part of the others on own lanes, what they hold and queue there, and stalls."""
    mean, held, queued = of_all
    if not state.has_lanes:
        return 1.0, held, queued, (0.0, 0.0)
    weights = [_weight(other, b, link, True) * other.length(b) for other, b, _ in steps]
    alike, held, same = lanes.met(entry[10], steps, weights)
    return alike, held, same / mean, stalling.stalled(entry[10], link, state, steps, mean)


def _beside_own(state, link, entry, n, how):
    """Return what of the others' weight counts beside the own flows."""
    if state.has_lanes:
        return lanes.beside(n, entry[1], how[0])
    return linklaws.felt(n, entry[0], how[1], state.ports and state.ports[link])


def _free(entry, use, n, beside):
    """Return in each state how long a link takes that is not full of packets that wait."""
    return [
        entry[0] * linklaws.beta(entry, felt, use * x, True)
        for x, felt in zip(n, beside, strict=True)
    ]


def _grown(link, state, others, mean):
    """Return how long the queue gets, in the mean, while one of the others fills the link."""
    grown = 0.0
    for one in others:
        burst = sum(
            _weight(one, b, link, True) * one.length(b) * one.there(b, link) / one.cycle()
            for b, (_, _, entries) in enumerate(one.steps)
            if link in entries
        )
        rivals = [state, *(other for other in others if other is not one)]
        grown += burst / mean * sum(_use(other, link) for other in rivals) / 2
    return grown


def _use(state, link):
    """Return the share of a link's capacity that a job uses."""
    used = sum(entries[link][0] for _, _, entries in state.steps if link in entries)
    return used / state.cycle()


def _weight(state, b, link, lingering):
    """Return the mean weight of a step's flows on a link while the step runs."""
    _, m, q, _, e, presence, *_ = state.steps[b][2][link]
    if not lingering:
        return m
    return (presence + max(0.0, state.y[b][link] - e) * q) / (state.alone[b] * state.g[b])


def _weight_in_cell(state, link, cell, n_cells):
    """Return the mean weight on a link during one part of the iteration."""
    size = state.cycle() / n_cells
    begin, total = 0.0, 0.0
    for b, (_, _, entries) in enumerate(state.steps):
        end = begin + state.alone[b] * state.g[b]
        if link in entries:
            there = state.there(b, link)
            inside = max(0.0, min(begin + there, (cell + 1) * size) - max(begin, cell * size))
            total += inside / size * _weight(state, b, link, True) * state.length(b) / there
        begin = end
    return total
