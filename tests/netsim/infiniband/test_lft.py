"""Forwarding tables: walked into routes, loops found, equal to OpenSM's, kept inside partitions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ib_fabrics import tree_fabric, write_ibnetdiscover
from opensm_reference import FABRICS, demo7, described, dump, text, wiring
from partitions import random_partition

from netsim.common.errors import RoutingError
from netsim.flows.partition import Partition
from netsim.formats.importers.infiniband import host_names, read_wiring
from netsim.infiniband.discover import read_ibnetdiscover
from netsim.infiniband.dump import LftDump, read_lft_dump, tables_of, write_lft_dump
from netsim.infiniband.export import dump_of, export
from netsim.infiniband.lft import LFT, d_mod_k_tables
from netsim.infiniband.walk import credit_loop
from netsim.infiniband.wiring import wire_fat_tree, wire_graph
from netsim.routing.dmodk import DModK
from netsim.routing.wraparound import Wraparound
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.outage import depopulate

BW = 12.5e9


def all_pairs(nodes):
    nodes = np.unique(nodes)
    return np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)


TREES = [
    fat_tree_of_radix(6, BW),
    build_fat_tree((4, 3), (1, 2), (1, 2), BW),
    build_fat_tree((4, 4, 3), (1, 2, 2), (1, 1, 2), BW),
    build_fat_tree((2, 2, 2, 2), (1, 2, 2, 2), (1, 1, 1, 1), BW),
    depopulate(fat_tree_of_radix(6, BW), ["n1", "n2", "s1.4", "n50"]),
]

PARALLEL = build_fat_tree((3, 3, 4), (1, 3, 1), (1, 1, 3), BW)


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name)
def test_tables_of_d_mod_k_walk_into_its_routes(tree):
    src, dst = all_pairs(tree.usable_nodes)

    routes = d_mod_k_tables(tree).routes(src, dst)

    plain = DModK.on(tree).routes(src, dst)
    np.testing.assert_array_equal(routes.indptr, plain.indptr)
    np.testing.assert_array_equal(routes.links, plain.links)


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name)
def test_every_entry_of_d_mod_k_leads_to_its_destination(tree):
    """Also those that no traffic meets: from every switch, every node is reached."""
    out = d_mod_k_tables(tree).out
    nodes = tree.usable_nodes
    at = np.repeat(np.arange(tree.n_switches)[:, None] + tree.n_nodes, nodes.size, axis=1)
    for _ in range(2 * tree.levels):
        moving = at >= tree.n_nodes
        link = out[at[moving] - tree.n_nodes, np.broadcast_to(nodes, at.shape)[moving]]
        at[moving] = tree.link_head[link]

    np.testing.assert_array_equal(at, np.broadcast_to(nodes, at.shape))


@pytest.mark.parametrize("name", FABRICS)
def test_opensm_routes_every_pair_of_nodes_as_d_mod_k_does(shared, name):
    """Every hop of traffic between nodes, holes included; the ca-order confirms the numbers."""
    wired = wiring(shared, name)
    src, dst = all_pairs(wired.topology.usable_nodes)

    theirs = tables_of(dump(shared, name), wired).routes(src, dst)

    np.testing.assert_array_equal(theirs.links, DModK.on(wired.topology).routes(src, dst).links)
    ordered = wiring(shared, name, ordered=True).topology
    np.testing.assert_array_equal(theirs.links, DModK.on(ordered).routes(src, dst).links)


@pytest.mark.parametrize("engine", ["ftree", "minhop", "sssp", "updn"])
def test_tables_of_any_engine_are_walked_on_tree_and_graph_alike(shared, engine):
    tree = wiring(shared, "ft3_r4")
    graph = wire_graph(tree.fabric)
    tables = dump(shared, "ft3_r4", engine)
    src, dst = all_pairs(tree.topology.usable_nodes)

    on_tree = tables_of(tables, tree).routes(src, dst)
    # nodes are numbered alike there: leaves by GUID, nodes by port
    on_graph = tables_of(tables, graph).routes(src, dst)

    assert (on_tree.hops[src != dst] >= 2).all()
    ends = [
        np.stack([wired.device[wired.topology.link_tail[routes.links]], wired.port[routes.links]])
        for wired, routes in ((tree, on_tree), (graph, on_graph))
    ]
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("name", FABRICS)
def test_dumps_are_written_byte_for_byte_as_opensm_writes_them(shared, name):
    wired = wiring(shared, name)
    base = dump(shared, name)

    written = write_lft_dump(dump_of(tables_of(base, wired), wired, base), wired)

    assert written == text(shared, f"{name}/lfts.ftree.dump")


def test_the_seven_node_demonstration_is_exported_as_loaded_into_opensm(shared):
    """Of 18 entries that the job's traffic meets and ftree set otherwise, all are as they were."""
    wired = wiring(shared, "ft2_4x4")
    job, base = demo7(shared, wired), dump(shared, "ft2_4x4")
    stored = read_lft_dump(text(shared, "demo7/job.lfts"))

    exported = read_lft_dump(export(wired, [(Wraparound(wired.topology), job)], base).text())

    changed = {
        (guid, lid)
        for guid, ports in base.ports.items()
        for lid, port in ports.items()
        if exported.ports[guid][lid] != port
    }
    differs = {
        (guid, lid)
        for guid, ports in stored.ports.items()
        for lid, port in ports.items()
        if exported.ports[guid][lid] != port
    }
    assert len(changed) == 18
    # no job traffic meets this entry (root-3-0 towards node-0012, whose cable is not the job's):
    # the stored file turned it away from that cable as well, which other traffic has no need of
    assert differs == {(0x0002C90102000004, 22)}
    routes = tables_of(exported, wired).routes(*all_pairs(job.nodes))
    between = routes.links[routes.links >= wired.topology.up_base[1]]
    assert set(between.tolist()) == set(job.links.tolist())


