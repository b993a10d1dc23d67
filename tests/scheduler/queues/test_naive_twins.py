"""Queues that remember what they have found start jobs when and where naive ones do."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netsim.topology.fattree import fat_tree_of_radix
from netsim.topology.outage import fail
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.queues import make_policy, plan
from scheduler.queues.free_steps import FreeSteps
from scheduler.simulator import simulate
from tests.naive.backfilling import NaiveConservative, NaiveEasy

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "plugins.md"
TREE = fat_tree_of_radix(4, "1 B/s")
LARGER = fat_tree_of_radix(6, "1 B/s")  # 54 nodes in pods of 9


@st.composite
def workloads(draw, nodes=16):
    """Up to 30 jobs; requested times are right, too long, or now and then too short, or nothing."""
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from([0, 0, 0, 3, 20]),
                st.one_of(st.integers(1, nodes), st.integers(1, 4)),
                st.one_of(st.integers(1, 40), st.integers(0, 40)),
                st.sampled_from([1.0, 1.0, 2.0, 5.0, 0.5, 0.0]),
            ),
            min_size=3,
            max_size=30,
        )
    )
    jobs, submit_s = [], 0.0
    for number, (wait, size, run, factor) in enumerate(rows):
        submit_s += wait
        jobs.append(Job(number, submit_s, size, float(run), run * factor))
    return jobs


def schedule(jobs, policy, allocator, tree):
    """Return start, nodes and links of every job."""
    done = simulate(
        jobs,
        Cluster(tree),
        make_allocator(allocator, {}, 1),
        policy,
        estimate_s=lambda job: job.requested_s,
    )
    return {
        record.job.id: (
            record.start_s,
            record.allocation.nodes().tolist(),
            record.allocation.leaves,
            record.allocation.l2s,
        )
        for record in done.records
    }


@pytest.mark.parametrize("allocator", ["jigsaw", "laas", "ta", "first-free", "random"])
@settings(deadline=None, max_examples=25)
@given(jobs=workloads())
def test_easy_starts_jobs_when_and_where_the_naive_one_does(allocator, jobs):
    found = schedule(jobs, make_policy("easy", {}), allocator, TREE)

    assert found == schedule(jobs, NaiveEasy(), allocator, TREE)


def template():
    """Return the queue policy that the page on plug-ins shows."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    exec(next(block for block in blocks if "POLICIES" in block), names)  # noqa: S102 (our page)
    return names["POLICIES"]["plain-easy"]


@pytest.mark.parametrize("window", [3, 50])
@pytest.mark.parametrize("allocator", ["jigsaw", "laas", "ta", "first-free", "random"])
@settings(deadline=None, max_examples=25)
@given(jobs=workloads())
def test_the_template_of_a_queue_policy_is_easy(allocator, window, jobs):
    found = schedule(jobs, template()(window), allocator, TREE)

    assert found == schedule(jobs, make_policy("easy", {"window": window}), allocator, TREE)


@pytest.mark.parametrize("logs", [250, pytest.param(1000, marks=pytest.mark.heavy)])
def test_the_template_is_easy_on_random_logs(logs):
    policy = template()
    for seed in range(logs):
        rng = random.Random(seed)  # noqa: S311 (jobs of a test, not secrets)
        jobs, submit_s = [], 0.0
        for number in range(rng.randint(3, 15)):
            submit_s += rng.choice([0, 0, 0, 3, 20])
            run_s = float(rng.randint(0, 40))
            factor = rng.choice([1.0, 1.0, 2.0, 5.0, 0.5, 0.0])
            jobs.append(Job(number, submit_s, rng.randint(1, 16), run_s, run_s * factor))
        allocator = rng.choice(["first-free", "first-free", "random", "jigsaw"])
        window = rng.choice([2, 50])
        found = schedule(jobs, policy(window), allocator, TREE)

        assert found == schedule(jobs, make_policy("easy", {"window": window}), allocator, TREE)


