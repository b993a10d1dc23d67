"""Who reaches whom on large fabrics: memory and time grow with the links."""

import tracemalloc

import numpy as np

from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology
from netsim.topology.levels import vertex_levels
from netsim.topology.reach import unreachable

BYTES_A_LINK = 2_000


def test_a_large_torus_with_a_failed_cable_is_looked_at_in_memory_for_its_links():
    """Every one of 6,000 routers has other nodes: a table of pairs would take 200 MB."""
    torus = make_topology({"kind": "torus", "dims": [20, 20, 15], "failed_links": ["r0>r1"]})

    tracemalloc.start()
    lost = unreachable(torus)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert lost.nodes.size == lost.n_pairs == 0
    assert peak < BYTES_A_LINK * torus.n_links


def test_routers_that_are_all_alone_are_looked_at_in_memory_for_their_number():
    """Each of 6,000 routers reaches its own node only, of which the first stays in use."""
    mesh = make_topology({"kind": "torus", "dims": [6000], "wrap": False})
    between = np.flatnonzero((mesh.link_tail >= 6000) & (mesh.link_head >= 6000))
    alone = Topology(
        **{
            name: getattr(mesh, name)
            for name in ("name", "n_nodes", "n_switches", "link_tail", "link_head", "link_cable")
        },
        capacity=mesh.capacity,
        channel=mesh.channel,
        absent=between,
    )

    tracemalloc.start()
    lost = unreachable(alone)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert lost.nodes.tolist() == list(range(1, 6000))
    assert peak < 100_000_000


def test_levels_of_a_long_line_of_switches_are_found_in_linear_time():
    """One node at the end of 100,000 switches: a pass over all links for each would take hours."""
    n_switches = 100_000
    first, second = np.arange(n_switches), np.arange(1, n_switches + 1)
    ends = np.concatenate([first, second]), np.concatenate([second, first])
    links = np.arange(ends[0].size)
    line = Topology("line", 1, n_switches, *ends, np.zeros_like(links), np.ones(links.size), links)

    assert np.array_equal(vertex_levels(line), np.arange(n_switches + 1))
