"""The event model by states: incremental equals cold after any history, and 1 where alone."""

from dataclasses import replace

import numpy as np
import pytest
from measured import follower
from measured.scenes import Stream
from naive import contention as naive

from netsim.contention.cold.fixedpoint import cold_phased
from netsim.contention.constants import ConstantsOf
from netsim.contention.events.phased import Phased
from netsim.contention.phases import shuffled
from netsim.errors import ContentionError


class Follower(follower.Follower):
    """Follows the model, and compares it with a cold solution."""

    def __init__(self, fabric, **options):
        fairness = options.get("fairness", "per-sender")
        super().__init__(Phased(fabric, **options), ConstantsOf(fabric, fairness))
        self.seed = options.get("seed", 0)

    def distance(self):
        """Return the differences of all running jobs from a cold reading."""
        cold = cold_phased(self.jobs, seed=self.seed, tolerance=1e-9)
        assert self.values.keys() == cold.interference.keys()
        return np.array([abs(self.values[job] - s) for job, s in cold.interference.items()])


@pytest.mark.parametrize(("tolerance", "largest", "mean"), [(1e-3, 1e-2, 5e-4), (1e-5, 1e-4, 5e-6)])
@pytest.mark.parametrize("buffer_bytes", [0.0, 65536.0])
def test_incremental_equals_cold_in_proportion_to_the_tolerance(
    tree, tolerance, largest, mean, buffer_bytes
):
    follower = Follower(replace(tree, buffer_bytes=buffer_bytes), tolerance=tolerance)
    stream = Stream(tree, 3, 12, random_nodes=True)
    off = []

    for _ in range(6):
        follower.play(stream, 60)
        off.append(follower.distance())

    assert max(part.max() for part in off) < largest
    assert np.concatenate(off).mean() < mean
    assert max(follower.values.values()) > 1.1


@pytest.mark.parametrize("seed", [2, 3])
def test_incremental_follows_cold_where_jobs_never_compute(tree, seed):
    """A small change of what others use of a nearly full link moves a slowdown by far more."""
    follower = Follower(tree, tolerance=1e-3)
    stream = Stream(tree, seed, 12, random_nodes=True, f=(1.0, 1.0))

    for _ in range(6):
        follower.play(stream, 60)
        assert follower.distance().max() < 2e-3


@pytest.mark.parametrize("seed", range(3))
def test_readings_equal_the_naive_twin(fabric, traffic, random_jobs, seed):
    """Numbers of 4 bytes hold what is on channels: a millionth is their rounding."""
    rng = np.random.default_rng(seed)
    buffer, packet = ((0.0, 3.7), (0.1, 0.0), (1.5, 3.7))[seed]
    links = fabric(rng.uniform(0.5, 4.0, 7), buffer_bytes=buffer, packet_bytes=packet)
    jobs = random_jobs(rng, 7, 4)
    follower = Follower(links, tolerance=1e-9, seed=seed)
    for job, (steps, compute_s) in enumerate(jobs):
        follower.start(job, traffic(steps, compute_s, 7))

    cells = [shuffled(job, 8, seed) for job in range(4)]
    expected = naive.read_slowdowns(jobs, links.capacity, cells, buffer=buffer, packet=packet)

    found = [follower.values[job] for job in range(4)]
    np.testing.assert_allclose(found, expected, atol=5e-6)
    assert max(expected) > 1.05


@pytest.mark.parametrize("fairness", ["per-sender", "per-flow"])
def test_general_links_and_jobs_that_share_nodes(fabric, traffic, random_jobs, fairness):
    rng = np.random.default_rng(5)
    links = fabric(rng.uniform(0.5, 4.0, 12), buffer_bytes=0.5)
    follower = Follower(links, fairness=fairness, tolerance=1e-7)
    for job, (steps, compute_s) in enumerate(random_jobs(rng, 12, 30)):
        follower.start(job, traffic(steps, compute_s + 4.0, 12))
        if job >= 5:
            follower.end(int(rng.choice(list(follower.jobs))))
        assert follower.distance().max() < 2e-5


def test_rows_that_move_and_more_than_64_jobs(fabric, traffic):
    rng = np.random.default_rng(1)
    follower = Follower(fabric(np.ones(300)), tolerance=1e-6)
    for job in range(160):
        flows = [(f, 1.0, rng.permutation(300)[:3].tolist(), 0.0) for f in range(8)]
        follower.start(job, traffic([flows, flows[:3]], 60.0, 300))
        if job >= 100:
            follower.end(int(rng.choice(list(follower.jobs))))

    assert follower.distance().max() < 1e-4


def test_jobs_that_stop_sharing_have_exactly_1_again(tree):
    follower = Follower(tree)
    follower.play(Stream(tree, 6, 12, random_nodes=True), 200)
    last = max(follower.jobs)

    for job in [job for job in follower.jobs if job != last]:
        follower.end(job)

    assert follower.values == {last: 1.0}
    assert follower.model.worst_link(last) == -1


def test_isolated_partitions_have_exactly_1(tree):
    """Jobs on whole pods share no link under D-mod-k."""
    stream = Stream(tree, 8, 16, random_nodes=False)
    stream._size = lambda: 16
    stream._waiting = 16
    follower = Follower(tree)

    follower.play(stream, 40)

    assert set(follower.values.values()) == {1.0}


def test_order_of_starts_and_all_times_alike_change_nothing(tree):
    stream = Stream(tree, 9, 12, random_nodes=True)
    long = Follower(tree, tolerance=1e-6)
    long.play(stream, 120)
    for order, factor in ((sorted, 1.0), (lambda jobs: sorted(jobs, reverse=True), 3.0)):
        fresh = Follower(tree, tolerance=1e-6)
        for job in order(long.jobs):
            own = stream.running[job][1]
            longer = replace(
                own,
                nbytes=own.nbytes * factor,
                compute_s=own.compute_s * factor,
                latency_s=own.latency_s * factor,
            )
            fresh.model.start(job, longer)
        fresh.solve()
        assert fresh.values == pytest.approx(long.values, abs=5e-5)


def test_readings_are_continuous(fabric, traffic):
    """Compute time of one of three jobs changes by 0.1 % at a time."""
    links, values = fabric([1.0] * 4), []
    for percent in np.arange(0.95, 1.05, 0.001):
        model = Phased(links, tolerance=1e-8)
        model.start(0, traffic([[(0, 1.0, [0, 3], 0.0)]], 2.0 * percent, 4))
        model.start(1, traffic([[(1, 2.0, [1, 3], 0.0)]], 3.0, 4))
        model.start(2, traffic([[(2, 0.5, [2, 3], 0.0)]], 1.0, 4))
        solved = model.solve()
        values.append([solved[job] for job in range(3)])

    assert np.abs(np.diff(values, axis=0)).max() < 1e-3
    assert np.min(values) > 1.05


def test_a_job_that_starts_and_ends_between_solves_is_not_reported(fabric, traffic):
    model = Phased(fabric([1.0]))
    model.start(0, traffic([[(0, 1.0, [0], 0.0)]], 0.5, 1))
    model.end(0)

    assert model.solve() == {}


def test_a_bad_seed_is_refused(fabric):
    with pytest.raises(ContentionError, match="seed"):
        Phased(fabric([1.0]), seed=-1)
