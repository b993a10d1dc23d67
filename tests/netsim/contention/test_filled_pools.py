"""Packets that wait for pools which several jobs fill: by hand, by the twin, event by event."""

import numpy as np
import pytest
from naive import contention as naive
from sending import chosen

from netsim.contention.cold.fixedpoint import cold_phased
from netsim.contention.constants import ConstantsOf
from netsim.contention.events.phased import Phased
from netsim.contention.phases import shuffled
from netsim.contention.window_kernels import pool_wait
from netsim.contention_models import make_contention_model
from netsim.topology.spread import by_chance

LEAF, LEAVES, SPINES = 8, 4, 4


@pytest.fixture(scope="module")
def machine():
    """Return a tapered tree whose switches choose, and what makes traffic on it."""
    return chosen(LEAF, LEAVES, SPINES)


def rivals(machine, count):
    """Return jobs of one sender each that leave the first leaf all the time."""
    return [machine[1]([(0, 1 + i, LEAF + 1 + i, 1024.0)]) for i in range(count)]


def late_s(machine, others, nbytes=16.0):
    """Return by how much a short message out of the first leaf is late beside others."""
    victim = machine[1]([(0, 0, LEAF, nbytes)])
    model = make_contention_model("phased", machine[0])
    for number, own in enumerate([victim, *others]):
        model.start(number, own)
    return (model.solve()[0] - 1.0) * ConstantsOf(machine[0])(victim).iteration_s


def test_what_is_offered_beyond_the_links_queues_as_far_as_there_is_room():
    """Four links, 8 weights: a pool's worth too many for 3 s; then for 8 s, with room for 4 s."""
    assert pool_wait(1.0, 4.0, 3.0, 8.0, 1.0, 0.0) == pytest.approx(1.5)
    assert pool_wait(1.0, 4.0, 8.0, 8.0, 1.0, 0.0) == pytest.approx(4.0 * (1.0 - 0.25))
    assert pool_wait(1.0, 4.0, 3.0, 8.0, 0.5, 0.25) == pytest.approx(0.75 - 0.25)
    assert pool_wait(1.0, 4.0, 3.0, 4.0, 1.0, 0.0) == 0.0
    assert pool_wait(0.0, 4.0, 3.0, 8.0, 1.0, 0.0) == 0.0


def test_nobody_waits_while_links_are_free(machine):
    """Packets: 0.1 us beside as many senders as links, 6 us beside seven."""
    few, as_many, more = (late_s(machine, rivals(machine, count)) for count in (2, 4, 7))

    assert few < 0.5e-6
    assert as_many < 0.5 * more
    buffer_s = machine[0].buffer_bytes / machine[0].spread.capacity[0]
    assert 0.5 * buffer_s < more < 2.0 * buffer_s


def jobs_of(machine, seed, count):
    """Return jobs of some steps, most of which leave the first leaf."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        messages = [
            (a, int(src), LEAF + int(dst), float(rng.uniform(4.0, 400.0)))
            for a in range(int(rng.integers(1, 4)))
            for src, dst in zip(rng.permutation(LEAF)[:4], rng.permutation(2 * LEAF), strict=False)
        ]
        found.append(machine[1](messages, float(rng.uniform(0.0, 1e-4))))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_equals_the_naive_twin(machine, plain, seed):
    fabric = machine[0]
    jobs = dict(enumerate(jobs_of(machine, seed, 4)))
    model = Phased(fabric, tolerance=1e-9)
    for number, own in jobs.items():
        model.start(number, own)

    expected = naive.read_slowdowns(
        [plain(own) for own in jobs.values()],
        fabric.capacity,
        [shuffled(number, 8, 0) for number in jobs],
        buffer=fabric.buffer_bytes,
        packet=fabric.packet_bytes,
        ports=np.maximum(1.0, fabric.capacity / fabric.spread.capacity).tolist(),
        by_chance=by_chance(fabric),
    )

    found = model.solve()
    np.testing.assert_allclose([found[number] for number in jobs], expected, atol=1e-5)
    assert max(expected) > 1.2


def test_event_by_event_equals_from_scratch(machine):
    fabric = machine[0]
    model, running = Phased(fabric, tolerance=1e-6), {}
    known: dict[int, float] = {}
    for number, own in enumerate(jobs_of(machine, 7, 12)):
        model.start(number, own)
        running[number] = ConstantsOf(fabric)(own)
        if number >= 5:
            model.end(number - 5)
            del running[number - 5]
        known |= model.solve()
        expected = cold_phased(running, tolerance=1e-9).interference
        for name, value in expected.items():
            assert known[name] == pytest.approx(value, abs=1e-3)
