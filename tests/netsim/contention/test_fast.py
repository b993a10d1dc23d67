"""The event model: incremental equals cold after any history, and costs nothing where alone."""

from dataclasses import replace

import numpy as np
import pytest
from measured import follower
from measured.scenes import Stream

from netsim.contention.cold.fixedpoint import cold_fast
from netsim.contention.constants import ConstantsOf
from netsim.contention.events.fast import Fast
from netsim.errors import ContentionError
from netsim.topology.fattree import fat_tree_of_radix


class Follower(follower.Follower):
    """Follows the model, and compares it with a cold solution."""

    def __init__(self, fabric, **options):
        fairness = options.get("fairness", "per-sender")
        super().__init__(Fast(fabric, **options), ConstantsOf(fabric, fairness))

    def distance(self):
        """Return the differences of all running jobs from a cold solve."""
        cold = cold_fast(self.jobs, tolerance=1e-9)
        assert cold.converged
        assert self.values.keys() == cold.interference.keys()
        return np.array([abs(self.values[job] - s) for job, s in cold.interference.items()])


@pytest.mark.parametrize(("tolerance", "largest", "mean"), [(1e-3, 1e-2, 5e-4), (1e-5, 1e-4, 5e-6)])
def test_incremental_equals_cold_in_proportion_to_the_tolerance(tree, tolerance, largest, mean):
    follower = Follower(tree, tolerance=tolerance)
    stream = Stream(tree, 3, 12, random_nodes=True)
    off = []

    for _ in range(8):
        follower.play(stream, 60)
        off.append(follower.distance())

    assert max(part.max() for part in off) < largest
    assert np.concatenate(off).mean() < mean
    assert max(follower.values.values()) > 1.1


@pytest.mark.parametrize("f", [(0.02, 0.3), (0.9, 1.0), (1.0, 1.0)])
def test_incremental_equals_cold_at_low_and_high_communication_fractions(tree, f):
    follower = Follower(tree, tolerance=1e-4)

    follower.play(Stream(tree, 4, 10, random_nodes=True, f=f), 150)

    assert follower.distance().max() < 1e-3


def test_incremental_equals_cold_where_ports_buffer_packets(tree):
    follower = Follower(replace(tree, buffer_bytes=65536.0), tolerance=1e-5)
    stream = Stream(tree, 3, 12, random_nodes=True)

    for _ in range(4):
        follower.play(stream, 60)
        assert follower.distance().max() < 2e-4


@pytest.mark.heavy
def test_incremental_equals_cold_after_ten_thousand_events_on_1458_nodes():
    """The bar: 1e-2 at the default tolerance of 1e-3, 5e-4 in the mean."""
    big = fat_tree_of_radix(18, 12.5e9, latency_base_s=315e-9, latency_per_link_s=417.7e-9)
    follower = Follower(big)
    stream = Stream(big, 5, 16, random_nodes=True)
    off = []

    for _ in range(20):
        follower.play(stream, 500)
        off.append(follower.distance())

    assert max(part.max() for part in off) < 1e-2
    assert np.concatenate(off).mean() < 5e-4


@pytest.mark.parametrize("fairness", ["per-sender", "per-flow"])
@pytest.mark.parametrize("seed", range(4))
def test_general_links_and_jobs_that_share_nodes(fabric, traffic, random_jobs, fairness, seed):
    """Random paths over few links, senders common to jobs: nothing of a tree is assumed."""
    rng = np.random.default_rng(seed)
    links = fabric(rng.uniform(0.5, 4.0, 12), buffer_bytes=0.5 * (seed % 2))
    follower = Follower(links, fairness=fairness, tolerance=1e-7)
    jobs = random_jobs(rng, 12, 30)
    for job, (steps, compute_s) in enumerate(jobs):
        follower.start(job, traffic(steps, compute_s + 4.0, 12))
        if job >= 5:
            follower.end(int(rng.choice(list(follower.jobs))))
        assert follower.distance().max() < 1e-5


def test_half_duplex_channels_join_what_goes_both_ways(fabric, traffic):
    """One job sends up a cable, another down it: they meet only where the cable is half duplex."""
    up, down = ([[(a, 2.0, [a], 0.0)]] for a in range(2))

    def slowdowns(channel):
        follower = Follower(fabric([1.0, 1.0], channel), tolerance=1e-8)
        follower.start(0, traffic(up, 2.0, 2))
        follower.start(1, traffic(down, 2.0, 2))
        return follower

    assert slowdowns([0, 1]).values == {0: 1.0, 1: 1.0}
    half = slowdowns([0, 0])
    assert half.distance().max() < 1e-6
    assert half.values[0] == pytest.approx(half.values[1], abs=1e-6)
    assert half.values[0] > 1.2
    assert (half.model.worst_link(0), half.model.worst_link(1)) == (0, 1)


