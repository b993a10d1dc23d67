"""Random placement: the compiled draw is NumPy's, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.kernelcache import load_kernels
from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import Scattered
from scheduler.allocators import scattered as module
from scheduler.cluster import Cluster
from scheduler.job import Job

KERNELS = load_kernels("scheduler.allocators.scattered_kernels", "kernels that draw", 2)


def words(*numbers):
    return np.concatenate(
        [
            np.frombuffer(n.to_bytes(4 * max(1, -(-n.bit_length() // 32)), "little"), "<u4")
            for n in numbers
        ]
    ).astype(np.uint32)


@settings(deadline=None, max_examples=400)
@given(
    seed=st.one_of(st.integers(0, 2**33), st.integers(0, 2**200)),
    number=st.integers(0, 2**63 - 1),
    n_free=st.integers(1, 10_000),
    share=st.floats(0.0, 1.0),
)
def test_the_compiled_draw_is_that_of_numpy(seed, number, n_free, share):
    size = max(1, round(share * n_free))
    drawn = np.random.default_rng((seed, number)).choice(n_free, size, replace=False)

    taken = KERNELS.chosen(words(seed, number), n_free, size)

    assert np.array_equal(np.flatnonzero(taken), np.sort(drawn))


@pytest.mark.parametrize("number", [0, 7, 2**31, 2**40, -3])
def test_nodes_are_those_that_numpy_draws_from_the_free_ones(number, monkeypatch):
    cluster = Cluster(fat_tree_of_radix(8, "1 B/s"))
    cluster.place(Scattered(5).allocate(Job(-9, 0.0, 37, 1.0, 1.0), cluster))
    wanted = Job(number, 0.0, 50, 1.0, 1.0)

    compiled = Scattered(seed=2**35).allocate(wanted, cluster)
    monkeypatch.setattr(module, "_MOST_COMPILED", 0)
    by_numpy = Scattered(seed=2**35).allocate(wanted, cluster)

    free = cluster.free_nodes()
    rng = np.random.default_rng((2**35, number % 2**63))
    assert compiled.leaves == by_numpy.leaves
    assert compiled.nodes().tolist() == sorted(rng.choice(free, 50, replace=False).tolist())
