"""What a job puts on links alone, by hand: links of 1 byte per second."""

import numpy as np
import pytest
from iterating import make_fabric, traffic_of

from netsim.fluid.demand import DemandOf


def demand(steps, capacity, *, fairness="per-sender", **fabric):
    """Return what steps of flows (sender, links, bytes, latency) put on links, by step and link."""
    topology = make_fabric(capacity, **fabric)
    found = DemandOf(topology, fairness)(traffic_of(steps, len(capacity), 1.0))
    rows = {}
    for record in found.records:
        first = int(record["first_entry"])
        for entry in found.entries[first : first + int(record["n_entries"])]:
            rows[int(entry["step"]), int(record["link"])] = entry
    return found, rows


def test_a_link_drains_all_bytes_of_a_step():
    found, rows = demand([[(0, [0, 2], 3.0, 0.5), (1, [1, 2], 5.0, 0.25)]], [1.0, 2.0, 4.0])

    assert [rows[0, link]["drain_s"] for link in range(3)] == [3.0, 2.5, 2.0]
    assert found.steps["drain_s"].tolist() == [3.0]
    assert found.steps["latency_s"].tolist() == [0.5]
    assert found.iteration_s == 1.0 + 3.0 + 0.5


def test_each_step_has_its_own_entry_on_a_link():
    found, rows = demand([[(0, [0], 3.0, 0.0)], [(0, [1], 9.0, 0.0)], [(0, [0], 4.0, 0.0)]], [1, 1])

    assert sorted(rows) == [(0, 0), (1, 1), (2, 0)]
    assert found.drain_s.tolist() == [7.0, 9.0]
    assert found.records["link"].tolist() == [0, 1]


def test_flows_of_unequal_size_end_one_after_the_other():
    """Of 1, 2 and 4 bytes: the first ends when 1 byte of each has gone, the second after 2."""
    flows = [(sender, [sender, 3], size, 0.0) for sender, size in enumerate((1.0, 2.0, 4.0))]
    _, rows = demand([flows], [1.0] * 4)

    assert [rows[0, link]["end_s"] for link in range(3)] == [3.0, 5.0, 7.0]
    assert rows[0, 3]["end_s"] == 7.0


def test_a_flow_weighs_one_over_those_that_its_sender_still_has_open():
    """1 and 3 bytes from one link: half each for 2 s, then the larger alone for 2 s."""
    _, rows = demand([[(0, [0, 1], 1.0, 0.0), (0, [0, 2], 3.0, 0.0)]], [1.0] * 3)

    assert [rows[0, link]["weight"] for link in (1, 2)] == [0.5, 0.5]
    assert [rows[0, link]["end_s"] for link in range(3)] == [4.0, 2.0, 4.0]
    assert [rows[0, link]["weight_s"] for link in (1, 2)] == [1.0, 3.0]
    assert [rows[0, link]["senders"] for link in (1, 2)] == [1.0, 1.0]
    assert [rows[0, link]["injection_s"] for link in range(3)] == [4.0, 4.0, 4.0]


def test_each_message_weighs_one_on_the_link_of_its_sender():
    """A card serves messages in turn: two until 2 s, one until 4 s, of a job or of several."""
    _, rows = demand([[(0, [0, 1], 1.0, 0.0), (0, [0, 2], 3.0, 0.0)]], [1.0] * 3)

    assert rows[0, 0]["weight"] == rows[0, 0]["senders"] == 2.0
    assert rows[0, 0]["weight_s"] == 2.0 + 4.0
    assert rows[0, 0]["offered"] == 1.0


def test_flows_within_a_node_are_not_open_on_its_link():
    """Two of three flows cross links: they weigh a half each, as without the third."""
    flows = [(0, [0, 1], 1.0, 0.0), (0, [0, 2], 3.0, 0.0)]
    alone, _ = demand([flows], [1.0] * 3)
    found, rows = demand([[(0, [], 5.0, 0.0), *flows]], [1.0] * 3)

    assert [rows[0, link]["weight"] for link in (1, 2)] == [0.5, 0.5]
    np.testing.assert_array_equal(found.entries, alone.entries)
    assert found.iteration_s == alone.iteration_s