def test_the_traced_routes_of_the_demonstration_are_those_of_the_stored_tables(shared):
    """What ibtracert printed on the running fabric, against the tables walked here."""
    wired = wiring(shared, "ft2_4x4")
    job = demo7(shared, wired)
    stored = tables_of(read_lft_dump(text(shared, "demo7/job.lfts")), wired)
    traced = text(shared, "demo7/tracert_job.txt").splitlines()
    vertex, tree = described(wired), wired.topology
    routes, hops = {}, []
    for line in traced:
        name = line.split('"')[1]
        if line.startswith("From"):
            start, hops = name, []
        elif line.startswith("["):
            hops.append(vertex[name])
        else:
            routes[vertex[start], vertex[name]] = hops
    assert len(routes) == 42
    for (src, dst), visited in routes.items():
        walked = stored.routes(np.array([src]), np.array([dst])).links
        assert tree.link_head[walked].tolist() == visited
        assert {src, dst} <= set(job.nodes.tolist())


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_jobs_are_confined_to_their_links_and_all_other_entries_stay(seed):
    rng = np.random.default_rng(seed)
    tree = (*TREES[:2], PARALLEL)[rng.integers(3)]
    job = random_partition(tree, rng)
    routing, base = Wraparound(tree), d_mod_k_tables(tree)

    kept = base.confined_to([(routing, job)])

    src, dst = all_pairs(job.nodes)
    np.testing.assert_array_equal(kept.routes(src, dst).links, routing.routes(src, dst, job).links)
    others = np.setdiff1d(np.arange(tree.n_nodes), job.nodes)
    np.testing.assert_array_equal(kept.out[:, others], base.out[:, others])


def test_jobs_without_a_node_in_common_never_conflict_and_others_are_refused():
    tree = TREES[0]
    jobs = [Partition(np.arange(9), None), Partition(np.arange(8, 12), None)]

    with pytest.raises(RoutingError, match="n8 is in two jobs"):
        d_mod_k_tables(tree).confined_to([(DModK(tree), job) for job in jobs])


