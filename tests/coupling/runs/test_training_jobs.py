"""Training jobs of a log on a GPU cluster: their GPUs decide dp, and parts of hosts are shared."""

import numpy as np
import pytest

import fabricsim as fs
from coupling.errors import ResultError
from coupling.results.notes import remark_lines
from coupling.runs.campaign import run_campaign
from coupling.runs.job_history import JobHistories
from coupling.runs.retrace import moment, retrace
from coupling.runs.stored import Stored
from scheduler import Job, Workload, WorkloadError

MODEL = {"params": "5e8", "layers": 4, "hidden": 1024, "seq": 1024, "compute_s": "1 us"}


def cluster(**fields):
    return {
        "kind": "gpu-cluster",
        "hosts": 8,
        "gpus": 8,
        "nics": 8,
        "fabric": "rail",
        "hosts_per_unit": 4,
        "bandwidth": "50 GB/s",
        "latency": "none",
        **fields,
    }


def run(jobs, rule, fabric=None, node=None, **fields):
    experiment = fs.Experiment(
        fabric or cluster(),
        Workload(tuple(jobs), "by hand"),
        communication={"rule": [{"model": MODEL, **rule}]},
        node=node,
        self_check=False,
        **fields,
    )
    return fs.run(experiment)


def halves(n_jobs=2):
    """Return jobs of four GPUs on each of two hosts."""
    return [Job(n, 0.0, 2, 100.0, 100.0, gpus=8) for n in range(n_jobs)]


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_halves_of_hosts_have_adapters_of_their_own(model):
    """By hand: GPUs 0-3 and 4-7 of the same hosts each send by four of the eight adapters."""
    found = run(halves(), {}, node={"gpus": 8}, model=model)

    assert list(found.jobs["nodes"]) == ["n[0-1]", "n[0-1]"]
    assert list(found.jobs["interference"]) == [1.0, 1.0]


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_halves_of_hosts_with_one_adapter_share_it(model):
    """By hand: two jobs that always communicate take twice as long by the same adapter."""
    found = run(halves(), {}, cluster(nics=1), {"gpus": 8}, model=model)

    assert found.jobs["interference"].to_numpy() == pytest.approx([2.0, 2.0], rel=0.02)


def test_jobs_of_cores_alone_train_no_model_on_gpus_of_others():
    jobs = [Job(1, 0.0, 2, 9.0, 9.0, cores=8), Job(2, 0.0, 2, 9.0, 9.0, cores=8, gpus=16)]

    found = run(jobs, {}, node={"cores": 32, "gpus": 8})

    assert list(found.jobs["nodes"]) == ["n[0-1]", "n[0-1]"]
    assert list(found.jobs["pattern"]) == ["", "training"]
    assert list(found.jobs["interference"]) == [1.0, 1.0]
    assert found.summary["log_remarks"] == {"jobs that ask for no GPU: they train no model": 1}


def test_a_third_of_a_host_gets_other_hosts_where_gpus_are_taken():
    """By hand: 3 + 3 of 8 GPUs are taken on hosts 0 and 1, so a job of 3 each goes to 2 and 3."""
    jobs = [Job(n, 0.0, 2, 100.0, 100.0, gpus=6) for n in range(3)]

    found = run(jobs, {}, node={"gpus": 8})

    assert list(found.jobs["nodes"]) == ["n[0-1]", "n[0-1]", "n[2-3]"]


@pytest.mark.parametrize("node", [None, {"gpus": 8}])
def test_gpus_of_a_job_are_spread_evenly_over_its_hosts(node):
    """By hand: 4 adapters on each of 4 hosts send 2 x 15/16 x 1 GB / 4 at 50 GB/s: 9.375 ms."""
    rule = {"model": MODEL | {"overlap": False, "compute_s": "9.375 ms"}}

    found = run([Job(1, 0.0, 4, 100.0, 100.0, gpus=16)], rule, node=node)

    assert found.jobs["network_slowdown"].to_numpy() == pytest.approx([4 / 3], rel=0.01)


