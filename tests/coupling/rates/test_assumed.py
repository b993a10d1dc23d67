"""The model `assumed`: speed-ups by scenario, and what they do to a run."""

from dataclasses import replace

import numpy as np
import pytest

from coupling.errors import ExperimentError
from coupling.rates.baseline_rates import AssumedRateModel, assumed_interference
from coupling.runs.assembly import assemble
from coupling.runs.engine import check_parts, run, run_parts, with_reference_runtimes
from netsim.baselines.assumed import Assumption
from scheduler.allocators import ALLOCATORS, make_allocator
from scheduler.job import Job


def assumed(experiment, **changes):
    """Return an experiment with the papers' set-up."""
    fields = {
        "model": "assumed",
        "model_options": {"scenario": "20%"},
        "runtime_means": "baseline",
        "allocator": "first-free",
    }
    return experiment(**(fields | changes))


@pytest.mark.parametrize(("allocator", "reading"), [("jigsaw", "divide"), ("ta", "subtract")])
def test_isolated_jobs_run_as_much_faster_as_the_reading_says(experiment, allocator, reading):
    """The log's run time is Baseline's; jobs of up to four nodes keep it."""
    options = {"scenario": "20%", "reading": reading}
    made = assumed(experiment, allocator=allocator, model_options=options)
    logged = np.array([job.runtime_s for job in assemble(made).workload.jobs])

    jobs = run(made).jobs

    assert (jobs["interference"] == 1.0).all()
    faster = logged / 1.2 if reading == "divide" else logged * 0.8
    want = np.where(jobs["n_nodes"] > 4, faster, logged)
    np.testing.assert_allclose(jobs["end_s"] - jobs["start_s"], want, rtol=1e-9)


@pytest.mark.parametrize("scenario", ["10%", "V1", "V2", "random"])
def test_under_baseline_the_papers_set_up_is_the_uncoupled_schedule(experiment, scenario):
    """Its jobs run as long as the log says, and the scheduler knows it."""
    made = assumed(experiment, model_options={"scenario": scenario, "reading": "subtract"})
    parts = assemble(made)
    uneven = np.random.default_rng(1).uniform(0.9, 1.1, len(parts.workload.jobs)).tolist()
    jobs = tuple(  # no two jobs end at once: rounding must not decide which is first
        replace(job, runtime_s=job.runtime_s * factor)
        for job, factor in zip(parts.workload.jobs, uneven, strict=True)
    )
    parts = replace(parts, workload=replace(parts.workload, jobs=jobs))
    null = run_parts(replace(made, model="null", model_options={}), parts).jobs

    ours = run_parts(made, with_reference_runtimes(made, parts)).jobs

    np.testing.assert_allclose(ours["start_s"], null["start_s"], rtol=1e-9)
    np.testing.assert_allclose(ours["end_s"], null["end_s"], rtol=1e-9)


@pytest.mark.parametrize("name", sorted(ALLOCATORS))
def test_isolating_allocators_and_the_bound_lc_s_alone_keep_the_gain(name):
    """Smith21, 5.4.1 and 5.4.2: LC+S keeps links below the load at which jobs suffer."""
    job = Job(1, 0.0, 8, 100.0, 100.0)
    job_rate = AssumedRateModel([job], Assumption("20%"), 1, make_allocator(name, {}, 1))

    keeps = name in {"jigsaw", "laas", "lc", "lc+s", "ta"}
    assert job_rate.runtime_s(job) == pytest.approx(100.0 if keeps else 120.0)


def test_a_job_loses_the_same_among_others_as_alone():
    """By its number, whatever the order of the log."""
    jobs = [Job(number, 0.0, 300, 100.0, 100.0) for number in (5, 900, 3)]

    together = assumed_interference(Assumption("V1"), jobs, 1)

    assert list(together) == [5, 900, 3]
    for job in jobs:
        assert assumed_interference(Assumption("V1"), [job], 1) == {job.id: together[job.id]}


def test_jobs_that_share_links_lose_what_the_scenario_says(experiment):
    """With isolated run times in the log, jobs of more than four nodes take 1.2 times as long."""
    result = run(assumed(experiment, runtime_means="isolated", allocator="random"))

    want = np.where(result.jobs["n_nodes"] > 4, 1.2, 1.0)
    np.testing.assert_allclose(result.jobs["interference"], want, rtol=1e-9)
    assert (result.links["bytes"] == 0.0).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"model": "asumed"},
            r"unknown contention model 'asumed' .*choose from .*assumed, .*fluid",
        ),
        (
            {"model_options": {"scenario": "15%"}},
            r"expected one of 5%, 10%, .*, got '15%'",
        ),
        ({"model_options": {"scenario": [5]}}, r"scenario: expected one of .*, got \[5\]"),
        (
            {"model_options": {"reading": "times"}},
            r"expected one of divide, subtract, got",
        ),
        ({"model_options": {"x": 1}}, r"unknown option 'x'; choose from reading, scenario"),
    ],
)
def test_wrong_names_are_told_before_anything_runs(experiment, changes, message):
    """The choices are listed, for the model among all contention models."""
    wrong = assumed(experiment, **changes)

    with pytest.raises(ExperimentError, match=message) as caught:
        check_parts(wrong, assemble(wrong))

    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("undrawn")
def test_the_command_runs_the_model_and_its_report_names_the_assumption(command, tmp_path):
    """From a TOML file to the page; nothing else states the speed-up."""
    path = tmp_path / "experiment.toml"
    path.write_text(
        "[topology]\nkind = 'fat-tree'\nradix = 4\n"
        "[workload]\ngenerator = 'synth'\nmean_nodes = 4\nn_jobs = 30\n"
        "[network]\nmodel = 'assumed'\nmodel_options = {scenario = '20%'}\n"
        "[run]\nruntime_means = 'baseline'\n"
        "[compare]\nallocators = ['first-free', 'ta']\n"
    )

    status, _, problem = command("run", path, "--out", tmp_path / "out")

    assert (status, [line for line in problem.splitlines() if "error" in line.lower()]) == (0, [])
    assert command("report", tmp_path / "out")[0] == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "no network is simulated" in page
    assert "Assumed speed-up" in page
    assert "nobody assumed" not in page
    assert "20%" in page
