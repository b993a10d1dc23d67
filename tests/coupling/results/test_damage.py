"""Damaged result directories: every reader refuses them in one line that says what is wrong."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from coupling.errors import ResultError
from coupling.experiments.campaign import run_campaign
from coupling.experiments.experiment import Experiment
from coupling.results.columns import COLUMNS, read_table
from coupling.results.manifest import hashes_of, read_manifest, sha256, write_manifest
from coupling.results.result import FILES, Result

EXPERIMENT = """
[topology]
kind = "fat-tree"
radix = 4
[workload]
generator = "synth"
mean_nodes = 3
n_jobs = 30
[compare]
allocators = ["first-free", "random"]
[run]
self_check = false
"""
READERS = {
    "compare": ["compare", "out"],
    "metrics": ["metrics", "out"],
    "report": ["report", "out"],
    "rerun": ["rerun", "out"],
    "resume": ["run", "try.toml", "--resume", "--out", "out"],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder with an experiment and its result."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "try.toml").write_text(EXPERIMENT)
    run_campaign(Experiment.read(folder / "try.toml"), folder / "out")
    return folder


@pytest.fixture
def here(whole, tmp_path, monkeypatch):
    """Return a copy of that result, in the working directory."""
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "out"


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(done, *words):
    """Exit status 2, one line on stderr with these words, nothing on stdout."""
    status, out, err = done
    assert (status, out) == (2, ""), err
    assert err.startswith("fabricsim: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err


def sealed(out, name, data):
    """Write a file of a result as if the run had written it so."""
    (out / name).write_bytes(data)
    manifest = read_manifest(out)
    manifest["files"][name] = sha256(data)
    write_manifest(out, manifest)


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


def nameless(table):
    table.loc[2, "dropped"] = None
    return table


TABLES = {
    "no column": ("jobs", lambda t: t.drop(columns="aph"), "expected one column 'aph', got ['id'"),
    "text for times": ("jobs", lambda t: t.astype({"end_s": str}), "'end_s': expected values of"),
    "halves of nodes": (
        "jobs",
        lambda t: t.astype({"n_nodes": float}),
        "column 'n_nodes': expected values of type int64, got float64",
    ),
    "numbers for texts": ("jobs", lambda t: t.assign(nodes=5), "'nodes': expected values of type"),
    "a reason that is nothing": (
        "jobs",
        nameless,
        "column 'dropped': expected values of type text",
    ),
    "every job twice": (
        "jobs",
        lambda t: pd.concat([t, t]),
        "column 'id': expected every job once, got 1 twice",
    ),
    "no number": (
        "jobs",
        lambda t: t.assign(end_s=float("inf")),
        "column 'end_s': expected numbers up to 1e+60, got inf",
    ),
    "no time": (
        "jobs",
        lambda t: t.assign(end_s=float("nan")),
        "column 'end_s': expected a number for every job",
    ),
    "no loss": (
        "jobs",
        lambda t: t.assign(lost_s=t["lost_s"].where(t["id"] > 1)),
        "column 'lost_s': expected a number for every job",
    ),
    "no class of links": ("links", lambda t: t.drop(columns="class"), "one column 'class'"),
    "counts as texts": ("timeline", lambda t: t.astype({"queued": str}), "'queued': expected"),
    "classes as numbers": ("blame", lambda t: t.assign(link_class=1), "'link_class': expected"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_of_another_shape_is_refused_even_with_its_hash(here, command, case):
    """As another version, or a program that imitates this one, would write it."""
    table, change, words = TABLES[case]
    name = f"random/{table}.parquet"
    sealed(here, name, change(pd.read_parquet(here / name)).to_parquet(index=False))

    for arguments in READERS.values():
        refused(command(*arguments), f"out/{name}: ", words)


def test_a_table_without_rows_has_the_types_of_its_columns():
    empty = pd.DataFrame({name: pd.Series(dtype="str") for name in COLUMNS["timeline"]})

    found = read_table("timeline", Path("t.parquet"), empty.to_parquet(index=False))

    assert found.empty
    assert {name: str(kind) for name, kind in found.dtypes.items()} == COLUMNS["timeline"]


def test_a_number_that_a_summary_lacks_has_no_ratio(here, command):
    summary = json.loads((here / "random/summary.json").read_text())
    del summary["makespan_s"]
    sealed(here, "random/summary.json", json.dumps(summary).encode())

    status, out, _ = command("compare", "out", "--json")

    (found,) = (run for run in json.loads(out)["runs"] if run["name"] == "random")
    assert (status, found["makespan_ratio"]) == (0, None)


NETWORK = {
    "model": "fast",
    "fairness": "per-sender",
    "machine": "",
    "routings": [],
    "ranks_per_node": [],
    "buffer_bytes": 0.0,
}
NUMBERS = {
    "no nodes": ("summary", {"nodes": None}, "summary.json: nodes: expected a whole number from 1"),
    "a text": ("summary", {"makespan_s": "1"}, "makespan_s: expected a number or null, got '1'"),
    "no number": (
        "summary",
        {"mean_wait_s": float("nan")},
        "mean_wait_s: expected a finite number, got nan",
    ),
    "true": ("summary", {"killed": True}, "killed: expected a number or null, got True"),
    "a list of reasons": ("summary", {"dropped_by_reason": []}, "dropped_by_reason: expected"),
    "texts in a group": (
        "summary",
        {"infinite_network": {"makespan_s": "1"}},
        "summary.json: infinite_network: makespan_s: expected a number or null, got '1'",
    ),
    "a text as the network": ("summary", {"network": "torus"}, "summary.json: network: expected"),
    "a network without a machine": ("summary", {"network": {"model": "fast"}}, "fairness"),
    "a routing as a number": (
        "summary",
        {"network": NETWORK | {"routings": [1]}},
        "summary.json: network: routings: expected a list of texts, got [1]",
    ),
    "half a rank": (
        "summary",
        {"network": NETWORK | {"ranks_per_node": [0.5]}},
        "network: ranks_per_node: expected a list of whole numbers, got [0.5]",
    ),
    "a mix that nobody knows": (
        "summary",
        {"network": NETWORK | {"mix": "loud"}},
        "network: mix: expected",
    ),
    "more of a network": (
        "summary",
        {"network": NETWORK | {"hops": 1}},
        "network: hops: unknown key",
    ),
    "no name": ("summary", {"name": 3}, "summary.json: name: expected a text, got 3"),
    "cost as a text": ("cost", {"events": "1"}, "cost.json: events: expected a number or null"),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_of_another_type_are_refused_even_with_their_hash(here, command, case):
    file, change, words = NUMBERS[case]
    name = f"random/{file}.json"
    numbers = json.loads((here / name).read_text()) | change
    sealed(here, name, json.dumps(numbers).encode())

    for arguments in READERS.values():
        refused(command(*arguments), "out/random/", words)


def test_a_network_of_no_kind_has_no_known_error(here, command):
    """Every field there, and nothing in them."""
    name = "random/summary.json"
    numbers = json.loads((here / name).read_text()) | {"network": NETWORK}
    sealed(here, name, json.dumps(numbers).encode())

    status, out, _ = command(*READERS["compare"])

    assert status == 0
    assert "No error is known" in out


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


def test_rerun_tells_of_a_column_that_holds_other_things(here, command):
    """Lists of numbers, which pandas cannot compare one by one."""
    table = pd.read_parquet(here / "random" / "waits.parquet")
    listed = table.assign(wait_s=[[value, value] for value in table["wait_s"]])
    sealed(here, "random/waits.parquet", listed.to_parquet(index=False))

    status, out, _ = command("rerun", "out")

    assert status == 1
    assert "wait_s holds float64, now object" in out or "wait_s holds object, now float64" in out
