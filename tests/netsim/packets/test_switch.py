"""Tables of switches: presets, units, and what the fabric says already."""

import pytest

from netsim.errors import ContentionError
from netsim.packets.switch import SWITCHES, Switch, switch_from


def test_presets_hold_what_their_sources_say():
    assert (SWITCHES["codes"].slots, SWITCHES["codes"].delay_s) == (16, 90e-9)
    assert SWITCHES["infiniband"].switching == "cut-through"
    assert SWITCHES["ethernet"].buffer_bytes == pytest.approx(42e6 / 64, rel=0.01)


def test_fields_stand_over_those_of_the_preset():
    found = switch_from({"preset": "infiniband", "buffer": "128 KiB", "delay": "200 ns"})

    assert (found.buffer_bytes, found.slots) == (131072.0, 32)
    assert found.delay_s == pytest.approx(2e-7)
    assert found.arbitration == "round-robin"


def test_the_buffer_of_the_fabric_stands_for_a_missing_one():
    assert switch_from(None, buffer_bytes=32768.0) == Switch(buffer_bytes=32768.0)
    assert switch_from({"buffer": "32 KiB"}, buffer_bytes=32768.0).slots == 8


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"preset": "cray"}, "switch: preset: expected one of codes, infiniband, ethernet"),
        ({"switching": "wormhole"}, "switch: switching: expected one of store-and-forward"),
        ({"packet": "64 KiB", "buffer": "32 KiB"}, "switch: buffer: expected room for a packet"),
        ({"packet": 16777217}, "switch: packet: expected from 64 to 16777216 bytes, got 16777217."),
        ({"buffer": 1e308}, "switch: buffer: .* 64 GiB at most, got 1e\\+308"),
        (Switch(buffer_bytes=1.0), "switch: buffer: expected room for a packet"),
        ({"jitter": -1}, "switch: jitter: expected a duration"),
        ({"virtual_channels": 17}, "virtual_channels: expected a whole number from 1 to 16"),
        ({"delay": 90}, "switch: delay: expected a duration such as '315 ns', got 90"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_field(table, words):
    with pytest.raises(ContentionError, match=words):
        switch_from(table)
