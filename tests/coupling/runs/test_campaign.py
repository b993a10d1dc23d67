"""Result directories: same seed same bytes, resume, nothing half-written."""

import errno
import json
import os
from functools import partial

import pytest

import coupling.runs.campaign
from coupling.errors import ExperimentError, ResultError
from coupling.inputs.experiment import Experiment
from coupling.results.result import Result
from coupling.runs.campaign import run_campaign
from scheduler.job import Job
from scheduler.workload import synth, write_swf


@pytest.fixture
def experiment(experiment):
    """Return a function that makes an experiment of 60 jobs: enough for what is written."""
    workload = {"generator": "synth", "mean_nodes": 6, "n_jobs": 60, "seed": 3}
    return partial(experiment, workload=workload)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_same_seed_gives_the_same_bytes_whatever_the_number_of_workers(experiment, tmp_path):
    """jobs.parquet, byte by byte, run to run."""
    compared = experiment(compare=("random", "jigsaw"), self_check=False)

    one = run_campaign(compared, tmp_path / "one")
    two = run_campaign(compared, tmp_path / "two", workers=2)

    for result in one.results:
        first, second = (
            (tmp_path / name / result.name / "jobs.parquet").read_bytes() for name in ("one", "two")
        )
        assert first == second
    assert [dict(r.summary) for r in one.results] == [dict(r.summary) for r in two.results]


def test_another_seed_gives_other_placements(experiment, tmp_path):
    """The seed reaches allocator and communication."""
    for seed in (1, 2):
        run_campaign(experiment(seed=seed, self_check=False), tmp_path / str(seed))

    first, second = (Result.load(tmp_path / str(seed)).jobs for seed in (1, 2))

    assert not first["nodes"].equals(second["nodes"])
    assert not first["pattern"].equals(second["pattern"])


def test_a_single_run_is_written_flat_and_a_comparison_into_folders(experiment, tmp_path):
    """Layout of docs/reference/results.md."""
    run_campaign(experiment(self_check=False), tmp_path / "flat", csv=True)
    run_campaign(experiment(self_check=False, compare=("ta",)), tmp_path / "one-compared")

    names = ["blame.parquet", "cost.json", "experiment.resolved.toml", "jobs.csv", "jobs.parquet"]
    names += ["links.parquet", "manifest.json", "partitions.parquet", "summary.json"]
    names += ["timeline.parquet", "waits.parquet"]
    assert files(tmp_path / "flat") == names
    assert json.loads((tmp_path / "flat" / "manifest.json").read_text())["complete"]
    assert "jobs.parquet" in files(tmp_path / "one-compared")


def test_profile_and_seeds_are_written_into_the_manifest(experiment, tmp_path):
    """No log says how jobs communicate: the assumption travels with the result."""
    run_campaign(experiment(self_check=False), tmp_path / "out")

    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())

    assert manifest["seeds"] == dict(experiment().all_seeds)
    assert [rule["pattern"]["name"] for rule in manifest["communication"]["rule"]] == [
        "stencil",
        "sub-all-to-all",
    ]


def test_the_resolved_experiment_can_be_run_from_anywhere(experiment, tmp_path):
    """Its paths are absolute, and it gives the same bytes."""
    write_swf(tmp_path / "log.swf", synth(4, n_jobs=30, seed=2).jobs)
    first = experiment(workload={"path": "log.swf"}, folder=tmp_path, self_check=False)
    run_campaign(first, tmp_path / "one")

    again = Experiment.read(tmp_path / "one" / "experiment.resolved.toml")
    run_campaign(again, tmp_path / "two")

    one, two = ((tmp_path / name / "jobs.parquet").read_bytes() for name in ("one", "two"))
    assert one == two


def test_a_changed_matrix_file_is_another_experiment(experiment, tmp_path):
    """Files that patterns read are hashed like the log."""
    (tmp_path / "m.csv").write_text("src,dst,bytes\n0,1,1000\n1,0,1000\n")
    rule = {
        "match": {"min_nodes": 2, "max_nodes": 2},
        "pattern": {"name": "matrix", "file": "m.csv"},
        "comm_fraction": 0.5,
    }
    profile = {"version": 1, "rule": [rule]}
    mine = experiment(communication=profile, folder=tmp_path, self_check=False)
    run_campaign(mine, tmp_path / "out")

    (tmp_path / "m.csv").write_text("src,dst,bytes\n0,1,9000\n1,0,1000\n")

    with pytest.raises(ResultError, match="another experiment, input or version; choose"):
        run_campaign(mine, tmp_path / "out", resume=True)


