"""Schedules and numbers that a researcher knows from elsewhere."""

import inspect
import json
import random
import re
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
from naive.counting import CountingEasy

import fabricsim as fs
from netsim.topology.fattree import build_fat_tree
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.job import Job
from scheduler.machine import Machine
from scheduler.queues import make_policy
from scheduler.simulator import simulate

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("dropped_by", ["a.toml", "b.toml"])
def test_numbers_do_not_depend_on_why_the_first_job_is_dropped(case, dropped_by):
    """By hand: on 8 nodes 4 run from 0 to 10 and 4 from 5 to 15: 80 of 120 node-seconds."""
    command = case("01-origin-first-job-too-large")

    assert command("run", dropped_by, "--out", "result")[0] == 0
    run = json.loads(Path("result/summary.json").read_text())

    assert run["makespan_s"] == 15
    assert run["utilization_makespan"] == pytest.approx(80 / 120, rel=1e-12)
    assert run["utilization_steady"] == pytest.approx(20 / 40, rel=1e-12)
    assert run["throughput_jobs_per_hour"] == pytest.approx(2 / 15 * 3600, rel=1e-12)


def test_a_reservation_before_an_overdue_job_is_made_anew_at_each_event(case):
    command = case("02-overdue-not-anew-at-each-event")

    assert command("run", "a.toml", "--out", "result", "--csv")[0] == 0

    table = pd.read_csv("result/jobs.csv").set_index("id")
    assert table["start_s"].loc[[4, 5]].tolist() == [100, 150]


def test_python_has_the_names_of_the_command_of_json_and_of_toml(case):
    """One name for one thing, one default of a seed and of the number of samples."""
    command = case("05-python-names")
    parameters = {
        name: inspect.signature(getattr(fs, name)).parameters
        for name in ("run_campaign", "sweep", "replay", "place", "verify", "now", "routing")
    }

    assert all("out" in parameters[name] for name in ("run_campaign", "sweep", "replay"))
    assert "comm_fraction" in parameters["place"]
    assert {"random", "permutation", "exhaustive", "any_routing"} <= parameters["verify"].keys()
    assert parameters["place"]["samples"].default == parameters["now"]["samples"].default
    assert parameters["routing"]["seed"].default == parameters["now"]["seed"].default == 1

    document = {
        "topology": {"kind": "fat-tree", "radix": 4},
        "routing": "ecmp",
        "jobs": [{"id": "a", "nodes": [0, 5], "pattern": "ring", "comm_fraction": 0.5}],
    }
    estimated, verified = fs.estimate(document), fs.verify({**document, "routing": "d-mod-k"})
    assert all(hasattr(estimated, key) for key in estimated.to_dict())
    assert all(hasattr(verified.jobs[0], key) for key in verified.to_dict()["jobs"][0])
    for key in ("allocator_options", "model_options"):
        table = "scheduler" if key.startswith("allocator") else "network"
        tables = {"topology": "cab", "workload": {"path": "a"}, table: {key: {"x": 1}}}
        made = fs.Experiment.from_tables(tables, "e", ".", "e")
        assert getattr(made, key) == {"x": 1}

    tree = fs.topology("fat-tree", radix=4)
    ends = [(0, 5, 1000.0), (1, 9, 1000.0), (2, 13, 1000.0)]
    document = {"topology": document["topology"], "routing": "ecmp", "flows": ends}
    Path("flows.json").write_text(json.dumps(document))
    routes = fs.routing("ecmp", tree).routes([a for a, *_ in ends], [b for _, b, _ in ends])
    status, out, _ = command("flows", "flows.json", "--json")
    assert status == 0
    assert json.loads(out) == fs.flows("flows.json").to_dict() == fs.flows(document).to_dict()
    assert json.loads(out)["routes"] == [
        [tree.link_name(link) for link in routes.of_flow(flow)] for flow in range(3)
    ]


ORDERS = {
    "easy": ({}, None),
    "sjf": ({}, lambda job: (job[4], job[1], job[0])),
    "size": ({"key": "size"}, lambda job: (-job[3], job[1], job[0])),
    "requested": ({"key": "requested"}, lambda job: (job[4], job[1], job[0])),
    "wait": ({"key": "wait"}, lambda job: (job[1], job[0])),
}


