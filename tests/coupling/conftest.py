"""Small experiments for the tests of the coupling."""

from pathlib import Path

import pytest

from coupling.inputs.experiment import Experiment

PAIRS_AND_STENCILS = {
    "version": 1,
    "rule": [
        {
            "match": {"min_nodes": 2},
            "chance": 0.5,
            "pattern": {"name": "stencil", "dims": 3},
            "comm_fraction": {"uniform": [0.2, 0.8]},
            "bytes_per_flow": "1 MiB",
        },
        {
            "match": {"min_nodes": 2},
            "pattern": {"name": "sub-all-to-all"},
            "comm_fraction": 0.6,
            "bytes_per_flow": "1 MiB",
        },
    ],
}


@pytest.fixture
def experiment():
    """Return a function that makes a small experiment: 300 jobs on 128 nodes."""

    def make(**changes):
        fields = {
            "topology": {"kind": "fat-tree", "radix": 8, "latency": "none"},
            "workload": {"generator": "synth", "mean_nodes": 6, "n_jobs": 300, "seed": 3},
            "communication": PAIRS_AND_STENCILS,
            "allocator": "random",
            "estimates": "runtime",
            "folder": Path(),
        }
        if "compare" in changes:
            del fields["allocator"]
        return Experiment(**(fields | changes))

    return make