def test_a_job_that_can_never_be_placed_is_found_before_anything_is_run(experiment, tmp_path):
    """126 of 128 nodes work: Jigsaw has no legal partition for a job of that size."""
    write_swf(tmp_path / "log.swf", [Job(2, 0.0, 126, 60.0, 60.0)])
    broken = experiment(
        topology={"kind": "fat-tree", "radix": 8, "excluded": ["n5", "n9"]},
        workload={"path": "log.swf"},
        compare=("first-free", "jigsaw"),
        folder=tmp_path,
    )

    with pytest.raises(ExperimentError, match=r"job 2 of 126 nodes does not fit .*'jigsaw'"):
        run_campaign(broken, tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_resume_keeps_finished_runs_and_runs_the_rest(experiment, tmp_path, monkeypatch):
    """A campaign killed in its second run does not repeat the first."""
    compared = experiment(compare=("first-free", "ta"), self_check=False)
    real, ran = coupling.runs.campaign.run_parts, []

    def killed_in_the_second(variant, parts, progress=None):
        if variant.allocator == "ta":
            raise KeyboardInterrupt
        return real(variant, parts, progress)

    monkeypatch.setattr(coupling.runs.campaign, "run_parts", killed_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        run_campaign(compared, tmp_path / "out")
    assert not json.loads((tmp_path / "out" / "manifest.json").read_text())["complete"]
    assert not (tmp_path / "out" / "ta").exists()

    def counted(variant, parts, progress=None):
        ran.append(variant.allocator)
        return real(variant, parts, progress)

    monkeypatch.setattr(coupling.runs.campaign, "run_parts", counted)
    campaign = run_campaign(compared, tmp_path / "out", resume=True)

    assert ran == ["ta"]
    assert [result.name for result in campaign.results] == ["first-free", "ta"]


def test_what_killed_processes_had_begun_to_write_goes_with_the_next_run(experiment, tmp_path):
    """Files and folders, also of another number of runs; the same names of others stay."""
    compared = experiment(compare=("random", "ta"), self_check=False)
    out = tmp_path / "out"
    for name in (".tasks.01234567.partial", ".ta.01234567.partial"):
        (out / name).mkdir(parents=True)
        (out / name / "jobs.parquet").write_text("half")
    (out / ".manifest.json.01234567.partial").write_text("half")

    run_campaign(compared, out)
    (out / "ta" / ".jobs.csv.01234567.partial").write_text("half")
    (out / ".report.html.01234567.partial").write_text("half")
    (out / ".mine.partial").write_text("precious")
    run_campaign(compared, out, resume=True)

    hidden = [path.name for path in out.rglob(".*")]
    assert hidden == [".mine.partial"]


def test_resuming_a_finished_result_changes_nothing(experiment, tmp_path):
    compared = experiment(compare=("random", "ta"), self_check=False)
    first = run_campaign(compared, tmp_path / "out")
    before = {path: path.stat() for path in (tmp_path / "out").rglob("*") if path.is_file()}

    again = run_campaign(compared, tmp_path / "out", resume=True)

    after = {path: path.stat() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {p: (s.st_ino, s.st_mtime_ns) for p, s in after.items()} == {
        p: (s.st_ino, s.st_mtime_ns) for p, s in before.items()
    }
    assert again.manifest == first.manifest


def test_resume_with_csv_writes_that_of_kept_runs_too(experiment, tmp_path):
    """The same text as if it had been asked for from the start."""
    compared = experiment(compare=("first-free", "random"), self_check=False)
    run_campaign(compared, tmp_path / "late")
    run_campaign(compared, tmp_path / "late", resume=True, csv=True)
    run_campaign(compared, tmp_path / "early", csv=True)

    for name in compared.compare:
        late, early = (tmp_path / when / name / "jobs.csv" for when in ("late", "early"))
        assert late.read_text() == early.read_text()


@pytest.mark.parametrize("made", ["", "made"])
def test_a_run_that_can_write_nothing_takes_away_the_directories_it_made(
    experiment, tmp_path, monkeypatch, made
):
    """And leaves those that were there."""

    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / made).mkdir(exist_ok=True)
    monkeypatch.setattr("netsim.common.atomic_write.os.fsync", full)

    with pytest.raises(ResultError, match="cannot be written: No space left on device"):
        run_campaign(experiment(self_check=False), tmp_path / "made" / "out")

    assert files(tmp_path) == ([made] if made else [])


def test_a_used_directory_is_not_written_into(experiment, tmp_path):
    """Neither a foreign one nor the result of another experiment."""
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(ResultError, match="expected an empty or new directory, found mine"):
        run_campaign(experiment(), tmp_path)
    with pytest.raises(ResultError, match="holds no result that could be resumed"):
        run_campaign(experiment(), tmp_path, resume=True)

    run_campaign(experiment(self_check=False), tmp_path / "out")
    told = r"another experiment, input or version \(run.seed was 1, is 9; .* and \d others\)"
    with pytest.raises(ResultError, match=told):
        run_campaign(experiment(seed=9), tmp_path / "out", resume=True)

    assert files(tmp_path)[0] == "mine.txt"


def test_a_wrong_name_is_found_before_anything_is_written(experiment, tmp_path):
    """The second compared allocator does not exist: the first is not run either."""
    with pytest.raises(ValueError, match="unknown allocator 'jigsav'"):
        run_campaign(experiment(compare=("ta", "jigsav")), tmp_path / "out")

    assert not (tmp_path / "out").exists()
