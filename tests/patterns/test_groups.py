"""The same steps inside every group of ranks."""

import numpy as np

from patterns import Step
from patterns.messages import within_groups


def test_every_group_sends_the_messages_of_its_members():
    groups = np.array([[4, 0, 2], [1, 3, 5]])
    step = Step(np.array([0, 0]), np.array([1, 2]), np.array([10.0, 20.0]))

    (both,) = within_groups(groups, [step])

    assert both.src.tolist() == [4, 4, 1, 1]
    assert both.dst.tolist() == [0, 2, 3, 5]
    assert both.nbytes.tolist() == [10.0, 20.0, 10.0, 20.0]
