"""Blame in estimates: shares by hand, and where no absence helps."""

import pytest
from estimatescenes import THREE, one_flow, scene

from coupling import estimate
from coupling.inputs.snapshot import snapshot_from
from coupling.site import predictions
from coupling.site.attribution import leave_one_out
from coupling.site.predictions import Prediction
from netsim.registries.contention_models import make_contention_model
from scheduler.traffic import TrafficOf


def test_hop_cost_blames_jobs_on_the_same_leaf_though_no_link_is_shared():
    """0 to 4 goes up the even port, 1 to 5 the odd one; the third job is on other leaves."""
    found = estimate(
        scene(one_flow("a", 0, 4), one_flow("b", 1, 5), one_flow("c", 8, 12), model="hop-cost")
    )

    assert [job.interference > 1.0 for job in found.jobs] == [True, True, False]
    assert [job.blame for job in found.jobs] == [(("b", 1.0),), (("a", 1.0),), ()]
    assert [job.worst_link for job in found.jobs] == [None, None, None]


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_jobs_that_meet_in_the_limiter_of_a_host_alone_are_blamed(model):
    """n0 sends for one job and receives for the other, and does as much in all as one of them."""
    fabric = {"kind": "switch", "nodes": 3, "latency": "none", "limiter_link": "100 Gb/s"}
    jobs = [one_flow("a", 0, 1), one_flow("b", 2, 0)]

    found = estimate({"topology": fabric, "shared": True, "model": model, "jobs": jobs})

    assert [job.interference > 1.1 for job in found.jobs] == [True, True]
    assert [job.blame for job in found.jobs] == [(("b", 1.0),), (("a", 1.0),)]


def test_absence_that_helps_nobody_is_blamed_equally():
    """Where either of two neighbours suffices to hold a job up, each has half of the blame."""
    snapshot = snapshot_from(scene(*THREE))
    traffic_of = TrafficOf(snapshot.topology, snapshot.routing)
    placed = {
        job.number: traffic_of.of_flows(job.flows, job.partition, compute_s=job.compute_s)
        for job in snapshot.jobs
    }

    def either_suffices(some):
        return {job: Prediction(1.0, 2.0 if len(some) > 1 else 1.0, -1) for job in some}

    shares = leave_one_out([sorted(placed)], placed, either_suffices, either_suffices(placed))

    for victim in placed:
        assert shares[victim] == {job: 0.5 for job in placed if job != victim}


def test_blame_is_in_proportion_to_what_an_absence_saves():
    """By hand: without b, a would save 3 of 4 seconds, without c 1."""
    snapshot = snapshot_from(scene(*THREE))
    traffic_of = TrafficOf(snapshot.topology, snapshot.routing)
    a, b, c = (job.number for job in snapshot.jobs)
    placed = {
        job.number: traffic_of.of_flows(job.flows, job.partition, compute_s=job.compute_s)
        for job in snapshot.jobs
    }
    seconds_of_a = {(a, b, c): 5.0, (a, c): 2.0, (a, b): 4.0}

    def predict(some):
        members = tuple(job for job in (a, b, c) if job in some)
        return {
            job: Prediction(1.0, seconds_of_a.get(members, 1.0) if job == a else 1.0, -1)
            for job in some
        }

    shares = leave_one_out([sorted(placed)], placed, predict, predict(placed))

    assert shares == {a: {b: 0.75, c: 0.25}}


@pytest.mark.parametrize("model", ["fluid"])
def test_who_is_to_blame_is_read_off_the_solution_that_is_there(model, monkeypatch):
    made = []

    def counted(*given, **options):
        made.append(make_contention_model(*given, **options))
        made[-1].solve = lambda solve=made[-1].solve: solved.append(solve) or solve()
        return made[-1]

    solved = []
    monkeypatch.setattr(predictions, "make_contention_model", counted)

    estimate(scene(*THREE, model=model))

    assert len(solved) == 1
