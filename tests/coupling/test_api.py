"""The front door: what people type, with names, paths, fields or objects."""

import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

import coupling
import fabricsim as fs

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("kind", [str, Path])
def test_a_snapshot_is_estimated_and_verified_from_its_path(kind):
    """A text and a `Path` are the same to every door."""
    placed, owned = EXAMPLES / "placed_jobs.json", EXAMPLES / "partitions.json"

    assert len(fs.estimate(kind(placed)).jobs) == len(fs.read_snapshot(kind(placed)).jobs)
    assert fs.verify(kind(owned)).to_dict() == fs.verify(fs.read_snapshot(owned)).to_dict()


@pytest.mark.parametrize("kind", [str, Path])
def test_a_log_is_read_with_its_filters(kind):
    """The fields of the table [workload] are keywords."""
    log = kind(EXAMPLES / "data" / "synth16.swf.gz")

    assert max(job.n_nodes for job in fs.read_log(log, max_nodes=8).jobs) <= 8
    with pytest.raises(fs.FabricsimError, match="max_node"):
        fs.read_log(log, max_node=8)


def test_a_fabric_is_named_described_or_drawn():
    """Machine, kind with fields, table and graph are one function away."""
    tree = fs.topology("fat-tree", radix=4, levels=2)
    assert tree.n_nodes == 8
    assert fs.topology("cab").n_nodes == 1296
    assert fs.topology({"kind": "torus", "dims": [3, 3]}).n_nodes == 9

    # two switches with three nodes each, and a cable between them
    graph = nx.Graph([("left", "right")])
    graph.add_edges_from(("left", f"l{i}") for i in range(3))
    graph.add_edges_from(("right", f"r{i}") for i in range(3))
    fabric = fs.from_networkx(graph, bandwidth="100 Gb/s")

    assert (fabric.n_nodes, fabric.n_switches, fabric.n_links) == (6, 2, 14)
    assert set(fabric.capacity) == {12.5e9}
    with pytest.raises(fs.FabricsimError, match="expected a NetworkX graph, got list"):
        fs.from_networkx([1, 2])


def test_routing_and_pattern_are_made_by_name():
    """A misspelt name lists the choices."""
    tree = fs.topology("fat-tree", radix=4, levels=2)

    assert type(fs.routing("d-mod-k", tree)).__name__ == "DModK"
    assert fs.pattern("ring", nbytes=1e6) is not None
    with pytest.raises(fs.FabricsimError, match="d-mod-k"):
        fs.routing("d-mod", tree)


def test_an_experiment_runs_from_a_file_with_changes(tmp_path):
    """What the command can set, Python can set."""
    path = tmp_path / "small.toml"
    path.write_text(
        'topology = "cab"\n[workload]\ngenerator = "synth"\nmean_nodes = 4\nn_jobs = 20\n'
    )

    result = fs.run(path, "scheduler.allocator=jigsaw", "run.self_check=false")

    assert result.name == "jigsaw"
    assert result.summary["mean_interference"] == 1.0
    experiment = fs.Experiment.read(path)
    assert fs.run(experiment, "scheduler.allocator=ta", self_check=False).name == "ta"
    assert fs.run(experiment, allocator="jigsaw", self_check=False).jobs.equals(result.jobs)


def test_the_front_has_what_the_packages_have():
    """One class, not a copy of it."""
    assert fs.Experiment is coupling.Experiment
    assert fs.run_campaign is coupling.run_campaign
    for name in fs.__all__:
        assert getattr(fs, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Experimnt'"):
        _ = fs.Experimnt


@pytest.mark.parametrize("module", ["fabricsim", "coupling.cli"])
def test_the_command_answers_as_a_module_and_tells_its_version(module):
    """`python -m fabricsim` is the command."""
    command = [sys.executable, "-m", module, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 (ours)

    assert done.stdout == f"fabricsim {fs.__version__}\n"
