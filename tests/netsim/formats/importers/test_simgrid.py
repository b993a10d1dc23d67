"""Platforms of SimGrid and Batsim: routes, rates and latencies as SimGrid gives them."""

import json
from pathlib import Path

import numpy as np
import pytest
from simgridcases import dragonfly_route, ordered_pairs, routes_alike, torus_route

import fabricsim as fs
from netsim.common.errors import TopologyError
from netsim.formats.importers.registry import guess_format
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.fattree import FatTree
from netsim.topology.outage import unreachable
from netsim.topology.torus import Torus

DATA = Path(__file__).parents[3] / "data" / "topo"
FLUID = {"buffer": 0, "packet": 0}


def cluster(**attributes):
    """Return a cluster of four hosts as SimGrid writes it."""
    own = {
        "id": "c",
        "prefix": "n",
        "suffix": "",
        "radical": "0-3",
        "speed": "1Gf",
        "bw": "125MBps",
        "lat": "50us",
        **attributes,
    }
    return f"<cluster {' '.join(f'{key}={json.dumps(value)}' for key, value in own.items())}/>"


def platform(*parts):
    """Return a platform."""
    return f'<platform version="4.1"><zone id="z" routing="Full">{"".join(parts)}</zone></platform>'


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a platform of one cluster, or of the text of its zone."""

    def fabric(*parts, fields=FLUID, **attributes):
        path = tmp_path / "p.xml"
        path.write_text(platform(*parts or [cluster(**attributes)]))
        return make_topology({"kind": "file", "path": str(path), **fields})

    return fabric


def rates(fabric, *pairs):
    """Return the rates of flows that start together, each with an equal share of a link."""
    flows = [[src, dst, 1e6] for src, dst in pairs]
    found = fs.flows({"topology": fabric, "flows": flows, "fairness": "per-flow"})
    return pytest.approx(found.report.rates)


def latency_s(fabric, src, dst):
    """Return the latency of a path."""
    routing = make_routing("shortest", fabric)
    links = routing.routes(np.array([src]), np.array([dst])).of_flow(0)
    return fabric.latency_base_s + fabric.latency_per_link_s * (links.size - 1)


def test_hosts_of_a_flat_cluster_hang_on_one_switch(read):
    fabric = read(radical="2-3,12")

    assert fabric.origin.labels == ("n2", "n3", "n12", "nc_router")
    assert rates(fabric, (0, 1), (0, 2), (1, 0)) == [62.5e6, 62.5e6, 125e6]
    assert latency_s(fabric, 0, 1) == pytest.approx(100e-6)


def test_a_shared_cable_has_one_capacity_for_both_directions(read):
    assert rates(read(sharing_policy="SHARED"), (0, 1), (2, 0)) == [62.5e6, 62.5e6]


def test_all_traffic_crosses_a_backbone_as_simgrid_routes_it(read):
    """SimGrid's flatifier.tesh, one_cluster.xml: link up, backbone, link down; 600 us."""
    fabric = read(radical="0,2-4,6", bb_bw="2.25GBps", bb_lat="500us")
    src, dst = (np.array(ends) for ends in zip(*ordered_pairs(5), strict=True))
    routes = make_routing("shortest", fabric).routes(src, dst)

    assert not unreachable(fabric).nodes.size
    for flow, (a, b) in enumerate(ordered_pairs(5)):
        capacity = fabric.capacity[routes.of_flow(flow)]
        assert [capacity[0], capacity[2], capacity[-1]] == [125e6, 2.25e9, 125e6]
        assert latency_s(fabric, a, b) == pytest.approx(600e-6)
    # 2 GB/s of eight flows fit into a backbone of 2.25, not into one of 0.8
    assert rates(fabric, (0, 1), (1, 0)) == [125e6, 125e6]
    narrow = read(bb_bw="200MBps", bb_lat="0")
    assert rates(narrow, (0, 1), (1, 0), (2, 3), (3, 2)) == [50e6] * 4


