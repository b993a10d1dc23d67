"""Random numbers of jobs are independent of other jobs; distributions are what they say."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import splitmix

from netsim.units import parse_size
from scheduler.errors import WorkloadError
from scheduler.workload.draws import Distribution, read_distribution, uniforms

SHARES = (np.arange(100_000) + 0.5) / 100_000


def test_the_generator_is_splitmix64():
    """First outputs for seed 0, as published with the reference implementation of Vigna."""
    assert splitmix.output(0) == 0xE220A8397B1DCDAF
    assert splitmix.output(0x9E3779B97F4A7C15) == 0x6E789E6AA1B965F4


@settings(deadline=None, max_examples=50)
@given(
    st.integers(0, 2**63),
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


@pytest.mark.parametrize(
    ("written", "mean", "low", "high"),
    [
        (3, 3, 3, 3),
        ("2 KiB", 2048, 2048, 2048),
        ({"uniform": [1, "1 kB"]}, 500.5, 1, 1000),
        ({"choice": [1, 2, 4]}, 7 / 3, 1, 4),
        ({"choice": [1, 2], "weights": [3, 1]}, 1.25, 1, 2),
        ({"choice": [1, 2, 3], "weights": [1, 0, 1]}, 2, 1, 3),
        ({"log_uniform": [1, math.e]}, math.e - 1, 1, math.e),  # (b - a) / ln(b / a)
        ({"lognormal": [0, 0.5]}, math.exp(0.125), 0, math.inf),  # exp(mu + sigma^2 / 2)
    ],
)
def test_distributions_have_their_mean_and_bounds(written, mean, low, high):
    drawn = read_distribution(written, parse_size, "here")

    values = drawn.quantile(SHARES)

    assert values.mean() == pytest.approx(mean, rel=1e-3)
    assert low - 1e-9 <= values.min() <= values.max() <= high + 1e-9
    assert drawn.bounds == pytest.approx((low, high))


def test_the_extreme_shares_stay_finite():
    ends = np.array([0.0, 1 - 2**-53])

    assert np.isfinite(Distribution("lognormal", (0, 1)).quantile(ends)).all()
    assert Distribution("choice", (1, 2), (0.1, 0.2)).quantile(ends).tolist() == [1, 2]


@pytest.mark.parametrize(
    "written",
    [
        "fast",
        True,
        [1, 2],
        {},
        {"uniform": [1]},
        {"uniform": [2, 1]},
        {"uniform": "12"},
        {"uniform": [1, 2], "choice": [1]},
        {"uniform": [1, 2], "weights": [1, 1]},
        {"choice": []},
        {"choice": [1, 2], "weights": [1]},
        {"choice": [1, 2], "weights": [0, 0]},
        {"choice": [1, 2], "weights": [2, -1]},
        {"choice": [1, 2], "weights": 3},
        {"log_uniform": [0, 1]},
        {"log_uniform": [1]},
        {"lognormal": [0, -1]},
        {"lognormal": [0, float("nan")]},
        {"normal": [0, 1]},
        float("inf"),
        10**400,
        {"choice": [{"uniform": [1, 2]}]},
    ],
)
def test_senseless_distributions_are_refused_with_their_place(written):
    with pytest.raises(WorkloadError, match=r"^p: "):
        read_distribution(written, parse_size, "p")
