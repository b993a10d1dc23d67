"""SplitMix64 on Python integers; imports nothing of ours."""

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15


def output(state):
    """Return the output that follows a state: it moves by the golden gamma, then is mixed."""
    z = (state + GOLDEN) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(seed, job, *stream):
    """Return the number in [0, 1) of a job: seed, stream and job are mixed in turn."""
    state = 0
    for word in (seed, *stream, job):
        state = output(state ^ word)
    return (state >> 11) / 2**53
