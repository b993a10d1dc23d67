"""Reading and writing ibnetdiscover: real files, hostile ones, and there and back."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ib_fabrics import tree_fabric, write_ibnetdiscover
from opensm_reference import FABRICS, described, text

from netsim.common.errors import TopologyError
from netsim.infiniband.discover import read_ibnetdiscover
from netsim.infiniband.wiring import wire_fat_tree, wire_graph
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.outage import depopulate

BW = 12.5e9
PAIR = """
switchguid=0x10(11)
Switch 2 "S-0000000000000010" # "leaf" base port 0 lid 3 lmc 0
[1] "H-0000000000000020"[1](21) # "a # quoted" lid 1 4xQDR
[2] "H-0000000000000030"[1](31) # "b" lid 2 4xQDR

caguid=0x20
Ca 1 "H-0000000000000020" # "a # quoted"
[1](21) "S-0000000000000010"[1] # lid 1 lmc 0 "leaf lid 9" lid 3 4xQDR
caguid=0x30
Ca 1 "H-0000000000000030" # "b"
[1](31) "S-0000000000000010"[2] # lid 2 lmc 0 "leaf lid 9" lid 3 4xQDR
"""


def test_devices_carry_guids_lids_and_names():
    fabric = read_ibnetdiscover(PAIR)

    leaf, a, _ = fabric.devices
    assert (leaf.guid, leaf.port_guid, leaf.lid, leaf.n_ports, leaf.is_switch) == (
        16,
        17,
        3,
        2,
        True,
    )
    assert (a.guid, a.port_guid, a.lid, a.name, a.is_switch) == (32, 33, 1, "a # quoted", False)
    assert fabric.cables == {(0, 1): (1, 1), (0, 2): (2, 1), (1, 1): (0, 1), (2, 1): (0, 2)}
    assert set(fabric.rates.values()) == {"4xQDR"}


@pytest.mark.parametrize("name", FABRICS)
def test_stored_fabrics_read_and_write_there_and_back(shared, name):
    fabric = read_ibnetdiscover(text(shared, f"{name}/ibnetdiscover.txt"))

    again = read_ibnetdiscover(write_ibnetdiscover(fabric))

    assert again.devices == fabric.devices
    assert again.cables == fabric.cables
    assert again.rates == fabric.rates


@pytest.mark.parametrize("name", FABRICS)
def test_ibsim_files_describe_the_same_cables(shared, name):
    fabric = read_ibnetdiscover(text(shared, f"{name}/ibnetdiscover.txt"))
    network = read_ibnetdiscover(text(shared, f"{name}/fabric.net"))

    def by_guid(parts):
        return {
            (parts.devices[i].guid, port): (parts.devices[j].guid, other)
            for (i, port), (j, other) in parts.cables.items()
        }

    assert by_guid(fabric) == by_guid(network)


def test_the_irregular_psmn_fabric_reads_in_full_and_is_no_pgft(shared):
    path = shared("data/topo/psmn-x5-ibnetdiscover.txt.gz")
    fabric = read_ibnetdiscover(gzip.decompress(path.read_bytes()).decode())

    assert sum(not device.is_switch for device in fabric.devices) == 89
    assert sum(device.is_switch for device in fabric.devices) == 11
    graph = wire_graph(fabric).topology
    assert (graph.n_nodes, graph.n_switches, graph.n_links) == (89, 11, 318)
    with pytest.raises(TopologyError, match=r"4 parents with 3 cables each, .* has 4 with 1"):
        wire_fat_tree(fabric)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('[2] "H-0000000000000030"[1]', '[2] "H-0000000000000031"[1]', "5: peer 0{14}31 has no"),
        ('[2] "H-0000000000000030"[1]', '[1] "H-0000000000000030"[1]', "5: port 1 is listed twice"),
        (
            '[2] "H-0000000000000030"[1]',
            '[3] "H-0000000000000030"[1]',
            "5: port 3 of a device of 2",
        ),
        (
            '"S-0000000000000010"[2]',
            '"S-0000000000000010"[1]',
            "5: port 2 of 'leaf' leads to port 1 of 'b'",
        ),
        ("[2] ", "(2) ", "5: expected a device or port, got '\\(2\\) "),
        ("[2] ", f"[{'9' * 5000}] ", "5: expected a device or port, got "),
        ("Ca 1 ", f"Ca {'9' * 5000} ", "8: expected a device or port, got "),
        ('Ca 1 "H-0000000000000030"', 'Ca 1 "H-0000000000000020"', "11: device 0{14}20 again"),
    ],
)
def test_files_that_contradict_themselves_are_errors_with_a_line(before, after, message):
    with pytest.raises(TopologyError, match=f"x.txt:{message}"):
        read_ibnetdiscover(PAIR.replace(before, after), "x.txt")


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=False))
def test_mangled_files_give_a_clear_error_or_a_consistent_fabric(random):
    lines = write_ibnetdiscover(tree_fabric(build_fat_tree((2, 2), (1, 2), (1, 1), BW))).split("\n")
    for _ in range(random.randint(1, 3)):
        at = random.randrange(len(lines))
        kind = random.randrange(4)
        if kind == 0:
            lines[at] = lines[at][: random.randrange(len(lines[at]) + 1)]
        elif kind == 1:
            lines.insert(at, random.choice(lines))
        elif kind == 2:
            del lines[at]
        else:
            lines[at] = "".join(random.sample(lines[at], len(lines[at])))
    message, cables = "", {}
    try:
        cables = read_ibnetdiscover("\n".join(lines)).cables
    except TopologyError as error:
        message = str(error)

    assert message.startswith("ibnetdiscover:") or cables
    assert all(cables[other] == end for end, other in cables.items())


@pytest.mark.parametrize("content", ["", "\n# only a comment\n", "hello", '[1] "S-1"[1]'])
def test_files_without_a_device_are_errors(content):
    with pytest.raises(TopologyError, match="expected"):
        read_ibnetdiscover(content)


SHAPES = [
    ((4, 4), (1, 4), (1, 1)),
    ((3, 6), (1, 3), (1, 2)),
    ((2, 2, 4), (1, 2, 2), (1, 1, 1)),
    ((3, 3, 2), (1, 3, 1), (1, 1, 3)),
    ((4, 2, 3), (1, 2, 2), (1, 1, 2)),
    ((2, 2, 2, 2), (1, 2, 2, 2), (1, 1, 1, 1)),
]


# no other pod shows that a two-level tree once had a further leaf
CASES = [(shape, missing) for shape in SHAPES for missing in ((), ("n1", "n4"))] + [
    (shape, ("s1.1",)) for shape in SHAPES[2:]
]


@pytest.mark.parametrize(("shape", "missing"), CASES)
def test_a_tree_written_as_a_fabric_is_recognised_again(shape, missing):
    m, w, p = shape
    tree = depopulate(build_fat_tree(m, w, p, BW), missing)

    wired = wire_fat_tree(read_ibnetdiscover(write_ibnetdiscover(tree_fabric(tree))))

    found = wired.topology
    assert (found.children, found.parents, found.parallel) == (m, w, p)
    assert found.usable_nodes.tolist() == tree.usable_nodes.tolist()
    assert described(wired) == {
        tree.vertex_name(v): v
        for v in range(tree.n_nodes + tree.n_switches)
        if wired.device[v] >= 0
    }
    absent = [] if tree.absent is None else tree.absent.tolist()
    assert (wired.port < 0).nonzero()[0].tolist() == absent
    for link in (wired.port > 0).nonzero()[0].tolist():
        end = (int(wired.device[tree.link_tail[link]]), int(wired.port[link]))
        assert wired.fabric.cables[end][0] == wired.device[tree.link_head[link]]


def test_irregular_wirings_are_refused_with_the_first_irregularity():
    fabric = tree_fabric(build_fat_tree((2, 2, 2), (1, 2, 2), (1, 1, 1), BW))
    number = {device.name: i for i, device in enumerate(fabric.devices)}

    low, high = (number["s1.0"], 3), (number["s1.0"], 4)
    swapped = dict(fabric.cables)
    swapped[low], swapped[high] = swapped[high], swapped[low]
    swapped |= {swapped[low]: low, swapped[high]: high}
    with pytest.raises(TopologyError, match=r"'s1\.\d' .* is cabled to 's2\.\d'"):
        wire_fat_tree(type(fabric)(fabric.devices, swapped, {}))
    ends = {(number["s1.3"], 4), fabric.cables[number["s1.3"], 4]}
    cut = {end: other for end, other in fabric.cables.items() if end not in ends}
    with pytest.raises(TopologyError, match=r"'s1\.3' .* has 1 with 1"):
        wire_fat_tree(type(fabric)(fabric.devices, cut, {}))


def test_numbers_start_at_the_leaf_whose_guid_is_least_backwards():
    """Radix 8: OpenSM 3.3.23 numbered this very fabric n60..n63, n48..n59, n0..n47, n64..n127."""
    wired = wire_fat_tree(tree_fabric(fat_tree_of_radix(8, BW)))

    expected = [*range(60, 64), *range(48, 60), *range(48), *range(64, 128)]
    assert np.argsort(wired.topology.order).tolist() == expected


def test_two_leaves_alone_are_no_tree():
    fabric = read_ibnetdiscover(PAIR)

    with pytest.raises(TopologyError, match="no regular fat-tree: it has 1 levels"):
        wire_fat_tree(fabric)