def test_a_backbone_that_messages_do_not_share_takes_time_only(read):
    fabric = read(bb_bw="1GBps", bb_lat="500us", bb_sharing_policy="FATPIPE")

    assert rates(fabric, (0, 1), (1, 0), (2, 3)) == [125e6] * 3
    assert latency_s(fabric, 0, 1) == pytest.approx(600e-6)


def cabinets(*rows, more=""):
    """Return a zone of cabinets: prefix, numbers and bandwidth of each."""
    own = "".join(
        f'<cabinet id="k" prefix="{prefix}" suffix="" speed="1Gf" bw="{bw}" lat="1us" '
        f'radical="{radical}"/>'
        for prefix, radical, bw in rows
    )
    return f'<zone id="k" routing="Cluster">{own}<router id="r"/>{more}</zone>'


def test_cabinets_of_one_speed_are_a_flat_cluster(read):
    """As Batsim's platforms have them, with a backbone of 2.25 GB/s and 500 us."""
    rows = ("a", "10-11", "56Gbps"), ("b", "10-11", "56Gbps")
    fabric = read(cabinets(*rows, more='<backbone id="x" bandwidth="2.25GBps" latency="500us"/>'))

    assert fabric.origin.labels[:4] == ("a10", "a11", "b10", "b11")
    assert rates(fabric, (0, 2)) == [2.25e9]
    assert rates(fabric, (0, 1), (2, 3), (3, 2)) == [0.75e9] * 3
    assert latency_s(fabric, 0, 3) == pytest.approx(502e-6)
    assert rates(read(cabinets(*rows)), (0, 1), (2, 3)) == [7e9, 7e9]


@pytest.mark.parametrize(
    ("zone", "message"),
    [
        (
            cabinets(("a", "0-1", "1Gbps"), ("b", "0-1", "2Gbps")),
            "zone 'k': cabinet 'b': expected bw and lat of the cabinets before, got others",
        ),
        (cabinets(("a", "0-1", "1Gbps"), more="<peer/>"), "one backbone alone, got <peer>"),
        (cabinets(("a", "0-1", "1Gbps"), more="<backbone/><backbone/>"), "got 2 backbones"),
        (cabinets(("a", "0-x", "1Gbps")), "zone 'k': cabinet 'a': radical: expected numbers"),
    ],
)
def test_cabinets_that_are_no_flat_cluster_are_refused(read, zone, message):
    with pytest.raises(TopologyError, match=message):
        read(zone)


@pytest.mark.parametrize(
    ("limiter", "alone", "both"),
    [("50MBps", 50e6, 25e6), ("150MBps", 125e6, 75e6), ("250MBps", 125e6, 125e6)],
)
@pytest.mark.parametrize("backbone", [{}, {"bb_bw": "10GBps", "bb_lat": "500us"}])
def test_a_limiter_is_what_a_host_sends_and_receives_at_most(read, limiter, alone, both, backbone):
    """By hand: one message alone, and one out of a host beside one into it."""
    fabric = read(limiter_link=limiter, **backbone)

    assert rates(fabric, (0, 1)) == [alone]
    assert rates(fabric, (0, 1), (2, 0)) == [both, both]
    assert latency_s(fabric, 0, 1) == pytest.approx(600e-6 if backbone else 100e-6)


def test_a_torus_has_simgrids_routes(read):
    """The torus of SimGrid's examples; all 132 routes of flatifier.tesh follow `torus_route`."""
    fabric = read(topology="TORUS", topo_parameters="3,2,2", radical="0-11")
    pairs = ordered_pairs(12)

    assert isinstance(fabric, Torus)
    alike = routes_alike(
        fabric, "dimension-order", pairs, lambda a, b: torus_route((3, 2, 2), a, b), trim=1
    )
    assert alike == len(pairs)
    # hosts are routers in SimGrid: a host sends 125 MB/s to each of its neighbours
    assert rates(fabric, (0, 1), (0, 3), (0, 6)) == [125e6] * 3
    assert latency_s(fabric, 0, 1) == pytest.approx(2 * 50e-6)  # one link more than there


