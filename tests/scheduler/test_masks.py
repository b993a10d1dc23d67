"""Masks of nodes and ports, runs and boxes: small values by hand."""

import numpy as np

from scheduler.allocation import lowest_bits, mask_bits
from scheduler.allocators.lists import free_runs
from scheduler.allocators.pods import pack_masks
from scheduler.allocators.torus import all_along, torus_boxes
from scheduler.cluster import add_units, fill_units, remove_units
from scheduler.footprint import join_all, join_masks, most_full, split_masks
from scheduler.traffic import computing_s


def test_bits_of_a_mask_come_lowest_first():
    assert list(mask_bits(0b10110)) == [1, 2, 4]
    assert lowest_bits(0b10110, 2) == 0b110


def test_masks_side_by_side_have_fields_of_one_width():
    """Fields of groups are eight bits wide at least, so that they are whole bytes."""
    assert pack_masks([0b01, 0b11], 2) == 0b1101
    assert join_masks(4, [(0, 0b0110), (1, 0b1001)]) == 0b1001_00000110
    assert join_all(4, [0b0110, 0b1001]) == 0b1001_00000110
    assert split_masks(join_masks(4, [(0, 0b0110), (2, 0b1001)]), 3, 4) == [6, 0, 9]


def test_full_masks_are_counted():
    assert most_full(join_masks(4, [(0, 0b1111), (2, 0b1001), (3, 0b1111)]), 4, 4) == 2


def test_a_list_is_parted_where_the_gap_is_too_large():
    starts, lengths = free_runs(np.array([3, 4, 6, 9, 10]), 2)

    assert starts.tolist() == [0, 3]
    assert lengths.tolist() == [3, 2]


def test_a_row_of_free_cells_goes_round_a_ring():
    free = np.array([True, True, False, True])

    assert all_along(free, 0, 2, ring=True).tolist() == [True, False, False, True]


def test_six_routers_fit_a_torus_of_three_by_four_both_ways():
    assert sorted(torus_boxes(6, (3, 4))) == [(2, 3), (3, 2)]


def test_a_quarter_of_communication_leaves_three_times_as_long_for_computing():
    assert computing_s(1.0, 0.25) == 3.0


def test_units_of_two_ports_are_taken_given_back_and_filled_up():
    """Port 0 has one unit taken, port 1 none; eight units fill a port."""
    taken = (0b1, 0, 0, 0, 0, 0, 0, 0)

    more = add_units(taken, 0b11, 2)

    assert more == (0b11, 0b11, 0b01, 0, 0, 0, 0, 0)
    assert remove_units(more, 0b11, 2) == taken
    assert fill_units((1, 1, 1, 1, 1, 1, 1, 0), 0b11, 2) == (3, 3, 1, 1, 1, 1, 1, 1)
