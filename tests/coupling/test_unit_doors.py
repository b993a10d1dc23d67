"""Units mean the same in experiments, snapshots, flow files, profiles and on the command line."""

import json

import pytest

import fabricsim
from coupling.errors import CouplingError
from coupling.inputs.experiment import Experiment
from coupling.inputs.snapshot import snapshot_from
from coupling.runs.assembly import assemble
from coupling.site.estimate import estimate
from patterns import make_pattern
from patterns.pairs import Ring
from scheduler.errors import WorkloadError
from scheduler.workload import make_workload, profile_from

TREE = {"kind": "fat-tree", "radix": 4}
GIGABYTE = ["1 GB", "1GB", "8 Gbit", "8Gb", 1e9]


def snapshot(**job):
    topology = TREE | {"bandwidth": "100 Gb/s"}
    return {"topology": topology, "jobs": [{"id": "a", "nodes": [0, 1], "compute_s": 1} | job]}


@pytest.mark.parametrize("size", GIGABYTE)
def test_a_gigabyte_is_a_gigabyte_in_a_snapshot(size):
    pattern = snapshot(pattern={"name": "ring", "nbytes": size})
    steps = snapshot(steps=[[[0, 1, size]]])

    assert snapshot_from(pattern).jobs[0].flows.nbytes.tolist() == [1e9, 1e9]
    assert snapshot_from(steps).jobs[0].flows.nbytes.tolist() == [1e9]


@pytest.mark.parametrize("size", GIGABYTE)
def test_a_gigabyte_is_a_gigabyte_in_a_profile(size):
    rule = {"pattern": {"name": "ring"}, "comm_fraction": 0.5, "bytes_per_flow": size}
    own = {"pattern": {"name": "ring", "nbytes": size}, "comm_fraction": 0.5}
    rules = profile_from({"version": 1, "rule": [rule, own]}).rules

    assert rules[0].quantities["bytes_per_flow"].numbers == (1e9,)
    assert make_pattern(rules[1].pattern).nbytes == 1e9


@pytest.mark.parametrize("size", GIGABYTE)
def test_a_gigabyte_is_a_gigabyte_in_patterns_made_in_python(size):
    made = [
        make_pattern({"name": "ring", "nbytes": size}),
        fabricsim.pattern("ring", nbytes=size),
        Ring(nbytes=size),
        fabricsim.pattern("sequence", parts=[{"name": "ring", "nbytes": size}]).parts[0],
    ]

    assert [pattern.nbytes for pattern in made] == [1e9] * 4
    assert len(set(made)) == 1  # equal specifications give equal patterns


def test_a_part_of_a_byte_is_refused_in_profiles_and_snapshots():
    own = {"pattern": {"name": "ring", "nbytes": 0.5}, "comm_fraction": 0.5}

    with pytest.raises(WorkloadError, match=r"rule 1: pattern: .*write '0.5 MB'"):
        profile_from({"version": 1, "rule": [own]})
    with pytest.raises(CouplingError, match=r"\(id a\) pattern: .*write '0.5 MB'"):
        snapshot_from(snapshot(pattern={"name": "ring", "nbytes": 0.5}))


@pytest.mark.parametrize("rate", ["100 Gb/s", "100Gbps", "100 Gbit/s", "12.5 GB/s", 12.5e9])
def test_bandwidths_mean_the_same_in_files_and_on_the_command_line(command, tmp_path, rate):
    table = TREE | {"bandwidth": rate, "latency": "none"}
    flows = {"topology": table, "flows": [[0, 1, "1 GB"]]}
    (tmp_path / "flows.json").write_text(json.dumps(flows))
    (tmp_path / "try.toml").write_text(
        '[topology]\nkind = "fat-tree"\nradix = 4\nbandwidth = 1e9\n'
        '[workload]\ngenerator = "synth"\nmean_nodes = 4\nn_jobs = 5\n'
    )

    _, out, _ = command("flows", tmp_path / "flows.json", "--json")
    assert json.loads(out)["finish_s"] == [0.08]
    document = snapshot(pattern={"name": "pairs", "nbytes": "1 GB"}) | {"topology": table}
    assert estimate(document).jobs[0].alone_s == pytest.approx(1.08)
    changed = Experiment.read(tmp_path / "try.toml", [f"topology.bandwidth={rate}"])
    assert (assemble(changed).topology.capacity == 12.5e9).all()


def test_forty_is_refused_with_the_hint_in_every_file(command, tmp_path, monkeypatch):
    table = TREE | {"bandwidth": 40}
    monkeypatch.chdir(tmp_path)
    for name, document in (
        ("flows", {"topology": table, "flows": []}),
        ("estimate", {"topology": table, "jobs": []}),
        ("verify", {"topology": table, "jobs": []}),
    ):
        (tmp_path / "x.json").write_text(json.dumps(document))
        status, _, error = command(name, "x.json")
        assert status == 2
        assert "x.json: topology: " in error
        assert "write '40 Gb/s'" in error
    (tmp_path / "x.toml").write_text(
        '[topology]\nkind = "cab"\nbandwidth = 40\n'
        '[workload]\ngenerator = "synth"\nmean_nodes = 4\n'
    )
    status, _, error = command("run", "x.toml")
    assert status == 2
    assert error.count("\n") == 1
    assert "write '40 Gb/s'" in error


def test_windows_of_logs_have_units(command, tmp_path, monkeypatch):
    hour = make_workload(
        {"generator": "lublin", "n_nodes": 16, "n_jobs": 200, "window_s": [0, 3600 * 8]}
    )
    told = make_workload(
        {"generator": "lublin", "n_nodes": 16, "n_jobs": 200, "window_s": ["0 s", "8 h"]}
    )

    assert 0 < len(hour.jobs) < 200
    assert told.jobs == hour.jobs
    monkeypatch.chdir(tmp_path)
    command("trace", "generate", "lublin", "x.swf", "--n-nodes", "16", "--n-jobs", "200")
    counts = [
        json.loads(command("trace", "inspect", "x.swf", "--window", *window, "--json")[1])
        for window in (("0", "28800"), ("0 min", "8 h"))
    ]
    assert counts[0]["jobs"] == counts[1]["jobs"] > 0
    with pytest.raises(WorkloadError, match="window_s: expected two times such as 3600 or '2 h'"):
        make_workload({"generator": "lublin", "n_nodes": 16, "window_s": ["0", "8 parsecs"]})
