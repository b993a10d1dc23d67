"""The models against packet level (CODES on ROSS, 128 nodes), beside `null`."""

from dataclasses import replace

import pytest
from measured.packets import read_cases, table, tree_of_packets

from netsim.errors import TopologyError
from netsim.topologies import make_topology


@pytest.fixture(scope="module")
def duty(shared):
    """Return the error table of the cases with compute phases."""
    cases = read_cases(shared("reference/packet/duty_k8.json.gz"))
    assert sum(case.true.size for case in cases) == 110
    return table(cases, ("null", "fast", "fluid", "fluid"))


@pytest.fixture(scope="module")
def always(shared):
    """Return the error table of the cases that always communicate."""
    cases = read_cases(shared("reference/packet/cases_k8.json.gz"))
    assert sum(case.true.size for case in cases) == 35
    return table(cases, ("null", "fast", "fluid"))


def test_null_errs_as_much_as_jobs_are_slowed(duty, always):
    """What the models are measured against; the truth of the files alone decides it."""
    assert duty["null"].mean == pytest.approx(9.4, abs=0.05)
    assert always["null"].mean == pytest.approx(15.6, abs=0.05)
    assert duty["null"].bias == always["null"].bias == 0.0


def test_accurate_on_duty_cycles(duty):
    assert duty["fluid"].mean <= 3.0
    assert duty["fluid"].contended <= 5.5
    assert 0.8 <= duty["fluid"].bias <= 1.1
    assert duty["fluid"].rank >= 0.9


def test_fast_on_duty_cycles(duty):
    assert duty["fast"].mean <= 4.0
    assert 0.6 <= duty["fast"].bias <= 1.1
    assert duty["fast"].rank >= 0.85


def test_phased_on_duty_cycles(duty):
    """What averaged neighbours leave out of the excess, an event model can find too."""
    assert duty["fluid"].mean <= 3.0
    assert duty["fluid"].contended <= 5.3
    assert 0.85 <= duty["fluid"].bias <= 1.05
    assert duty["fluid"].rank >= 0.9


def test_accurate_beats_fast_where_bursts_matter(duty):
    """A burst hits all its links at once, which averaged neighbours do not see."""
    assert duty["fluid"].mean < duty["fast"].mean
    assert duty["fast"].bias < duty["fluid"].bias


def test_always_communicating_jobs(always):
    assert always["fluid"].mean <= 4.5
    assert always["fast"].mean <= 4.5
    assert 0.75 <= always["fluid"].bias <= 1.1
    assert always["fluid"].rank >= 0.85


def test_the_fluid_without_buffers_holds_the_older_bars(shared):
    """What the wait in buffers adds is seen against the model without it."""
    cases = read_cases(shared("reference/packet/duty_k8.json.gz"))
    fluid = table(cases, ("fluid", "fluid"), replace(tree_of_packets(), buffer_bytes=0.0))

    assert fluid["fluid"].mean <= 3.65
    assert fluid["fluid"].contended <= 6.7
    assert fluid["fluid"].bias >= 0.65
    assert fluid["fast"].mean <= 4.6


def test_the_latency_preset_describes_the_fabric_of_the_packet_simulation():
    preset = make_topology({"kind": "fat-tree", "radix": 8, "latency": "codes"})
    packets = tree_of_packets()

    assert preset.name == packets.name
    assert preset.buffer_bytes == packets.buffer_bytes == 65536.0
    assert preset.latency_per_link_s == packets.latency_per_link_s
    assert preset.capacity[0] == packets.capacity[0]


def test_the_buffer_is_a_field_of_its_own():
    tree = {"kind": "fat-tree", "radix": 8}

    assert make_topology({**tree, "buffer": 0}).buffer_bytes == 0.0
    assert make_topology({**tree, "latency": "codes", "buffer": 0}).buffer_bytes == 0.0
    assert make_topology({**tree, "buffer": "32 KiB"}).buffer_bytes == 32768.0
    with pytest.raises(TopologyError, match=r"buffer.*an amount of data"):
        make_topology({**tree, "buffer": "deep"})


def test_both_modes_beat_null_clearly(duty, always):
    for errors in (duty, always):
        for mode in ("fluid", "fluid"):
            assert errors[mode].mean < errors["null"].mean / 1.8
