"""The contention fixed point where flows do not linger: sums of counts and of drain times."""

from collections import defaultdict

from naive.linklaws import beta_of_bounds


def without_lingering(jobs, capacity, sweeps=2000):
    """
    Return slowdowns per flow, with time-averaged neighbours whose flows do not linger.

    t = max over links of B beta, with h = 1 + N/n; a neighbour counts with its number of flows
    while it communicates.
    """
    steps = [[_counts(step, capacity) for step in job_steps] for job_steps, _ in jobs]
    compute = [c for _, c in jobs]
    alone = [[max(drain.values()) + lam for drain, _, lam in job] for job in steps]
    together = alone
    for _ in range(sweeps):
        cycle = [c + sum(t) for c, t in zip(compute, together, strict=True)]
        fresh = []
        for j, job in enumerate(steps):
            n, r = defaultdict(float), defaultdict(float)
            for k, others in enumerate(steps):
                for (drain, count, _), length in zip(others, together[k], strict=True):
                    for link in drain if k != j else ():
                        r[link] += drain[link] / cycle[k]
                        n[link] += count[link] * length / cycle[k]
            fresh.append([_time_without_lingering(step, n, r) for step in job])
        together = [
            [t + 0.3 * (u - t) for t, u in zip(old, new, strict=True)]
            for old, new in zip(together, fresh, strict=True)
        ]
    return [(c + sum(t)) / (c + sum(d)) for c, t, d in zip(compute, together, alone, strict=True)]


def _counts(step, capacity):
    """Return drain time and number of flows per link, and the latency, of one step."""
    drain, count = defaultdict(float), defaultdict(int)
    for _, nbytes, links, _ in step:
        for link in links:
            drain[link] += nbytes / capacity[link]
            count[link] += 1
    return drain, count, max(latency for *_, latency in step)


def _time_without_lingering(step, n, r):
    """Return the time of a step among neighbours."""
    drain, count, lam = step
    slowest = max(
        own * beta_of_bounds(r[link], 1 + n[link] / count[link]) for link, own in drain.items()
    )
    return slowest + lam
