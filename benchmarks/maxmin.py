"""
Speed of the max-min solver: ratios to plain numpy progressive filling, equal rates demanded.

Random pairs on full fat-trees, CPU time of one run. Exit status 1 if rates differ by more
than 1e-9 or the solver is not 10 times faster on 20,000 flows.
"""

import sys
import time

import numpy as np

from benchmarks import asking
from netsim.common.arrays import Floats
from netsim.flows.maxmin import max_min_rates
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import fat_tree_of_radix
from netsim.topology.routes import Routes

CASES = ((18, 1458), (18, 20_000), (28, 200_000))  # radix, flows
ROUNDS_UP_TO = 20_000  # flows; the numpy rounds take a minute on the last case
REQUIRED = 10


def filling_by_rounds(routes: Routes, capacity: Floats) -> Floats:
    """Fill progressively: in each round all links of the least share saturate."""
    flow_of = np.repeat(np.arange(routes.n_flows), routes.hops)
    rates, left, link_of = np.full(routes.n_flows, np.inf), capacity.copy(), routes.links
    while flow_of.size:
        users = np.bincount(link_of, minlength=routes.n_links)
        share = np.divide(left, users, out=np.full_like(left, np.inf), where=users > 0)
        level = share.min()
        rates[flow_of[share[link_of] <= level * (1 + 1e-12)]] = level
        gone = np.isfinite(rates[flow_of])
        left -= level * np.bincount(link_of[gone], minlength=routes.n_links)
        flow_of, link_of = flow_of[~gone], link_of[~gone]
    return rates


def main() -> int:
    """Print a line per case."""
    good = True
    for radix, n_flows in CASES:
        tree = fat_tree_of_radix(radix, 12.5e9)
        src, dst = np.random.default_rng(n_flows).integers(tree.n_nodes, size=(2, n_flows))
        routes = DModK(tree).routes(src, dst)
        times = []
        for _ in range(4):  # the first compiles or loads the kernel
            begin = time.process_time()
            rates = max_min_rates(routes, tree.capacity)
            times.append(time.process_time() - begin)
        seconds = min(times[1:])
        line = f"{tree.n_nodes} nodes, {n_flows} flows: {seconds * 1e3:.2f} ms"
        if n_flows <= ROUNDS_UP_TO:
            begin = time.process_time()
            expected = filling_by_rounds(routes, tree.capacity)
            ratio = (time.process_time() - begin) / seconds
            good &= bool(np.allclose(rates, expected, rtol=1e-9))
            good &= n_flows < ROUNDS_UP_TO or ratio >= REQUIRED
            line += f", numpy by rounds takes {ratio:.0f} times as long"
        print(line)
    return int(not good)


if __name__ == "__main__":
    asking.nothing(__doc__)
    sys.exit(main())
