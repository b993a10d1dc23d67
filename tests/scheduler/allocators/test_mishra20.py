"""Greedy, balanced, adaptive and emergent-adaptive on small machines worked by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from isolation import Ledger
from naive.leafcontention import cost_of_placement

from coupling.checks.allocators import same_state
from netsim.registries.contention_models import make_contention_model
from netsim.registries.routings import make_routing
from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.torus import build_torus
from patterns.collectives import Binomial, RecursiveDoubling, RecursiveHalvingVectorDoubling
from scheduler.allocation import Allocation
from scheduler.allocators import make_allocator
from scheduler.allocators.emergent import CANDIDATES
from scheduler.allocators.leaves import placement_cost
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.job import Communication, Job
from scheduler.traffic import TrafficOf

NAMES = ("greedy", "balanced", "adaptive", "emergent-adaptive")
LEAVES_OF_8 = build_fat_tree((8, 4), (1, 8), (1, 1), "1 B/s")
RADIX_6 = fat_tree_of_radix(6, "1 B/s")  # 6 pods of 3 leaves of 3 nodes
DOUBLING = Communication("rd", RecursiveDoubling(), 0.5)


def talker(n_nodes, number=1, communication=DOUBLING):
    return Job(number, 0.0, n_nodes, 1.0, 1.0, communication=communication)


def quiet(n_nodes, number=1):
    return talker(n_nodes, number, None)


def loaded(fabric, talking, silent):
    """Return a cluster with so many nodes of each leaf, from the first, taken by two jobs."""
    cluster = Cluster(fabric)
    for number, make, counts in ((90, talker, talking), (91, quiet, silent)):
        leaves = []
        for leaf, count in enumerate(counts):
            taken = cluster.leaf_free[leaf] & -cluster.leaf_free[leaf]
            if count:
                leaves.append((leaf, taken * ((1 << count) - 1), 0))
        cluster.place(Allocation(make(sum(counts), number), cluster.geometry, tuple(leaves)))
    return cluster


def placed(name, job, cluster, **options):
    """Return {leaf: nodes} in the order of ranks."""
    allocation = make_allocator(name, options, 1).allocate(job, cluster)
    counts = {}
    for node in allocation.nodes().tolist():
        leaf = node // cluster.nodes_per_leaf
        counts[leaf] = counts.get(leaf, 0) + 1
    return counts


class TestGreedy:
    def test_a_communicating_job_takes_the_least_contended_leaves(self):
        """Ratios 4/4 + 4/8, 0/4 + 4/8, 2/3 + 3/8 and 1/1 + 1/8; free 4, 4, 5, 7."""
        cluster = loaded(LEAVES_OF_8, [4, 0, 2, 1], [0, 4, 1, 0])

        assert placed("greedy", talker(8), cluster) == {1: 4, 2: 4}

    def test_a_quiet_job_takes_the_most_contended_leaves(self):
        """The same ratios from the other end: 1.5, 1.125, 1.04, 0.5."""
        cluster = loaded(LEAVES_OF_8, [4, 0, 2, 1], [0, 4, 1, 0])

        assert placed("greedy", quiet(10), cluster) == {0: 4, 3: 6}
        assert placed("greedy", quiet(18), cluster) == {0: 4, 3: 7, 2: 5, 1: 2}

    def test_equal_ratios_go_by_free_nodes(self):
        """Leaf 0 has 1 + 2/8, leaf 1 0 + 8/8 (none free), leaf 2 0.5 + 6/8: 1.25 as leaf 0."""
        cluster = loaded(LEAVES_OF_8, [2, 0, 3, 8], [0, 8, 3, 0])

        assert placed("greedy", talker(7), cluster) == {0: 6, 2: 1}
        assert placed("greedy", quiet(7), cluster) == {2: 2, 0: 5}

    def test_one_leaf_is_enough_where_it_can_be(self):
        """Lines 3 to 5: leaf 2 has just enough free nodes, though it is the most contended."""
        cluster = loaded(LEAVES_OF_8, [0, 0, 5, 2], [1, 1, 0, 0])

        assert placed("greedy", talker(3), cluster) == {2: 3}

    def test_a_pod_is_preferred_to_the_whole_tree(self):
        """Pods 1 and 2 of radix 6 have 9 and 4 free nodes of 9; 4 are asked for."""
        cluster = loaded(RADIX_6, [3] * 3 + [0] * 3 + [1, 2, 2] + [3] * 9, [0] * 18)

        assert placed("greedy", talker(4), cluster) == {6: 2, 7: 1, 8: 1}


class TestBalanced:
    def test_table_2(self):
        """512 nodes on leaves with 160, 150, 100, 80, 70, 50 and 40 free nodes, any order."""
        free = [50, 160, 70, 40, 100, 150, 80]
        tree = build_fat_tree((160, 7), (1, 1), (1, 1), "1 B/s")
        cluster = loaded(tree, [160 - count for count in free], [0] * 7)

        allocation = placed("balanced", talker(512), cluster)

        assert allocation == {1: 128, 5: 128, 4: 64, 6: 64, 2: 64, 0: 32, 3: 32}
        assert list(allocation) == [1, 5, 4, 6, 2, 0, 3]

    def test_what_is_missing_comes_from_what_is_left_over_fewest_free_first(self):
        """Free 7, 6, 3: portions 4, 4, 2 of 16 leave 6 missing: leaf 2 has 1, then 1 has 2, 0 3."""
        tree = build_fat_tree((8, 3), (1, 8), (1, 1), "1 B/s")
        cluster = loaded(tree, [1, 2, 5], [0, 0, 0])

        assert placed("balanced", talker(16), cluster) == {0: 7, 1: 6, 2: 3}
        assert placed("balanced", talker(12), cluster) == {0: 4, 1: 5, 2: 3}

    def test_a_size_between_powers_of_two_starts_from_the_lower_one(self):
        """12 of 8 + 8 nodes: 8, then the 4 that are missing; not 6 and 6."""
        assert placed("balanced", talker(12), Cluster(LEAVES_OF_8)) == {0: 8, 1: 4}

    def test_a_quiet_job_takes_whole_leaves_as_best_fit_does(self):
        cluster = loaded(LEAVES_OF_8, [4, 0, 2, 1], [0, 5, 1, 0])

        assert placed("balanced", quiet(10), cluster) == {1: 3, 0: 4, 2: 3}
        assert placed("slurm-best-fit", quiet(10), cluster) == {0: 4, 1: 3, 2: 3}

    def test_portions_of_ranks_do_not_cross_leaves(self):
        """Ranks follow the portions: 8 on leaf 3, 4 on leaf 0, 4 on leaf 1."""
        cluster = loaded(LEAVES_OF_8, [2, 4, 8, 0], [0, 0, 0, 0])

        allocation = make_allocator("balanced", {}, 1).allocate(talker(16), cluster)

        leaf = allocation.nodes() // 8
        assert leaf.tolist() == [3] * 8 + [0] * 4 + [1] * 4


class TestAdaptive:
    def test_it_takes_balanced_where_steps_stay_on_leaves(self):
        """Free 6, 5, 5: greedy 6 + 2 crosses in every step but one, balanced 4 + 4 in one."""
        cluster = loaded(build_fat_tree((8, 3), (1, 8), (1, 1), "1 B/s"), [0, 0, 0], [2, 3, 3])

        assert placed("greedy", talker(8), cluster) == {0: 6, 1: 2}
        assert placed("balanced", talker(8), cluster) == {0: 4, 1: 4}
        assert placed("adaptive", talker(8), cluster) == {0: 4, 1: 4}
        assert placed("adaptive", quiet(8), cluster) == {1: 5, 2: 3}

    def test_it_takes_greedy_where_balanced_meets_contention(self):
        """Balanced goes for the most free nodes, where seven of eight nodes communicate."""
        tree = build_fat_tree((16, 3), (1, 16), (1, 1), "1 B/s")
        cluster = loaded(tree, [11, 0, 0], [0, 12, 12])

        assert placed("balanced", talker(8), cluster) == {0: 4, 1: 4}
        assert placed("adaptive", talker(8), cluster) == placed("greedy", talker(8), cluster)
        assert placed("greedy", talker(8), cluster) == {1: 4, 2: 4}

    @settings(deadline=None, max_examples=60)
    @given(st.integers(0, 2**32 - 1))
    def test_its_cost_is_the_lower_of_the_two_by_the_plain_twin(self, seed):
        """For a quiet job the higher; random states of 4 leaves of 8."""
        rng = np.random.default_rng(seed)
        talking = rng.integers(0, 5, 4)
        cluster = loaded(LEAVES_OF_8, talking.tolist(), rng.integers(0, 3, 4).tolist())
        size = int(rng.integers(2, cluster.n_free + 1))
        pattern = RecursiveDoubling()
        steps = [
            list(zip(step.src.tolist(), step.dst.tolist(), strict=True))
            for step in pattern.steps(size)
        ]
        others = cluster.running[90].nodes().tolist()
        best = {True: min, False: max}
        for job in (talker(size), quiet(size)):
            communicates = job.communication is not None
            cost = {}
            for name in ("greedy", "balanced", "adaptive"):
                nodes = make_allocator(name, {}, 1).allocate(job, cluster).nodes().tolist()
                communicating = [*others, *nodes] if communicates else others
                cost[name] = cost_of_placement(nodes, communicating, steps, (8, 4))
            chosen = best[communicates](cost["greedy"], cost["balanced"])
            assert cost["adaptive"] == chosen

    def test_bytes_count_if_asked_for(self):
        """
        RHVD of 16 nodes on 8 + 8, there and back.

        By hops 3 near steps and a far one each way; by hop-bytes the far one has 8 of 15 bytes.
        """
        cluster = Cluster(build_fat_tree((16, 2), (1, 16), (1, 1), "1 B/s"))
        job = talker(16, communication=Communication("x", RecursiveHalvingVectorDoubling(16), 1.0))
        halves = Allocation(job, cluster.geometry, ((0, 0xFF, 0), (1, 0xFF, 0)))
        near, far = 2 * (1 + 0.5), 4 * (1 + 0.5 + 0.5 + 0.25)

        hops = placement_cost(job.communication.pattern, halves, cluster)
        weighed = placement_cost(job.communication.pattern, halves, cluster, hop_bytes=True)

        assert hops == pytest.approx(2 * (3 * near + far))
        assert weighed == pytest.approx(2 * ((1 + 2 + 4) * near + 8 * far))

    def test_binomial_broadcast_costs_what_recursive_doubling_does_on_two_halves(self):
        """The same distances, only fewer pairs: section 6.4's equal reductions."""
        cluster = Cluster(build_fat_tree((16, 2), (1, 16), (1, 1), "1 B/s"))
        halves = Allocation(talker(16), cluster.geometry, ((0, 0xFF, 0), (1, 0xFF, 0)))

        assert placement_cost(Binomial(), halves, cluster) == placement_cost(
            RecursiveDoubling(), halves, cluster
        )


