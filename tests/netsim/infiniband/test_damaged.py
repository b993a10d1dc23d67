"""Trees that lost something are recognised: whole numbering, what is gone is absent."""

import gzip

import numpy as np
import pytest
from damage import (
    SHAPES,
    damaged_tree,
    damages,
    hosts_of,
    nodes_of,
    roots_of,
    tree_of,
    with_shuffled_ports,
)
from ib_fabrics import tree_fabric, write_ibnetdiscover
from sampling import thinned

from netsim.common.errors import TopologyError
from netsim.formats.importers.infiniband import read_wiring
from netsim.infiniband.discover import read_ibnetdiscover
from netsim.infiniband.dump import tables_of
from netsim.infiniband.export import base_dump
from netsim.infiniband.ftree import ftree_tables
from netsim.infiniband.walk import up_down_reach, walk_fault
from netsim.infiniband.wiring import (
    missing_parts,
    wire_damaged_tree,
    wire_fat_tree,
    wire_graph,
)
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.structure.recognise import wave_levels

BW = 12.5e9
FOUR = build_fat_tree((2, 2, 2, 2), (1, 2, 2, 2), (1, 1, 1, 1), BW)
TREES = [*map(tree_of, SHAPES), fat_tree_of_radix(4, BW), FOUR]
CASES = [(tree, lost) for tree in TREES for lost in damages(tree)]
LESS_ROOTS = {"the first root", "the last root", "some of each"}  # two levels: a smaller tree


def is_smaller(tree, lost):
    return tree.levels == 2 and lost in LESS_ROOTS


def named(case):
    return f"{case[0].name}: {case[1]}"


@pytest.mark.parametrize("case", thinned([c for c in CASES if not is_smaller(*c)], 3), ids=named)
def test_every_device_keeps_its_place_and_what_is_gone_is_absent(case):
    tree, lost = case
    fabric = damaged_tree(tree, *damages(tree)[lost], seed=5)

    wired = wire_damaged_tree(fabric)

    found = wired.topology
    assert (found.children, found.parents, found.parallel) == (
        tree.children,
        tree.parents,
        tree.parallel,
    )
    names = {v: fabric.devices[i].name for v, i in enumerate(wired.device.tolist()) if i >= 0}
    assert names == {v: tree.vertex_name(v) for v in names}
    assert len(names) == len(fabric.devices)
    assert found.usable_nodes.tolist() == sorted(v for v in names if v < tree.n_nodes)
    assert_cabled(wired)


def assert_cabled(wired):
    """Every cable of the fabric is one link each way, and all other links are absent."""
    tree, fabric = wired.topology, wired.fabric
    there = np.flatnonzero(wired.port >= 0).tolist()
    ends = set()
    for link in there:
        end = (int(wired.device[tree.link_tail[link]]), int(wired.port[link]))
        assert fabric.cables[end][0] == wired.device[tree.link_head[link]]
        ends.add(end)
    assert ends == set(fabric.cables)
    assert len(ends) == len(there)
    assert tree.absent.tolist() == sorted(set(range(tree.n_links)) - set(there))


SMALLER = [
    (tree_of("two levels"), ("s2.1",), ()),
    (tree_of("two levels, parallel cables"), ("s2.0", "n3"), [("s1.4", 6)]),
    (tree_of("two levels"), ("s1.3", *hosts_of(tree_of("two levels"), 3)), ()),
    (fat_tree_of_radix(6, BW), ("s3.3", "s3.4", "s3.5"), ()),
]


