"""Coupled runs: what emerges, what must be exactly one, what must be the same every time."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coupling.inputs.experiment_fields import DEFAULT_MODEL, DRAWN
from coupling.runs import engine
from coupling.runs.assembly import assemble
from coupling.runs.campaign import run_campaign
from coupling.runs.engine import run, run_parts, with_reference_runtimes
from netsim.fluid.model import Fluid
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.queues import make_policy
from scheduler.simulator import simulate
from scheduler.traffic import TrafficOf
from scheduler.workload import synth


@pytest.mark.parametrize("allocator", ["first-free", "random", "ta", "jigsaw"])
def test_null_model_equals_the_uncoupled_schedule_start_by_start(experiment, allocator):
    """An infinite network changes no start and no end."""
    null = experiment(model="null", allocator=allocator)
    parts = assemble(null)
    uncoupled = simulate(
        parts.workload.jobs,
        Cluster(parts.topology),
        make_allocator(allocator, {}, null.all_seeds["allocator"]),
        make_policy("easy", {}),
    )

    result = run_parts(null, parts)

    starts = {record.job.id: record.start_s for record in uncoupled.records}
    assert dict(zip(result.jobs["id"], result.jobs["start_s"], strict=True)) == starts
    assert (result.jobs["network_slowdown"] == 1.0).all()
    ideal_end_s = result.jobs["start_s"] + result.jobs["runtime_reference_s"]
    assert (result.jobs["end_s"] == ideal_end_s).all()


@pytest.mark.parametrize(
    ("allocator", "routing"),
    [("ta", "d-mod-k"), ("ta", "jigsaw"), ("jigsaw", "jigsaw"), ("jigsaw", None)],
)
def test_isolated_jobs_have_interference_exactly_one(experiment, allocator, routing):
    """Not approximately: no job shares a link with another."""
    jobs = run(experiment(allocator=allocator, routing=routing)).jobs

    assert (jobs["interference"] == 1.0).all()
    assert (jobs["placement_factor"] >= 1.0).all()


@pytest.mark.parametrize("allocator", ["random", "first-free"])
def test_jobs_that_share_links_slow_each_other_down(experiment, allocator):
    """Interference is at least one for each job and above one on average."""
    result = run(experiment(allocator=allocator))

    assert (result.jobs["interference"] >= 1.0).all()
    assert result.summary["mean_interference"] > 1.005
    assert result.summary["node_seconds_lost_to_interference"] > 0
    assert result.links["interference_delay_node_s"].sum() == pytest.approx(
        result.summary["node_seconds_lost_to_interference"],
        rel=1e-3,  # the model's tolerance
    )


def test_on_an_infinite_network_jobs_are_routed_only_where_links_are_asked_for(
    experiment, monkeypatch
):
    asked = experiment(model="null")
    carried = run(asked.replace(links_timeline=True))
    monkeypatch.setattr(TrafficOf, "__call__", None)  # not called

    found = run(asked)

    same = [name for name in carried.jobs if name != "communication_cost"]
    pd.testing.assert_frame_equal(found.jobs[same], carried.jobs[same])
    assert (
        carried.summary["bytes_sent"]
        == carried.links.query("`class` == 'injection'")["bytes"].sum()
        > 0
    )
    assert found.summary["bytes_sent"] is None
    assert (found.links["bytes"] == 0).all()
    assert "infinite_network" not in found.summary


def test_a_run_without_attribution_differs_in_culprits_alone(experiment, monkeypatch):
    asked = experiment(allocator="random")
    usual = run(asked)
    monkeypatch.setattr(Fluid, "culprits", None)  # not called

    found = run(asked.replace("run.attribution=false"))

    pd.testing.assert_frame_equal(found.jobs, usual.jobs)
    pd.testing.assert_frame_equal(found.links, usual.links)
    assert len(found.blame) > 10
    assert set(found.blame["culprit"]) == {-1}
    lost, known = (
        own.blame.groupby("victim")["interference_delay_node_s"].sum() for own in (found, usual)
    )
    pd.testing.assert_series_equal(lost, known)


def test_run_time_is_reference_times_slowdown(experiment):
    """End - start = reference run time x placement factor x interference, for every job."""
    jobs = run(experiment()).jobs

    np.testing.assert_allclose(
        jobs["end_s"] - jobs["start_s"],
        jobs["runtime_reference_s"] * jobs["network_slowdown"],
        rtol=1e-9,
    )


def test_what_nodes_send_equals_what_nodes_receive(experiment):
    """Bytes are conserved: injection = ejection, and up = down at each level of the tree."""
    by_class = run(experiment()).links.groupby("class")["bytes"].sum()

    assert by_class["injection"] > 0
    assert by_class["injection"] == pytest.approx(by_class["ejection"])
    assert by_class["leaf-up"] == pytest.approx(by_class["leaf-down"])
    assert by_class["L2-up"] == pytest.approx(by_class["L2-down"])


def test_injected_bytes_follow_from_fraction_and_run_time(experiment):
    """One pair of nodes at fraction f sends f x run time x link rate, in each direction."""
    profile = {
        "version": 1,
        "rule": [{"pattern": {"name": "pairs"}, "comm_fraction": 0.25, "bytes_per_flow": "64 KiB"}],
    }
    small = experiment(communication=profile, allocator="first-free")
    parts = assemble(small)
    talker = next(job for job in parts.workload.jobs if job.communication is not None)
    job = replace(talker, n_nodes=2, runtime_s=1000.0)
    parts = replace(parts, workload=replace(parts.workload, jobs=(job,)))

    links = run_parts(small, parts).links

    sent = links[links["class"] == "injection"]["bytes"]
    assert sent.sum() == pytest.approx(2 * 0.25 * 1000.0 * 12.5e9)


def test_baseline_reading_makes_an_ordinary_run_take_what_the_log_says(experiment):
    """Each run time is divided by the job's mean slowdown in an isolated-reading Baseline pass."""
    ordinary = experiment(allocator="first-free", routing="d-mod-k")
    first = run(ordinary).jobs

    parts = with_reference_runtimes(replace(ordinary, runtime_means="baseline"), assemble(ordinary))

    ours = np.array([job.runtime_s for job in parts.workload.jobs])
    np.testing.assert_allclose(ours, first["runtime_reference_s"] / first["network_slowdown"])


