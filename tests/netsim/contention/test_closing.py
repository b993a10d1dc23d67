"""What jobs lose before pools that hot spots close: by hand, by the twin, and event by event."""

import numpy as np
import pytest
from naive import contention as naive
from naive import steps as naive_steps
from sending import chosen

from netsim.contention.blame import Closers, Culprits, no_culprits, with_closers
from netsim.contention.cold.fixedpoint import cold_phased
from netsim.contention.constants import ConstantsOf
from netsim.contention.events.phased import Phased
from netsim.contention.phases import shuffled
from netsim.contention_models import make_contention_model
from netsim.topology.spread import by_chance

LEAF, LEAVES, SPINES = 4, 6, 4


@pytest.fixture(scope="module")
def machine():
    """Return a tree whose switches choose, and what makes traffic on it."""
    return chosen(LEAF, LEAVES, SPINES)


def incast(machine, n_senders=5, nbytes=440.0, compute_s=0.0):
    """Return senders on leaves of their own to node 0."""
    return machine[1]([(0, LEAF * (1 + i), 0, nbytes) for i in range(n_senders)], compute_s)


def slowdown(machine, victim, other):
    """Return the interference of a job beside another."""
    model = make_contention_model("phased", machine[0])
    model.start(0, other)
    model.start(1, victim)
    return model.solve()[1]


def closed_share(machine, own):
    """Return the largest share of its iteration for which a job closes a pool."""
    constants = ConstantsOf(machine[0])(own)
    return constants.entries["closed"].max() * constants.steps["drain_s"][0] / constants.iteration_s


def test_who_always_sends_into_the_leaf_of_a_hot_spot_loses_what_it_is_closed(machine):
    hot = incast(machine)
    share = closed_share(machine, hot)

    found = slowdown(machine, machine[1]([(0, LEAF + 1, 1, 64.0)]), hot)

    assert share > 0.5
    assert found == pytest.approx(1.0 / (1.0 - share), rel=0.05)


def test_who_computes_is_met_computing(machine):
    """A gap much shorter than what is closed saves half of it; one much longer nearly all."""
    hot = incast(machine)
    found = [
        slowdown(machine, machine[1]([(0, LEAF + 1, 1, 64.0)], compute_s), hot)
        for compute_s in (0.0, 20e-6, 200e-6, 5e-3)
    ]

    assert found == sorted(found, reverse=True)
    assert found[-1] < 1.05 < found[1]


def test_flows_that_can_wait_spare_their_job(machine):
    """A sender of four messages has time for the one that waits, if it is not the last."""
    hot, others = incast(machine), [(0, LEAF + 1, LEAF * 2 + i, 4096.0) for i in range(3)]
    step = [*others, (0, LEAF + 1, 1, 64.0)]

    assert slowdown(machine, machine[1](step), hot) < 1.1


def test_who_sends_elsewhere_loses_nothing(machine):
    victim = machine[1]([(0, LEAF + 1, LEAF * 2 + 1, 64.0)])

    assert slowdown(machine, victim, incast(machine)) < 1.2  # it waits for the up-links
    assert slowdown(machine, machine[1]([(0, 2, 1, 64.0)]), incast(machine)) == 1.0


def test_small_incasts_have_room(machine):
    victim = machine[1]([(0, LEAF + 1, 1, 64.0)])

    assert slowdown(machine, victim, incast(machine, nbytes=40.0)) < 1.1


def jobs_of(machine, seed, count):
    """Return jobs of some steps between random nodes, incasts among them."""
    rng = np.random.default_rng(seed)
    found = []
    for place in range(count):
        if place % 3 == 0:
            root, sources = rng.integers(LEAF), LEAF + rng.permutation(LEAF * (LEAVES - 1))[:6]
            messages = [(0, int(source), int(root), 300.0) for source in sources]
        else:
            messages = [
                (a, int(src), int(dst), float(rng.uniform(4.0, 200.0)))
                for a in range(int(rng.integers(1, 4)))
                for src, dst in rng.integers(LEAF * LEAVES, size=(4, 2))
                if src != dst
            ]
        if messages:
            found.append(machine[1](messages, float(rng.uniform(0.0, 2e-4))))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_equals_the_naive_twin(machine, plain, seed):
    fabric = machine[0]
    jobs = dict(enumerate(jobs_of(machine, seed, 5)))
    ports = np.maximum(1.0, fabric.capacity / fabric.spread.capacity).tolist()
    model = Phased(fabric, tolerance=1e-9)
    for number, own in jobs.items():
        model.start(number, own)
        constants = ConstantsOf(fabric)(own)
        for a, step in enumerate(plain(own)[0]):
            table = naive_steps.constants(
                step,
                fabric.capacity,
                buffer=fabric.buffer_bytes,
                packet=fabric.packet_bytes,
                ports=ports,
            )[2]
            for record in constants.records:
                first = record["first_entry"]
                for entry in constants.entries[first : first + record["n_entries"]]:
                    if entry["step"] == a:
                        told = [entry["held"], entry["closed"]]
                        expected = table[record["channel"]]
                        np.testing.assert_allclose(told, [expected[6], expected[8]], atol=1e-12)

    cells = [shuffled(number, 8, 0) for number in jobs]
    expected = naive.read_slowdowns(
        [plain(own) for own in jobs.values()],
        fabric.capacity,
        cells,
        buffer=fabric.buffer_bytes,
        packet=fabric.packet_bytes,
        ports=ports,
        by_chance=by_chance(fabric),
    )

    found = model.solve()
    np.testing.assert_allclose([found[number] for number in jobs], expected, atol=1e-5)
    assert max(expected) > 1.2


