"""Partitions: apart they are machines of their own; on common nodes the higher tier goes first."""

import random

import pandas as pd
import pytest

import fabricsim as fs
from netsim.topology.fattree import fat_tree_of_radix
from netsim.topology.outage import exclude
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.events import MachineEvents
from scheduler.footprint import Footprint, join_all
from scheduler.job import Job
from scheduler.machine import Window
from scheduler.observer import Observer
from scheduler.queues import make_policy
from scheduler.simulator import simulate
from tests.naive.backfilling import NaiveEasy

TREE = fat_tree_of_radix(8, "1 B/s")  # 128 nodes in 8 pods
PLACES = {"reservation_depth": 3, "reservation": "R3"}
APART = {"left": {"nodes": "n[0-47]"}, "right": {"nodes": "n[48-127]", "Default": True}}


def placed(jobs, policy, allocator="first-free", fabric=TREE, **options):
    done = simulate(
        jobs,
        Cluster(fabric),
        make_allocator(allocator, {}, 1),
        policy,
        estimate_s=lambda job: job.requested_s,
        **options,
    )
    return {own.job.id: (own.start_s, own.allocation.nodes().tolist()) for own in done.records}


class Heard(Observer):
    """Keeps the reasons of waiting jobs."""

    def __init__(self):
        self.reasons = {}

    def on_wait(self, news, rest, now_s):
        del rest
        for job, verdict in news.items():
            self.reasons.setdefault(job, []).append((now_s, verdict and verdict.reason))


class Within:
    """An allocator for which nodes outside a partition are taken."""

    isolating = monotone_in_size = monotone_in_free = False
    name = "within"

    def __init__(self, inner, nodes):
        self.inner, self.nodes = inner, nodes

    def allocate(self, job, cluster):
        inside = cluster.copy()
        masks = cluster.geometry.masks(self.nodes)
        outside = [own & ~masks.get(leaf, 0) for leaf, own in enumerate(cluster.leaf_nodes)]
        inside.block(Footprint(join_all(cluster.nodes_per_leaf, outside)))
        return self.inner.allocate(job, inside) if job.n_nodes <= inside.n_free else None


class NaivePartitions:
    """EASY in each partition, the higher tier first; nothing is kept for the next instant."""

    name = "naive-partitions"

    def __init__(self, partitions):
        self.of = {}
        for name, own in sorted(partitions.items(), key=lambda each: -each[1]["PriorityTier"]):
            self.of[name] = NaiveEasy(), TREE.names.nodes([own["nodes"]])

    def __len__(self):
        return sum(len(own) for own, _ in self.of.values())

    def submit(self, job):
        self.of[dict(job.extra)["partition"]][0].submit(job)

    def select(self, machine):
        allocator = machine.allocator
        for own, nodes in self.of.values():
            machine.allocator = Within(allocator, nodes)
            own.select(machine)
        machine.allocator = allocator


def jobs_of(seed, sizes):
    chance = random.Random(seed)  # noqa: S311 (jobs of a test, no secrets)
    submit_s = 0.0
    for number in range(40):
        submit_s += chance.choice([0, 0, 3, 10])
        name = chance.choice(list(sizes))
        run_s = float(chance.randint(1, 60))
        wanted_s = run_s * chance.choice([1, 1, 3])  # a late one is looked at anew at each event
        extra = () if name == "right" else (("partition", name),)
        yield Job(number, submit_s, chance.randint(1, sizes[name]), run_s, wanted_s, extra=extra)


