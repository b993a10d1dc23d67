"""Virtual channels: as the rule of a fabric says, without a circle of waiting; or a refusal."""

from itertools import pairwise

import numpy as np
import pytest

from netsim.common.errors import ContentionError
from netsim.flows.virtual_channels import virtual_channels
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.routes import Routes


def all_pairs(topology):
    """Return source and destination of every pair of different nodes."""
    nodes = np.arange(topology.n_nodes)
    src, dst = np.repeat(nodes, nodes.size), np.tile(nodes, nodes.size)
    return src[src != dst], dst[src != dst]


def circle_exists(routes, channels):
    """Search a circle of waiting by taking away what waits for nobody, again and again."""
    waits = {}
    for f in range(routes.n_flows):
        row = range(routes.indptr[f], routes.indptr[f + 1])
        path = [(int(routes.links[i]), int(channels[i])) for i in row]
        for here, there in pairwise(path):
            waits.setdefault(here, set()).add(there)
    while True:
        free = [here for here, others in waits.items() if not any(o in waits for o in others)]
        if not free:
            return bool(waits)
        for here in free:
            del waits[here]


FABRICS = [
    ({"kind": "fat-tree", "radix": 4}, "d-mod-k", 1),
    ({"kind": "fat-tree", "children": [4, 4], "parents": [1, 2], "parallel": [1, 2]}, "ecmp", 1),
    ({"kind": "torus", "dims": [4, 5]}, "dimension-order", 2),
    ({"kind": "torus", "dims": [2, 3, 4], "nodes_per_router": 2}, "dimension-order", 2),
    ({"kind": "torus", "dims": [5, 4], "wrap": False}, "dimension-order", 1),
    ({"kind": "dragonfly", "groups": 5, "routers": [2, 2], "nodes_per_router": 2}, "minimal", 2),
    ({"kind": "dragonfly", "groups": 5, "routers": [2, 2], "nodes_per_router": 2}, "valiant", 3),
]


@pytest.mark.parametrize(("fabric", "routing", "needed"), FABRICS)
def test_all_pairs_are_free_of_circles_with_the_channels_of_the_rule(fabric, routing, needed):
    topology = make_topology(fabric)
    routes = make_routing(routing, topology, seed=1).routes(*all_pairs(topology))

    channels = virtual_channels(topology, routes)

    assert channels.max() + 1 == needed
    assert not circle_exists(routes, channels)


def test_a_packet_changes_channel_after_the_cable_that_closes_a_ring_and_back_in_the_next():
    """On 4 x 4 routers from (3, 3) to (1, 1): the ring of axis 0 is closed, then of axis 1."""
    torus = make_topology({"kind": "torus", "dims": [4, 4]})
    routes = make_routing("dimension-order", torus).routes(np.array([15]), np.array([5]))

    names = [torus.link_class(link) for link in routes.links]

    assert names == ["injection", "axis0+", "axis0+", "axis1+", "axis1+", "ejection"]
    assert virtual_channels(torus, routes).tolist() == [0, 0, 1, 0, 1, 0]


def test_one_channel_on_a_ring_is_refused_by_the_name_of_the_field():
    torus = make_topology({"kind": "torus", "dims": [5]})
    routes = make_routing("dimension-order", torus).routes(*all_pairs(torus))

    with pytest.raises(ContentionError, match=r"switch: virtual_channels: expected 2 .* got 1"):
        virtual_channels(torus, routes, 1)


def test_one_channel_will_do_where_no_packets_wait_in_a_circle():
    torus = make_topology({"kind": "torus", "dims": [5]})
    routes = make_routing("dimension-order", torus).routes(np.array([4]), np.array([1]))

    assert virtual_channels(torus, routes, 1).tolist() == [0, 0, 0, 0]


def test_routes_in_a_circle_without_a_rule_are_refused():
    """Three switches, each of which sends to the second next by way of the next."""
    square = make_topology({"kind": "fat-tree", "radix": 4})
    links = Routes.from_lists([[40, 41], [41, 42], [42, 40]], square.n_links)

    with pytest.raises(ContentionError, match="could wait for each other in a circle, as on link"):
        virtual_channels(square, links)
