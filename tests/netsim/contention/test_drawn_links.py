"""Packets that find their link of a pool by chance: the law by hand, against draws and packets."""

from dataclasses import replace

import numpy as np
import pytest
from naive.drawn import unluckiest
from sending import between, chosen, routed

from netsim.contention.constants import ConstantsOf
from netsim.contention.drawn_kernels import drawn_wait, longest_met
from netsim.contention_models import make_contention_model
from netsim.packetsim.simulation import simulate_packets
from netsim.topology.spread import by_chance

LEAF, LEAVES, SPINES = 8, 4, 8
KIB = 1024.0


@pytest.mark.parametrize("senders", [2, 5, 1000])
@pytest.mark.parametrize("use", [0.2, 0.5, 0.8])
def test_the_unluckiest_of_the_last_packets_waits_as_long(use, senders):
    """Senders that each have a packet for the link at random, in the mean over many queues."""
    rng, packets, slots = np.random.default_rng(3), 500.0, 100_000
    came = rng.binomial(senders, use / senders, slots) - 1.0
    came_less_done = np.cumsum(came)
    behind = came_less_done - np.minimum.accumulate(came_less_done)
    drawn = np.mean([behind[rng.integers(0, slots, int(packets))].max() for _ in range(200)])
    said = longest_met(packets, use, float(senders), 1e9)
    assert said == pytest.approx(drawn, rel=0.4, abs=0.7)


def test_the_wait_grows_with_packets_and_use_from_nothing_to_a_buffer():
    uses = np.linspace(0.0, 1.0, 200)
    for packets in (1.0, 3.0, 100.0, 1e5):
        waits = np.array([drawn_wait(30.0, 1.0, packets, use, 9.0, 1e4) for use in uses])
        assert (np.diff(waits) >= -1e-9).all() or packets < 100.0
        assert waits[0] == 0.0
        assert waits.max() <= 30.0
    assert drawn_wait(30.0, 1.0, 1e5, 1.0, 9.0, 1e4) == 30.0
    assert drawn_wait(60.0, 2.0, 100.0, 0.5, 9.0, 50.0) == pytest.approx(
        2.0 * drawn_wait(30.0, 1.0, 100.0, 0.5, 9.0, 50.0)
    )


def test_fewer_senders_and_shorter_steps_wait_less():
    waits = [
        drawn_wait(1e9, 1.0, 500.0, 0.8, n, 1e4) for n in (1.0, 1.5, 2.0, 5.0, 49.0, 51.0, 1e6)
    ]
    assert waits[0] == 0.0
    assert (np.diff(waits) > 0.0).all()
    short = [drawn_wait(1e9, 1.0, 500.0, 0.99, 9.0, slots) for slots in (1.0, 4.0, 16.0, 64.0)]
    assert (np.diff(short) > 0.0).all()


def test_equals_the_slow_twin():
    for packets in (2.0, 30.0, 4000.0):
        for use in (1e-3, 0.1, 0.37, 0.6, 0.95, 0.99, 1.0):
            for senders in (1.2, 3.0, 49.0, 60.0, 800.0):
                for slots in (1.0, 40.0, 2000.0):
                    said = drawn_wait(1e9, 1.0, packets, use, senders, slots)
                    expected = unluckiest(packets, use, senders, slots)
                    assert said == pytest.approx(expected, rel=1e-5), (packets, use, senders, slots)


def test_which_links_packets_find_by_chance():
    """Under `adaptive` those that lead down, under `spray` those that lead up too."""
    adaptive = chosen(LEAF, LEAVES, SPINES)[0]
    spec = {"kind": "fat-tree", "children": [4, 4], "parents": [1, 4], "parallel": [1, 1]}
    spray = between(spec, "spray")[0]
    for tree, up in ((adaptive, 0), (spray, 1)):
        expected = np.zeros(tree.n_links)
        n_up = tree.counts[1] * tree.ports[1]
        expected[tree.up_base[1] : tree.up_base[1] + n_up] = up
        expected[tree.down_base[1] : tree.down_base[1] + n_up] = 1
        np.testing.assert_array_equal(by_chance(tree), expected)
    assert not by_chance(between(spec, "d-mod-k")[0]).any()


