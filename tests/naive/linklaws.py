"""How long a link takes, in plain numbers: what counts of others, and what they leave."""


def felt(n, own, wait, links):
    """Return what of the others' weight counts: half a buffer meets no more than a link's worth."""
    if n <= 1 or (links and links > 1):
        return n
    early = min(1, wait / 2 / own)
    return early + (1 - early) * n


def behind(share, free, full):
    """Return the time of a link that is full of waiting packets for a share of it."""
    return 1 / ((1 - share) / free + share / full)


def beta(entry, n, r, lingering):
    """Return how much longer a link takes."""
    own, m, q, big_g = entry
    h = 1 + n / m
    if lingering and own * h > big_g:
        late = (big_g + max(0.0, own - big_g * m / (m + n)) * (1 + n / q)) / own
        h = max(1.0, min(h, late))
    return beta_of_bounds(r, h)


def beta_of_bounds(r, h):
    """Others leave 1 - R when they come evenly, 1/h when all at once, a fifth of the time."""
    return h if h * (1 - r) <= 1 else 1 / (0.8 * (1 - r) + 0.2 / h)
