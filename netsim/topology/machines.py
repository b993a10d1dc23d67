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
