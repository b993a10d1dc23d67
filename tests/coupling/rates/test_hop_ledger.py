"""Communication costs of Mishra20 in a run: by hand, and against the formula read aloud."""

import numpy as np
import pytest

import coupling.rates.hop_ledger
import coupling.runs.engine
from coupling.rates.hop_ledger import HopLedger
from coupling.runs.engine import run
from netsim.topology.base import Topology
from netsim.topology.fattree import build_fat_tree
from patterns.collectives import RecursiveDoubling
from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.job import Communication, Job
from scheduler.observer import Observer

TWO_LEAVES = build_fat_tree((4, 2), (1, 4), (1, 1), "1 B/s")


def as_graph(tree):
    """Return the same nodes, switches and links without the knowledge that it is a tree."""
    names = ("link_tail", "link_head", "link_cable", "capacity", "channel")
    links = {name: getattr(tree, name) for name in names}
    return Topology("graph", tree.n_nodes, tree.n_switches, **links)


@pytest.mark.parametrize("fabric", [TWO_LEAVES, as_graph(TWO_LEAVES)], ids=["tree", "graph"])
def test_figure_5_of_mishra20_by_hand(fabric):
    """
    Four nodes a leaf; job 2 on n2, n3 is there when job 1 comes to n0, n1, n4, n5.

    Job 1, recursive doubling: (n0, n1) costs 2 (1 + 4/4), then (n0, n4) equation (5)'s 11.5.
    Job 2 was alone: 2 (1 + 2/4). Job 4 finds what job 1 did, without job 2.
    """
    cluster = Cluster(fabric)
    talk = Communication("rd", RecursiveDoubling(), 0.5)
    both = ((0, 0b0011, 0), (1, 0b0011, 0))
    one, two, four = (
        Allocation(Job(number, 0.0, size, 1.0, 1.0, communication=talk), cluster.geometry, leaves)
        for number, size, leaves in ((1, 4, both), (2, 2, ((0, 0b1100, 0),)), (4, 4, both))
    )
    silent = Allocation(Job(3, 0.0, 1, 1.0, 1.0), cluster.geometry, ((1, 0b1000, 0),))
    ledger = HopLedger(cluster)

    ledger.on_change([], [two, one], {}, 0.0)
    ledger.on_change([one], [silent], {}, 1.0)
    ledger.on_change([two, silent], [four], {}, 2.0)

    alone = 2 * (1 + 2 / 4) + 4 * (1 + 2 / 4 + 2 / 4 + 4 / 8 / 2)
    assert ledger.costs() == {2: 3.0, 1: 4.0 + 11.5, 4: alone}


class Aloud(Observer):
    """An observer that computes every cost message by message."""

    def __init__(self, cluster):
        self.tree, self.per_leaf = cluster.fabric, cluster.nodes_per_leaf
        self.full = [mask.bit_count() for mask in cluster.leaf_nodes]
        self.running, self.found = {}, {}

    def on_change(self, ended, started, *_):
        for allocation in ended:
            self.running.pop(allocation.job.id, None)
        for allocation in started:
            if allocation.job.communication is not None:
                leaf = (allocation.nodes() // self.per_leaf).tolist()
                self.running[allocation.job.id] = leaf
                comm = [sum(other.count(k) for other in self.running.values()) for k in leaf]
                self.found[allocation.job.id] = self.cost(allocation.job, leaf, comm)

    def costs(self):
        return self.found

    def cost(self, job, leaf, comm):
        total = 0.0
        for step in job.communication.pattern.steps(job.n_nodes):
            pairs = zip(step.src.tolist(), step.dst.tolist(), strict=True)
            total += max(self.hops(leaf[a], leaf[b], comm[a], comm[b]) for a, b in pairs)
        return total

    def hops(self, a, b, comm_a, comm_b):
        full = self.full
        if a == b:
            return 2 * (1 + comm_a / full[a])
        between = (comm_a + comm_b) / (full[a] + full[b]) / 2
        apart = 6 if a // self.tree.leaves_per_pod != b // self.tree.leaves_per_pod else 4
        return apart * (1 + comm_a / full[a] + comm_b / full[b] + between)


@pytest.mark.parametrize("allocator", ["random", "balanced", "laas"])
def test_costs_of_a_run_are_those_of_the_formula(experiment, allocator, monkeypatch):
    """Also with ranks out of order, with nodes held besides, and over several batches."""
    small = experiment(allocator=allocator, self_check=False)
    monkeypatch.setattr(coupling.rates.hop_ledger, "_BATCH", 500)
    found = run(small)

    monkeypatch.setattr(coupling.runs.engine, "HopLedger", Aloud)
    expected = run(small)

    costs = found.jobs["communication_cost"]
    assert costs.to_numpy() == pytest.approx(expected.jobs["communication_cost"].to_numpy())
    sends = (found.jobs["comm_fraction"] > 0) & (found.jobs["n_nodes"] > 1)
    assert (costs[sends] > 0).all()
    assert (costs[~sends] == 0).all()
    assert found.summary["mean_communication_cost"] == pytest.approx(costs[sends].mean())


@pytest.mark.parametrize(
    "changes", [{"topology": {"kind": "torus", "dims": [4, 4, 4]}}, {"model": "assumed"}]
)
def test_there_is_no_cost_without_a_tree_or_a_network(experiment, changes):
    found = run(experiment(self_check=False, **changes))

    assert np.isnan(found.jobs["communication_cost"]).all()
    assert found.summary["mean_communication_cost"] is None
