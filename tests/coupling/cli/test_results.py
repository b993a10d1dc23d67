"""Results that exist: reproduced, compared, reported, exported."""

import json
import resource
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest
from result_readers import sealed

from coupling.cli.root import main
from coupling.inputs.experiment import Experiment
from coupling.results.manifest import read_manifest, write_manifest
from coupling.results.result import Result
from coupling.runs.campaign import run_campaign
from scheduler.workload import synth, write_swf

EXPERIMENT = """
[topology]
kind = "fat-tree"
radix = 4
[workload]
path = "log.swf"
[scheduler]
allocator = "random"
[run]
self_check = false
"""


@pytest.fixture
def fabricsim(tmp_path, monkeypatch, capfd):
    """Return a function that runs the command in a folder with an experiment and a log."""
    (tmp_path / "try.toml").write_text(EXPERIMENT)
    write_swf(tmp_path / "log.swf", synth(3, n_jobs=30, seed=2).jobs)
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["fabricsim", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capfd.readouterr())

    return call


def made(out, *changes):
    """Run the experiment with changes into a directory, without the report."""
    run_campaign(Experiment.read(Path("try.toml"), changes), Path(out))


def refused(done, *words):
    """Exit status 2, one line on stderr with these words, nothing on stdout."""
    status, out, err = done
    assert status == 2, err
    assert out == ""
    assert len(err.strip().splitlines()) == 1, err
    for word in words:
        assert word in err


def test_a_result_is_reproduced_from_its_directory_alone(fabricsim, tmp_path, monkeypatch):
    """From another working directory; the directory itself stays as it is."""
    made("one", 'compare.allocators=["random", "ta"]')
    before = {path: path.read_bytes() for path in (tmp_path / "one").rglob("*") if path.is_file()}
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")

    status, out, err = fabricsim("rerun", "../one")

    assert status == 0, err
    assert "random and ta reproduced byte by byte" in " ".join(out.split())
    after = {path: path.read_bytes() for path in (tmp_path / "one").rglob("*") if path.is_file()}
    assert after == before


def test_a_result_that_came_out_otherwise_is_not_reproduced(fabricsim, tmp_path):
    """One start time, one second later, as another version might have had it: column and row."""
    made("one")
    result = Result.load(tmp_path / "one")
    result.jobs.loc[4, "start_s"] += 1.0
    manifest = read_manifest(tmp_path / "one")
    manifest["files"] |= result.save(tmp_path / "one")
    write_manifest(tmp_path / "one", manifest)

    status, out, _ = fabricsim("rerun", "one", "--json")

    found = json.loads(out)
    assert status == 1
    assert not found["agrees"]
    assert list(found["differences"]) == ["jobs.parquet"]
    assert "1 rows differ in start_s, first row 4" in found["differences"]["jobs.parquet"]


def test_a_changed_input_is_told_before_anything_is_run(fabricsim, tmp_path, monkeypatch):
    made("one")
    with (tmp_path / "log.swf").open("a") as log:
        log.write("; one more line\n")
    monkeypatch.setattr("coupling.runs.rerun.run_campaign", None)

    status, out, _ = fabricsim("rerun", "one")

    assert status == 1
    assert "log.swf:changed:expectedSHA-256" in "".join(out.split())  # lines may break anywhere


def test_an_input_that_has_gone_is_wrong_input(fabricsim, tmp_path):
    made("one")
    (tmp_path / "log.swf").unlink()

    refused(fabricsim("rerun", "one"), "log.swf")


def test_one_table_over_several_results_says_what_differs(fabricsim):
    """Baseline is the first first-free run; routing is the only setting named."""
    made("one", 'compare.allocators=["first-free", "random"]', 'network.routing="d-mod-k"')
    made("two", 'network.routing="s-mod-k"')

    status, out, err = fabricsim("compare", "one", "two", "--json")
    found = json.loads(out)
    table = fabricsim("compare", "one", "two")[1]

    assert status == 0, err
    assert [run["name"] for run in found["runs"]] == ["one/first-free", "one/random", "two/random"]
    assert found["baseline"] == "one/first-free"
    assert found["runs"][0]["speedup_mean"] == 1
    assert found["differences"] == {
        "network.routing": {
            "one/first-free": "d-mod-k",
            "one/random": "d-mod-k",
            "two/random": "s-mod-k",
        }
    }
    assert max(map(len, table.splitlines())) <= 80
    assert "network.routing differs: d-mod-k: one/first-free and one/random; s-mod-k:" in " ".join(
        table.split()
    )