def test_jobs_that_stop_sharing_have_exactly_1_again(tree):
    """After a long history, whoever is left without neighbours is exactly 1."""
    follower = Follower(tree)
    stream = Stream(tree, 6, 12, random_nodes=True)
    follower.play(stream, 200)
    last = max(follower.jobs)

    for job in [job for job in follower.jobs if job != last]:
        follower.end(job)

    assert follower.values == {last: 1.0}
    assert follower.model.worst_link(last) == -1


def test_a_job_that_shares_nothing_moves_nobody(fabric, traffic):
    follower = Follower(fabric([1.0] * 4))
    follower.start(0, traffic([[(0, 1.0, [0, 1], 0.0)]], 0.5, 4))
    follower.start(1, traffic([[(1, 1.0, [2, 1], 0.0)]], 0.5, 4))

    follower.model.start(2, traffic([[(2, 1.0, [3], 0.0)]], 0.5, 4))

    assert follower.model.solve() == {2: 1.0}
    assert follower.values[0] > 1.1


def test_isolated_partitions_have_exactly_1(tree):
    """Jobs on whole pods share no link under D-mod-k."""
    stream = Stream(tree, 8, 16, random_nodes=False)
    stream._size = lambda: 16
    stream._waiting = 16
    follower = Follower(tree)

    follower.play(stream, 60)

    assert set(follower.values.values()) == {1.0}


def test_the_answer_depends_on_the_jobs_and_not_on_their_history(tree):
    stream = Stream(tree, 9, 12, random_nodes=True)
    long = Follower(tree, tolerance=1e-7)
    long.play(stream, 300)

    for order in (sorted, lambda jobs: sorted(jobs, reverse=True)):
        fresh = Follower(tree, tolerance=1e-7)
        for job in order(long.jobs):
            fresh.model.start(job, stream.running[job][1])
        fresh.solve()
        assert fresh.values == pytest.approx(long.values, abs=1e-5)


def test_the_same_events_give_the_same_bytes(tree):
    runs = []
    for _ in range(2):
        follower = Follower(tree)
        follower.play(Stream(tree, 10, 12, random_nodes=True), 150)
        runs.append(follower.values)

    assert runs[0] == runs[1]


def test_more_than_64_jobs_and_rows_that_move(fabric, traffic):
    """Slots, rows and bits grow, holes close, and the answer stays that of a cold solve."""
    rng = np.random.default_rng(1)
    n_links = 400
    follower = Follower(fabric(np.ones(n_links)), tolerance=1e-6)
    for job in range(260):
        steps = [
            [(f, 1.0, rng.permutation(n_links)[:3].tolist(), 0.0) for f in range(8)]
            for _ in range(2)
        ]
        follower.model.start(job, traffic(steps, 60.0, n_links))
        follower.jobs[job] = follower.constants_of(traffic(steps, 60.0, n_links))
        if job >= 150:
            gone = int(rng.choice(list(follower.jobs)))
            follower.model.end(gone)
            del follower.jobs[gone]
            follower.values.pop(gone, None)
        if job % 20 == 0:
            follower.solve()
    follower.solve()

    assert len(follower.jobs) == 150
    assert follower.distance().max() < 1e-4


def test_a_job_that_starts_and_ends_between_solves_is_not_reported(fabric, traffic):
    model = Fast(fabric([1.0]))
    model.start(0, traffic([[(0, 1.0, [0], 0.0)]], 0.5, 1))
    model.end(0)

    assert model.solve() == {}
    assert model.solve() == {}


def test_the_worst_link_decides_the_step_with_the_largest_excess(fabric, traffic):
    """Job 0 meets a light neighbour on link 1 in step 0, a heavy one on link 2 in step 1."""
    model = Fast(fabric([1.0] * 5))
    model.start(0, traffic([[(0, 1.0, [0, 1], 0.0)], [(0, 1.0, [0, 2], 0.0)]], 0.5, 5))
    model.start(1, traffic([[(1, 1.0, [3, 1], 0.0)]], 50.0, 5))
    model.start(2, traffic([[(2, 1.0, [4, 2], 0.0)]], 0.1, 5))
    model.solve()

    assert [model.worst_link(job) for job in range(3)] == [2, 1, 2]


def test_unknown_and_repeated_jobs_are_refused(fabric, traffic):
    model = Fast(fabric([1.0]))
    job = traffic([[(0, 1.0, [0], 0.0)]], 0.5, 1)
    model.start(7, job)

    with pytest.raises(ContentionError, match="job 7 has been started already"):
        model.start(7, job)
    for call in (model.end, model.worst_link):
        with pytest.raises(ContentionError, match="job 8 has not been started"):
            call(8)
    with pytest.raises(ContentionError, match="compute_s"):
        model.start(8, replace(job, compute_s=-1.0))
    assert model.solve() == {7: 1.0}


@pytest.mark.parametrize("tolerance", [0.0, 1.0, float("nan")])
def test_a_tolerance_out_of_range_is_refused(fabric, tolerance):
    with pytest.raises(ContentionError, match=r"tolerance must lie|tolerance: expected"):
        Fast(fabric([1.0]), tolerance=tolerance)
