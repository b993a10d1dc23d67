"""A small sweep: two allocators, two seeds and two fractions on sixteen nodes."""

import pytest

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
