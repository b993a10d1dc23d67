"""Dragonflies: wiring against real link dumps and the papers, routes against their rules."""

import gzip
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.walks import simgrid_dragonfly_walk
from sampling import sampled

from netsim.common.errors import TopologyError
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.dragonfly import build_dragonfly

DUMPS = {
    "aries-theta-like": "alcf-theta-interconnect.txt.gz",
    "aries-edison-like": "nersc-edison-links.txt.gz",
}
LANE = re.compile(r"\S+\((\d+):(\d+):(\d+)\) (\w+) -> \S+\((\d+):(\d+):(\d+)\)")


def real_lanes(path):
    """Lanes of every directed pair of routers (group, row, column) in a dump, by colour."""
    lanes = {"green": Counter(), "black": Counter(), "blue": Counter()}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for match in filter(None, map(LANE.match, file)):
            numbers = tuple(map(int, match.group(1, 2, 3, 5, 6, 7)))
            lanes[match[4]][numbers] += 1
    groups = sorted({pair[0] for pair in lanes["blue"]})
    rank = {group: i for i, group in enumerate(groups)}
    return {
        colour: Counter(
            {(rank[g], r, c, rank[h], s, d): n for (g, r, c, h, s, d), n in found.items()}
        )
        for colour, found in lanes.items()
    }


@pytest.mark.parametrize("machine", sampled(DUMPS, {"aries-theta-like"}))
def test_an_aries_machine_has_the_router_pairs_and_lanes_of_its_dump(machine, shared):
    """Every pair and every lane count; Edison's groups are 0..15 without 12, in this order."""
    expected = real_lanes(shared(f"data/topo/{DUMPS[machine]}"))
    fabric = make_topology(machine)

    found = {"green": Counter(), "black": Counter(), "blue": Counter()}
    for link in range(fabric.bases[0], fabric.n_links):
        pair = []
        for vertex in (fabric.link_tail[link], fabric.link_head[link]):
            router = int(vertex) - fabric.n_nodes
            pair += [router // 96, router // 16 % 6, router % 16]
        found[fabric.link_class(link)][tuple(pair)] += 1

    assert found == expected


@pytest.mark.parametrize(
    ("machine", "routers", "nodes"),
    [("aries-theta-like", 864, 3456), ("aries-edison-like", 1440, 5760)],
)
def test_an_aries_machine_has_the_counts_of_its_dump(machine, routers, nodes):
    fabric = make_topology(machine)

    assert (fabric.n_switches, fabric.n_nodes) == (routers, nodes)


def test_the_canonical_dragonfly_gives_every_router_as_many_global_cables():
    """Kim et al. 2008: a = 4 routers with h = 2 global cables each join 4 * 2 + 1 groups."""
    fabric = build_dragonfly(9, 4, 1e9, nodes_per_router=2)
    blue = fabric.link_tail[fabric.bases[2] :]

    assert set(np.bincount(blue)[fabric.n_nodes :].tolist()) == {2}


def test_in_the_best_case_every_router_is_joined_to_its_twins():
    fabric = build_dragonfly(3, [2, 3], 1e9, variant="best-case")
    tail, head = (
        end[fabric.bases[2] :] - fabric.n_nodes for end in (fabric.link_tail, fabric.link_head)
    )

    assert np.array_equal(tail % 6, head % 6)
    assert tail.size == 18 * 2


def test_in_the_worst_case_only_the_first_routers_of_the_groups_are_joined():
    fabric = build_dragonfly(4, [2, 3], 1e9, variant="worst-case")
    blue = fabric.link_tail[fabric.bases[2] :] - fabric.n_nodes

    assert sorted(blue.tolist()) == sorted([0, 6, 12, 18] * 3)


def test_parallel_cables_between_two_groups_are_numbered_alike_in_both_directions():
    """Two routers a group and four cables a pair: two of them join the same routers."""
    fabric = build_dragonfly(2, 2, 1e9, global_links=4)
    names = [fabric.link_name(link) for link in range(fabric.bases[2], fabric.n_links)]

    assert names == [
        *("r0>r2#0", "r0>r2#1", "r1>r3#0", "r1>r3#1"),
        *("r2>r0#0", "r2>r0#1", "r3>r1#0", "r3>r1#1"),
    ]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 4), st.integers(1, 3), st.integers(4, 5), st.integers(1, 3), st.data())
def test_minimal_routes_are_a_walk_where_there_is_one_cable_a_pair(
    groups, rows, columns, per, data
):
    """Green, black, blue, green, black, as SimGrid's rule with the chassis kept."""
    fabric = build_dragonfly(groups, [rows, columns], 1e9, nodes_per_router=per, variant="simgrid")
    node = st.integers(0, fabric.n_nodes - 1)
    flows = data.draw(st.lists(st.tuples(node, node), min_size=1, max_size=12))
    src, dst = np.array(flows).T

    routes = make_routing("minimal", fabric).routes(src, dst)

    for flow, (a, b) in enumerate(flows):
        names = [fabric.link_name(link) for link in routes.of_flow(flow)]
        assert names == simgrid_dragonfly_walk(columns, rows, per, a, b)