def test_short_messages_into_a_leaf_beside_others_are_late_as_in_packets():
    """Half of each link is free. So even rivals are met much less often than by chance."""
    fabric, sent = chosen(LEAF, LEAVES, SPINES)
    into = [(0, LEAF + k, k, 32.0) for k in range(4)]
    victim = sent(into, 1e-5)
    rivals = [sent([(0, 2 * LEAF + k, 4 + k, 1024.0)]) for k in range(4)]
    jobs = dict(enumerate([victim, *rivals]))
    model = make_contention_model("phased", fabric)
    for number, own in jobs.items():
        model.start(number, own)
    alone_s = ConstantsOf(fabric)(victim).iteration_s
    said_s = (model.solve()[0] - 1.0) * alone_s
    packets = simulate_packets(jobs, fabric, slowest_does=20).jobs[0]
    true_s = packets.together_s - packets.alone_s

    assert true_s > 0.1e-6
    assert 0.5 * true_s < said_s < 9.0 * true_s


@pytest.mark.parametrize("use", [0.0, 1e-320, 1e-200, 1e-13])
def test_hardly_any_use_makes_nobody_wait(use):
    assert drawn_wait(30.0, 1.0, 1e5, use, 9.0, 100.0) == 0.0


def test_a_job_that_waits_for_its_own_packets_hardly_notices_a_few_more():
    """A leaf of its own, which it fills, and one that it shares."""
    fabric, sent = chosen(LEAF, LEAVES, SPINES)
    own = [(0, LEAF + k, k, 64.0) for k in range(LEAF)]
    shared = [(0, 2 * LEAF + k, 3 * LEAF + k, 64.0) for k in range(4)]
    rivals = sent([(0, 2 * LEAF + 4 + k, LEAF * 3 + 4 + k, 64.0) for k in range(2)], 5e-6)
    alone, with_own = sent(shared, 5e-6), sent([*own, *shared], 5e-6)
    model = make_contention_model("phased", fabric)
    said_s = []
    for job in (alone, with_own):
        model.start(0, job)
        model.start(1, rivals)
        said_s.append((model.solve()[0] - 1.0) * ConstantsOf(fabric)(job).iteration_s)
        model.end(0)
        model.end(1)
    assert said_s[0] > 0.0
    assert said_s[1] < 0.5 * said_s[0]


def test_bytes_that_take_no_time_meet_nobody_by_chance():
    fabric, sent = chosen(LEAF, LEAVES, SPINES)
    few = sent([(0, LEAF + k, k, 1.0) for k in range(2)], 1e-5)
    few = replace(few, nbytes=np.full(few.nbytes.size, 5e-324))
    model = make_contention_model("phased", fabric)
    model.start(0, few)
    model.start(1, sent([(0, 2 * LEAF + k, 4 + k, 1024.0) for k in range(2)]))
    assert model.solve()[0] == 1.0


def test_packets_are_those_that_the_fabric_states():
    """Messages, buffers, packets and links four times as large, all else alike: the same answer."""
    found = []
    for scale in (1.0, 4.0):
        spec = {
            "kind": "fat-tree",
            "children": [LEAF, LEAVES],
            "parents": [1, SPINES],
            "parallel": [1, 1],
            "bandwidth": scale * 12.5e9,
            "buffer": scale * 64 * KIB,
            "packet": scale * 1 * KIB,
        }
        fabric, sent = routed(spec, "adaptive")
        model = make_contention_model("phased", fabric)
        for job in range(3):
            flows = [(0, 4 * job + i, 8 + 5 * job + i, scale * 16 * KIB) for i in range(3)]
            model.start(job, sent(flows, 2e-6))
        found.append(list(model.solve().values()))
    assert max(found[0]) > 1.0
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)