def test_the_share_of_communication_is_that_of_the_bytes_on_the_lowest_hosts():
    """
    By hand: 16 GPUs on two hosts, gradients of 1 GB by a double tree or rings, as NCCL chooses.

    With tp = 8 each GPU of a pair sends its eighth, 125 MB, by an adapter of its own: 2.5 ms at
    50 GB/s both as ring and as tree of two; beside 7.5 ms of computation that is a quarter.
    """
    model = {**MODEL, "tp": 8, "layers": 1, "hidden": 1, "seq": 1, "compute_s": "7.5 ms"}

    found = run([Job(1, 0.0, 2, 100.0, 100.0)], {"model": {**model, "overlap": False}})

    assert found.jobs["comm_fraction"].to_numpy() == pytest.approx([0.25], rel=0.01)


@pytest.mark.parametrize(("compute_s", "exposed"), [("6 s", None), ("3 us", 2)])
def test_runs_count_jobs_whose_gradients_outlast_the_backward_pass(compute_s, exposed):
    """By hand: 1 GB of gradients by adapters of 50 GB/s takes milliseconds, beside 4 s or 2 us."""
    rule = {"model": {**MODEL, "compute_s": compute_s}}

    found = run(halves(), rule, node={"gpus": 8})

    assert found.summary.get("exposed") == exposed
    assert any("longer than the computation" in line for line in remark_lines([found])) == bool(
        exposed
    )


@pytest.mark.parametrize(
    ("job", "model", "message"),
    [
        (
            Job(7, 0.0, 3, 9.0, 9.0, gpus=18),
            {"tp": 4, "pp": 2},
            "rule 1: job 7: 18 GPUs do not fill tp x cp x pp = 8 and ep = 1; nearest: 16 or 24, or",
        ),
        (Job(7, 0.0, 2, 9.0, 9.0), {"tp": 4, "dp": 2}, "nearest: 8, or misfit"),
        (Job(7, 0.0, 4, 9.0, 9.0, gpus=40), {}, "job 7: expected at most the 32 GPUs of its 4"),
    ],
)
def test_jobs_that_do_not_fill_a_model_are_refused_with_the_nearest_sizes(job, model, message):
    with pytest.raises(WorkloadError, match=message):
        run([job], {"model": {**MODEL, **model}}, node={"gpus": 8})


def test_misfits_may_train_by_data_parallelism_alone():
    """By hand: 18 GPUs, of which tp = 4 and pp = 2 make no whole replicas, run as 18 replicas."""
    rule = {"model": {**MODEL, "tp": 4, "pp": 2}, "misfit": "plain"}

    found = run([Job(7, 0.0, 3, 9.0, 9.0, gpus=18)], rule, node={"gpus": 8})

    assert list(found.jobs["pattern"]) == ["training"]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"pattern": "ring"}, "rule 1: pattern: expected none beside a model"),
        ({"misfit": "drop"}, "misfit: expected one of refuse, plain, got 'drop'"),
        (
            {"model": {"layers": 4}},
            "rule 1: model: params, hidden, seq: expected values",
        ),
    ],
)
def test_rules_that_say_two_things_are_refused(rule, message):
    with pytest.raises(Exception, match=message):
        run(halves(), rule)


def test_jobs_of_a_gpu_on_each_of_several_hosts_are_told():
    """As a log is read that has GPUs and no hosts, without processors_per_node."""
    jobs = [Job(1, 0.0, 4, 9.0, 9.0, gpus=4), Job(2, 0.0, 1, 9.0, 9.0, gpus=1)]

    told, shared = (run(jobs, {}, cluster(gpus=gpus, nics=8)) for gpus in (8, 1))

    assert told.summary["log_remarks"] == {
        "jobs of one GPU on each of several hosts of 8 (a log of GPUs alone needs "
        "processors_per_node)": 1
    }
    assert "log_remarks" not in shared.summary


def test_a_model_needs_gpus():
    tree = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
    with pytest.raises(Exception, match="model: expected a run on a fabric of kind 'gpu-cluster'"):
        run([Job(1, 0.0, 2, 9.0, 9.0)], {}, tree)


