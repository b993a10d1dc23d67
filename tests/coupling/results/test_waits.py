"""waits.parquet and what the summary says of it."""

import numpy as np
import pytest

from coupling.results.result import Result
from coupling.runs.campaign import run_campaign
from coupling.runs.engine import run
from coupling.runs.rerun import rerun
from coupling.runs.stored import Stored
from scheduler.queues import POLICIES
from scheduler.reasons import NO_JOB

SHORT = {"generator": "synth", "mean_nodes": 6, "n_jobs": 120, "seed": 3}


@pytest.mark.parametrize("queue", sorted(set(POLICIES) - {"batsim"}))
def test_the_reasons_of_a_job_add_up_to_its_wait_under_every_queue(experiment, queue):
    found = run(experiment(workload=SHORT, queue=queue, allocator="jigsaw", self_check=False))
    waits, jobs = found.extras["waits"], found.jobs.set_index("id")

    total = waits.groupby("id")["wait_s"].sum().reindex(jobs.index, fill_value=0.0)

    np.testing.assert_allclose(total, jobs["wait_s"], rtol=1e-9, atol=1e-6)
    assert (total > 0.0).sum() > 50
    assert "unreported" not in set(waits["reason"].astype(str))
    submit = jobs.loc[waits["id"], "submit_s"].to_numpy()
    start = jobs.loc[waits["id"], "start_s"].to_numpy()
    assert (submit <= waits["first_s"]).all()
    assert (waits["last_s"] <= start).all()
    assert (waits["last_s"] - waits["first_s"] >= waits["wait_s"] - 1e-6).all()
    held = waits[waits["reason"].astype(str) == "reservation"]
    assert set(held["holder"]) <= {NO_JOB, *jobs.index}  # the least of many are put together
    assert (held["holder"] != held["id"]).all()


def test_the_summary_adds_waiting_up_by_reason(experiment):
    """Hours of the table, job by job and times nodes; isolation only where somebody isolates."""
    found = run(experiment(workload=SHORT, allocator="ta", self_check=False))
    free = run(experiment(workload=SHORT, allocator="first-free", self_check=False))
    size = found.jobs.set_index("id")["n_nodes"].to_dict()
    hours = {"wait_node_hours": {}, "wait_job_hours": {}}
    behind = 0.0
    for row in found.extras["waits"].itertuples():
        for unit, weight in (("node", size[row.id]), ("job", 1)):
            spent = hours[f"wait_{unit}_hours"]
            spent[row.reason] = spent.get(row.reason, 0.0) + weight * row.wait_s / 3600.0
        behind += size[row.id] * row.wait_s / 3600.0 if row.root == "isolation" else 0.0

    for name, by_reason in hours.items():
        told = {key: one for key, one in found.summary[name].items() if one}
        assert told == pytest.approx(by_reason)
    price = found.summary["price_of_isolation"]
    assert price["direct_node_hours"] == pytest.approx(hours["wait_node_hours"]["isolation"])
    assert price["behind_node_hours"] == pytest.approx(behind)
    total = sum(hours["wait_node_hours"].values())
    assert price["behind_share_of_node_hours"] == pytest.approx(behind / total)
    wait_s = (found.jobs["wait_s"] * found.jobs["n_nodes"]).sum()
    assert total == pytest.approx(wait_s / 3600.0)
    assert set(free.summary["price_of_isolation"].values()) == {0.0}


def test_where_nobody_waits_there_is_no_share(experiment):
    one = {"generator": "synth", "mean_nodes": 6, "n_jobs": 1, "seed": 3}

    found = run(experiment(workload=one, self_check=False))

    assert found.extras["waits"].empty
    assert found.summary["price_of_isolation"]["direct_share_of_node_hours"] is None


def test_the_table_is_read_back_and_made_again(experiment, tmp_path):
    asked = experiment(workload=SHORT, allocator="jigsaw", self_check=False)
    made = run(asked)
    run_campaign(asked, tmp_path / "out")

    again = Result.load(tmp_path / "out")

    texts = {"reason": str, "root": str}
    assert again.extras["waits"].astype(texts).equals(made.extras["waits"].astype(texts))
    assert rerun(Stored.open(tmp_path / "out")).agrees
