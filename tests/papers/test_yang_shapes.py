"""Yang, Table 1: the allocation vectors of 64, 512 and 1024 nodes on 32 x 32 x 32."""

import numpy as np
import pytest

from netsim.flows.partition import Partition
from netsim.registries.routings import make_routing
from netsim.topology.torus import build_torus
from patterns import make_pattern
from scheduler.allocators.torus import (
    FreeBoxes,
    chunk_boxes,
    dimension,
    is_balanced,
    torus_boxes,
)
from scheduler.job import Communication
from scheduler.traffic import TrafficOf

TORUS = build_torus((32, 32, 32), "1 B/s")
TABLE_1 = {
    (64, "3D-B"): [(4, 4, 4)],
    # {16, 2, 2} has 64 nodes too; the table leaves it out, though it lists its like for 512
    # ({16, 16, 2}, {32, 4, 4}) and 1024 nodes
    (64, "3D-UB"): [(8, 4, 2), (16, 2, 2)],
    (64, "2D-B"): [(8, 8, 1)],
    (64, "2D-UB"): [(16, 4, 1), (32, 2, 1)],
    (512, "3D-B"): [(8, 8, 8)],
    (512, "3D-UB"): [(16, 8, 4), (16, 16, 2), (32, 8, 2), (32, 4, 4)],
    (512, "2D-B"): [],
    (512, "2D-UB"): [(32, 16, 1)],
    (1024, "3D-B"): [],
    (1024, "3D-UB"): [(16, 8, 8), (16, 16, 4), (32, 8, 4), (32, 16, 2)],
    (1024, "2D-B"): [(32, 32, 1)],
    (1024, "2D-UB"): [],
    (32, "1D-B"): [(32, 1, 1)],  # the 1D list of section VI-A; 64 nodes are longer than a side
    (64, "1D-B"): [],
}


def shape(box):
    """Return the allocation vector: all orientations are the same to the paper."""
    return tuple(sorted(box, reverse=True))


def label(box):
    """Return the class as the table names it."""
    return f"{dimension(box)}D-{'B' if is_balanced(box) else 'UB'}"


@pytest.mark.parametrize(("size", "kind"), TABLE_1)
def test_the_allocation_vectors_are_those_of_table_1(size, kind):
    found = {shape(box) for box in torus_boxes(size, TORUS.dims) if label(box) == kind}

    assert found == set(TABLE_1[size, kind])


@pytest.mark.parametrize(
    ("size", "first"), [(64, (4, 4, 4)), (512, (8, 8, 8)), (1024, (16, 8, 8)), (32, (4, 4, 2))]
)
def test_the_most_compact_vector_is_tried_first(size, first):
    """3D balanced where there is one, else the 3D unbalanced one nearest to a cube."""
    assert shape(chunk_boxes(TORUS, size, 0, "any")[0]) == first


def test_the_classes_are_tried_in_the_order_of_the_table():
    labels = [label(box) for box in chunk_boxes(TORUS, 64, 0, "any")]

    assert list(dict.fromkeys(labels)) == ["3D-B", "3D-UB", "2D-B", "2D-UB"]


def communication_s(pattern, box):
    """Return how long a job that never computes takes on a box of the empty machine."""
    nodes = FreeBoxes(TORUS, np.ones(TORUS.n_nodes, dtype=bool), 1).find(box)
    traffic_of = TrafficOf(TORUS, make_routing("dimension-order", TORUS))
    placed = traffic_of(
        Communication("", make_pattern({"name": pattern, "nbytes": 1.0}), 1.0),
        Partition(nodes, None),
    )
    return placed.alone_s


@pytest.mark.parametrize(
    ("box", "seconds"),
    [
        ((4, 4, 4), 64),  # 32 x 32 messages each way across a cut of 16 links
        ((8, 4, 2), 128),  # 8 links
        ((8, 8, 1), 128),
        ((16, 2, 2), 256),  # 4 links
        ((16, 4, 1), 256),
        # a ring: 2 x 2 x 32 pairs of rows, 1 + 2 + ... + 16 hops the plus way (the half of the
        # ring included), over 2 x 32 links
        ((32, 2, 1), 2 * 2 * 32 * 136 / 64),
    ],
)
def test_all_to_all_takes_as_long_as_the_narrowest_cut_of_its_box(box, seconds):
    """Messages of 1 byte, links of 1 byte per second; 63 messages leave each node."""
    assert communication_s("all-to-all", box) == pytest.approx(seconds)


@pytest.mark.parametrize("box", [(4, 4, 4), (8, 4, 2), (8, 8, 1), (16, 4, 1), (32, 2, 1)])
def test_nearest_neighbours_do_as_well_on_a_mesh(box):
    """Section VI: two messages leave each node, and no more than two meet on a link."""
    assert communication_s("nearest-neighbor", box) == pytest.approx(2.0)
