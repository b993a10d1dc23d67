"""The job table says what became of each job, however many of its rows are made at once."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coupling.inputs.experiment import Experiment
from coupling.results.columns import JOB_COLUMNS, finished
from coupling.results.framed import folded_each, frame_of
from coupling.results.job_table import job_table
from coupling.runs.assembly import assemble
from coupling.runs.engine import run, schedule_alone
from netsim.common.hostlist import expand_hostlist
from netsim.flows.distance import average_pairwise_hops


@pytest.mark.parametrize("allocator", ["first-free", "jigsaw"])
def test_a_job_table_made_in_pieces_is_the_table_made_at_once(monkeypatch, tmp_path, allocator):
    """Jobs too large for the machine are dropped: rows with holes, behind all others."""
    experiment = Experiment(
        topology={"kind": "fat-tree", "radix": 4},
        workload={"generator": "synth", "mean_nodes": 6, "n_jobs": 60},
        allocator=allocator,
    )
    whole = run(experiment)
    monkeypatch.setattr("coupling.results.job_table._AT_ONCE", 7)

    pieces = run(experiment)

    assert set(whole.jobs["dropped"]) > {""}
    pd.testing.assert_frame_equal(pieces.jobs, whole.jobs)
    assert pieces.summary == whole.summary
    for name, result in {"whole": whole, "pieces": pieces}.items():
        (tmp_path / name).mkdir()
        result.save(tmp_path / name)
    files = [(tmp_path / name / "jobs.parquet").read_bytes() for name in ("whole", "pieces")]
    assert files[0] == files[1]


@pytest.mark.parametrize("allocator", ["random", "laas", "jigsaw"])
def test_each_row_is_what_the_record_of_its_job_says(allocator):
    experiment = Experiment(
        topology={"kind": "fat-tree", "radix": 4},
        workload={"generator": "synth", "mean_nodes": 5, "n_jobs": 50},
        allocator=allocator,
    )
    parts = assemble(experiment)
    done = schedule_alone(experiment, parts)
    costs = {job.id: float(job.id) for job in parts.workload.jobs[::2]}

    rows = frame_of(job_table(done, parts.workload, parts.topology, costs)).to_dict("records")

    assert len(rows) == len(parts.workload.jobs) + len(parts.workload.dropped_jobs)
    record_of = {record.job.id: record for record in done.records}
    for job, row in zip(parts.workload.jobs, rows, strict=False):
        record = record_of[job.id]
        nodes = record.allocation.nodes()
        talk = job.communication
        assert row == {
            "id": job.id,
            "submit_s": job.submit_s,
            "start_s": record.start_s,
            "end_s": record.end_s,
            "n_nodes": job.n_nodes,
            "idle_nodes": record.allocation.idle,
            "runtime_reference_s": job.runtime_s,
            "wait_s": record.start_s - job.submit_s,
            "turnaround_s": record.end_s - job.submit_s,
            "network_slowdown": record.interference * record.placement_factor,
            "interference": record.interference,
            "placement_factor": record.placement_factor,
            "interference_delay_s": record.interference_delay_s,
            "pattern": talk.label if talk else "",
            "comm_fraction": talk.fraction if talk else 0.0,
            "aph": average_pairwise_hops(parts.topology, nodes),
            "communication_cost": costs.get(job.id, 0.0),
            "nodes": row["nodes"],
            "killed": record.killed,
            "dropped": "",
        }
        assert [int(name[1:]) for name in expand_hostlist(row["nodes"])] == nodes.tolist()


def test_a_dropped_job_has_what_it_asked_for_and_no_more():
    """On 16 nodes; what nobody can know is no number."""
    experiment = Experiment(
        topology={"kind": "fat-tree", "radix": 4},
        workload={"generator": "synth", "mean_nodes": 9, "n_jobs": 40},
        allocator="first-free",
    )
    parts = assemble(experiment)

    table = job_table(schedule_alone(experiment, parts), parts.workload, parts.topology)

    gone = table[len(parts.workload.jobs) :].to_dict("records")
    assert table["communication_cost"].isna().all()
    assert len(gone) == len(parts.workload.dropped_jobs) > 0
    for job, row in zip(parts.workload.dropped_jobs, gone, strict=True):
        known = {
            "id": job.id,
            "submit_s": job.submit_s,
            "n_nodes": job.n_nodes,
            "idle_nodes": 0,
            "runtime_reference_s": job.runtime_s,
            "pattern": "",
            "nodes": "",
            "killed": False,
            "dropped": job.reason,
        }
        assert row == {name: known.get(name, pytest.approx(np.nan, nan_ok=True)) for name in row}
        assert list(row) == list(JOB_COLUMNS)


@given(st.lists(st.lists(st.integers(0, 12)), max_size=5))
def test_folded_lists_are_read_back_and_have_no_neighbours_left(lists):
    folded = folded_each([np.array(own, dtype=np.int64) for own in lists])

    assert len(folded) == len(lists)
    for own, text in zip(lists, folded, strict=True):
        spans = [span.split("-") for span in text.split(",") if span]
        read = [n for span in spans for n in range(int(span[0]), int(span[-1]) + 1)]
        assert read == own
        assert all(int(a[-1]) + 1 != int(b[0]) for a, b in pairwise(spans))


@pytest.mark.parametrize("dropped", [["", "", "big"], ["", "big", ""], ["big", ""], [""], []])
def test_the_jobs_that_ran_are_found_wherever_the_others_stand(dropped):
    jobs = pd.DataFrame({"id": range(len(dropped)), "dropped": pd.Series(dropped, dtype="str")})

    ran = finished(jobs)["id"]

    assert ran.tolist() == ran.index.tolist() == [n for n, why in enumerate(dropped) if not why]
