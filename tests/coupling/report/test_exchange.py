"""Runs for other programs: what evalys and Batsim are given."""

import csv
import io
import json
from dataclasses import replace

import pytest
from coupling_samples import sample, with_dropped

from coupling.errors import ResultError
from coupling.report.exchange import batsim_json, jobset_csv
from scheduler.workload import READERS

# Batsim's output of jobs, as evalys reads it: columns that JobSet needs
NEEDED = {
    "job_id",
    "workload_name",
    "submission_time",
    "requested_number_of_resources",
    "requested_time",
    "success",
    "starting_time",
    "execution_time",
    "finish_time",
    "waiting_time",
    "turnaround_time",
    "stretch",
    "allocated_resources",
}


def run():
    first = sample(
        "first-free", runtimes_s=(7200.0, 3600.0, 1800.0), interference_delay_s=(1800.0, 0.0, 0.0)
    )

    return replace(first, jobs=with_dropped(first.jobs, ["too large"]))


def test_a_jobset_has_a_row_per_job_that_ran():
    """Job 11: nodes 0-3, from 0 to 7200 s."""
    rows = list(csv.DictReader(io.StringIO(jobset_csv([run()]))))

    assert set(rows[0]) >= NEEDED
    assert [row["job_id"] for row in rows] == ["11", "12", "13"]
    assert rows[0]["allocated_resources"] == "0-3"
    assert float(rows[0]["starting_time"]) == 0.0
    assert float(rows[0]["finish_time"]) == 7200.0
    assert {row["success"] for row in rows} == {"1"}


def test_a_workload_for_batsim_is_read_back_by_our_reader(tmp_path):
    result = run()
    (tmp_path / "w.json").write_text(batsim_json([result]))

    jobs = READERS["batsim-json"](tmp_path / "w.json").jobs

    done = result.jobs[result.jobs["dropped"] == ""].sort_values(["submit_s", "id"])
    assert [job.n_nodes for job in jobs] == done["n_nodes"].tolist()
    assert [job.submit_s for job in jobs] == done["submit_s"].tolist()
    assert [job.runtime_s for job in jobs] == done["runtime_reference_s"].tolist()


def test_a_profile_of_batsim_is_a_delay():
    document = json.loads(batsim_json([run()]))

    assert {profile["type"] for profile in document["profiles"].values()} == {"delay"}
    assert {job["profile"] for job in document["jobs"]} == set(document["profiles"])


@pytest.mark.parametrize("write", [batsim_json, jobset_csv])
def test_several_runs_are_refused_in_one_file(write):
    with pytest.raises(ResultError, match=r"expected one run, by --run, got first-free and ta"):
        write([sample("first-free"), sample("ta")])
