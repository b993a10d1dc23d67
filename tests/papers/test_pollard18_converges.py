"""Pollard18, section V-B: `fluid` has a fixed point where jobs fill a machine."""

import pytest

from coupling.papers.pollard18 import SETTINGS, WorkloadRunner
from netsim.fluid.model import Fluid


def test_jobs_that_block_each_other_have_a_fixed_point():
    """Values that grow from round to round would end where the tolerance ends them."""
    bench = WorkloadRunner(SETTINGS[1])
    traffic, _ = bench.on_random_nodes(10)
    found = []
    for tolerance in (1e-3, 1e-4):
        model = Fluid(bench.tree, tolerance=tolerance)
        for job, own in enumerate(traffic):
            model.start(job, own)
        found.append(model.solve())

    assert found[0] == pytest.approx(found[1], rel=0.02)
