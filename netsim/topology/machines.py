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
}
