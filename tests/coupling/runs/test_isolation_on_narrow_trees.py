"""Jobs under isolating allocators do not slow each other down on tapered trees and bundles."""

import pytest

from coupling.inputs.experiment import Experiment
from coupling.runs.engine import run

NARROW = {
    "tapered": {"children": [8, 4, 4], "parents": [1, 4, 4], "parallel": [1, 1, 1]},
    "bundles": {"children": [4, 4, 5], "parents": [1, 2, 4], "parallel": [1, 2, 2]},
}


@pytest.mark.parametrize("allocator", ["jigsaw", "lc", "ta"])
@pytest.mark.parametrize("name", NARROW)
def test_interference_is_exactly_one(name, allocator):
    """60 jobs; first-free on the same trees and jobs is slowed."""
    setting = {
        "topology": {"kind": "fat-tree", **NARROW[name]},
        "workload": {"generator": "synth", "mean_nodes": 5, "n_jobs": 60},
    }

    isolated = run(Experiment(**setting, allocator=allocator))
    shared = run(Experiment(**setting, allocator="first-free"))

    assert isolated.summary["mean_interference"] == 1.0
    assert shared.summary["mean_interference"] > 1.0
