"""Records of Slurm that were printed without some of their columns."""

import pytest
from sacct_logs import line, sacct

import fabricsim as fs

TREE = {"kind": "fat-tree", "radix": 4, "levels": 2}
RUNS = line(1, 0, 100, "n0,n2"), line(2, 50, 150, "n[1,4]"), line(3, 400, 700, "n[0-7]")


def without(path, column):
    """Take a column out of a log."""
    rows = [row.split("|") for row in path.read_text().splitlines()]
    place = rows[0].index(column)
    path.write_text("\n".join("|".join(row[:place] + row[place + 1 :]) for row in rows) + "\n")
    return path


@pytest.fixture
def log(tmp_path):
    return sacct(tmp_path / "log.txt", *RUNS)


def test_without_ends_jobs_end_as_their_run_time_says(log):
    """None of them runs until the record ends."""
    whole = fs.replay(log, TREE)
    bare = fs.replay(without(log, "End"), TREE)

    for column in ("start_s", "end_s", "interference"):
        assert bare.recorded.jobs[column].equals(whole.recorded.jobs[column])
    assert bare.recorded.summary["replay"] == whole.recorded.summary["replay"]


def test_without_ends_jobs_that_have_ended_do_not_run(log):
    without(log, "End")

    found = fs.now(TREE, sacct=log, at="2024-05-29T08:02:00", samples=1)

    assert [job.id for job in found.jobs] == ["2"]


@pytest.mark.parametrize("column", ["NodeList", "Start"])
def test_what_nothing_is_known_without_is_named(log, column):
    without(log, column)

    for ask in (
        lambda: fs.replay(log, TREE),
        lambda: fs.now(TREE, sacct=log, at="2024-05-29T08:01:00"),
    ):
        with pytest.raises(fs.FabricsimError, match=f"log.txt:1: .* column {column.lower()}, got"):
            ask()
