"""What the model promises from event to event."""

from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from iterating import make_fabric, traffic_of

from netsim.common.errors import ContentionError
from netsim.fluid.demand import JobDemands
from netsim.fluid.model import Fluid
from netsim.registries.contention_models import RENAMED_MODELS, make_contention_model

NEAR = 1e-2  # the default tolerance is one of single jobs: what is left can add up along links


def pair(n_links=2, compute_s=0.0):
    """Return two jobs of one message of 1 s, of different senders, over one link."""
    return {job: traffic_of([[(job, [0], 1e6, 0.0)]], n_links, compute_s) for job in range(2)}


def test_two_jobs_that_always_send_get_half_each(interference):
    """Weights m = N = 1, both always there: y = 2 B."""
    assert interference(make_fabric([1e6]), pair(1)) == pytest.approx({0: 2.0, 1: 2.0}, rel=NEAR)


def test_jobs_on_one_node_share_its_link_by_their_open_messages(interference):
    """One message beside three, all of 1 s: a quarter of the link, and three quarters."""
    jobs = {
        0: traffic_of([[(0, [0, 1], 1e6, 0.0)]], 5),
        1: traffic_of([[(0, [0, link], 1e6, 0.0) for link in (2, 3, 4)]], 5),
    }

    found = interference(make_fabric([1e6] * 5), jobs)

    assert found == pytest.approx({0: 4.0, 1: 4.0 / 3.0}, rel=NEAR)


def test_jobs_that_share_no_link_have_exactly_one(interference):
    jobs = {job: traffic_of([[(job, [job], 1e6, 0.0)]], 3, 0.5) for job in range(3)}

    assert interference(make_fabric([1e6] * 3), jobs) == {0: 1.0, 1: 1.0, 2: 1.0}


def test_a_job_has_exactly_one_again_when_its_neighbour_has_ended():
    model = Fluid(make_fabric([1e6, 1e6]))
    for job, traffic in pair().items():
        model.start(job, traffic)
    model.solve()
    model.end(1)

    assert model.solve()[0] == 1.0


def test_a_job_that_waits_for_a_slower_link_is_not_held_up_on_a_faster_one(interference):
    """10 s on its own link; 1 s on the other, of which a neighbour takes a half."""
    jobs = {
        0: traffic_of([[(0, [0, 1], 1e6, 0.0)]], 2),
        1: traffic_of([[(1, [1], 1e6, 0.0)]], 2, 1.0),
    }

    assert interference(make_fabric([1e5, 1e6]), jobs)[0] == pytest.approx(1.0, abs=0.02)


def test_a_trial_is_what_a_solution_from_nothing_is_and_leaves_no_trace(drawn, machines):
    """One job away, one elsewhere, one more; twice, and with the tables full."""
    for machine in machines:
        topology, jobs = drawn(machine, 7)
        numbers = sorted(jobs)
        gone, moved, more = numbers[0], numbers[1], max(numbers) + 1
        model = Fluid(topology, tolerance=1e-6)
        for job, traffic in jobs.items():
            model.start(job, traffic)
        first = model.solve()
        new = {moved: model.demand_of(jobs[gone]), more: model.demand_of(jobs[numbers[-1]])}
        model.trial([gone, moved], new)  # rows may move in the first
        before = deepcopy(model._store.state)

        found = first | model.trial([gone, moved], new)

        tails = dict(
            zip(("records", "entries", "steps"), model._store._tails.values(), strict=True)
        )
        tails |= dict.fromkeys(("marks", "loads"), tails["records"])
        for name in ("jobs", "links", "totals", *tails):
            now, then = (
                getattr(own, name)[: tails.get(name)] for own in (model._store.state, before)
            )
            for field in now.dtype.names or [...]:  # bytes between fields are open
                np.testing.assert_array_equal(now[field], then[field], f"{machine} {name} {field}")
        assert model.solve() == {}
        solution = model.solution()
        one = JobDemands.of_one(new[more])
        model.start_over([more], one, np.zeros(1, dtype=np.int64), one.compute_s)
        model.solve()
        model.go_back(solution)
        assert first | model.trial([gone, moved], new) == found
        again = Fluid(topology, tolerance=1e-6)
        for job in numbers[2:]:
            again.start(job, jobs[job])
        for job, demand in new.items():
            again.add(job, demand)
        expected = again.solve()
        assert {job: found[job] for job in expected} == pytest.approx(expected, rel=1e-3)


def test_the_order_of_starts_hardly_moves_values(drawn, machines, interference):
    for machine in machines:
        topology, jobs = drawn(machine, 7)
        backwards = dict(sorted(jobs.items(), reverse=True))

        assert interference(topology, backwards, tolerance=1e-5) == pytest.approx(
            interference(topology, jobs, tolerance=1e-5), rel=NEAR
        )


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_run_comes_to_the_values_of_a_snapshot(drawn, machines, interference, data):
    topology, jobs = drawn(data.draw(st.sampled_from(machines)), data.draw(st.integers(0, 99)))
    model, values = Fluid(topology, tolerance=1e-4), {}
    for job in data.draw(st.lists(st.sampled_from(sorted(jobs)), min_size=1, max_size=12)):
        if job in values:
            model.end(job)
            del values[job]
        else:
            model.start(job, jobs[job])
            values[job] = 1.0
        values |= model.solve()
    left = {job: jobs[job] for job in values}

    assert values == pytest.approx(interference(topology, left, tolerance=1e-4), rel=NEAR)