def network_total(tree, allocations):
    """Return the sum of nodes x slowdown of placed jobs, from the model and routing alone."""
    traffic_of = TrafficOf(tree, make_routing("d-mod-k", tree))
    model = make_contention_model("fluid", tree, options={"tolerance": 1e-6})
    factor = {}
    for allocation in allocations:
        placed_traffic = traffic_of(allocation.job.communication, allocation.partition())
        model.start(allocation.job.id, placed_traffic.traffic)
        factor[allocation.job.id] = allocation.job.n_nodes * placed_traffic.placement_factor
    return sum(factor[job] * value for job, value in model.solve().items())


class TestEmergentAdaptive:
    @pytest.mark.parametrize("seed", range(6))
    def test_it_takes_the_candidate_with_the_least_total_slowdown(self, seed):
        """Of balanced, greedy, best fit and first free, judged here by the event model."""
        rng = np.random.default_rng(seed)
        cluster = Cluster(RADIX_6)
        for number in range(5):
            job = talker(
                int(rng.integers(4, 9)), 10 + number, Communication("x", DOUBLING.pattern, 0.9)
            )
            cluster.place(make_allocator("random", {}, seed).allocate(job, cluster))
        job = talker(16, communication=Communication("x", RecursiveDoubling(), 0.9))

        chosen = make_allocator("emergent-adaptive", {}, 1).allocate(job, cluster)

        running = list(cluster.running.values())
        totals = [
            network_total(RADIX_6, [*running, candidate.allocate(job, cluster)])
            for candidate in CANDIDATES
        ]
        assert network_total(RADIX_6, [*running, chosen]) <= 1.002 * min(totals)
        assert max(totals) > 1.002 * min(totals)

    def test_a_job_without_traffic_is_placed_as_best_fit_does(self):
        cluster = loaded(LEAVES_OF_8, [4, 0, 2, 1], [0, 5, 1, 0])

        silent = Communication("x", DOUBLING.pattern, 0.0)

        for job in (quiet(10), talker(10, communication=silent)):
            assert placed("emergent-adaptive", job, cluster) == {0: 4, 1: 3, 2: 3}

    def test_what_it_remembers_of_running_jobs_changes_no_answer(self):
        """Ids come back on other nodes, and another machine is asked about in between."""
        allocator = make_allocator("emergent-adaptive", {}, 1)
        rng = np.random.default_rng(3)
        for _ in range(12):
            cluster = Cluster(RADIX_6)
            for number in range(4):
                job = talker(int(rng.integers(3, 9)), number)
                scattered = make_allocator("random", {}, int(rng.integers(99)))
                cluster.place(scattered.allocate(job, cluster))
            allocator.allocate(talker(12, 99), Cluster(LEAVES_OF_8))
            fresh = make_allocator("emergent-adaptive", {}, 1)
            answers = [each.allocate(talker(14, 50), cluster) for each in (allocator, fresh)]

            assert answers[0].nodes().tolist() == answers[1].nodes().tolist()

    def test_an_unknown_routing_lists_the_choices(self):
        with pytest.raises(AllocationError, match=r"routing: expected one of .*d-mod-k"):
            make_allocator("emergent-adaptive", {"routing": "d-mod"}, 1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "fabric", [RADIX_6, build_fat_tree((3, 3, 2), (2, 3, 3), (1, 1, 1), "1 B/s")]
)
def test_communicating_jobs_come_and_go_with_nodes_given_once(name, fabric):
    """The contract of all allocators, with jobs that communicate among quiet ones."""
    rng = np.random.default_rng(7)
    cluster, ledger = Cluster(fabric), Ledger(RADIX_6) if fabric is RADIX_6 else None
    allocator = make_allocator(name, {}, 1)
    for number in range(120):
        job = (talker, quiet)[number % 3 == 0](
            1 + int(rng.integers(fabric.n_nodes) ** 2 / 60), number
        )
        if cluster.running and rng.random() < 0.4:
            ended = cluster.release(int(rng.choice(list(cluster.running))))
            if ledger:
                ledger.release(ended.job.id)
        if job.n_nodes > fabric.n_nodes:
            continue
        before = cluster.copy()
        allocation = allocator.allocate(job, cluster)

        assert same_state(cluster, before)
        assert (allocation is None) == (job.n_nodes > cluster.n_free)
        if allocation is None:
            continue
        again = make_allocator(name, {}, 1).allocate(job, before)
        assert (again.leaves, again.order) == (allocation.leaves, allocation.order)
        assert sorted(set(allocation.nodes().tolist())) == sorted(
            replace(allocation, order=None).nodes().tolist()
        )
        cluster.place(allocation)
        if ledger:
            ledger.place(allocation)
    for number in list(cluster.running):
        cluster.release(number)
    assert same_state(cluster, Cluster(fabric))


@pytest.mark.parametrize("name", ["greedy", "balanced"])
def test_options_they_do_not_have_are_refused(name):
    with pytest.raises(AllocationError, match=f"allocator '{name}': unknown option 'cost'"):
        make_allocator(name, {"cost": "hops"}, 1)


@pytest.mark.parametrize("name", NAMES)
def test_other_machines_are_refused_by_name(name):
    with pytest.raises(AllocationError, match=f"'{name}' needs a tree of switches, got torus"):
        make_allocator(name, {}, 1).allocate(talker(2), Cluster(build_torus((4, 4), "1 B/s")))


def test_adaptive_has_two_costs():
    with pytest.raises(AllocationError, match="cost: expected one of hops, hop-bytes, got 'bytes'"):
        make_allocator("adaptive", {"cost": "bytes"}, 1)
