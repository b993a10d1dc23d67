"""The model `assumed`: who shares a link loses what a paper's scenario says; who is blamed."""

import numpy as np
import pytest

from netsim.contention.base import Traffic
from netsim.contention.compared.assumption import READINGS, SCENARIOS, Assumption
from netsim.contention_models import make_contention_model
from netsim.errors import ContentionError
from netsim.routing.dmodk import DModK


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


def running(links, jobs, **options):
    """Return the model with jobs and what it says of them."""
    model = make_contention_model("assumed", links, options=options)
    for job, own in jobs.items():
        model.start(job, own)
    return model, dict(model.solve())


@pytest.mark.parametrize(("reading", "loss"), [("divide", 1.2), ("subtract", 1.25)])
def test_who_shares_a_link_loses_what_the_scenario_says_for_its_size(
    fabric, traffic, reading, loss
):
    """Jobs 1 and 2 meet on link 4; job 2 has four nodes and loses nothing; job 3 meets nobody."""
    jobs = {
        1: traffic([[(0, 1.0, [0, 4], 0.0)]], 1.0, 6, n_nodes=5),
        2: traffic([[(1, 1.0, [1, 4], 0.0)]], 1.0, 6, n_nodes=4),
        3: traffic([[(2, 1.0, [2, 5], 0.0)]], 1.0, 6, n_nodes=500),
    }

    model, values = running(fabric([1.0] * 6), jobs, scenario="20%", reading=reading)

    assert values == {1: loss, 2: 1.0, 3: 1.0}
    assert [dict(model.blame(job)) for job in jobs] == [{2: 1.0}, {}, {}]


def test_bytes_compute_time_and_number_of_neighbours_do_not_matter(fabric, traffic):
    def loss(nbytes, compute_s, n_others):
        path = [0, 4]
        jobs = {7: traffic([[(0, nbytes, path, 0.0)]], compute_s, 5)}
        jobs |= {k: traffic([[(k, 1.0, [k, 4], 0.0)]], 1.0, 5) for k in range(1, 1 + n_others)}
        return running(fabric([1.0] * 5), jobs, scenario="V1")[1][7]

    assert loss(1.0, 1.0, 1) == loss(1e9, 0.0, 3) > 1.0


def test_a_job_draws_as_in_a_run_by_its_number_and_the_seed(fabric, traffic):
    jobs = {k: traffic([[(k, 1.0, [k, 9], 0.0)]], 1.0, 10, n_nodes=300) for k in range(9)}
    ids, nodes = np.arange(9), np.full(9, 300)

    for seed in (1, 2):
        want = Assumption("V2").interference(ids, nodes, seed).tolist()
        assert list(running(fabric([1.0] * 10), jobs, scenario="V2", seed=seed)[1].values()) == want
    backwards = dict(reversed(jobs.items()))
    assert running(fabric([1.0] * 10), backwards, scenario="V2", seed=2)[1] == dict(enumerate(want))


def test_both_directions_of_a_half_duplex_cable_are_one_link(fabric, traffic):
    jobs = {
        1: traffic([[(0, 1.0, [0], 0.0)]], 1.0, 2),
        2: traffic([[(1, 1.0, [1], 0.0)]], 1.0, 2),
    }

    assert running(fabric([1.0] * 2), jobs)[1] == {1: 1.0, 2: 1.0}
    assert running(fabric([1.0] * 2, channel=[0, 0]), jobs)[1] == {1: 1.1, 2: 1.1}


def test_a_job_without_a_stated_size_has_the_nodes_that_send_or_receive(tree):
    """Five nodes of one leaf and the next, in a chain; without the last message, four."""

    def chain(nodes):
        src, dst = np.array(nodes[:-1]), np.array(nodes[1:])
        routes = DModK(tree).routes(src, dst)
        zero = np.zeros(src.size)
        return Traffic(zero.astype(np.int64), src, zero + 1.0, routes, 1.0, zero)

    values = running(tree, {1: chain([0, 1, 4, 8, 12]), 2: chain([2, 1, 4, 8])})[1]

    assert values == {1: 1.1, 2: 1.0}


def test_jobs_that_share_a_link_with_the_victim_have_equal_shares_of_the_blame(fabric, traffic):
    """Job 0 meets 1 on links 3 and 4, of two classes, and 2 on link 4; job 3 meets only 2."""
    jobs = {
        0: traffic([[(0, 1.0, [3, 4], 0.0)]], 1.0, 6),
        1: traffic([[(1, 9.0, [3, 4], 0.0)]], 1.0, 6),
        2: traffic([[(2, 1.0, [4, 5], 0.0)]], 1.0, 6),
        3: traffic([[(3, 1.0, [5], 0.0)]], 1.0, 6),
    }
    model, _ = running(fabric([1.0] * 6), jobs)

    told = model.culprits([0, 3], np.array([0, 0, 0, 1, 2, 2]))

    assert dict(model.blame(0)) == {1: 0.5, 2: 0.5}
    assert dict(model.blame(2)) == {0: 1 / 3, 1: 1 / 3, 3: 1 / 3}
    assert told.victim.tolist() == [0, 0, 0, 3]
    assert told.culprit.tolist() == [1, 1, 2, 2]
    assert told.kind.tolist() == [1, 2, 2, 2]
    assert told.share.tolist() == [0.25, 0.25, 0.5, 1.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scenario": "15%"}, "scenario: expected one of 5%, 10%, 20%, V1, V2, random, got '15%'"),
        ({"scenario": ["V1"]}, r"scenario: expected one of .*, got \['V1'\]"),
        ({"reading": 2}, "reading: expected one of divide, subtract, got 2"),
        ({"gain": 0.3}, "unknown option 'gain'; choose from reading, scenario, seed"),
    ],
)
def test_unknown_scenarios_and_readings_are_refused_with_the_choices(tree, options, message):
    with pytest.raises(ContentionError, match=message):
        make_contention_model("assumed", tree, options=options)
