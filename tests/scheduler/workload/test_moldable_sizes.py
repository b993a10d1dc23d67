"""Sizes of moldable jobs are read from tables and Batsim's workloads, and written again."""

import json

import pandas as pd
import pytest

from scheduler import Job, Workload, WorkloadError, make_workload
from scheduler.workload.base import limit_nodes
from scheduler.workload.filters import refine
from scheduler.workload.json_lists import read_batsim_json
from scheduler.workload.table import from_frame, read_csv, read_parquet
from scheduler.workload.writers import write_trace

WANTED = (
    Job(1, 0.0, 8, 60.0, 90.0, sizes=((8, 60.0), (4, 100.0), (16, 40.5))),
    Job(2, 5.0, 2, 10.0, 10.0),
)
CSV = """id,submit_s,n_nodes,runtime_s,requested_s,sizes
1,0,8,60,90,4:100 8:60 16:40.5
2,5,2,10,10,
"""


def delay(seconds):
    return {"type": "delay", "delay": seconds}


BATSIM = {
    "nb_res": 16,
    "jobs": [
        {
            "id": 1,
            "subtime": 0,
            "res": 8,
            "walltime": 90,
            "profile": "p8",
            "sizes": [{"res": 4, "profile": "p4"}, {"res": 16, "profile": "p16"}],
        },
        {"id": 2, "subtime": 5, "res": 2, "walltime": 10, "profile": "short"},
    ],
    "profiles": {"p4": delay(100), "p8": delay(60), "p16": delay(40.5), "short": delay(10)},
}


def read_text(tmp_path, text, read=read_csv, **options):
    path = tmp_path / "log.txt"
    path.write_text(text, encoding="utf-8")
    return read(path, **options)


def test_a_table_lists_sizes_and_what_a_job_asks_for_comes_first(tmp_path):
    assert read_text(tmp_path, CSV).jobs == WANTED


def test_a_job_need_not_list_what_it_asks_for(tmp_path):
    assert read_text(tmp_path, CSV.replace(" 8:60 ", " ")).jobs == WANTED


@pytest.mark.parametrize(
    "column",
    [
        ["4:100 16:40.5", None],
        [[[4, 100.0], [16, 40.5]], None],
        [["4:100", "16:40.5"], []],
    ],
)
def test_parquet_holds_sizes_as_text_or_as_lists(tmp_path, column):
    table = {"id": [1, 2], "submit_s": [0, 5], "n_nodes": [8, 2], "runtime_s": [60, 10]}
    frame = pd.DataFrame({**table, "requested_s": [90, 10], "sizes": column})
    frame.to_parquet(tmp_path / "log.parquet")

    assert read_parquet(tmp_path / "log.parquet").jobs == WANTED
    assert from_frame(frame).jobs == WANTED


def test_a_workload_of_batsim_names_a_profile_for_each_size(tmp_path):
    found = read_text(tmp_path, json.dumps(BATSIM), read_batsim_json).jobs

    assert [(job.n_nodes, job.runtime_s, job.sizes) for job in found] == [
        (job.n_nodes, job.runtime_s, job.sizes) for job in WANTED
    ]


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_sizes_are_written_and_read_again(tmp_path, end):
    workload = Workload(WANTED, "by hand", has_requested=True)
    path = tmp_path / f"log.{end}"

    write_trace(workload, path)

    assert make_workload({"path": str(path), "format": end}, tmp_path, "test").jobs == WANTED
    assert from_frame(workload.to_frame()).jobs == WANTED


def test_swf_has_no_field_for_sizes_and_says_so(tmp_path):
    lost = write_trace(Workload(WANTED, "by hand"), tmp_path / "log.swf")

    assert "sizes of moldable jobs" in lost


def test_a_job_is_as_large_as_its_largest_size(tmp_path):
    workload = read_text(tmp_path, CSV)

    assert [job.id for job in limit_nodes(workload, 15).jobs] == [2]
    assert [job.id for job in refine(workload, max_nodes=15).jobs] == [2]
    assert refine(workload, max_nodes=16).jobs == WANTED
    assert [job.id for job in read_text(tmp_path, CSV, max_nodes=15).jobs] == [2]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("4:100 0:9", "field sizes: expected nodes from 1, each with a run time above 0 s"),
        ("4:100 4:90", "field sizes: expected each size once, 4 nodes are there twice"),
        ("4", "field sizes: expected nodes and run times, such as '4:100 8:60', got '4'"),
        ("4:", "field sizes: expected nodes from 1, each with a run time above 0 s, got '4:'"),
        ("4:100 8:61", "field sizes: expected 60 s on 8 nodes, which the job asks for"),
        ("4.5:100", "field sizes: expected a whole number from 0"),
        ("4:soon", "field sizes: expected seconds from 0, or -1 for missing, got 'soon'"),
    ],
)
def test_sizes_that_cannot_be_are_one_line_with_their_place(tmp_path, sizes, message):
    with pytest.raises(WorkloadError, match=f"log.txt:2: {message}") as caught:
        read_text(tmp_path, CSV.replace("4:100 8:60 16:40.5", sizes))

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([{"res": 4, "profile": "p5"}], "expected the name of a delay profile, got 'p5'"),
        ([{"profile": "p4"}], "expected nodes from 1, each with a run time above 0 s"),
        ({"4": "p4"}, "expected the name of a delay profile, got None"),
        ([4], "expected objects of 'res' and 'profile'"),
    ],
)
def test_sizes_of_batsim_that_cannot_be_are_refused(tmp_path, sizes, message):
    jobs = [{**BATSIM["jobs"][0], "sizes": sizes}]

    with pytest.raises(WorkloadError, match=rf"jobs\[0\]: field sizes: {message}"):
        read_text(tmp_path, json.dumps({**BATSIM, "jobs": jobs}), read_batsim_json)


def test_sizes_are_not_scaled(tmp_path):
    with pytest.raises(WorkloadError, match="scale_nodes: expected 1 with moldable jobs"):
        read_text(tmp_path, CSV, scale_nodes=2)
