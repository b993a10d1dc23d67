"""Lanes that a hot spot keeps closed: for how long, and what short messages wait before them."""

from collections import defaultdict
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from naive import stalling as naive
from sending import routed

from netsim.contention.cold.fixedpoint import accurate, cold_phased
from netsim.contention.constants import ConstantsOf
from netsim.contention.lane_kernels import ALONE, CLOSED, HELD, LANES, TIMES
from netsim.contention.stalling_kernels import mean_stall, stall_wait
from netsim.contention_models import make_contention_model
from netsim.packetsim.simulation import simulate_packets
from netsim.virtual_channels import channels_in_order

DRAGONFLY = {"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 4}
KIB = 1024.0


def crowded(fabric, sent, seed, n_jobs=12):
    """Draw jobs: each third is a hot spot, of which some senders have other messages as well."""
    rng, jobs = np.random.default_rng(seed), {}
    nodes = rng.permutation(fabric.n_nodes)
    for job in range(n_jobs):
        own, nodes = np.split(nodes, [int(rng.integers(3, 12))])
        to = np.full(own.size, own[0]) if job % 3 == 0 else np.roll(own, 1)
        low, high = (1e5, 1e6) if job % 3 == 0 else (2e3, 1e5)
        messages = [
            (a, src, dst, rng.uniform(low, high))
            for a in range(1 + job % 3)
            for src, dst in [
                *zip(own[1:], to[1:], strict=True),
                (own[0], own[1]),
                (own[1], own[2]),
            ]
        ]
        jobs[job] = sent(messages, rng.uniform(0.0, 1e-4))
    return jobs


def lane_by(lane_of, path):
    """Return the lanes of a path that is known."""
    return lane_of[tuple(path)]


@pytest.mark.parametrize("rule", ["minimal", "valiant"])
def test_how_long_lanes_are_closed_equals_the_slow_twin(rule):
    fabric, sent = routed(DRAGONFLY, rule)
    n_closed = 0
    for own in crowded(fabric, sent, seed=1).values():
        found, lanes = ConstantsOf(fabric)(own), channels_in_order(fabric, own.routes)
        lane_of = {}
        for f in range(own.step.size):
            path = tuple(own.routes.of_flow(f).tolist())
            lane_of[path] = lanes[own.routes.indptr[f] :][: len(path)].tolist()
        link = np.repeat(found.records["link"], found.records["n_entries"]).tolist()
        times = np.repeat(found.records["n_entries"], found.records["n_entries"])
        np.testing.assert_array_equal(found.lanes[:, TIMES], times)
        assert found.lanes[:, ALONE] == pytest.approx(found.iteration_s, rel=1e-12)
        for a in range(found.steps.size):
            flows = [
                (int(own.sender[f]), float(own.nbytes[f]), own.routes.of_flow(f).tolist())
                for f in np.flatnonzero(own.step == a)
            ]
            drain = defaultdict(float)
            for _, nbytes, path in flows:
                for one in path:
                    drain[one] += nbytes / fabric.capacity[one]
            ends = [max(drain[one] for one in path) for _, _, path in flows]
            known = drain, fabric.capacity, fabric.buffer_bytes
            of_place = {"packet": fabric.packet_bytes}
            wanted = naive.closed(flows, ends, *known, partial(lane_by, lane_of), **of_place)
            for k in np.flatnonzero(found.entries["step"] == a):
                for lane in range(LANES):
                    row = found.lanes[k, HELD + lane : HELD + 4 * LANES : LANES]
                    expected = wanted.get((link[k], lane), (0.0,) * 4)
                    assert row == pytest.approx(expected, rel=1e-9, abs=1e-18)
                    n_closed += expected[1] > 0.0
    assert n_closed > 20


@pytest.mark.parametrize("rule", ["minimal", "valiant"])
def test_event_by_event_equals_from_scratch_as_hot_spots_come_and_go(rule):
    fabric, sent = routed(DRAGONFLY, rule)
    jobs = crowded(fabric, sent, seed=2)
    constants_of = ConstantsOf(fabric)
    known = {job: constants_of(own) for job, own in jobs.items()}
    model, said, moved = make_contention_model("phased", fabric, options={"tolerance": 1e-7}), {}, 0
    rng = np.random.default_rng(5)
    for job in [*rng.permutation(len(jobs)).tolist(), *rng.integers(0, len(jobs), 16).tolist()]:
        if job in said:
            model.end(job)
            del said[job]
        else:
            model.start(job, jobs[job])
            said[job] = 1.0
        said |= model.solve()
        running = {one: known[one] for one in said}
        cold = cold_phased(running, tolerance=1e-9).interference
        assert max(abs(said[one] - value) for one, value in cold.items()) < 1e-5
        moved = max(moved, *(cold[one] - value for one, value in without(running).items()))
    assert moved > 0.05


def without(jobs):
    """Return what would be said of jobs if nobody waited for closed lanes."""
    free = {}
    for job, own in jobs.items():
        lanes = own.lanes.copy()
        lanes[:, CLOSED:TIMES] = 0.0
        free[job] = replace(own, lanes=lanes)
    return cold_phased(free, tolerance=1e-9).interference


def test_who_had_slack_is_read_again_once_a_hot_spot_closes_its_lane():
    """A long step that a little traffic of others cannot delay, on a link beside the hot spot."""
    fabric, sent = routed(DRAGONFLY, "minimal")
    jobs = {
        0: sent([(0, 40, 5, 16 * KIB), (0, 41, 44, 64 * KIB)], 2e-5),
        1: sent([(0, 17, 6, 2 * KIB)], 1e-3),
        2: sent([(0, src, 4, 512 * KIB) for src in (16, 20, 24, 28, 32, 36)]),
    }
    constants_of = ConstantsOf(fabric)
    model, said = make_contention_model("phased", fabric, options={"tolerance": 1e-7}), {}
    for job, own in jobs.items():
        model.start(job, own)
        said |= model.solve()
        cold = cold_phased({one: constants_of(jobs[one]) for one in said}, tolerance=1e-9)
        for one, value in cold.interference.items():
            assert said[one] == pytest.approx(value, abs=1e-5)
    assert said[0] > 1.2


@pytest.mark.parametrize("name", ["phased", "accurate"])
def test_blame_adds_up_to_one_where_lanes_are_closed(name):
    fabric, sent = routed(DRAGONFLY, "minimal")
    jobs, model = crowded(fabric, sent, seed=0), make_contention_model(name, fabric)
    for job, own in jobs.items():
        model.start(job, own)
    said = model.solve()
    held_up = [job for job, value in said.items() if value > 1.01]
    assert len(held_up) > 5
    for job in held_up:
        assert sum(model.blame(job).values()) == pytest.approx(1.0, abs=1e-9)


def test_who_shares_no_link_with_a_hot_spot_waits_for_nobody():
    fabric, sent = routed(DRAGONFLY, "minimal")
    jobs = {0: sent([(0, 60, 61, 16 * KIB)], 2e-5)}
    jobs[1] = sent([(0, src, 4, 512 * KIB) for src in (16, 20, 24, 28, 32, 36)])
    constants_of = ConstantsOf(fabric)
    laid = {job: constants_of(own) for job, own in jobs.items()}
    for model in (cold_phased, accurate):
        assert model(laid).interference == {0: 1.0, 1: 1.0}


def test_short_messages_wait_before_a_hot_spot_as_in_packets():
    """Six nodes send to one behind the link r0>r1; the channel is closed for most of a step."""
    fabric, sent = routed(DRAGONFLY, "minimal")
    crowd = sent([(0, src, 4, 512 * KIB) for src in (16, 20, 24, 28, 32, 36)])
    constants_of = ConstantsOf(fabric)
    jobs = {0: sent([(0, 40, 5, 16 * KIB)], 2e-5), 1: crowd}
    laid = {job: constants_of(own) for job, own in jobs.items()}
    true = simulate_packets(jobs, fabric).jobs[0].interference
    for model in (cold_phased, accurate):
        assert model(laid).interference[0] == pytest.approx(true, rel=0.07)
    assert without(laid)[0] < true - 0.25


def test_waits_by_hand():
    """4 s ahead for 10 s: who comes last finds 0; five steps in 10 s lose 5 s together."""
    assert mean_stall(4.0, 10.0, 1.0) == pytest.approx(3.2)
    assert mean_stall(4.0, 10.0, 2.0) == pytest.approx(2.4)
    assert mean_stall(4.0, 10.0, 2.5) == pytest.approx(2.0)
    assert mean_stall(4.0, 10.0, 5.0) == pytest.approx(1.0)
    assert stall_wait(3.0, 0.5, 2.0, 2.0, 2.0) == 1.5
    assert stall_wait(3.0, 4.0, 2.0, 2.0, 2.0) == 3.0
    assert stall_wait(3.0, 1.0, 4.0, 3.0, 2.0) == 2.0  # a second of it is in y already
    assert stall_wait(3.0, 1.0, 1.0, 1.0, 2.0) == 2.0  # a second to spare
    assert stall_wait(3.0, 0.1, 9.0, 3.0, 2.0) == 0.0
