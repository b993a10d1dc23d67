"""Machines by name: the published counts of real systems, and the trees of the papers."""

from collections.abc import Mapping
from typing import Any

MACHINES: Mapping[str, Mapping[str, Any]] = {
    # LLNL Cab: 36-port switches, 4 pods of 18 leaves x 18 nodes, 36 spines (Pollard et al. 2018,
    # section IV-A), so each L2 switch has 9 parallel cables to each of 2 spines.
    "cab": {
        "kind": "fat-tree",
        "children": [18, 18, 4],
        "parents": [1, 18, 2],
        "parallel": [1, 1, 9],
    },
    # LLNL Pinot: "twice as many nodes and pods as Cab" (same place); the number of spines is not
    # given. 8 pods on 36-port spines at full bisection allow at most 3 parallel cables.
    "pinot": {
        "kind": "fat-tree",
        "children": [18, 18, 8],
        "parents": [1, 18, 6],
        "parallel": [1, 1, 3],
    },
    # Smith & Lowenthal 2021, section 5.1: maximal trees of radix 18, 16, 22 and 28.
    "thunder-1458": {"kind": "fat-tree", "radix": 18},
    "synth-1024": {"kind": "fat-tree", "radix": 16},
    "synth-2662": {"kind": "fat-tree", "radix": 22},
    "synth-5488": {"kind": "fat-tree", "radix": 28},
    # Pollard et al. 2018, section V-B: 22 pods of 22 leaves of 22 nodes on radix-44 switches
    "fattree-10648": {
        "kind": "fat-tree",
        "children": [22, 22, 22],
        "parents": [1, 22, 22],
        "parallel": [1, 1, 1],
    },
    # HECToR, Cray XE6: 15 x 6 x 16 routers of two nodes, 64 of the 2880 being login nodes
    # (*Improving job node allocation on HECToR*, section 2.5.1). Which ones is not published;
    # here the last 64 numbers.
    "hector": {
        "kind": "torus",
        "dims": [15, 6, 16],
        "nodes_per_router": 2,
        "excluded": ["n[2816-2879]"],
    },
    # NERSC Hopper, Cray XE6: 17 x 8 x 24 routers of two nodes, as in its node map.
    "hopper": {"kind": "torus", "dims": [17, 8, 24], "nodes_per_router": 2},
    # The 5D torus with HECToR's 2816 nodes, after Blue Gene/Q (same thesis, section 7.3).
    "bgq-5d": {"kind": "torus", "dims": [11, 8, 4, 4, 2]},
    # NVIDIA DGX SuperPOD with B200, reference architecture: 32 nodes a scalable unit, 8 rails.
    # 4 units: 128 nodes, 32 leaves, 16 spines, 1,024 cables up.
    "superpod-4su": {
        "kind": "gpu-cluster",
        "hosts": 128,
        "spines": 16,
        "bandwidth": "400 Gb/s",
        "gpu_link": "nvlink5",
        "filled_in": "superpod-4su: two cables of a leaf to each spine, every host equipped",
    },
    # 16 units: 512 nodes, 128 leaves, 128 spines, 64 core switches, 4,096 cables on each level.
    "superpod-16su": {
        "kind": "gpu-cluster",
        "hosts": 512,
        "units_per_pod": 4,
        "spines": 32,
        "cores": 64,
        "bandwidth": "400 Gb/s",
        "gpu_link": "nvlink5",
        "filled_in": "superpod-16su: four units under 32 spines of their own; which spines and "
        "cores are joined",
    },
    # Meta's RoCE cluster of Llama 3: 24,576 H100 in 3,072 hosts, 8 pods of 192 racks of 2 hosts,
    # no oversubscription in a pod, 7:1 above it.
    "llama3-roce-24k": {
        "kind": "gpu-cluster",
        "fabric": "clos",
        "hosts": 3072,
        "hosts_per_unit": 2,
        "units_per_pod": 192,
        "spines": 8,
        "cores": 40,
        "oversubscription": ["1:1", "384:55"],
        "bandwidth": "400 Gb/s",
        "gpu_link": "nvlink4",
        "filled_in": "llama3-roce-24k: 8 switches above the racks of a pod and 40 above the pods; "
        "7:1 is 384:55; racks at 1:1 (sources say 1:1, 2:1 and 1:1.125 spare)",
    },
    # Alibaba HPN (SIGCOMM 2024): a segment of 128 hosts, 8 rails in two planes, adapters of two
    # ports of 200 Gb/s.
    "hpn-segment": {
        "kind": "gpu-cluster",
        "fabric": "dual-plane",
        "hosts": 128,
        "hosts_per_unit": 128,
        "spines": 64,
        "oversubscription": "2:1",
        "bandwidth": ["200 Gb/s", "400 Gb/s"],
        "gpu_link": "nvlink4",
        "filled_in": "hpn-segment: 64 uplinks of 400 Gb/s of a leaf, unused within one segment; "
        "NVLink of H100",
    },
    # ALCF Theta (9 groups) and NERSC Edison (15 groups), Cray XC: router pairs as in their link
    # dumps; which lane of a pair is which port is not stored (an importer reads the dumps).
    "aries-theta-like": {
        "kind": "dragonfly",
        "groups": 9,
        "routers": [6, 16],
        "nodes_per_router": 4,
        "variant": "aries",
        "global_links": 24,
    },
    "aries-edison-like": {
        "kind": "dragonfly",
        "groups": 15,
        "routers": [6, 16],
        "nodes_per_router": 4,
        "variant": "aries",
        "global_links": 12,
    },
}
