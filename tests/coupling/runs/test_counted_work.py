"""Work of a run, counted: what gets slower shows here without a clock."""

import pytest

from coupling.inputs.experiment import Experiment
from coupling.runs.engine import run

# What a job may cost: one call where nodes are counted, one rate where jobs are isolated; the
# others a fifth above what was counted when they were set.
MOST = {
    "random": {"allocator_calls": 1.0, "cluster_copies": 0.0, "rate_changes": 34.7},
    "first-free": {"allocator_calls": 1.0, "cluster_copies": 0.0, "rate_changes": 7.5},
    "jigsaw": {"allocator_calls": 16.6, "cluster_copies": 0.88, "rate_changes": 1.0},
}


@pytest.mark.parametrize("allocator", sorted(MOST))
def test_a_job_costs_no_more_work_than_it_did(allocator):
    experiment = Experiment(
        topology={"kind": "synth-1024", "latency": "none"},
        workload={"generator": "synth", "mean_nodes": 16, "n_jobs": 400, "seed": 3},
        allocator=allocator,
        routing="jigsaw" if allocator == "jigsaw" else "d-mod-k",
        model="fluid",
        seed=1,
        self_check=False,
    )

    cost = run(experiment).cost

    per_job = {key: cost[key] / 400 for key in MOST[allocator]}
    assert all(per_job[key] <= most for key, most in MOST[allocator].items()), per_job
