"""Virtual channels: who waits for places of another one is in nobody's way there."""

from collections import defaultdict

import numpy as np
import pytest
from naive import contention as naive
from naive import shares as naive_shares
from sending import between

from netsim.contention import constants as constants_module
from netsim.contention.cold.fixedpoint import accurate, cold_phased
from netsim.contention.constants import ConstantsOf
from netsim.contention.lane_kernels import CLOSED, LANES, late_by_lane, there_for, weight_beside
from netsim.contention.phases import shuffled
from netsim.contention.window_kernels import late_wait
from netsim.contention_models import make_contention_model
from netsim.packetsim.simulation import simulate_packets
from netsim.topologies import make_topology
from netsim.virtual_channels import channels_in_order

N_LINKS = 7
DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 4}
TORUS = {"kind": "torus", "dims": [4, 4, 4]}


def lane_of(path):
    """Return a lane for each link of a path."""
    return [sum(path[: place + 1]) % 3 for place in range(len(path))]


@pytest.fixture
def laned(monkeypatch):
    """Return what makes the constants of jobs on links that lead nowhere, with lanes."""

    def taken(_, routes):
        paths = [routes.of_flow(f).tolist() for f in range(routes.n_flows)]
        return np.array([lane for path in paths for lane in lane_of(path)], dtype=np.int64)

    monkeypatch.setattr(constants_module, "channels_in_order", taken)

    def made(links, *, closes=False):
        found = ConstantsOf(links)
        found.has_lanes, found.fills_lanes = True, closes
        return found

    return made


@pytest.mark.parametrize("drawn_as", [(0, False), (1, False), (0, True), (3, True)], ids=str)
def test_readings_and_states_equal_the_naive_twin(laned, fabric, traffic, random_jobs, drawn_as):
    seed, closes = drawn_as  # whether lanes are known to be closed
    rng = np.random.default_rng(seed)
    packet = 3.7 if seed else 0.0
    links = fabric(rng.uniform(0.5, 4.0, N_LINKS), buffer_bytes=0.6, packet_bytes=packet)
    plain = random_jobs(rng, N_LINKS, 4)
    constants_of = laned(links, closes=closes)
    jobs = {job: constants_of(traffic(*own, N_LINKS)) for job, own in enumerate(plain)}
    cells = [shuffled(job, 8, seed) for job in range(4)]
    known = {"buffer": 0.6, "packet": packet, "lane_of": lane_of, "closes": closes}

    read = cold_phased(jobs, seed=seed, tolerance=1e-11).interference
    settled = accurate(jobs, seed=seed, tolerance=1e-11).interference

    expected = naive.read_slowdowns(plain, links.capacity, cells, **known)
    without = naive.read_slowdowns(
        plain,
        links.capacity,
        cells,
        buffer=0.6,
        packet=packet,
        lane_of=lane_of if closes else None,
    )
    np.testing.assert_allclose(list(read.values()), expected, rtol=1e-7)
    assert np.abs(np.subtract(expected, without)).max() > 0.005
    expected = naive.slowdowns_by_states(plain, links.capacity, cells, **known)
    np.testing.assert_allclose(list(settled.values()), expected, rtol=1e-7)


@pytest.mark.parametrize("own_s", [13.2, 13.3, 13.7, 13.8])
def test_no_link_is_left_out_that_delays_by_the_longest_queue(monkeypatch, fabric, traffic, own_s):
    """
    A message comes late by what 23 senders on its virtual channel and one on another have queued.

    It needs `own_s` for another link; up to 13.75 it is held up, by less and less.
    """

    def lanes_of(path):
        return [int(link == 0 and path[0] == 1) for link in path]

    def taken(_, routes):
        paths = [routes.of_flow(f).tolist() for f in range(routes.n_flows)]
        return np.array([lane for path in paths for lane in lanes_of(path)], dtype=np.int64)

    monkeypatch.setattr(constants_module, "channels_in_order", taken)
    capacity, n_links = np.ones(30), 30
    capacity[29] = 0.01 / own_s
    links = fabric(capacity, buffer_bytes=1.0)
    plain = [
        ([[(28, 0.01, [28, 0, 29], 0.0)]], 0.0),
        ([[(sender, 40.0, [sender, 0], 0.0) for sender in range(1, 25)]], 0.0),
    ]
    constants_of = ConstantsOf(links)
    constants_of.has_lanes, constants_of.fills_lanes = True, False
    jobs = {job: constants_of(traffic(*own, n_links)) for job, own in enumerate(plain)}
    cells = [shuffled(job, 8, 0) for job in range(2)]

    read = cold_phased(jobs, seed=0, tolerance=1e-11).interference

    expected = naive.read_slowdowns(plain, capacity, cells, buffer=1.0, lane_of=lanes_of)
    np.testing.assert_allclose(list(read.values()), expected, rtol=1e-7)
    assert (read[0] > 1.0) == (own_s < 13.75)
    assert (accurate(jobs, seed=0).interference[0] > 1.0) == (own_s < 13.75)


