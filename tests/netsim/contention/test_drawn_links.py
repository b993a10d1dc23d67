"""Packets that find their link of a pool by chance: the law by hand, against draws and packets."""

import numpy as np
import pytest
from naive.drawn import unluckiest
from sending import between, chosen

from netsim.contention.constants import ConstantsOf
from netsim.contention.drawn_kernels import drawn_wait
from netsim.contention_models import make_contention_model
from netsim.packets.simulation import simulate_packets
from netsim.topology.spread import by_chance

LEAF, LEAVES, SPINES = 8, 4, 8
KIB = 1024.0


@pytest.mark.parametrize("use", [0.2, 0.5, 0.8])
def test_one_in_so_many_packets_waits_as_long(use):
    """Of packets of one size that come at random."""
    gaps = np.random.default_rng(3).exponential(1.0 / use, 1_000_000)
    came_less_done = np.cumsum(1.0 - gaps)
    waits = came_less_done - np.minimum.accumulate(came_less_done)
    for packets in (30.0, 500.0):
        drawn = np.quantile(waits, 1.0 - 1.0 / packets)
        assert drawn_wait(1e9, 1.0, packets, use) == pytest.approx(drawn, rel=0.3)


def test_the_wait_grows_with_packets_and_use_from_nothing_to_a_buffer():
    uses = np.linspace(0.0, 1.2, 200)
    for packets in (1.0, 3.0, 100.0, 1e5):
        waits = np.array([drawn_wait(30.0, 1.0, packets, use) for use in uses])
        assert (np.diff(waits) >= -1e-9).all() or packets == 1.0
        assert waits[0] == 0.0
        assert waits.max() <= 30.0
    assert drawn_wait(30.0, 1.0, 1.0, 0.5) == 0.0
    assert drawn_wait(30.0, 1.0, 1e5, 1.0) == 30.0
    assert drawn_wait(60.0, 2.0, 100.0, 0.5) == pytest.approx(
        2.0 * drawn_wait(30.0, 1.0, 100.0, 0.5)
    )


def test_equals_the_slow_twin():
    for packets in (2, 30, 4000):
        for use in (1e-3, 0.1, 0.37, 0.6, 0.95, 0.99):
            step = [(0, 4096.0, (5,), 0.0)] * packets
            expected = unluckiest(step, 5, use, 1e9, 1e6)
            assert drawn_wait(1e-3, 4.096e-6, float(packets), use) == pytest.approx(
                expected, rel=1e-6
            )


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
    """Half of each link is free. Rivals that send so evenly are met less often than by chance."""
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
    assert 0.5 * true_s < said_s < 4.0 * true_s


@pytest.mark.parametrize("use", [0.0, 1e-320, 1e-200, 1e-6])
def test_hardly_any_use_makes_nobody_wait(use):
    assert drawn_wait(30.0, 1.0, 1e5, use) == 0.0
