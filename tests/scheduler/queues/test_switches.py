"""``switches = "count@time"``: how long jobs wait for few leaf switches."""

from dataclasses import replace

import pytest

from coupling.rates.wait_ledger import WaitLedger
from netsim.topology.dragonfly import build_dragonfly
from netsim.topology.fattree import fat_tree_of_radix
from netsim.topology.torus import build_torus
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.queues import make_policy
from scheduler.simulator import simulate
from scheduler.switches import leaf_switches, parse_switches

QUEUES = ("fcfs", "easy", "conservative", "sjf", "priority", "reckless", "cautious")
TREE = fat_tree_of_radix(4, "1 B/s")  # leaves of 2 nodes


def job(number, n_nodes, runtime_s=10.0, submit_s=0.0, switches=None):
    extra = () if switches is None else (("switches", switches),)
    return Job(number, submit_s, n_nodes, runtime_s, runtime_s, extra=extra)


def run(jobs, queue, switches, **options):
    policy = make_policy(queue, {"switches": switches, **options})
    records = simulate(jobs, Cluster(TREE), make_allocator("first-free", {}, 1), policy).records
    return {record.job.id: record for record in records}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", (1, 300.0)),
        ("2@10", (2, 600.0)),
        ("2@0:30", (2, 30.0)),
        ("3@1:00:00", (3, 3600.0)),
        ("1@1-0", (1, 86400.0)),
        ("0", (0, 300.0)),
    ],
)
def test_times_are_read_as_slurm_reads_them(text, found):
    """A bare number is minutes; without a time it is max_switch_wait, 300 s."""
    assert parse_switches(text, "switches") == found


@pytest.mark.parametrize("text", ["", "@3", "1@", "one@1", "-1@1", "1@soon"])
def test_anything_else_is_refused_with_its_place(text):
    with pytest.raises(PolicyError, match='job 4: expected "count@time"'):
        parse_switches(text, "job 4")


@pytest.mark.parametrize("queue", QUEUES)
def test_a_job_waits_for_one_switch_until_its_patience_ends(queue):
    """3 nodes never fit on a leaf of 2: the job waits 90 s beside an empty machine, then starts."""
    assert run([job(1, 3)], queue, "1@1:30")[1].start_s == 90.0


@pytest.mark.parametrize("queue", QUEUES)
def test_a_job_starts_as_soon_as_few_switches_are_enough(queue):
    """
    Three jobs of one node take nodes 0, 1 and 2; after 10 s the second ends.

    First-free offers the job of 2 nodes 3 and 4, on two leaves, then 1 and 3, and from 20 s on
    0 and 1, on one.
    """
    jobs = [job(1, 1, 20.0), job(2, 1, 10.0), job(3, 1, 99.0), job(4, 2, 5.0, submit_s=1.0)]

    record = run(jobs, queue, "1@60")[4]

    assert record.start_s == 20.0
    assert record.allocation.nodes().tolist() == [0, 1]


@pytest.mark.parametrize("queue", QUEUES)
def test_what_a_job_asks_for_itself_goes_before_the_default(queue):
    """One asks for two switches, which it gets at once, one waits 30 s, one has the default."""
    jobs = [
        job(1, 3, switches="2@60"),
        job(2, 3, submit_s=100.0, switches="1@0:30"),
        job(3, 3, submit_s=200.0),
    ]

    records = run(jobs, queue, "1@1")

    assert [records[number].start_s for number in (1, 2, 3)] == [0.0, 130.0, 260.0]


def test_zero_limits_only_jobs_that_ask_for_a_limit():
    jobs = [job(1, 3), job(2, 3, switches="1@2")]

    records = run(jobs, "easy", "0")

    assert [records[number].start_s for number in (1, 2)] == [0.0, 120.0]


def test_a_reservation_is_for_the_time_at_which_few_switches_are_enough():
    """
    As above, with a fifth job of one node for 15 s.

    The head is expected on nodes 0 and 1 at 20 s, not on 1 and 3 at 10 s, so the fifth, which ends
    at 16 s, starts at once.
    """
    jobs = [job(1, 1, 20.0), job(2, 1, 10.0), job(3, 1, 99.0)]
    jobs += [job(4, 2, 5.0, submit_s=1.0), job(5, 1, 15.0, submit_s=1.0)]

    records = run(jobs, "easy", "1@60")

    assert (records[4].start_s, records[5].start_s) == (20.0, 1.0)


@pytest.mark.parametrize("observers", [[], [WaitLedger()]], ids=["unseen", "reasons asked for"])
def test_the_clock_of_a_job_with_a_reservation_runs_while_no_node_is_free(observers):
    """Two reservations: both jobs of 3 nodes have waited 30 s for one leaf when job 1 ends."""
    jobs = [job(1, 16, 100.0, switches="0"), job(2, 3), job(3, 3)]
    policy = make_policy("easy", {"switches": "1@0:30", "reservation_depth": 2})

    done = simulate(
        jobs, Cluster(TREE), make_allocator("first-free", {}, 1), policy, observers=observers
    )

    assert {own.job.id: own.start_s for own in done.records} == {1: 0, 2: 100, 3: 100}


def test_others_overtake_a_job_that_waits_for_switches():
    """EASY: a short job uses the nodes meanwhile, a long one as well, since enough are left."""
    jobs = [job(1, 3, 10.0), job(2, 2, 30.0), job(3, 2, 900.0)]

    starts = {number: record.start_s for number, record in run(jobs, "easy", "1@1").items()}

    assert starts == {1: 60.0, 2: 0.0, 3: 0.0}


@pytest.mark.parametrize(
    ("fabric", "nodes"),
    [
        (build_torus((4, 4), "1 B/s", nodes_per_router=2), 5),
        (build_dragonfly(3, 2, "1 B/s", nodes_per_router=2), 5),
    ],
)
def test_elsewhere_routers_are_the_switches(fabric, nodes):
    """Nodes 0-4 hang on three routers of two nodes."""
    cluster = Cluster(fabric)
    found = make_allocator("first-free", {}, 1).allocate(job(1, nodes), cluster)

    assert leaf_switches(found, cluster) == 3
    assert leaf_switches(replace(found, leaves=((0, 0b11, 0),), job=job(1, 2)), cluster) == 1
