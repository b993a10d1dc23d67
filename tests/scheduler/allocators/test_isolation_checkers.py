"""The independent checkers find each kind of fault; a checker that passes all is worth nothing."""

from dataclasses import replace

import pytest
from isolation import Ends, Ledger, Meter, broken_conditions

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocation import Allocation
from scheduler.geometry import Geometry
from scheduler.job import Job

TREE = fat_tree_of_radix(8, "1 B/s")  # 8 pods of 4 leaves of 4 nodes
ENDS, GEOMETRY = Ends(TREE), Geometry.of(TREE)


def job(n_nodes, number=1):
    return Job(number, 0.0, n_nodes, 1.0, 1.0)


def spines(pod, mask):
    """Return the same spine links at each L2 switch of a pod."""
    return tuple((4 * pod + i, mask) for i in range(4))


def legal():
    """One full tree of 2 leaves and a remainder tree of 1 leaf and a remainder leaf: 14 nodes."""
    leaves = ((0, 15, 15), (1, 15, 15), (4, 15, 15), (5, 3, 6))
    full = tuple((i, 0b0110) for i in range(4))
    remainder = ((4, 0b0010), (5, 0b0110), (6, 0b0110), (7, 0b0010))
    return Allocation(job(14), GEOMETRY, leaves, full + remainder)


def with_leaf(index, row):
    allocation = legal()
    return replace(
        allocation, leaves=(*allocation.leaves[:index], row, *allocation.leaves[index + 1 :])
    )


def with_l2(index, row):
    allocation = legal()
    return replace(allocation, l2s=(*allocation.l2s[:index], row, *allocation.l2s[index + 1 :]))


FAULTS = {
    "uplink missing on a full leaf": (with_leaf(0, (0, 15, 7)), "balanced"),
    "uplink too many on the remainder leaf": (with_leaf(3, (5, 3, 7)), "balanced"),
    "S differs between leaves": (with_leaf(3, (5, 15, 15)), "balanced"),
    "second remainder leaf": (with_leaf(2, (4, 7, 7)), "(2) more than one remainder leaf"),
    "spine missing": (with_l2(0, (0, 0b0100)), "balanced"),
    "full trees differ": (with_l2(1, (1, 0b1100)), "(6)"),
    "S^*r outside S^*": (with_l2(4, (4, 0b1000)), "(6)"),
    "foreign leaf": (
        replace(legal(), leaves=(*legal().leaves, (9, 0, 1))),
        "links of a foreign leaf",
    ),
    "three unequal trees": (
        Allocation(
            job(24),
            GEOMETRY,
            tuple((leaf, 15, 15) for leaf in (0, 1, 2, 4, 5, 8)),
            (*spines(0, 0b111), *spines(1, 0b11), *spines(2, 0b1)),
        ),
        "(1) more than one remainder tree",
    ),
    "remainder leaf in the larger tree": (
        Allocation(
            job(5),
            GEOMETRY,
            ((0, 3, 3), (4, 3, 3), (5, 1, 1)),
            ((0, 0b1), (1, 0b1), (4, 0b11), (5, 0b1)),
        ),
        "(3) a remainder leaf outside the remainder tree",
    ),
    "S differs in one pod": (
        Allocation(job(4), GEOMETRY, ((0, 3, 3), (1, 3, 5))),
        "(4), (5)",
    ),
    "S^r outside S": (Allocation(job(3), GEOMETRY, ((0, 3, 3), (1, 1, 4))), "(4) S^r"),
    "spine links in one pod": (
        Allocation(job(4), GEOMETRY, ((0, 3, 3), (1, 3, 3)), ((0, 3), (1, 3))),
        "spine",
    ),
    "half a single leaf's links": (Allocation(job(2), GEOMETRY, ((0, 3, 1),)), "balanced"),
}


def test_a_legal_partition_over_pods_breaks_nothing():
    """T = 1, L_T = 2, n_L = 4; L_T^r = 1, n_L^r = 2 with S^r = {1, 2}."""
    assert broken_conditions(TREE, ENDS, legal(), whole_leaves=True) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_the_conditions_checker_names_the_broken_condition(fault):
    allocation, expected = FAULTS[fault]

    broken = broken_conditions(TREE, ENDS, allocation)

    assert any(expected in sentence for sentence in broken)


def test_the_remainder_tree_may_have_the_lower_number():
    """The full tree is the larger one, wherever it stands: pod 1 of 8 nodes, pod 0 of 6."""
    allocation = Allocation(
        job(14),
        GEOMETRY,
        ((0, 15, 15), (1, 3, 3), (4, 15, 15), (5, 15, 15)),
        ((0, 0b11), (1, 0b11), (2, 1), (3, 1), *spines(1, 0b11)),
    )

    assert broken_conditions(TREE, ENDS, allocation, whole_leaves=True) == []


def test_part_used_leaves_over_pods_are_legal_but_not_for_jigsaw():
    """Two pods, one leaf each with 2 of 4 nodes."""
    allocation = Allocation(
        job(4), GEOMETRY, ((0, 3, 3), (4, 3, 3)), ((0, 1), (1, 1), (4, 1), (5, 1))
    )

    assert broken_conditions(TREE, ENDS, allocation) == []
    assert broken_conditions(TREE, ENDS, allocation, whole_leaves=True) == [
        "leaves are not used whole over pods"
    ]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            Allocation(job(1), GEOMETRY, ((0, 1, 0),)),
            Allocation(job(1, 2), GEOMETRY, ((0, 1, 0),)),
            "node",
        ),
        (
            Allocation(job(1), GEOMETRY, ((0, 1, 1),)),
            Allocation(job(1, 2), GEOMETRY, ((0, 2, 1),)),
            "link",
        ),
    ],
)
def test_the_ledger_refuses_what_is_held_already(first, second, message):
    ledger = Ledger(TREE)
    ledger.place(first)

    with pytest.raises(AssertionError, match=message):
        ledger.place(second)


def test_the_meter_refuses_nine_units_of_a_link():
    meter = Meter()
    allocations = [Allocation(job(1, n), GEOMETRY, ((0, 1 << n, 1),), units=4) for n in range(2)]
    for allocation in allocations:
        meter.change(allocation, TREE, 1)

    with pytest.raises(AssertionError):
        meter.change(Allocation(job(1, 2), GEOMETRY, ((0, 4, 1),), units=1), TREE, 1)