@pytest.mark.parametrize("allocator", ["jigsaw", "laas", "ta"])
def test_easy_keeps_a_reservation_only_where_the_naive_one_would_make_the_same(allocator):
    """Jobs end about when they should, or much sooner, or later."""
    for seed in range(30):
        rng = random.Random(seed)  # noqa: S311 (jobs of a test, not secrets)
        tree = rng.choice([TREE, LARGER])
        factors = rng.choice([[1, 0.99, 0.9], [1, 1.01], [0.5, 0.9, 1, 2, 5]])
        longest = rng.choice([40, 200, 3000])
        jobs = []
        for number in range(35):
            size = rng.randint(1, rng.choice([8, tree.n_nodes // 2, tree.n_nodes]))
            run_s = float(rng.randint(1, longest))
            jobs.append(Job(number, 0.0, size, run_s, run_s * rng.choice(factors)))
        found = schedule(jobs, make_policy("easy", {}), allocator, tree)

        assert found == schedule(jobs, NaiveEasy(), allocator, tree), seed


@pytest.mark.parametrize("queue", ["easy", "conservative"])
@pytest.mark.parametrize("allocator", ["jigsaw", "laas"])
def test_queues_start_jobs_where_naive_ones_do_on_trees_that_lost_cables(queue, allocator):
    """There a leaf may be whole with some of its up-ports only."""
    naive = {"easy": NaiveEasy, "conservative": NaiveConservative}[queue]
    for seed in range(14, 22):
        rng = random.Random(seed)  # noqa: S311 (jobs of a test, not secrets)
        tree = fat_tree_of_radix(rng.choice([6, 8]), "1 B/s")
        lost = rng.sample(range(2 * tree.n_nodes, tree.n_links), rng.randint(1, 3))
        damaged = fail(tree, lost, [])
        jobs = []
        for number in range(40 if queue == "easy" else 25):
            size = rng.randint(1, rng.choice([tree.n_nodes // 2, 8]))
            run_s = float(rng.randint(1, 40))
            jobs.append(Job(number, 0.0, size, run_s, run_s * rng.choice([1, 1, 2, 5])))
        found = schedule(jobs, make_policy(queue, {}), allocator, damaged)

        assert found == schedule(jobs, naive(), allocator, damaged), (seed, lost)


@pytest.mark.parametrize(
    "allocator", ["jigsaw", "laas", "ta", "lc", "lc+s", "first-free", "contiguous"]
)
@settings(deadline=None, max_examples=15)
@example(jobs=[Job(number, 0.0, size, 1.0, 1.0) for number, size in enumerate([12, 5, 5, 1, 5])])
@given(jobs=workloads())
def test_conservative_starts_jobs_when_and_where_the_naive_one_does(allocator, jobs):
    found = schedule(jobs, make_policy("conservative", {}), allocator, TREE)

    assert found == schedule(jobs, NaiveConservative(), allocator, TREE)


class ComparedPlan(plan.Plan):
    """A plan whose steps are compared, whenever they are asked for, with steps made anew."""

    def __init__(self):
        super().__init__()
        self.compared = 0

    def free_steps(self, machine):
        followed = super().free_steps(machine)
        anew = FreeSteps(machine)
        anew.follow(self.bookings)
        looks = [
            (n_nodes, length_s, None) for n_nodes in (1, 3, 9) for length_s in (0.0, 7.0, 60.0)
        ]
        looks += [
            (each.placement.job.n_nodes, machine.estimate_s(each.placement.job), each)
            for each in self.bookings.values()
        ]
        for n_nodes, length_s, moved in looks:
            found = list(followed.windows(n_nodes, length_s, moved))
            assert found == list(anew.windows(n_nodes, length_s, moved))
            for time_s, nodes in found:
                window = time_s, time_s + length_s, nodes, moved
                assert followed.during(*window) == anew.during(*window)
                self.compared += 1
        return followed


@pytest.mark.parametrize("allocator", ["jigsaw", "laas", "first-free", "lc+s"])
def test_steps_that_follow_a_machine_are_those_that_would_be_made_anew(allocator):
    """Some jobs end early, some late; jobs with links of their own come after one without."""
    for seed in range(6):
        rng = random.Random(seed)  # noqa: S311 (jobs of a test, not secrets)
        tree = rng.choice([TREE, LARGER])
        jobs, submit_s = [], 0.0
        for number in range(30):
            submit_s += rng.choice([0, 0, 1, 9])
            size = rng.randint(1, tree.n_nodes if number % 7 == 0 else 6)
            run_s = float(rng.randint(0, 40))
            factor = rng.choice([1, 1, 2, 5, 0.5, 0])
            jobs.append(Job(number, submit_s, size, run_s, run_s * factor))
        policy = make_policy("conservative", {})
        policy._plan = ComparedPlan()
        schedule(jobs, policy, allocator, tree)

        assert policy._plan.compared > 100


def test_a_job_that_comes_within_reach_as_one_of_no_time_starts_finds_its_nodes_free():
    """
    By hand, on 16 nodes: job 0 ends early at 40, job 1 takes no time then, and job 3 neither.

    Job 3 comes within reach as job 1 starts, and may have its nodes before job 2 has them.
    """
    rows = [(0, 0.0, 4, 40.0, 100.0), (1, 1.0, 15, 0.0, 0.0), (2, 1.0, 15, 1.0, 1.0)]
    jobs = [Job(*row) for row in [*rows, (3, 1.0, 6, 0.0, 0.0)]]
    found = schedule(jobs, make_policy("conservative", {"window": 1}), "first-free", TREE)

    assert {job: place[0] for job, place in found.items()} == {0: 0.0, 1: 40.0, 2: 40.0, 3: 40.0}
    assert found == schedule(jobs, NaiveConservative(1), "first-free", TREE)


@pytest.mark.parametrize("queue", ["easy", "conservative"])
@settings(deadline=None, max_examples=10)
@given(jobs=workloads(54))
def test_jobs_over_three_pods_of_nine_nodes_start_where_the_naive_queues_start_them(queue, jobs):
    naive = NaiveEasy() if queue == "easy" else NaiveConservative()

    found = schedule(jobs, make_policy(queue, {}), "jigsaw", LARGER)

    assert found == schedule(jobs, naive, "jigsaw", LARGER)
