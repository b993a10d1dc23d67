"""What the unluckiest packet of a step waits where chance decides on its link."""

from math import exp, log, sqrt

PACKET = 4096.0


def unluckiest(packets, use, senders, slots):
    """Return how many packets of others it waits for in a step of so many packet times."""
    longest = _longest(packets, use, senders, slots)
    return _longest(packets * min(1.0, max(1.0, longest) / slots), use, senders, slots)


def late(step, link, others, alone, port):
    """
    Return by how many seconds the unluckiest packet is later than alone.

    `step`: flows (sender, bytes, links, latency); `others`: use of the link and senders; `alone`:
    of each pool of the step its use by the job itself, its senders, and the step's length;
    `port`: capacity of one link of the pool, and how long it takes for a buffer.
    """
    capacity, buffer = port
    one = PACKET / capacity

    def wait(pool, use, senders):
        packets = sum(max(1.0, nbytes / PACKET) for _, nbytes, links, _ in step if pool in links)
        return min(buffer, one * unluckiest(packets, use, senders, alone[pool][2] / one))

    met = max(wait(pool, use, senders) for pool, (use, senders, _) in alone.items())
    use, senders, _ = alone[link]
    return max(0.0, wait(link, min(1.0, use + others[0]), senders + others[1]) - met)


def _longest(packets, use, senders, slots):
    if senders <= 1 or use <= 1e-12:
        return 0.0
    walk = sqrt(2 * slots * use * (1 - use / senders) * log(1 + packets * use))
    use = min(0.99, use)
    low, high = 1e-4, 600.0  # what makes the logarithm t lies between
    for _ in range(200):
        t = (low + high) / 2
        more = senders * log(1 + use / senders * (exp(t) - 1)) > t
        low, high = (low, t) if more else (t, high)
    tilted = use * exp(low) / (1 + use / senders * (exp(low) - 1))  # arrivals in a packet's time
    likely = min(use, (1 - use) / (tilted - 1))
    return min(walk, log(1 + packets * likely) / low)
