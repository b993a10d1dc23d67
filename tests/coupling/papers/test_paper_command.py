"""The command `paper`: what it refuses, and what it writes where."""

import json

import pytest


def test_unknown_paper_is_told_with_those_that_exist(command):
    status, _, told = command("paper", "smith22", "--quick")

    assert status == 2
    assert "smith21" in told


def test_full_mode_without_logs_says_what_is_needed(command):
    status, _, told = command("paper", "smith21")

    assert status == 2
    assert "--logs DIR with LLNL-Thunder-2007-1.1-cln.swf.gz" in told
    assert "--quick" in told


def test_a_missing_log_is_named_with_where_to_get_it(command, tmp_path):
    (tmp_path / "LLNL-Thunder-2007-1.1-cln.swf.gz").write_bytes(b"")
    status, _, told = command("paper", "smith21", "--logs", tmp_path, "--out", tmp_path / "out")

    assert status == 2
    assert f"{tmp_path}: expected LLNL-Atlas-2006-2.1-cln.swf.gz" in told
    assert "https://www.cs.huji.ac.il/labs/parallel/workload/l_llnl_atlas/" in told
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("beside", [["--quick"], ["--logs", "."], ["--set", "run.seed=2"]])
def test_a_record_beside_what_asks_for_runs_is_refused(command, tmp_path, beside):
    status, _, told = command("paper", "smith21", "--recorded", tmp_path / "r.json", *beside)

    assert status == 2
    assert f"expected one of --recorded and {beside[0]}" in told


def test_a_record_makes_the_page_where_told_and_nothing_else(
    command, sampled, tmp_path, monkeypatch
):
    monkeypatch.setattr("coupling.report.plots.style.Picture.file", lambda *_: b"")
    sampled("smith21").save(tmp_path / "record.json")
    status, printed, _ = command(
        "paper",
        "smith21",
        "--recorded",
        tmp_path / "record.json",
        "--out",
        tmp_path / "out",
        "--json",
    )

    assert status == 0
    assert json.loads(printed)["page"] == str(tmp_path / "out" / "smith21.md")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["smith21", "smith21.md"]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"paper": "yang"}, "paper: expected smith21"),
        ({"version": 7}, "version"),
        ({"frames": {"utilisation": 3}}, "frames: they were changed since"),
    ],
)
def test_a_damaged_record_is_refused_by_its_field(command, sampled, tmp_path, broken, said):
    sampled("smith21").save(tmp_path / "record.json")
    document = json.loads((tmp_path / "record.json").read_text(encoding="utf-8")) | broken
    (tmp_path / "record.json").write_text(json.dumps(document), encoding="utf-8")
    status, _, told = command(
        "paper", "smith21", "--recorded", tmp_path / "record.json", "--out", tmp_path / "out"
    )

    assert status == 2
    assert said in told
    assert not (tmp_path / "out").exists()


def test_a_wrong_field_is_refused_before_anything_runs(command, tmp_path):
    status, _, told = command(
        "paper", "smith21", "--quick", "--set", "workload.n_job=3", "--out", tmp_path / "out"
    )

    assert status == 2
    assert "n_job" in told


def test_files_of_which_nothing_can_be_said_are_refused_before_they_run(command, tmp_path):
    status, _, told = command(
        "paper", "mishra20", "--quick", "--only", "rhvd", "--out", tmp_path / "out"
    )

    assert status == 2
    assert "--only: paper mishra20 needs rd-binomial as well, got rhvd." in told
    assert not (tmp_path / "out").exists()
