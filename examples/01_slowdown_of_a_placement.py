"""Estimate what two jobs do to each other, and where one of them would be better off."""

from fabricsim import estimate

snapshot = {
    "topology": {"kind": "fat-tree", "children": [8, 8], "parents": [1, 4]},  # 2:1, 64 nodes
    "routing": "d-mod-k",
    "jobs": [
        {
            "id": "stencil",
            "nodes": "n[0-3,8-11,16-19,24-27]",  # half of four leaves each
            "pattern": {"name": "stencil", "dims": 3, "nbytes": "1 MiB"},
            "comm_fraction": 0.7,
        },
        {
            "id": "shuffle",
            "nodes": "n[4-7,12-15,20-23,28-31]",
            "pattern": {"name": "all-to-all", "nbytes": "256 KiB"},
            "comm_fraction": 0.8,
        },
    ],
    "candidates": [
        {"job": "shuffle", "nodes": "n[4-7,12-15,32-39]"},  # half of it moves to a free leaf
        {"job": "shuffle", "nodes": "n[32-47]"},  # all to two free leaves
    ],
}

found = estimate(snapshot)
for job in found.jobs:
    print(
        f"{job.id:9} slowdown {job.network_slowdown:.3f} = "
        f"placement factor {job.placement_factor:.3f} "
        f"x interference {job.interference:.3f}, worst link {job.worst_link}"
    )
for entry in found.candidates:
    print(
        f"candidate {entry.candidate}: {entry.job.id} {entry.job.network_slowdown:.3f} "
        f"= {entry.job.placement_factor:.3f} x {entry.job.interference:.3f}, "
        f"others {entry.others_network_slowdown:.3f}, rank {entry.rank}"
    )
