"""A small result, of which each test may damage a copy."""

import shutil

import pytest

from coupling.inputs.experiment import Experiment
from coupling.runs.campaign import run_campaign

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
