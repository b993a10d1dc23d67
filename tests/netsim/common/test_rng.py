"""Random numbers of jobs are those of SplitMix64, and independent of other jobs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import splitmix

from netsim.common.rng import uniforms, whole_numbers


def test_the_generator_is_splitmix64():
    """First outputs for seed 0, as published with the reference implementation of Vigna."""
    assert splitmix.output(0) == 0xE220A8397B1DCDAF
    assert splitmix.output(0x9E3779B97F4A7C15) == 0x6E789E6AA1B965F4


@settings(deadline=None, max_examples=50)
@given(
    st.integers(0, 2**63 - 1),
    st.lists(st.integers(0, 2**62), min_size=1, max_size=5),
    st.lists(st.integers(0, 9), max_size=2),
)
def test_each_job_has_the_number_of_a_generator_on_integers(seed, ids, stream):
    numbers = uniforms(seed, np.array(ids), *stream)

    assert numbers.tolist() == [splitmix.uniform(seed, job, *stream) for job in ids]


def test_numbers_of_many_jobs_and_streams_are_uniform_and_uncorrelated():
    first, second = (uniforms(1, np.arange(20_000), 0, stream) for stream in (0, 1))

    assert np.histogram(first, 10, (0, 1))[0] == pytest.approx([2000] * 10, abs=5 * 42)
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / math.sqrt(20_000)
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 5 / math.sqrt(20_000)


def test_whole_numbers_depend_on_their_own_numbers_alone_and_are_spread_evenly():
    src, dst = np.arange(6000), np.arange(6000)[::-1].copy()
    drawn = whole_numbers(3, (src, dst), 6)

    state = splitmix.output(splitmix.output((3 + 7) % 2**64) + int(dst[7]))
    assert drawn[7] == state % 6
    np.testing.assert_array_equal(whole_numbers(3, (src[::-7], dst[::-7]), 6), drawn[::-7])
    assert np.bincount(drawn) == pytest.approx([1000] * 6, abs=5 * 29)