def test_per_flow_each_flow_weighs_one():
    _, rows = demand(
        [[(0, [0, 1], 1.0, 0.0), (0, [0, 2], 3.0, 0.0)]], [1.0] * 3, fairness="per-flow"
    )

    assert [rows[0, link]["weight"] for link in range(3)] == [2.0, 1.0, 1.0]


def test_several_links_of_a_node_are_senders_of_their_own():
    """The sender of a flow is its injection link where a node has several."""
    _, rows = demand([[(0, [0, 2], 2.0, 0.0), (1, [1, 2], 2.0, 0.0)]], [1.0] * 3)

    assert rows[0, 2]["weight"] == rows[0, 2]["senders"] == 2.0


def test_a_link_is_offered_what_links_before_it_let_through():
    """4 bytes go through a link of 1 B/s to one of 2 B/s: half of it; a second sender adds."""
    _, rows = demand([[(0, [0, 2], 4.0, 0.0), (1, [1, 2], 2.0, 0.0)]], [1.0, 1.0, 2.0])

    assert rows[0, 0]["offered"] == 1.0
    assert rows[0, 2]["offered"] == pytest.approx(2.0 / 4.0 + 1.0 / 2.0)


def test_what_waits_for_a_slower_link_blocks_the_link_before_it():
    """
    4 bytes cross links of 2 s and 8 s: 3/4 of the first's 2 s wait, less the room in its buffer.

    U = 2 (1 - 2/8) = 1.5 s and K = 0.5 B / (2 B/s) = 0.25 s, so g = 1 - 0.25/1.5.
    """
    _, rows = demand([[(0, [0, 1], 4.0, 0.0)]], [2.0, 0.5], buffer_bytes=0.5)

    assert rows[0, 0]["blocked"] == pytest.approx(1.0 - 0.25 / 1.5)
    assert rows[0, 1]["blocked"] == 0.0


def test_buffers_that_hold_all_that_waits_block_nothing():
    _, rows = demand([[(0, [0, 1], 4.0, 0.0)]], [2.0, 0.5], buffer_bytes=100.0)

    assert rows[0, 0]["blocked"] == 0.0


def test_packets_that_are_not_full_take_the_room_of_full_ones():
    """5 bytes in packets of 4 take 2 slots, 8 bytes: 5/8 of the buffer is filled."""
    _, rows = demand([[(0, [0, 1], 5.0, 0.0)]], [1.0, 0.25], buffer_bytes=1.0, packet_bytes=4.0)

    assert rows[0, 0]["blocked"] == pytest.approx(1.0 - (5.0 / 8.0) / (5.0 * (1.0 - 5.0 / 20.0)))


def test_first_packets_count_once_per_sender():
    flows = [(0, [0, 2], 8.0, 0.0), (0, [0, 2], 8.0, 0.0), (1, [1, 2], 8.0, 0.0)]
    _, rows = demand([flows], [1.0] * 3, packet_bytes=2.0)

    assert rows[0, 2]["first_packets_s"] == 4.0


def test_paths_share_the_bytes_of_a_flow(drawn):
    """Under ECMP, as over all paths: bytes on all links add up to bytes times hops."""
    topology, jobs = drawn("dragonfly, Valiant", 3)
    demand_of = DemandOf(topology)
    for traffic in jobs.values():
        found = demand_of(traffic)
        on_links = float((found.drain_s * topology.capacity[found.records["link"]]).sum())

        assert on_links == pytest.approx(float((traffic.nbytes * traffic.routes.hops).sum()))


def test_parts_on_virtual_channels_add_up_to_one(drawn):
    topology, jobs = drawn("dragonfly", 1)
    for traffic in jobs.values():
        parts = DemandOf(topology)(traffic).records["channel"]

        np.testing.assert_allclose(parts.sum(axis=1), 1.0, rtol=1e-6)


def test_a_job_without_messages_puts_nothing_on_links():
    found, rows = demand([], [1.0])

    assert not rows
    assert found.iteration_s == 1.0
    assert found.drain_s.size == 0
