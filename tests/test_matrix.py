"""Scenes of the validation matrix: the same ones again, under all routings of a machine."""

import numpy as np
import pytest
from measured.matrix import CELLS, MACHINES, scene


def test_all_routings_of_a_machine_see_the_same_jobs_on_the_same_nodes():
    free, fixed = (scene("tapered tree, 2 levels", way, 3) for way in ("adaptive", "d-mod-k"))

    for one, other in zip(free.jobs, fixed.jobs, strict=True):
        assert one.name == other.name
        assert np.array_equal(one.nodes, other.nodes)
    for number, own in free.traffic.items():
        assert own.nbytes == pytest.approx(fixed.traffic[number].nbytes)
        assert own.compute_s == pytest.approx(fixed.traffic[number].compute_s)
    assert free.digest != fixed.digest


def test_a_scene_is_known_by_its_number_alone():
    first, again, other = (scene("torus", "dimension-order", number) for number in (4, 4, 5))

    assert first.digest == again.digest != other.digest


def test_machines_routings_and_sizes_are_those_that_are_asked_for():
    sizes = {
        scene(name, ways[0], number).topology.n_nodes
        for name, (ways, specs) in MACHINES.items()
        for number in range(len(specs))
    }

    assert min(sizes) == 128
    assert max(sizes) >= 1024
    assert {way for _, way in CELLS} >= {"d-mod-k", "ecmp", "adaptive", "minimal", "valiant"}
