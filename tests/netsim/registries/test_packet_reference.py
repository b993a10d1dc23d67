"""The models against packet level (CODES on ROSS, 128 nodes), beside `null`."""

from dataclasses import replace

import pytest
from measured.packets import read_cases, table, tree_of_packets

from netsim.common.errors import TopologyError
from netsim.registries.topologies import make_topology


@pytest.fixture(scope="module")
def duty(shared):
    """Return the error table of the cases with compute phases."""
    cases = read_cases(shared("reference/packet/duty_k8.json.gz"))
    assert sum(case.true.size for case in cases) == 110
    return table(cases, ("null", "fluid"))


@pytest.fixture(scope="module")
def always(shared):
    """Return the error table of the cases that always communicate."""
    cases = read_cases(shared("reference/packet/cases_k8.json.gz"))
    assert sum(case.true.size for case in cases) == 35
    return table(cases, ("null", "fluid"))


def test_null_errs_as_much_as_jobs_are_slowed(duty, always):
    """What the models are measured against; the truth of the files alone decides it."""
    assert duty["null"].mean == pytest.approx(9.4, abs=0.05)
    assert always["null"].mean == pytest.approx(15.6, abs=0.05)
    assert duty["null"].bias == always["null"].bias == 0.0


def test_fluid_on_duty_cycles(duty):
    assert duty["fluid"].mean <= 2.6
    assert 0.87 <= duty["fluid"].bias <= 1.07
    assert duty["fluid"].rank >= 0.9


def test_fluid_on_jobs_that_always_communicate(always):
    assert always["fluid"].mean <= 4.5
    assert 0.9 <= always["fluid"].bias <= 1.15
    assert always["fluid"].rank >= 0.85


def test_without_buffers_waits_in_queues_are_missing(shared, duty):
    cases = read_cases(shared("reference/packet/duty_k8.json.gz"))
    bare = table(cases, ("fluid",), replace(tree_of_packets(), buffer_bytes=0.0))["fluid"]

    assert 0.5 <= bare.bias < duty["fluid"].bias
    assert bare.mean > duty["fluid"].mean


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


def test_fluid_beats_null_clearly(duty, always):
    for errors in (duty, always):
        assert errors["fluid"].mean < errors["null"].mean / 1.8
