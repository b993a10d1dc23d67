"""Quantities with units: what is read, and bare numbers that nobody can have meant."""

import numpy as np
import pytest

from netsim import build_fat_tree, fat_tree_of_radix, make_topology, read_topology
from netsim.common.errors import NetsimError, TopologyError, UnitError
from netsim.common.units import (
    parse_buffer,
    parse_latency,
    parse_rate,
    parse_rates,
    parse_size,
    parse_time,
)
from netsim.formats.importers.sketch import Settings
from netsim.topology.dragonfly import build_dragonfly
from netsim.topology.torus import build_torus


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("40 Gb/s", 5e9),
        ("40 Gbit/s", 5e9),
        ("40Gbit/s", 5e9),
        ("400Gbps", 50e9),
        ("400 Gbps", 50e9),
        ("5 GBps", 5e9),
        ("5 GB/s", 5e9),
        ("1 MiB/s", 2.0**20),
        ("40 B/s", 40.0),
        ("40 b/s", 5.0),
        (5e9, 5e9),
        ("5e9", 5e9),
        (np.float64(5e9), 5e9),
        (np.int64(10**9), 1e9),
    ],
)
def test_bandwidths_are_read_in_bits_and_bytes(text, bytes_per_s):
    assert parse_rate(text) == bytes_per_s


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("1 GB", 1e9),
        ("1GiB", 2.0**30),
        ("1 GiB", 2.0**30),
        ("8 kb", 1000.0),
        ("8 kbit", 1000.0),
        ("2 bytes", 2.0),
        ("0.5 B", 0.5),
        (".5 MB", 5e5),
        (1, 1.0),
        (0, 0.0),
    ],
)
def test_sizes_are_read_in_decimal_and_binary_prefixes(text, nbytes):
    assert parse_size(text) == nbytes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("315 ns", 315e-9),
        ("2 \u00b5s", 2e-6),  # the micro sign
        ("2 \u03bcs", 2e-6),  # the Greek letter, which many keyboards give
        ("3ms", 3e-3),
        ("2 min", 120.0),
        ("2 h", 7200.0),
        (7, 7.0),
    ],
)
def test_times_are_read_from_nanoseconds_to_hours(text, seconds):
    assert parse_time(text) == pytest.approx(seconds, rel=1e-15)


@pytest.mark.parametrize(
    ("read", "value", "hint"),
    [
        (parse_rate, 40, "got 40, which is 40 B/s: write '40 Gb/s' or '40 B/s'"),
        (parse_rate, "100", "got 100, which is 100 B/s: write '100 Gb/s' or '100 B/s'"),
        (parse_rates, [5e9, 40], "got 40, which is 40 B/s: write '40 Gb/s'"),
        (parse_size, 0.5, "got 0.5, which is 0.5 B: write '0.5 MB' or '0.5 B'"),
        (parse_buffer, 64, "got 64, which is 64 B: write '64 KiB' or '64 B'"),
        (parse_latency, 315, "got 315, which is 315 s: write '315 ns' or '315 s'"),
    ],
)
def test_a_bare_number_that_cannot_be_meant_is_refused_with_the_hint(read, value, hint):
    with pytest.raises(UnitError) as error:
        read(value)
    assert hint in str(error.value)


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (parse_rate, 1e6),
        (parse_rate, "40 B/s"),
        (parse_rate, 0),
        (parse_size, 1),
        (parse_buffer, 1024),
        (parse_buffer, "64 B"),
        (parse_buffer, 0),
        (parse_latency, 0.25),
        (parse_latency, "315 s"),
    ],
)
def test_what_can_be_meant_is_taken_as_it_is(read, value):
    once = read(value)
    assert read(once) == once  # what was read with a unit is not doubted when it is read again


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (parse_rate, "40 Gb"),
        (parse_rate, "40 gb/s"),
        (parse_rate, "40 G/s"),
        (parse_rate, -5e9),
        (parse_rate, True),
        (parse_rate, None),
        (parse_rate, float("nan")),
        (parse_rate, 10**400),
        (parse_rates, []),
        (parse_rates, {"a": 5e9}),
        (parse_rates, [5e9, 0]),
        (parse_size, "1 gb"),
        (parse_size, "1e400 B"),
        (parse_size, "1e300 PB"),
        pytest.param(parse_size, "1" * 5000, id="5000 letters"),
        pytest.param(parse_size, 10**5000, id="5000 digits"),
        (parse_time, "3 m"),
        (parse_time, "-1 s"),
    ],
)
def test_what_is_no_quantity_is_refused_on_one_short_line(read, value):
    with pytest.raises(UnitError, match=r"^expected .{10,160}$"):
        read(value)


