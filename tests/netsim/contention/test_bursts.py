"""How long the bursts of neighbours are, and over what a mean is taken."""

import numpy as np
import pytest

from netsim.contention.base import Traffic
from netsim.contention.cold.fixedpoint import cold_phased
from netsim.contention.constants import ConstantsOf
from netsim.contention.window_kernels import by_iterations, grown_queue, late_wait
from netsim.contention_models import make_contention_model
from netsim.routings import make_routing
from netsim.topologies import make_topology


def constants(traffics, links):
    """Return the constants of jobs 0, 1, ..."""
    constants_of = ConstantsOf(links)
    return {job: constants_of(traffic) for job, traffic in enumerate(traffics)}


def test_a_job_that_never_computes_advances_at_the_mean_speed(fabric, traffic):
    """
    Short steps on a link that a neighbour wants for 10 s, again 10 s after it is done.

    Both weigh 1, so the neighbour takes 20 s of 30. For these the steps go at speed 1/2, else at 1,
    which is 2/3 over time: 3/2 s for each second alone. The mean over times would be 5/3: it counts
    as many steps beside the neighbour as in as much time without.
    """
    jobs = [
        traffic([[(0, 0.1, [0], 0.0)]], 0.0, 7),
        traffic([[(1, 10.0, [0], 0.0)]], 10.0, 7),
    ]

    found = cold_phased(constants(jobs, fabric(np.ones(7)))).interference

    assert found[0] == pytest.approx(1.5, abs=0.01)
    assert found[1] == pytest.approx(1.5, abs=0.01)


def test_iterations_count_and_not_time():
    """10 s where others are there, 2 s alone, half of the time each: 5 of 6 iterations take 2 s."""
    late_s = (8.0 + 0.0) / 2
    rate = (1 / 10.0 + 1 / 2.0) / 2

    assert by_iterations(2.0, late_s, rate) == pytest.approx(5 / 6 * 0.0 + 1 / 6 * 8.0)
    assert by_iterations(2.0, 0.0, 0.5) == 0.0


def test_a_queue_grows_by_what_others_send_during_a_burst():
    """Bursts of 10 s, others who send for 0.1 of the time: 1 s at the end, half in the mean."""
    assert grown_queue(9.0, 0.5 + 0.1, 10.0, 0.5 * 10.0) == pytest.approx(0.5)
    assert grown_queue(0.3, 0.5 + 0.1, 10.0, 0.5 * 10.0) == 0.3


def test_who_comes_waits_for_what_has_grown_and_what_neighbours_queue():
    assert late_wait(1.0, 0.5, 0.0, 0.5, 0.4, 0.0) == pytest.approx(0.1)
    assert late_wait(1.0, 0.5, 0.6, 2.0, 3.0, 0.2) == pytest.approx(0.5 + 1.2 - 0.2)
    assert late_wait(1.0, 0.5, 6.0, 2.0, 3.0, 0.0) == 2.0


def sent(fabric, src, dst, nbytes, compute_s):
    """Return the traffic of one step of equal messages."""
    src, dst = np.array(src), np.array(dst)
    ways = make_routing("minimal", fabric)
    return Traffic(
        step=np.zeros(src.size, dtype=np.int64),
        sender=src,
        nbytes=np.full(src.size, nbytes),
        routes=ways.routes(src, dst),
        compute_s=compute_s,
        latency_s=np.zeros(src.size),
    )


@pytest.mark.parametrize("seed", range(2))
def test_event_by_event_on_a_dragonfly_equals_from_scratch(seed):
    rng = np.random.default_rng(seed)
    fabric = make_topology(
        {
            "kind": "dragonfly",
            "groups": 5,
            "routers": 2,
            "nodes_per_router": 4,
            "bandwidth": "1 GB/s",
        }
    )
    model = make_contention_model("phased", fabric, options={"tolerance": 1e-9})
    constants_of, running, said = ConstantsOf(fabric), {}, {}
    nodes = rng.permutation(fabric.n_nodes)
    for job in range(8):
        own = nodes[5 * job : 5 * job + 5]
        nbytes = float(rng.uniform(1e9, 9e9))
        traffic = sent(fabric, own[:4], own[1:], nbytes, float(rng.uniform(0.0, 9.0)))
        model.start(job, traffic)
        running[job] = constants_of(traffic)
        said |= model.solve()
        if job in (4, 6):
            model.end(job - 3)
            del running[job - 3], said[job - 3]
            said |= model.solve()

    expected = cold_phased(running, tolerance=1e-11).interference

    assert said == pytest.approx(expected, abs=1e-5)
    assert max(expected.values()) > 1.2