def test_a_fat_tree_has_simgrids_routes():
    """
    SimGrid's flatifier.tesh, cluster_fat_tree_noncontiguous_rad.xml, by hand.

    To host 2: port 2 of four, the second cable to the first top switch; down by the cable of the
    source, 0 mod 2.
    """
    fabric = make_topology({"kind": "file", "path": str(DATA / "platform.xml"), **FLUID})
    routes = make_routing("d-mod-k", fabric).routes(np.array([0, 3]), np.array([2, 1]))

    assert isinstance(fabric, FatTree)
    assert fabric.origin.labels[:4] == ("n-0.site", "n-1.site", "n-7.site", "n-9.site")
    assert [fabric.link_name(link) for link in routes.of_flow(0)] == [
        *("n-0.site>s1.0", "s1.0>s2.0#1", "s2.0>s1.1#0", "s1.1>n-7.site"),
    ]
    assert [fabric.link_name(link) for link in routes.of_flow(1)] == [
        *("n-9.site>s1.1", "s1.1>s2.1#0", "s2.1>s1.0#1", "s1.0>n-1.site"),
    ]
    assert latency_s(fabric, 0, 2) == pytest.approx(200e-6)
    assert latency_s(fabric, 0, 1) == pytest.approx(100e-6)
    assert "cluster 'm': left out, its role is master" in fabric.origin.assumed
    assert (fabric.loopback_bw, fabric.loopback_lat) == (100e6, 0.0)


def test_a_dragonfly_has_simgrids_routes_but_for_its_slip(read):
    """
    The dragonfly of SimGrid's examples, without its limiter.

    Within a group, from a chassis above 0 to another blade, SimGrid goes on as in chassis 0: of 40
    hosts of a group the 30 of chassis 1 to 3, each to the 32 on other blades.
    """
    fabric = read(topology="DRAGONFLY", topo_parameters="3,4;4,3;5,1;2", radical="0-119")
    shape = {"groups": (3, 4), "chassis": (4, 3), "routers": (5, 1), "nodes": 2}
    pairs = ordered_pairs(120)
    slips = [
        (a, b)
        for a, b in pairs
        if a // 40 == b // 40 and a // 10 % 4 > 0 and a // 2 % 5 != b // 2 % 5
    ]

    assert isinstance(fabric, Dragonfly)
    assert [float(fabric.capacity[at]) for at in (0, *fabric.bases)] == [
        *(125e6, 125e6, 3 * 125e6, 4 * 125e6),  # parallel cables are one of their joint bandwidth
    ]
    assert len(slips) == 3 * 30 * 32
    alike = routes_alike(
        fabric,
        "minimal",
        [pair for pair in pairs if pair not in set(slips)],
        lambda a, b: dragonfly_route(shape, a, b),
    )
    assert alike == len(pairs) - len(slips)


def test_what_the_user_states_goes_before_the_file(read):
    fabric = read(
        fields={"bandwidth": "1 GB/s", "latency_base_s": "1 us", "latency_per_link_s": "2 us"}
    )

    assert set(fabric.capacity.tolist()) == {1e9}
    assert (fabric.latency_base_s, fabric.latency_per_link_s) == (1e-6, 2e-6)
    assert "the bandwidth given goes before that of the file" in fabric.origin.assumed
    assert "the latency given goes before that of the file" in fabric.origin.assumed


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1Gbps", 125e6),
        ("10MiBps", 10485760),
        ("2.5e8", 250e6),
        ("64kbps", 8000),
        ("0.5 GBps", 5e8),
    ],
)
def test_bandwidths_are_read_in_simgrids_units(read, text, value):
    assert read(bw=text).capacity[0] == value


@pytest.mark.parametrize(
    ("text", "value"), [("5us", 5e-6), ("0", 0), ("0.001", 1e-3), ("2ms", 2e-3), ("10ns", 1e-8)]
)
def test_latencies_are_read_in_simgrids_units(read, text, value):
    assert read(lat=text).latency_base_s == pytest.approx(value)