def test_closed_lanes_in_other_units_say_the_same(laned, fabric, traffic, random_jobs):
    rng = np.random.default_rng(3)
    capacity, plain = rng.uniform(0.5, 4.0, N_LINKS), random_jobs(rng, N_LINKS, 4)
    found = []
    for unit in (1.0, 2.0**30):
        constants_of = laned(fabric(capacity * unit, buffer_bytes=0.6 * unit), closes=True)
        jobs = {}
        for job, (steps, compute_s) in enumerate(plain):
            larger = [[(s, b * unit, links, lat) for s, b, links, lat in step] for step in steps]
            jobs[job] = constants_of(traffic(larger, compute_s, N_LINKS))
        assert any(own.lanes[:, CLOSED : CLOSED + LANES].any() for own in jobs.values())
        found.append(cold_phased(jobs, tolerance=1e-9).interference)
    assert found[0] == found[1]


def drawn(fabric, sent, seed=0):
    """Draw jobs on random nodes."""
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(fabric.n_nodes)[:60].reshape(5, 12)
    return {
        job: sent(
            own,
            np.roll(own, 1 + job),
            rng.uniform(2e4, 4e5),
            rng.uniform(0.0, 5e-5),
            steps=1 + job,
        )
        for job, own in enumerate(nodes)
    }


@pytest.mark.parametrize(
    ("spec", "rule"),
    [(DRAGONFLY, "minimal"), (DRAGONFLY, "valiant"), (TORUS, "dimension-order")],
    ids=["minimal", "valiant", "torus"],
)
def test_shares_of_lanes_are_those_of_the_flows(spec, rule):
    fabric, sent = between(spec, rule)
    for own in drawn(fabric, sent).values():
        found = ConstantsOf(fabric)(own)
        weight = defaultdict(float)
        taken = channels_in_order(fabric, own.routes)
        for f in range(own.step.size):  # each sender has one flow in a step
            for hop in range(own.routes.indptr[f], own.routes.indptr[f + 1]):
                weight[own.step[f], own.routes.links[hop], taken[hop]] += 1.0
        link = np.repeat(found.records["link"], found.records["n_entries"])
        for row, a, at in zip(found.lanes, found.entries["step"], link, strict=True):
            all_there = sum(weight[a, at, lane] for lane in range(LANES))
            assert row[:LANES] == pytest.approx(
                [weight[a, at, lane] / all_there for lane in range(LANES)]
            )
        if rule == "dimension-order":
            most = found.lanes[:, LANES:].max(axis=1)
            np.testing.assert_array_equal(most, found.entries["held"])
    assert (np.count_nonzero(found.lanes[:, :LANES], axis=0) > 0).sum() > 1


@pytest.mark.parametrize("rule", ["adaptive", "spray"])
def test_where_packets_choose_shares_of_lanes_are_those_of_the_slow_twin(rule):
    fabric, sent = between(DRAGONFLY, rule)
    rng, used = np.random.default_rng(3), set()
    for n_steps in (1, 2):
        ends = rng.permutation(fabric.n_nodes)[:40]
        src = np.concatenate([ends[:20], ends[:12], ends[:5]])  # up to three flows of a sender
        own = sent(src, ends[:2:-1], 5e4, 0.0, steps=n_steps)
        found = ConstantsOf(fabric)(own)
        begin, end = own.routes.indptr[:-1], own.routes.indptr[1:] - 1
        src = own.routes.links[begin].tolist()
        dst = (own.routes.links[end] - fabric.n_nodes).tolist()
        flows = list(zip(own.step.tolist(), src, dst, own.nbytes.tolist(), strict=True))
        wanted = naive_shares.lanes(fabric, flows, own.detoured.tolist())
        link = np.repeat(found.records["link"], found.records["n_entries"]).tolist()
        steps = found.entries["step"].tolist()
        for row, place in zip(found.lanes, zip(steps, link, strict=True), strict=True):
            there = [wanted[place].get(lane, 0.0) for lane in range(LANES)]
            assert row[:LANES] == pytest.approx(there, abs=1e-12)
            used |= {lane for lane in range(LANES) if there[lane] > 0.0}
        assert not found.lanes[:, LANES:].any()
    assert used == ({0, 1, 2} if rule == "adaptive" else {0, 1})


