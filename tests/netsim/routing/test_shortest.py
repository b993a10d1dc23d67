"""Shortest paths on fabrics that are no trees: how flows spread."""

import numpy as np
import pytest
from naive.detours import distances

from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.fattree import FatTree
from netsim.topology.outage import fail

HOSTS, GPUS, SPINES = 64, 8, 32


def written(tmp_path, rows):
    """Write a table of cables and read it as a fabric."""
    path = tmp_path / "cables.csv"
    header = "source,target,bandwidth,source_kind,target_kind"
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return make_topology({"kind": "file", "path": str(path)})


def rail_leaves(card):
    """
    Return the cables of 64 hosts of 8 GPUs, half of them on each of two groups in turn.

    GPU g of a host hangs on leaf g of its group, by the name that `card` gives it; every leaf has
    32 GPUs and 32 spines, so nothing blocks. A store on a spine makes it no PGFT.
    """
    rows = [
        f"{card(host, gpu)},leaf{host % 2}x{gpu},400 Gb/s,node,switch"
        for host in range(HOSTS)
        for gpu in range(GPUS)
    ]
    rows += [
        f"leaf{group}x{gpu},spine{spine},400 Gb/s,switch,switch"
        for group in range(2)
        for gpu in range(GPUS)
        for spine in range(SPINES)
    ]
    return [*rows, "store,spine0,400 Gb/s,node,switch"]


def ring(card, fabric):
    """Return flows from each GPU to the one of the same number in the next host."""
    place = [
        [fabric.vertex_number(card(host, gpu)) for gpu in range(GPUS)] for host in range(HOSTS)
    ]
    nodes = np.array(place)
    return nodes.ravel(), np.roll(nodes, -1, axis=0).ravel()


def test_gpus_numbered_host_by_host_use_all_spines(tmp_path):
    """By hand: 32 flows leave each leaf, one for each spine; all links carry one."""

    def card(host, gpu):
        return f"h{host}g{gpu}"

    fabric = written(tmp_path, rail_leaves(card))
    src, dst = ring(card, fabric)

    routes = make_routing("shortest", fabric).routes(src, dst)

    assert not isinstance(fabric, FatTree)
    assert np.array_equal(dst - src, np.where(src < 504, 8, -504)), "host by host"
    assert set(routes.hops.tolist()) == {4}
    assert np.bincount(routes.links).max() == 1
    heads = fabric.link_head[routes.links.reshape(-1, 4)[:, 1]]
    assert np.unique(heads).size == SPINES


def test_hosts_of_eight_links_use_all_rails_and_spines(tmp_path):
    """The same with the host as one node; the rail of each flow is its GPU."""

    def card(host, _gpu):
        return f"h{host}"

    fabric = written(tmp_path, rail_leaves(card))
    src, dst = ring(card, fabric)

    card = np.tile(np.arange(8), HOSTS)
    first = fabric.endpoints.first
    routes = make_routing("shortest", fabric).routes(first[src] + card, first[dst] + card)

    assert np.diff(first).max() == GPUS
    assert not isinstance(fabric, FatTree)
    assert np.bincount(routes.links).max() == 1
    assert np.unique(fabric.link_head[routes.links.reshape(-1, 4)[:, 1]]).size == SPINES


def test_on_a_tree_that_is_none_by_one_cable_shifts_stay_free_of_contention(tmp_path):
    """Three levels of radix 8: L2 switches choose by what leaves have not chosen by yet."""
    tree = make_topology({"kind": "fat-tree", "radix": 8})
    name = [tree.vertex_name(vertex) for vertex in range(tree.n_nodes + tree.n_switches)]
    up = tree.link_tail < tree.link_head
    rows = [
        f"{name[a]},{name[b]},1 Gb/s,{'node' if a < 128 else 'switch'},switch"
        for a, b in zip(tree.link_tail[up].tolist(), tree.link_head[up].tolist(), strict=True)
    ]
    fabric = written(tmp_path, [*rows, "store,s3.0,1 Gb/s,node,switch"])
    node = np.array([fabric.vertex_number(f"n{number}") for number in range(128)])

    for shift in (1, 4, 16, 37, 64):
        routes = make_routing("shortest", fabric).routes(node, np.roll(node, -shift))
        assert np.bincount(routes.links).max() == 1


@pytest.mark.parametrize("seed", range(4))
def test_paths_on_a_damaged_graph_are_shortest_and_pass_through_no_node(tmp_path, seed):
    """Hosts of several links beside hosts of one; a search over links finds the lengths."""
    rng = np.random.default_rng(seed)
    rows = [f"h{h},s{s},1 Gb/s,node,switch" for h in range(6) for s in {h % 5, h * h % 5}]
    rows += [f"s{a},s{b},1 Gb/s,switch,switch" for a in range(5) for b in range(a) if a - b != 2]
    fabric = written(tmp_path, rows)
    fabric = fail(fabric, rng.choice(fabric.n_links, 4, replace=False).tolist())
    dead = set(fabric.absent.tolist())
    points = fabric.endpoints
    alive = [e for e in range(points.size) if not dead & {int(points.link[e])}]
    table = list(zip(fabric.link_tail.tolist(), fabric.link_head.tolist(), strict=True))
    length = {}
    for a in alive:  # a path begins by the link of its endpoint, and ends by that of the other
        for b in alive:
            (out, here), (back, there) = (
                (int(points.link[e]), int(points.node[e])) for e in (a, b)
            )
            kept = [
                pair
                for link, pair in enumerate(table)
                if link not in dead
                and (pair[0] != here or link == out)
                and (pair[1] != there or link == fabric.reverse[back])
            ]
            found = distances(kept, fabric.n_nodes, here, up_down=False)
            if here != there and there in found:
                length[a, b] = found[there]
    pairs = list(length)
    src, dst = np.array(pairs).T

    routes = make_routing("shortest", fabric).routes(src, dst)

    for flow, (a, b) in enumerate(pairs):
        path = routes.of_flow(flow)
        assert path.size == length[a, b]
        assert not dead & set(path.tolist())
        assert path[0] == points.link[a]
        assert path[-1] == fabric.reverse[points.link[b]]
        assert np.array_equal(fabric.link_head[path[:-1]], fabric.link_tail[path[1:]])
        assert np.all(fabric.link_head[path[:-1]] >= fabric.n_nodes)


def test_flows_that_meet_nothing_broken_keep_their_routes():
    """One of four flows meets the failed cable; the others go as on the whole tree."""
    spec = {"kind": "fat-tree", "radix": 4}
    whole = make_topology(spec)
    src, dst = np.array([0, 1, 4, 8]), np.array([4, 5, 0, 12])
    before = make_routing("d-mod-k", whole).routes(src, dst)
    lost = whole.link_name(int(before.of_flow(0)[1]))
    broken = make_topology(spec | {"failed_links": [lost]})

    after = make_routing("d-mod-k", broken).routes(src, dst)

    gone = set(broken.absent.tolist())
    met = [flow for flow in range(4) if gone & set(before.of_flow(flow).tolist())]
    assert 0 < len(met) < 4
    for flow in range(4):
        if flow in met:
            assert not gone & set(after.of_flow(flow).tolist())
        else:
            assert after.of_flow(flow).tolist() == before.of_flow(flow).tolist()
