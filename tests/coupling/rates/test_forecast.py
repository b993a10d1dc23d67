"""What a run under `flow-level` will cost: told before it starts, refused beyond a day."""

import logging
from dataclasses import dataclass

import numpy as np
import pytest

from coupling import Experiment
from coupling.errors import ExperimentError
from coupling.rates import simulated
from coupling.rates.base import RunInput
from coupling.rates.simulated import Forecast, announce, forecast_of
from coupling.runs.engine import run
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from patterns.base import Step
from scheduler.allocators import make_allocator
from scheduler.job import Communication, Job

TREE = make_topology({"kind": "fat-tree", "radix": 4, "bandwidth": 1e9})


@dataclass(frozen=True)
class Twice:
    """Three flows of a megabyte to other nodes, then one."""

    def steps(self, n_ranks):
        """Return the steps."""
        del n_ranks
        mb = np.full(3, 1e6)
        return [
            Step(np.array([0, 1, 2]), np.array([1, 2, 0]), mb),
            Step(np.array([0]), np.array([1]), mb[:1]),
        ]


def scene(routing="jigsaw"):
    """Return jobs of 2, 7 and 90 iterations of 4 ms each, and one that sends nothing."""
    talk = Communication("twice", Twice(), 0.5, iteration_s=0.004)
    jobs = [Job(i, 0.0, 3, n * 0.004, 1.0, communication=talk) for i, n in enumerate([2, 7, 90])]
    jobs.append(Job(3, 0.0, 3, 100.0, 100.0))
    jobs.append(Job(4, 0.0, 1, 100.0, 100.0, communication=talk))
    routes = make_routing(routing, TREE)
    return RunInput(TREE, routes, jobs, "flow-level", "per-flow", {}, 0)


def told(allocator, iterations, routing="jigsaw"):
    """Return the forecast of such a run."""
    return forecast_of(scene(routing), make_allocator(allocator, {}, 0), iterations)


def test_a_forecast_takes_it_that_all_make_so_many_iterations_where_that_is_affordable():
    assert told("first-free", 50) == Forecast(3 * 50 * 4, apart=False)


def test_a_forecast_counts_the_iterations_that_run_times_have_where_more_were_too_much(monkeypatch):
    monkeypatch.setattr(simulated, "LONGEST_S", 0.0)

    assert told("first-free", 50) == Forecast((2 + 7 + 50) * 4, apart=False)


def test_iterations_without_a_length_are_as_long_as_their_messages_take(monkeypatch):
    """At 1 GB/s and half of the time: 1 ms and 1 ms of messages, 2 ms beside, and the latency."""
    monkeypatch.setattr(simulated, "LONGEST_S", 0.0)
    talk = Communication("twice", Twice(), 0.5)
    jobs = [Job(0, 0.0, 3, 10 * 0.004, 1.0, communication=talk)]
    routes = make_routing("jigsaw", TREE)
    own = RunInput(TREE, routes, jobs, "flow-level", "per-flow", {}, 0)

    found = forecast_of(own, make_allocator("first-free", {}, 0), 10**6)

    assert found == Forecast(10 * 4, apart=False)


@pytest.mark.parametrize(("routing", "apart"), [("jigsaw", True), ("d-mod-k", False)])
def test_jobs_that_are_kept_apart_cost_their_steps_alone(routing, apart):
    """With D-mod-k they would not stay on links of their own."""
    assert told("jigsaw", 50, routing) == Forecast(3 * 50 * (2 if apart else 4), apart=apart)


def made(**changes):
    """Return an experiment under `flow-level`."""
    fields = {
        "topology": {"kind": "fat-tree", "radix": 8},
        "workload": {"generator": "synth", "mean_nodes": 6, "n_jobs": 3000, "seed": 3},
        "allocator": "random",
        "model": "flow-level",
        "model_options": {"iterations": 10**6},
        "self_check": False,
    }
    return Experiment(**(fields | changes))


def test_a_run_that_would_take_more_than_a_day_is_refused_before_its_first_job():
    with pytest.raises(ExperimentError) as refused:
        run(made())

    words = r"experiment: \[network\] the flow-level simulation would need \d\.\de\+\d+ starts"
    assert refused.match(words)
    assert refused.match(r"at most a day is allowed: ask for fewer iterations")


def test_what_takes_long_is_announced(caplog):
    with caplog.at_level(logging.WARNING, "fabricsim"):
        announce(Forecast(1e6, apart=False))
        announce(Forecast(1e9, apart=False))

    assert [record.getMessage() for record in caplog.records] == [
        "flow-level simulation: 1.0e+09 starts of flows, up to 7 hours of CPU time"
    ]
