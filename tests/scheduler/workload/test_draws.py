"""Distributions are what they say."""

import math

import numpy as np
import pytest

from netsim.common.units import parse_size
from scheduler.errors import WorkloadError
from scheduler.workload.distributions import Distribution, read_distribution

SHARES = (np.arange(100_000) + 0.5) / 100_000


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
        # mean exp(mu + sigma^2 / 2); shares come in steps of 2^-53, whose normal quantile is 8.2095
        ({"lognormal": [0, 0.5]}, math.exp(0.125), math.exp(-4.104768), math.exp(4.104768)),
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
        {"choice": [1, 2], "weights": [1e308, 1e308]},
        {"log_uniform": [1e-300, 1e300]},
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
