"""Intervals hold the truth as often as they say, where the truth is known."""

from math import isnan

import numpy as np
import pytest
from sampling import sampled

from coupling.sweep.intervals import block_interval, mean_interval

TRUTH = 0.1


def share_held(draw, repeats):
    """Return how often an interval of samples with mean `TRUTH` holds it."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(repeats):
        low, high = mean_interval(draw(rng))
        held += low <= TRUTH <= high
    return held / repeats


@pytest.mark.parametrize("count", sampled([3, 8, 15, 25], {3, 25}))
def test_of_normal_samples_95_in_100_intervals_hold_the_mean(count):
    """600 experiments; the standard error of the share is 0.9 %."""
    assert 0.925 <= share_held(lambda rng: rng.normal(TRUTH, 0.05, count), 600) <= 0.975


def test_of_skewed_samples_nearly_as_many_do():
    """Exponential; the bootstrap of 30 skewed samples is known to fall a little short."""
    assert 0.89 <= share_held(lambda rng: rng.exponential(TRUTH, 30), 400) <= 0.975


@pytest.mark.heavy
def test_of_days_that_depend_on_each_other_nine_in_ten_hold_the_ratio():
    """Two sums over 200 days with a load that lasts for days, of a ratio of 1.1."""
    rng, held, repeats = np.random.default_rng(5), 0, 120
    for _ in range(repeats):
        load = np.zeros(201)
        for day, step in enumerate(rng.normal(0.0, 0.2, 200)):
            load[day + 1] = 0.5 * load[day] + step
        there = np.exp(load[1:])
        here = 1.1 * there * rng.lognormal(-0.02, 0.2, 200)
        low, high = block_interval(here, there)
        held += low <= 1.1 <= high

    assert 0.89 <= held / repeats <= 0.99


def test_days_apart_would_be_too_sure_of_themselves():
    """Numbers that stay for ten days: single days give an interval several times too short."""
    rng = np.random.default_rng(3)
    here = np.repeat(rng.normal(1.0, 0.3, 30), 10)
    low, high = block_interval(here, np.ones(300), length=10)
    short_low, short_high = block_interval(here, np.ones(300), length=1)

    assert high - low > 2.5 * (short_high - short_low)


def test_fewer_than_three_samples_have_no_interval():
    for few in ([1.0], [1.0, 3.0]):
        assert all(map(isnan, mean_interval(np.array(few))))
    assert all(map(isnan, block_interval(np.ones(5), np.ones(5), length=2)))


def test_equal_samples_have_an_interval_without_width():
    assert mean_interval(np.full(9, 0.25)) == (0.25, 0.25)


def test_three_samples_by_hand():
    """Student's: mean 2, standard error 1 / sqrt(3), 4.3027 of them to each side."""
    reach = 4.30265 / 3**0.5
    assert mean_interval(np.array([1.0, 2.0, 3.0])) == pytest.approx(
        (2 - reach, 2 + reach), abs=1e-4
    )


def test_an_interval_ends_where_its_mean_is_impossible():
    """Waits of three seeds fall by 50, 90 and 99 %: Student's would say -142 to -17 %."""
    low, high = mean_interval(np.array([-0.5, -0.9, -0.99]), possible=(-1.0, np.inf))
    _, free_high = mean_interval(np.array([-0.5, -0.9, -0.99]))

    assert low == -1.0
    assert high == free_high
