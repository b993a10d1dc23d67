"""Ranks go to slots, several on each."""

import numpy as np
import pytest

from patterns import PatternError
from patterns.base import MAPPINGS, slot_of_rank


@pytest.mark.parametrize(
    ("mapping", "n", "per_slot", "expected"),
    [
        ("block", 7, 3, [0, 0, 0, 1, 1, 1, 2]),
        ("round-robin", 7, 3, [0, 1, 2, 0, 1, 2, 0]),
        ("block", 4, 1, [0, 1, 2, 3]),
        ("round-robin", 4, 1, [0, 1, 2, 3]),
        ("round-robin", 4, 8, [0, 0, 0, 0]),
        ([1, 0, 1, 0, 2], 5, 2, [1, 0, 1, 0, 2]),
    ],
)
def test_ranks_go_where_written_down(mapping, n, per_slot, expected):
    assert slot_of_rank(mapping, n, per_slot).tolist() == expected


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_as_few_slots_as_will_do_are_used_and_none_is_overfull(mapping):
    for n in range(1, 40):
        for per_slot in range(1, 9):
            used = np.bincount(slot_of_rank(mapping, n, per_slot))

            assert used.size == -(-n // per_slot)
            assert 1 <= used.min() <= used.max() <= per_slot


@pytest.mark.parametrize(
    ("mapping", "n", "per_slot", "message"),
    [
        ("cyclic", 4, 1, "mapping: expected one of block, round-robin, got 'cyclic'"),
        ([0, 1], 3, 1, "mapping must have 3 entries, one a rank, got 2"),
        ([0, 2], 2, 1, "mapping must use all of its slots; slot 1 is empty"),
        ([0, 0, 1], 3, 1, "at most 1 ranks on a slot; slot 0 has 2"),
        ([0, -1], 2, 1, "mapping: expected a list of whole numbers from 0, got"),
        ("block", 0, 1, "n_ranks: expected a whole number from 1, got 0"),
        ("block", 4, 0, "ranks_per_slot: expected a whole number from 1, got 0"),
    ],
)
def test_an_impossible_mapping_is_an_error(mapping, n, per_slot, message):
    with pytest.raises(PatternError, match=message):
        slot_of_rank(mapping, n, per_slot)
