"""Loads of jobs that are made many at once, beside those that are made one by one."""

import numpy as np
import pytest

from coupling.site.drawn_traffic import JobLoads
from coupling.site.state import DrawnTraffic, SiteJob, SiteState
from netsim.flows.partition import Partition
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from patterns.registry import make_pattern
from scheduler.traffic import TrafficOf

PATTERNS = ("ring", "all-to-all", "recursive-doubling", "stencil", "unstructured-mesh")


def state(topology, routing, per_node):
    """Jobs of 2 to 9 ranks, so many on a node, of five patterns in three samples."""
    fabric = make_topology(topology)
    chance, jobs = np.random.default_rng(3), []
    free = iter(chance.permutation(fabric.usable_nodes).tolist())
    for number in range(8):
        own = np.array([next(free) for _ in range(-(-(number + 2) // per_node))])
        ranks = np.repeat(own, per_node)[: number + 2]
        jobs.append(SiteJob(number, number, "", "", own, Partition(ranks, None)))
    samples = tuple(
        {
            job.number: DrawnTraffic(
                make_pattern({"name": PATTERNS[(job.number + turn) % 5], "nbytes": 1e6 + turn}),
                0.2 + 0.1 * turn,
            )
            for job in jobs[turn:]
        }
        for turn in range(3)
    )
    ways = make_routing(routing, fabric)
    return SiteState("here", fabric, ways, tuple(jobs), samples)


@pytest.mark.parametrize("per_node", [1, 2])
@pytest.mark.parametrize(
    ("topology", "routing"),
    [
        ({"kind": "fat-tree", "radix": 6}, "d-mod-k"),
        ({"kind": "fat-tree", "radix": 6}, "shortest"),
        ({"kind": "torus", "dims": [4, 4, 3]}, "dimension-order"),
    ],
)
def test_loads_made_together_are_those_made_alone(monkeypatch, topology, routing, per_node):
    scene = state(topology, routing, per_node)
    together, _ = JobLoads(scene).all_samples()
    calls = []
    whole = TrafficOf.of_jobs
    monkeypatch.setattr(
        TrafficOf, "of_jobs", lambda self, jobs: calls.append(len(jobs)) or whole(self, jobs)
    )
    JobLoads(scene).all_samples()
    monkeypatch.setattr(TrafficOf, "takes_together", lambda *_: False)
    alone, _ = JobLoads(scene).all_samples()

    assert sum(calls) > len(scene.jobs)
    for one, other in zip(together, alone, strict=True):
        assert list(one) == list(other)
        for job in one:
            mine, theirs = one[job], other[job]
            assert (mine.ideal_s, mine.alone_s) == (theirs.ideal_s, theirs.alone_s)
            assert mine.demand.iteration_s == theirs.demand.iteration_s
            for here, there in zip(mine.demand.tables, theirs.demand.tables, strict=True):
                for name in here.dtype.names:
                    np.testing.assert_array_equal(here[name], there[name], name)
        np.testing.assert_array_equal(
            one.iterations_s, [own.demand.iteration_s for own in one.values()]
        )
