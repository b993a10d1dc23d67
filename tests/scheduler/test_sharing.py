"""Jobs share nodes as a naive scheduler places them; whole-node jobs run as they did before."""

import random

import pytest

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocation import NodeUnits
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError, PolicyError
from scheduler.events import FailurePolicy, MachineEvent, MachineEvents
from scheduler.job import Job
from scheduler.queues import make_policy
from scheduler.sharing import Sharing
from scheduler.simulator import simulate
from tests.naive.sharing import easy

TREE = fat_tree_of_radix(4, "1 B/s")  # 16 nodes
NODE = NodeUnits(8, 2, 64)


def played(jobs, queue="easy", allocator="first-free", node=NODE, events=None, **options):
    own = make_policy(queue, options)
    done = simulate(jobs, Cluster(TREE, node), make_allocator(allocator, {}, 1), own, events=events)
    return {r.job.id: (r.start_s, r.allocation.nodes().tolist()) for r in done.records}, done


def jobs_of(seed, n_jobs=40):
    """Return jobs of whole nodes and of parts."""
    chance = random.Random(seed)  # noqa: S311 (jobs of a test, no secrets)
    submit_s = 0.0
    for number in range(n_jobs):
        submit_s += chance.choice([0, 0, 0, 3, 20])
        n_nodes = chance.choice([1, 1, 1, 2, 3, 9])
        run_s = float(chance.randint(1, 60))
        each = chance.choice([(0, 0, 0), (1, 0, 8), (2, 1, 0), (4, 2, 64), (7, 0, 1), (8, 1, 3)])
        units = [n_nodes * own - (own > 1) for own in each]  # of some one less on one node
        yield Job(
            number,
            submit_s,
            n_nodes,
            run_s,
            run_s,
            cores=units[0],
            gpus=units[1],
            memory_mb=units[2],
        )


@pytest.mark.parametrize("seeds", [16, pytest.param(40, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("node", [NODE, NodeUnits(8), NodeUnits(0, 2, 0), NodeUnits(8, 0, 64)])
def test_jobs_share_nodes_as_the_naive_scheduler_places_them(node, seeds):
    for seed in range(seeds):
        jobs = list(jobs_of(seed))

        assert played(jobs, window=1000, node=node)[0] == easy(jobs, 16, node), seed


@pytest.mark.parametrize("policy", ["fcfs", "easy", "sjf", "priority", "multifactor", "partitions"])
@pytest.mark.parametrize("allocator", ["first-free", "random", "contiguous", "slurm-best-fit"])
def test_no_node_is_given_twice_and_all_is_free_at_the_end(policy, allocator):
    for seed in range(4):
        jobs = list(jobs_of(seed))
        found, done = played(jobs, policy, allocator)
        assert len(found) == len(jobs)
        events = sorted(
            [(r.end_s, 0, r) for r in done.records] + [(r.start_s, 1, r) for r in done.records],
            key=lambda event: event[:2],
        )
        gpus, cores = [[0] * 16 for _ in range(2)]
        for _, begins, record in events:
            job, own = record.job, record.allocation
            whole = own.share is None
            each = NODE if whole else own.share
            masks = dict(own.gpus)
            for node in own.nodes().tolist():
                mask = 3 if whole else masks.get(node, 0)
                assert mask.bit_count() == each.gpus
                assert not (begins and gpus[node] & mask), (job.id, node)
                gpus[node] ^= mask
                cores[node] += each.cores if begins else -each.cores
                assert 0 <= cores[node] <= NODE.cores
        assert not any(gpus + cores)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "sjf", "multifactor"])
def test_jobs_of_whole_nodes_run_as_on_a_machine_that_is_not_shared(policy):
    """Those that say nothing of cores, and those that take all of them."""
    for seed in range(10):
        chance = random.Random(seed)  # noqa: S311 (jobs of a test, no secrets)
        jobs = [
            Job(n, 0.0, chance.randint(1, 12), run := float(chance.randint(1, 40)), run)
            for n in range(30)
        ]
        alone = played(jobs, policy, node=None)[0]
        full = [
            Job(j.id, 0.0, j.n_nodes, j.runtime_s, j.requested_s, cores=8 * j.n_nodes) for j in jobs
        ]

        assert played(jobs, policy)[0] == alone
        assert played(full, policy)[0] == alone


def test_a_job_gets_the_same_gpus_of_its_nodes_where_it_can():
    """By hand: GPU 0 of node 0 is taken, so the pair gets GPU 1 of nodes 0 and 1."""
    jobs = [Job(1, 0.0, 1, 9.0, 9.0, gpus=1), Job(2, 0.0, 2, 9.0, 9.0, gpus=2)]

    _, done = played(jobs, node=NodeUnits(gpus=2))

    assert [r.allocation.gpus for r in done.records] == [((0, 1),), ((0, 2), (1, 2))]


def test_parts_of_nodes_are_counted_as_busy():
    """By hand: one of two GPUs on one node, half a node, for 9 s; then nothing."""
    _, done = played([Job(1, 0.0, 1, 9.0, 9.0, gpus=1)])

    assert done.timeline.busy_nodes == [0.5, 0]


def test_a_node_that_goes_down_ends_all_its_jobs_and_takes_none_until_it_is_back():
    """By hand: two jobs share node 0, which fails at 5 s; both begin anew at 6 s on node 1."""
    jobs = [Job(n, 0.0, 1, 10.0, 10.0, cores=2) for n in (1, 2)]
    jobs.append(Job(3, 6.0, 1, 1.0, 1.0, cores=2))
    down = MachineEvents(
        [MachineEvent(5.0, "down", (0,)), MachineEvent(50.0, "up", (0,))],
        policy=FailurePolicy(delay_s=1.0),
    )

    found, done = played(jobs, events=down)

    assert len(done.failed) == 2
    assert found == {1: (6.0, [1]), 2: (6.0, [1]), 3: (6.0, [1])}


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        ("conservative", {}),
        ("cautious", {}),
        ("reckless", {}),
        ("easy", {"reservation": "R3"}),
        ("easy", {"reservation": "node-count"}),
        ("sjf", {"reservation_depth": 2}),
        ("partitions", {"policy": "conservative"}),
    ],
)
def test_queue_policies_that_count_whole_nodes_are_refused_by_name(policy, options):
    with pytest.raises(PolicyError, match=f"queue policy '{policy}': where jobs share nodes"):
        played([Job(1, 0.0, 1, 1.0, 1.0)], policy, **options)


@pytest.mark.parametrize("name", ["jigsaw", "laas", "lc", "ta"])
def test_allocators_whose_jobs_own_links_are_refused_by_name(name):
    with pytest.raises(AllocationError, match=f"allocator '{name}': jobs own links"):
        Sharing(make_allocator(name, {}, 1))


def test_a_job_that_wants_more_of_a_node_than_there_is_is_refused():
    with pytest.raises(AllocationError, match="job 7: gpus: expected at most 2 on each of 2 nodes"):
        played([Job(7, 0.0, 2, 1.0, 1.0, gpus=5)])