@pytest.mark.parametrize("order", ORDERS)
def test_random_queues_start_as_a_count_of_nodes_says(order):
    """Cases 21 and 24: estimates right, too long and too short, jobs that come together."""
    options, key = ORDERS[order]
    chance = random.Random(9)  # noqa: S311 (jobs of a test, no secrets)
    tree = build_fat_tree((8, 1), (1, 1), (1, 1), "1 B/s")
    for window in (1, 3, 50, 50, 50, 50, 50, 50):
        rows, at_s = [], 0.0
        for number in range(1, 16):
            at_s += chance.choice([0, 0, 1, 2, 5])
            run_s = float(chance.choice([3, 5, 8, 13, 20, 200]))
            wanted_s = run_s * chance.choice([0.5, 1, 1, 2, 3])
            rows.append((number, at_s, run_s, chance.randint(1, 8), wanted_s))
        name = order if order in ("easy", "sjf") else "priority"
        records = simulate(
            [Job(number, at, size, run, ask) for number, at, run, size, ask in rows],
            Cluster(tree),
            make_allocator("first-free", {}, 1),
            make_policy(name, {"window": window, **options}),
            estimate_s=lambda job: job.requested_s,
        ).records
        found = {record.job.id: record.start_s for record in records}
        assert found == CountingEasy(rows, 8, window, key).run()


def lost_shares(jobs, n_nodes):
    """Count idle node-seconds while jobs wait, between events up to the last start."""
    last_s = max(job.start_s for job in jobs)
    events = sorted({s for job in jobs for s in (job.submit_s, job.start_s, job.end_s)})
    events = [at_s for at_s in events if at_s <= last_s]
    lost = outside = inside = 0.0
    for at_s, until_s in pairwise(events):
        running = [job for job in jobs if job.start_s <= at_s < job.end_s]
        waiting = [job for job in jobs if job.submit_s <= at_s < job.start_s]
        free = n_nodes - sum(job.n_nodes + job.idle_nodes for job in running)
        inside += sum(job.idle_nodes for job in running) * (until_s - at_s)
        if waiting and min(job.n_nodes for job in waiting) <= free:
            lost += free * (until_s - at_s)
        if waiting and min(waiting, key=lambda job: (job.submit_s, job.id)).n_nodes <= free:
            outside += free * (until_s - at_s)
    return [share / (n_nodes * last_s) for share in (lost, outside, inside)]


@pytest.mark.parametrize("queue", ["easy", "fcfs"])
@pytest.mark.parametrize("allocator", ["first-free", "jigsaw", "laas", "ta"])
def test_fragmentation_is_what_the_jobs_alone_give(case, allocator, queue):
    case("23-fragmentation")
    run = fs.run(
        fs.Experiment(
            topology={"kind": "fat-tree", "radix": 8},
            workload={"generator": "synth", "mean_nodes": 10, "n_jobs": 60, "seed": 3},
            allocator=allocator,
            queue=queue,
            model="null",
            self_check=False,
        )
    )
    jobs = [job for job in run.jobs.itertuples() if job.dropped == ""]

    names = ("loss_of_capacity", "external_fragmentation", "internal_fragmentation")
    found = [run.summary[name] for name in names]
    assert found == pytest.approx(lost_shares(jobs, 128), abs=1e-9)


@pytest.mark.parametrize("requested", [0, -1])
def test_a_job_without_a_requested_time_asks_for_its_run_time(case, requested):
    """By hand, 8 nodes: job 2 needs all and waits until 50; 3 ends before that, 4 would not."""
    case("25-swf-oddities")
    rows = [(1, 0, 50, 4, requested), (2, 1, 10, 8, 20), (3, 2, 40, 4, requested)]
    rows.append((4, 3, 60, 4, requested))
    lines = [
        f"{i} {at} -1 {run} {n} -1 -1 {n} {ask} -1 1 1 1 1 1 1 -1 -1" for i, at, run, n, ask in rows
    ]
    Path("log.swf").write_text("\n".join(lines) + "\n")

    run = fs.run(
        fs.Experiment(
            topology={"kind": "fat-tree", "children": [8, 1], "parents": [1, 1]},
            workload={"path": "log.swf", "estimates": "requested"},
            model="null",
            self_check=False,
        )
    )

    assert dict(zip(run.jobs["id"], run.jobs["start_s"], strict=True)) == {1: 0, 2: 50, 3: 2, 4: 60}


class ShortestFirst:
    """A policy of what the page of plug-ins names alone: the shortest waiting job that fits."""

    name = "shortest-first"

    def __init__(self):
        self.waiting, self.seen = [], []

    def submit(self, job):
        self.waiting.append(job)

    def select(self, machine: Machine):
        self.waiting.sort(key=machine.estimate_s)
        while self.waiting and self.waiting[0].n_nodes <= machine.cluster.n_free:
            machine.start(machine.try_to_place(self.waiting.pop(0)))
        self.seen.append((machine.now_s, dict(machine.expected_end_s)))

    def __len__(self):
        """Return the number of waiting jobs."""
        return len(self.waiting)


