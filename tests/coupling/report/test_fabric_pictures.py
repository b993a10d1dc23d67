"""Drawings of fabrics: everything has a place of its own, and every cable its two ends."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from coupling.report.plots.fabric import FabricScene, draw_fabric, fabric_picture
from coupling.report.plots.layout import bundles, cables_of, layout_of, segments, wiring_of
from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology

FABRICS = {
    "tree": {"kind": "fat-tree", "radix": 4},
    "two levels": {"kind": "fat-tree", "radix": 4, "levels": 2},
    "rails": {"kind": "fat-tree", "children": [4, 2], "parents": [4, 4], "parallel": [1, 1]},
    "torus": {"kind": "torus", "dims": [4, 3, 2], "nodes_per_router": 2},
    "ring of two": {"kind": "torus", "dims": [2]},
    "mesh": {"kind": "torus", "dims": [3, 3], "wrap": False},
    "dragonfly": {"kind": "dragonfly", "groups": 5, "routers": 4, "nodes_per_router": 2},
    "one group": {"kind": "dragonfly", "groups": 1, "routers": [2, 3]},
}


@pytest.fixture(params=FABRICS.values(), ids=list(FABRICS))
def fabric(request):
    """Return a fabric of each kind."""
    return make_topology(request.param)


def test_every_node_and_every_switch_has_a_place_of_its_own(fabric):
    """A router with one node stands in the middle of it."""
    place = layout_of(fabric).place

    assert np.isfinite(place).all()
    for part in np.split(place.round(6), [fabric.n_nodes]):
        assert len(np.unique(part, axis=0)) == len(part)


def test_every_cable_is_a_line_between_its_ends(fabric):
    layout, cables = layout_of(fabric), cables_of(fabric)

    lines = segments(fabric, layout, cables)

    inner = np.minimum(fabric.link_tail, fabric.link_head) >= fabric.n_nodes
    assert 2 * cables.size == np.count_nonzero(inner)
    for line, cable in zip(lines, cables, strict=True):
        np.testing.assert_allclose(line[0], layout.place[fabric.link_tail[cable]])
        np.testing.assert_allclose(line[-1], layout.place[fabric.link_head[cable]], atol=1e-12)


def test_leaves_of_different_size_stand_over_their_nodes_with_gaps_between():
    """Nodes 0, 2, 4 hang on one leaf, 1, 3 on another, 5 on the spine above both."""
    ends = [(0, 6), (2, 6), (4, 6), (1, 7), (3, 7), (5, 8), (6, 8), (7, 8)]
    tail, head = np.array(ends + [(b, a) for a, b in ends]).T
    alone = np.zeros(tail.size, dtype=np.int64)
    fabric = Topology("uneven", 6, 3, tail, head, alone, np.ones(tail.size), np.arange(tail.size))

    x = layout_of(fabric).place[:, 0]

    for leaf, nodes in ((6, [0, 2, 4]), (7, [1, 3]), (8, [5])):
        np.testing.assert_allclose(x[nodes].mean(), x[leaf])
    order = np.argsort(x[:6])
    steps = np.diff(x[order])
    same = np.array([6, 7, 6, 7, 6, 8])[order]
    assert steps[same[1:] != same[:-1]].min() > 1.5 * steps[same[1:] == same[:-1]].max()


def test_nodes_of_a_leaf_stand_together_below_it():
    tree = make_topology(FABRICS["tree"])

    place = layout_of(tree).place

    for leaf in range(tree.n_leaves):
        own = place[leaf * 2 : leaf * 2 + 2]
        np.testing.assert_allclose(own[:, 0].mean(), place[tree.n_nodes + leaf, 0])
        assert (own[:, 1] < place[tree.n_nodes + leaf, 1]).all()


def twice_drawn(fabric):
    """Return two pictures of the same jobs on a fabric."""
    load = np.linspace(0.0, 1.0, fabric.n_links)
    marked = np.array([fabric.n_links - 1])
    scene = FabricScene(
        fabric,
        load,
        jobs={"a<b": np.array([0, 1])},
        marked=marked,
        owned={"a<b": marked - 1},
    )
    return [fabric_picture("x", scene, "a & b") for _ in range(2)]


def test_a_picture_is_the_same_bytes_twice(fabric):
    first, again = (picture.html() for picture in twice_drawn(fabric))

    assert first == again
    assert "a&lt;b" in first
    assert "a & b" not in first


@pytest.mark.parametrize("form", ["svg", "pdf", "png"])
def test_a_file_is_the_same_bytes_twice(form):
    first, again = (p.file(form) for p in twice_drawn(make_topology(FABRICS["tree"])))

    assert first == again


def test_of_too_many_cables_the_busiest_are_drawn_and_the_picture_says_so(monkeypatch):
    monkeypatch.setattr("coupling.report.plots.fabric._MOST", 5)
    mesh = make_topology(FABRICS["mesh"])
    load = np.linspace(0.0, 1.0, mesh.n_links)
    axes = Figure().add_subplot()

    draw_fabric(axes, FabricScene(mesh, load, title="mesh"))

    (lines,) = [c for c in axes.collections if isinstance(c, LineCollection)]
    both = np.maximum(load, load[mesh.reverse])[cables_of(mesh)]
    np.testing.assert_allclose(np.sort(lines.get_array()), np.sort(both)[-5:])
    assert axes.get_title() == "mesh (5 of 12 cables drawn)"


def test_of_a_large_dragonfly_a_line_stands_for_all_cables_of_two_groups():
    """9 groups make 36 pairs; each line has the load of the busiest cable, here the last."""
    fly = make_topology("aries-theta-like")
    load = np.arange(fly.n_links) / fly.n_links
    layout = layout_of(fly)

    lines, of_line = bundles(fly, layout, cables_of(fly))

    group = (np.arange(fly.n_switches)) // 96
    cables = cables_of(fly)
    tail, head = (group[end[cables] - fly.n_nodes] for end in (fly.link_tail, fly.link_head))
    assert len(lines) == 36
    assert ((of_line >= 0) == (tail != head)).all()
    busy = np.maximum(load, load[fly.reverse])[cables]
    axes = Figure().add_subplot()
    draw_fabric(axes, FabricScene(fly, load))
    _, drawn = (c for c in axes.collections if isinstance(c, LineCollection))
    for a, b in ((0, 1), (3, 8)):
        (number,) = set(of_line[(np.minimum(tail, head) == a) & (np.maximum(tail, head) == b)])
        of_pair = busy[(np.minimum(tail, head) == a) & (np.maximum(tail, head) == b)]
        assert drawn.get_array()[number] == of_pair.max()


def test_a_link_that_a_job_owns_has_the_colour_of_its_nodes():
    tree = make_topology(FABRICS["tree"])
    axes = Figure().add_subplot()
    inner = cables_of(tree)[:1]

    draw_fabric(
        axes,
        FabricScene(
            tree, jobs={"a": np.array([], dtype=int), "b": np.array([0])}, owned={"b": inner}
        ),
    )

    lines = [c for c in axes.collections if isinstance(c, LineCollection)][-1]
    nodes = next(c for c in axes.collections if isinstance(c, PolyCollection))
    assert lines.get_colors()[0].tolist() == nodes.get_facecolor()[0].tolist()


def test_the_numbers_behind_a_picture_are_those_of_every_link():
    mesh = make_topology(FABRICS["mesh"])
    load = np.arange(mesh.n_links, dtype=float)

    table = FabricScene(mesh, load, marked=np.array([3])).table()

    assert table["link"].tolist() == [mesh.link_name(link) for link in range(mesh.n_links)]
    assert table["load"].tolist() == load.tolist()
    assert table.index[table["marked"]].tolist() == [3]


def test_a_fabric_is_found_in_the_names_of_its_links(fabric):
    """As far as they tell: the same ends, row by row."""
    links = pd.DataFrame(
        {
            "link": [fabric.link_name(link) for link in range(fabric.n_links)],
            "class": [fabric.link_class(link) for link in range(fabric.n_links)],
        }
    )

    found = wiring_of(links)

    assert (found.n_nodes, found.n_switches) == (fabric.n_nodes, fabric.n_switches)
    assert found.link_tail.tolist() == fabric.link_tail.tolist()
    assert found.link_head.tolist() == fabric.link_head.tolist()


@pytest.mark.parametrize("names", [[], ["a"], ["a>b"], ["a>b", "b>c"], ["a>b>c", "c>b>a"]])
def test_names_that_tell_no_wiring_give_no_fabric(names):
    links = pd.DataFrame({"link": names, "class": ["network"] * len(names)})

    assert wiring_of(links) is None


@pytest.mark.parametrize(
    ("groups", "size", "nodes"), [(2, 4, 1), (9, 4, 2), (17, 8, 4), (40, 6, 3)]
)
def test_groups_of_a_dragonfly_do_not_overlap(groups, size, nodes):
    spec = {"kind": "dragonfly", "groups": groups, "routers": size, "nodes_per_router": nodes}
    fly = make_topology(spec)
    layout = layout_of(fly)
    at = layout.place.reshape(-1, 2)
    routers = at[fly.n_nodes :].reshape(groups, size, 2)
    middles = routers.mean(axis=1)
    own = at[: fly.n_nodes].reshape(groups, -1, 2)

    reach = np.linalg.norm(own - middles[:, None], axis=2).max() + layout.cell[0] / 2
    apart = np.linalg.norm(middles[0] - middles[1])

    assert 2 * reach < apart