def test_read_as_alone_run_times_hold_what_the_placement_costs(experiment):
    """Isolated jobs then end as on an infinite network; jobs that share links still lose time."""
    alone, null = (
        run(experiment(allocator="jigsaw", self_check=False, **reading)).jobs
        for reading in ({"runtime_means": "alone"}, {"model": "null"})
    )
    shared = run(experiment(allocator="random", runtime_means="alone", self_check=False)).jobs

    np.testing.assert_array_equal(alone["end_s"], null["end_s"])
    assert (shared["placement_factor"] == 1.0).all()
    assert shared["interference"].mean() > 1.005
    np.testing.assert_array_equal(shared["network_slowdown"], shared["interference"])


def test_read_as_alone_a_job_sends_so_much_less_as_its_placement_stretches_an_iteration(experiment):
    """It runs as long as the log says, in fewer iterations."""
    pairs = {"pattern": {"name": "pairs"}, "comm_fraction": 1.0, "bytes_per_flow": "1 MiB"}
    base = experiment(
        communication={"version": 1, "rule": [pairs]}, allocator="first-free", self_check=False
    )
    parts = assemble(base)
    job = max(parts.workload.jobs, key=lambda one: one.n_nodes)
    parts = replace(parts, workload=replace(parts.workload, jobs=(job,)))

    ideal = run_parts(base, parts)
    alone = run_parts(replace(base, runtime_means="alone"), parts)

    (factor,) = ideal.jobs["placement_factor"]
    assert factor > 1.1
    np.testing.assert_allclose(ideal.links["bytes"], alone.links["bytes"] * factor)
    assert alone.jobs["end_s"].item() == job.runtime_s


def test_jobs_whose_latency_leaves_no_time_to_send_are_counted(experiment):
    """One message of 2 s latency in iterations of 5 s: half of that is enough, a fifth is not."""
    rule = {"pattern": {"name": "ring"}, "iteration": 5.0, "comm_fraction": 0.2}
    small = {"match": {"max_nodes": 4}, **rule}
    large = {**rule, "comm_fraction": 0.5}
    fabric = {"kind": "fat-tree", "radix": 8, "latency_base_s": "2 s"}
    tight = experiment(
        topology=fabric,
        communication={"version": 1, "rule": [small, large]},
        allocator="first-free",
        self_check=False,
    )

    found = run(tight)

    jobs = found.jobs
    silent = (jobs["comm_fraction"] == 0.2) & (jobs["n_nodes"] > 1)
    assert 0 < silent.sum() < len(jobs)
    assert found.summary["latency_bound"] == silent.sum()
    assert (jobs["network_slowdown"][silent] == 1).all()


@pytest.mark.parametrize("allocator", ["lc", "lc+s"])
def test_searches_that_give_up_are_counted(experiment, allocator):
    few = {
        "workload": {"generator": "synth", "mean_nodes": 12, "n_jobs": 60},
        "self_check": False,
    }
    hasty = run(experiment(allocator=allocator, allocator_options={"steps": 1}, **few))

    assert hasty.summary["out_of_steps"] > 0
    assert "out_of_steps" not in run(experiment(**few)).summary


DRAWN_JOBS = {"generator": "synth", "mean_nodes": 6, "n_jobs": 40}


