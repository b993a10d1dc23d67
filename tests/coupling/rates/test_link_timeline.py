"""The load of links over time: bins hold what the ledger has in all, and merge when too many."""

from dataclasses import replace

import numpy as np
import pytest
from naive.linktimeline import Stretches, bytes_between

from coupling.errors import ExperimentError, ResultError
from coupling.rates import link_timeline
from coupling.rates.ledgers import NetworkLedger
from coupling.rates.link_timeline import MOST_BINS, LinkTimeline, most_bins
from coupling.results.result import Result
from coupling.runs.assembly import assemble
from coupling.runs.campaign import run_campaign
from coupling.runs.engine import run
from coupling.runs.rerun import rerun
from coupling.runs.setup import Setup
from coupling.runs.stored import Stored
from coupling.sweep.spec import Spec
from coupling.sweep.sweep import run_sweep
from scheduler.cluster import Cluster
from scheduler.simulator import simulate

SHORT = {"generator": "synth", "mean_nodes": 6, "n_jobs": 60, "seed": 3}


def watched(experiment):
    """Simulate an experiment; return what bins, ledger and twin hold."""
    setup = Setup.of(experiment, assemble(experiment))
    allocator = setup.allocator()
    network = setup.rates.begin(allocator).network
    observers = LinkTimeline(network), NetworkLedger(network), Stretches(network)
    jobs = setup.parts.workload.jobs
    cluster = Cluster(setup.parts.topology)
    simulate(jobs, cluster, allocator, setup.policy(), rates=network, observers=observers)
    return observers


@pytest.mark.parametrize("most", [4, 50, 1024])
def test_every_bin_holds_what_the_twin_finds_there_and_all_of_them_what_the_ledger_has(
    experiment, monkeypatch, most
):
    monkeypatch.setattr(link_timeline, "MOST_BINS", most)

    timeline, ledger, twin = watched(experiment(workload=SHORT))
    bins, width_s = timeline.bins(), timeline.width_s

    assert most / 2 < len(bins) <= most
    np.testing.assert_allclose(bins.sum(axis=0), ledger.links.nbytes, rtol=1e-12)
    assert ledger.links.nbytes.sum() > 0
    for number in {0, 1, len(bins) // 2, len(bins) - 1}:
        expected = np.zeros(bins.shape[1])
        found = bytes_between(twin.done, number * width_s, (number + 1) * width_s)
        expected[list(found)] = list(found.values())
        np.testing.assert_allclose(bins[number], expected, rtol=1e-9, atol=1e-3)


def test_a_job_alone_fills_its_bins_evenly(experiment):
    """By hand: 2 nodes send 1 MiB to each other, half of the time; no link is full for longer."""
    profile = {
        "version": 1,
        "rule": [
            {
                "match": {"min_nodes": 2},
                "pattern": {"name": "pairs"},
                "comm_fraction": 0.5,
                "bytes_per_flow": "1 MiB",
            }
        ],
    }
    workload = {"generator": "synth", "mean_nodes": 2, "n_jobs": 1, "seed": 5}
    found = run(
        experiment(
            workload=workload, communication=profile, links_timeline=True, allocator="first-free"
        )
    )
    table, job = found.extras["links/timeline"], found.jobs.iloc[0]

    assert job["n_nodes"] >= 2
    sent = table[found.links["class"].to_numpy()[table["link"]] == "injection"]
    assert len(sent)
    np.testing.assert_allclose(sent["busy_fraction"], 0.5, rtol=1e-9)
    assert sent["end_s"].max() == job["end_s"]
    assert (table["end_s"] - table["begin_s"]).nunique() <= 2  # the last one is cut


def test_bins_are_bounded_by_the_links_of_the_fabric():
    """The bound of results.md: 1024 bins, 4,194,304 cells, never fewer than 2 bins."""
    assert most_bins(10) == MOST_BINS == 1024
    assert most_bins(8748) == 478
    assert most_bins(65_536) == 64
    assert most_bins(10_000_000) == 2


def test_a_gap_of_years_between_two_jobs_costs_one_merge(experiment):
    workload = {"generator": "synth", "mean_nodes": 6, "n_jobs": 2, "seed": 3}
    few = experiment(workload=workload, links_timeline=True)
    parts = assemble(few)
    jobs = [
        replace(job, submit_s=number * 3e8, requested_s=2e8)
        for number, job in enumerate(parts.workload.jobs)
    ]
    setup = Setup.of(few, parts)
    allocator = setup.allocator()
    network = setup.rates.begin(allocator).network
    observers = LinkTimeline(network), NetworkLedger(network)
    simulate(
        jobs,
        Cluster(parts.topology),
        allocator,
        setup.policy(),
        rates=network,
        observers=observers,
    )

    np.testing.assert_allclose(
        observers[0].bins().sum(axis=0), observers[1].links.nbytes, rtol=1e-12
    )


def test_the_table_is_written_when_asked_for_read_back_and_made_again(experiment, tmp_path):
    asked = experiment(workload=SHORT, links_timeline=True, self_check=False)

    run_campaign(asked, tmp_path / "with")
    run_campaign(replace(asked, links_timeline=False), tmp_path / "without")

    result = Result.load(tmp_path / "with")
    table = result.extras["links/timeline"]
    total = np.bincount(table["link"], table["bytes"], minlength=len(result.links))
    np.testing.assert_allclose(total, result.links["bytes"], rtol=1e-12)
    assert table["busy_fraction"].min() >= 0.0
    # each job is solved beside the means of the others: model.md, links that carry more
    assert table["busy_fraction"].max() <= 1.05
    assert "links/timeline" not in Result.load(tmp_path / "without").extras
    assert not (tmp_path / "without" / "links").exists()
    for name in ("jobs", "links", "blame", "timeline"):
        one, other = (tmp_path / folder / f"{name}.parquet" for folder in ("with", "without"))
        assert one.read_bytes() == other.read_bytes()
    assert rerun(Stored.open(tmp_path / "with")).agrees


def test_a_compared_run_has_its_own_and_a_damaged_one_is_refused(experiment, tmp_path):
    asked = experiment(
        workload=SHORT, links_timeline=True, self_check=False, compare=("ta", "random")
    )
    run_campaign(asked, tmp_path / "out", workers=2)
    path = tmp_path / "out" / "random" / "links" / "timeline.parquet"
    assert len(Result.load(tmp_path / "out" / "ta").extras["links/timeline"])

    path.write_bytes(path.read_bytes()[:-9])

    with pytest.raises(ResultError, match=r"timeline\.parquet: expected SHA-256"):
        Result.load(tmp_path / "out" / "random")


def test_a_model_without_a_network_is_refused_before_anything_runs(experiment):
    with pytest.raises(ExperimentError, match=r"\[run\] links_timeline: expected a model that"):
        run(experiment(model="assumed", links_timeline=True))


def test_a_sweep_which_keeps_no_such_table_refuses_the_wish(tmp_path):
    asked = {
        "topology": {"kind": "fat-tree", "radix": 4, "latency": "none"},
        "workload": {"generator": "synth", "mean_nodes": 3, "n_jobs": 10},
        "run": {"links_timeline": True},
    }

    with pytest.raises(ExperimentError, match=r"\[run\] links_timeline: expected false in a sweep"):
        run_sweep(Spec.make(asked, {"run.seed": [1, 2]}), tmp_path / "out")

    assert not list(tmp_path.rglob("*.parquet"))
