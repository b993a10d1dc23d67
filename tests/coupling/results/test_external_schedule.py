"""Another simulator's jobs beside ours: by hand, and what is refused."""

import json

import pandas as pd
import pytest

from coupling.errors import ResultError
from coupling.results.external_schedule import agreement, read_elsewhere

BATSIM = "job_id,workload_name,submission_time,requested_number_of_resources,starting_time,"
HEAD = BATSIM + "execution_time,finish_time,waiting_time,turnaround_time,grid5000"
ROWS = ("w0!1,w0,0,4,0,100,100,0,100,x", "w0!2,w0,10,8,100,55,155,90,145,x")


def written(tmp_path, *rows, head=HEAD):
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def ours(**changes):
    """Return three jobs: 1 and 2 as in `ROWS` but that 2 took 50 s, and 3."""
    columns = {
        "id": [1, 2, 3],
        "submit_s": [0.0, 10.0, 20.0],
        "start_s": [0.0, 100.0, 150.0],
        "end_s": [100.0, 150.0, 160.0],
        "n_nodes": [4, 8, 2],
        "dropped": ["", "", ""],
    }
    return pd.DataFrame(columns | changes)


def test_jobs_of_both_are_compared_one_by_one(tmp_path):
    """Job 2 runs 55 s there and 50 s here, from the same start on; job 3 is here alone."""
    found = agreement("ta", ours(), read_elsewhere(written(tmp_path, *ROWS)))

    assert (found.jobs, found.only_here, found.only_there) == (2, 1, 0)
    assert found.here == {
        "makespan_s": 150.0,
        "mean_wait_s": 45.0,
        "mean_turnaround_s": 120.0,
        "mean_run_s": 75.0,
    }
    assert found.there["mean_turnaround_s"] == 122.5
    assert found.differences["run"] == pytest.approx({"mean": 0.05, "most": 0.1, "job": 2})
    assert found.differences["start_s"]["most"] == 0.0
    assert found.differences["end_s"] == {"mean": 2.5, "most": 5.0, "job": 2}


def test_columns_that_nobody_knows_and_jobs_that_never_ran_are_counted(tmp_path):
    rejected = "w0!9,w0,5,8,-1,0,-1,0,0,x"
    found = read_elsewhere(written(tmp_path, *ROWS, rejected))

    assert found.unread == ("grid5000",)
    assert found.rejected == 1
    assert found.jobs.index.tolist() == [1, 2]


def test_an_end_may_follow_from_start_and_run_time(tmp_path):
    path = written(tmp_path, "1,7,20", head="id,starting_time,execution_time")

    found = read_elsewhere(path)

    assert found.jobs.loc[1, "end_s"] == 27.0
    assert agreement("ta", ours(), found).there["mean_wait_s"] == 7.0


@pytest.mark.parametrize(
    ("head", "rows", "told"),
    [
        ("job_id,finish_time", ["1,2"], "expected a column starting_time or start_s, got the"),
        ("id,start_s", ["1,2"], "expected a column finish_time or end_s"),
        ("id,id,start_s,end_s", ["1,1,2,3"], "column 'id' is there twice"),
        ("id,start_s,end_s", ["1,2"], "row 2: expected 3 cells"),
        ("id,start_s,end_s", ["1,2,3,4"], "row 2: expected 3 cells"),
        ("id,start_s,end_s", ["one,2,3"], "row 2: id: expected a whole number, got 'one'"),
        ("id,start_s,end_s", ["1,2,nan"], "row 2: end_s: expected a number, got 'nan'"),
        ("id,start_s,end_s", ["1,2,1_0"], "row 2: end_s: expected a number, got '1_0'"),
        ("id,start_s,end_s", ["1,2,3", "1,2,3"], "row 3: job 1 is there twice"),
        ("id,start_s,end_s", ["1,5,3"], "expected finish_time from starting_time 5 on, got 3"),
        ("id,submit_s,start_s,end_s", ["1,9,5,30"], "expected starting_time from submission_time"),
        ("id,start_s,end_s,run_s", ["1,5,9,4000"], "expected finish_time - starting_time = 4, got"),
        ("id,start_s,end_s", [], "expected jobs that ran, got none"),
    ],
)
def test_a_table_that_cannot_be_compared_is_one_line(tmp_path, head, rows, told):
    with pytest.raises(ResultError) as error:
        read_elsewhere(written(tmp_path, *rows, head=head))

    assert told in str(error.value)
    assert "jobs.csv" in str(error.value)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (["1,0,100000", "2,100000,150000"], "1000 times those of ta, as if in milliseconds"),
        (["1,0,0.02777778", "2,0.1,0.11388889"], "as if in hours"),
        (["7,0,100"], "expected jobs of the run ta, got none of its ids"),
    ],
)
def test_other_units_and_other_jobs_are_refused(tmp_path, rows, told):
    other = read_elsewhere(written(tmp_path, *rows, head="id,start_s,end_s"))

    with pytest.raises(ResultError, match="run") as error:
        agreement("ta", ours(), other)

    assert told in str(error.value)


def test_a_job_of_another_size_is_refused(tmp_path):
    other = read_elsewhere(written(tmp_path, *ROWS))

    with pytest.raises(ResultError, match="job 2: expected 6 nodes as in ta, got 8"):
        agreement("ta", ours(n_nodes=[4, 6, 2]), other)


EXPERIMENT = """
[topology]
kind = "fat-tree"
radix = 4
[workload]
generator = "synth"
mean_nodes = 3
n_jobs = 20
[run]
self_check = false
"""


@pytest.fixture
def result(tmp_path, command):
    """Return the result of twenty jobs."""
    (tmp_path / "try.toml").write_text(EXPERIMENT)
    assert command("run", tmp_path / "try.toml", "--out", tmp_path / "out", "--csv")[0] == 0
    return tmp_path / "out"


def test_a_run_agrees_with_its_own_tables(result, command, tmp_path):
    """What it exports for evalys, and its own CSV, are read back without a difference."""
    command("export", result, "--to", "evalys", "--out", tmp_path / "evalys.csv")

    for path in (tmp_path / "evalys.csv", result / "jobs.csv"):
        status, out, _ = command("compare", result, "--with", path, "--json")
        assert status == 0
        (found,) = json.loads(out)["runs"]
        assert (found["jobs"], found["only_here"], found["only_there"]) == (20, 0, 0)
        assert found["here"] == pytest.approx(found["there"])
        assert json.loads(out)["notes"] == []


def test_the_command_tells_people_how_far_runs_are_apart(result, command, tmp_path):
    command("export", result, "--to", "evalys", "--out", tmp_path / "other.csv")
    text = (tmp_path / "other.csv").read_text().replace("stretch", "mystery")
    (tmp_path / "other.csv").write_text(text)

    status, out, _ = command("compare", result, "--with", tmp_path / "other.csv")

    assert status == 0
    assert "20 jobs in both." in out
    assert "Run times differ by 0.00% in the mean" in out
    assert "other.csv: columns that are not read: mystery." in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--baseline", "first-free"), "--baseline: expected none beside --with"),
        (("--metric", "mean_wait_s"), "--metric: expected one directory of a sweep"),
    ],
)
def test_questions_that_have_no_sense_beside_a_table_are_refused(result, command, arguments, told):
    status, _, error = command("compare", result, "--with", result / "jobs.csv", *arguments)

    assert status == 2
    assert told in error
