"""Queues in another order, and conservative backfilling, on hand-made jobs."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.footprint import Footprint, join_masks, split_masks
from scheduler.job import Job
from scheduler.queues import make_policy
from scheduler.queues.conservative import Conservative
from scheduler.queues.pinned import Pin, Pinned
from scheduler.simulator import simulate


def job(number, n_nodes=16, runtime_s=10.0, requested_s=None, **fields):
    submit_s = fields.pop("submit_s", 0.0)
    return Job(number, submit_s, n_nodes, runtime_s, requested_s or runtime_s, **fields)


def run(jobs, policy, allocator="first-free", **options):
    cluster = Cluster(fat_tree_of_radix(4, "1 B/s"))
    records = simulate(jobs, cluster, make_allocator(allocator, {}, 1), policy, **options).records
    return {record.job.id: record.start_s for record in records}


def order(jobs, name, **options):
    starts = run(jobs, make_policy(name, options))
    return sorted(starts, key=starts.__getitem__)


def test_shortest_jobs_go_first_by_what_the_scheduler_knows():
    """All of the whole machine: run times 30, 10, 20."""
    jobs = [job(1, runtime_s=30.0), job(2, runtime_s=10.0), job(3, runtime_s=20.0)]

    assert order(jobs, "sjf") == [2, 3, 1]


@pytest.mark.parametrize(
    ("key", "expected"), [("wait", [1, 2, 3]), ("size", [2, 3, 1]), ("requested", [3, 1, 2])]
)
def test_priority_goes_by_its_key(key, expected):
    """Any two of 9, 12 and 11 nodes exclude each other on 16."""
    jobs = [job(1, 9, requested_s=50.0), job(2, 12, requested_s=90.0), job(3, 11, requested_s=20.0)]

    assert order(jobs, "priority", key=key) == expected


def test_fair_share_puts_jobs_of_the_user_with_the_least_use_first():
    """User 1 runs once, then user 2 is served until he has used as much."""
    jobs = [job(n, runtime_s=20.0, user=1) for n in (1, 2)]
    jobs += [job(n, runtime_s=10.0, user=2) for n in (3, 4, 5)]

    assert order(jobs, "priority", key="fair-share", half_life_days=1000.0) == [1, 3, 4, 2, 5]


def test_old_use_is_forgotten():
    """Half of 1000 s fades every 8.64 s: at 1000 s user 1 has used next to nothing."""
    jobs = [job(1, runtime_s=1000.0, user=1), job(2, runtime_s=20.0, user=2)]
    jobs += [job(3, user=2), job(4, user=1)]

    assert order(jobs, "priority", key="fair-share", half_life_days=1e-4) == [1, 2, 4, 3]
    assert order(jobs, "priority", key="fair-share", half_life_days=1000.0) == [1, 2, 3, 4]


def test_age_and_size_are_weighed_as_slurm_does():
    """
    By hand, at 60 s: ages 60, 50, 40 of 100 s, sizes 8, 16, 12 of 16 nodes.

    Weights 100 and 80: 60 + 40 = 100, 50 + 80 = 130, 40 + 60 = 100; equals in order of submission.
    """
    jobs = [job(1, 16, 60.0), job(2, 8), job(3, 16, submit_s=10.0), job(4, 12, submit_s=20.0)]
    weights = {"PriorityWeightAge": 100, "PriorityWeightJobSize": 80, "PriorityMaxAge": "0:01:40"}

    starts = run(jobs, make_policy("multifactor", {"slurm": weights, "window": 0}))

    assert starts == {1: 0.0, 3: 60.0, 2: 70.0, 4: 80.0}


def test_small_jobs_are_favored_where_slurm_says_so():
    jobs = [job(1), job(2, 12), job(3, 9), job(4, 10)]
    options = {"slurm": {"PriorityWeightJobSize": 1000, "PriorityFavorSmall": "YES"}}

    assert order(jobs, "multifactor", **options) == [3, 4, 2, 1]


def test_numbers_of_jobs_may_be_of_any_size():
    first, second = 2**70, 2**70 + 1

    assert order([job(first), job(second)], "multifactor") == [first, second]


def test_fair_share_is_two_to_the_power_of_minus_use_by_share():
    """
    By hand, at 100 s: user 1 has used 4 of 16 parts, user 2 12, user 3 none; shares 1, 4, 1 of 6.

    U/S: 0.25 x 6 = 1.5; 0.75 x 6/4 = 1.125; 0. So user 3, then 2, then 1. With equal shares 1
    (0.75) comes before 2 (2.25).
    """
    jobs = [job(1, 4, 100.0, user=1), job(2, 12, 100.0, user=2)]
    jobs += [job(3, user=1), job(4, user=2), job(5, user=3)]
    options = {"slurm": {"PriorityWeightFairshare": 10000, "PriorityDecayHalfLife": "10000-0"}}

    assert order(jobs, "multifactor", **options)[2:] == [5, 3, 4]
    assert order(jobs, "multifactor", **options, shares={2: 4})[2:] == [5, 4, 3]


def test_use_fades_by_the_half_life():
    """
    Half-life 100 s. User 1 has 16 nodes from 0 to 100 s, user 2 from 100 to 150 s.

    At 150 s: 1600 / ln 2 x (1 - 0.5) x 2^-0.5 = 816 for user 1, for user 2
    1600 / ln 2 x (1 - 2^-0.5) = 676; user 2 comes first. Half-life 10 s: 160 / ln 2 x 2^-5 = 7
    for user 1 and 160 / ln 2 x (1 - 2^-5) = 224 for user 2; user 1 comes first.
    """
    jobs = [job(1, runtime_s=100.0, user=1), job(2, runtime_s=50.0, user=2)]
    jobs += [job(3, user=1, submit_s=140.0), job(4, user=2, submit_s=140.0)]

    def last(half_life):
        weights = {"PriorityWeightFairshare": 10000, "PriorityDecayHalfLife": half_life}
        return order(jobs, "multifactor", slurm=weights)[2:]

    assert last("0:01:40") == [4, 3]
    assert last("0:00:10") == [3, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slurm": {"PriorityWeightQOS": 1}}, "slurm: unknown factor 'PriorityWeightQOS'"),
        ({"slurm": {"PriorityMaxAge": "soon"}}, "PriorityMaxAge: expected a duration such as 7-0"),
        ({"slurm": {"PriorityWeightAge": -1}}, "PriorityWeightAge: expected a number"),
        ({"slurm": {"PriorityFavorSmall": 2}}, "PriorityFavorSmall: expected YES or NO"),
        ({"shares": {3: 0}}, "shares of user 3: expected a positive number"),
    ],
)
def test_what_the_priority_of_slurm_has_not_is_refused(options, message):
    with pytest.raises(PolicyError, match=re.escape(message)):
        make_policy("multifactor", options)


def test_conservative_protects_all_jobs_where_easy_protects_the_head_alone():
    """
    Of 16 nodes job 1 has 12 until 10 s; 2 (all 16) is due then, 3 (13 nodes) at 20 s.

    Job 4 (4 nodes for 25 s) must wait for all three, job 5 (4 nodes for 10 s) fits at once.
    """
    jobs = [job(1, 12), job(2, 16), job(3, 13), job(4, 4, 25.0), job(5, 4, 10.0)]

    assert run(jobs, Conservative()) == {1: 0.0, 2: 10.0, 3: 20.0, 5: 0.0, 4: 30.0}


def test_conservative_refuses_a_job_that_easy_starts():
    """The head leaves 6 nodes at 10 s; the next, due at 20 s, needs two of them."""
    jobs = [job(1, 10), job(2, 10), job(3, 14), job(4, 6, 40.0)]

    assert run(jobs, make_policy("easy", {})) == {1: 0.0, 2: 10.0, 3: 40.0, 4: 0.0}
    assert run(jobs, Conservative()) == {1: 0.0, 2: 10.0, 3: 20.0, 4: 30.0}


def test_reservations_move_forward_until_none_can():
    """
    An early end at 62 s lets job 4 start, and that lets job 3 move from 200 to 176 s.

    One pass over the bookings would leave job 3 at 200 s beside an empty machine.
    """
    jobs = [
        job(1, 8, 62.0, 310.0),
        job(2, 8, 175.0, submit_s=1.0),
        job(3, 16, 11.0, submit_s=2.0),
        job(4, 8, 24.0, submit_s=3.0),
    ]

    starts = run(jobs, Conservative(), estimate_s=lambda j: j.requested_s)

    assert starts == {1: 0.0, 2: 1.0, 3: 176.0, 4: 62.0}


def test_jobs_that_run_for_no_time_hold_their_nodes_for_the_instant():
    """
    Job 1 has 8 of 16 nodes until 10 s, job 2 all of them at 10 s and for no time.

    Job 3 would hold nodes of it then, so it starts at that instant as well; job 4 need not wait.
    """
    jobs = [job(1, 8), job(2, 16, 0.0), job(3, 8, 20.0), job(4, 8, 5.0)]

    assert run(jobs, Conservative()) == {1: 0.0, 2: 10.0, 3: 10.0, 4: 0.0}


def pinned(pins, jobs, free_from_s):
    """Return the starts of jobs under conservative backfilling that a record governs at first."""
    record = {number: Pin(*times, np.array(nodes)) for number, (*times, nodes) in pins.items()}
    return run(
        jobs, Pinned(record, Conservative(), free_from_s), estimate_s=lambda j: j.requested_s
    )


def test_bookings_yield_to_recorded_jobs_that_take_over_shared_nodes():
    """
    Job 1 has nodes 0-3 until 10 s, job 2 shares 2 and 3 with it and has 4 and 5, until 30 s.

    Job 3 of 13 nodes is booked for 10 s, since 14 will be free then; but job 2 takes two of them.
    """
    pins = {1: (0.0, 10.0, range(4)), 2: (0.0, 30.0, range(2, 6)), 3: (6.0, 11.0, range(13))}
    jobs = [job(1, 4, 10.0), job(2, 4, 30.0), job(3, 13, 5.0, submit_s=6.0)]

    assert pinned(pins, jobs, 5.0) == {1: 0.0, 2: 0.0, 3: 30.0}


def test_conservative_takes_over_from_a_record_whose_jobs_ended_early():
    """Job 1 was expected until 50 s and ends at 2 s; job 2 runs on, and job 3 waits for it."""
    pins = {1: (0.0, 2.0, range(4)), 2: (0.0, 30.0, range(4, 8)), 3: (6.0, 9.0, range(13))}
    jobs = [job(1, 4, 2.0, 50.0), job(2, 4, 30.0), job(3, 13, 5.0, submit_s=6.0)]

    assert pinned(pins, jobs, 5.0) == {1: 0.0, 2: 0.0, 3: 30.0}


class Promising(Conservative):
    """Conservative backfilling that keeps every job's first reservation."""

    def __init__(self):
        super().__init__()
        self.promised = {}

    def _book_missing(self, machine):
        missing = super()._book_missing(machine)
        for job_id, booking in self._plan.bookings.items():
            self.promised.setdefault(job_id, booking.start_s)
        return missing


