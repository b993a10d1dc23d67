"""Whole small experiments: every kernel they call gives the same bits plainly and compiled."""

import pytest
from both_ways import run_both_ways

import coupling

RUN = """
topology = {topology}
[workload]
generator = "synth"
mean_nodes = {nodes}
n_jobs = {jobs}
[scheduler]
allocator = "{allocator}"
[network]
model = "{model}"
{network}
"""
CASES = {
    "phased": {},
    "phased, scattered": {"allocator": "random", "nodes": 4},
    "fast": {"model": "fast", "allocator": "random"},
    "flow by flow": {"model": "fast", "allocator": "random", "network": 'fairness = "per-flow"'},
    "accurate": {"model": "accurate", "allocator": "random", "nodes": 4, "jobs": 4},
    "closest": {"model": "null", "allocator": "closest-fit-mind"},
    "rails": {"topology": '{kind = "rail-tree", groups = 4, rails = 4, nodes_per_group = 8}'},
    "torus": {"topology": '{kind = "torus", dims = [4, 4, 2]}', "allocator": "random"},
    "dragonfly": {
        "topology": '{kind = "dragonfly", groups = 5, routers = 4, nodes_per_router = 4}',
        "allocator": "random",
    },
    "absent links": {
        "topology": '{kind = "fat-tree", radix = 8, failed_links = [100, 300, 310]}',
        "allocator": "random",
    },
    "cables side by side": {
        "topology": '{kind = "fat-tree", children = [8, 8], parents = [1, 4], parallel = [1, 2]}',
        "allocator": "jigsaw",
    },
    "over ways": {
        "topology": '{kind = "dragonfly", groups = 5, routers = 4, nodes_per_router = 4}',
        "network": 'routing = "adaptive"',
        "allocator": "random",
    },
    "adaptive": {"network": 'routing = "adaptive"', "allocator": "random"},
}
USUAL = {
    "topology": '{kind = "fat-tree", radix = 8}',
    "nodes": 8,
    "jobs": 8,
    "allocator": "first-free",
    "model": "phased",
    "network": "",
}


@pytest.mark.parametrize("case", CASES)
def test_each_kernel_of_a_small_run_gives_the_same_bits_both_ways(case, tmp_path, monkeypatch):
    both = run_both_ways(monkeypatch)
    path = tmp_path / "case.toml"
    path.write_text(RUN.format(**{**USUAL, **CASES[case]}), encoding="utf-8")

    coupling.run(coupling.Experiment.read(path, []))

    assert both.stopped
    assert not both.refused
