"""A pattern of one's own: each rank sends to the one half the job away."""

from dataclasses import dataclass

import numpy as np

import fabricsim as fs
from patterns import Step


@dataclass(frozen=True)
class Opposite:
    """One step."""

    def steps(self, n):
        return [Step(np.arange(n), np.roll(np.arange(n), n // 2), np.full(n, 1e6))]


jobs = [{"id": k, "nodes": range(k, 64, 2), "pattern": Opposite(), "compute_s": 0} for k in (0, 1)]
print(fs.estimate({"topology": "bgq-5d", "jobs": jobs}).to_frame()[["id", "network_slowdown"]])
