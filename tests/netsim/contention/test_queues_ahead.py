"""Queues that stand before links between groups, where routers choose among ways: UGAL."""

from dataclasses import replace

import numpy as np
import pytest
from naive import contention as naive
from sending import between

from netsim.contention.cold.fixedpoint import accurate, cold_phased
from netsim.contention.constants import ConstantsOf
from netsim.contention.phases import shuffled
from netsim.contention.window_kernels import queue_ahead, standing_queue
from netsim.contention_models import make_contention_model
from netsim.packetsim.simulation import simulate_packets

SPEC = {"kind": "dragonfly", "groups": 9, "routers": 4, "nodes_per_router": 4}
BROKEN = {**SPEC, "failed_links": ["r0>r1", "r8>r10"], "failed_switches": ["r5"]}
N_LINKS = 7


def routed(spec=SPEC, rule="adaptive"):
    """Return a fabric under a routing, and what makes traffic on it of flows between nodes."""
    return between(spec, rule)


def shifted(nodes, by=1):
    """Return a ring over nodes."""
    return np.array(nodes), np.roll(nodes, by)


def crowd(sent, fabric, seed=0):
    """Draw jobs: one that never computes and fills the links between groups, and small ones."""
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(fabric.usable_nodes)
    jobs = {0: sent(*shifted(nodes[:100], 17), 2**19, 0.0)}
    for job in range(1, 6):
        own = nodes[92 + 8 * job : 100 + 8 * job]
        jobs[job] = sent(*shifted(own), rng.uniform(2e3, 6e4), rng.uniform(0.0, 1e-4), steps=job)
    return jobs


def solved(fabric, jobs, order=None, **options):
    """Return what `phased` says of jobs that start in an order."""
    model, said = make_contention_model("phased", fabric, options=options), {}
    for job in order or jobs:
        model.start(job, jobs[job])
        said |= model.solve()
    return said


def test_how_many_buffers_wait_by_hand():
    """A link that takes 4 s for what is sent in 1 s: from 0 to 3 s of it wait and to 0 again.

    The sender has a buffer under way, and sends at a quarter of its rate, so no packet is there for
    longer than four buffers take.
    """
    assert standing_queue(4.0, 1.0, 0.5) == 3.0
    assert standing_queue(4.0, 1.0, 0.1) == 4.0
    assert standing_queue(1.0, 1.0, 0.5) == 0.0
    assert standing_queue(1.0, 2.0, 0.5) == 0.0


def test_how_long_a_packet_waits_by_hand():
    """At most until three buffers are empty: of a node link, of a local one, and the link's own."""
    assert queue_ahead(0.5, 2.0, 1.0, 0.0) == 1.0
    assert queue_ahead(0.5, 2.0, 1.0, 0.25) == 0.75
    assert queue_ahead(0.5, 2.0, 0.5, -1.0) == 0.5
    assert queue_ahead(0.5, 9.0, 1.0, 0.0) == 1.5
    assert queue_ahead(0.5, 2.0, 1.0, 2.0) == 0.0


@pytest.mark.parametrize("seed", range(2))
def test_what_waits_behind_queues_equals_the_naive_twin(fabric, traffic, random_jobs, seed):
    rng = np.random.default_rng(seed)
    links = fabric(rng.uniform(0.5, 4.0, N_LINKS), buffer_bytes=0.4)
    plain = random_jobs(rng, N_LINKS, 4)
    constants_of, jobs, queues = ConstantsOf(links), {}, []
    for job, (steps, compute_s) in enumerate(plain):
        own = constants_of(traffic(steps, compute_s, N_LINKS))
        entries, link = own.entries.copy(), np.repeat(own.records["link"], own.records["n_entries"])
        entries["held"] = -rng.uniform(0.0, 4.0, entries.size) * (link < 4)
        entries["limit_s"] = 0.0
        jobs[job] = replace(own, entries=entries)
        queues.append([{} for _ in steps])
        for entry, at in zip(entries, link.tolist(), strict=True):
            queues[job][entry["step"]][at] = -entry["held"]
    cells = [shuffled(job, 8, seed) for job in range(4)]

    found = cold_phased(jobs, seed=seed, tolerance=1e-11).interference

    expected = naive.read_slowdowns(plain, links.capacity, cells, buffer=0.4, queues=queues)
    without = naive.read_slowdowns(plain, links.capacity, cells, buffer=0.4, queues=[[{}] * 9] * 4)
    np.testing.assert_allclose(list(found.values()), expected, rtol=1e-7)
    assert max(np.subtract(expected, without)) > 0.01


@pytest.mark.parametrize("spec", [SPEC, BROKEN], ids=["whole", "broken"])
def test_event_by_event_equals_from_scratch_in_any_order(spec):
    fabric, sent = routed(spec)
    jobs = crowd(sent, fabric)
    constants_of = ConstantsOf(fabric)
    expected = cold_phased({job: constants_of(own) for job, own in jobs.items()}).interference

    for order in ([0, 1, 2, 3, 4, 5], [3, 5, 0, 4, 2, 1]):
        said = solved(fabric, jobs, order, tolerance=1e-7)
        assert said == pytest.approx(expected, abs=1e-4)
    assert max(expected.values()) > 1.5


def test_queues_are_gone_when_their_job_has_ended():
    fabric, sent = routed()
    jobs = crowd(sent, fabric)
    model, said = make_contention_model("phased", fabric, options={"tolerance": 1e-7}), {}
    for job, own in jobs.items():
        model.start(job, own)
    said |= model.solve()
    among = dict(said)
    model.end(0)
    said |= model.solve()
    del jobs[0]

    assert {job: said[job] for job in jobs} == pytest.approx(solved(fabric, jobs), abs=1e-3)
    assert among[3] > said[3] + 0.3


def test_whoever_shares_full_links_waits_and_nobody_else():
    """Short messages to the next group, beside twelve nodes that send there, or four groups on."""
    fabric, sent = routed()
    found = []
    for first in (4, 68):
        nodes = np.arange(first, first + 12)
        jobs = {0: sent([0], [16], 4096, 1e-5, steps=4), 1: sent(nodes, nodes + 16, 2**18, 0.0)}
        found.append(solved(fabric, jobs)[0])

    assert found[0] > found[1] + 0.08


def test_there_are_no_queues_without_buffers_nor_where_packets_go_at_random():
    for spec, rule in (({**SPEC, "buffer": 0}, "adaptive"), (SPEC, "spray")):
        fabric, sent = routed(spec, rule)
        own = ConstantsOf(fabric)(crowd(sent, fabric)[0])
        assert not own.entries["held"].any()
    fabric, sent = routed()
    assert ConstantsOf(fabric)(crowd(sent, fabric)[0]).entries["held"].min() < -1.0


def test_short_messages_beside_full_links_are_slowed_as_in_packets():
    fabric, sent = routed()
    jobs = crowd(sent, fabric)
    constants_of = ConstantsOf(fabric)
    true = {job: own.interference for job, own in simulate_packets(jobs, fabric).jobs.items()}
    jobs = {job: constants_of(own) for job, own in jobs.items()}
    for model in (accurate, cold_phased):
        found = model(jobs).interference
        off = [abs(found[job] - true[job]) / true[job] for job in range(1, 6)]
        assert np.mean(off) < 0.2
    assert max(true.values()) > 2.0
