"""Draws that depend on a seed and on numbers alone, so that no order of calls changes them."""

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Ints

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_WORD = 2**64


def draw(seed: int, numbers: tuple[Ints, ...], below: int) -> Ints:
    """
    Draw a number for each entry of some arrays.

    Parameters
    ----------
    seed : int
        Seed.
    numbers : tuple of (F,) int array
        What each draw depends on; equal numbers give equal draws.
    below : int
        Draws are in 0..below-1.

    Returns
    -------
    (F,) int array
        The draws.

    Notes
    -----
    The finaliser of SplitMix64 over each number in turn (G. L. Steele et al., OOPSLA 2014).
    """
    state = np.full(numbers[0].shape, int(seed) % _WORD, dtype=np.uint64)
    for number in numbers:
        state = _mixed(state + _GOLDEN + number.astype(np.uint64))
    found: Ints = (state % np.uint64(below)).astype(np.int64)
    return found


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finish one step of SplitMix64; products wrap around by design."""
    state = (state ^ (state >> np.uint64(30))) * _MIX_1
    state = (state ^ (state >> np.uint64(27))) * _MIX_2
    return state ^ (state >> np.uint64(31))