def test_event_by_event_equals_from_scratch(machine):
    fabric = machine[0]
    model, known, running = Phased(fabric, tolerance=1e-6), {}, {}
    rng = np.random.default_rng(4)
    for number, own in enumerate(jobs_of(machine, 7, 40)):
        running[number] = own
        model.start(number, own)
        if len(running) > 7:
            gone = int(rng.choice(list(running)))
            del running[gone]
            model.end(gone)
            known.pop(gone, None)
        known |= model.solve()
    constants_of = ConstantsOf(fabric)
    cold = cold_phased({n: constants_of(own) for n, own in running.items()}, tolerance=1e-9)

    np.testing.assert_allclose(
        [known[number] for number in running],
        [cold.interference[number] for number in running],
        atol=1e-4,
    )
    assert max(cold.interference.values()) > 1.2


def test_the_order_in_which_jobs_come_is_of_no_matter(machine):
    jobs = dict(enumerate(jobs_of(machine, 2, 8)))
    found = []
    for order in (list(jobs), list(jobs)[::-1]):
        model = Phased(machine[0], tolerance=1e-8)
        for number in order:
            model.start(number, jobs[number])
        said = model.solve()
        found.append([said[number] for number in jobs])

    np.testing.assert_allclose(*found, atol=1e-5)


def test_nothing_is_left_when_the_hot_spot_ends(machine):
    victim = machine[1]([(0, LEAF + 1, 1, 64.0)])
    model = Phased(machine[0])
    model.start(0, incast(machine))
    model.start(1, victim)
    pool = model.solve() and model.worst_link(1)

    assert machine[0].capacity[pool] > machine[0].spread.capacity[pool]
    model.end(0)
    assert model.solve()[1] == 1.0
    assert model.worst_link(1) == -1


@pytest.mark.parametrize("name", ["phased", "accurate"])
def test_who_closes_a_pool_is_to_blame_for_what_is_lost_before_it(machine, name):
    """The victim's slowdown goes with the hot spot and stays without a third job."""
    fabric = machine[0]
    jobs = {
        3: machine[1]([(0, 9, 1, 64.0)]),
        5: incast(machine),
        8: machine[1]([(0, 13, 2, 16.0), (0, 17, 3, 16.0)], compute_s=2e-5),
    }
    model = make_contention_model(name, fabric)
    for number, own in jobs.items():
        model.start(number, own)
    slow = model.solve()
    kinds = np.arange(fabric.n_links)
    told = model.culprits([8, 3], kinds)

    assert slow[3] > 3.0
    assert model.blame(3)[5] > 0.95
    assert sum(model.blame(3).values()) == pytest.approx(1.0, abs=1e-12)
    pool = model.worst_link(3)
    assert fabric.capacity[pool] > fabric.spread.capacity[pool]
    np.testing.assert_allclose(
        told.share[(told.victim == 3) & (told.kind == pool)].sum(), 1.0, atol=0.05
    )
    assert told.victim.tolist() == sorted(told.victim.tolist(), reverse=True)


def test_models_tell_the_same_closers(machine):
    """Event by event and from scratch: the part of each job in what closed pools cost."""
    fabric, constants_of = machine[0], ConstantsOf(machine[0])
    jobs = {n: incast(machine, k, compute_s=2e-5) for n, k in ((0, 5), (4, 3))}
    jobs[7] = machine[1]([(0, 9, 1, 64.0)], compute_s=1e-5)
    model = Phased(fabric, tolerance=1e-8)
    for number, own in jobs.items():
        model.start(number, own)
    slow = model.solve()
    state = cold_phased({n: constants_of(own) for n, own in jobs.items()}, tolerance=1e-9).state

    (event,) = [model._closers(7, model._slot(7), None)]
    (cold,) = state._closers(7, None)
    assert event.culprit.tolist() == cold.culprit.tolist() == [0, 4]
    np.testing.assert_allclose(event.closing, cold.closing, rtol=1e-5)
    np.testing.assert_allclose([event.slowdown, event.lost], [cold.slowdown, cold.lost], rtol=1e-4)
    assert event.slowdown == slow[7]
    assert event.part > 0.9


def test_shares_before_pools_join_those_on_links():
    """Of 2 seconds lost 1.2 are lost on links, 0.8 before a pool that 1 and 9 close, 3 to 1."""
    told = Culprits(
        np.array([7, 7, 2]), np.array([1, 3, 1]), np.array([0, 0, 1]), np.array([0.25, 0.75, 1.0])
    )
    slowdown, lost = 3.0, 0.8 / 3.0
    closers = Closers(7, np.array([1, 9]), 0, np.array([0.3, 0.1]), slowdown, lost)

    joined = with_closers(told, [closers])

    assert joined.victim.tolist() == [7, 7, 7, 2]
    assert joined.culprit.tolist() == [1, 3, 9, 1]
    assert joined.kind.tolist() == [0, 0, 0, 1]
    np.testing.assert_allclose(joined.share, [0.25 * 0.6 + 0.3, 0.45, 0.1, 1.0])
    assert with_closers(told, []) is told


def test_a_job_that_loses_only_before_a_pool_blames_who_closes_it():
    closers = Closers(7, np.array([4]), 2, np.array([0.5]), 1.25, 0.2)

    joined = with_closers(no_culprits(), [closers])

    assert joined.victim.tolist() == [7]
    assert (joined.culprit.tolist(), joined.kind.tolist()) == ([4], [2])
    assert joined.share.tolist() == [1.0]
