"""
Thousands of allocations on machines in use, each checked by the independent checkers.

The default suite makes 4,000 allocations and ``pytest -m heavy`` 200,000; a million by

    FABRICSIM_ALLOCATIONS=1000000 pytest -m heavy tests/scheduler/allocators
"""

import os
import random
from collections import Counter
from zlib import crc32

import pytest
from isolation import (
    Ends,
    Ledger,
    Meter,
    broken_conditions,
    minimal_links,
)

from coupling.checks.allocators import held_nodes, same_state
from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Job

RADICES = (8, 16, 18, 28)
CASES = {
    "jigsaw": ("jigsaw", {}),
    "jigsaw-index": ("jigsaw", {"order": "index"}),
    "jigsaw-links": ("jigsaw", {"single_leaf_links": True}),
    "laas": ("laas", {}),
    "lc": ("lc", {}),
    "lc+s": ("lc+s", {}),
    "ta": ("ta", {}),
    "ta-index": ("ta", {"order": "index"}),
    "ta-whole": ("ta", {"whole_leaves": True}),
}
N_RUNS = len(RADICES) * len(CASES)
DEFAULT_RUN = 4_000  # allocations over all runs
HEAVY_RUN = int(os.environ.get("FABRICSIM_ALLOCATIONS", "200000"))


def churn(tree, allocator, n_allocations, rng):
    """
    Yield (allocation, whether it is placed) while jobs come and go.

    Jobs come in turn; while the next does not fit, others leave, and now and then the machine
    drains to a random number of free nodes. At the end all leave and the cluster is as new.
    """
    cluster = Cluster(tree)
    drain_to = 0
    for number in range(n_allocations):
        mean = tree.n_nodes / (40 if rng.random() < 0.7 else 8)
        size = min(tree.n_nodes, 1 + int(rng.expovariate(1 / mean)))
        job = Job(number, 0.0, size, 1.0, 1.0)
        drain_to = rng.randrange(tree.n_nodes) if rng.random() < 0.02 else 0
        allocation = None
        while cluster.n_free < drain_to or (allocation := allocator.allocate(job, cluster)) is None:
            yield cluster.release(rng.choice(list(cluster.running))), False
        cluster.place(allocation)
        yield allocation, True
    while cluster.running:
        yield cluster.release(rng.choice(list(cluster.running))), False
    assert same_state(cluster, Cluster(tree))


def spanned(allocation, tree):
    """Return the pods of an allocation."""
    return {leaf // tree.leaves_per_pod for leaf, _, _ in allocation.leaves}


def check(case, radix, n_allocations):
    """Run a churn with all checkers at work; nobody holds anything at the end."""
    name, options = CASES[case]
    tree = fat_tree_of_radix(radix, "1 B/s")
    ledger, meter, ends = Ledger(tree), Meter(), Ends(tree)
    reachable = {}  # links that a job under TA could meet another on -> the job
    seed = crc32(f"{case} {radix}".encode())
    generator = random.Random(seed)  # noqa: S311 (jobs of a test, not secrets)
    allocator = make_allocator(name, options, seed)
    pods = Counter()
    for allocation, placed in churn(tree, allocator, n_allocations, generator):
        meter.change(allocation, tree, 1 if placed else -1)
        reach = minimal_links(tree, held_nodes(allocation))
        if not placed:
            ledger.release(allocation.job.id)
            if name == "ta":
                for link in reach:
                    del reachable[link]
            continue
        ledger.place(allocation)
        pods[min(2, len(spanned(allocation, tree)))] += 1
        if name == "ta":
            assert reachable.keys().isdisjoint(reach)
            reachable.update(dict.fromkeys(reach, allocation.job.id))
        else:
            whole = name in {"jigsaw", "laas"}
            assert broken_conditions(tree, ends, allocation, whole_leaves=whole) == []
    assert not ledger.node_of
    assert not ledger.link_of
    assert not +meter.units
    assert min(pods[1], pods[2]) > n_allocations / 20, "both searches are to be tested"


@pytest.mark.parametrize("radix", RADICES)
@pytest.mark.parametrize("case", CASES)
def test_every_allocation_is_isolated_and_legal(case, radix):
    """4,000 allocations in all; LC+S keeps its bandwidth cap instead of isolation."""
    check(case, radix, -(-DEFAULT_RUN // N_RUNS))


@pytest.mark.heavy
@pytest.mark.parametrize("radix", RADICES)
@pytest.mark.parametrize("case", CASES)
def test_every_allocation_of_a_long_run_is_isolated_and_legal(case, radix):
    """200,000 allocations in all."""
    check(case, radix, -(-HEAVY_RUN // N_RUNS))
