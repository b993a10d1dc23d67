"""D-mod-k and its relatives on fat-trees: against walks, and for contention on shifts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.walks import Tree

from netsim.common.errors import RoutingError
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.outage import fail

SMALL_FULL = {
    "2 levels": ((6, 12), (1, 6), (1, 1)),
    "3 levels, 16 nodes": ((2, 2, 4), (1, 2, 2), (1, 1, 1)),
    "3 levels, 128 nodes": ((4, 4, 8), (1, 4, 4), (1, 1, 1)),
    "not a power of two": ((3, 5, 4), (1, 3, 5), (1, 1, 1)),
    "parallel cables": ((4, 4, 4), (1, 2, 4), (1, 2, 2)),
    "parallel cables at the top": ((6, 6, 4), (1, 6, 2), (1, 1, 3)),
    "4 levels": ((2, 2, 2, 4), (1, 2, 2, 2), (1, 1, 1, 1)),
}


@st.composite
def trees_and_flows(draw, most_levels=4, most=(4, 3, 3), rails=False):
    """Draw a PGFT of two to four levels and some flows; nodes have one link, or several."""
    levels = draw(st.integers(2, most_levels))
    lists = [st.lists(st.integers(1, top), min_size=levels, max_size=levels) for top in most]
    m, w, p = (draw(part) for part in lists)
    if not rails:
        w[0] = p[0] = 1
    node = st.integers(0, int(np.prod(m)) - 1)
    flows = draw(st.lists(st.tuples(node, node), min_size=1, max_size=10))
    return (m, w, p), flows


@settings(deadline=None, max_examples=100)
@given(trees_and_flows())
def test_mod_k_routes_are_those_of_a_walk_from_switch_to_switch(drawn):
    """Digits of switches, port by port, in plain Python: the same names of links."""
    shape, flows = drawn
    tree, naive = build_fat_tree(*shape, 1e9), Tree(*shape)
    src, dst = np.array(flows).T

    for name, walk in (("d-mod-k", naive.d_mod_k), ("s-mod-k", naive.s_mod_k)):
        routes = make_routing(name, tree).routes(src, dst)
        for flow, (a, b) in enumerate(flows):
            assert [tree.link_name(link) for link in routes.of_flow(flow)] == walk(a, b)


@settings(deadline=None, max_examples=40)
@given(trees_and_flows())
def test_shortest_paths_on_an_intact_tree_are_d_mod_k(drawn):
    shape, flows = drawn
    tree = build_fat_tree(*shape, 1e9)
    src, dst = np.array(flows).T

    shortest = make_routing("shortest", tree).routes(src, dst)

    assert np.array_equal(shortest.links, make_routing("d-mod-k", tree).routes(src, dst).links)


def shift_loads(tree, shift):
    """Flows on every link between switches when node i sends to node i + shift."""
    src = np.arange(tree.n_nodes)
    routes = make_routing("d-mod-k", tree).routes(src, (src + shift) % tree.n_nodes)
    return np.bincount(routes.links, minlength=tree.n_links)[tree.up_base[1] :]


@pytest.mark.parametrize("name", SMALL_FULL)
def test_all_shifts_of_a_full_tree_are_free_of_contention(name):
    """Zahavi 2010: at most one flow on any directed link."""
    tree = build_fat_tree(*SMALL_FULL[name], 1e9)

    assert tree.oversubscription == 1.0
    for shift in range(1, tree.n_nodes):
        assert shift_loads(tree, shift).max() <= 1


@pytest.mark.parametrize("machine", ["synth-1024", "cab"])
def test_all_shifts_of_a_large_full_tree_are_free_of_contention(machine):
    tree = make_topology(machine)

    for shift in range(1, tree.n_nodes):
        assert shift_loads(tree, shift).max() == 1


@pytest.mark.parametrize(
    ("shape", "leaf_taper", "l2_taper"),
    [
        (((4, 4, 8), (1, 2, 2), (1, 1, 1)), 2, 4),  # 4 nodes and 4 x 2 cables in; 2 and 2 up
        (((4, 4, 8), (1, 2, 4), (1, 1, 1)), 2, 2),
        (((4, 4, 8), (1, 4, 2), (1, 1, 1)), 1, 2),
        (((6, 6, 4), (1, 2, 3), (1, 1, 1)), 3, 6),
        (((4, 4, 4), (1, 1, 2), (1, 2, 1)), 2, 8),  # 16 nodes of a pod on 2 cables
    ],
)
def test_on_a_tapered_tree_a_shift_by_a_pod_loads_every_uplink_by_the_taper(
    shape, leaf_taper, l2_taper
):
    """All flows leave leaf and pod; they share what goes up evenly."""
    tree = build_fat_tree(*shape, 1e9)
    pod = tree.nodes_per_leaf * tree.leaves_per_pod

    loads = shift_loads(tree, pod)

    base = tree.up_base[1]
    leaf_up = loads[: tree.down_base[1] - base]
    l2_up = loads[tree.up_base[2] - base : tree.down_base[2] - base]
    assert set(leaf_up.tolist()) == {leaf_taper}
    assert set(l2_up.tolist()) == {l2_taper}


@pytest.mark.parametrize("parents", [(1, 2, 2), (1, 2, 4), (1, 4, 2)])
def test_no_shift_of_a_tapered_tree_loads_an_uplink_by_more_than_the_taper(parents):
    """The most that a level can be loaded: nodes below an element over its up-ports."""
    tree = build_fat_tree((4, 4, 8), parents, (1, 1, 1), 1e9)
    most = 16 / (parents[1] * parents[2])
    worst = [shift_loads(tree, shift).max() for shift in range(1, tree.n_nodes)]

    assert max(worst) == max(4 / parents[1], most)


def test_with_mirrored_cables_every_down_link_serves_the_destinations_above_it_evenly():
    """On Cab each of the 9 parallel cables down serves one of 9 x 18 destinations per pair."""
    cab = make_topology("cab")
    pod = np.arange(18 * 18)
    routes = make_routing("d-mod-k", cab).routes(pod + 324, pod)
    loads = np.bincount(routes.links, minlength=cab.n_links)

    down = loads[cab.down_base[2] : cab.down_base[2] + 18 * 18]
    assert set(down.tolist()) == {1}


def test_the_source_chooses_the_cable_down_where_that_is_asked_for():
    tree = build_fat_tree((2, 2), (1, 2), (1, 3), 1e9, down_cable="source")
    routes = make_routing("d-mod-k", tree).routes(np.array([0, 1]), np.array([2, 2]))

    assert [tree.link_name(int(routes.of_flow(flow)[2])) for flow in (0, 1)] == [
        "s2.0>s1.1#0",
        "s2.0>s1.1#1",
    ]


@settings(deadline=None, max_examples=30)
@given(trees_and_flows(3, (4, 3, 2)), st.integers(0, 2**63 - 1))
def test_ecmp_takes_minimal_paths_by_its_seed(drawn, seed):
    shape, flows = drawn
    tree, naive = build_fat_tree(*shape, 1e9), Tree(*shape)
    src, dst = np.array(flows).T

    routes = make_routing("ecmp", tree, seed).routes(src, dst)

    for flow, (a, b) in list(enumerate(flows))[:2]:
        names = [tree.link_name(link) for link in routes.of_flow(flow)]
        assert names in naive.minimal_paths(a, b)


def test_ecmp_spreads_flows_over_all_spines_and_seeds_differ():
    """256 pairs between two pods of radix 8, 16 spines: 16 +- 4 a spine, so 36 is 5 sigma."""
    tree = fat_tree_of_radix(8, 1e9)
    src, dst = np.repeat(np.arange(16), 16), np.tile(np.arange(16, 32), 16)
    one, two = (make_routing("ecmp", tree, np.int64(seed)).routes(src, dst) for seed in (1, 2))

    spines, flows = np.unique(tree.link_head[one.links.reshape(-1, 6)[:, 2]], return_counts=True)

    assert (spines.size, flows.sum()) == (16, 256)
    assert flows.max() < 36
    assert np.mean(one.links == two.links) < 0.6


@settings(deadline=None, max_examples=40)
@given(trees_and_flows(3, (3, 2, 2), rails=True))
def test_the_least_loaded_path_is_the_best_of_all_minimal_paths(drawn):
    """Flow by flow: no minimal path has a less loaded busiest link, or then a smaller sum."""
    shape, flows = drawn
    tree, naive = build_fat_tree(*shape, 1e9), Tree(*shape)
    flows = flows[:5]
    src, dst = np.array(flows).T
    first = tree.endpoints.first
    routes = make_routing("least-loaded-per-job", tree).routes(first[src], first[dst])
    load = {}

    for flow, (a, b) in enumerate(flows):
        chosen = [tree.link_name(link) for link in routes.of_flow(flow)]
        costs = [cost(path, load) for path in naive.minimal_paths(a, b)]
        assert cost(chosen, load) == min(costs)
        for name in chosen:
            load[name] = load.get(name, 0) + 1


@settings(deadline=None, max_examples=60)
@given(trees_and_flows(3, (3, 2, 2), rails=True), st.data())
def test_the_least_loaded_path_is_the_best_of_those_in_service(drawn, data):
    """The same with failed cables: of the minimal paths that are left; an error where none is."""
    shape, flows = drawn
    tree, naive = build_fat_tree(*shape, 1e9), Tree(*shape)
    cables = data.draw(st.lists(st.integers(0, tree.n_links - 1), min_size=1, max_size=6))
    tree = replace(fail(tree, cables), usable=None)
    dead = {tree.link_name(link) for link in tree.absent.tolist()}
    routing, load = make_routing("least-loaded-per-job", tree), {}
    left = [[path for path in naive.minimal_paths(a, b) if not dead & set(path)] for a, b in flows]
    for (a, b), paths in zip(flows, left, strict=True):
        if not paths:
            with pytest.raises(RoutingError, match=f"no path leads from n{a} to n{b} in"):
                routing.routes(tree.endpoints.first[[a]], tree.endpoints.first[[b]])
    flows = [flow for flow, paths in zip(flows, left, strict=True) if paths][:5]
    left = [paths for paths in left if paths]
    src, dst = np.array(flows, dtype=np.int64).reshape(-1, 2).T

    routes = routing.routes(tree.endpoints.first[src], tree.endpoints.first[dst])

    for flow, paths in enumerate(left[:5]):
        chosen = [tree.link_name(link) for link in routes.of_flow(flow)]
        assert chosen in paths
        assert cost(chosen, load) == min(cost(path, load) for path in paths)
        for name in chosen:
            load[name] = load.get(name, 0) + 1


def cost(path, load):
    """Load of the busiest link of a path with one more flow, and the sum over its links."""
    after = [load.get(name, 0) + 1 for name in path]
    return max(after, default=0), sum(after)


@pytest.mark.parametrize("per_level", [(1, 1, 1), (1, 4, 2)])
def test_the_least_loaded_path_does_not_depend_on_the_unit_of_bandwidth(per_level):
    """Paths of equal load are equal: which of them is taken is no matter of rounding."""
    rng = np.random.default_rng(1)
    src, dst = rng.integers(0, 128, (2, 400))
    shape = (4, 4, 8), (1, 4, 4), (1, 1, 1)

    found = [
        make_routing(
            "least-loaded-per-job", build_fat_tree(*shape, [unit * one for one in per_level])
        )
        .routes(src, dst)
        .links
        for unit in (2.0**30, 1e9, 12.5e9, 37.5e9, 7e11)
    ]

    assert all(np.array_equal(links, found[0]) for links in found)


def test_the_least_loaded_routing_beats_d_mod_k_on_a_random_permutation():
    tree = make_topology("synth-1024")
    dst = np.random.default_rng(4).permutation(1024)
    least = make_routing("least-loaded-per-job", tree).routes(np.arange(1024), dst)
    fixed = make_routing("d-mod-k", tree).routes(np.arange(1024), dst)

    assert np.bincount(least.links).max() == 2
    assert np.bincount(fixed.links).max() > 3


@pytest.mark.parametrize("name", ["d-mod-k", "s-mod-k"])
@pytest.mark.parametrize(
    ("src", "dst", "message"),
    [
        ([1, 16], [2, 3], r"src: expected a list of whole numbers 0\.\.15, got 16 at place 1"),
        ([1, 2], [3, -1], r"dst: expected a list of whole numbers 0\.\.15, got -1 at place 1"),
        ([1], [2, 3], "src and dst: expected one of each for every flow, got 1 and 2"),
    ],
)
def test_kernels_of_paths_leave_nodes_that_there_are_not_to_be_refused(name, src, dst, message):
    tree = fat_tree_of_radix(4, 1e9)

    with pytest.raises(RoutingError, match=message):
        make_routing(name, tree).routes(np.array(src), np.array(dst))
