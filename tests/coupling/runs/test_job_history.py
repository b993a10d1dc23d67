"""Lives of jobs, found again, add up to what the run itself wrote down."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coupling.errors import CouplingError, ResultError
from coupling.inputs.experiment import Experiment
from coupling.runs import job_history as module
from coupling.runs.campaign import run_campaign
from coupling.runs.job_history import JobHistories
from coupling.runs.stored import Stored

RULE = {
    "match": {"min_nodes": 2},
    "pattern": {"name": "all-to-all"},
    "label": "all-to-all",
    "comm_fraction": 0.5,
    "bytes_per_flow": "1 MB",
}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return a result of 60 jobs on 16 nodes under three allocators."""
    folder = tmp_path_factory.mktemp("lives") / "small"
    experiment = Experiment(
        topology={"kind": "fat-tree", "radix": 4, "latency": "none"},
        workload={"generator": "synth", "mean_nodes": 4, "n_jobs": 60},
        communication={"version": 1, "rule": [RULE]},
        compare=["random", "first-free", "jigsaw"],
        model_options={"tolerance": 1e-6},
        self_check=False,
        name="small",
    )
    run_campaign(experiment, folder)
    return Stored.open(folder)


@pytest.fixture(scope="module", params=[0, 1, 2], ids=["random", "first-free", "jigsaw"])
def found(stored, request):
    """Return a run and its network, built again."""
    result = stored.results()[request.param]
    return result, JobHistories(
        stored.experiment.variants()[request.param], stored.manifest, result
    )


def test_what_jobs_lost_when_on_which_link_and_to_whom_adds_up_to_the_tables_of_the_run(found):
    result, lives = found
    row = {name: place for place, name in enumerate(result.links["link"])}
    on_link, blame = np.zeros(len(row)), {}

    for job in result.jobs[result.jobs["dropped"] == ""].itertuples():
        life = lives.life(job.id)
        assert life.stretches[0].begin_s == job.start_s
        assert life.stretches[-1].end_s == job.end_s
        tolerance_s = 1e-3 * (job.end_s - job.start_s)  # that of the model
        assert life.interference_delay_s == pytest.approx(job.interference_delay_s, abs=tolerance_s)
        assert life.placement_factor == pytest.approx(job.placement_factor)
        for stretch in life.stretches:
            lost = stretch.interference_delay_s * job.n_nodes
            if lost > 0:
                on_link[row[stretch.cable]] += lost
            for culprit, share in stretch.culprits.items():
                blame[job.id, culprit] = blame.get((job.id, culprit), 0.0) + lost * share

    np.testing.assert_allclose(
        on_link, result.links["interference_delay_node_s"], rtol=2e-2, atol=1e-3
    )
    # a run samples the culprits: 2 % of the loss are at another one, none of it at another victim
    of_run = result.blame.groupby(["victim", "culprit"])["interference_delay_node_s"].sum()
    moved = sum(abs(blame.get(pair, 0.0) - lost) for pair, lost in of_run.items()) / 2.0
    assert moved <= 0.04 * of_run.sum()
    by_victim = pd.Series(blame, dtype=float).groupby(level=0).sum() if blame else pd.Series()
    for victim, lost in of_run.groupby("victim").sum().items():
        assert by_victim[victim] == pytest.approx(lost, rel=2e-2, abs=1e-3)


def test_the_shares_of_its_users_add_up_to_what_a_link_carried(found):
    result, lives = found
    end_s = float(result.jobs["end_s"].max())

    for link in range(0, len(result.links), 5):
        users = lives.users(link, 0.0, end_s, 1000)
        sent = sum(use.share * (use.end_s - use.begin_s) for use in users)
        carried = result.links["bytes"].iloc[link] / lives.topology.capacity[link]
        assert sent == pytest.approx(carried, rel=1e-6)


def test_only_jobs_of_the_time_are_users(found):
    result, lives = found
    ran = result.jobs[result.jobs["dropped"] == ""]
    job = ran.iloc[ran["n_nodes"].argmax()]
    middle = (job["start_s"] + job["end_s"]) / 2
    running = result.jobs[(result.jobs["start_s"] <= middle) & (middle < result.jobs["end_s"])]

    told = [
        use.job
        for link in range(len(result.links))
        for use in lives.users(link, middle, np.nextafter(middle, np.inf), 1000)
    ]

    assert job["id"] in told
    assert set(told) <= set(running["id"])
    assert lives.users(0, 0.0, 1e9, 3) is None


def test_a_job_among_too_many_changes_is_refused(stored, monkeypatch):
    lives = JobHistories(stored.experiment.variants()[0], stored.manifest, stored.results()[0])
    monkeypatch.setattr(module, "MOST_CHANGES", 1)

    with pytest.raises(ResultError, match=r"times while it ran; its rate is worked out for up to"):
        lives.life(int(stored.results()[0].jobs["id"].iloc[30]))


def test_a_run_that_cannot_be_made_again_is_refused(stored):
    experiment, result = stored.experiment.variants()[0], stored.results()[0]
    for change, manifest, words in (
        ({"model": "assumed", "model_options": {"scenario": "10%"}}, {}, "simulates no network"),
        ({"workload": {"path": "-"}}, {}, "standard input"),
        ({}, {"not_again": "its log is gone"}, "its log is gone"),
    ):
        with pytest.raises(CouplingError, match=words):
            JobHistories(replace(experiment, **change), dict(stored.manifest) | manifest, result)
