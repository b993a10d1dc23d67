"""The constants of a job equal hand calculation and the naive twin."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from measured.scenes import Stream
from naive import steps as naive

from netsim.contention.constants import ConstantsOf, bytes_per_link
from netsim.errors import ContentionError, NetsimError
from netsim.partition import Partition
from netsim.routes import Routes
from netsim.routing.spread import as_routed
from netsim.routings import make_routing
from netsim.topologies import make_topology
from scheduler.traffic import RankFlows, TrafficOf


def entry(constants, channel, step):
    """Return B, m, q, G, e, E, v, the stage, what is closed and z of one channel in one step."""
    (record,) = constants.records[constants.records["channel"] == channel]
    first, count = record["first_entry"], record["n_entries"]
    (found,) = (one for one in constants.entries[first : first + count] if one["step"] == step)
    names = ("drain_s", "weight", "senders", "feed_s", "end_s", "presence_s", "held", "stage")
    return [found[name] for name in (*names, "closed", "queued")]


def rows(steps):
    """Return tau, lam and injection time of each step."""
    return [list(step) for step in steps.tolist()]


def assert_equal_to_naive(constants, steps, capacity, *, channel=None, **options):
    """Every entry and step equals the naive constants."""
    channel = range(len(capacity)) if channel is None else channel
    seen = 0
    for a, step in enumerate(steps):
        flows = [(s, n, [channel[link] for link in links], lat) for s, n, links, lat in step]
        tau, lam, table = naive.constants(flows, capacity, **options)
        np.testing.assert_allclose(rows(constants.steps)[a][:2], [tau, lam], rtol=1e-12)
        for link, expected in table.items():
            np.testing.assert_allclose(entry(constants, link, a), expected, rtol=1e-12, atol=1e-14)
        seen += len(table)
    assert seen == constants.entries.size


def test_three_flows_by_hand(fabric, traffic):
    """Sender 0 opens two flows that share link 2 with the one of sender 1.

    Link 0 (injection of 0) carries 2 + 4 bytes at 2 per second: B = 3; link 1: 3 / 2;
    link 2: 9 bytes at 3 per second: B = 3; so all three flows end at 3.
    """
    steps = [[(0, 2.0, [0, 2], 0.1), (0, 4.0, [0, 2, 3], 0.3), (1, 3.0, [1, 2], 0.2)]]

    constants = ConstantsOf(fabric([2.0, 2.0, 3.0, 8.0]))(traffic(steps, 5.0, 4))

    np.testing.assert_allclose(rows(constants.steps), [[3.0, 0.3, 3.3]])
    assert constants.communication_s == pytest.approx(3.3)
    assert constants.iteration_s == pytest.approx(8.3)
    # m = 1/2 + 1/2 + 1; G = (3/2 + 3/2 + 3/2) / 2; E: two flows of weight 1/2 and one of 1, for 3 s
    np.testing.assert_allclose(entry(constants, 2, 0)[:6], [3.0, 2.0, 2.0, 2.25, 3.0, 6.0])
    np.testing.assert_allclose(entry(constants, 3, 0)[:6], [0.5, 0.5, 1.0, 3.0, 3.0, 1.5])
    np.testing.assert_allclose(entry(constants, 1, 0)[:6], [1.5, 1.0, 1.0, 1.5, 3.0, 3.0])


def test_packets_of_two_senders_queue_before_a_link(fabric, traffic):
    """
    Two senders bring 4 s of work each to a link in 4 s.

    The queue grows by 1 s a second until 4 s, and is gone at 8 s: 2 s in the mean. Where the port
    and the two links before it hold 1 s each, it is 3 s from 3 s to 5 s: 15 / 8 in the mean.
    """
    steps = [[(0, 4.0, [0, 2], 0.0), (1, 4.0, [1, 2], 0.0)]]
    roomy, tight, none = (
        ConstantsOf(fabric([1.0, 1.0, 1.0], buffer_bytes=buffer))(traffic(steps, 0.0, 3))
        for buffer in (9.0, 1.0, 0.0)
    )

    assert entry(roomy, 2, 0)[-1] == pytest.approx(8.0 * 2.0)
    assert entry(tight, 2, 0)[-1] == pytest.approx(8.0 * 15 / 8)
    assert entry(none, 2, 0)[-1] == entry(roomy, 0, 0)[-1] == 0.0


def test_weight_grows_when_the_senders_other_flows_end(fabric, traffic):
    """A flow that ends at 1 s leaves its sibling, held up until 4 s, with weight 1 from then on."""
    steps = [[(0, 1.0, [0, 1], 0.0), (0, 1.0, [0, 2], 0.0)]]

    constants = ConstantsOf(fabric([2.0, 1.0, 0.25]))(traffic(steps, 0.0, 3))

    # B: 1, 1, 4; the second flow's presence is 1/2 until 1 s, 1 until 4 s
    np.testing.assert_allclose(entry(constants, 2, 0)[:6], [4.0, 0.5, 1.0, 1.0, 4.0, 3.5])
    np.testing.assert_allclose(entry(constants, 0, 0)[:6], [1.0, 1.0, 1.0, 1.0, 4.0, 4.0])


@pytest.mark.parametrize("fairness", ["per-sender", "per-flow"])
@pytest.mark.parametrize("seed", range(8))
def test_constants_on_general_links_equal_the_naive_ones(
    fabric, traffic, random_jobs, fairness, seed
):
    buffer, packet = 0.05 if seed % 2 else 0.0, 3.7 if seed % 4 == 3 else 0.0
    rng = np.random.default_rng(seed)
    capacity = rng.uniform(0.5, 4.0, 9)
    constants_of = ConstantsOf(fabric(capacity, buffer_bytes=buffer, packet_bytes=packet), fairness)
    held = []

    for steps, compute_s in random_jobs(rng, 9, 4):
        constants = constants_of(traffic(steps, compute_s, 9))

        per_flow = fairness == "per-flow"
        known = {"per_flow": per_flow, "buffer": buffer, "packet": packet}
        assert_equal_to_naive(constants, steps, capacity, **known)
        held += constants.entries["held"].tolist()

    assert (max(held) > 0.1) == (buffer > 0.0)


def test_both_directions_of_a_half_duplex_cable_are_one_channel(fabric, traffic, random_jobs):
    rng = np.random.default_rng(3)
    channel = [0, 1, 2, 3, 0, 1, 2, 3]
    capacity = [1.0, 2.0, 3.0, 1.5] * 2
    jobs = random_jobs(rng, 4, 5)  # up to three of links 0..3, each taken in one direction
    for steps, compute_s in jobs:
        turned = [
            [
                (s, n, [link + 4 * int(rng.integers(2)) for link in links], lat)
                for s, n, links, lat in step
            ]
            for step in steps
        ]

        constants = ConstantsOf(fabric(capacity, channel))(traffic(turned, compute_s, 8))

        assert_equal_to_naive(constants, turned, capacity, channel=channel)
        used = {link for step in turned for _, _, links, _ in step for link in links}
        assert set(constants.records["link"].tolist()) <= used  # a link the job itself uses


def test_constants_of_patterns_on_a_tree_equal_the_naive_ones(tree, plain):
    stream = Stream(tree, 0, 14, random_nodes=True)
    starts = [job for kind, _, job in islice(stream.events(), 18) if kind == "start"]

    constants_of = ConstantsOf(tree)
    for job in starts[:7]:
        times = constants_of.times(job)  # leaves nothing behind that the constants would see
        constants = constants_of(job)
        assert_equal_to_naive(constants, plain(job)[0], tree.capacity)
        np.testing.assert_array_equal(times.steps, constants.steps)
        np.testing.assert_array_equal(constants_of.times(job).steps, constants.steps)


def test_injection_time_counts_only_first_and_last_links(fabric, traffic):
    """The slow middle link makes the time alone, not the time of an ideal placement."""
    steps = [[(0, 4.0, [0, 1, 2], 0.5)], [(0, 4.0, [0], 0.25)]]

    times = ConstantsOf(fabric([2.0, 0.5, 1.0])).times(traffic(steps, 0.0, 3))

    assert times.communication_s == pytest.approx(8.5 + 2.25)
    assert times.injection_s == pytest.approx(4.5 + 2.25)
    assert times.latency_s == pytest.approx(0.5 + 0.25)


def test_flows_inside_a_node_take_no_time_and_open_nothing(fabric, traffic):
    steps = [[(0, 4.0, [], 0.0), (0, 2.0, [0], 0.5)], [(1, 9.0, [], 0.0)]]

    constants = ConstantsOf(fabric([2.0]))(traffic(steps, 0.0, 1))

    np.testing.assert_allclose(rows(constants.steps), [[1.0, 0.5, 1.5], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(entry(constants, 0, 0)[:6], [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])


def test_bytes_per_link_add_up_over_steps_and_flows(traffic):
    steps = [[(0, 2.0, [0, 2], 0.0), (1, 3.0, [1, 2], 0.0)], [(0, 5.0, [0, 4], 0.0)]]

    links, nbytes = bytes_per_link(traffic(steps, 0.0, 6))

    assert dict(zip(links.tolist(), nbytes.tolist(), strict=True)) == {
        0: 7.0,
        1: 3.0,
        2: 5.0,
        4: 5.0,
    }


@pytest.mark.parametrize(
    ("steps", "compute_s", "message"),
    [
        ([[(99, 1.0, [0], 0.0)]], 0.0, r"senders must be nodes 0\.\.63, got 99\.\.99"),
        ([[(0, 0.0, [0], 0.0)]], 0.0, "bytes of flows must be positive and finite, got 0.0"),
        ([[(0, 1.0, [0], 0.0)]], -1.0, "compute_s: expected a number from 0, got -1.0"),
    ],
)
def test_traffic_out_of_range_is_refused(fabric, traffic, steps, compute_s, message):
    with pytest.raises(ContentionError, match=message):
        ConstantsOf(fabric([1.0]))(traffic(steps, compute_s, 1))


def test_routes_of_another_fabric_are_refused(fabric, traffic):
    with pytest.raises(ContentionError, match="fabric of 2 links, got one of 3"):
        ConstantsOf(fabric([1.0, 1.0]))(traffic([[(0, 1.0, [0], 0.0)]], 0.0, 3))


@pytest.mark.parametrize(
    "damage",
    [
        {"step": np.array([1, 0])},
        {"step": np.array([-1, 0])},
        {"sender": np.array([0])},
        {"sender": np.array([-1, 0])},
        {"nbytes": np.array([1.0, np.inf])},
        {"nbytes": np.array([np.nan, 1.0])},
        {"latency_s": np.array([0.0, -1e-9])},
        {"latency_s": np.array([np.inf, 0.0])},
        {"routes": Routes(np.array([0, 1, 2]), np.array([0, 3]), 3)},
        {"routes": Routes(np.array([0, 1, 2]), np.array([-1, 0]), 3)},
        {"routes": Routes(np.array([0, 2, 1, 2]), np.array([0, 1]), 3)},
        {"routes": Routes(np.array([0, 3, 2]), np.array([0, 1]), 3)},
        {"routes": Routes(np.array([1, 1, 2]), np.array([0, 1]), 3)},
        {"compute_s": np.inf},
        {"n_nodes": -1},
    ],
    ids="-".join,
)
def test_damaged_traffic_is_refused_and_whole_traffic_is_not(fabric, traffic, damage):
    constants = ConstantsOf(fabric([1.0, 1.0, 1.0]))
    whole = traffic([[(0, 1.0, [0], 0.0), (1, 1.0, [1], 0.0)]], 1.0, 3)

    assert constants(whole).steps.size == 1
    assert constants(replace(whole, step=whole.step.astype(np.int32))).steps.size == 1
    with pytest.raises(ContentionError):
        constants(replace(whole, **damage))


def test_an_unknown_fairness_lists_the_choices(fabric):
    with pytest.raises(NetsimError, match="per-sender, per-flow"):
        ConstantsOf(fabric([1.0]), "fair")


def test_the_limit_leaves_room_for_the_wait_in_a_full_buffer(fabric, traffic):
    """Link 1 takes tau = 4 s; its buffer of 2 bytes empties in 2 s, that of link 0 in 0.5 s."""
    steps = [[(0, 4.0, [0, 1], 0.0)]]

    constants = ConstantsOf(fabric([4.0, 1.0], buffer_bytes=2.0))(traffic(steps, 0.0, 2))

    by_channel = constants.entries[np.argsort(constants.records["channel"])]
    np.testing.assert_allclose(by_channel["queue_s"], [0.5, 2.0])
    np.testing.assert_allclose(by_channel["limit_s"], [3.5, 2.0])
    np.testing.assert_allclose(np.sort(constants.records["slack"]), [2.0 / 4.0, 3.5 / 1.0])


def test_flows_looked_at_ahead_have_the_constants_that_they_have_otherwise(fabric, traffic):
    first, second = (
        traffic([[(0, nbytes, [0, 2], 0.1), (1, 3.0, [1, 2], 0.2)]], 0.0, 3)
        for nbytes in (2.0, 9.0)
    )
    constants_of = ConstantsOf(fabric([2.0, 2.0, 3.0]))
    expected = [constants_of(replace(one, compute_s=4.0)) for one in (first, second)]

    times = constants_of.ahead(first)
    same, other = constants_of(replace(first, compute_s=4.0)), constants_of(second)
    constants_of.ahead(first)
    another = constants_of(replace(second, compute_s=4.0))

    assert times.injection_s == constants_of.times(first).injection_s
    assert same.iteration_s == expected[0].iteration_s
    for found, wanted in zip((same, other, another), (*expected, expected[1]), strict=True):
        for table in ("records", "entries", "steps"):
            assert getattr(found, table).tolist() == getattr(wanted, table).tolist()


def test_flows_looked_at_ahead_are_checked_again(fabric, traffic):
    sound = traffic([[(0, 2.0, [0, 2], 0.1)]], 0.0, 3)
    constants_of = ConstantsOf(fabric([2.0, 2.0, 3.0]))

    constants_of.ahead(sound)

    with pytest.raises(ContentionError, match="compute_s"):
        constants_of(replace(sound, compute_s=-1.0))


def test_how_long_a_flow_fills_links_before_a_slower_one_by_hand(fabric, traffic):
    """8 bytes take 2, 4 and 8 s: the first link could go four times as fast as the last lets it.

    So 6 bytes wait before the last link. Until 1.5 buffers are full of them nobody notices.
    """
    steps = [[(0, 8.0, [0, 1, 2], 0.0)]]

    for buffer, first in ((0.0, 0.0), (1.0, 0.75), (0.25, 0.9375), (4.0, 0.0)):
        constants = ConstantsOf(fabric([4.0, 2.0, 1.0], buffer_bytes=buffer))(traffic(steps, 0, 3))
        assert [entry(constants, link, 0)[7] for link in range(3)] == [0, 2, 1]
        assert entry(constants, 0, 0)[6] == pytest.approx(first)
        assert entry(constants, 2, 0)[6] == 0.0


def test_a_link_with_more_of_a_hot_spot_than_others_is_full_for_longer(fabric, traffic):
    """Two flows of 4 bytes over link 0 and one over link 1 meet on link 2, which takes 12 s.

    Link 0 has room for 1 byte, and its flows for 8/12 of one on link 2. So it is full until 19/3
    bytes are gone; the other link has brought its 4 by then: 31/3 s. Of its 8 bytes 20/3 come to
    wait, in 2 s; 5/3 do after 1/2 s. Link 1 would be full from 4/11 to 16/3 s, less than the
    1 - 1.5 / (11/3) of the step in which it is if all flows go on alike.
    """
    steps = [[(0, 4.0, [0, 2], 0.0), (1, 4.0, [0, 2], 0.0), (2, 4.0, [1, 2], 0.0)]]

    constants = ConstantsOf(fabric([4.0, 4.0, 1.0], buffer_bytes=1.0))(traffic(steps, 0, 3))

    held = [entry(constants, link, 0)[6] for link in range(3)]
    np.testing.assert_allclose(held, [(31 / 3 - 1 / 2) / 12, 1 - 4.5 / 11, 0.0])


def test_a_pool_of_links_is_closed_while_the_buffers_of_all_of_them_are_full():
    """Four nodes send 8 MB each, over a pool of two links at 1 GB/s, to one: 16 ms, then 32.

    So half of what the pool carries waits: 16 MB, of which 1.5 buffers on both links hold 6: full
    for D = 1 - 6 / 16. From the way up on 10 MB have room; the 6 beyond last 6 ms, which is W. On
    the way down 10 are beyond, but the links that lead there hold 4.
    """
    tree = {"kind": "fat-tree", "children": [4, 2], "parents": [1, 2], "parallel": [1, 1]}
    built = make_topology({**tree, "bandwidth": "1 GB/s", "buffer": 2e6})
    routing = make_routing("adaptive", built)
    fabric = as_routed(built, routing)
    flows = RankFlows(np.zeros(4, int), np.arange(4), np.full(4, 7), np.full(4, 8e6))
    placed = TrafficOf(fabric, routing).of_flows(
        flows, Partition(np.arange(8), None), compute_s=0.0
    )

    entries = ConstantsOf(fabric)(placed.traffic).entries

    closed = {drain_s: [] for drain_s in (8e-3, 16e-3, 32e-3)}
    for entry in entries:
        closed[round(float(entry["drain_s"]), 6)].append(entry["closed"])
    full = 1.0 - 6.0 / 16.0
    parts = [last_s / 32e-3 / full for last_s in (4e-3, 6e-3)]
    assert sorted(closed[16e-3]) == pytest.approx([full * (2 - part) * part for part in parts])
    assert closed[32e-3] == [0.0]  # the slowest link
    assert not any(closed[8e-3])  # of nodes: no pools
    assert not entries["held"][entries["closed"] > 0.0].any()


def test_flows_through_one_port_weigh_as_one(fabric, traffic):
    """Two senders meet on link 2 and go on to link 3: there they come through one port."""
    flows = [[(0, 8.0, [0, 2, 3], 0.0), (1, 8.0, [1, 2, 3], 0.0)]]

    with_ports = ConstantsOf(fabric([1.0] * 4, buffer_bytes=8.0))(traffic(flows, 0.0, 4))
    without = ConstantsOf(fabric([1.0] * 4))(traffic(flows, 0.0, 4))

    at = {int(r["channel"]): int(r["first_entry"]) for r in with_ports.records}
    weights = [with_ports.entries[["weight", "senders"]][at[link]].item() for link in (2, 3)]
    assert weights == [(2.0, 2.0), (1.0, 1.0)]
    assert with_ports.entries["presence_s"][at[3]] == 0.5 * with_ports.entries["presence_s"][at[2]]
    assert without.entries["weight"][at[3]] == 2.0
