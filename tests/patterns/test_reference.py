"""Steps agree with those of an independent generator that fed a packet-level simulator."""

import gzip
import json

import numpy as np
import pytest

from patterns import make_pattern

PACKET = 4096
NAMES = {
    "stencil3": {"name": "stencil", "dims": 3},
    "stencil4": {"name": "stencil", "dims": 4},
    "rd": {"name": "recursive-doubling"},
    "rhvd": {"name": "rhvd"},
}


@pytest.mark.parametrize("name", NAMES)
def test_steps_are_those_of_the_packet_level_cases(shared, name):
    """Same pairs in the same steps, bytes up to rounding to whole packets."""
    with gzip.open(shared("reference/packet/duty_k8.json.gz"), "rt") as file:
        cases = json.load(file)["cases"]
    jobs = [job for case in cases for job in case["jobs"] if job["pattern"] == name]

    assert len(jobs) >= 10
    for job in jobs:
        pattern = make_pattern({**NAMES[name], "nbytes": job["bytes_nominal"]})
        steps = pattern.steps(len(job["nodes"]))
        assert len(steps) == len(job["steps"])
        for step, messages in zip(steps, job["steps"], strict=True):
            src, dst, nbytes = np.array(sorted(messages)).T
            order = np.lexsort((step.dst, step.src))
            np.testing.assert_array_equal(step.src[order], src)
            np.testing.assert_array_equal(step.dst[order], dst)
            np.testing.assert_allclose(step.nbytes[order], nbytes, rtol=0, atol=PACKET)
