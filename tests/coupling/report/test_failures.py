"""Runs that failed are in the report: how many, what was lost, and where in the map of nodes."""

import numpy as np
import pytest

import fabricsim as fs
from coupling.report.plots.gantt import gantt_of
from coupling.report.report import report_html
from scheduler import Job, Workload


@pytest.fixture(scope="module")
def failed():
    """Return a run: at 50 s node 0 of 16 goes down under job 1, which runs again elsewhere."""
    jobs = (Job(1, 0.0, 2, 100.0, 100.0), Job(2, 0.0, 1, 400.0, 400.0))
    events = {"list": [{"time": "50 s", "action": "down", "what": "n0"}], "requeue_delay": "10 s"}
    return fs.run(
        fs.Experiment(
            {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"},
            Workload(jobs, "by hand"),
            events=events,
            self_check=False,
        )
    )


def test_the_map_of_nodes_shows_the_time_of_failed_runs(failed):
    """By hand: two nodes for 50 of 400 s, and nothing else; the run again is on others."""
    found = gantt_of(failed)

    node_s = found.failed.sum(axis=1) * 400.0 / found.failed.shape[1]
    assert node_s[:2] == pytest.approx([50.0, 50.0])
    assert not node_s[2:].any()
    assert found.busy[:2].sum() == pytest.approx(100 / 400 * found.busy.shape[1])
    assert "failed" in found.table().columns


def test_the_report_counts_failures_and_names_the_runs(failed):
    page = report_html([failed], {"topology": "x"}, failed.summary | {"inputs_sha256": {}})

    assert "Failures and what they cost" in page
    assert "Runs that failed under first-free" in page
    assert "runs that failed in red" in page


@pytest.mark.usefixtures("undrawn")
def test_runs_without_events_have_no_such_section():
    jobs = (Job(1, 0.0, 2, 100.0, 100.0),)
    plain = fs.run(
        fs.Experiment(
            {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}, Workload(jobs, "by hand")
        )
    )

    assert gantt_of(plain).failed is None
    assert "Failures" not in report_html([plain], {"topology": "x"}, {"inputs_sha256": {}})
    assert np.isfinite(gantt_of(plain).busy).all()
