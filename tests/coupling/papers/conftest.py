"""The quick mode of each paper on a few jobs, run once for all tests."""

from dataclasses import replace
from functools import lru_cache

import pytest

from coupling.papers.page import record_of
from coupling.papers.runs import run_all, specs_of

FEW = {
    "mishra20": ("workload.n_jobs=40",),
    "pollard18": ("workload.n_jobs=70",),
    "smith21": ("workload.n_jobs=90",),
    "stoltzfus13": ("workload.n_jobs=250",),
    "yang": ("workload.n_jobs=60",),
}
"""Fields that make the quick mode of a paper small."""


MOST = {"run.seed": 1, "topology": 2, "communication.rule.0.comm_fraction": 1}
"""How many of the values of a factor are tried."""


def sampled_spec(spec):
    """Return a sweep with the first of its seeds and of its machines alone."""
    groups = tuple(
        {name: values[: MOST.get(name)] for name, values in group.items()}
        if len(group) == 1
        else group
        for group in spec.design.groups
    )
    return replace(spec, design=replace(spec.design, groups=groups))


@pytest.fixture(scope="session")
def sampled(tmp_path_factory):
    """Return a function that runs the quick mode of a paper on a few jobs: what it found."""

    @lru_cache
    def run(name):
        changes = FEW[name]
        specs = specs_of(name, quick=True, logs=None, changes=changes)
        specs = {key: sampled_spec(spec) for key, spec in specs.items()}
        folder = tmp_path_factory.mktemp(name)
        return record_of(name, run_all(specs, folder, quick=True, logs=None), changes)

    return run
