"""Runs under `flow-level`: SimGrid's co-simulations, sums of the tables, kills, isolated jobs."""

from dataclasses import dataclass

import numpy as np
import pytest
from simgridcases import FCFS, fat_tree_of, load_case

from coupling.inputs.experiment import Experiment
from coupling.rates.simulated import SimulatedRateModel
from coupling.runs.engine import run
from netsim.routing.dmodk import DModK
from patterns.base import Step
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Communication, Job
from scheduler.queues import make_policy
from scheduler.simulator import simulate


@dataclass(frozen=True)
class Given:
    """A pattern of given steps, as tuples of (source rank, destination rank, bytes)."""

    flows: tuple[tuple[tuple[int, int, float], ...], ...]

    def steps(self, n_ranks):
        """Return the steps."""
        del n_ranks
        columns = [[np.array(column) for column in zip(*step, strict=True)] for step in self.flows]
        return [Step(src, dst, nbytes.astype(float)) for src, dst, nbytes in columns]


def injection_s(steps, bandwidth):
    """Return how long steps take where nodes are slowed by nothing but their own links."""
    total = 0.0
    for step in steps:
        sent, received = {}, {}
        for src, dst, nbytes in step:
            sent[src] = sent.get(src, 0.0) + nbytes
            received[dst] = received.get(dst, 0.0) + nbytes
        total += max(*sent.values(), *received.values()) / bandwidth
    return total


def as_job(number, job, bandwidth):
    """Return a reference job: its run time is that of all its iterations on ideal links."""
    steps = tuple(tuple(map(tuple, step)) for step in job["steps"])
    talking_s = injection_s(steps, bandwidth)
    ideal_s = job["compute"] + talking_s
    talk = Communication("given", Given(steps), talking_s / ideal_s)
    runtime_s = job["iters"] * ideal_s
    return Job(number, job["submit"], job["size"], runtime_s, runtime_s, communication=talk)


@pytest.mark.parametrize("name", FCFS)
def test_a_run_in_strict_order_starts_and_ends_jobs_when_simgrid_does(name, shared):
    """One event loop with our queue, allocator and traffic; within 1e-9."""
    case = load_case(shared, name)
    tree, bandwidth = fat_tree_of(case), case["topology"]["bw"]
    jobs = [as_job(i, job, bandwidth) for i, job in enumerate(case["jobs"])]
    job_rate = SimulatedRateModel(tree, DModK(tree), fairness="per-flow", iterations=100)

    found = simulate(
        jobs,
        Cluster(tree),
        make_allocator("first-free", {}, 0),
        make_policy("fcfs", {}),
        rates=job_rate,
    )

    records = sorted(found.records, key=lambda record: record.job.id)
    np.testing.assert_allclose([own.start_s for own in records], case["begin"], rtol=1e-9)
    np.testing.assert_allclose([own.end_s for own in records], case["end"], rtol=1e-9)
    assert [own.allocation.nodes().tolist() for own in records] == case["nodes"]
    np.testing.assert_allclose([own.interference for own in records], case["slowdown"], rtol=1e-9)


@pytest.fixture(scope="module")
def disturbed():
    """Return a run under `flow-level` on random nodes, with the load of links over time."""
    return run(made(links_timeline=True))


def made(**changes):
    """Return an experiment of 60 jobs on 128 nodes."""
    fields = {
        "topology": {"kind": "fat-tree", "radix": 8},
        "workload": {"generator": "synth", "mean_nodes": 6, "n_jobs": 60, "seed": 3},
        "allocator": "random",
        "estimates": "runtime",
        "model": "flow-level",
        "fairness": "per-flow",
        "self_check": False,
    }
    return Experiment(**(fields | changes))


def test_tables_of_a_simulated_run_add_up(disturbed):
    """Lost times by jobs and by blame, whose culprit is not told; bytes by link and over time."""
    jobs, blame = disturbed.jobs, disturbed.blame
    alone_s = jobs["runtime_reference_s"] * jobs["placement_factor"]
    interference_delay_s = jobs["end_s"] - jobs["start_s"] - alone_s

    np.testing.assert_allclose(jobs["interference_delay_s"], interference_delay_s, atol=1e-6)
    assert blame["interference_delay_node_s"].sum() == pytest.approx(
        (interference_delay_s * jobs["n_nodes"]).sum(), rel=1e-6
    )
    assert set(blame["culprit"]) == {-1}
    over_time = disturbed.extras["links/timeline"].groupby("link")["bytes"].sum()
    links = disturbed.links
    links = links[links["bytes"] > 0]
    assert over_time.sum() == pytest.approx(links["bytes"].sum(), rel=1e-9)
    assert jobs["interference"].max() > 1.1


def test_links_carry_what_the_iterations_of_all_jobs_send(disturbed):
    """Isolated jobs are on the same nodes under both models, and send the same."""
    nodes = {"estimates": "runtime", "allocator": "ta"}

    exact, fast = (run(made(model=model, **nodes)) for model in ("flow-level", "fluid"))

    np.testing.assert_allclose(exact.links["bytes"], fast.links["bytes"], rtol=1e-6)
    assert disturbed.links["bytes"].sum() > 0


def test_isolated_jobs_have_interference_exactly_one():
    found = run(made(allocator="jigsaw"))

    assert set(found.jobs["interference"]) == {1.0}
    assert set(found.jobs["interference_delay_s"]) == {0.0}
    assert found.blame.empty


def test_a_run_ends_later_or_sooner_by_less_than_its_iterations_are_long():
    """More iterations than 20 are other bursts in the same time: the mean moves by little."""
    few, many = (
        run(made(model_options={"iterations": number})).jobs["interference"].mean() - 1.0
        for number in (20, 100)
    )

    assert few == pytest.approx(many, rel=0.25)


def test_jobs_that_reach_their_limit_are_killed_and_what_they_did_is_booked(disturbed):
    """Limits of the run time alone: whoever is disturbed is killed, with its work undone."""
    found = run(made(kill_at_limit=True))
    jobs = found.jobs
    killed = jobs[jobs["killed"]]

    assert 0 < len(killed) < len(jobs)
    np.testing.assert_allclose(killed["end_s"] - killed["start_s"], killed["runtime_reference_s"])
    assert (killed["interference_delay_s"] > 0.0).mean() > 0.9
    assert found.links["bytes"].sum() < disturbed.links["bytes"].sum()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"iterations": 0}, "iterations: expected a whole number from 1 to 1,?000,?000, got 0"),
        ({"seed": 1}, "unknown option 'seed'; choose from iterations"),
        ({"iterations": "all"}, "iterations: expected a whole number"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        run(made(model_options=options))
