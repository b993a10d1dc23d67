"""Random numbers that depend on a seed and on numbers alone, so that no order changes them."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from netsim.common.arrays import Floats, Ints

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_WORD = 2**64
_64_BITS = _WORD - 1
_BITS = 53  # of the fraction of a float

UNIFORM_STEP = 2.0**-_BITS
"""Numbers of `uniforms` are multiples of it."""


def uniforms(seed: int, ids: Ints, *stream: int) -> Floats:
    """
    Return a random number in [0, 1) for every job that depends on no other job.

    Equal arguments give equal numbers on every machine: the output function of SplitMix64 (Steele,
    Lea and Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014), applied to seed,
    stream and job number in turn.
    """
    state = np.full(len(ids), 0, dtype=np.uint64)
    for word in (seed % _WORD, *stream):
        state = _splitmix_output(state ^ np.uint64(word))
    state = _splitmix_output(state ^ ids.astype(np.int64).view(np.uint64))
    return (state >> np.uint64(64 - _BITS)).astype(np.float64) * UNIFORM_STEP


def whole_numbers(seed: int, numbers: tuple[Ints, ...], below: int) -> Ints:
    """Draw a whole number in 0..below-1 for each entry of some arrays, by SplitMix64."""
    state = np.full(numbers[0].shape, int(seed) % _WORD, dtype=np.uint64)
    for number in numbers:
        state = _splitmix_output(state + number.astype(np.uint64))
    found: Ints = (state % np.uint64(below)).astype(np.int64)
    return found


def _splitmix_output(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Advance SplitMix64 by one step and return its output; sums and products wrap around."""
    state = state + _GOLDEN
    state = (state ^ (state >> np.uint64(30))) * _MIX_1
    state = (state ^ (state >> np.uint64(27))) * _MIX_2
    return state ^ (state >> np.uint64(31))


def sample_phases(job: int, samples: int, seed: int = 0) -> Floats:
    """Return (permutation + 1/2) / M: each stratum of a job's period once, shuffled by job."""
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
