"""The example of docs/concepts/model.md, worked by hand there."""

import math

import numpy as np
import pytest

from netsim.contention.base import Traffic
from netsim.contention_models import make_contention_model
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import fat_tree_of_radix


def one_flow(routing, src, dst):
    """Return the traffic of one flow: 1 GB per iteration, with 1 s of computing."""
    sender = np.array([src])
    routes = routing.routes(sender, np.array([dst]))
    return Traffic(np.array([0]), sender, np.array([1e9]), routes, 1.0, np.zeros(1))


def test_two_equal_flows_on_one_uplink_give_the_golden_ratio_and_a_third_gives_one():
    """4 s^2 - 6 s + 1 = 0 for the two that share a link; exactly 1 for the one that does not."""
    tree = fat_tree_of_radix(4, 1e9)
    routing = DModK(tree)
    model = make_contention_model("fast", tree, options={"tolerance": 1e-9})
    for job, (src, dst) in enumerate([(0, 2), (1, 4), (3, 6)], start=1):
        model.start(job, one_flow(routing, src, dst))

    interference = model.solve()

    assert interference[1] == pytest.approx((3 + math.sqrt(5)) / 4, abs=1e-7)
    assert interference[2] == pytest.approx((3 + math.sqrt(5)) / 4, abs=1e-7)
    assert interference[3] == 1.0
    assert tree.link_name(model.worst_link(1)) == "s1.0>s2.0"