def test_rules_written_in_another_order_of_fields_are_no_difference(fabricsim, tmp_path):
    rules = (
        'chance = 0.5\npattern = {name = "ring"}\nlabel = "r"',
        'label = "r"\npattern = {name = "ring"}\nchance = 0.5',
    )
    for name, rule in zip(("one", "two"), rules, strict=True):
        head = "[communication]\nversion = 1\n[[communication.rule]]"
        rest = "comm_fraction = 0.2\nbytes_per_flow = 1000\n"
        (tmp_path / "try.toml").write_text(f"{EXPERIMENT}{head}\n{rule}\n{rest}")
        made(name)

    found = json.loads(fabricsim("compare", "one", "two", "--json")[1])

    assert found["differences"] == {}


def test_other_jobs_are_marked_and_have_no_speedups(fabricsim):
    made("one", 'scheduler.allocator="first-free"')
    made("two", "workload.max_nodes=3")

    found = json.loads(fabricsim("compare", "one", "two", "--json")[1])
    table = fabricsim("compare", "one", "two")[1]

    assert not found["same_jobs"]
    assert found["baseline"] is None
    assert [run["speedup_mean"] for run in found["runs"]] == [None, None]
    assert "The runs differ in their jobs" in table


def test_machines_of_different_size_are_refused(fabricsim):
    made("one")
    made("two", "topology.radix=6")

    refused(fabricsim("compare", "one", "two"), "different machines", "16 nodes", "54 nodes")
    refused(fabricsim("report", "one", "two", "--out", "x.html"), "different machines")


def test_what_holds_no_whole_result_is_refused(fabricsim, tmp_path):
    """Nothing, one run of a comparison, an unfinished one, one twice, an unknown Baseline."""
    made("one", 'compare.allocators=["random", "ta"]')
    manifest = read_manifest(tmp_path / "one")

    refused(fabricsim("compare", "."), "manifest.json", "found none")
    refused(fabricsim("rerun", "one/ta"), "one run of one")
    refused(fabricsim("compare", "one", "./one"), "given twice")
    refused(fabricsim("compare", "one", "--baseline", "x"), "'x'", "random, ta")
    refused(fabricsim("report", "one", "one"), "--out")
    write_manifest(tmp_path / "one", manifest | {"complete": False})
    for command in ("rerun", "compare", "report"):
        refused(fabricsim(command, "one"), "not complete", "--resume")
    (tmp_path / "one" / "manifest.json").write_text("{")
    refused(fabricsim("compare", "one"), "manifest.json")


def test_a_run_says_which_command_draws_its_report(fabricsim, tmp_path):
    _, _, err = fabricsim("run", "try.toml", "--out", "one é")
    assert not (tmp_path / "one é" / "report.html").exists()
    drawn = err.splitlines()[-1].split("pictures: ")[1]

    status, out, err = fabricsim(*shlex.split(drawn)[1:])

    assert status == 0, err
    assert out == "one é/report.html\n"
    assert "<svg" in (tmp_path / "one é" / "report.html").read_text()


def test_a_result_is_exported_run_by_run_or_whole(fabricsim, tmp_path):
    made("one", 'compare.allocators=["random", "ta"]')

    assert fabricsim("export", "one", "--to", "perfetto", "--out", "all.json")[0] == 0
    assert fabricsim("export", "one", "--to", "perfetto", "--run", "ta", "--out", "ta.json")[0] == 0

    events = [
        json.loads((tmp_path / name).read_text())["traceEvents"] for name in ("all.json", "ta.json")
    ]
    names = [{e["args"]["name"] for e in own if e["name"] == "process_name"} for own in events]
    assert names == [{"random", "ta"}, {"ta"}]
    jobs = pd.read_parquet(tmp_path / "one" / "ta" / "jobs.parquet")
    assert sum(event["ph"] == "X" for event in events[1]) == len(jobs)


def test_the_load_of_links_over_time_is_written_when_the_command_is_asked(fabricsim, tmp_path):
    status, _, err = fabricsim("run", "try.toml", "--links-timeline", "--out", "loads")

    assert status == 0, err
    assert (tmp_path / "loads" / "links" / "timeline.parquet").stat().st_size


