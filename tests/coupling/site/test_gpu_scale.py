"""GPU clusters of tens of thousands of GPUs: memory, and work counted (pytest -m heavy)."""

import subprocess
import sys
from pathlib import Path

import pytest

# VmHWM and not ru_maxrss: the latter begins with the size of the process that forked
pytestmark = pytest.mark.heavy
PEAK = """
import re
from pathlib import Path
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(int(peak[1]) * 1024)
"""
ESTIMATE = (
    """
import fabricsim as fs
from patterns.phases import Model
from coupling.inputs.snapshot import Snapshot
from scheduler.traffic import layout_of, placed_flows

model = {"params": "70e9", "layers": 80, "hidden": 8192, "seq": 4096, "compute_s": "3 s"}
model |= {"tp": 8, "pp": 4, "micro_batches": 8}
cluster = {"kind": "gpu-cluster", "hosts": 4096, "fabric": "rail", "hosts_per_unit": 32}
cluster |= {"units_per_pod": 32, "bandwidth": "400 Gb/s"}
jobs = [
    {"id": f"j{k}", "nodes": f"n[{100 * k}-{100 * k + 99}]", "ranks_per_node": 8, "model": model}
    for k in range(40)
]
found = fs.estimate({"topology": cluster, "jobs": jobs})
job = found.snapshot.jobs[0]
flows = placed_flows(job.flows.placed, layout_of(found.snapshot.topology, job.partition.nodes))
print(len(found.jobs), flows.src.size, int(flows.flow_rounds.sum()))
"""
    + PEAK
)
ROUTE = (
    """
import netsim
import numpy as np
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology

cluster = {"kind": "gpu-cluster", "hosts": 12_544, "fabric": "rail", "hosts_per_unit": 32}
fabric = make_topology({**cluster, "units_per_pod": 56, "bandwidth": "400 Gb/s"})
report = netsim.inspect_topology(fabric)
ends = np.arange(fabric.endpoints.size)
routes = make_routing("d-mod-k", fabric).routes(ends, (ends + ends.size // 2) % ends.size)
print(fabric.n_nodes * fabric.hosts.gpus, routes.links.size, np.bincount(routes.links).max())
"""
    + PEAK
)


def counted(code):
    """Return what a process of its own prints, the peak of its memory last."""
    done = subprocess.run(  # noqa: S603 (our own interpreter and text)
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    return list(map(int, done.stdout.split()))


def test_forty_jobs_on_32768_gpus_are_estimated_with_rounds_folded():
    """
    By hand, of 800 GPUs as tp 8, pp 4, dp 25: a GPU sends in five collectives, its rounds folded.

    Gradients in 32 rings of 25, 48 rounds each by up to 8 channels; activations in 100 rings of 8
    inside hosts, 14 rounds, 640 of them; the pipeline sends each way once or 7 times.
    """
    jobs, messages, sends, peak = counted(ESTIMATE)

    assert jobs == 40
    assert messages <= 800 * 5 * 8
    assert sends > 100 * messages
    assert peak < 4e9


def test_100352_gpus_are_inspected_and_routed():
    """Half the machine away, each of the 8 x 12,544 endpoints has six links, no two share one."""
    gpus, links, most, peak = counted(ROUTE)

    assert (gpus, links, most) == (100_352, 6 * 100_352, 1)
    assert peak < 4e9
