"""Packets take places and turns: short ones move less, and who comes first is served first."""

import numpy as np
import pytest

from netsim.contention.base import Traffic
from netsim.contention.constants import ConstantsOf
from netsim.contention.link_kernels import early_part, felt_weight, place_fill
from netsim.contention.window_kernels import room_before
from netsim.contention_models import make_contention_model
from netsim.latency import LatencyOf
from netsim.packetsim.simulation import simulate_packets
from netsim.packetsim.world import packets_of
from netsim.routing.dmodk import DModK
from netsim.topologies import make_topology

LEAVES = {"kind": "fat-tree", "children": [16, 8], "parents": [1, 8], "parallel": [1, 1]}
PACKET = 4096
ALL = ("fast", "phased", "accurate", "flow-level")


@pytest.fixture(scope="module")
def tree():
    """Return a tree of two levels; nodes that differ by 8 are reached over one up-link."""
    return make_topology({**LEAVES, "bandwidth": "100 Gb/s", "latency": "codes"})


@pytest.fixture(scope="module")
def sent(tree):
    """Return a function that makes the traffic of messages (source, destination, bytes)."""

    def made(messages, compute_s=0.0):
        src, dst, nbytes = (np.array(column) for column in zip(*messages, strict=True))
        routes, step = DModK(tree).routes(src, dst), np.zeros(src.size, dtype=np.int64)
        latency_s = LatencyOf(tree)(routes, step).of(nbytes.astype(float))
        return Traffic(step, src, nbytes.astype(float), routes, compute_s, latency_s)

    return made


def told(name, tree, jobs):
    """Return the interference of each job."""
    model = make_contention_model(name, tree)
    for job, own in enumerate(jobs):
        model.start(job, own)
    found = model.solve()
    return [found[job] for job in range(len(jobs))]


def in_packets(tree, jobs):
    """Return the same as packets have it."""
    start_s = {job: 1e-7 * job for job in range(len(jobs))}
    times = simulate_packets(dict(enumerate(jobs)), tree, start_s=start_s, slowest_does=40).jobs
    return [times[job].interference for job in range(len(jobs))]


def two_of_a_leaf(sent, nbytes):
    """Return two senders of 1 MiB over one up-link: in messages of a packet, and of so many."""
    count = 2**20 // nbytes
    return [
        sent([(0, 16 + 8 * (i % 2), PACKET) for i in range(2**20 // PACKET)]),
        sent([(1, 32 + 8 * (i % 2), nbytes) for i in range(count)]),
    ]


@pytest.mark.parametrize("nbytes", [2048, 4096])
@pytest.mark.parametrize("name", ALL)
def test_messages_of_half_a_packet_move_half_as_much(tree, sent, name, nbytes):
    """Of three packets' time on the link the whole ones have two; alike both have half."""
    jobs = two_of_a_leaf(sent, nbytes)

    true = in_packets(tree, jobs)

    assert (true[1] > 1.5 * true[0]) == (nbytes < PACKET)
    assert told(name, tree, jobs) == pytest.approx(true, rel=0.1)


def test_how_full_places_are_by_hand():
    """One packet of 4 KiB, two of which the second is half full, half a packet, no packet known."""
    cases = ((4096.0, 1.0), (6144.0, 0.75), (2048.0, 0.5), (1e9, 1e9 / (4096 * 244141)))
    for nbytes, full in cases:
        assert place_fill(nbytes, 4096.0) == full
        assert place_fill(nbytes, 0.0) == 1.0
    assert place_fill(1e-300, 4096.0) > 0.0


def test_rounding_makes_no_packet_more():
    """As a mix of patterns shares 44 KiB: three packets, and 2e-12 bytes by rounding."""
    longer = 12288.000000000002

    assert place_fill(longer, 4096.0) == 1.0
    assert packets_of(np.array([longer, 12288.0, 12289.0]), 4096.0).tolist() == [3, 3, 4]


@pytest.mark.parametrize("nbytes", [2048, 4200, 8300, 12388])
def test_a_short_last_packet_takes_a_turn_of_who_never_starts_anew_with_it(tree, sent, nbytes):
    """
    The other one's steps are ten times as long, so they do not begin together.

    Of equal length they would: the short packets then pass in the pause in which the other begins.
    """
    jobs = [
        sent([(0, 16 + 8 * (i % 2), PACKET) for i in range(2637)]),
        sent([(1, 32 + 8 * (i % 2), nbytes) for i in range(2**20 // nbytes)]),
    ]

    true = simulate_packets(dict(enumerate(jobs)), tree, slowest_does=6).jobs

    assert told("phased", tree, jobs) == pytest.approx(
        [true[job].interference for job in (0, 1)], rel=0.03
    )


@pytest.mark.parametrize("packet_bytes", [0.0, 4.0])
@pytest.mark.parametrize("fairness", ["per-sender", "per-flow"])
def test_weights_count_places_where_packets_are_known_by_hand(
    fabric, traffic, packet_bytes, fairness
):
    """
    A sender puts 6 bytes and 1 byte on a link: packets of 4, 2 and 1 bytes in places of 4.

    So 7 of 12 bytes are full. With `per-flow` all flows weigh alike whatever they send.
    """
    links = fabric([1.0], buffer_bytes=8.0, packet_bytes=packet_bytes)
    step = [(0, 6.0, [0], 0.0), (0, 1.0, [0], 0.0)]

    (own,) = ConstantsOf(links, fairness)(traffic([step], 0.0, 1)).entries

    full = 7 / 12 if packet_bytes and fairness == "per-sender" else 1.0
    senders = 1.0 if fairness == "per-sender" else 2.0
    assert [own["weight"], own["senders"]] == pytest.approx([full * senders, full * senders])
    assert own["drain_s"] == 7.0


def test_half_a_buffer_meets_no_more_than_the_link_carries_by_hand():
    """Of a message of two buffers a quarter; then others of weight 5 count as 1/4 + 3/4 * 5."""
    assert early_part(2.0, 1.0, 1.0) == 0.25
    assert early_part(0.1, 1.0, 0.0) == 1.0
    assert early_part(2.0, 0.0, 1.0) == 0.0
    assert early_part(2.0, 1.0, 8.0) == 0.0
    assert felt_weight(5.0, 0.25) == 4.0
    assert felt_weight(0.5, 0.25) == 0.5


def test_half_a_buffer_is_ahead_for_each_who_sends_at_once_by_hand():
    assert [room_before(n) for n in (0.0, 2.0, 4.0)] == [2.0, 2.0, 3.0]


@pytest.mark.parametrize(("senders", "nbytes"), [(3, 2**16), (3, 2**17), (6, 2**16)])
@pytest.mark.parametrize("name", ["phased", "accurate"])
def test_a_message_of_a_buffer_or_two_waits_for_its_turn_once(tree, sent, name, senders, nbytes):
    """Not for all that others weigh and for their queue as well, as in `flow-level`."""
    crowd = [(i, 32 + 8 * (i % 2) + 16 * (i // 2), 2**18) for i in range(1, senders + 1)]
    jobs = [sent([(0, 16, nbytes)], 20e-6), sent(crowd)]

    true = in_packets(tree, jobs)

    assert true[0] > 1.5
    assert told(name, tree, jobs) == pytest.approx(true, rel=0.06)