def test_minimal_routes_take_the_blue_cable_with_the_fewest_hops():
    """By trying every cable of every pair of routers of two groups."""
    fabric = build_dragonfly(3, [2, 4], 1e9, variant="aries")
    size = fabric.routers_per_group
    src, dst = (part.ravel() for part in np.meshgrid(np.arange(size), np.arange(size, 2 * size)))
    hops = make_routing("minimal", fabric).routes(src, dst).hops - 2

    blue = range(fabric.bases[2], fabric.n_links)
    ends = [
        (fabric.link_tail[b] - fabric.n_nodes, fabric.link_head[b] - fabric.n_nodes) for b in blue
    ]
    ends = {(int(a), int(b)) for a, b in ends if a < size <= b < 2 * size}
    for flow in range(src.size):
        tries = [local(src[flow], a) + 1 + local(b, dst[flow]) for a, b in ends]
        assert hops[flow] == min(tries)


def local(here, there):
    """Hops between two routers of a 2 x 4 group."""
    return int(here % 4 != there % 4) + int(here // 4 != there // 4)


def test_lanes_and_equal_cables_are_shared_out_by_destination():
    """All nodes of a router reach a router of the same column over the three black lanes."""
    fabric = build_dragonfly(2, [6, 16], 1e9, nodes_per_router=6, variant="aries")
    dst = np.arange(16 * 6, 17 * 6)  # row 1, column 0
    routes = make_routing("minimal", fabric).routes(np.zeros_like(dst), dst)

    lanes = [int(fabric.link_cable[routes.of_flow(flow)[1]]) for flow in range(dst.size)]
    assert sorted(lanes) == [0, 0, 1, 1, 2, 2]


def groups_of(fabric, routes, flow):
    """Return the groups that a flow visits, in order, without repeats."""
    routers = fabric.link_head[routes.of_flow(flow)[:-1]] - fabric.n_nodes
    return list(dict.fromkeys((routers // fabric.routers_per_group).tolist()))


def test_valiant_goes_through_one_third_group_and_uses_them_all():
    fabric = build_dragonfly(9, 4, 1e9, nodes_per_router=2)
    src = np.arange(8)
    dst = np.arange(64, 72)
    pairs = np.repeat(src, 8), np.tile(dst, 8)

    routes = make_routing("valiant", fabric, seed=1).routes(*pairs)

    middles = set()
    for flow in range(64):
        visited = groups_of(fabric, routes, flow)
        assert (len(visited), visited[0], visited[-1]) == (3, 0, 8)
        middles.add(visited[1])
    assert middles == set(range(1, 8))


def test_valiant_within_a_group_goes_through_another_router():
    fabric = build_dragonfly(1, 5, 1e9)
    routes = make_routing("valiant", fabric, seed=1).routes(np.zeros(4, dtype=int), np.arange(1, 5))

    assert routes.hops.tolist() == [4] * 4


def test_valiant_is_minimal_where_there_is_no_third():
    for groups, routers in ((2, 2), (1, 2)):
        fabric = build_dragonfly(groups, routers, 1e9)
        nodes = np.arange(fabric.n_nodes)
        src, dst = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)

        valiant = make_routing("valiant", fabric, seed=1).routes(src, dst)

        minimal = make_routing("minimal", fabric).routes(src, dst)
        if groups == 1:
            assert np.array_equal(valiant.links, minimal.links)
        far = src // routers != dst // routers
        assert np.array_equal(valiant.hops[far], minimal.hops[far])


def test_seeds_of_valiant_differ():
    fabric = make_topology("aries-theta-like")
    src, dst = np.arange(0, 1000), np.arange(1000, 2000)
    one, again, two = (make_routing("valiant", fabric, seed).routes(src, dst) for seed in (1, 1, 2))

    assert np.array_equal(one.links, again.links)
    assert not np.array_equal(one.links, two.links)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"routers": 4}, "groups: expected a whole number from 1, it is missing"),
        ({"groups": 3}, "routers: expected"),
        ({"groups": 3, "routers": [2, 3, 4]}, r"routers \(one number, or rows and columns\)"),
        ({"groups": 3, "routers": 4, "variant": "large"}, "variant: expected one of canon"),
        ({"groups": 9, "routers": [2, 4], "variant": "simgrid"}, "needs a column for each of 9"),
        (
            {"groups": 3, "routers": [2, 4], "variant": "aries", "global_links": 3},
            "global_links must be a multiple of 2 rows, got 3",
        ),
        (
            {"groups": 3, "routers": 4, "variant": "worst-case", "global_links": 2},
            "global_links must be 1 here, got 2",
        ),
        ({"groups": 3, "routers": 4, "lanes": [1, 2]}, "lanes must be three numbers from 1"),
        ({"groups": 3, "routers": 4, "bandwidth": [1e9, 2e9]}, "one value, or 4"),
    ],
)
def test_a_dragonfly_that_does_not_fit_is_refused(fields, message):
    with pytest.raises(TopologyError, match=message):
        make_topology({"kind": "dragonfly", **fields})


def test_lanes_of_pairs_that_do_not_exist_take_no_memory():
    """A group of one row has no black cables; 2^31 numbers would be 16 GiB."""
    fabric = build_dragonfly(3, (1, 2), 1e9, lanes=(1, 2**31, 1))

    assert fabric.n_links == build_dragonfly(3, (1, 2), 1e9, lanes=(1, 1, 1)).n_links


def test_the_builder_names_the_variants():
    with pytest.raises(
        TopologyError, match="unknown dragonfly variant 'big'; choose from canonical"
    ):
        build_dragonfly(3, 4, 1e9, variant="big")