def test_a_policy_sees_the_time_the_estimates_and_the_expected_ends(case):
    """By hand, 8 nodes: 1 runs to 10; then 3, which is shorter than 2, from 10 to 15."""
    case("04-policy-plugin-docs-lack-machine")
    tree = build_fat_tree((8, 1), (1, 1), (1, 1), "1 B/s")
    rows = [(1, 0.0, 10.0), (2, 1.0, 20.0), (3, 2.0, 5.0)]
    policy = ShortestFirst()

    records = simulate(
        [Job(number, at_s, 8, run_s, run_s) for number, at_s, run_s in rows],
        Cluster(tree),
        make_allocator("first-free", {}, 1),
        policy,
        estimate_s=lambda job: job.requested_s,
    ).records

    assert {record.job.id: record.start_s for record in records} == {1: 0, 3: 10, 2: 15}
    assert (0.0, {1: 10.0}) in policy.seen
    assert (10.0, {3: 15.0}) in policy.seen
    page = (ROOT / "docs/how-to/plugins.md").read_text()
    for name in ("now_s", "estimate_s", "expected_end_s", "cluster", "try_to_place", "start"):
        assert f"`machine.{name}" in page
        assert hasattr(Machine, name)


@pytest.mark.heavy
def test_the_page_of_a_paper_links_to_nothing_that_is_not_there(case):
    """Made again from a record, which runs nothing."""
    command = case("06-paper-page-links")
    record = ROOT / "docs" / "research" / "papers" / "mishra20.json"

    assert command("paper", "mishra20", "--recorded", record, "--out", "page")[0] == 0

    pages = list(Path("page").rglob("*.md"))
    assert pages
    for page in pages:
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            assert link.startswith("https://") or (page.parent / link).is_file(), link


@pytest.mark.parametrize("allocator", ["random", "jigsaw"])
def test_numbers_of_the_summary_are_what_the_jobs_alone_give(case, allocator):
    """Jobs run from start to end on all their nodes."""
    case("22-metrics")
    run = fs.run(
        fs.Experiment(
            topology={"kind": "fat-tree", "radix": 8},
            workload={"generator": "synth", "mean_nodes": 10, "n_jobs": 60, "seed": 3},
            allocator=allocator,
            self_check=False,
        )
    )
    jobs = run.jobs[run.jobs["dropped"] == ""]
    nodes, run_s = jobs["n_nodes"], jobs["end_s"] - jobs["start_s"]
    turnaround_s, wait_s = jobs["end_s"] - jobs["submit_s"], jobs["start_s"] - jobs["submit_s"]
    end_s, last_s = jobs["end_s"].max(), jobs["start_s"].max()
    until_last_s = jobs["end_s"].clip(upper=last_s) - jobs["start_s"]
    work = nodes * run_s
    expected = {
        "makespan_s": end_s,
        "utilization_makespan": work.sum() / (128 * end_s),
        "utilization_steady": (nodes * until_last_s).sum() / (128 * last_s),
        "throughput_jobs_per_hour": len(jobs) / end_s * 3600,
        "node_hours": work.sum() / 3600,
        "mean_wait_s": wait_s.mean(),
        "median_wait_s": wait_s.median(),
        "mean_turnaround_s": turnaround_s.mean(),
        "mean_bounded_slowdown": (turnaround_s / run_s.clip(lower=10)).clip(lower=1).mean(),
        "mean_interference": jobs["interference"].mean(),
        "max_interference": jobs["interference"].max(),
        "mean_interference_by_node_seconds": (jobs["interference"] * work).sum() / work.sum(),
        "mean_network_slowdown": (run_s / jobs["runtime_reference_s"]).mean(),
        "mean_placement_factor": jobs["placement_factor"].mean(),
        "node_seconds_lost_to_interference": (nodes * jobs["interference_delay_s"]).sum(),
        "node_seconds_lost_to_placement": (
            nodes * (run_s - jobs["interference_delay_s"]) * (1 - 1 / jobs["placement_factor"])
        ).sum(),
        "mean_aph": jobs["aph"].mean(),
    }

    assert len(jobs) == 60
    assert {name: run.summary[name] for name in expected} == pytest.approx(expected, rel=1e-9)
