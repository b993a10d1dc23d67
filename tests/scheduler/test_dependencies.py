"""Jobs that wait for others: by hand, and against a count of when each may come."""

import random
from pathlib import Path

import pytest

import fabricsim as fs
from netsim.topology.fattree import build_fat_tree
from scheduler import read_swf, write_swf
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.errors import WorkloadError
from scheduler.events import FailurePolicy, MachineEvent, MachineEvents
from scheduler.job import Job
from scheduler.queues import make_policy
from scheduler.simulator import simulate

TREE = build_fat_tree((8, 1), (1, 1), (1, 1), "1 B/s")


def simulated(jobs, **options):
    placing = make_allocator("first-free", {}, 1)
    return simulate(jobs, Cluster(TREE), placing, make_policy("easy", {}), **options)


def starts(jobs, **options):
    return {own.job.id: own.start_s for own in simulated(jobs, **options).records}


def job(number, submit_s=0.0, runtime_s=10.0, n_nodes=1, requested_s=None, **fields):
    return Job(number, submit_s, n_nodes, runtime_s, requested_s or runtime_s, **fields)


def test_a_job_waits_for_those_before_it_or_comes_after_a_time_of_thinking():
    """By hand: 2 waits for 1; 3 for 1 and 2; 4 comes 5 s after 2, though logged at 100 s."""
    jobs = [job(1), job(2, after=(1,)), job(3, after=(1,), after_ok=(2,))]
    jobs.append(job(4, 100.0, after=(2,), think_s=5.0))

    schedule = simulated(jobs)

    found = {own.job.id: (own.job.submit_s, own.start_s) for own in schedule.records}
    assert found == {1: (0, 0), 2: (0, 10), 3: (0, 20), 4: (25, 25)}


def test_jobs_behind_one_that_was_killed_never_come():
    """Job 1 reaches its limit; 2 takes any end, 3 only a good one, 4 waits for 3."""
    jobs = [job(1, requested_s=5.0), job(2, after=(1,)), job(3, after_ok=(1,)), job(4, after=(3,))]

    schedule = simulated(jobs, kill_at_limit=True)

    assert {own.job.id: own.start_s for own in schedule.records} == {1: 0, 2: 5}
    assert [own.id for own in schedule.unsatisfied] == [3, 4]


def test_a_job_that_fails_lets_others_come_when_it_has_run_again():
    """Node 0 goes down at 4 and comes up; job 1 runs from 5 to 15."""
    happened = [MachineEvent(4.0, "down", (0,)), MachineEvent(4.0, "up", (0,))]
    events = MachineEvents(happened, policy=FailurePolicy(delay_s=1.0))

    assert starts([job(1), job(2, after_ok=(1,))], events=events) == {1: 5, 2: 15}


def test_random_chains_start_when_all_before_them_have_ended():
    """On a machine with room for all, a start is the latest of submission and ends before."""
    for seed in range(50):
        chance = random.Random(seed)  # noqa: S311 (jobs of a test, no secrets)
        jobs, ends = [], {}
        for number in range(8):
            before = tuple(sorted(chance.sample(range(number), min(number, chance.randint(0, 2)))))
            think_s = chance.choice([None, 0.0, 7.0]) if before else None
            own = job(
                number, float(number), float(chance.randint(1, 9)), after=before, think_s=think_s
            )
            last_s = max((ends[other] for other in before), default=0.0)
            start_s = max(own.submit_s, last_s) if think_s is None else last_s + think_s
            ends[number] = start_s + own.runtime_s
            jobs.append(own)

        found = starts(jobs)

        assert found == {own.id: ends[own.id] - own.runtime_s for own in jobs}


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ([job(1, after=(1,))], "job 1: waits for itself, through nothing else"),
        (
            [job(1, after=(2,)), job(2, after_ok=(3,)), job(3, after=(1,))],
            "job 1: waits for itself",
        ),
        ([job(1, after=(9,))], "job 1: waits for job 9, which is not there"),
    ],
)
def test_circles_and_unknown_jobs_are_refused(jobs, message):
    with pytest.raises(WorkloadError, match=message):
        simulated(jobs)


LINES = [
    "1 0 -1 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1",
    "2 3 -1 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 1 4",
    "3 5 -1 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 77 -1",
]


def test_fields_17_and_18_of_swf_are_used_when_asked_for_and_counted_otherwise(tmp_path):
    """By hand: 2 comes at 10 + 4; job 77 is not in the log."""
    path = tmp_path / "log.swf"
    path.write_text("\n".join(LINES) + "\n")
    experiment = fs.Experiment(
        {"kind": "fat-tree", "radix": 4}, {"path": str(path), "dependencies": True}, model="null"
    )

    run = fs.run(experiment)
    plain = fs.run(experiment.replace("workload.dependencies=false"))

    assert run.jobs["start_s"].tolist() == [0, 14, 5]
    assert run.summary["log_remarks"] == {
        "dependencies on jobs that are not run: taken as satisfied": 1,
    }
    assert plain.jobs["start_s"].tolist() == [0, 3, 5]
    assert plain.summary["log_remarks"] == {
        "preceding jobs (field 17): not used": 2,
        "think times (field 18): not used": 1,
    }


def test_swf_with_dependencies_is_written_as_it_was_read(tmp_path):
    path, copy = tmp_path / "log.swf", tmp_path / "copy.swf"
    path.write_text("\n".join(LINES[:2]) + "\n")
    workload = read_swf(path, dependencies=True)

    write_swf(copy, workload)

    assert read_swf(copy, dependencies=True).jobs == workload.jobs


def test_a_column_of_slurm_says_which_jobs_go_before(tmp_path):
    path = tmp_path / "log.csv"
    rows = ["id,submit_s,n_nodes,runtime_s,dependency", "1,0,1,10,", "2,0,1,10,afterok:1"]
    path.write_text("\n".join([*rows, '3,0,1,10,"afterany:1,afterok:2(unfulfilled)"']) + "\n")
    tree = {"kind": "fat-tree", "radix": 4}

    def run(**options):
        return fs.run(fs.Experiment(tree, {"path": str(path), **options}, model="null"))

    assert run(dependencies=True).jobs["start_s"].tolist() == [0, 10, 20]
    assert run().summary["log_remarks"] == {
        "dependencies of jobs on others (column dependency): not used": 2
    }
    path.write_text(Path(path).read_text().replace("afterok:1\n", "afternotok:1\n"))
    with pytest.raises(WorkloadError, match="job 2: dependency: expected afterok:JOB or afterany"):
        run(dependencies=True)
