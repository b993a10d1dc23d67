"""Adapters of one host are links of one node."""

import pytest

from netsim.common.errors import TopologyError
from netsim.formats.importers.infiniband import host_names, read_infiniband, read_wiring
from netsim.formats.importers.sketch import Settings

MACHINE = """\
switchguid=0x10(10)
Switch 8 "S-0000000000000010" # "leaf1" base port 0 lid 1 lmc 0
[1] "H-0000000000000101"[1](101) # "{0}" lid 11 4xNDR
[2] "H-0000000000000102"[1](102) # "{1}" lid 12 4xHDR
[8] "S-0000000000000020"[1] # "leaf2" lid 2 4xNDR

switchguid=0x20(20)
Switch 8 "S-0000000000000020" # "leaf2" base port 0 lid 2 lmc 0
[1] "S-0000000000000010"[8] # "leaf1" lid 1 4xNDR
[2] "H-0000000000000103"[1](103) # "{2}" lid 13 4xNDR
[3] "H-0000000000000104"[2](104) # "{3}" lid 14 4xNDR

Ca 1 "H-0000000000000101" # "{0}"
[1](101) "S-0000000000000010"[1] # lid 11 lmc 0 "leaf1" lid 1 4xNDR

Ca 1 "H-0000000000000102" # "{1}"
[1](102) "S-0000000000000010"[2] # lid 12 lmc 0 "leaf1" lid 1 4xHDR

Ca 1 "H-0000000000000103" # "{2}"
[1](103) "S-0000000000000020"[2] # lid 13 lmc 0 "leaf2" lid 2 4xNDR

Ca 2 "H-0000000000000104" # "{3}"
[2](104) "S-0000000000000020"[3] # lid 14 lmc 0 "leaf2" lid 2 4xNDR
"""


def read(described, **settings):
    """Return the nodes of the machine with their links, names of adapters as given."""
    fabric = read_infiniband(MACHINE.format(*described), "f", Settings(**settings))
    links, first = fabric.node_links
    found = {}
    for node in range(fabric.n_nodes):
        own = [fabric.link_name(int(link)) for link in links[first[node] : first[node + 1]]]
        found[fabric.vertex_name(node)] = [name.partition(">")[2] for name in own]
    return fabric, found


def test_links_are_in_the_order_of_the_adapters_names():
    """Ten comes after two; b has adapters on both leaves, a on both."""
    fabric, found = read(["a mlx5_10", "b HCA-2", "a mlx5_2", "b HCA-1"])

    assert found == {"a": ["leaf2", "leaf1"], "b": ["leaf2", "leaf1"]}
    assert fabric.origin is not None
    assert "adapters (4) of hosts with several (2, a first) are links of one node" in (
        fabric.origin.assumed
    )
    rates = {fabric.link_name(link): float(fabric.capacity[link]) for link in range(fabric.n_links)}
    assert (rates["b>leaf1"], rates["b>leaf2"]) == (25e9, 50e9)


def test_names_that_are_no_host_join_nothing():
    """A maker's text, the name of every machine that has none, an empty one."""
    card = "MT4119 ConnectX5   Mellanox Technologies"
    for name in (card, "localhost", "localhost HCA-1", ""):
        fabric, found = read([name] * 4)
        assert fabric.n_nodes == 4
        assert all(label.startswith("H-") for label in found)


def test_a_name_that_very_many_adapters_have_is_no_host():
    ports = "".join(
        f'[{i}] "H-{256 + i:016x}"[1]({256 + i:x}) # "site HCA-1" lid {i} 4xNDR\n'
        for i in range(1, 67)
    )
    adapters = "".join(
        f'\nCa 1 "H-{256 + i:016x}" # "site HCA-1"\n'
        f'[1]({256 + i:x}) "S-0000000000000010"[{i}] # lid {i} lmc 0 "s" lid 1 4xNDR\n'
        for i in range(1, 67)
    )
    head = 'Switch 70 "S-0000000000000010" # "s" base port 0 lid 1 lmc 0\n'

    assert read_infiniband(head + ports + adapters, "f", Settings()).n_nodes == 66


@pytest.mark.parametrize(
    ("pattern", "nodes"),
    [
        (r"^(\w+)-ib", {"a": 2, "b": 2}),
        (r"^[ab]", {"a": 2, "b": 2}),
        (r"^(a)-", {"a": 2, "b-ib0": 1, "b-ib1": 1}),  # what it does not find stays as it is
    ],
)
def test_a_site_says_what_the_host_is(pattern, nodes):
    _, found = read(["a-ib0", "a-ib1", "b-ib0", "b-ib1"], host_pattern=pattern)

    assert {name: len(links) for name, links in found.items()} == nodes


def test_a_map_goes_before_descriptions():
    names = {f"{0x101 + i:016x}": name for i, name in enumerate(["n1", "n1", "n2 mlx5_0", "n2"])}

    _, found = read(["a", "b", "c", "d"], names=names)

    assert found == {"n1": ["leaf1#0", "leaf1#1"], "n2": ["leaf2#0", "leaf2#1"]}


def test_a_pattern_that_is_none_is_refused_in_one_line():
    with pytest.raises(TopologyError, match=r"host_pattern: expected a regular expression, got"):
        read(["a"] * 4, host_pattern="(")


def test_adapters_are_nodes_of_their_own_for_forwarding_tables():
    """A table has an entry for every LID; like a fabric with hosts they are joined again."""
    text = MACHINE.format("a mlx5_0", "b mlx5_0", "a mlx5_1", "b mlx5_1")
    apart, _ = read_wiring(text, "f")
    joined = read_infiniband(text, "f", Settings())
    again, _ = read_wiring(text, "f", like=joined)

    assert apart.topology.n_nodes == 4
    assert again.topology.n_nodes == joined.n_nodes == 2
    assert [again.topology.vertex_name(node) for node in (0, 1)] == ["a", "b"]
    assert host_names(None)(apart.fabric.devices[-1], {}) == "b"
