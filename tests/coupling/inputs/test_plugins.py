"""Plug-ins: by reference, by file, as objects; in other processes and when a run is repeated."""

import subprocess
import sys
import textwrap
from dataclasses import fields
from pathlib import Path

import pytest

import fabricsim as fs
from coupling.inputs import plugins
from coupling.inputs.plugins import PluginError, load_file
from coupling.runs.rerun import rerun
from coupling.runs.stored import Stored
from scheduler.allocators import ALLOCATORS, Jigsaw
from scheduler.queues.easy import Fcfs

CORNER = Path(__file__).parents[2] / "data" / "plugins" / "corner.py"
SMALL = {"generator": "synth", "mean_nodes": 4, "n_jobs": 12}


@pytest.fixture(autouse=True)
def _registries_as_before():
    """Let what a test adds be gone after it."""
    tables = [*plugins.REGISTRIES.values(), *plugins._MADE.values()]
    before = [dict(table) for table in tables]
    yield
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)
    plugins._module_of_file.cache_clear()


def experiment(**fields):
    """Return a small experiment."""
    return fs.Experiment(topology="cab", workload=SMALL, **{"self_check": False, **fields})


def nodes_of(result):
    return result.jobs["nodes"].tolist()


def test_a_file_adds_what_its_dictionaries_hold():
    load_file(CORNER)

    result = fs.run(experiment(allocator="corner"))

    assert result.name == "corner"
    assert nodes_of(result)[0].endswith("1295]") or "1295" in nodes_of(result)[0]


@pytest.mark.parametrize("name", ["mine.py", "mine"])
def test_a_plug_in_may_be_a_link_and_lead_to_any_name(tmp_path, name):
    """As package managers and configuration tools place files."""
    (tmp_path / "stored-5f3a").write_text(CORNER.read_text())
    (tmp_path / name).symlink_to(tmp_path / "stored-5f3a")

    assert load_file(tmp_path / name) == {"allocators": ["corner"]}
    if name.endswith(".py"):
        plugins.named(f"{name}:Corner", "allocators", tmp_path)


def test_a_reference_names_a_class_in_a_file_beside_the_experiment(tmp_path):
    (tmp_path / "mine.py").write_text(CORNER.read_text())
    path = tmp_path / "try.toml"
    path.write_text(
        'topology = "cab"\n[workload]\ngenerator = "synth"\nmean_nodes = 4\nn_jobs = 12\n'
        '[scheduler]\nallocator = "mine.py:Corner"\nallocator_options = {step = 2}\n'
    )

    read = fs.Experiment.read(path)

    assert read.allocator == f"{tmp_path / 'mine.py'}:Corner"
    assert fs.run(read).name == "Corner"


def test_a_fault_of_ones_own_allocator_is_named_before_anything_is_run(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from scheduler import NodeChooser\n\n\nclass Broken(NodeChooser):\n"
        "    name = 'broken'\n\n    def choose(self, job, free, cluster):\n        return 1 / 0\n"
    )
    with pytest.raises(fs.FabricsimError, match=r"allocator 'broken': job .*ZeroDivisionError"):
        fs.run(experiment(allocator="mine.py:Broken", folder=tmp_path))


def test_an_error_of_ones_own_fabric_is_not_told_as_want_of_memory(tmp_path):
    (tmp_path / "mine.py").write_text("def broken():\n    raise ValueError('my own')\n")
    tables = {"topology": {"kind": "mine.py:broken"}, "workload": SMALL}

    with pytest.raises(ValueError, match="my own"):
        fs.run(fs.Experiment(**tables, folder=tmp_path))


def test_a_class_a_function_or_a_pattern_stands_wherever_a_name_can():
    """The built-in class is the built-in name; options go beside it."""
    assert experiment(allocator=Jigsaw).allocator == "jigsaw"
    profile = {"rule": [{"pattern": fs.pattern("ring", nbytes=4096.0), "comm_fraction": 0.5}]}
    settled = plugins.settled(profile, Path(), "communication")
    assert settled["rule"][0]["pattern"] == {"name": "ring", "nbytes": 4096.0, **_rest_of_ring()}


def _rest_of_ring():
    """Return the other options of a ring, at their defaults."""
    ring = fs.pattern("ring", nbytes=4096.0)
    return {own.name: getattr(ring, own.name) for own in fields(ring) if own.name != "nbytes"}


def test_workers_reruns_and_manifests_know_plug_ins(tmp_path):
    """The same bytes with two processes; the file's hash is recorded; a change of it is told."""
    file = tmp_path / "mine.py"
    file.write_text(CORNER.read_text())
    compared = experiment(
        plugins=[file], compare=("corner", "first-free"), compare_options={"corner": {"step": 3}}
    )

    campaign = fs.run_campaign(compared, tmp_path / "out", workers=2)

    assert campaign.manifest["inputs_sha256"].keys() >= {str(file)}
    stored = Stored.open(tmp_path / "out")
    assert rerun(stored).agrees
    file.write_text(file.read_text() + "# other bytes\n")
    plugins._module_of_file.cache_clear()
    assert set(rerun(stored).changed_inputs) == {str(file)}


