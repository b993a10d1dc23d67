"""
Compiled draw of random nodes: the numbers of NumPy's `Generator.choice`, without its set-up.

`numpy.random.default_rng(words)` seeds a PCG64 through a `SeedSequence`, and
`choice(size, replace=False)` draws by Floyd's algorithm; for some hundred nodes nearly all of the
time is spent on making the generator. Here both are done on integers (M. E. O'Neill,
HMC-CS-2014-0905; numbers below a bound: D. Lemire, ACM TOMACS 29(1), 2019), with the same bits.

Import through `netsim.kernelcache`.
"""

import numpy as np
from numba import boolean, int64, types, uint32, uint64, void
from numpy.typing import NDArray

from netsim.arrays import Bits, Bools, Ints
from netsim.jit import njit

Words = NDArray[np.uint32]

_WORDS = types.Array(uint32, 1, "C")
_BITS = types.Array(uint64, 1, "C")
_DRAWN = types.Tuple((types.Array(int64, 1, "C"), _BITS))  # type: ignore[no-untyped-call]

_INIT_A, _MULT_A = np.uint32(0x43B0D7E5), np.uint32(0x931E8875)
_INIT_B, _MULT_B = np.uint32(0x8B51F9DD), np.uint32(0x58F38DED)
_MIX_L, _MIX_R = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_HALF, _LOW = np.uint32(16), np.uint64(0xFFFFFFFF)
_MULT_HIGH, _MULT_LOW = np.uint64(2549297995355413924), np.uint64(4865540595714422341)
_POOL = 4
_HIGH, _LOW_WORD, _INC_HIGH, _INC_LOW, _SPARE, _HAS_SPARE = range(6)  # of a generator's state


@njit(uint32(uint32, _WORDS, uint32), cache=True)
def _hashed(value: np.uint32, const: Words, factor: np.uint32) -> np.uint32:
    """Return a word scrambled by a constant, which goes on to its next value."""
    value = np.uint32(value ^ const[0])
    const[0] = np.uint32(const[0] * factor)
    value = np.uint32(value * const[0])
    return np.uint32(value ^ (value >> _HALF))


@njit(uint32(uint32, uint32), cache=True)
def _mixed(one: np.uint32, other: np.uint32) -> np.uint32:
    """Return two words mixed into one."""
    result = np.uint32(np.uint32(_MIX_L * one) - np.uint32(_MIX_R * other))
    return np.uint32(result ^ (result >> _HALF))


