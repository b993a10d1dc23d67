"""Model `hop-cost` on figure 5 of Mishra20, and where it differs from the models of links."""

import numpy as np
import pytest

from netsim.flows.contention import Traffic
from netsim.registries.contention_models import make_contention_model
from netsim.routing.dmodk import DModK
from netsim.topology.base import Topology
from netsim.topology.fattree import build_fat_tree

TREE = build_fat_tree((4, 2), (1, 4), (1, 1), "1 B/s")
JOB_1, JOB_2 = [0, 1, 4, 5], [2, 3]


def doubling(nodes, compute_s, tree=TREE):
    """Return the traffic of recursive doubling of 1 byte over nodes."""
    rank = np.arange(len(nodes))
    distances = [1 << k for k in range(len(nodes).bit_length() - 1)]
    src = np.concatenate([rank for _ in distances])
    dst = np.concatenate([rank ^ distance for distance in distances])
    node = np.array(nodes)
    routes = DModK(tree).routes(node[src], node[dst])
    step = np.repeat(np.arange(len(distances)), len(nodes))
    return Traffic(step, node[src], np.ones(src.size), routes, compute_s, np.zeros(src.size))


def together(jobs, name="hop-cost"):
    """Return the interference of jobs that run together."""
    model = make_contention_model(name, TREE)
    for number, traffic in enumerate(jobs):
        model.start(number, traffic)
    return model.solve()


def test_figure_5_communication_grows_in_the_ratio_of_costs():
    """
    Job 1: (4 + 11.5) / (3 + 9) of half its time; job 2: 4 / 3 of half its time.

    Alone, job 1 has 2 of 4 nodes on each leaf: 2 (1 + 1/2) and 4 (1 + 1/2 + 1/2 + 1/4); job 2
    has 2 (1 + 1/2). Each step of 1 byte takes 1 s.
    """
    values = together([doubling(JOB_1, 2.0), doubling(JOB_2, 1.0)])

    assert values == pytest.approx({0: 0.5 + 0.5 * 15.5 / 12.0, 1: 0.5 + 0.5 * 4.0 / 3.0})


def test_it_sees_switches_not_links():
    """The two jobs share a leaf but no link."""
    jobs = [doubling([0, 1], 1.0), doubling([2, 3], 1.0)]

    assert together(jobs, "fluid") == {0: 1.0, 1: 1.0}
    assert together(jobs)[0] == pytest.approx(0.5 + 0.5 * 2.0 / 1.5)


def test_a_job_whose_messages_stay_inside_nodes_costs_nothing():
    """Two ranks on node 0: its routes are empty."""
    inside = doubling([0, 0], 1.0)

    assert together([inside, doubling(JOB_1, 0.0)])[0] == 1.0


def test_nodes_that_take_no_jobs_are_no_nodes_of_their_leaf():
    """With two login nodes on the leaf, two communicating nodes fill it: 2 (1 + 2/2) alone."""
    small = Topology(**{f: getattr(TREE, f) for f in Topology.__dataclass_fields__})
    object.__setattr__(small, "usable", np.array([0, 1, 4, 5, 6, 7]))
    model = make_contention_model("hop-cost", small)
    model.start(0, doubling([0, 1], 0.0))
    model.start(1, doubling([0, 1, 4, 5], 0.0))

    assert model.solve()[0] == pytest.approx(2 * (1 + 4 / 2) / (2 * (1 + 2 / 2)))
