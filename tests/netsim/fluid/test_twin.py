"""The model against its naive twin, which sweeps over all jobs from the formulas."""

import pytest
from naive import fluid as naive

SCENES = 8


@pytest.mark.parametrize("seed", range(SCENES))
def test_random_scenes_equal_plain_sweeps(drawn, machines, interference, seed):
    for machine in machines:
        topology, jobs = drawn(machine, seed)

        assert interference(topology, jobs, tolerance=1e-6) == pytest.approx(
            naive.interference(jobs, topology), rel=5e-3
        )
