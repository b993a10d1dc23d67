"""Isolating allocators on tapered and damaged trees and on bundles of cables: each job proved."""

import random
from itertools import product

import numpy as np
import pytest
from certificates import assert_permutation_routed
from isolation import Ledger, Meter, minimal_links
from sampling import thinned

from coupling.checks.allocators import held_nodes, same_state
from netsim.flows.partition import Partition
from netsim.nonblocking.verdict import Status, rearrangeable
from netsim.registries.topologies import make_topology
from netsim.routing.wraparound import Wraparound
from netsim.topology.base import Topology
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.outage import fail
from netsim.topology.structure.embed import embed_tree
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Job


def uneven():
    """Return leaves of 12, 9, 6, 3 nodes, 0 to 3 cables to each of 3 switches."""
    sizes, cables = (12, 9, 6, 3), ((2, 2, 2), (3, 2, 1), (1, 1, 2), (2, 2, 0))
    leaf = np.repeat(np.arange(4), sizes)
    pairs = [(node, 30 + at) for node, at in enumerate(leaf.tolist())]
    pairs += [(30 + a, 34 + b) for a in range(4) for b in range(3) for _ in range(cables[a][b])]
    seen = {}
    number = [seen.update({p: seen.get(p, -1) + 1}) or seen[p] for p in pairs]
    ends = np.array(pairs)
    links = 2 * len(pairs)
    graph = Topology(
        "uneven", 30, 7, ends.ravel(), ends[:, ::-1].ravel(), np.repeat(number, 2),
        np.ones(links), np.arange(links),
    )  # fmt: skip
    return embed_tree(graph)[0].tree


MACHINES = {
    "no PGFT, held by one": uneven(),
    "2:1 at the leaves": build_fat_tree((8, 4, 4), (1, 4, 4), (1, 1, 1), "1 B/s"),
    "2:1 at the leaves, two levels": build_fat_tree((8, 9), (1, 4), (1, 1), "1 B/s"),
    "2:1 at both levels": build_fat_tree((8, 4, 4), (1, 4, 2), (1, 1, 1), "1 B/s"),
    "bundles, two levels": build_fat_tree((6, 9), (1, 2), (1, 2), "1 B/s"),
    "bundles, three levels": build_fat_tree((4, 4, 5), (1, 2, 4), (1, 2, 2), "1 B/s"),
    "tapered bundles": build_fat_tree((6, 3, 4), (1, 2, 4), (1, 2, 1), "1 B/s"),
    "lost cables": fail(fat_tree_of_radix(6, "1 B/s"), ["s1.3>s2.4", "s2.7>s3.4", "s1.9>s2.10"]),
    "tapered and lost": fail(
        build_fat_tree((8, 4, 4), (1, 4, 4), (1, 1, 1), "1 B/s"), ["s1.3>s2.0", "s2.5>s3.5"]
    ),
}


def served(allocator, cluster, number, size):
    """Return a placement; None where the job waits or never runs."""
    try:
        return allocator.allocate(Job(number, 0.0, size, 1.0, 1.0), cluster)
    except AllocationError:
        return None


def prove(tree, fabric, partition):
    """Demand a certificate that code without a router checks, and routes that stay inside."""
    verdict = rearrangeable(tree, partition, n_random=2)
    assert verdict.status is Status.PROVED
    proof = verdict.certificate
    lists = [proof.routes.of_flow(flow).tolist() for flow in range(proof.src.size)]
    owned = set(partition.links.tolist())
    assert_permutation_routed(fabric, owned, proof.src.tolist(), proof.dst.tolist(), lists)
    pairs = np.array(np.meshgrid(partition.nodes, partition.nodes)).reshape(2, -1)
    links = np.unique(Wraparound.on(tree).routes(*pairs, partition).links)
    assert set(links[links >= tree.up_base[1]].tolist()) <= owned | set(
        range(tree.down_base[0], tree.up_base[1])
    )


@pytest.mark.parametrize(
    "case", thinned(list(product(MACHINES, ["jigsaw", "laas", "lc", "lc+s"])), 3), ids="-".join
)
def test_every_allocation_owns_what_makes_it_rearrangeable_non_blocking(case):
    """120 jobs come and go: nothing is held twice, and every partition is proved."""
    machine, name = case
    churn(MACHINES[machine], name, f"{machine} {name}")


@pytest.mark.parametrize("name", ["jigsaw", "lc"])
def test_a_real_fabric_that_is_no_pgft_has_isolated_partitions(name, shared):
    path = str(shared("data/topo/psmn-x5-ibnetdiscover.txt.gz"))

    churn(make_topology({"kind": "file", "path": path, "as_tree": True}), name, name)


def churn(tree, name, seed):
    """Let jobs come and go, with all checks."""
    fabric = tree.n_nodes, tree.link_tail.tolist(), tree.link_head.tolist()
    rng = random.Random(seed)  # noqa: S311 (jobs of a test, not secrets)
    cluster, ledger, meter = Cluster(tree), Ledger(tree), Meter()
    allocator = make_allocator(name, {}, 1)
    pods_used = set()
    for number in range(120):
        size = rng.randint(1, cluster.n_nodes // rng.choice([2, 4, 8]))
        found = served(allocator, cluster, number, size)
        if found is not None:
            cluster.place(found)
            ledger.place(found)
            meter.change(found, tree, 1)
            pods_used.add(len({leaf // tree.leaves_per_pod for leaf, _, _ in found.leaves}))
            partition = found.partition()
            if partition.links is not None:
                held = np.array(sorted(held_nodes(found)))
                prove(tree, fabric, Partition(held, partition.links))
        for ended in [job for job in cluster.running if rng.random() < 0.15]:
            meter.change(cluster.running[ended], tree, -1)
            cluster.release(ended)
            ledger.release(ended)
    for ended in list(cluster.running):
        cluster.release(ended)
    assert same_state(cluster, Cluster(tree))
    assert tree.levels == 2 or max(pods_used) > 1


@pytest.mark.parametrize("machine", MACHINES)
def test_jobs_of_ta_cannot_meet_on_any_minimal_path(machine):
    tree = MACHINES[machine]
    rng = random.Random(machine)  # noqa: S311 (jobs of a test, not secrets)
    cluster, allocator, reach = Cluster(tree), make_allocator("ta", {}, 1), {}
    for number in range(120):
        size = rng.randint(1, tree.n_nodes // rng.choice([2, 4, 8]))
        found = served(allocator, cluster, number, size)
        if found is not None:
            cluster.place(found)
            reach[number] = minimal_links(tree, held_nodes(found))
            others = [links for job, links in reach.items() if job != number]
            assert reach[number].isdisjoint(set().union(*others))
        for ended in [job for job in cluster.running if rng.random() < 0.15]:
            cluster.release(ended)
            del reach[ended]
