"""Two training jobs on one GPU cluster: their step times, and a start that interleaves them."""

from fabricsim import estimate, stagger

RING = {"operation": "allreduce", "algorithm": "ring", "nbytes": "1 GB", "over": ["dp"]}
JOB = {
    "ranks_per_node": 8,
    "parallel": {"tp": 8},
    "phases": [{"compute_s": "65 ms", "collectives": [RING]}],
}
SCENE = {
    "topology": {
        "kind": "gpu-cluster",
        "hosts": 16,
        "hosts_per_unit": 8,
        "oversubscription": "8:1",
        "bandwidth": "400 Gb/s",
        "latency": "none",
    },
    "jobs": [JOB | {"id": "a", "nodes": "n[0-3,8-11]"}, JOB | {"id": "b", "nodes": "n[4-7,12-15]"}],
}

for job in estimate(SCENE | {"model": "flow-level"}).jobs:
    print(f"{job.id}: {1e3 * job.alone_s:.1f} ms alone, {1e3 * job.together_s:.1f} together")

found = stagger(SCENE)
for job in found.jobs:
    print(
        f"{job.id} starts {1e3 * job.shift_s:.1f} ms later: {1e3 * job.best_s:.1f} ms, "
        f"mean over other starts {1e3 * job.mean_s:.1f}, worst {1e3 * job.worst_s:.1f}"
    )
print(f"half of the gain is gone when one is off by {1e3 * found.slack_s:.1f} ms")
