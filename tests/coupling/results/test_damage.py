"""Damaged result directories: every reader refuses them in one line that says what is wrong."""

import json
import shutil

import pandas as pd
import pytest
from result_readers import READERS, refused

from coupling.errors import ResultError
from coupling.results.manifest import hashes_of, read_manifest, sha256, write_manifest
from coupling.results.result import FILES, Result
from coupling.runs.campaign import run_campaign


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def doubled(path):
    table = pd.read_parquet(path)
    pd.concat([table, table]).to_parquet(path, index=False)


def flipped(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def swapped(path):
    shutil.copy(path.parents[1] / "first-free" / path.name, path)


DAMAGE = {
    "doubled rows": ("jobs.parquet", doubled, "expected SHA-256"),
    "the table of another run": ("jobs.parquet", swapped, "expected SHA-256"),
    "cut short": ("links.parquet", lambda path: path.write_bytes(path.read_bytes()[:99]), "SHA"),
    "one bit": ("blame.parquet", flipped, "this is not the file that the run wrote"),
    "one bit of a number": ("summary.json", flipped, "this is not the file that the run wrote"),
    "empty": ("cost.json", lambda path: path.write_bytes(b""), "got e3b0c44298fc..."),
    "gone": ("timeline.parquet", lambda path: path.unlink(), "expected a file of the result"),
    "a folder": ("cost.json", lambda path: (path.unlink(), path.mkdir()), "cannot be read: Is a"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("damage", DAMAGE)
def test_every_reader_refuses_a_file_that_the_run_did_not_write(here, command, damage, reader):
    name, harm, words = DAMAGE[damage]
    harm(here / "random" / name)
    before = contents(here)

    refused(command(*READERS[reader]), f"out/random/{name}: ", words)

    assert contents(here) == before


def test_a_resume_says_what_to_remove_and_makes_that_run_again(here, command):
    before = contents(here)
    doubled(here / "random" / "jobs.parquet")

    refused(command(*READERS["resume"]), "; remove out/random to have it run again.")
    shutil.rmtree(here / "random")
    status, _, err = command(*READERS["resume"])

    assert status == 0, err
    after = contents(here)
    for path, data in before.items():
        assert path.name in ("cost.json", "manifest.json") or after[path] == data, path


def test_a_run_that_the_manifest_does_not_know_is_refused(here, command):
    """A folder that was copied from elsewhere into an unfinished result."""
    manifest = read_manifest(here)
    files = {name: digest for name, digest in manifest["files"].items() if "random" not in name}
    write_manifest(here, manifest | {"files": files, "complete": False})

    refused(command(*READERS["resume"]), "out/random: expected a run that out/manifest.json knows")


def test_the_experiment_of_a_result_is_checked_too(here, command):
    text = (here / "experiment.resolved.toml").read_text()
    (here / "experiment.resolved.toml").write_text(text.replace("seed = 1", "seed = 2"))

    for reader in ("compare", "metrics", "report", "rerun"):
        refused(command(*READERS[reader]), "out/experiment.resolved.toml: expected SHA-256")


MANIFESTS = {
    "no object": ([1], "out/manifest.json: expected a JSON object, got [1]"),
    "a list of files": ({"files": []}, "out/manifest.json: files: expected an object, got []"),
    "a number as a hash": (
        {"files": {"x": 1}},
        "out/manifest.json: files: 'x': expected a text, got 1",
    ),
    "text for nodes": (
        {"nodes": "16"},
        "out/manifest.json: nodes: expected a whole number from 1, got '16'",
    ),
    "a number as the name": ({"name": 5}, "out/manifest.json: name: expected a text, got 5"),
    "a text as versions": ({"versions": "1"}, "out/manifest.json: versions: expected an object"),
    "no list of inputs": ({"inputs_sha256": None}, "out/manifest.json: inputs_sha256: expected"),
    "a text for complete": ({"complete": "yes"}, "complete: expected true or false, got 'yes'"),
    "half a job": ({"jobs": 1.5}, "out/manifest.json: jobs: expected a whole number from 0"),
    "the costs in a list": ({"cost": [1]}, "out/manifest.json: cost: expected a table"),
    "another seed": ({"seed": 7}, "out/manifest.json: manifest_sha256: expected"),
    "an unknown field": ({"extra": 7}, "the file was changed after the run"),
    "nobody's hash": ({"manifest_sha256": None}, "manifest_sha256: expected"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("case", MANIFESTS)
def test_every_reader_refuses_a_manifest_that_the_run_did_not_write(here, command, case, reader):
    change, words = MANIFESTS[case]
    path = here / "manifest.json"
    found = json.loads(path.read_text())
    path.write_text(json.dumps(found | change if isinstance(change, dict) else change))
    before = contents(here)

    refused(command(*READERS[reader]), words)

    assert contents(here) == before


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("field", ["name", "nodes", "inputs_sha256", "complete", "cost"])
def test_every_reader_refuses_a_manifest_that_lacks_a_field(here, command, field, reader):
    found = json.loads((here / "manifest.json").read_text())
    del found[field]
    (here / "manifest.json").write_text(json.dumps(found))

    refused(command(*READERS[reader]), "out/manifest.json: ")


@pytest.mark.parametrize("reader", READERS)
def test_a_result_of_a_version_without_hashes_is_refused_with_what_to_do(here, command, reader):
    found = json.loads((here / "manifest.json").read_text())
    del found["files"], found["manifest_sha256"]
    (here / "manifest.json").write_text(json.dumps(found))

    refused(
        command(*READERS[reader]),
        "out/manifest.json: expected hashes of the result's files, got none",
        "run out/experiment.resolved.toml again",
    )


@pytest.mark.parametrize("reader", ["compare", "metrics", "report", "rerun"])
def test_a_manifest_must_know_every_file(here, command, reader):
    manifest = read_manifest(here)
    del manifest["files"]["random/links.parquet"]
    write_manifest(here, manifest)

    refused(command(*READERS[reader]), "manifest.json: files: expected 'random/links.parquet'")


def test_no_table_at_all_is_refused(tmp_path, experiment):
    """Where no manifest knows the files: what `Result.save` alone has written."""
    run_campaign(experiment(self_check=False, compare=("ta",)), tmp_path / "out")
    result = Result.load(tmp_path / "out")
    (tmp_path / "bare").mkdir()
    hashes = result.save(tmp_path / "bare")
    assert hashes_of(tmp_path / "bare") is None
    files = (*FILES, "waits.parquet")
    assert {name: sha256((tmp_path / "bare" / name).read_bytes()) for name in files} == hashes
    assert Result.load(tmp_path / "bare").jobs.equals(result.jobs)

    (tmp_path / "bare" / "jobs.parquet").write_bytes(b"PAR1 no table PAR1")

    with pytest.raises(ResultError, match=r"bare/jobs.parquet: expected a Parquet file, got: "):
        Result.load(tmp_path / "bare")


def test_one_run_of_a_comparison_is_checked_when_it_is_loaded_alone(here):
    """The hashes are in the manifest of the directory above."""
    assert Result.load(here / "random").name == "random"
    doubled(here / "random" / "jobs.parquet")

    with pytest.raises(ResultError, match=r"random/jobs.parquet: expected SHA-256"):
        Result.load(here / "random")
