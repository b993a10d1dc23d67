"""Seed 004 (Deja Vu), Table 1: the allocation vectors of 64, 512 and 1024 nodes on 32 x 32 x 32."""

import pytest

from netsim.topology.torus import build_torus
from scheduler.allocators.torus_shapes import boxes, chunk_boxes, dimension, is_balanced

TORUS = build_torus((32, 32, 32), 1.0)
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
    found = {shape(box) for box in boxes(size, TORUS.dims) if label(box) == kind}

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