class BySource:
    """S-mod-k: no table can hold it."""

    def __init__(self, tree):
        self.tree = tree

    def routes(self, src, dst, partition=None):
        del partition
        back = DModK(self.tree).routes(dst, src)
        lists = [self.tree.reverse[back.of_flow(flow)][::-1] for flow in range(back.n_flows)]
        return type(back).from_lists(lists, back.n_links)


def with_adapters(tree, per_host):
    """Return a fabric of a tree whose nodes are adapters; those of a host lie on leaves apart."""
    fabric, n_hosts = tree_fabric(tree), tree.n_nodes // per_host
    devices = [
        device
        if device.is_switch
        else replace(device, name=f"gpu{place % n_hosts:02d} mlx5_{place // n_hosts}")
        for place, device in enumerate(fabric.devices)
    ]
    return replace(fabric, devices=tuple(devices))


def hops_between_switches(wired, routes, flow):
    """Return (GUID, port) of each switch on a path."""
    tail, devices = wired.topology.link_tail, wired.fabric.devices
    return [
        (devices[int(wired.device[tail[link]])].guid, int(wired.port[link]))
        for link in routes.of_flow(flow).tolist()
        if tail[link] >= wired.topology.n_nodes
    ]


def test_tables_lead_to_each_adapter_of_a_host():
    """Eight hosts with an adapter on two leaves each: every hop is that of D-mod-k to its LID."""
    tree = build_fat_tree((4, 4), (1, 4), (1, 1), BW)
    text = write_ibnetdiscover(with_adapters(tree, 2))
    apart = wire_fat_tree(read_ibnetdiscover(text))
    tables = read_lft_dump(export(apart, []).text())
    joined, _ = read_wiring(text, "fabric", hosts=host_names(None))
    points = joined.topology.endpoints
    assert points.size == 2 * joined.topology.n_nodes == 16
    by_name = {apart.fabric.devices[int(i)].name: v for v, i in enumerate(apart.device[:16])}
    adapter = np.array(
        [
            by_name[f"{joined.topology.vertex_name(int(node))} mlx5_{end - points.first[node]}"]
            for end, node in enumerate(points.node)
        ]
    )
    src, dst = np.nonzero(points.node[:, None] != points.node)

    found = tables_of(tables, joined).routes(src, dst)

    plain = DModK.on(apart.topology).routes(adapter[src], adapter[dst])
    for flow in range(src.size):
        assert joined.topology.link_tail[found.of_flow(flow)[0]] == points.node[src[flow]]
        expected = hops_between_switches(apart, plain, flow)
        assert hops_between_switches(joined, found, flow) == expected
    assert credit_loop([tables_of(tables, joined)]).size == 0
    with pytest.raises(RoutingError, match="written where every host has one adapter"):
        export(joined, [], tables)


def test_packets_for_another_adapter_of_the_host_are_astray():
    tree = build_fat_tree((2, 2), (2, 1), (1, 1), BW)  # hosts of two rails
    links = [["s1.0>n1", "s1.1>n1"], ["s1.1>n1", "s1.0>n1"]]
    out = np.full((tree.n_switches, 8), -1, np.int32)
    for leaf, name in enumerate(links[1]):
        out[leaf, 2 + leaf] = tree.link_number(name)
        out[1 - leaf, 2 + leaf] = tree.link_number(links[0][1 - leaf])

    with pytest.raises(RoutingError, match=r"packets for n1>s1.0 to another link, s1.1>n1"):
        LFT(tree, out).routes(np.array([1]), np.array([2]))


def test_a_routing_that_looks_at_the_source_has_no_table():
    tree = TREES[0]

    with pytest.raises(RoutingError, match=r"at s1\.\d the routing takes two ways towards n\d"):
        d_mod_k_tables(tree).confined_to([(BySource(tree), Partition(np.arange(9), None))])