@pytest.mark.parametrize(
    ("spec", "rule"),
    [(DRAGONFLY, "valiant"), (TORUS, "dimension-order"), (DRAGONFLY, "adaptive")],
    ids=["valiant", "torus", "adaptive"],
)
def test_event_by_event_equals_from_scratch_in_any_order_and_after_an_end(spec, rule):
    fabric, sent = between(spec, rule)
    jobs = drawn(fabric, sent)
    constants_of = ConstantsOf(fabric)

    def distance(said):
        cold = cold_phased({job: constants_of(jobs[job]) for job in said}, tolerance=1e-9)
        assert max(cold.interference.values()) > 1.1
        return max(abs(said[job] - value) for job, value in cold.interference.items())

    for order in ([0, 1, 2, 3, 4], [3, 0, 4, 2, 1]):
        model, said = make_contention_model("phased", fabric, options={"tolerance": 1e-7}), {}
        for job in order:
            model.start(job, jobs[job])
            said |= model.solve()
        assert distance(said) < 1e-4
        model.end(order[1])
        del said[order[1]]
        said |= model.solve()
        assert distance(said) < 1e-4


def test_fabrics_with_one_channel_a_link_or_no_buffers_have_no_lanes():
    tree = make_topology({"kind": "fat-tree", "radix": 4, "latency": "codes"})
    dry = make_topology({**DRAGONFLY, "latency": "codes", "buffer": 0})
    wet = make_topology({**DRAGONFLY, "latency": "codes"})
    chosen = between(DRAGONFLY, "adaptive")[0], between(TORUS, "adaptive")[0]
    torus = between(TORUS, "dimension-order")[0]
    known = [ConstantsOf(f) for f in (tree, dry, wet, torus, *chosen)]
    assert [one.has_lanes for one in known] == [False, False, True, True, True, False]
    assert [one.fills_lanes for one in known] == [False, False, True, False, False, False]


def test_waits_by_hand():
    """All on the own lane: as without; none: no more than a buffer; half: both."""
    for n, grown_s, queued_s in ((0.5, 0.3, 0.1), (2.0, 1.0, 4.0)):
        plain = late_wait(1.0, grown_s, queued_s, n, 0.4, 0.0)
        assert late_by_lane(1.0, grown_s, queued_s, 1.0, queued_s, n, 0.4, 0.0) == plain
    assert late_by_lane(1.0, 1.0, 4.0, 0.0, 0.0, 2.0, 0.4, 0.0) == 1.0
    assert late_by_lane(1.0, 1.0, 4.0, 0.5, 2.0, 2.0, 0.4, 0.25) == 2.75
    assert late_by_lane(1.0, 1.0, 0.0, 0.0, 0.0, 0.5, 0.4, 0.0) == pytest.approx(0.2)


def test_weights_and_times_there_by_hand():
    assert weight_beside(3.0, 0.5, 1.0) == 3.0
    assert weight_beside(3.0, 0.5, 0.0) == 1.0
    assert weight_beside(3.0, 2.0, 0.0) == 2.0
    assert weight_beside(0.5, 0.5, 0.0) == 0.5
    assert weight_beside(4.0, 0.5, 0.25) == 2.5
    assert there_for(10.0, 4.0, 6.0) == 6.0
    assert there_for(10.0, 4.0, 3.0) == 4.0
    assert there_for(10.0, 4.0, 12.0) == 10.0


@pytest.mark.parametrize("nbytes", [2**14, 2**18])
def test_a_hot_spot_holds_up_whoever_is_on_its_channel(nbytes):
    """Six nodes send to one behind the link r0>r1, on channel 1 as they come from elsewhere."""
    fabric, sent = between(DRAGONFLY, "minimal")
    crowd = sent([16, 20, 24, 28, 32, 36], [4] * 6, 2**19, 0.0)
    true, said = [], []
    for src in (0, 40):  # over that link on channel 0, and on channel 1
        jobs = {0: sent([src], [5], nbytes, 2e-5), 1: crowd}
        true.append(simulate_packets(jobs, fabric).jobs[0].interference)
        constants_of = ConstantsOf(fabric)
        laid = {job: constants_of(own) for job, own in jobs.items()}
        said.append([model(laid).interference[0] for model in (cold_phased, accurate)])

    assert said[0] == pytest.approx([true[0]] * 2, rel=0.05)
    assert true[1] > true[0] + 0.5
    assert min(said[1]) > max(said[0]) + 0.5
