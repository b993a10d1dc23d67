"""Where in its iteration a job is met: drawn from its identity."""

from functools import lru_cache

import numpy as np

from netsim.arrays import Floats

_64_BITS = (1 << 64) - 1


def sample_phases(job: int, samples: int, seed: int = 0) -> Floats:
    """
    Return the phases at which a job is met, one per sample.

    Result (M,): (permutation + 1/2) / M: each stratum of the period once. The permutation is a
    Fisher-Yates shuffle driven by splitmix64 from the job's identity and the seed, so it depends
    neither on other jobs nor on their order.
    """
    return (np.array(shuffled(job, samples, seed)) + 0.5) / samples


@lru_cache(maxsize=4096)
def shuffled(job: int, samples: int, seed: int) -> tuple[int, ...]:
    """Return 0..M-1 in an order drawn for a job."""
    order = list(range(samples))
    state = (job * 0x9E3779B97F4A7C15 + seed * 0xD1B54A32D192ED03) & _64_BITS
    for last in range(samples - 1, 0, -1):
        state = (state + 0x9E3779B97F4A7C15) & _64_BITS
        z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _64_BITS
        other = (z ^ (z >> 31)) % (last + 1)
        order[last], order[other] = order[other], order[last]
    return tuple(order)