def test_tables_that_loop_miss_an_entry_or_go_astray_are_errors():
    tree = TREES[0]
    good = d_mod_k_tables(tree)
    src, dst = np.array([0, 3]), np.array([10, 5])

    def with_entry(switch, node, link):
        out = good.out.copy()
        out[tree.vertex_number(switch) - tree.n_nodes, node] = link
        return LFT(tree, out)

    with pytest.raises(RoutingError, match=r"s1\.0 has no entry towards n10"):
        with_entry("s1.0", 10, -1).routes(src, dst)
    back = tree.link_number("s2.1>s1.0")
    with pytest.raises(RoutingError, match="the tables loop: packets for n10 never arrive"):
        with_entry("s2.1", 10, back).routes(src, dst)
    with pytest.raises(RoutingError, match="the tables deliver packets for n10 to n1"):
        with_entry("s1.0", 10, tree.link_number("s1.0>n1")).routes(src, dst)
    rails = build_fat_tree((4, 2), (2, 2), (1, 1), BW)
    with pytest.raises(RoutingError, match="one link per node"):
        d_mod_k_tables(rails)


def small():
    tree = build_fat_tree((2, 3), (1, 2), (1, 1), BW)
    return wire_fat_tree(read_ibnetdiscover(write_ibnetdiscover(tree_fabric(tree))))


def test_an_export_without_a_base_reaches_every_device_from_every_switch():
    wired = small()
    exported = read_lft_dump(export(wired, []).text())
    devices, cables = wired.fabric.devices, wired.fabric.cables
    lids = {device.lid for device in devices}
    for start in (i for i, device in enumerate(devices) if device.is_switch):
        assert set(exported.ports[devices[start].guid]) == lids
        for lid in lids:
            at, steps = start, 0
            while devices[at].lid != lid:
                at = cables[at, exported.ports[devices[at].guid][lid]][0]
                steps += 1
                assert steps <= 4


def test_layouts_that_opensm_accepts_are_read_alike():
    wired = small()
    plain = export(wired, []).text()
    bare = "\n".join(line.split(" #")[0] for line in plain.splitlines())
    ibroute = plain.replace(" # ", " : (").replace("'\n", "')\n")
    noisy = "# comment\n\n" + plain

    reference = tables_of(read_lft_dump(plain), wired).out
    for other in (bare, ibroute, noisy):
        np.testing.assert_array_equal(tables_of(read_lft_dump(other), wired).out, reference)


def test_wrong_lids_are_repaired_by_port_guids_as_opensm_does():
    wired = small()
    good = read_lft_dump(export(wired, []).text())
    shifted = LftDump(
        {guid: {lid + 1000: p for lid, p in own.items()} for guid, own in good.ports.items()},
        {guid: {lid + 1000: g for lid, g in own.items()} for guid, own in good.port_guids.items()},
    )

    repaired = tables_of(shifted, wired).out

    np.testing.assert_array_equal(repaired, tables_of(good, wired).out)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("0x0001 001", "0x0001", "2: expected '0x<lid> <port>'"),
        ("0x0002 002", "0x0001 002", "3: LID 0x0001 again"),
        ("Unicast lids [0-11] of switch Lid 7", "#", "expected '0x<lid> <port>' of a switch"),
        ("guid 0x0002c90000000070 ", "guid ", "1: expected 'guid 0x...'"),
        ("guid 0x0002c90000000080 ", "guid 0x0002c90000000070 ", "switch 0x0002c90000000070 again"),
    ],
)
def test_dumps_that_cannot_be_read_are_errors_with_a_line(before, after, message):
    written = export(small(), []).text()
    assert before in written

    with pytest.raises(RoutingError) as error:
        read_lft_dump(written.replace(before, after, 1), "x.lfts")

    assert message in str(error.value)
    assert str(error.value).startswith("x.lfts:")


