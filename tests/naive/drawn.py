"""What the unluckiest packet of a step waits where chance decides on its link."""

from math import exp, log

PACKET = 4096.0


def unluckiest(step, link, use, capacity, buffer):
    """
    Return its seconds.

    `step`: flows (sender, bytes, links, latency); `use`: of the link by others; `capacity` and
    `buffer` of one link of the pool.
    """
    if use <= 0:
        return 0.0
    use = min(0.99, use)
    low, high = 1e-3, 100.0  # what makes use (e^t - 1) = t lies between
    for _ in range(200):
        t = (low + high) / 2
        low, high = (low, t) if use * (exp(t) - 1) > t else (t, high)
    likely = min(use, (1 - use) / (use * exp(low) - 1))
    packets = sum(max(1.0, nbytes / PACKET) for _, nbytes, links, _ in step if link in links)
    longest = log(max(1.0, packets * likely)) / low * PACKET / capacity
    return min(longest, buffer / capacity)
