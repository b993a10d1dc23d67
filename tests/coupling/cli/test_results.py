"""Results that exist: reproduced, compared, reported; and runs that are killed half-way."""

import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from multiprocessing import active_children
from pathlib import Path

import pandas as pd
import pytest

from coupling.cli.root import main
from coupling.errors import ResultError
from coupling.experiments.campaign import run_campaign
from coupling.experiments.claim import claim
from coupling.experiments.experiment import Experiment
from coupling.experiments.stored import Stored
from coupling.experiments.workers import _IDLE, _PHASE, _Watch
from coupling.report.terminal import ProgressDisplay
from coupling.results.manifest import read_manifest, write_manifest
from coupling.results.result import Result
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
MAIN = "from coupling.cli.root import main; main()"
LONG = """
[topology]
kind = "fat-tree"
radix = 8
[workload]
generator = "synth"
mean_nodes = 8
n_jobs = 20000
[compare]
allocators = ["first-free", "random"]
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
    monkeypatch.setattr("coupling.experiments.rerun.run_campaign", None)

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


def test_the_report_written_anew_is_the_one_that_run_wrote(fabricsim, tmp_path):
    """But for the paths, which are absolute in a result."""
    fabricsim("run", "try.toml", "--out", "one")
    page = (tmp_path / "one" / "report.html").read_text()
    (tmp_path / "one" / "report.html").unlink()

    status, out, err = fabricsim("report", "one")

    again = (tmp_path / "one" / "report.html").read_text()
    assert status == 0, err
    assert out == "one/report.html\n"
    assert again.replace(f"{tmp_path}/log.swf", "log.swf") == page


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


def test_one_report_over_several_results(fabricsim, tmp_path):
    """Every run, what differs on top, and speed-ups against the first Baseline."""
    made("one", 'scheduler.allocator="first-free"')
    made("two", 'network.model="null"')

    status, _, err = fabricsim("report", "one", "two", "--out", "both.html")

    page = (tmp_path / "both.html").read_text()
    assert status == 0, err
    for words in ("two/random", "network.model differs", "Run time of a job under one/first-free"):
        assert words in page


def started(tmp_path, workers=1):
    """Start a long run in a process group of its own; return when it has begun to run jobs."""
    (tmp_path / "long.toml").write_text(LONG)
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", MAIN, "run", "long.toml", "--out", "out", f"--workers={workers}"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    sign = ".tasks.*.partial/tasks.pickle" if workers > 1 else "experiment.resolved.toml"
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out").glob(sign)):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_leaves_nothing_that_looks_like_a_result(tmp_path, fabricsim, number, workers):
    """One line, 128 + signal, no run directory, no hidden rest; the rest can be resumed."""
    process = started(tmp_path, workers)
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal sends it
    else:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)  # workers hold the pipe as long as they live

    assert process.returncode == 128 + number
    told = [line for line in err.splitlines() if not line.startswith("compiling the ")]
    assert told == ["fabricsim: interrupted; go on with --resume --out out."]
    left = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert left == ["experiment.resolved.toml", "manifest.json"]
    refused(fabricsim("compare", "out"), "not complete")


def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    """At once, not only when they look for it, and the directory is free then."""
    process = started(tmp_path, workers=2)
    process.kill()
    process.communicate(timeout=30)  # workers hold the pipe as long as they live

    assert (tmp_path / "out" / ".lock").exists()
    with claim(tmp_path / "out"):
        pass


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


def test_a_killed_worker_is_one_line_and_the_rest_is_resumed(tmp_path):
    """SIGKILL, as the kernel sends it when memory runs out."""
    tables = {
        "topology": {"kind": "fat-tree", "radix": 8},
        "workload": {"generator": "synth", "mean_nodes": 8, "n_jobs": 2500},
        "run": {"self_check": False},
        "compare": {"allocators": ["first-free", "random"]},
        "network": {"model": "null"},
    }
    experiment = Experiment.from_tables(tables, "test", tmp_path, "test")
    seen = []

    def kill_once(what, done, total):
        seen.append((what, done, total))
        if len(seen) == 1:
            os.kill(active_children()[0].pid, signal.SIGKILL)

    with pytest.raises(ResultError, match="a worker process was killed"):
        run_campaign(experiment, tmp_path / "out", workers=2, progress=kill_once)
    assert 0 <= seen[0][1] < seen[0][2] == 2500  # in the middle of a run
    assert not active_children()
    with pytest.raises(ResultError, match="not complete"):
        Stored.open(tmp_path / "out")
    campaign = run_campaign(experiment, tmp_path / "out", resume=True)

    assert [result.name for result in campaign.results] == ["first-free", "random"]
    assert not list((tmp_path / "out").rglob("*.partial"))


def test_progress_of_workers_is_told_phase_by_phase(experiment):
    """What the board says of two runs, one of which ends a phase between two looks."""
    told = []
    board = [_IDLE, _IDLE]
    watch = _Watch(
        [experiment(allocator="ta"), experiment(allocator="random", self_check=False)],
        300,
        board,
        lambda *words: told.append(words),
    )
    watch.look()
    board[0] = 7
    watch.look()
    board[:] = [_PHASE + 2, 9]
    watch.look()
    watch.finish(1)
    watch.look()

    assert told == [
        ("ta", 7, 300),
        ("ta", 300, 300),
        ("ta, infinite network", 2, 300),
        ("random", 9, 300),
        ("random", 300, 300),
        ("ta, infinite network", 2, 300),
    ]


def test_two_runs_at_once_have_a_line_each_when_they_end():
    stream = io.StringIO()

    with ProgressDisplay(stream) as progress:
        for done in range(101):
            progress("ta", done, 100)
            progress("jigsaw", done // 2, 100)
        progress("jigsaw", 100, 100)

    lines = stream.getvalue().splitlines()
    assert [line.split(" in ")[0] for line in lines] == ["ta: 100 jobs", "jigsaw: 100 jobs"]