@pytest.mark.parametrize("allocator", ["first-free", "jigsaw", "laas", "ta", "lc+s"])
@settings(deadline=None, max_examples=15)
@given(
    rows=st.lists(
        st.tuples(st.integers(1, 16), st.integers(1, 60), st.sampled_from([1, 1, 3])),
        min_size=3,
        max_size=20,
    )
)
def test_nobody_starts_later_than_first_reserved_unless_a_job_is_late(allocator, rows):
    """Requested times may be too long: early ends only move reservations forward."""
    jobs = [job(n, size, float(run), float(run * f)) for n, (size, run, f) in enumerate(rows)]
    policy = Promising()

    starts = run(jobs, policy, allocator, estimate_s=lambda j: j.requested_s)

    assert all(starts[number] <= policy.promised[number] for number in starts)


@given(st.lists(st.integers(0, 2**70 - 1), min_size=1, max_size=5), st.sampled_from([70, 64, 3]))
def test_masks_come_apart_as_they_were_put_together(masks, width):
    masks = [mask % 2**width for mask in masks]

    assert split_masks(join_masks(width, enumerate(masks)), len(masks), width) == masks


def test_blocking_takes_what_is_free_and_nothing_twice():
    """A cluster without nodes 0, 1, 2 of which 1 was taken already, and one link."""
    cluster = Cluster(fat_tree_of_radix(4, "1 B/s"))
    allocator = make_allocator("first-free", {}, 1)
    cluster.place(allocator.allocate(job(1, 2), cluster))
    reserved = make_allocator("jigsaw", {}, 1).allocate(job(2, 3), Cluster(cluster.fabric))
    twin = cluster.copy()

    twin.block(cluster.footprint(reserved))

    gone = {0, 1, *reserved.nodes().tolist()}
    assert twin.n_free == 16 - len(gone) == sum(twin.pod_free)
    assert allocator.allocate(job(3, twin.n_free + 1), twin) is None
    left = allocator.allocate(job(3, twin.n_free), twin).nodes().tolist()
    assert gone.isdisjoint(left)
    assert all(twin.leaf_up[leaf] & ports == 0 for leaf, _, ports in reserved.leaves)
    assert cluster.n_free == 14  # the original is as it was


def test_footprints_clash_where_a_node_or_link_is_common():
    one = Footprint(nodes=0b011, leaf_ports=0b1)

    assert one.clashes(Footprint(nodes=0b010))
    assert one.clashes(Footprint(nodes=0b100, leaf_ports=0b1))
    assert not one.clashes(Footprint(nodes=0b100, leaf_ports=0b10, l2_ports=0b1))