@pytest.mark.parametrize(("tree", "lost", "cut"), SMALLER)
def test_what_is_lost_everywhere_is_seen_where_the_whole_tree_is_known(tree, lost, cut):
    """A root of two levels, the last leaf, a spine of every class: else a smaller tree."""
    fabric = damaged_tree(tree, lost, cut, seed=6)

    wired = wire_damaged_tree(fabric, like=tree)

    assert wired.topology.name == tree.name != wire_damaged_tree(fabric).topology.name
    names = {v: fabric.devices[i].name for v, i in enumerate(wired.device.tolist()) if i >= 0}
    assert names == {v: tree.vertex_name(v) for v in names}
    assert len(names) == len(fabric.devices)
    assert_cabled(wired)
    with pytest.raises(TopologyError, match="no regular fat-tree"):
        wire_damaged_tree(with_shuffled_ports(fabric, seed=1), like=tree)
    with pytest.raises(TopologyError, match="levels of switches"):
        wire_damaged_tree(fabric, like=FOUR)


@pytest.mark.parametrize("case", thinned(CASES, 3), ids=named)
def test_with_cables_in_any_ports_it_is_the_same_tree_numbered_otherwise(case):
    tree, lost = case
    fabric = with_shuffled_ports(damaged_tree(tree, *damages(tree)[lost], seed=5), seed=2)

    wired = wire_damaged_tree(fabric)

    assert_cabled(wired)
    found = wired.topology
    w = tree.parents if not is_smaller(tree, lost) else (1, tree.parents[1] - 1)
    assert (found.children, found.parents, found.parallel) == (tree.children, w, tree.parallel)
    whole = is_smaller(tree, lost) or lost in {"nothing", "nodes", "a leaf"}
    assert bool(missing_parts(wired)) == (not whole or lost == "some of each")


@pytest.mark.parametrize("case", thinned(CASES, 3), ids=named)
def test_numbers_of_nodes_are_ftrees(case):
    """The ca-order that tests/netsim/infiniband/test_ftree.py compares with OpenSM's."""
    tree, lost = case
    fabric = damaged_tree(tree, *damages(tree)[lost], seed=3)
    wired = wire_damaged_tree(fabric)

    order = ftree_tables(fabric, nodes_of(fabric), roots_of(fabric, tree)).order

    expected = {i: d for d, i in enumerate(order) if i >= 0}
    nodes = wired.topology.usable_nodes.tolist()
    assert {int(wired.device[v]): int(wired.topology.order[v]) for v in nodes} == expected


@pytest.mark.parametrize("case", thinned(CASES, 3), ids=named)
def test_ftree_has_an_entry_exactly_where_a_path_up_and_then_down_leads_to_the_node(case):
    """As OpenSM's has; a switch that lost all its parents is routed from as if it were a leaf."""
    tree, lost = case
    wired = wire_damaged_tree(damaged_tree(tree, *damages(tree)[lost], seed=4))
    found = wired.topology
    nodes = found.usable_nodes
    tables = tables_of(base_dump(wired), wired)

    reach = up_down_reach(found)[:, nodes // found.nodes_per_leaf]

    up = np.flatnonzero((found.link_tail >= found.n_nodes) & (found.link_tail < found.link_head))
    joined = np.unique(found.link_tail[up[wired.port[up] >= 0]]) - found.n_nodes
    joined = np.append(joined, np.arange(found.n_switches - found.counts[-1], found.n_switches))
    joined = joined[wired.device[found.n_nodes + joined] >= 0]
    np.testing.assert_array_equal(tables.out[joined][:, nodes] >= 0, reach[joined])
    assert walk_fault(tables, wired) == ""


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize("tree", TREES[2:], ids=lambda tree: tree.name)
def test_leaves_without_nodes_keep_their_place_for_d_mod_k(tree, seed):
    """Two leaves in different pods: hop by hop the tables of ftree, whatever the GUIDs."""
    per_pod = tree.leaves_per_pod
    lost = hosts_of(tree, 1, 2 * per_pod - 1)
    wired = wire_damaged_tree(damaged_tree(tree, lost, seed=seed))
    found = wired.topology
    nodes = found.usable_nodes
    src, dst = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)
    ports = ftree_tables(wired.fabric, nodes_of(wired.fabric), roots_of(wired.fabric, tree)).ports

    routes = DModK.on(found).routes(src, dst)

    for flow, target in enumerate(dst.tolist()):
        for link in routes.of_flow(flow).tolist()[1:]:
            switch = int(wired.device[found.link_tail[link]])
            assert ports[switch][int(wired.device[target])] == wired.port[link]


