"""
Time a permutation's certificate on 10,648 nodes against repeated bipartite matching.

Both sides assign every flow an L2 index and a spine so that no directed link carries two flows:
`PermutationRouter` by edge colouring; the reference peels a perfect matching off the leaf-to-leaf
multigraph for each L2 index, and one off the pod-to-pod multigraph of that index for each spine,
with `scipy.sparse.csgraph.maximum_bipartite_matching`.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from benchmarks import asking
from benchmarks.evidence import record
from netsim.common.arrays import Ints
from netsim.flows.partition import Partition
from netsim.nonblocking.router import PermutationRouter
from netsim.topology.fattree import build_fat_tree

K = 22  # nodes per leaf, leaves per pod, pods: 10,648 nodes
REPEATS = 5
REQUIRED = 10


def peel(left: Ints, right: Ints, size: int, degree: int) -> Ints:
    """Part the edges of a regular bipartite multigraph into perfect matchings by scipy."""
    part = np.empty(left.size, dtype=np.int64)
    open_edges = np.arange(left.size)
    for color in range(degree):
        pairs = left[open_edges] * size + right[open_edges]
        graph = csr_array(
            (np.ones(pairs.size, dtype=np.int8), (left[open_edges], right[open_edges])),
            shape=(size, size),
        )
        partner = maximum_bipartite_matching(graph, perm_type="column")
        _, first = np.unique(pairs, return_index=True)
        chosen = first[partner[left[open_edges[first]]] == right[open_edges[first]]]
        assert chosen.size == size
        part[open_edges[chosen]] = color
        open_edges = np.delete(open_edges, chosen)
    return part


def by_matching(dst: Ints) -> tuple[Ints, Ints]:
    """Return L2 index and spine of every flow i -> dst[i] of a permutation of the whole tree."""
    src = np.arange(dst.size)
    index = peel(src // K, dst // K, K * K, K)
    spine = np.empty(dst.size, dtype=np.int64)
    for i in range(K):
        flows = np.flatnonzero(index == i)
        spine[flows] = peel(flows // K**2, dst[flows] // K**2, K, K)
    return index, spine


def median_seconds(call: Callable[[Ints], object], argument: Ints) -> float:
    """Return the median CPU time of a call."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call(argument)
        times.append(time.process_time() - start)
    return float(np.median(times))


def main() -> int:
    """Print both times and their ratio."""
    tree = build_fat_tree((K, K, K), (1, K, K), (1, 1, 1), 12.5e9)
    nodes = np.arange(tree.n_nodes)
    router = PermutationRouter(tree, Partition(nodes, np.arange(tree.up_base[1], tree.n_links)))
    dst = np.random.default_rng(1).permutation(nodes)
    routes = router.routes(nodes, dst)
    assert np.bincount(routes.links).max() == 1
    ours = median_seconds(lambda target: router.routes(nodes, target), dst)
    reference = median_seconds(by_matching, dst)
    lines = [
        (
            f"- permutation on {tree.n_nodes} nodes: certificate {1e3 * ours:.1f} ms, "
            f"repeated `maximum_bipartite_matching` {1e3 * reference:.1f} ms"
        ),
        f"- ratio {reference / ours:.1f} (required {REQUIRED})",
    ]
    print("\n".join(lines))
    record("Certificates of permutations", "python -m benchmarks.rearrange", lines)
    return int(reference < REQUIRED * ours)


if __name__ == "__main__":
    asking.nothing(__doc__)
    sys.exit(main())