@njit(_BITS(_WORDS), cache=True)
def _seeds(entropy: Words) -> Bits:
    """Return four words of 64 bits: ``SeedSequence(entropy).generate_state(4, uint64)``."""
    const = np.full(1, _INIT_A, np.uint32)
    pool = np.zeros(_POOL, dtype=np.uint32)
    for i in range(_POOL):
        pool[i] = _hashed(entropy[i] if i < entropy.size else np.uint32(0), const, _MULT_A)
    for src in range(_POOL):
        for dst in range(_POOL):
            if src != dst:
                pool[dst] = _mixed(pool[dst], _hashed(pool[src], const, _MULT_A))
    for src in range(_POOL, entropy.size):
        for dst in range(_POOL):
            pool[dst] = _mixed(pool[dst], _hashed(entropy[src], const, _MULT_A))
    const[0] = _INIT_B
    found = np.zeros(_POOL, dtype=np.uint64)
    for i in range(2 * _POOL):
        word = np.uint64(_hashed(pool[i % _POOL], const, _MULT_B))
        found[i // 2] |= word << np.uint64(32 * (i % 2))
    return found


@njit(uint64(uint64, uint64), cache=True)
def _high_product(one: np.uint64, other: np.uint64) -> np.uint64:
    """Return the upper 64 bits of a product."""
    half = np.uint64(32)
    a, b = one >> half, one & _LOW
    c, d = other >> half, other & _LOW
    middle = b * c + ((b * d) >> half)
    crossed = a * d + (middle & _LOW)
    return a * c + (middle >> half) + (crossed >> half)


@njit(void(_BITS), cache=True)
def _step(state: Bits) -> None:
    """Advance a PCG64: state x multiplier + increment, in 128 bits."""
    high, low = state[_HIGH], state[_LOW_WORD]
    new_low = low * _MULT_LOW
    new_high = _high_product(low, _MULT_LOW) + high * _MULT_LOW + low * _MULT_HIGH
    total = new_low + state[_INC_LOW]
    carry = np.uint64(1) if total < new_low else np.uint64(0)
    state[_LOW_WORD] = total
    state[_HIGH] = new_high + state[_INC_HIGH] + carry


@njit(_BITS(_WORDS), cache=True)
def _generator(entropy: Words) -> Bits:
    """Return the state of ``PCG64(SeedSequence(entropy))``."""
    seeds = _seeds(entropy)
    seed_high, seed_low, inc_high, inc_low = seeds[0], seeds[1], seeds[2], seeds[3]
    state = np.zeros(6, dtype=np.uint64)
    one = np.uint64(1)
    state[_INC_HIGH] = (inc_high << one) | (inc_low >> np.uint64(63))
    state[_INC_LOW] = (inc_low << one) | one
    _step(state)
    low = state[_LOW_WORD] + seed_low
    carry = one if low < seed_low else np.uint64(0)
    state[_LOW_WORD] = low
    state[_HIGH] = state[_HIGH] + seed_high + carry
    _step(state)
    return state


@njit(uint64(_BITS), cache=True)
def _next_word(state: Bits) -> np.uint64:
    """Return the next 32 bits; each step of the generator gives two such words."""
    if state[_HAS_SPARE]:
        state[_HAS_SPARE] = np.uint64(0)
        return np.uint64(state[_SPARE])
    _step(state)
    value = state[_HIGH] ^ state[_LOW_WORD]
    turn = state[_HIGH] >> np.uint64(58)
    value = (value >> turn) | (value << ((np.uint64(64) - turn) & np.uint64(63)))
    state[_SPARE], state[_HAS_SPARE] = value >> np.uint64(32), np.uint64(1)
    return np.uint64(value & _LOW)


@njit(uint64(_BITS, uint64), cache=True)
def _up_to(state: Bits, most: np.uint64) -> np.uint64:
    """Return a number of 0..most, most below 2**32 - 1, by Lemire's rule."""
    if most == 0:
        return np.uint64(0)
    count = most + np.uint64(1)
    product = _next_word(state) * count
    if (product & _LOW) < count:
        least = (_LOW - most) % count
        while (product & _LOW) < least:
            product = _next_word(state) * count
    return product >> np.uint64(32)


@njit(types.Array(boolean, 1, "C")(_WORDS, int64, int64), cache=True)
def chosen(entropy: Words, n_free: int, size: int) -> Bools:
    """
    Return what ``default_rng(entropy).choice(n_free, size, replace=False)`` draws.

    By Floyd's algorithm, as NumPy does it up to 10,000 things: the last ones stand in for repeats.
    Result (n_free,): whether each is drawn.
    """
    state = _generator(entropy)
    taken = np.zeros(n_free, dtype=np.bool_)
    for last in range(n_free - size, n_free):
        drawn = np.int64(_up_to(state, np.uint64(last)))
        taken[last if taken[drawn] else drawn] = True
    return taken


@njit(_DRAWN(_BITS, _WORDS, int64, int64), cache=True)
def scatter(free: Bits, entropy: Words, n_free: int, size: int) -> tuple[Ints, Bits]:
    """
    Draw nodes of a machine.

    `free`: mask of free nodes of each group, `n_free` in all. Result: groups with nodes drawn,
    ascending, and masks of these nodes.
    """
    taken = chosen(entropy, n_free, size)
    groups = np.empty(min(free.size, size), dtype=np.int64)
    masks = np.empty(groups.size, dtype=np.uint64)
    found = place = 0
    for group in range(free.size):
        left, mask = free[group], np.uint64(0)
        while left:
            low = left & (~left + np.uint64(1))
            if taken[place]:
                mask |= low
            left ^= low
            place += 1
        if mask:
            groups[found], masks[found] = group, mask
            found += 1
    return groups[:found], masks[:found]
