"""Random placement: the draw is NumPy's."""

import numpy as np
import pytest

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import Scattered
from scheduler.cluster import Cluster
from scheduler.job import Job


@pytest.mark.parametrize("number", [0, 7, 2**31, 2**40, -3])
def test_nodes_are_those_that_numpy_draws_from_the_free_ones(number):
    cluster = Cluster(fat_tree_of_radix(8, "1 B/s"))
    cluster.place(Scattered(5).allocate(Job(-9, 0.0, 37, 1.0, 1.0), cluster))
    wanted = Job(number, 0.0, 50, 1.0, 1.0)

    found = Scattered(seed=2**35).allocate(wanted, cluster)

    free = cluster.free_nodes()
    rng = np.random.default_rng((2**35, number % 2**63))
    assert found.nodes().tolist() == sorted(rng.choice(free, 50, replace=False).tolist())
