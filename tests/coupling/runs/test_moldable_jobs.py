"""Runs of moldable jobs: which size was chosen, and what becomes of it on the network."""

import pytest

import fabricsim as fs
from coupling.errors import ExperimentError
from coupling.runs.campaign import run_campaign
from coupling.runs.job_history import JobHistories
from coupling.runs.retrace import retrace
from coupling.runs.stored import Stored
from scheduler import PolicyError, WorkloadError

TREE = {
    "kind": "fat-tree",
    "children": [4, 4],
    "parents": [1, 1],
    "parallel": [1, 1],
    "bandwidth": "1 GB/s",
    "latency": "none",
}
SILENT = {"pattern": "ring", "comm_fraction": 0}
LOG = """id,submit_s,n_nodes,runtime_s,sizes
1,0,12,30,
2,0,4,100,16:60
3,0,2,20,4:10
"""


def experiment(tmp_path, log=LOG, **fields):
    path = tmp_path / "log.csv"
    path.write_text(log, encoding="utf-8")
    fields = {"communication": SILENT, **fields}
    return fs.Experiment(TREE, {"path": str(path), "format": "csv"}, **fields)


def test_results_have_the_chosen_size_beside_the_one_asked_for(tmp_path):
    """By hand: job 2 waits for 16 nodes until 30, job 3 ends before on 4 nodes."""
    found = fs.run(experiment(tmp_path))

    table = found.jobs[["id", "requested_nodes", "n_nodes", "runtime_reference_s", "start_s"]]
    assert table.to_numpy().tolist() == [
        [1, 12, 12, 30, 0],
        [2, 4, 16, 60, 30],
        [3, 2, 4, 10, 0],
    ]
    used = 12 * 30 + 16 * 60 + 4 * 10
    assert found.summary["utilization_makespan"] == pytest.approx(used / (16 * 90))
    assert found.summary["infinite_network"]["makespan_s"] == 90.0


def test_a_log_without_sizes_has_no_such_column(tmp_path):
    plain = "".join(line.rpartition(",")[0] + "\n" for line in LOG.splitlines())

    assert "requested_nodes" not in fs.run(experiment(tmp_path, plain)).jobs


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_a_job_sends_by_the_size_that_was_chosen(tmp_path, model):
    """
    By hand: jobs of ranks that each send to the one half the job away, always.

    Of eight nodes in two leaves four flows cross the one cable up: four times as long. Of four
    nodes in one leaf none does.
    """
    talk = {"pattern": {"name": "shift", "distance": 4}, "comm_fraction": 1.0}
    log = "id,submit_s,n_nodes,runtime_s,sizes\n1,0,4,100,8:10\n"
    own = experiment(tmp_path, log, communication=talk, model=model, self_check=False)

    found = fs.run(own)

    assert found.jobs["n_nodes"].tolist() == [8]
    assert found.jobs["network_slowdown"].to_numpy() == pytest.approx([4.0], rel=0.02)


def test_a_finished_run_places_jobs_again_at_their_size(tmp_path):
    own = experiment(tmp_path, communication={"pattern": "ring", "comm_fraction": 0.2})
    run_campaign(own, tmp_path / "out")
    stored = Stored.open(tmp_path / "out")

    again = retrace(stored)
    histories = JobHistories(stored.experiment, stored.manifest, stored.results()[0])

    # each rank of a ring sends to both neighbours
    assert {job.id: (job.n_nodes, job.src.size) for job in again.jobs} == {
        1: (12, 24),
        2: (16, 32),
        3: (4, 8),
    }
    assert [histories.flows(job)[1] for job in (1, 2, 3)] == [12, 16, 4]


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        (
            {"node": {"cores": 4}},
            PolicyError,
            "where jobs share nodes: job 2: expected jobs of one",
        ),
        (
            {"queue": "cautious"},
            PolicyError,
            "queue policy 'cautious': job 2: expected jobs of one",
        ),
        ({"model": "assumed"}, PolicyError, "model 'assumed': job 2: expected jobs of one size"),
    ],
)
def test_what_needs_the_size_before_a_job_starts_refuses_moldable_jobs(
    tmp_path, fields, error, message
):
    with pytest.raises((error, ExperimentError), match=message):
        fs.run(experiment(tmp_path, **fields))


def test_a_pattern_that_fixes_a_size_is_looked_at_for_every_size(tmp_path):
    talk = {"pattern": {"name": "stencil", "grid": [2, 2]}, "comm_fraction": 0.1}

    with pytest.raises(WorkloadError, match=r"job 2: .*grid 2 x 2 holds 4 ranks, the job has 16"):
        fs.run(experiment(tmp_path, "".join(LOG.splitlines(True)[::2]), communication=talk))


def test_jobs_larger_than_the_machine_at_one_of_their_sizes_are_dropped_with_the_reason(tmp_path):
    found = fs.run(experiment(tmp_path, LOG.replace("16:60", "17:60")))

    assert found.jobs.set_index("id")["dropped"].to_dict()[2] == (
        "larger than the machine (16 nodes)"
    )


def test_sizes_beside_limits_of_users_are_refused_before_the_run(tmp_path):
    limits = {"limits": {"MaxJobsPerUser": 2}}
    with pytest.raises(ExperimentError, match="limits of users: job 2: expected jobs of one size"):
        run_campaign(experiment(tmp_path, queue_options=limits), tmp_path / "out")

    assert not (tmp_path / "out").exists()
