"""Schedules and numbers that a researcher knows from elsewhere."""

import json
from pathlib import Path

import pandas as pd
import pytest


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