@pytest.mark.parametrize(
    ("model", "allocator"),
    [("flow-level", "first-free"), ("fluid", "emergent-adaptive"), ("fluid", "adaptive")],
)
def test_sizes_of_a_model_divide_gpus_not_hosts(model, allocator):
    """By hand: tp = 4 is half of each host, whether there are two of these or three."""
    jobs = [Job(n, 0.0, size, 100.0, 100.0) for n, size in enumerate([2, 3, 3])]

    found = run(jobs, {"model": {**MODEL, "tp": 4}}, model=model, allocator=allocator)

    assert list(found.jobs["n_nodes"]) == [2, 3, 3]


def written(folder, node=None, fabric=None):
    """Return the result directory of two jobs on four hosts each that share cables."""
    (folder / "log.csv").write_text(
        "id,submit_s,nodes,runtime_s,requested_s,gpus\n1,0,4,100,100,16\n2,0,4,100,100,16\n"
    )
    experiment = fs.Experiment(
        fabric or cluster(oversubscription=4),
        {"path": str(folder / "log.csv"), "format": "csv"},
        communication={"rule": [{"model": MODEL | {"tp": 2}}]} if fabric is None else None,
        allocator="random",
        node=node,
        self_check=False,
    )
    return Stored.open(run_campaign(experiment, folder / "result").folder)


def test_lives_of_jobs_of_gpus_are_those_of_the_run(tmp_path):
    stored = written(tmp_path)
    (result,) = stored.results()
    lives = JobHistories(stored.experiment, stored.manifest, result)

    for row in result.jobs.itertuples():
        life = lives.life(row.id)
        ideal_s = sum((own.end_s - own.begin_s) / own.interference for own in life.stretches)
        assert life.placement_factor == pytest.approx(row.placement_factor)
        assert (row.end_s - row.start_s) / ideal_s == pytest.approx(row.interference, rel=1e-3)
        assert lives.flows(row.id)[1] == 16
    assert (result.jobs["interference"] > 1.1).all()
    with pytest.raises(ResultError, match="job 1: expected ranks that are nodes, got GPUs"):
        retrace(stored)


def test_jobs_of_a_record_have_their_gpus_whatever_its_tasks_are(tmp_path):
    """A task for each GPU in the record is no rank on the first GPU of its host."""
    model = MODEL | {"tp": 2}
    (tmp_path / "sacct.txt").write_text(
        "JobID|Submit|Start|End|Elapsed|NNodes|NodeList|AllocTRES|NTasks|State\n"
        "1|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T01:00:00|01:00:00|2|n[1,4]|"
        "cpu=16,gres/gpu=16,node=2|16|COMPLETED\n"
    )
    experiment = fs.Experiment(
        cluster(),
        {"path": str(tmp_path / "sacct.txt")},
        communication={"rule": [{"model": model}]},
        replay={},
        self_check=False,
    )
    job = {"id": 1, "nodes": "n[1,4]", "ranks_per_node": 8, "model": model}

    found = fs.run(experiment).jobs["placement_factor"]

    (alone,) = fs.estimate({"topology": cluster(), "jobs": [job]}).jobs
    assert found.tolist() == pytest.approx([alone.placement_factor])


def test_a_moment_of_hosts_that_jobs_shared_is_refused(tmp_path):
    stored = written(tmp_path, {"gpus": 8})
    (result,) = stored.results()

    assert np.unique(result.jobs["start_s"]).tolist() == [0.0]
    with pytest.raises(ResultError, match="which GPUs of its hosts each job had is not stored"):
        moment(stored, 1.0)
    with pytest.raises(ResultError, match="which GPUs of its hosts each job had is not stored"):
        JobHistories(stored.experiment, stored.manifest, result)


def test_a_moment_of_nodes_that_jobs_shared_says_so(tmp_path):
    tree = {"kind": "fat-tree", "radix": 4, "latency": "none"}

    found = moment(written(tmp_path, {"gpus": 8}, tree), 1.0)

    assert found["shared"]
    assert [job["id"] for job in found["jobs"]] == [1, 2]
