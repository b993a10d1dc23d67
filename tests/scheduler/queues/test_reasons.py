"""Why jobs wait: by hand, and against what a queue would do whose allocator counted nodes alone."""

from copy import deepcopy
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coupling.rates.wait_ledger import MOST_HOLDERS, WaitLedger
from coupling.results.from_schedule import wait_table
from netsim.topology.fattree import fat_tree_of_radix
from scheduler.allocators import FirstFree, make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.queues import make_policy
from scheduler.queues.easy import Easy, ExcludingPlacements, HeadStillFits
from scheduler.reasons import NO_JOB, Verdict, WaitReasons
from scheduler.simulator import simulate


def job(number, n_nodes, runtime_s=10.0, submit_s=0.0):
    return Job(number, submit_s, n_nodes, runtime_s, runtime_s)


def waits(jobs, policy, allocator="first-free"):
    """Return (reason, holder, root, seconds) by job, on 16 nodes: 2 a leaf, 4 a pod."""
    ledger = WaitLedger()
    cluster = Cluster(fat_tree_of_radix(4, "1 B/s"))
    records = simulate(
        jobs, cluster, make_allocator(allocator, {}, 1), policy, observers=[ledger]
    ).records
    table = wait_table(ledger).frame()
    total = table.groupby("id")["wait_s"].sum()
    for record in records:
        assert total.get(record.job.id, 0.0) == pytest.approx(record.start_s - record.job.submit_s)
    rows = {}
    for row in table.itertuples():
        reasons = (str(row.reason), row.holder, str(row.root), row.wait_s)
        rows.setdefault(row.id, set()).add(reasons)
    return rows


FRAGMENTED = [job(1, 3), job(2, 3), job(3, 3), job(4, 3), job(5, 3), job(6, 5)]


@pytest.mark.parametrize("queue", ["easy", "conservative"])
def test_a_job_for_which_isolation_forbids_the_free_nodes_says_so(queue):
    """TA: jobs of 3 nodes own a pod each; one node is left in each of the four pods."""
    found = waits(FRAGMENTED, make_policy(queue, {}), "ta")

    assert found[5] == {("isolation", 5, "", 10.0)}
    assert found[6] == {("nodes", NO_JOB, "", 10.0)}  # 5 nodes of 4


def test_behind_a_head_that_isolation_holds_up_no_job_overtakes():
    found = waits(FRAGMENTED, make_policy("fcfs", {}), "ta")

    assert found[5] == {("isolation", 5, "", 10.0)}
    assert found[6] == {("order", NO_JOB, "isolation", 10.0)}


def test_an_allocator_that_does_not_isolate_may_still_find_no_place():
    """Contiguous: nodes 0-3 and 12-15 are free after 5 s, 8 in all, never 6 in a row."""
    jobs = [job(1, 4, 5.0), job(2, 8), job(3, 4, 5.0), job(4, 6)]

    found = waits(jobs, make_policy("easy", {}), "contiguous")

    assert found[4] == {("nodes", 4, "", 5.0), ("placement", 4, "", 5.0)}


@pytest.mark.parametrize(
    ("queue", "options"),
    [
        ("easy", {}),
        ("easy", {"reservation": "R3"}),
        ("easy", {"reservation": "node-count"}),
        ("priority", {}),
        ("conservative", {}),
        ("reckless", {}),
    ],
)
def test_who_would_run_into_a_reservation_names_whose(queue, options):
    """Job 2 wants all nodes from 10 s on, for 5 s; job 3 would run on 4 of them until 20 s."""
    jobs = [job(1, 12), job(2, 16, 5.0), job(3, 4, 20.0)]

    found = waits(jobs, make_policy(queue, options))

    assert found[2] == {("nodes", 2, "", 10.0)}
    assert found[3] == {("reservation", 2, "nodes", 10.0), ("nodes", 3, "", 5.0)}


def test_beyond_the_window_no_job_is_looked_at():
    jobs = [job(1, 12), job(2, 16, 5.0), job(3, 4, 5.0)]

    found = waits(jobs, make_policy("easy", {"window": 0}))

    assert found[3] == {("window", NO_JOB, "nodes", 10.0), ("nodes", 3, "", 5.0)}


def test_a_job_that_newcomers_overtake_is_out_of_reach_again():
    """
    Shortest first, one behind the first is looked at.

    Job 2 runs until 5 s. Job 4 comes at 2 s and stands before job 3, so job 1 is the third; job 4
    runs until 11 s, and job 3 until 18 s.
    """
    jobs = [job(1, 16), job(2, 16, 5.0), job(3, 16, 7.0), job(4, 16, 6.0, 2.0)]

    found = waits(jobs, make_policy("sjf", {"window": 1}))

    assert found[3] == {("nodes", 3, "", 2.0 + 6.0), ("nodes", NO_JOB, "", 3.0)}
    assert found[1] == {
        ("nodes", NO_JOB, "", 2.0 + 6.0),
        ("window", NO_JOB, "nodes", 3.0),
        ("nodes", 1, "", 7.0),
    }


@pytest.mark.parametrize("queue", ["easy", "conservative"])
def test_a_limit_of_switches_is_a_reason_of_its_own(queue):
    """3 nodes span two leaves; the job wants one, for 10 s."""
    found = waits([job(1, 3)], make_policy(queue, {"switches": "1@0:10"}))

    assert found[1] == {("switches", 1, "", 10.0)}


