"""Schedules and numbers that a researcher knows from elsewhere."""

import inspect
import json
from pathlib import Path

import pandas as pd
import pytest

import fabricsim as fs


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
    assert parameters["place"]["draws"].default == parameters["now"]["draws"].default
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
