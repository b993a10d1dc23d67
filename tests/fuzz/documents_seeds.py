"""Valid documents, as Python values: fabrics, snapshots, flows, experiments, profiles."""

from typing import Any

Document = dict[str, Any]

TREE = {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2], "bandwidth": "100 Gb/s"}
CUBE = {"kind": "fat-tree", "radix": 4, "levels": 3, "duplex": "full"}
TORUS = {"kind": "torus", "dims": [3, 2, 2], "nodes_per_router": 2, "wrap": [True, False, True]}
DRAGONFLY = {
    "kind": "dragonfly",
    "groups": 3,
    "routers": [2, 2],
    "nodes_per_router": 2,
    "variant": "aries",
    "bandwidth": ["10 GB/s", "5 GB/s", "5 GB/s", "4 GB/s"],
}
RAILS = {"kind": "fat-tree", "children": [3, 2], "parents": [2, 3], "parallel": [1, 1]}
BROKEN = {
    "kind": "fat-tree",
    "children": [4, 4],
    "parents": [1, 2],
    "parallel": [1, 2],
    "down_cable": "mirror",
    "missing": ["n15"],
    "excluded": ["n[12-13]"],
    "failed_links": ["s1.0>s2.0#1"],
    "failed_switches": ["s1.3"],
    "latency_base_s": "315 ns",
    "latency_per_link_s": 4e-7,
    "buffer": "64 KiB",
}
MACHINE = {"kind": "cab", "bandwidth": "40 Gb/s", "latency": "codes"}
TOPOLOGIES = {
    "tree": TREE,
    "cube": CUBE,
    "torus": TORUS,
    "dragonfly": DRAGONFLY,
    "simgrid dragonfly": {
        "kind": "dragonfly",
        "groups": 2,
        "routers": 3,
        "global_links": 1,
        "variant": "simgrid",
        "lanes": [1, 1, 1],
    },
    "rails": RAILS,
    "limited": {
        "kind": "switch",
        "nodes": 8,
        "limiter_link": "150 Gb/s",
        "loopback_bw": "20 GB/s",
        "loopback_lat": "1 us",
    },
    "broken": BROKEN,
    "file": {
        "kind": "file",
        "path": "fabric.txt",
        "format": "ibnetdiscover",
        "name_map": "names.txt",
        "host_pattern": "^([^ ]+)",
        "bandwidth": ["100 Gb/s", "200 Gb/s"],
    },
}

_JOBS: list[Document] = [
    {
        "id": "a",
        "nodes": "n[0-3,8]",
        "pattern": {"name": "stencil", "dims": 3, "nbytes": "1 MiB"},
        "comm_fraction": 0.5,
    },
    {
        "id": 2,
        "nodes": [4, "n9", 10, "n12"],
        "pattern": {"name": "allreduce", "algorithm": "ring", "nbytes": 65536},
        "compute_s": "3 ms",
        "start_s": 0.001,
    },
    {
        "id": "c",
        "nodes": ["n5", "n11"],
        "ranks_per_node": 2,
        "mapping": "round-robin",
        "steps": [[[0, 1, "2 MB"], [1, 2, 5e5]], [[2, 0, 1000]]],
        "comm_fraction": 0.9,
    },
]
_CANDIDATES = [{"job": "a", "nodes": "n[0-3,13]"}, {"job": "a", "nodes": [0, 1, 2, 3, 6]}]
_OWN = {
    "id": "own",
    "nodes": [0, 4],
    "links": ["s1.0>s2.1", "s2.1>s1.0", "s1.1>s2.1", "s2.1>s1.1"],
}


def _snapshot(**changes: Any) -> Document:
    """Return a snapshot."""
    return {"topology": TREE, "routing": "d-mod-k", "jobs": _JOBS} | changes


def _with_pattern(*patterns: Document) -> Document:
    """Return a snapshot whose jobs have given patterns."""
    jobs = [
        {"id": i, "nodes": f"n[{4 * i}-{4 * i + 3}]", "pattern": pattern, "comm_fraction": 0.4}
        for i, pattern in enumerate(patterns)
    ]
    return {"topology": TREE, "jobs": jobs, "model": "fluid", "seed": 3}