def test_levels_distinguish_leaves_without_nodes_from_parents():
    """The level is in the name of the switches; also a pod without a single node."""
    for tree in TREES:
        for lost in damages(tree).values():
            assert_levels_are_in_the_names(damaged_tree(tree, *lost))
    tree = fat_tree_of_radix(6, BW)
    assert_levels_are_in_the_names(damaged_tree(tree, hosts_of(tree, 3, 4, 5)))


def assert_levels_are_in_the_names(fabric):
    graph = wire_graph(fabric)
    devices = [fabric.devices[i] for i in graph.device.tolist()]
    expected = [int(device.name[1]) if device.is_switch else 0 for device in devices]
    assert wave_levels(graph.topology).tolist() == expected


def test_an_irregular_fabric_stays_irregular(shared):
    path = shared("data/topo/psmn-x5-ibnetdiscover.txt.gz")
    fabric = read_ibnetdiscover(gzip.decompress(path.read_bytes()).decode())

    with pytest.raises(TopologyError, match="no regular fat-tree"):
        wire_damaged_tree(fabric)


def crossed(tree):
    """Exchange the first uplinks of two L2 switches."""
    fabric = tree_fabric(tree)
    number = {device.name: i for i, device in enumerate(fabric.devices)}
    a, b = (number["s2.0"], 4), (number["s2.1"], 4)
    cables = dict(fabric.cables)
    cables[a], cables[b] = cables[b], cables[a]
    return type(fabric)(fabric.devices, cables | {cables[a]: a, cables[b]: b}, {})


def test_fabrics_that_are_no_tree_or_lack_too_much_are_refused():
    """A third of the cables is gone, all uplinks of a leaf, all roots; two cables are crossed."""
    tree = fat_tree_of_radix(6, BW)
    third = [(f"s1.{x}", 4 + x % 3) for x in range(18)]
    third += [(f"s2.{x}", 4 + x // 3 % 3) for x in range(18)]
    upper = [f"s{level}.{x}" for level, count in ((2, 18), (3, 9)) for x in range(count)]
    wrong = {
        "of 108 cables between switches of .* 72 are there": damaged_tree(tree, cut=third),
        "no path joins 'n0' .* and 'n3'": damaged_tree(tree, (), [("s1.0", p) for p in (4, 5, 6)]),
        "no path joins 'n0' .* and 'n9'": damaged_tree(tree, upper[18:]),
        "'s2.0' .* and 's2.1' .* have the same place": crossed(tree),
        "1 levels of switches, expected 2": damaged_tree(tree, upper),
        "no node can be reached from 's": damaged_tree(
            tree, [*upper[18:], *hosts_of(tree, *range(3, 18))]
        ),
    }
    for words, fabric in wrong.items():
        with pytest.raises(TopologyError, match=words):
            wire_damaged_tree(fabric)


@pytest.mark.parametrize(
    ("lost", "cut", "words"),
    [
        (("s3.4",), (), "1 switches (s3.4 first)"),
        ((), (("s1.7", 5),), "1 cables (s1.7>s2.7 first)"),
        (("n9", "n10", "n11"), (), "1 leaves without nodes (s1.3 first)"),
    ],
)
def test_the_reader_says_what_is_missing(lost, cut, words):
    text = write_ibnetdiscover(damaged_tree(fat_tree_of_radix(6, BW), lost, cut))

    wired, remark = read_wiring(text, "x.ib")

    assert wired.topology.children == (3, 3, 6)
    assert not wired.whole
    assert f"a fat-tree with parts missing ({words})" in remark


def test_whole_trees_and_trees_with_holes_are_not_looked_at_for_damage():
    fabric = damaged_tree(fat_tree_of_radix(6, BW), ("n1", "n2"))

    assert wire_fat_tree(fabric).whole
    assert read_wiring(write_ibnetdiscover(fabric), "x.ib")[1] == ""
