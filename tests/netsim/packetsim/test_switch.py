"""Tables of switches: presets, units, and what the fabric says already."""

import pytest

from netsim.common.errors import ContentionError
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.topologies import make_topology
from netsim.topology.switches import SWITCHES, Switch, switch_of


def test_presets_hold_what_their_sources_say():
    assert (SWITCHES["codes"].slots, SWITCHES["codes"].delay_s) == (16, 90e-9)
    assert SWITCHES["infiniband"].switching == "cut-through"
    assert SWITCHES["ethernet"].buffer_bytes == pytest.approx(42e6 / 64, rel=0.01)


def test_fields_stand_over_those_of_the_preset():
    found = switch_of(None, {"preset": "infiniband", "buffer": "128 KiB", "delay": "200 ns"})

    assert (found.buffer_bytes, found.slots) == (131072.0, 32)
    assert found.delay_s == pytest.approx(2e-7)
    assert found.arbitration == "round-robin"


def test_the_buffer_of_the_fabric_stands_for_a_missing_one():
    tree = make_topology({"kind": "fat-tree", "radix": 4, "buffer": "32 KiB"})

    assert switch_of(tree, None) == Switch(buffer_bytes=32768.0)
    assert switch_of(tree, {"buffer": "32 KiB"}).slots == 8


def test_the_latency_of_the_fabric_stands_for_a_missing_delay_and_is_not_contradicted():
    tree = {"kind": "fat-tree", "radix": 4, "latency_per_link_s": "1 us"}
    fabric = make_topology(tree)

    assert switch_of(fabric, None).delay_s == 1e-6
    assert switch_of(fabric, {"preset": "infiniband"}).delay_s == 1e-6
    assert switch_of(fabric, {"delay": "1 us"}).delay_s == 1e-6
    with pytest.raises(ContentionError, match="switch: delay: expected the fabric's own 1e-06 s a"):
        switch_of(fabric, {"delay": "90 ns"})
    with pytest.raises(ContentionError, match=r"links up to 0\.001 s, got 0\.01 s"):
        switch_of(make_topology({**tree, "latency_per_link_s": "10 ms"}), None)
    with pytest.raises(ContentionError, match=r"latency_base_s of .* is 1e-05 s, expected 0"):
        simulate_packets({}, make_topology({**tree, "latency_base_s": "10 us"}))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"preset": "cray"}, "switch: preset: expected one of codes, infiniband, ethernet"),
        ({"switching": "wormhole"}, "switch: switching: expected one of store-and-forward"),
        ({"packet": "64 KiB", "buffer": "32 KiB"}, "switch: buffer: expected room for a packet"),
        ({"packet": 16777217}, "switch: packet: expected from 64 to 16777216 bytes, got 16777217."),
        ({"buffer": 1e308}, "switch: buffer: .* 1 GiB at most, got 1e\\+308"),
        (Switch(buffer_bytes=1.0), "switch: buffer: expected room for a packet"),
        ({"jitter": -1}, "switch: jitter: expected a duration"),
        ({"virtual_channels": 17}, "virtual_channels: expected a whole number from 1 to 16"),
        ({"delay": 90}, "switch: delay: expected a duration such as '315 ns', got 90"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field(table, words):
    with pytest.raises(ContentionError, match=words):
        switch_of(None, table)