SNAPSHOTS: dict[str, Document] = {
    "fluid": _snapshot(candidates=_CANDIDATES, model_options={"seed": 2}),
    "fast": _snapshot(model="fluid", candidates=_CANDIDATES, model_options={"tolerance": 1e-3}),
    "flow-level": _snapshot(
        model="flow-level", fairness="per-flow", jobs=[{**job, "iterations": 3} for job in _JOBS]
    ),
    "torus": _snapshot(topology=TORUS, routing="dimension-order", model="fluid"),
    "dragonfly": _snapshot(topology=DRAGONFLY, routing="valiant", seed=5, model="fluid"),
    "cube": _snapshot(topology=CUBE, routing="ecmp", model="fluid"),
    "broken": {
        "topology": BROKEN,
        "routing": "shortest",
        "jobs": [_JOBS[0], {**_JOBS[1], "nodes": [4, "n9", 10, 11]}],
    },
    "rails": {"topology": RAILS, "jobs": [{**_JOBS[0], "nodes": "n[0-4]"}], "model": "fluid"},
    "hop-cost": _snapshot(model="hop-cost"),
    "infinite": _snapshot(model="null"),
    "packets": _snapshot(
        model="packets",
        jobs=[{**_JOBS[0], "pattern": {"name": "ring", "nbytes": 9000}}],
        switch={
            "preset": "infiniband",
            "packet": "2 KiB",
            "buffer": "32 KiB",
            "arbitration": "round-robin",
            "switching": "cut-through",
            "nic": "first-come",
            "delay": "90 ns",
            "jitter": "1 ns",
            "virtual_channels": 1,
        },
        model_options={"iterations": 2, "samples": 1},
    ),
    "owned": {
        "topology": TREE,
        "routing": "jigsaw",
        "jobs": [
            {**_OWN, "pattern": {"name": "pairs"}, "comm_fraction": 0.5},
            {"id": 1, "nodes": [1, 8], "steps": [[[0, 1, 1e6]]], "compute_s": 0},
        ],
    },
    "training": _with_pattern(
        {"name": "training", "dp": 2, "tp": 2, "pp": 1, "nbytes": "8 MiB", "layers": 2},
        {"name": "sequence", "parts": [{"name": "ring"}, {"name": "pairs", "seed": 2}]},
        {
            "name": "hybrid",
            "parts": [{"name": "shift", "distance": 2}, {"name": "rhvd"}],
            "weights": [0.75, 0.25],
        },
    ),
    "collectives": _with_pattern(
        {"name": "broadcast", "algorithm": "mpich", "root": 1, "nbytes": "3 MB"},
        {"name": "sub-all-to-all", "dims": 2, "algorithm": "bruck"},
        {"name": "permutation", "to": [1, 2, 3, 0], "nbytes": 7},
    ),
    "matrices": _with_pattern(
        {"name": "matrix", "file": "m.csv", "scale": 2},
        {"name": "matrix", "file": "m.mtx"},
        {"name": "matrix", "file": "m.npz"},
    ),
    "matrix market": _with_pattern(
        {"name": "matrix", "file": "open.mtx"},
        {"name": "matrix", "file": "lower.mtx", "scale": 2},
    ),
    "file": {
        "topology": {"kind": "file", "path": "fabric.txt", "name_map": "names.txt"},
        "routing": {"lft": "tables.lft", "fabric": "fabric.txt"},
        "jobs": [{**_JOBS[0], "nodes": [0, 1, 2, 5, 6]}],
    },
}
VERIFIED = {
    "owned": {
        "topology": TREE,
        "routing": "jigsaw",
        "jobs": [_OWN, {"id": 1, "nodes": "n[1-3]", "links": None}],
    },
    "cube": {
        "topology": CUBE,
        "routing": "d-mod-k",
        "jobs": [{"id": "x", "nodes": "n[0-1]"}, {"id": "y", "nodes": [4, 5, 8]}],
    },
    "torus": {"topology": TORUS, "jobs": [{"id": "x", "nodes": "n[0-3]"}]},
}
FLOWS = {
    "tree": {
        "topology": TREE,
        "routing": "d-mod-k",
        "fairness": "per-flow",
        "seed": 2,
        "flows": [["n0", "n8", "2 MiB"], ["n1", "n12", "1 MiB"], [0, 1, 1e6], [3, 3, 5]],
    },
    "dragonfly": {
        "topology": DRAGONFLY,
        "routing": "minimal",
        "flows": [[0, 20, 1], [5, 3, "1 GB"]],
    },
    "machine": {"topology": MACHINE, "flows": [["n0", "n1200", 1000], [7, 800, "1 MB"]]},
}

