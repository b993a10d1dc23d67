"""First-free, contiguous, random and Slurm's best fit on small machines worked by hand."""

import numpy as np
import pytest

from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.torus import build_torus
from scheduler.allocation import Allocation
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Job

RADIX_6 = fat_tree_of_radix(6, "1 B/s")  # 6 pods of 3 leaves of 3 nodes


def job(n_nodes, number=1):
    return Job(number, 0.0, n_nodes, 1.0, 1.0)


def with_free(fabric, free):
    """Return a cluster on which only these nodes are free."""
    cluster = Cluster(fabric)
    width = cluster.nodes_per_leaf
    masks = [0] * cluster.n_leaves
    for node in set(range(fabric.n_nodes)) - set(free):
        masks[node // width] |= 1 << node % width
    cluster.place(
        Allocation(
            job(1, 99), cluster.geometry, tuple((i, mask, 0) for i, mask in enumerate(masks))
        )
    )
    return cluster


def placed(name, n_nodes, cluster, seed=1, number=1):
    allocation = make_allocator(name, {}, seed).allocate(job(n_nodes, number), cluster)
    return None if allocation is None else allocation.nodes().tolist()


FREE = [1, 4, 5, 9, 10, 11, 12, 30, 31, 50]


def test_first_free_takes_the_lowest_numbers():
    assert placed("first-free", 5, with_free(RADIX_6, FREE)) == [1, 4, 5, 9, 10]
    assert placed("first-free", 11, with_free(RADIX_6, FREE)) is None


@pytest.mark.parametrize(
    ("n_nodes", "expected"),
    [(1, [1]), (2, [4, 5]), (3, [9, 10, 11]), (4, [9, 10, 11, 12]), (5, None)],
)
def test_contiguous_takes_the_lowest_run_that_is_long_enough(n_nodes, expected):
    """Runs of 1, 2, 4, 2 and 1 nodes; the one of 4 crosses leaves."""
    assert placed("contiguous", n_nodes, with_free(RADIX_6, FREE)) == expected


def test_contiguous_crosses_blocks_of_a_torus():
    torus = build_torus((5, 6, 7), "1 B/s")

    assert placed("contiguous", 70, with_free(torus, range(60, 140))) == list(range(60, 130))


def test_random_draws_each_free_node_alike_and_depends_on_seed_and_id_alone():
    """2000 samples of 3 of 10: each node 600 times, standard deviation 20."""
    cluster = with_free(RADIX_6, FREE)
    draws = [placed("random", 3, cluster, number=number) for number in range(2000)]
    counts = np.bincount(np.concatenate(draws), minlength=54)

    assert np.flatnonzero(counts).tolist() == FREE
    assert abs(counts[FREE] - 600).max() < 5 * 20
    assert draws[7] == placed("random", 3, cluster, number=7)
    assert draws[:50] != [placed("random", 3, cluster, seed=2, number=n) for n in range(50)]


def test_random_takes_negative_job_ids():
    assert len(placed("random", 3, Cluster(RADIX_6), number=-4)) == 3


def test_slurm_takes_the_leaf_with_the_fewest_free_nodes_that_fits():
    """Leaf 1 has two free nodes, leaf 3 three, leaf 16 one; then leaf 0 three, leaf 1 two."""
    cluster = with_free(RADIX_6, FREE)

    assert placed("slurm-best-fit", 1, cluster) == [1]
    assert placed("slurm-best-fit", 2, cluster) == [4, 5]
    assert placed("slurm-best-fit", 3, cluster) == [9, 10, 11]
    assert placed("slurm-best-fit", 2, with_free(RADIX_6, [0, 1, 2, 4, 5])) == [4, 5]


def test_slurm_goes_up_only_as_far_as_it_must_and_fills_small_leaves_first():
    """Pods 0 and 1 have four free nodes each, as 1 + 1 + 2 and as 3 + 1."""
    cluster = with_free(RADIX_6, [0, 3, 6, 7, *FREE[3:7], 30, 31])

    assert placed("slurm-best-fit", 4, cluster) == [0, 3, 6, 7]  # pod 0: 1 + 1 + 2
    assert placed("slurm-best-fit", 3, cluster) == [9, 10, 11]  # one leaf beats a pod
    assert placed("slurm-best-fit", 5, cluster) == [0, 3, 6, 7, 12]  # root: fewest first


def test_slurm_takes_the_groups_of_a_four_level_tree():
    """No pod has three nodes free, but the two groups of two pods have; the first is taken."""
    tree = build_fat_tree((2, 2, 2, 2), (1, 2, 2, 2), (1, 1, 1, 1), "1 B/s")
    cluster = with_free(tree, [0, 4, 5, 8, 10, 12])

    assert placed("slurm-best-fit", 3, cluster) == [0, 4, 5]