def test_a_script_runs_its_own_allocator_with_two_workers(tmp_path):
    """Fifteen lines, as people write them."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """\
            import fabricsim as fs
            from scheduler import NodeChooser

            class Last(NodeChooser):
                def choose(self, job, free, cluster):
                    return free[-job.n_nodes:]

            if __name__ == "__main__":
                work = {"generator": "synth", "mean_nodes": 4, "n_jobs": 12}
                experiment = fs.Experiment("cab", work, compare=[Last, "first-free"])
                campaign = fs.run_campaign(experiment, "out", workers=2)
                print([result.name for result in campaign.results])
            """
        )
    )
    done = subprocess.run(  # noqa: S603 (ours)
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (0, "['Last', 'first-free']\n"), done.stderr


def test_a_fabric_a_routing_a_queue_and_a_pattern_of_ones_own(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        textwrap.dedent(
            """\
            from dataclasses import dataclass
            import numpy as np
            from netsim import build_fat_tree
            from netsim.registries.routings import ROUTINGS as KNOWN
            from patterns import Step
            from scheduler.queues import Fcfs

            def two_leaves(nodes: int, bandwidth=12.5e9):
                return build_fat_tree([nodes, 2], [1, 1], [1, 1], bandwidth)

            @dataclass(frozen=True)
            class Echo:
                nbytes: float = 1.0

                def steps(self, n_ranks):
                    if n_ranks < 2:
                        return ()
                    ends = np.array([0, n_ranks - 1])
                    return (Step(ends, ends[::-1].copy(), np.full(2, self.nbytes)),)

            TOPOLOGIES = {"two-leaves": two_leaves}
            ROUTINGS = {"mine": lambda topology, seed: KNOWN["d-mod-k"](topology, seed)}
            PATTERNS = {"echo": Echo}
            POLICIES = {"plain": Fcfs}
            """
        )
    )
    own = fs.Experiment(
        topology={"kind": "two-leaves", "nodes": 16},
        workload={"generator": "synth", "mean_nodes": 4, "n_jobs": 12, "max_nodes": 16},
        communication={
            "version": 1,
            "rule": [{"pattern": {"name": "echo"}, "comm_fraction": 0.5, "bytes_per_flow": 1e6}],
        },
        routing="mine",
        queue="plain",
        plugins=[file],
    )

    assert fs.run(own).summary["mean_interference"] >= 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "expected a dictionary of plug-ins, one of ALLOCATORS"),
        ("ALLOCATORS = {'jigsaw': print}\n", "'jigsaw' of allocators is taken"),
        ("ALLOCATORS = {'mine': 3}\n", "expected a class or function"),
        ("1 / 0\n", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("def f(:\n", "cannot be loaded: SyntaxError"),
    ],
)
def test_a_plug_in_that_is_none_is_refused_in_one_line(tmp_path, text, message):
    file = tmp_path / "bad.py"
    file.write_text(text)

    with pytest.raises(PluginError, match=message) as caught:
        load_file(file)

    assert "\n" not in str(caught.value)


def test_what_cannot_be_found_again_is_refused():
    """An instance, or a class inside a function, is not there in another process."""

    class Inside:
        pass

    with pytest.raises(PluginError, match="made inside a function"):
        experiment(allocator=Inside)
    with pytest.raises(PluginError, match="got an object of type Fcfs; give its class"):
        experiment(queue=Fcfs())
    with pytest.raises(PluginError, match="no_such_module"):
        experiment(allocator="no_such_module:Name")
    with pytest.raises(PluginError, match="holds no 'Nobody'"):
        experiment(allocator=f"{CORNER}:Nobody")


def test_two_compared_allocators_of_one_label_are_refused(tmp_path):
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(CORNER.read_text())

    with pytest.raises(fs.FabricsimError, match="have one label"):
        experiment(compare=[f"{tmp_path / 'a.py'}:Corner", f"{tmp_path / 'b.py'}:Corner"])


def test_entry_points_of_installed_distributions_are_there(tmp_path, monkeypatch):
    (tmp_path / "corners.py").write_text(CORNER.read_text())
    info = tmp_path / "corners-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: corners\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fabricsim.allocators]\nmy-corner = corners:Corner\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert fs.run(experiment(allocator="my-corner")).name == "my-corner"
    assert "my-corner" in ALLOCATORS


def test_what_is_installed_is_looked_through_once_until_a_directory_changes(tmp_path, monkeypatch):
    """Many experiments, such as the cells of a sweep, ask; a distribution that comes is found."""
    calls, search = [], plugins.entry_points
    monkeypatch.setattr(plugins, "entry_points", lambda: calls.append(1) or search())
    monkeypatch.syspath_prepend(str(tmp_path))
    for _ in range(3):
        experiment(allocator="random")
    before = len(calls)
    info = tmp_path / "late_corners-1.0.dist-info"
    info.mkdir()
    (tmp_path / "late_corners.py").write_text(CORNER.read_text())
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: late-corners\nVersion: 1.0\n")
    entry = "[fabricsim.allocators]\nlate-corner = late_corners:Corner\n"
    (info / "entry_points.txt").write_text(entry)

    assert fs.run(experiment(allocator="late-corner")).name == "late-corner"
    assert before == 1


def test_a_plugin_is_one_under_its_relative_and_its_absolute_path(tmp_path, monkeypatch):
    """As the command loads it: as given, and then as the experiment keeps it."""
    (tmp_path / "twice_given.py").write_text(
        "class Own:\n    pass\n\n\nPOLICIES = {'twice-given': Own}\n"
    )
    monkeypatch.chdir(tmp_path)

    found = [load_file(path) for path in ("twice_given.py", tmp_path / "twice_given.py")]

    assert found == [{"queues": ["twice-given"]}] * 2