def test_a_policy_without_reasons_is_reported_as_such():
    class Silent(Easy):
        def select(self, machine):
            reasons, machine.wait_reasons = machine.wait_reasons, None
            super().select(machine)
            machine.wait_reasons = reasons
            for allocation in machine.started:
                reasons.drop(allocation.job.id)

    found = waits([job(1, 16), job(2, 16)], Silent())

    assert found[2] == {("unreported", NO_JOB, "", 10.0)}


def test_of_many_holders_the_least_are_put_together():
    """Job 0 stands behind 40 reservations, each of them a second longer than the one before."""
    ledger, reasons = WaitLedger(), WaitReasons()
    ledger.on_submit([job(0, 1)], 0.0)
    now_s = 0.0
    for holder in range(1, 41):
        reasons.begin()
        reasons.report(0, Verdict("reservation", holder, "nodes"))
        ledger.on_wait(reasons.news, reasons.rest, now_s)
        now_s += holder
    tree = fat_tree_of_radix(4, "1 B/s")
    ledger.on_change([], [FirstFree().allocate(job(0, 1), Cluster(tree))], {}, now_s)

    table = wait_table(ledger).frame()

    assert len(table) <= 2 * MOST_HOLDERS + 1
    assert table["wait_s"].sum() == sum(range(1, 41))
    assert set(range(33, 41)) <= set(table["holder"])


class OneFree:
    """An allocator that gives one job any free nodes, and leaves room for it by count alone."""

    isolating = monotone_in_size = monotone_in_free = False
    name = "one-free"

    def __init__(self, inner, one):
        self.inner, self.one = inner, one

    def allocate(self, job, cluster):
        free = job.id == self.one or self.one in cluster.running
        return (FirstFree() if free else self.inner).allocate(job, cluster)


class EveryTime:
    """Attempts that ask each time."""

    def __init__(self, machine):
        self.machine = machine

    def useless(self, job):
        del job
        return False

    def place(self, job):
        return self.machine.try_to_place(job)


class Forgetful(HeadStillFits):
    """Rule R2 that asks each time: `OneFree` answers by who asks, not by the machine alone."""

    def place(self, job, attempts):
        self._excluding = ExcludingPlacements(nested=False)
        return super().place(job, attempts)


class Examined(Easy):
    """EASY that is asked at every instant what it would do, were one job free of isolation."""

    def __init__(self, **options):
        super().__init__(**options)
        self.checked = {}

    def select(self, machine):
        if machine.wait_reasons is None:
            super().select(machine)
            return
        own, machine.wait_reasons = machine.wait_reasons, None
        state = deepcopy((self, machine))
        machine.wait_reasons = own
        super().select(machine)
        head = self._line.head()
        for waiting in self._line.reachable():
            verdict = own.verdicts.get(waiting.id)
            if verdict is None:
                continue  # came within reach after the pass
            policy, other = deepcopy(state)
            other.allocator = OneFree(other.allocator, waiting.id)
            policy._rule_of = None  # it knows what the other allocator refused
            with (
                patch("scheduler.queues.easy.Attempts", EveryTime),
                patch.dict("scheduler.queues.easy.RULES", R2=Forgetful),
            ):
                policy.select(other)
            starts = waiting.id in other.cluster.running
            behind = own.verdicts[head.id].reason if verdict.holder == head.id else ""
            self.checked[verdict.reason] = self.checked.get(verdict.reason, 0) + 1
            if verdict.reason == "reservation" and verdict.root == behind == "isolation":
                continue  # both are true: the head is held up, and so is what stands beside it
            expected = verdict.reason == "isolation" or (
                verdict.reason == "reservation" and verdict.root != behind
            )
            assert starts == expected, (machine.now_s, waiting.id, verdict)


rows = st.lists(
    st.tuples(st.integers(1, 12), st.integers(1, 40), st.sampled_from([0.0, 0.0, 5.0])),
    min_size=6,
    max_size=20,
)


@pytest.mark.parametrize(
    ("allocator", "rule"),
    [
        ("ta", "R2"),
        ("jigsaw", "node-count"),
        ("laas", "R2"),
        ("first-free", "R2"),
        pytest.param("ta", "node-count", marks=pytest.mark.heavy),
        pytest.param("jigsaw", "R2", marks=pytest.mark.heavy),
        pytest.param("laas", "node-count", marks=pytest.mark.heavy),
        pytest.param("first-free", "node-count", marks=pytest.mark.heavy),
    ],
)
@settings(deadline=None, max_examples=6)
@given(rows=rows)
def test_isolation_is_the_reason_where_any_free_nodes_would_do_and_only_there(
    allocator, rule, rows
):
    jobs, now_s = [], 0.0
    for number, (n_nodes, runtime_s, later_s) in enumerate(rows):
        now_s += later_s
        jobs.append(job(number, n_nodes, float(runtime_s), now_s))

    policy = Examined(reservation=rule, window=6)
    waits(jobs, policy, allocator)

    if allocator == "first-free":
        assert not policy.checked.keys() & {"isolation", "placement"}