def test_the_seed_of_the_run_draws_the_jobs_unless_the_generator_has_its_own(experiment):
    """Sizes and times follow `seed`, then `seeds`, then the table's own."""

    def sizes(own, **changes):
        drawn = assemble(experiment(workload={**DRAWN_JOBS, **own}, **changes))
        return [job.n_nodes for job in drawn.workload.jobs]

    def synth_sizes(seed):
        return [job.n_nodes for job in synth(6, 40, int(seed)).jobs]

    derived = np.random.SeedSequence(4).spawn(1)[0].generate_state(1)[0]

    assert sizes({}, seed=4) == synth_sizes(derived)
    assert sizes({}, seed=4, seeds={"workload": 6}) == synth_sizes(6)
    assert sizes({"seed": 5}, seed=4, seeds={"workload": 6}) == synth_sizes(5)


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("communication", {}),
        ("allocator", {"allocator": "random"}),
        ("routing", {"routing": "ecmp"}),
        ("model", {"model": "assumed", "model_options": {"scenario": "V1"}}),
    ],
)
def test_each_seed_changes_what_its_part_draws_and_nothing_else(experiment, part, changes):
    plain = {"allocator": "first-free", "model": "fluid"}
    first = experiment(**plain, workload={**DRAWN_JOBS, "n_jobs": 60})
    first = replace(first, self_check=False, **changes)

    def jobs(**seeds):
        return run(replace(first, seeds=seeds)).jobs

    idle = {
        other: 9 for other in DRAWN if other not in (part, "communication", "workload", "model")
    }
    assert not jobs().equals(jobs(**{part: 9}))
    assert jobs().equals(jobs(**idle))  # nothing else draws here


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"allocator": "jigsav"},
            r"\[scheduler\] unknown allocator 'jigsav' .*; choose from",
        ),
        (
            {"allocator_options": {"sed": 1}},
            r"allocator 'random': unknown option 'sed'",
        ),
        ({"queue": "esay"}, r"\[scheduler\] unknown queue 'esay' .*'easy'.*; choose from"),
        ({"queue_options": {"windw": 1}}, r"\[scheduler\] queue 'easy': unknown option 'windw'"),
        ({"model": "fats"}, r"\[network\] unknown contention model 'fats'; .* hop-cost-ratio,"),
        ({"model_options": {"x": 1}}, rf"contention model '{DEFAULT_MODEL}': unknown option 'x'"),
        ({"routing": "d-mod-q"}, r"\[network\] routing: unknown routing 'd-mod-q' .*; choose from"),
        ({"topology": "cabb"}, r"topology: unknown topology 'cabb' .*'cab'.*; choose from"),
        ({"workload": {"generator": "snyth"}}, r"\[workload\]: unknown generator 'snyth'"),
        ({"workload": {**DRAWN_JOBS, "n_job": 3}}, r"\[workload\].*unknown option 'n_job'"),
        ({"communication": {"rule": 3}}, r"\[communication\].*\[\[rule\]\]"),
        (
            {"communication": {"profile": "p.toml", "version": 1}},
            r"\[communication\] version: expected no key beside profile = .* got 1\.",
        ),
        ({"communication": {"profile": 3}}, r"\[communication\] profile: expected the path .* 3\."),
    ],
)
def test_run_and_campaign_refuse_unknown_names_alike_before_anything_is_simulated(
    experiment, tmp_path, monkeypatch, changes, message
):
    def never(*_, **__):
        raise AssertionError("something was simulated")

    monkeypatch.setattr(engine, "simulate", never)
    wrong = experiment(runtime_means="baseline", **changes)

    with pytest.raises(ValueError, match=message) as by_run:
        run(wrong)
    with pytest.raises(ValueError, match=message) as by_campaign:
        run_campaign(wrong, tmp_path / "out")

    assert str(by_run.value) == str(by_campaign.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "fields",
    [
        {"compare": ("first-free", "random")},
        {"runtime_means": "baseline", "self_check": False},
        {"runtime_means": "baseline", "model": "assumed"},
    ],
)
def test_all_that_will_run_is_known_by_the_names_that_are_told(experiment, tmp_path, fields):
    """The time left of a whole campaign rests on it."""
    made = experiment(**fields)
    told = set()

    run_campaign(made, tmp_path / "out", progress=lambda what, *_: told.add(what))

    assert told == set(engine.planned(made))


def test_progress_begins_before_the_first_event(experiment):
    """The time of a first job that takes minutes counts, too."""
    reports = []

    run(experiment(), progress=lambda *report: reports.append(report))

    names = engine.phases(experiment())
    assert next(report[1] for report in reports if report[0] == names[0]) == 0
    assert reports[-1][1] == reports[-1][2] == reports[0][2]
