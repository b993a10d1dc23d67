"""PGFT: who is wired to whom, and the numbers of links."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive.walks import Tree

from netsim.common.errors import TopologyError
from netsim.registries.topologies import make_topology
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix


@st.composite
def shapes(draw):
    """Draw m, w, p of two to four small levels."""
    levels = draw(st.integers(2, 4))
    lists = [st.lists(st.integers(1, most), min_size=levels, max_size=levels) for most in (4, 3, 2)]
    return tuple(draw(part) for part in lists)


@settings(deadline=None, max_examples=60)
@given(shapes())
def test_every_cable_joins_elements_that_differ_in_one_digit(shape):
    """The naive twin writes every element as a tuple of digits; names and order must agree."""
    m, w, p = shape
    tree, naive = build_fat_tree(m, w, p, 1e9), Tree(m, w, p)

    for level in range(len(m)):
        bases = [*w[:level], *m[level:]]
        for x in range(prod(bases)):
            child = []
            rest = x
            for base in bases:
                child.append(rest % base)
                rest //= base
            for port in range(w[level] * p[level]):
                ends = (level, child, port % w[level], port // w[level])
                up = tree.up_base[level] + x * tree.ports[level] + port
                down = tree.down_base[level] + x * tree.ports[level] + port
                assert tree.link_name(up) == naive.cable(*ends, up=True)[0]
                assert tree.link_name(down) == naive.cable(*ends, up=False)[0]
    assert tree.n_links == 2 * sum(c * q for c, q in zip(tree.counts, tree.ports, strict=False))


@settings(deadline=None, max_examples=60)
@given(shapes())
def test_every_port_is_wired_once(shape):
    """An element has w * p cables up; a switch has m * p cables down."""
    m, w, p = shape
    tree = build_fat_tree(m, w, p, 1e9)
    degree = np.bincount(tree.link_tail, minlength=tree.n_nodes + tree.n_switches)

    first = 0
    for level, count in enumerate(tree.counts):
        up = w[level] * p[level] if level < tree.levels else 0
        down = m[level - 1] * p[level - 1] if level else 0
        assert set(degree[first : first + count].tolist()) == {up + down}
        first += count


@pytest.mark.parametrize(("radix", "nodes"), [(4, 16), (16, 1024), (18, 1458), (28, 5488)])
def test_a_full_tree_of_radix_r_has_a_quarter_of_its_cube_of_nodes(radix, nodes):
    tree = fat_tree_of_radix(radix, 1e9)

    degree = np.bincount(tree.link_tail)[tree.n_nodes :]
    assert tree.n_nodes == nodes
    assert tree.oversubscription == 1.0
    assert set(degree.tolist()) == {radix}
    assert (tree.n_pods, tree.leaves_per_pod, tree.nodes_per_leaf) == (
        radix,
        radix // 2,
        radix // 2,
    )


def test_a_two_level_tree_of_radix_r_has_half_of_its_square_of_nodes():
    tree = fat_tree_of_radix(8, 1e9, levels=2)

    assert (tree.n_nodes, tree.n_leaves, tree.n_pods, tree.counts[2]) == (32, 8, 1, 4)


@pytest.mark.parametrize(
    ("parents", "parallel", "full"),
    [
        ((1, 4, 4), (1, 1, 1), True),
        ((1, 2, 4), (1, 2, 2), True),
        ((1, 2, 4), (1, 2, 1), False),  # 4 x 2 cables into an L2 switch, 4 out of it
        ((1, 2, 4), (1, 1, 1), False),
    ],
)
def test_a_tree_is_full_when_as_much_goes_up_as_comes_in(parents, parallel, full):
    assert build_fat_tree((4, 4, 8), parents, parallel, 1e9).oversubscription == (
        1.0 if full else 2.0
    )


def test_classes_of_links_follow_the_levels():
    tree = build_fat_tree((2, 2, 2), (1, 2, 2), (1, 1, 1), 1e9)
    bases = [base for pair in zip(tree.up_base, tree.down_base, strict=True) for base in pair]

    assert [tree.link_class(base) for base in bases] == [
        "injection",
        "ejection",
        "leaf-up",
        "leaf-down",
        "L2-up",
        "L2-down",
    ]


def test_positions_and_names_count_level_by_level():
    cab = make_topology("cab")

    assert cab.vertex_name(1296 + 72 + 22) == "s2.22"
    assert cab.position(1296 + 72 + 22) == (2, 22)
    assert cab.link_name(int(cab.up_base[2])) == "s2.0>s3.0#0"
    assert cab.link_number("s2.0>s3.0#8") == cab.up_base[2] + 8 * 2
    with pytest.raises(TopologyError, match=r"no vertex 1476 in the fabric"):
        cab.position(1296 + 72 + 72 + 36)


@pytest.mark.parametrize("name", ["s4.0", "s3.36", "n1296", "s0.1", "leaf3", "s1.-1", "n01x"])
def test_a_name_of_nothing_is_refused_with_an_example(name):
    with pytest.raises(
        TopologyError, match=r"no node or switch .* names look like 'n1295' and 's1.0'"
    ):
        make_topology("cab").vertex_number(name)


def test_a_link_of_nothing_is_refused_with_an_example():
    cab = make_topology("cab")

    with pytest.raises(TopologyError, match=r"no link 's2.0>s9.0' in .* names look like 'n0>s1.0'"):
        cab.link_number("s2.0>s9.0")
    with pytest.raises(TopologyError, match=r"of several cables name one, such as 's2.0>s3.0#0'"):
        cab.link_number("s2.0>s3.0")
