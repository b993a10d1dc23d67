"""The examples by hand on the page on the model (docs/concepts/model.md), seconds and bytes."""

import pytest
from iterating import make_fabric, traffic_of
from sending import routed

from netsim.fluid.demand import DemandOf
from netsim.fluid.model import Fluid


def together(fabric, *traffics):
    """Return the interference of jobs that run at once, and the model."""
    model = Fluid(fabric, tolerance=1e-6)
    for job, traffic in enumerate(traffics):
        model.start(job, traffic)
    found = model.solve()
    return [found.get(job, 1.0) for job in range(len(traffics))], model


def one_flow(nbytes, compute_s=0.0, links=(0,), n_links=1, sender=0):
    """Return a job of one message an iteration."""
    return traffic_of([[(sender, list(links), nbytes, 0.0)]], n_links, compute_s)


def three_flows():
    """Return a job whose only sender has three messages of 1 byte, one of them over link 1."""
    return traffic_of([[(0, [0, 1], 1.0, 0.0), (0, [0], 1.0, 0.0), (0, [0], 1.0, 0.0)]], 2)


def entry_on(fabric, traffic, link):
    """Return what the only step of a job puts on a link."""
    demand = DemandOf(fabric)(traffic)
    record = demand.records[demand.records["link"] == link][0]
    return demand.entries[record["first_entry"]]


def test_a_small_flow_ends_before_a_large_one_on_the_same_link():
    fabric = make_fabric([1.0, 100.0])
    job = traffic_of([[(0, [0, 1], 1.0, 0.0), (1, [0], 3.0, 0.0)]], 2)
    assert entry_on(fabric, job, 1)["end_s"] == 2.0  # min(1, 1) + min(3, 1)
    assert entry_on(fabric, job, 0)["end_s"] == 4.0  # min(1, 3) + min(3, 3)


def test_the_use_of_a_link_by_one_of_three_messages():
    entry = entry_on(make_fabric([1.0, 1.0]), three_flows(), 1)
    columns = ("drain_s", "weight", "senders", "end_s", "weight_s", "injection_s")
    assert [entry[name] for name in columns] == pytest.approx([1, 1 / 3, 1, 3, 1, 3])


def test_two_jobs_that_always_send_halve_a_link():
    found, _ = together(make_fabric([1.0]), one_flow(1.0), one_flow(1.0))
    assert found == pytest.approx([2.0, 2.0], rel=1e-4)


def test_a_message_beside_others_of_its_sender_weighs_less_until_they_end():
    """1/4 of the link for 3 s, then 1/2; the rival keeps what is left of 3.5 s."""
    rival = one_flow(1.0, links=[1], n_links=2, sender=1)
    found, _ = together(make_fabric([1.0, 1.0]), three_flows(), rival)
    assert found == pytest.approx([3.5 / 3.0, 1.4], rel=1e-4)


def test_a_closed_window_lets_the_sender_follow_its_slowest_message():
    """12 buffers until it closes: 0.15 sent in 0.6 s, the rest at 1/2; ended at 2.3 s of 3."""
    fabric = make_fabric([1.0, 1.0], buffer_bytes=0.05)
    rival = one_flow(1.0, links=[1], n_links=2, sender=1)
    found, _ = together(fabric, three_flows(), rival)
    assert found[0] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("nbytes", [1e-3, 1e3])
def test_a_neighbour_that_sends_half_the_time_costs_a_third(nbytes):
    """Half the link in half the time: 3/4 of the speed, for short steps and for long ones."""
    found, _ = together(make_fabric([1.0]), one_flow(nbytes), one_flow(1.0, compute_s=2.0))
    assert found == pytest.approx([4.0 / 3.0, 4.0 / 3.0], rel=3e-3)


def test_a_queue_is_bounded_by_three_buffers():
    """P = 9 + 2 + W (1 - W / 2H) with W = 3 and H = 100 / P."""
    fabric = make_fabric([1.0], buffer_bytes=1.0)
    found, _ = together(fabric, one_flow(1.0, compute_s=9.0), one_flow(100.0))
    assert found[0] == pytest.approx(14.0 / 1.045 / 10.0, rel=1e-3)


def test_no_queue_grows_where_less_is_offered_than_the_link_carries():
    """The neighbour gets through a link of a quarter of the capacity."""
    victim = one_flow(1.0, compute_s=9.0, links=[1], n_links=2)
    burst = one_flow(100.0, links=[0, 1], n_links=2, sender=1)
    dry, wet = (
        together(make_fabric([0.25, 1.0], buffer_bytes=nbytes), victim, burst)[0][0]
        for nbytes in (0.0, 1.0)
    )
    assert dry == wet == pytest.approx(1.0 + (1.0 / 0.75 - 1.0) / 10.0, rel=1e-4)


@pytest.mark.parametrize(("packets", "expected"), [(1, 1.0), (4, 1.75)])
def test_the_first_packet_of_a_message_only_queues(packets, expected):
    fabric = make_fabric([1.0], packet_bytes=1.0 / packets)
    found, _ = together(fabric, one_flow(1.0), one_flow(1000.0))
    assert found[0] == pytest.approx(expected, rel=1e-4)


def test_a_flow_over_two_paths_counts_half_on_each():
    """From (0, 0) to (1, 1), node x + 8 y; the rival's only path, 7 to 1, shares a link of one."""
    spec = {"kind": "torus", "dims": [8, 4], "latency": "none"}
    fabric, sent = routed(spec, "spray")
    job, rival = sent([(0, 0, 9, 1e6)]), sent([(0, 7, 1, 1e6)])

    demand = DemandOf(fabric)(job)
    halves = demand.entries[demand.entries["fraction"] == 0.5]
    assert halves.size == 4
    assert set(halves["weight"]) == set(halves["senders"]) == {0.5}
    found, _ = together(fabric, job, rival)
    assert found == pytest.approx([1.0, 1.5], rel=1e-4)


def test_a_link_before_a_saturated_one_blocks_what_its_buffers_cannot_take():
    """Of 1 s, 3/4 wait for a link with 4 times the load; a quarter of a byte has room."""
    fabric = make_fabric([1.0, 1.0], buffer_bytes=0.25)
    flows = [(0, [0, 1], 1.0, 0.0)] + [(sender, [1], 1.0, 0.0) for sender in (1, 2, 3)]
    entry = entry_on(fabric, traffic_of([flows], 2), 0)
    assert entry["blocked"] == pytest.approx(1.0 - 0.25 / 0.75)


def test_two_equal_neighbours_share_the_blame():
    found, model = together(make_fabric([1.0]), one_flow(1.0), one_flow(1.0), one_flow(1.0))
    assert found == pytest.approx([3.0] * 3, rel=1e-4)
    assert model.blame(0) == pytest.approx({1: 0.5, 2: 0.5}, rel=1e-4)