@pytest.mark.parametrize("seeds", [(1, 2), pytest.param((0, 3), marks=pytest.mark.heavy)])
@pytest.mark.parametrize("allocator", ["first-free", "jigsaw", "laas"])
@pytest.mark.parametrize(
    ("policy", "options"),
    [
        ("easy", {}),
        ("fcfs", {}),
        ("conservative", {}),
        ("easy", PLACES),
        ("easy", {"reservation_depth": 3}),
        ("conservative", {"reservation": "node-count"}),
    ],
)
def test_partitions_apart_are_machines_of_their_own(policy, options, allocator, seeds):
    """The other nodes of each are excluded; sets are whole pods, so none shares links."""
    for seed in seeds:
        jobs = list(jobs_of(seed, {"left": 40, "right": 70}))
        queue = {"partitions": APART, "policy": policy, "options": options}

        found = placed(jobs, make_policy("partitions", queue), allocator)

        for name, others in (("left", "n[48-127]"), ("right", "n[0-47]")):
            own = [job for job in jobs if bool(job.extra) == (name == "left")]
            alone = placed(own, make_policy(policy, options), allocator, exclude(TREE, [others]))
            assert {job: found[job] for job in alone} == alone


@pytest.mark.parametrize("allocator", ["first-free", "jigsaw", "laas", "ta"])
@pytest.mark.parametrize(
    "nodes",
    [
        ("n[0-79]", "n[32-127]"),
        ("n[0-41]", "n[42-127]"),
    ],
    ids=["on common nodes", "on common links"],
)
def test_partitions_start_jobs_when_and_where_naive_ones_do(nodes, allocator):
    """Jobs on the other nodes of a leaf or pod may own its links, and give them back."""
    of = {
        name: {"nodes": own, "PriorityTier": tier}
        for name, own, tier in zip(("low", "high"), nodes, (1, 2), strict=True)
    }
    for seed in range(6):
        jobs = list(jobs_of(seed, {"low": 32, "high": 48}))
        heard = Heard()

        found = placed(
            jobs, make_policy("partitions", {"partitions": of}), allocator, observers=[heard]
        )

        assert found == placed(jobs, NaivePartitions(of), allocator)
        if allocator == "first-free":  # then none waits for a place where there are nodes
            reasons = {reason for own in heard.reasons.values() for _, reason in own}
            assert "placement" not in reasons


def test_the_higher_tier_goes_first_on_common_nodes():
    """By hand, on nodes 0-3: at 10 s the job of the higher tier starts, though submitted later."""
    partitions = {
        "low": {"nodes": "n[0-3]", "Default": True},
        "high": {"nodes": "n[0-3]", "PriorityTier": 2},
    }
    jobs = [Job(1, 0.0, 4, 10.0, 10.0), Job(2, 1.0, 4, 10.0, 10.0)]
    jobs.append(Job(3, 2.0, 4, 10.0, 10.0, extra=(("queue", "high"),)))

    found = placed(jobs, make_policy("partitions", {"partitions": partitions}))

    assert {job: start_s for job, (start_s, _) in found.items()} == {1: 0, 3: 10, 2: 20}


def test_a_partition_is_asked_when_nodes_come_back_from_maintenance():
    taken = Footprint(join_all(4, [0b1111] * 12))  # the left nodes, in leaves of 4
    events = MachineEvents(windows=[Window(0.0, 20.0, taken)])
    jobs = [Job(1, 0.0, 48, 10.0, 10.0, extra=(("partition", "left"),))]

    found = placed(jobs, make_policy("partitions", {"partitions": APART}), events=events)

    assert found[1][0] == 20


def test_fair_share_counts_what_a_user_has_in_other_partitions():
    """Job 1 fills the left nodes until 10 s. User 5, who has the right ones, comes behind 6."""
    slurm = {"PriorityWeightFairshare": 1000}
    queue = {"partitions": APART, "policy": "multifactor", "options": {"slurm": slurm}}
    left = (("partition", "left"),)
    jobs = [Job(1, 0.0, 48, 10.0, 10.0, user=4, extra=left), Job(2, 0.0, 80, 99.0, 99.0, user=5)]
    jobs += [Job(n, 1.0, 48, 10.0, 10.0, user=user, extra=left) for n, user in ((3, 5), (4, 6))]

    found = placed(jobs, make_policy("partitions", queue))

    assert [found[job][0] for job in (1, 2, 3, 4)] == [0, 0, 20, 10]


