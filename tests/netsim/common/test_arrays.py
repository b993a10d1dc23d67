"""Lists of numbers."""

import numpy as np
import pytest

from netsim.common.arrays import distinct_numbers


@pytest.mark.parametrize("values", [[], [3], [5, 5, 5], [7, -2, 7, 0, 0], [[4, 1], [1, 9]]])
def test_distinct_numbers_are_those_of_numpy(values):
    given = np.array(values, dtype=np.int64)
    before = given.copy()
    found = distinct_numbers(given)
    assert found.dtype == np.int64
    assert found.tolist() == np.unique(given).tolist()
    assert (given == before).all()
