"""One and two rails of eight are lost: what data-parallel training takes then."""

from fabricsim import estimate

GRADIENTS = {"operation": "allreduce", "algorithm": "ring", "nbytes": "1 GB", "over": ["dp"]}
JOB = {
    "id": "a",
    "nodes": "n[0-31]",
    "ranks_per_node": 8,
    "parallel": {"tp": 8},
    "phases": [{"collectives": [GRADIENTS]}],
}
CLUSTER = {"kind": "gpu-cluster", "hosts": 32, "bandwidth": "400 Gb/s", "latency": "none"}

for lost in (0, 1, 2):
    failed = {"failed_switches": [f"s1.{rail}" for rail in range(lost)]}
    for rule in ("respread", "double"):
        cluster = CLUSTER | failed | {"on_failure": rule}
        (job,) = estimate({"topology": cluster, "jobs": [JOB]}).jobs
        print(f"{lost} of 8 rails lost, {rule}: {1e3 * job.alone_s:.2f} ms")
