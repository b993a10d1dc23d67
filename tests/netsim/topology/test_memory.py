"""What a large tree costs in memory, measured in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

# VmHWM and not ru_maxrss: the latter begins with the size of the process that forked
STATUS = Path("/proc/self/status")
pytestmark = pytest.mark.skipif(not STATUS.exists(), reason="peak memory is read from /proc")

BUILD = """
import re
import sys
from pathlib import Path

import numpy as np

from netsim.routing.dmodk import DModK
from netsim.registries.topologies import make_topology

tree = make_topology(eval(sys.argv[1]))
nodes = np.arange(tree.n_nodes)
routes = DModK(tree).routes(nodes, (nodes + tree.n_nodes // 2) % tree.n_nodes)
assert np.bincount(routes.links).max() == 1
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(tree.n_nodes, int(peak[1]) * 1024)
"""


@pytest.mark.parametrize(
    ("spec", "nodes", "limit"),
    [
        ("fattree-10648", 10_648, 200e6),
        ({"kind": "fat-tree", "radix": 74}, 101_306, 1e9),
    ],
)
def test_a_large_tree_is_built_and_routed_within_its_memory(spec, nodes, limit):
    """Peak of the whole process, interpreter and numpy included."""
    done = subprocess.run(  # noqa: S603 (our own interpreter and text)
        [sys.executable, "-c", BUILD, repr(spec)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )

    built, peak = map(int, done.stdout.split())
    assert built == nodes
    assert peak <= limit
