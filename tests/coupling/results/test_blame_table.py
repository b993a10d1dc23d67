"""blame.parquet: what a run says about who made whom lose time."""

import numpy as np
import pytest

from coupling.results.result import Result
from coupling.runs.engine import run


@pytest.mark.parametrize("model", ["fluid", "hop-cost"])
def test_the_rows_of_a_victim_add_up_to_what_it_lost(experiment, model):
    workload = {"generator": "synth", "mean_nodes": 6, "n_jobs": 80, "seed": 3}
    result = run(experiment(model=model, workload=workload, self_check=False))
    jobs = result.jobs.set_index("id")
    lost = (jobs["interference_delay_s"] * jobs["n_nodes"]).loc[lambda values: values > 0.0]

    by_victim = result.blame.groupby("victim")["interference_delay_node_s"].sum()

    assert len(lost) > 20
    assert set(lost.index) <= set(by_victim.index)
    np.testing.assert_allclose(by_victim.loc[lost.index], lost, rtol=1e-9)
    total = result.summary["node_seconds_lost_to_interference"]
    assert result.blame["interference_delay_node_s"].sum() == pytest.approx(total, rel=1e-9)


def test_culprits_ran_at_the_same_time_and_shared_the_network(experiment):
    result = run(experiment(self_check=False))
    jobs, blame = result.jobs.set_index("id"), result.blame
    victim, culprit = jobs.loc[blame["victim"]], jobs.loc[blame["culprit"]]

    assert (blame["victim"] != blame["culprit"]).all()
    assert (blame["interference_delay_node_s"] > 0.0).all()
    assert not blame.duplicated(["victim", "culprit", "link_class"]).any()
    assert (culprit["start_s"].to_numpy() < victim["end_s"].to_numpy()).all()
    assert (victim["start_s"].to_numpy() < culprit["end_s"].to_numpy()).all()
    assert (culprit["comm_fraction"] > 0.0).all()
    assert set(blame["link_class"]) <= {"leaf-up", "L2-up", "L2-down", "leaf-down"}


def test_models_that_do_not_tell_blame_nobody(experiment):
    blame = run(experiment(model="hop-cost", self_check=False)).blame

    assert len(blame)
    assert set(blame["culprit"]) == {-1}
    assert set(blame["link_class"]) == {""}


@pytest.mark.parametrize("allocator", ["ta", "random"])
def test_the_table_is_read_back_as_it_was(experiment, allocator, tmp_path):
    result = run(experiment(allocator=allocator, self_check=False))
    result.save(tmp_path)

    again = Result.load(tmp_path).blame

    assert (len(again) == 0) == (allocator == "ta")
    assert again.astype({"link_class": str}).equals(result.blame.astype({"link_class": str}))
