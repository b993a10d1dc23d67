"""The model `assumed`: who shares a link loses what a paper's scenario says; who is blamed."""

import numpy as np
import pytest

from netsim.baselines.assumed import READINGS, SCENARIOS, Assumption


def losses(scenario, n_nodes, n_jobs=2000, **fields):
    """Return the interference of many jobs of one size."""
    assumption = Assumption(scenario, **fields)
    return assumption.interference(np.arange(1, n_jobs + 1), np.full(n_jobs, n_nodes), 1)


def gains(scenario, n_nodes):
    """Return the speed-ups in per cent that jobs of one size draw, and how often each."""
    values, counts = np.unique(
        np.round(100 * (losses(scenario, n_nodes) - 1.0), 9), return_counts=True
    )
    return values.tolist(), (counts / counts.sum()).tolist()


@pytest.mark.parametrize(("scenario", "percent"), [("5%", 5.0), ("10%", 10.0), ("20%", 20.0)])
def test_jobs_of_more_than_four_nodes_gain_a_fixed_share(scenario, percent):
    """Pollard18, V-C: jobs that requested larger than four nodes."""
    assert gains(scenario, 4)[0] == [0.0]
    assert gains(scenario, 5)[0] == [percent]
    assert gains(scenario, 1000)[0] == [percent]


@pytest.mark.parametrize(
    ("scenario", "n_nodes", "percents"),
    [
        ("V1", 1, [10 / 512, 20 / 512, 30 / 512]),
        ("V1", 256, [5, 10, 15]),
        ("V1", 512, [10, 20, 30]),
        ("V1", 1024, [10, 20, 30]),
        ("V2", 4, [0]),
        ("V2", 5, [50 / 512, 100 / 512]),
        ("V2", 128, [2.5, 5]),
        ("V2", 256, [5, 15, 20]),  # half way in 0-10, 10-20 and 10-30
        ("V2", 512, [10, 20, 30]),
        ("V2", 900, [10, 20, 30]),
        ("random", 64, [0]),
        ("random", 65, [0, 5, 15, 30]),
    ],
)
def test_a_range_is_drawn_evenly_and_the_gain_in_it_is_linear_in_the_nodes(
    scenario, n_nodes, percents
):
    """Pollard18, V-C (V1, V2, capped at 512 nodes) and Smith21, 5.4.1 (Random)."""
    values, shares = gains(scenario, n_nodes)

    assert values == pytest.approx(percents)
    assert shares == pytest.approx([1 / len(percents)] * len(percents), abs=0.05)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_a_job_draws_depends_on_its_number_and_the_seed_alone(scenario):
    """Filters and the order of the log change no draw; another seed does."""
    ids, nodes, assumption = np.arange(50), np.full(50, 300), Assumption(scenario)
    whole = assumption.interference(ids, nodes, 1)

    np.testing.assert_array_equal(assumption.interference(ids[::-3], nodes[::-3], 1), whole[::-3])
    assert (assumption.interference(ids, nodes, 2) != whole).any() == (not scenario.endswith("%"))


def test_the_readings_are_t_over_one_plus_x_and_t_times_one_minus_x():
    """At 20 %: 100 s under Baseline are 83.3 s or 80 s isolated."""
    divide, subtract = (100.0 / losses("20%", 8, 1, reading=name)[0] for name in READINGS)

    assert divide == pytest.approx(100 / 1.2)
    assert subtract == pytest.approx(80.0)
