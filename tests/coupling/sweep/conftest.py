"""A small sweep: two allocators, two seeds and two fractions on sixteen nodes."""

import shutil

import pytest

from coupling.sweep.spec import Spec
from coupling.sweep.sweep import run_sweep

SMALL = """
[topology]
kind = "fat-tree"
radix = 4

[workload]
generator = "synth"
mean_nodes = 3
n_jobs = 40

[run]
self_check = false

[sweep]
scheduler.allocator = ["random", "jigsaw"]
"run.seed" = [1, 2]
"communication.rule.*.comm_fraction" = [0.1, 0.5]
"""


@pytest.fixture
def small(tmp_path):
    """Return the file of the small sweep."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="session")
def _computed(tmp_path_factory):
    """Return the directory of the finished sweep, computed once."""
    folder = tmp_path_factory.mktemp("computed")
    (folder / "small.toml").write_text(SMALL)
    run_sweep(Spec.read(folder / "small.toml"), folder / "done")
    return folder / "done"


@pytest.fixture
def done(_computed, tmp_path):
    """Return a copy of the finished sweep, which a test may change."""
    return shutil.copytree(_computed, tmp_path / "done")


def contents(folder, but=("costs", "plan.json", "sweep.toml", "array.sh", ".lock")):
    """Return the bytes of every file of a sweep's results, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.relative_to(folder).parts[0] not in but
    }


@pytest.fixture(name="contents")
def _contents():
    return contents
