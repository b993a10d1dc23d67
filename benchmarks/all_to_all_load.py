"""
Closed-form loads of an all-to-all against numpy enumeration, equal results demanded.

4096 random nodes of a 10,648-node fat-tree (22 pods of 22 leaves of 22 nodes), CPU time.
Enumeration routes all 16.8 million flows in blocks that fit the cache and counts them with
bincount. Exit status 1 if the ratio is below 1000.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks import asking
from benchmarks.evidence import record
from netsim.common.arrays import Ints
from netsim.flows.load import all_to_all_link_flows
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree, build_fat_tree

N_RANKS, BLOCK, REPEATS = 4096, 32, 20
REQUIRED = 1000


def enumerated(tree: FatTree, nodes: Ints) -> Ints:
    """Route every pair and count flows per link."""
    load = np.zeros(tree.n_links, dtype=np.int64)
    routing = DModK.on(tree)
    for first in range(0, nodes.size, BLOCK):
        src = np.repeat(nodes[first : first + BLOCK], nodes.size)
        routes = routing.routes(src, np.tile(nodes, BLOCK))
        load += np.bincount(routes.links, minlength=tree.n_links)
    return load


def best_seconds(call: Callable[[], Ints], repeats: int) -> tuple[float, Ints]:
    """Return the least CPU time of some calls, in seconds, and the last answer."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        answer = call()
        times.append(time.process_time() - begin)
    return min(times), answer


def main() -> int:
    """Print both times and their ratio."""
    tree = build_fat_tree((22, 22, 22), (1, 22, 22), (1, 1, 1), 12.5e9)
    nodes = np.random.default_rng(1).choice(tree.n_nodes, N_RANKS, replace=False)
    closed_s, closed = best_seconds(lambda: all_to_all_link_flows(tree, nodes), REPEATS)
    slow_s, expected = best_seconds(lambda: enumerated(tree, nodes), 1)
    assert np.array_equal(closed, expected)
    lines = [
        (
            f"- all-to-all loads of {N_RANKS} ranks on {tree.n_nodes} nodes: enumerated "
            f"{slow_s:.2f} s, closed form {closed_s * 1e6:.0f} us, equal"
        ),
        f"- ratio {slow_s / closed_s:.0f} (required {REQUIRED})",
    ]
    print("\n".join(lines))
    record("All-to-all loads in closed form", "python -m benchmarks.all_to_all_load", lines)
    return int(slow_s / closed_s < REQUIRED)


if __name__ == "__main__":
    asking.nothing(__doc__)
    sys.exit(main())