def test_jobs_of_a_partition_wait_for_reasons_of_their_own():
    jobs = [Job(n, 0.0, 40, 10.0, 10.0, extra=(("partition", "left"),)) for n in (1, 2)]
    jobs += [Job(n, 0.0, 70, 20.0, 20.0) for n in (3, 4)]
    heard = Heard()

    placed(jobs, make_policy("partitions", {"partitions": APART}), observers=[heard])

    assert heard.reasons.keys() == {2, 4}


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (
            Job(7, 0.0, 9, 5.0, 5.0),
            "job 7: expected no more than MaxNodes = 8 of partition 'small'",
        ),
        (Job(7, 0.0, 1, 5.0, 3700.0), "expected no more than MaxTime = 3600 s of partition"),
        (
            Job(7, 0.0, 1, 5.0, 5.0, extra=(("queue", "smal"),)),
            "job 7: unknown partition 'smal' (did you mean 'small'?)",
        ),
    ],
)
def test_jobs_that_no_partition_takes_are_refused_by_name(job, message):
    small = {"nodes": "n[0-15]", "MaxNodes": 8, "MaxTime": "1:00:00", "Default": not job.extra}
    with pytest.raises(PolicyError) as refused:
        placed([job], make_policy("partitions", {"partitions": {"small": small}}))
    assert message in str(refused.value)


def test_a_job_of_more_nodes_than_its_partition_is_refused():
    half = {"partitions": {"half": {"nodes": "n[0-7]", "Default": True}}}
    with pytest.raises(PolicyError, match="job 7: expected no more than the 8 nodes of partition"):
        placed(
            [Job(6, 0.0, 8, 5.0, 5.0), Job(7, 3.0, 9, 5.0, 5.0)], make_policy("partitions", half)
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"partitions": {}}, "partitions: expected tables by the names of partitions"),
        ({"partitions": {"a": {"Default": True}, "b": {"Default": True}}}, "got a and b"),
        ({"partitions": {"a": {"node": "n0"}}}, "partition 'a': node: unknown key"),
        ({"partitions": {"a": {"MaxTime": "long"}}}, "MaxTime: expected a duration"),
        ({"partitions": {"a": {}}, "policy": "partitions"}, "policy: expected the queue policy"),
        ({"partitions": {"a": {}}, "policy": "eazy"}, "'eazy'"),
    ],
)
def test_partitions_that_cannot_be_are_refused(options, message):
    with pytest.raises(PolicyError) as refused:
        make_policy("partitions", options)
    assert message in str(refused.value)


def test_partitions_stand_in_an_experiment():
    """A column partition of a table of jobs; nodes that the fabric has not are named."""
    jobs = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "submit_s": [0, 0, 0],
            "n_nodes": [16, 16, 16],
            "runtime_s": [10, 10, 10],
            "partition": ["a", "a", "b"],
        }
    )

    def run(nodes):
        partitions = {"a": {"nodes": nodes}, "b": {"nodes": "n[16-31]"}}
        return fs.run(
            fs.Experiment(
                {"kind": "fat-tree", "radix": 8},
                jobs,
                queue="partitions",
                queue_options={"partitions": partitions},
                model="null",
            )
        )

    found = run("n[0-15]").jobs
    assert found["start_s"].tolist() == [0, 10, 0]
    assert found["nodes"].tolist() == ["n[0-15]", "n[0-15]", "n[16-31]"]
    with pytest.raises(PolicyError, match="partition 'a': nodes: no node or switch 'n200'"):
        run("n200")


def test_a_plan_asks_the_allocator_only_when_its_partition_has_nodes_enough():
    """The second job of one partition is asked about once, not at 20 ends in the other one."""
    left = [Job(number, 0.0, 48, 100.0, 100.0, extra=(("queue", "left"),)) for number in (1, 2)]
    right = [Job(10 + number, 0.0, 1, 50.0 + number, 50.0 + number) for number in range(20)]
    policy = make_policy("partitions", {"partitions": APART, "policy": "conservative"})

    done = simulate(right + left, Cluster(TREE), make_allocator("first-free", {}, 1), policy)

    assert done.tally.allocator_calls == len(left) + len(right)