@pytest.mark.usefixtures("undrawn")
def test_what_cannot_be_exported_or_drawn_is_refused(fabricsim, tmp_path):
    """An unknown viewer or run; a folder for figures that is a file; a result half-written."""
    made("one")

    refused(fabricsim("export", "one", "--to", "gif", "--out", "x"), "--to", "perfetto", "'gif'")
    refused(
        fabricsim("export", "one", "--to", "perfetto", "--run", "ta", "--out", "x"), "--run", "'ta'"
    )
    refused(fabricsim("report", "one", "--figures", "log.swf"), "log.swf: cannot be used")
    manifest = read_manifest(tmp_path / "one")
    write_manifest(tmp_path / "one", {**manifest, "complete": False})
    refused(fabricsim("export", "one", "--to", "perfetto", "--out", "x"), "not complete")
    refused(fabricsim("report", "one", "--figures", "figures"), "not complete")
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "figures").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_report_that_finds_the_disk_full_leaves_the_old_one_and_nothing_else(fabricsim, tmp_path):
    """A limit on the size of files stands for the disk, since it holds for root as well."""
    made("one")
    (tmp_path / "one" / "report.html").write_text("old")
    before = sorted(path.name for path in (tmp_path / "one").iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        done = fabricsim("report", "one")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    refused(done, "one/report.html: cannot be written: File too large")
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == before
    assert (tmp_path / "one" / "report.html").read_text() == "old"


@pytest.mark.usefixtures("undrawn")
def test_one_report_over_several_results(fabricsim, tmp_path):
    """Every run, what differs on top, and speed-ups against the first Baseline."""
    made("one", 'scheduler.allocator="first-free"')
    made("two", 'network.model="null"')

    status, _, err = fabricsim("report", "one", "two", "--out", "both.html")

    page = (tmp_path / "both.html").read_text()
    assert status == 0, err
    for words in ("two/random", "network.model differs", "Run time of a job under one/first-free"):
        assert words in page


def test_metrics_are_tables_and_json_of_the_same_runs(fabricsim, tmp_path):
    """Every bin and class once; the utilisation of every minute averages to that of the run."""
    made("out", "compare.allocators=['first-free','random']")

    status, out, _ = fabricsim("metrics", "out", "--json", "--per-minute", "minutes.csv")
    found = json.loads(out)
    first, other = found["runs"]

    assert status == 0
    assert sum(first["instantaneous_utilization"].values()) == pytest.approx(1)
    assert sum(row["jobs"] for row in first["wait_by_size"]) == 30
    assert (first["mind_gain"], found["baseline"]) == (None, "first-free")
    assert other["mind_gain"]["by_node_time"] < 0
    minutes = pd.read_csv("minutes.csv").groupby("run")["utilization"]
    makespan_s = Result.load(tmp_path / "out" / "random").summary["makespan_s"]
    used = Result.load(tmp_path / "out" / "random").summary["utilization_makespan"] * makespan_s
    assert minutes.sum()["random"] * 60 == pytest.approx(used)
    assert "MIND lower than under" in fabricsim("metrics", "out")[1]
    refused(
        fabricsim("metrics", "out", "--per-minute", "gone/x.csv"),
        "gone/x.csv: cannot be written: No such file or directory",
    )


def test_a_result_of_another_version_is_refused_with_the_command_that_makes_it_anew(
    fabricsim, tmp_path
):
    """A key that this version does not know, as before it was renamed; the hashes are right."""
    made("out")
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    summary["network"]["mix"] = summary["network"].pop("traffic_class")
    sealed(tmp_path / "out", "summary.json", json.dumps(summary).encode())
    again = "run it again: fabricsim run out/experiment.resolved.toml --out NEW"
    for command in ("compare", "metrics", "report"):
        refused(fabricsim(command, "out"), "another version of fabricsim (0.2.0)", again, "mix")
    table = (tmp_path / "out/experiment.resolved.toml").read_bytes() + b"[renamed]\nkey = 1\n"
    sealed(tmp_path / "out", "experiment.resolved.toml", table)

    refused(fabricsim("compare", "out"), "another version of fabricsim (0.2.0)", again, "renamed")
