"""Names of links, one by one and at once."""

import pytest

from netsim.registries.topologies import make_topology
from netsim.topology.names import link_names


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "fat-tree", "radix": 4},
        {"kind": "fat-tree", "children": [2, 4], "parents": [1, 2], "parallel": [1, 2]},
        {"kind": "torus", "dims": [2, 3]},
        {"kind": "dragonfly", "groups": 3, "routers": 2, "nodes_per_router": 2},
    ],
    ids=["tree", "parallel cables", "ring of two", "dragonfly"],
)
def test_all_names_of_links_are_those_of_each(table):
    fabric = make_topology(table)

    assert link_names(fabric) == [fabric.link_name(link) for link in range(fabric.n_links)]
