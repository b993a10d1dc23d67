"""Work of conservative queues, counted: what gets slower shows here without a clock."""

import pytest

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.queues import make_policy
from scheduler.simulator import simulate
from scheduler.workload import synth

# Calls per job: a fifth above what was counted when they were set.
MOST = {"first-free": 7.8, "jigsaw": 9.8}


@pytest.mark.parametrize("allocator", sorted(MOST))
def test_early_ends_cost_no_more_calls_than_they_did(allocator):
    """Jobs run for a fifth of their estimates, up to all of them; 128 nodes."""
    cluster = Cluster(fat_tree_of_radix(8, "1 B/s"))

    done = simulate(
        synth(6, 150, 1).jobs,
        cluster,
        make_allocator(allocator, {}, 1),
        make_policy("conservative", {}),
        estimate_s=lambda job: job.runtime_s * (1 + job.id % 5),
    )

    assert done.tally.allocator_calls / 150 <= MOST[allocator]
    assert done.tally.cluster_copies <= done.tally.allocator_calls
