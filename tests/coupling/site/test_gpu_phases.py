"""ECMP over seeds, and shifts that interleave jobs: by hand, and as balls in bins."""

import numpy as np
import pytest

from coupling import SnapshotError
from coupling.site.ecmp_audit import ecmp_audit
from coupling.site.stagger import stagger

RING = {"operation": "allreduce", "algorithm": "ring", "nbytes": "1 GB", "over": ["dp"]}
PAIR = {
    "kind": "gpu-cluster",
    "hosts": 16,
    "hosts_per_unit": 8,
    "oversubscription": "8:1",
    "bandwidth": "400 Gb/s",
    "latency": "none",
}


def pair(compute_s, **fields):
    """Return two jobs of eight hosts whose rings share a cable of each rail, 35 ms each."""
    nodes = (range(4), range(8, 12)), (range(4, 8), range(12, 16))
    jobs = [
        {
            "id": name,
            "nodes": [node for part in own for node in part],
            "ranks_per_node": 8,
            "parallel": {"tp": 8},
            "phases": [{"compute_s": seconds, "collectives": [RING]}],
        }
        for name, own, seconds in zip("ab", nodes, compute_s, strict=True)
    ]
    return {"topology": PAIR, "jobs": jobs} | fields


@pytest.mark.parametrize("share", [0.2, 0.35, 0.5])
def test_two_equal_jobs_gain_what_the_formula_says(share):
    """
    Communication for a share d of an iteration: best 1, mean 1 + d^2, worst 1 + d.

    The mean is over twenty shifts, (2 k - 1) / 40; the worst is to start at once.
    """
    iteration_s = 0.035 / share

    found = stagger(pair([iteration_s - 0.035] * 2))

    for job in found.jobs:
        assert job.alone_s == pytest.approx(iteration_s)
        assert job.best_s == pytest.approx(iteration_s, rel=1e-3)
        assert job.mean_s == pytest.approx(iteration_s * (1 + share**2), rel=2e-3)
        assert job.worst_s == pytest.approx(iteration_s * (1 + share), rel=2e-3)


def test_jobs_that_communicate_more_than_half_of_the_time_share_at_best():
    """D = 0.7: the best iteration is 2 d."""
    found = stagger(pair([0.015, 0.015]))

    assert [job.best_s for job in found.jobs] == pytest.approx([0.070] * 2, rel=1e-2)


def test_a_shift_in_the_middle_may_be_off_by_the_idle_time():
    """D = 0.35: from 0.5 down to 0.35 nothing is lost, and half of the gain is gone later."""
    found = stagger(pair([0.065, 0.065]))

    assert found.jobs[1].shift_s == pytest.approx(0.050, abs=0.001)
    assert 0.015 <= found.slack_s <= 0.030
    assert found.iterations == pytest.approx(found.slack_s / 0.0001)


def test_jobs_without_a_common_cycle_are_refused():
    """Iterations of 100 ms and of the golden ratio times as long."""
    with pytest.raises(SnapshotError, match="have no common cycle below 10,000 iterations"):
        stagger(pair([0.065, 0.05 * (1 + 5**0.5) - 0.035]))


def test_jobs_that_share_no_link_are_refused():
    alone = pair([0.065, 0.065])
    alone["jobs"] = alone["jobs"][:1]

    with pytest.raises(SnapshotError, match="jobs: no two of them share a link"):
        stagger(alone)


def crossing(rails, flows, links):
    """Return flows of 1 GB on each rail from one unit of hosts to another, by so many spines."""
    topology = PAIR | {"hosts": 2 * flows, "hosts_per_unit": flows, "gpus": rails}
    topology |= {"fabric": "rail-only" if rails > 1 else "rail"}
    topology["oversubscription"] = f"{flows}:{links}"
    ranks = np.arange(flows * rails)
    steps = [[[int(rank), int(rank + flows * rails), 1e9] for rank in ranks]]
    job = {"id": "a", "nodes": list(range(2 * flows)), "ranks_per_node": rails}
    return {"topology": topology, "jobs": [job | {"steps": steps, "compute_s": 0}]}


@pytest.mark.parametrize(
    ("flows", "links", "rails", "means"),
    [
        (16, 16, 1, (3.10, 1.97, 1.47)),
        pytest.param(16, 16, 8, (4.19, 2.44, 1.68), marks=pytest.mark.heavy),
        pytest.param(32, 32, 1, (3.54, 2.19, 1.56), marks=pytest.mark.heavy),
        pytest.param(32, 32, 8, (4.67, 2.62, 1.77), marks=pytest.mark.heavy),
        pytest.param(64, 64, 1, (3.95, 2.35, 1.63), marks=pytest.mark.heavy),
        pytest.param(64, 64, 8, (5.08, 2.81, 1.83), marks=pytest.mark.heavy),
        (64, 32, 1, (5.41, 3.59, 2.76)),
        pytest.param(64, 32, 8, (6.89, 4.21, 3.05), marks=pytest.mark.heavy),
    ],
)
def test_the_mean_largest_load_is_that_of_balls_in_bins(flows, links, rails, means):
    """
    1, 4 and 16 queue pairs, counted by Monte Carlo; within two standard errors of 200 seeds.

    Paths go up and down by one spine, so a flow is one ball.
    """
    for qps, mean in zip((1, 4, 16), means, strict=True):
        found = ecmp_audit(crossing(rails, flows, links), seeds=200, qps=qps).jobs[0]
        load = found.mean_s / 0.020

        assert found.sprayed_s == pytest.approx(0.020 * flows / links)
        assert load == pytest.approx(mean, abs=2 * 0.7 / np.sqrt(qps) / np.sqrt(200) + 0.01)


def test_the_audit_names_the_busiest_links_of_all_jobs():
    found = ecmp_audit(pair([0.065, 0.065]), seeds=5)

    assert found.links == (("s1.0>s2.0", 5, pytest.approx(0.070)),)
    assert found.jobs[0].quantiles_s == pytest.approx((0.1,) * 4)


def test_an_audit_needs_messages():
    silent = {"topology": PAIR, "jobs": [{"id": "a", "nodes": [0]}]}

    with pytest.raises(SnapshotError, match="jobs: expected one that sends something"):
        ecmp_audit(silent)
