"""Limits of users hold jobs back as a naive scheduler does, and delay no other user."""

import random
from math import inf

import pytest

from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import PolicyError
from scheduler.job import Job
from scheduler.observer import Observer
from scheduler.queues import make_policy
from scheduler.simulator import simulate
from tests.naive.backfilling import NaiveLimitedEasy

TREE = fat_tree_of_radix(4, "1 B/s")  # 16 nodes


def placed(jobs, policy, **options):
    done = simulate(jobs, Cluster(TREE), make_allocator("first-free", {}, 1), policy, **options)
    return {own.job.id: (own.start_s, own.allocation.nodes().tolist()) for own in done.records}


def jobs_of(seed, largest):
    chance = random.Random(seed)  # noqa: S311 (jobs of a test, no secrets)
    submit_s = 0.0
    for number in range(40):
        submit_s += chance.choice([0, 0, 0, 3, 20])
        run_s, size = float(chance.randint(1, 40)), chance.randint(1, largest)
        yield Job(number, submit_s, size, run_s, run_s, user=chance.randint(0, 3))


@pytest.mark.parametrize("seeds", [12, pytest.param(30, marks=pytest.mark.heavy)])
@pytest.mark.parametrize(
    ("limits", "most"),
    [
        ({"MaxJobsPerUser": 1}, (1, inf)),
        ({"MaxJobsPerUser": 3}, (3, inf)),
        ({"MaxTRESPerUser": "node=6"}, (inf, 6)),
        ({"MaxJobsPerUser": 2, "MaxTRESPerUser": "node=8"}, (2, 8)),
    ],
)
@pytest.mark.parametrize(
    ("queue", "order"), [("easy", None), ("sjf", lambda job: (job.runtime_s, job.id))]
)
def test_limits_hold_jobs_back_as_a_naive_scheduler_does(queue, order, limits, most, seeds):
    for seed in range(seeds):
        jobs = list(jobs_of(seed, min(12, most[1])))

        found = placed(jobs, make_policy(queue, {"limits": limits}))

        assert found == placed(jobs, NaiveLimitedEasy(*most, order=order)), seed


@pytest.mark.parametrize("queue", ["fcfs", "easy", "sjf", "priority", "multifactor", "partitions"])
def test_no_user_ever_has_more_than_the_limit_and_all_jobs_run(queue):
    limits = {"MaxJobsPerUser": 2, "MaxTRESPerUser": "node=8"}
    options = {"options": {"limits": limits}} if queue == "partitions" else {"limits": limits}
    for seed in range(5):
        jobs = list(jobs_of(seed, 8))
        found = placed(jobs, make_policy(queue, options))
        assert found.keys() == {job.id for job in jobs}
        for now, _ in found.values():
            for user in range(4):
                on = [j for j in jobs if j.user == user and found[j.id][0] <= now]
                on = [job for job in on if now < found[job.id][0] + job.runtime_s]
                assert len(on) <= 2
                assert sum(job.n_nodes for job in on) <= 8


def test_limits_that_none_reaches_change_nothing():
    limits = {"MaxJobsPerUser": 100, "MaxTRESPerUser": "node=1000"}
    for queue in ("fcfs", "easy", "sjf", "multifactor"):
        jobs = list(jobs_of(7, 16))

        assert placed(jobs, make_policy(queue, {"limits": limits})) == placed(
            jobs, make_policy(queue, {})
        )


class Heard(Observer):
    """Keeps the reasons of waiting jobs."""

    def __init__(self):
        self.reasons = {}

    def on_wait(self, news, rest, now_s):
        del rest, now_s
        for job, verdict in news.items():
            if verdict is not None:
                self.reasons.setdefault(job, []).append(verdict.reason)


def test_jobs_that_a_limit_holds_back_say_so():
    """By hand: a machine of 16 nodes runs job 1 of user 0 and job 3 of user 1; job 2 is held."""
    jobs = [Job(1, 0.0, 4, 9.0, 9.0, user=0), Job(2, 0.0, 4, 9.0, 9.0, user=0)]
    jobs.append(Job(3, 0.0, 4, 9.0, 9.0, user=1))
    heard = Heard()

    found = placed(jobs, make_policy("easy", {"limits": {"MaxJobsPerUser": 1}}), observers=[heard])

    assert {job: start_s for job, (start_s, _) in found.items()} == {1: 0, 2: 9, 3: 0}
    assert heard.reasons == {2: ["user-limit"]}


@pytest.mark.parametrize(
    ("queue", "options", "message"),
    [
        ("conservative", {}, "queue 'conservative': limits: expected fcfs, easy, sjf"),
        ("easy", {"reservation_depth": 2}, "limits: expected reservation_depth 0 or 1"),
        ("priority", {"key": "fair-share"}, "limits: expected another key than fair-share"),
        ("easy", {"limits": {"MaxJobs": 2}}, "limits: MaxJobs: unknown key"),
        ("easy", {"limits": {"MaxTRESPerUser": "cpu=2"}}, "a text such as 'node=64'"),
        ("easy", {"limits": 3}, "limits: expected a table such as"),
    ],
)
def test_limits_that_a_policy_cannot_keep_are_refused(queue, options, message):
    with pytest.raises(PolicyError, match=message):
        make_policy(queue, {"limits": {"MaxJobsPerUser": 2}, **options})


def test_a_job_above_its_users_limit_is_refused():
    policy = make_policy("easy", {"limits": {"MaxTRESPerUser": "node=3"}})
    with pytest.raises(PolicyError, match="job 7: expected no more than MaxTRESPerUser = node=3"):
        placed([Job(7, 0.0, 4, 1.0, 1.0)], policy)