RULES: list[Document] = [
    {
        "match": {"min_nodes": 2, "max_nodes": 5, "user": [3, 7]},
        "chance": 0.6,
        "pattern": {"name": "stencil", "dims": 4},
        "label": "halo",
        "comm_fraction": {"uniform": [0.1, 0.5]},
        "bytes_per_flow": "1 MiB",
    },
    {
        "match": {"min_nodes": 2, "queue": 1},
        "pattern": {"name": "pairs"},
        "comm_fraction": {"choice": [0.1, 0.5], "weights": [1, 3]},
        "iteration": {"log_uniform": [0.01, 1.0]},
    },
    {
        "pattern": {"name": "all-to-all"},
        "bytes_per_flow": {"lognormal": [10.0, 1.0]},
        "iteration": "20 ms",
    },
]
PROFILE = {"version": 1, "rule": RULES}
_SYNTH = {"generator": "synth", "mean_nodes": 3, "n_jobs": 10, "seed": 2}
EXPERIMENTS: dict[str, Document] = {
    "full": {
        "topology": CUBE,
        "workload": {
            "path": "log.swf",
            "format": "swf",
            "processors_per_node": 2,
            "max_nodes": 12,
            "scale_nodes": 2,
            "arrivals": 0.5,
            "window_s": [0, 400],
            "estimates": "requested",
        },
        "communication": {"profile": "profile.toml"},
        "scheduler": {
            "queue": "easy",
            "window": 7,
            "queue_options": {"reservation": "R2", "switches": "2@1:00"},
            "kill_at_limit": True,
        },
        "network": {
            "routing": "jigsaw",
            "model": "fluid",
            "fairness": "per-flow",
            "model_options": {"tolerance": 1e-3},
        },
        "run": {
            "seed": 2,
            "seeds": {"workload": 7, "model": 3},
            "runtime_means": "baseline",
            "self_check": False,
        },
        "compare": {
            "allocators": ["first-free", "jigsaw", "random"],
            "options": {"jigsaw": {"order": "index"}},
        },
    },
    "shared": {
        "topology": TREE,
        "workload": {"path": "log.swf", "format": "swf", "processors_per_node": 4},
        "scheduler": {"node": {"cores": 4, "gpus": 2, "memory": "8 GiB"}},
        "network": {"routing": "d-mod-k"},
    },
    "system": {
        "topology": {"kind": "file", "path": "seth.json", "format": "accasim"},
        "workload": {"path": "log.swf"},
        "scheduler": {"node": {"path": "seth.json"}},
    },
    "plain": {
        "topology": TREE,
        "workload": _SYNTH,
        "communication": PROFILE,
        "scheduler": {"queue": "priority", "queue_options": {"key": "fair-share"}},
        "network": {"routing": "d-mod-k", "model": "hop-cost"},
    },
    "events": {
        "topology": TORUS,
        "workload": _SYNTH,
        "scheduler": {"queue": "conservative"},
        "network": {"model": "null"},
        "events": {
            "list": [{"time": "1 min", "action": "down", "what": "n3"}],
            "node_mtbf": "30 h",
            "checkpoint": 60,
        },
    },
    "torus": {
        "topology": TORUS,
        "workload": {**_SYNTH, "generator": "laas", "mean_nodes": 4},
        "scheduler": {"allocator": "torus-chunk", "queue": "conservative"},
        "network": {"routing": "dimension-order"},
    },
    "dragonfly": {
        "topology": DRAGONFLY,
        "workload": {"generator": "hector-like", "n_jobs": 10, "load": 0.8, "max_nodes": 20},
        "scheduler": {"allocator": "closest-fit", "queue": "cautious"},
        "network": {"routing": "minimal", "model": "hop-cost"},
    },
    "broken": {
        "topology": BROKEN,
        "workload": {"generator": "lublin", "n_nodes": 16, "n_jobs": 10},
        "scheduler": {"allocator": "adaptive", "queue": "reckless"},
        "network": {
            "routing": "shortest",
            "model": "assumed",
            "model_options": {"scenario": "V1", "reading": "subtract"},
        },
    },
    "table": {
        "topology": CUBE,
        "workload": {"path": "log.csv", "format": "csv", "arrivals": "zero"},
        "communication": {
            "version": 1,
            "rule": [
                {
                    "pattern": {"name": "ring"},
                    "comm_fraction": {"column": "share", "scale": 0.01},
                    "bytes_per_flow": 1000,
                }
            ],
        },
        "scheduler": {"queue": "fcfs", "allocator": "lc", "allocator_options": {"steps": 50}},
        "network": {"model": "null"},
    },
    "file": {
        "topology": {"kind": "file", "path": "fabric.txt", "format": "ibnetdiscover"},
        "workload": _SYNTH,
        "scheduler": {"queue": "sjf", "allocator": "first-free"},
        "network": {"routing": {"lft": "tables.lft", "fabric": "fabric.txt"}},
    },
}
SWEEPS: dict[str, Document] = {
    "grid": {
        "topology": TREE,
        "workload": {**_SYNTH, "n_jobs": 6},
        "communication": {"version": 1, "rule": RULES[:2]},
        "run": {"self_check": False},
        "sweep": {
            "scheduler.allocator": ["first-free", "random"],
            "communication.rule.0.chance": [0.1, 0.5],
            "run.seed": [1, 2],
        },
    },
    "sample": {
        "topology": TREE,
        "workload": {**_SYNTH, "n_jobs": 6},
        "communication": {"version": 1, "rule": RULES[:2]},
        "run": {"self_check": False},
        "sweep": {
            "name": "mine",
            "samples": 2,
            "seed": 5,
            "jobs": False,
            "zip": [{"network.model": ["fluid", "null"], "workload.mean_nodes": [2, 3]}],
            "random": {"communication.rule.0.comm_fraction": {"uniform": [0.1, 0.5]}},
        },
    },
}
