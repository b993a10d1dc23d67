"""The command `whatif`: tables, JSON, exit status 1 where somebody is cut off, errors."""

import json
from pathlib import Path

import pandas as pd
import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
SITE = (
    "--topology",
    EXAMPLES / "site" / "topology.conf",
    "--squeue",
    EXAMPLES / "site" / "squeue.json",
    "--samples",
    "3",
)


def test_a_lost_leaf_cuts_jobs_off_and_is_status_1(command, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")

    status, out, err = command("whatif", *SITE, "--fail", "leaf1", "--out", tmp_path / "jobs.csv")

    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == "fat-tree, 24 nodes, 2 levels, oversubscribed 2:1"
    assert lines[1] == "6 jobs, 3 samples: leaf1 fails"
    assert lines[2] == "Cut off or disconnected: 2 jobs, 288 node-hours a day."
    assert max(map(len, lines)) <= 80
    assert sum("cut off: 3 nodes" in line for line in lines) == 2
    table = pd.read_csv(tmp_path / "jobs.csv")
    assert set(table[table["status"] == "cut off"]["id"]) == {4101, 4102}


def test_a_failure_that_cuts_nobody_off_is_status_0(command):
    status, out, _ = command("whatif", *SITE, "--fail", "spine1", "--json")

    found = json.loads(out)
    assert status == 0
    assert found["machine"]["cut_off"] == 0
    assert [leaf["after"] for leaf in found["leaves"]] == [3.0] * 4


def test_a_ranking_begins_with_what_hurts_most(command):
    status, out, _ = command("whatif", *SITE, "--each-switch", "--top", 2)

    assert status == 0
    lines = out.splitlines()
    assert lines[0] == "fat-tree, 24 nodes, 2 levels, oversubscribed 2:1"
    assert lines[1] == "7 failures of one switch, 3 samples"
    assert {line.split()[0] for line in lines[5:7]} == {"leaf1", "leaf2"}
    assert "5 more failures (--top, --json)." in lines


def test_a_snapshot_is_changed_too(command):
    snapshot = EXAMPLES / "placed_jobs.json"

    status, out, _ = command("whatif", snapshot, "--taper", 4, "--json")
    piped = command("whatif", "-", "--taper", 4, "--json", stdin=snapshot.read_text())

    assert status == 0
    assert piped[1] == out.replace(json.dumps(str(snapshot)), '"-"')
    assert {leaf["after"] for leaf in json.loads(out)["leaves"]} == {4.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "expected a change (--fail, --drain,"),
        (("--fail", "x", "--each-switch"), "expected a change (--fail, --drain,"),
        (
            ("--each-cable", "--each-switch"),
            "expected one kind of part that fails, got --each-switch and --each-cable.",
        ),
        (("--fail", "spine9"), "no node or switch 'spine9'"),
        (("--fail", ""), "--fail: expected the name of what fails, got an empty text."),
        (
            ("--fail", "leaf1", "--drain", ""),
            "--drain: expected names of nodes, got an empty text.",
        ),
        (("--taper", "0"), "--taper: expected a number from 0.01 to 1000, got 0.0."),
        (("--fail", "leaf1", "--out", "x.txt"), "expected a name that ends in .csv or .parquet."),
        ((EXAMPLES / "placed_jobs.json", "--fail", "leaf1"), "expected a snapshot, or --topology"),
    ],
)
def test_bad_input_is_one_line_and_status_2(command, options, message):
    status, out, err = command("whatif", *SITE, *options)

    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_no_jobs_at_all_are_refused(command):
    status, _, err = command("whatif", "--fail", "leaf1")

    assert status == 2
    assert "expected a snapshot, or --topology with --squeue or --sacct; got neither." in err


def test_two_inputs_from_standard_input_are_refused(command):
    options = ("--topology", "-", "--squeue", "-", "--fail", "spine1")

    status, out, err = command("whatif", *options, stdin="x")

    assert (status, out) == (2, "")
    assert "got it twice." in err