def test_nothing_is_left_over_when_all_jobs_have_ended(drawn, interference):
    topology, jobs = drawn("tapered tree", 5)
    model = Fluid(topology)
    for _ in range(20):
        for job, traffic in jobs.items():
            model.start(job, traffic)
            model.solve()
        for job in jobs:
            model.end(job)
            model.solve()
    for job, traffic in jobs.items():
        model.start(job, traffic)

    assert dict(model.solve()) == pytest.approx(interference(topology, jobs), rel=1e-6)


def test_tables_grow_and_close_their_holes(interference):
    """300 pairs of jobs, of which all but a few end; each pair shares a link of its own."""
    n_pairs = 300
    topology = make_fabric([1e6] * n_pairs)
    flows = {
        job: traffic_of([[(job % 64, [job // 2], 1e6, 0.0)]] * (1 + job % 7), n_pairs, 1.0)
        for job in range(2 * n_pairs)
    }
    model, values = Fluid(topology), {}
    for job, traffic in flows.items():
        model.start(job, traffic)
        if job % 3 == 0 and job >= 60:
            gone = job - 60
            model.end(gone)
            values.pop(gone, None)
            flows_left = {other for other in values if other != gone}
            values = {other: values[other] for other in flows_left}
        values |= model.solve()
    left = {job: flows[job] for job in values}

    assert len(left) > 64
    assert values == pytest.approx(interference(topology, left), rel=NEAR)


def test_nothing_of_ended_jobs_stays_in_rows_that_are_used_again(interference):
    """Tables are filled, and rows moved together, several times while four jobs run."""
    rng = np.random.default_rng(4)
    fabric = make_fabric([1e6] * 24, buffer_bytes=1e4, packet_bytes=1e3)
    model, running, values, n_records = Fluid(fabric, tolerance=1e-6), {}, {}, 0
    for job in range(700):
        paths = [rng.choice(24, 6, replace=False).tolist() for _ in range(4)]
        steps = [[(job % 64, path, float(rng.integers(1, 9)) * 1e5, 0.0)] for path in paths]
        running[job] = traffic_of(steps, 24, compute_s=float(rng.integers(1, 9)))
        model.start(job, running[job])
        n_records += np.unique(paths).size
        if len(running) > 4:
            gone = int(rng.choice(list(running)[:-1]))
            model.end(gone)
            del running[gone]
            values.pop(gone, None)
        values |= model.solve()

    assert n_records > 8 * 1024  # a table holds so many at first
    assert values == pytest.approx(interference(fabric, running, tolerance=1e-6), rel=1e-3)


def test_the_order_of_phases_depends_on_the_seed(drawn, interference):
    topology, jobs = drawn("tapered tree", 5)

    assert interference(topology, jobs, seed=1) == interference(topology, jobs, seed=1)
    assert interference(topology, jobs, seed=1) != interference(topology, jobs, seed=2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"tolerance": 0.0}, "tolerance must lie between 0 and 1"),
        ({"tolerance": 1.0}, "tolerance must lie between 0 and 1"),
        ({"tolerance": "x"}, "tolerance: expected a number"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"samples": 4}, "unknown option 'samples'"),
    ],
)
def test_options_out_of_range_are_refused(options, expected):
    with pytest.raises(ContentionError, match=expected):
        make_contention_model("fluid", make_fabric([1.0]), options=options)


@pytest.mark.parametrize(("older", "now"), RENAMED_MODELS.items())
def test_names_of_older_versions_are_refused(older, now):
    with pytest.raises(ContentionError, match=f"expected '{now}', as it is called now, got"):
        make_contention_model(older, make_fabric([1.0]))


def test_jobs_are_started_once_and_end_once():
    model = Fluid(make_fabric([1e6, 1e6]))
    model.start(0, pair()[0])
    with pytest.raises(ContentionError, match="job 0 has been started already"):
        model.start(0, pair()[0])
    with pytest.raises(ContentionError, match="job 1 has not been started"):
        model.end(1)


def test_shares_of_lost_time_add_up_to_one(drawn, machines):
    for machine in machines:
        topology, jobs = drawn(machine, 9)
        model = Fluid(topology)
        for job, traffic in jobs.items():
            model.start(job, traffic)
        values = model.solve()
        for job in jobs:
            shares = model.blame(job)

            assert job not in shares
            if values[job] > 1.0:
                assert sum(shares.values()) == pytest.approx(1.0)
            else:
                assert not shares


def test_the_main_culprit_is_the_one_whose_absence_helps_most(drawn, machines, interference):
    """In at least 85 per cent of jobs that lose 2 per cent or more."""
    same = []
    for machine in machines:
        for seed in range(12):
            topology, jobs = drawn(machine, seed)
            model = Fluid(topology)
            for job, traffic in jobs.items():
                model.start(job, traffic)
            values = dict(model.solve())
            without = {
                gone: interference(topology, {k: t for k, t in jobs.items() if k != gone})
                for gone in jobs
            }
            for job, value in values.items():
                shares = model.blame(job)
                if value > 1.02 and len(shares) > 1:
                    gain = {gone: value - without[gone][job] for gone in jobs if gone != job}
                    same.append(max(shares, key=shares.get) == max(gain, key=gain.get))

    assert len(same) > 20
    assert np.mean(same) >= 0.85


def test_the_link_that_holds_a_job_up_is_the_shared_one():
    model = Fluid(make_fabric([1e6, 1e6, 1e6]))
    for job in range(2):
        model.start(job, traffic_of([[(job, [job, 2], 1e6, 0.0)]], 3))
    model.solve()

    assert model.worst_links((0, 1)) == [2, 2]