BUILT = {
    "fat_tree_of_radix": lambda value: fat_tree_of_radix(4, value),
    "build_fat_tree": lambda value: build_fat_tree([2, 2], [1, 2], [1, 1], value),
    "build_torus": lambda value: build_torus([3, 3], value),
    "build_dragonfly": lambda value: build_dragonfly(3, 4, value),
    "make_topology": lambda value: make_topology({"kind": "cab", "bandwidth": value}),
}


@pytest.mark.parametrize("name", BUILT)
@pytest.mark.parametrize("text", ["40 Gbit/s", "40Gbps", "40 Gb/s", "5 GB/s", 5e9, ["40 Gbps"]])
def test_every_builder_reads_bandwidths_with_units(name, text):
    assert (BUILT[name](text).capacity == 5e9).all()


@pytest.mark.parametrize("name", BUILT)
def test_every_builder_refuses_forty_bytes_a_second(name):
    with pytest.raises(TopologyError, match=r"bandwidth'?: .* got 40, .*write '40 Gb/s'"):
        BUILT[name](40)


@pytest.mark.parametrize("name", BUILT)
def test_forty_bytes_a_second_are_had_by_asking(name):
    assert (BUILT[name]("40 B/s").capacity == 40).all()


def test_latencies_of_builders_have_units():
    tree = fat_tree_of_radix(4, "1 GB/s", latency_base_s="315 ns", latency_per_link_s=4e-7)

    assert (tree.latency_base_s, tree.latency_per_link_s) == (pytest.approx(315e-9), 4e-7)
    with pytest.raises(TopologyError, match="write '315 ns'"):
        build_torus([4], 1e9, latency_base_s=315)


@pytest.mark.parametrize(
    ("field", "value", "hint"),
    [
        ("bandwidth", 40, "write '40 Gb/s'"),
        ("bandwidth", [12.5e9, 100, 100], "write '100 Gb/s'"),
        ("latency_base_s", 315, "write '315 ns'"),
        ("latency_per_link_s", 1, "write '1 ns'"),
        ("buffer", 64, "write '64 KiB'"),
    ],
)
def test_a_table_refuses_numbers_that_cannot_be_meant_by_field(field, value, hint):
    with pytest.raises(TopologyError, match=f"topology 'fat-tree': {field}: .*{hint}"):
        make_topology({"kind": "fat-tree", "radix": 4, field: value})


def test_files_with_rates_are_read_by_the_same_rules(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target,bandwidth\na,s,40 Gbit/s\nb,s,5 GBps\n")

    assert (read_topology(path).capacity == 5e9).all()
    path.write_text("source,target,bandwidth\na,s,40\nb,s,40\n")
    with pytest.raises(NetsimError, match=r"edges.csv:2: .*write '40 Gb/s'"):
        read_topology(path)
    path.write_text("source,target,bandwidth_bytes_per_s\na,s,40\nb,s,40\n")
    assert (read_topology(path).capacity == 40).all()  # its name states the unit


def test_settings_of_a_file_have_units():
    assert Settings(bandwidth="40 Gbps", latency_base_s="1 us").bandwidth == 5e9
    assert Settings(bandwidth=["40 Gbps", 1e9]).bandwidth == (5e9, 1e9)
    with pytest.raises(TopologyError, match="write '40 Gb/s'"):
        Settings(bandwidth=40)
