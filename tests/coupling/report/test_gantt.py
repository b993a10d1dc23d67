"""The map of nodes and time, against one that asks every node at every moment."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from coupling_samples import sample

from coupling.report.plots.gantt import gantt_of, gantt_pictures
from coupling.report.plots.style import Clock
from coupling.results.picture_values import begin_of, slowdown_scale
from netsim.registries.topologies import make_topology


def run_of(rows):
    """Return a run of jobs given as (nodes, start, end, slowdown)."""
    base = sample("first-free")
    jobs = pd.concat([base.jobs.iloc[:1]] * len(rows), ignore_index=True)
    jobs["nodes"], jobs["start_s"], jobs["end_s"], jobs["network_slowdown"] = zip(
        *rows, strict=True
    )
    jobs["id"] = range(len(rows))
    return type(base)("x", jobs, base.links, base.timeline, base.blame, base.summary)


@pytest.fixture
def fabric():
    """Return 16 nodes."""
    return make_topology({"kind": "fat-tree", "radix": 4})


def test_a_map_has_the_mean_slowdown_and_the_busy_share_of_each_cell(fabric):
    """One node a row; many moments within each cell are asked one by one."""
    rng = np.random.default_rng(5)
    rows, ends = [], np.zeros(16)
    for _ in range(60):
        nodes = np.sort(rng.choice(16, rng.integers(1, 5), replace=False))
        start = ends[nodes].max() + rng.exponential(3.0)
        end = start + rng.exponential(20.0)
        ends[nodes] = end
        rows.append((",".join(f"n{n}" for n in nodes), start, end, 1.0 + rng.random()))

    found = gantt_of(run_of(rows), fabric)

    assert found.names == tuple(f"n{n}" for n in range(16))
    cell = found.time_edges[1]
    for node in range(16):
        own = [(a, b, s) for names, a, b, s in rows if f"n{node}" in names.split(",")]
        for column in rng.integers(0, 480, 60):
            low = column * cell
            parts = [(max(0.0, min(b, low + cell) - max(a, low)), s) for a, b, s in own]
            time = sum(part for part, _ in parts)
            assert found.busy[node, column] == pytest.approx(time / cell, abs=1e-6)
            if time > cell / 1000:
                mean = sum(part * s for part, s in parts) / time
                assert found.network_slowdown[node, column] == pytest.approx(mean)


def test_a_row_of_several_nodes_is_as_busy_as_they_are_together():
    """1024 nodes in 240 rows: row 0 has the 5 nodes 0 to 4, of which 2 are busy all the time."""
    fabric = make_topology("synth-1024")

    found = gantt_of(run_of([("n[0-1]", 0.0, 480.0, 2.0)]), fabric)

    np.testing.assert_allclose(found.busy[0], 2 / 5)
    np.testing.assert_allclose(found.network_slowdown[0], 2.0)
    assert not found.busy[1:].any()
    assert np.isnan(found.network_slowdown[1:]).all()
    assert found.node_edges[:2].tolist() == [0, 5]
    assert len(found.table()) == 480


def test_nodes_of_another_fabric_have_no_map(fabric):
    assert gantt_of(run_of([("cn[001-002]", 0.0, 1.0, 1.0)]), fabric) is None
    assert gantt_pictures([run_of([("cn1", 0.0, 1.0, 1.0)])], {"x": fabric}) == {}


def test_the_scale_of_slowdowns_covers_98_per_cent_of_the_node_time():
    """99 hours at 1.2 and one at 9: the end of the colours is 1.2."""
    rows = [("n0", 0.0, 99.0, 1.2), ("n1", 0.0, 1.0, 9.0)]

    assert slowdown_scale([run_of(rows)]) == pytest.approx(1.2)


def test_jobs_whose_times_or_nodes_make_no_sense_have_no_map_and_no_traceback(fabric):
    broken = run_of([("n[0", 0.0, 1.0, 1.0)])
    timeless = run_of([("n0", 0.0, float("nan"), 1.0)])

    assert gantt_of(broken, fabric) is None
    assert gantt_of(timeless, fabric) is None


@pytest.mark.parametrize(
    ("begins", "found"),
    [((1e9, 1e9), 1e9), ((1e9, 2e9), None), ((None, 1e9), None), ((1e300,), None), ((-5.0,), None)],
)
def test_dates_are_shown_where_all_runs_have_the_same_that_calendars_know(begins, found):
    runs = [sample("x") for _ in begins]
    runs = [replace(run, summary={**run.summary, "log_begin_unix_s": begin})
            for run, begin in zip(runs, begins, strict=True)]  # fmt: skip

    assert begin_of(runs) == found


def test_an_axis_of_dates_begins_at_the_moment_of_the_log():
    """Day 1 after 1970 and a half is 1.5 days."""
    assert Clock(86400.0, 86400.0).at(43200.0) == pytest.approx(1.5)
    assert Clock(7200.0).at(3600.0) == pytest.approx(1.0)  # hours
