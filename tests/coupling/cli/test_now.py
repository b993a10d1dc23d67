"""The command `now`: tables, pages, JSON, and errors of one line."""

import gzip
import json
import lzma
from pathlib import Path

import pandas as pd
import pytest

SITE = Path(__file__).parents[3] / "examples" / "site"
OPTIONS = (
    "--topology",
    SITE / "topology.conf",
    "--squeue",
    SITE / "squeue.json",
    "--profile",
    SITE / "profile.toml",
    "--samples",
    "6",
)


def test_totals_come_first_then_jobs_by_slowdown_then_cables(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    status, out, err = command("now", *OPTIONS, "--top", 3)

    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "fat-tree, 24 nodes, 2 levels, oversubscribed 2:1"
    assert lines[1].startswith("6 jobs on 22 of 24 nodes, 3 left out, 6")
    assert lines[2].startswith("Lost in a day: ")
    assert sum(line.startswith("Assumed: ") for line in lines) == 1
    assert command("now", *OPTIONS, "--why")[1].count("\nAssumed: ") > 3
    assert max(map(len, lines)) <= 80
    jobs = [line.split()[0] for line in lines if line.startswith("41")]
    assert len(jobs) == 3
    assert set(jobs[:2]) == {"4105", "4107"}
    assert any(line.startswith("3 more jobs; slowed down in some sample: ") for line in lines)
    assert sum(line.startswith(("leaf", "spine")) for line in lines) == 3
    assert any(line.startswith("Jobs left out: 2 pending and 1 completing.") for line in lines)


def test_json_holds_all_jobs_and_files_the_same_table(command, tmp_path):
    status, out, _ = command("now", *OPTIONS, "--json", "--out", tmp_path / "jobs.parquet")
    command("now", *OPTIONS, "--out", tmp_path / "jobs.csv", "--html", tmp_path / "now.html")

    found = json.loads(out)
    assert status == 0
    assert found["machine"]["jobs"] == len(found["jobs"]) == 6
    for table in (
        pd.read_parquet(tmp_path / "jobs.parquet"),
        pd.read_csv(tmp_path / "jobs.csv"),
    ):
        assert table["id"].tolist() == [job["id"] for job in found["jobs"]]
        assert table["network_slowdown"].tolist() == pytest.approx(
            [job["network_slowdown"] for job in found["jobs"]]
        )
    page = (tmp_path / "now.html").read_text()
    assert "train_net" in page
    assert "leaf3&gt;spine1" in page
    assert 'aria-label="Jobs and cables"' in page


def test_the_queue_comes_from_standard_input(command):
    text = (SITE / "squeue.json").read_text()

    status, out, _ = command(
        "now", "--topology", SITE / "topology.conf", "--squeue", "-", "--json", stdin=text
    )

    assert status == 0
    assert len(json.loads(out)["jobs"]) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--squeue", "gone.json"), "gone.json: "),
        ((), "expected --squeue FILE, or --sacct FILE with --at TIME, got"),
        (
            ("--sacct", SITE / "squeue.json", "--at", "1"),
            "a table, as sacct --json prints it",
        ),
        (("--squeue", SITE / "topology.conf"), "topology.conf:1: expected JSON"),
        (
            (*OPTIONS[2:4], "--unknown", "stop"),
            "host 'login1': expected a node of the fabric (fat-tree",
        ),
        ((*OPTIONS[2:4], "--out", "jobs.xls"), "expected a name that ends in .csv or .parquet."),
        ((*OPTIONS[2:4], "--profile", SITE / "topology.conf"), "topology.conf:"),
        ((*OPTIONS[2:4], "--routing", "bus"), "unknown routing 'bus'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(command, options, message):
    status, out, err = command("now", "--topology", SITE / "topology.conf", *options)

    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


def test_two_inputs_from_standard_input_are_refused_by_name(command):
    status, out, err = command("now", "--topology", "-", "--squeue", "-", stdin="x")

    assert (status, out) == (2, "")
    assert "--topology and --squeue: expected standard input (-) once at most" in err


@pytest.mark.parametrize("ending", [".json.gz", ".JSON.gz", ".toml.xz"])
def test_a_packed_description_of_a_fabric_is_known_by_its_name(command, tmp_path, ending):
    path = tmp_path / f"fabric{ending}"
    text = 'kind = "fat-tree"\nradix = 8\n' if "toml" in ending else '{"kind":"fat-tree","radix":8}'
    pack = lzma.compress if ending.endswith("xz") else gzip.compress
    path.write_bytes(pack(text.encode()))

    status, out, err = command("topology", "inspect", path)

    assert (status, err) == (0, "")
    assert "128 nodes" in out
