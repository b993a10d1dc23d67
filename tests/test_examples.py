"""Examples are run, and print what stands beside them."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from coupling.inputs.experiment import Experiment
from coupling.sweep.plan import make_plan
from coupling.sweep.spec import Spec
from netsim import ROUTINGS, make_topology
from scheduler import ALLOCATORS, READERS

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
WITH_TOPOLOGY = sorted(
    path for path in (ROOT / "examples").glob("*.toml") if "[topology]" in path.read_text()
)
SWEEPS = [path for path in WITH_TOPOLOGY if "[sweep]" in path.read_text()]
EXPERIMENTS = [path for path in WITH_TOPOLOGY if path not in SWEEPS]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_prints_what_is_recorded(script, capfd, monkeypatch):
    """A script and its .out file never part; workers need a process that is the script's own."""
    monkeypatch.chdir(ROOT)
    if "workers" in script.read_text(encoding="utf-8"):
        subprocess.run([sys.executable, script], check=True)  # noqa: S603 (our own script)
    else:
        runpy.run_path(str(script), run_name="__main__")

    assert capfd.readouterr().out == script.with_suffix(".out").read_text(encoding="utf-8")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_stays_short(script):
    """An example is read in one go."""
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 60


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("04_slowdown_table", 6),
        ("05_own_allocator", 15),
        ("06_own_pattern", 10),
        ("07_own_topology", 8),
        ("08_sweep", 6),
    ],
)
def test_a_common_program_takes_few_lines(name, most):
    """Blank lines and docstrings are not counted."""
    tree = ast.parse((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"))
    texts = {node.value.lineno for node in ast.walk(tree) if is_text(node)}
    lines = {node.lineno for node in ast.walk(tree) if hasattr(node, "lineno")}
    ends = {node.end_lineno for node in ast.walk(tree) if hasattr(node, "lineno")}

    assert len((lines | ends) - texts) <= most


def is_text(node):
    """Whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_experiment_file_is_valid(path):
    """Every shipped experiment can be read, and its names exist."""
    experiment = Experiment.read(path)

    assert make_topology(experiment.topology).n_nodes > 0
    assert experiment.routing in ROUTINGS
    assert {variant.allocator for variant in experiment.variants()} <= ALLOCATORS.keys()
    assert experiment.workload["format"] in READERS


@pytest.mark.parametrize("path", SWEEPS, ids=lambda path: path.stem)
def test_sweep_file_is_valid(path):
    """Every cell of a shipped sweep can run."""
    spec = Spec.read(path)

    assert len(make_plan(spec).cells) == len(spec.design)