def test_a_dump_cut_off_within_a_block_is_an_error_with_file_and_line():
    """Every length but those that end a block, where only switches are missing."""
    written = export(small(), []).text()
    ends = {0}  # just before and after the line break behind each block
    for block in written.split(" lids dumped\n")[:-1]:
        ends.add(max(ends) + len(block) + len(" lids dumped\n"))
    ends |= {end - 1 for end in ends}
    for length in range(1, len(written)):
        if length in ends or length < len("Unicast lids"):
            continue
        cut = written[:length]
        message = ""
        try:
            read_lft_dump(cut, "x.lfts")
        except RoutingError as error:
            message = str(error)

        begun = cut.splitlines()[-1]
        if begun.startswith("U") and len(begun) < len("Unicast lids"):
            continue  # the beginning of a word that no reader knows, after a whole block
        assert message.startswith(f"x.lfts:{len(cut.splitlines())}: "), (cut[-60:], message)


def test_the_error_of_a_cut_off_block_names_its_switch_and_first_line():
    written = export(small(), []).text().splitlines()
    second = next(i for i in range(1, len(written)) if written[i].startswith("Unicast"))
    cut = "\n".join(written[: second + 4])

    with pytest.raises(RoutingError) as error:
        read_lft_dump(cut, "x.lfts")

    assert str(error.value) == (
        f"x.lfts:{second + 4}: the table of switch 0x0002c90000000080 from line {second + 1} is "
        "cut off: expected '... lids dumped' at its end."
    )
    with pytest.raises(RoutingError, match=r"x\.lfts:3: the table of switch .* is cut off"):
        read_lft_dump("\n".join([*written[:2], *written[second:]]), "x.lfts")


@settings(deadline=None, max_examples=60)
@given(st.randoms(use_true_random=False))
def test_mangled_dumps_give_a_clear_error_or_tables(random):
    wired = small()
    lines = export(wired, []).text().split("\n")
    for _ in range(random.randint(1, 4)):
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
    message, out = "", None
    try:
        out = tables_of(read_lft_dump("\n".join(lines)), wired).out
    except RoutingError as error:
        message = str(error)

    assert (out is None) == bool(message)
    assert out is None or (out.min() >= -1 and out.max() < wired.topology.n_links)


def test_a_dump_of_another_fabric_or_with_ports_that_do_not_exist_is_refused():
    wired = small()
    good = read_lft_dump(export(wired, []).text())
    first = next(iter(good.ports))

    with pytest.raises(RoutingError, match="no switch 0x0000000000000abc"):
        tables_of(LftDump({0xABC: {}}, {0xABC: {}}), wired)
    with pytest.raises(RoutingError, match="by port 9: no cable there"):
        tables_of(LftDump({first: {1: 9}}, {first: {}}), wired)
    with pytest.raises(RoutingError, match=r"has 4 ports, no port 9"):
        write_lft_dump(LftDump(good.ports | {first: {1: 9}}, good.port_guids), wired)
    with pytest.raises(RoutingError, match="the fabric has no LID 0x0063"):
        write_lft_dump(LftDump(good.ports | {first: {99: 1}}, good.port_guids), wired)
    with pytest.raises(RoutingError, match="no table of 's"):
        write_lft_dump(LftDump({first: {}}, {first: {}}), wired)
    with pytest.raises(RoutingError, match="no forwarding table"):
        read_lft_dump("nothing")


def test_a_fabric_without_lids_cannot_be_exported(shared):
    wired = wire_fat_tree(read_ibnetdiscover(text(shared, "ft3_r4/fabric.net")))

    with pytest.raises(RoutingError, match="take ibnetdiscover from the running fabric"):
        export(wired, []).text()
    with pytest.raises(RoutingError, match="present tables are needed as the base"):
        export(wire_graph(wired.fabric), []).text()
