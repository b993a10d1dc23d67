"""Gradients beside the backward pass: what is exposed, alone and beside another job."""

from fabricsim import estimate

RING = {"operation": "allreduce", "algorithm": "ring", "nbytes": "1 GB", "over": ["dp"]}
SHARED = {"nodes": "n[0-31]", "ranks_per_node": 8, "parallel": {"tp": 8}}
BACKWARD = {"compute_s": "30 ms", "hidden": True, "collectives": [RING]}
SCENE = {
    "topology": {"kind": "gpu-cluster", "hosts": 32, "bandwidth": "400 Gb/s", "latency": "none"},
    "model": "flow-level",
    "fairness": "per-flow",
    "shared": True,
    "jobs": [
        SHARED | {"id": "a", "phases": [{"compute_s": "70 ms"}, BACKWARD], "iterations": 20},
        SHARED | {"id": "b", "phases": [{"collectives": [RING]}], "iterations": 100},
    ],
}

job = estimate(SCENE).jobs[0]
for words, seconds in (("alone", job.alone_s), ("beside a job", job.together_s)):
    print(f"{words}: {1e3 * seconds:.2f} ms, of which {1e3 * seconds - 100:.2f} are exposed")