TORUS = {"topology": "TORUS", "topo_parameters": "2,2"}
WRONG = [
    ({"bw": "fast"}, r"cluster 'c': bw: expected a bandwidth above 0 such as .*, got 'fast'"),
    ({"bw": "0MBps"}, "bw: expected a bandwidth above 0"),
    ({"bw": "1MB/s"}, "bw: expected a bandwidth above 0"),
    ({"lat": "5 parsecs"}, "lat: expected a time such as '50us', got '5 parsecs'"),
    ({"radical": "3-1"}, "radical: expected numbers of hosts such as '0-9,12', got '3-1'"),
    ({"radical": ""}, "radical: expected numbers of hosts"),
    ({"radical": "0-99999999"}, "radical: expected numbers of hosts"),
    ({"radical": "0-2,1"}, "radical: expected each number once, got '0-2,1'"),
    ({"topology": "RING"}, "cluster 'c': unknown topology 'RING'; choose from FLAT, TORUS"),
    ({"topologie": "FLAT"}, "unknown attribute 'topologie' .did you mean 'topology'"),
    ({"sharing_policy": "FATPIPE"}, "sharing_policy: expected cables that messages share"),
    ({"bb_lat": "5us"}, "bb_bw: expected a bandwidth beside bb_lat"),
    ({"loopback_lat": "5us"}, "loopback_bw: expected a bandwidth beside loopback_lat"),
    ({"bb_bw": "1MBps", "bb_sharing_policy": "FATPIPE"}, "bb_bw: expected at least bw where"),
    ({"topo_parameters": "2,2"}, "topo_parameters: expected none where topology is FLAT"),
    ({**TORUS, "topo_parameters": ""}, "topo_parameters: expected sides such as '3,2,2', got ''"),
    ({**TORUS, "topo_parameters": "2,0"}, "topo_parameters: expected sides such as"),
    ({**TORUS, "topo_parameters": "2,3"}, "radical: expected 6 hosts, as topo_param.*, got 4"),
    ({**TORUS, "limiter_link": "1MBps"}, "limiter_link: expected none where topology is TORUS"),
    (
        {"topology": "FAT_TREE", "topo_parameters": "3;2,2;1,2;1,2"},
        "topo_parameters: expected levels;children;parents;cables such as",
    ),
    (
        {"topology": "FAT_TREE", "topo_parameters": "1;4;1;1"},
        "topo_parameters: .*2 to 4 levels",
    ),
    (
        {"topology": "DRAGONFLY", "topo_parameters": "2,1;1,1;1,1;2"},
        "topo_parameters: variant 'simgrid' needs a column for each of 2 groups, got 1",
    ),
]


@pytest.mark.parametrize(("attributes", "message"), WRONG)
def test_the_attribute_at_fault_is_named(read, attributes, message):
    with pytest.raises(TopologyError, match=message):
        read(**attributes)


@pytest.mark.parametrize(
    ("parts", "got"),
    [
        ((cluster(id="a"), cluster(id="b", **TORUS)), "cluster 'a' (FLAT), cluster 'b' (TORUS)"),
        ((cluster(), '<link id="l"/>'), "cluster 'c' (FLAT), <link>"),
        (('<host id="h"/>', '<link id="l"/>', "<route/>"), "<host>, <link>, <route>"),
        (("",), "nothing"),
    ],
)
def test_zones_that_mix_kinds_are_refused_in_one_line(read, parts, got):
    with pytest.raises(TopologyError) as caught:
        read(*parts)
    assert str(caught.value).endswith(
        f"p.xml: expected one <cluster> alone, a fabric of one kind, got {got}."
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n<platform>\n", "p.xml:3: expected XML: no element found"),
        ("<platforms/>", "p.xml: expected <platform>, got <platforms>"),
        ('<!DOCTYPE p [<!ENTITY a "b">]><platform/>', "without entities"),
    ],
)
def test_files_that_are_no_platforms_are_refused(tmp_path, text, message):
    path = tmp_path / "p.xml"
    path.write_text(text)
    with pytest.raises(TopologyError, match=message):
        make_topology({"kind": "file", "path": str(path), "format": "simgrid-xml"})
    assert guess_format("<?xml version='1.0'?>\n<platform>", "p.xml") == "simgrid-xml"


def test_a_refusal_names_file_and_cluster_once(read):
    with pytest.raises(TopologyError) as refusal:
        read(topology="TORUS", topo_parameters="2,x")

    assert str(refusal.value).count("cluster 'c'") == 1
