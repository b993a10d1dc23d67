"""Metrics, each against numbers worked out by hand or counted second by second."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coupling.results.over_time import (
    instantaneous_utilization,
    lost_capacity,
    utilization_per_minute,
)
from coupling.results.summary import (
    compare,
    hops_by_size,
    mind_gain,
    mind_gain_of,
    network_volume,
    node_seconds_lost,
    summarize,
    wait_by_size,
)
from coupling.runs.engine import run
from fabricsim.checking.documents import json_fields

# Ten nodes: 6 until 100 s (and 1 held idle), 4 from 100 on, 3 waiting from 0 to 40.
ROWS = [  # submit, start, end, nodes, idle
    (0.0, 0.0, 100.0, 6, 1),
    (10.0, 100.0, 160.0, 4, 0),
    (20.0, 40.0, 80.0, 3, 0),
]


def table(rows, aph=0.0):
    """Return a job table of jobs that ran undisturbed."""
    submit, start, end, size, idle = (np.array(column, float) for column in zip(*rows, strict=True))
    return pd.DataFrame(
        {
            "id": np.arange(len(rows)),
            "submit_s": submit,
            "start_s": start,
            "end_s": end,
            "n_nodes": size.astype(int),
            "idle_nodes": idle.astype(int),
            "wait_s": start - submit,
            "turnaround_s": end - submit,
            "network_slowdown": 1.0,
            "interference": 1.0,
            "placement_factor": 1.0,
            "interference_delay_s": 0.0,
            "aph": aph,
            "communication_cost": 0.0,
            "killed": False,
            "dropped": "",
        }
    )


def test_fragmentation_and_loss_of_capacity_of_three_jobs():
    """
    Until the last start at 100 s, 10 nodes: 1000 node-seconds.

    Held for nothing: 1 x 100. From 10 s on the second job (4 nodes) heads the queue; 3 nodes
    are free until 40 s, none until 80 s, then 3: never enough for it, so nothing is lost to
    external fragmentation. From 20 to 40 s the third job (3 nodes) would fit: 3 x 20.
    """
    assert lost_capacity(table(ROWS), 10) == {
        "internal_fragmentation": pytest.approx(0.1),
        "external_fragmentation": 0.0,
        "loss_of_capacity": pytest.approx(0.06),
    }


def test_external_fragmentation_counts_free_nodes_while_the_head_would_fit():
    """One job of 4 waits from 10 to 30 s beside 6 free of 10 nodes: 6 x 20 of 10 x 30."""
    rows = [(0.0, 0.0, 50.0, 4, 0), (10.0, 30.0, 40.0, 4, 0)]

    found = lost_capacity(table(rows), 10)

    assert found["external_fragmentation"] == pytest.approx(0.4)
    assert found["loss_of_capacity"] == pytest.approx(0.4)


def test_capacity_lost_does_not_exist_when_all_start_at_once():
    assert set(lost_capacity(table([(0.0, 0.0, 5.0, 1, 0)]), 4).values()) == {None}


@st.composite
def schedules(draw):
    """Rows of jobs in whole seconds; the machine may be overfull, which does not matter here."""
    rows = []
    for _ in range(draw(st.integers(1, 12))):
        submit = draw(st.integers(0, 20))
        start = submit + draw(st.integers(0, 20))
        rows.append((submit, start, start + draw(st.integers(1, 20)), draw(st.integers(1, 9)), 0))
    return rows


@settings(deadline=None, max_examples=40)
@given(rows=schedules())
def test_capacity_lost_agrees_with_counting_second_by_second(rows):
    """A naive twin: what holds in each second."""
    until = max(start for _, start, *_ in rows)
    far = near = 0
    for second in range(until):
        free = 100 - sum(size for _, start, end, size, _ in rows if start <= second < end)
        waiting = [row for row in rows if row[0] <= second < row[1]]
        if waiting:
            head = min(waiting, key=lambda row: row[0])  # the first of those submitted together
            far += free if head[3] <= free else 0
            near += free if min(row[3] for row in waiting) <= free else 0

    found = lost_capacity(table(rows), 100)

    if until:
        assert found["external_fragmentation"] == pytest.approx(far / (100 * until))
        assert found["loss_of_capacity"] == pytest.approx(near / (100 * until))


def test_bins_of_table_2_count_every_start_and_every_end():
    """Starts leave 6, 9 and 4 of 10 nodes busy, ends 6, 0 (before the start at 100 s) and 0."""
    bins = instantaneous_utilization(table(ROWS), 10)

    assert list(bins.index) == [">=98", "95-98", "90-95", "80-90", "60-80", "<60"]
    assert list(bins * 6) == pytest.approx([0, 0, 1, 0, 2, 3])


@pytest.mark.parametrize(
    ("busy", "name"),
    [(98, ">=98"), (97, "95-98"), (95, "95-98"), (90, "90-95"), (80, "80-90"), (60, "60-80")],
)
def test_bins_begin_at_their_lower_edge(busy, name):
    """95-97 of the paper is [95, 98), and so on."""
    bins = instantaneous_utilization(table([(0.0, 0.0, 1.0, busy, 0)]), 100)

    assert bins[name] == 0.5
    assert bins["<60"] == 0.5


def test_minutes_are_means_of_what_was_asked_for():
    """0-60 s: 6 x 60 + 3 x 20 of 600; 60-120: 6 x 40 + 3 x 20 + 4 x 20; 120-180: 4 x 40."""
    minutes = utilization_per_minute(table(ROWS), 10)

    assert list(minutes["time_s"]) == [0.0, 60.0, 120.0]
    assert list(minutes["utilization"]) == pytest.approx([420 / 600, 380 / 600, 160 / 600])


def test_node_hours_and_throughput_of_three_jobs():
    """(6 x 100 + 4 x 60 + 3 x 40) / 3600 node-hours; 3 jobs in 160 s."""
    summary = summarize(table(ROWS), 10)

    assert summary["node_hours"] == pytest.approx(960 / 3600)
    assert summary["throughput_jobs_per_hour"] == pytest.approx(3 / 160 * 3600)
    assert summary["internal_fragmentation"] == pytest.approx(0.1)


def test_waits_by_size_class():
    """Waits 0 (6 nodes), 90 (4 nodes) and 20 s (3 nodes)."""
    waits = wait_by_size(table(ROWS))

    assert list(waits["jobs"]) == [0, 2, 1, 0, 0, 0]
    assert waits.loc["2-4", ["mean_s", "median_s", "max_s"]].tolist() == [55.0, 55.0, 90.0]
    assert waits.loc["2-4", "p95_s"] == pytest.approx(20 + 0.95 * 70)
    assert np.isnan(waits.loc["1", "mean_s"])


def test_means_by_node_seconds_weigh_nodes_times_run_time():
    """Jobs of 6, 4 and 3 nodes that ran 100, 60 and 40 s: 600, 240 and 120 node-seconds."""
    jobs = table(ROWS)
    jobs["placement_factor"] = [1.0, 2.0, 4.0]
    jobs["interference"] = [1.5, 1.0, 2.0]
    jobs["network_slowdown"] = [1.5, 2.0, 8.0]

    found = summarize(jobs, 10)

    assert found["mean_placement_factor_by_node_seconds"] == pytest.approx(1560 / 960)
    assert found["mean_interference_by_node_seconds"] == pytest.approx(1380 / 960)
    assert found["mean_network_slowdown_by_node_seconds"] == pytest.approx(2340 / 960)


def test_hops_by_size_class_plain_and_weighted_by_node_seconds():
    """Class 2-4: 3 hops on 4 x 60 node-seconds and 1 hop on 3 x 40."""
    hops = hops_by_size(table(ROWS, aph=[2.0, 3.0, 1.0]))

    assert hops.loc["2-4", "mean_aph"] == 2.0
    assert hops.loc["2-4", "weighted_aph"] == pytest.approx((3 * 240 + 1 * 120) / 360)
    assert hops.loc["5-16", "weighted_aph"] == 2.0


def test_hop_bytes_are_those_between_switches():
    """Links of nodes are no hops."""
    links = pd.DataFrame(
        {
            "class": ["injection", "leaf-up", "leaf-down", "ejection"],
            "bytes": [8.0, 6.0, 6.0, 8.0],
        }
    )

    assert network_volume(links) == {
        "bytes_sent": 8.0,
        "hop_bytes": 12.0,
        "mean_hops_per_byte": 1.5,
    }
    assert network_volume(links.assign(bytes=0.0))["mean_hops_per_byte"] is None


def test_a_run_reports_what_the_network_carried_and_what_scheduling_cost(experiment):
    """The summary holds the volume, cost.json the CPU time per job."""
    result = run(experiment(allocator="laas"))

    assert result.summary["hop_bytes"] == pytest.approx(
        result.summary["bytes_sent"] * result.summary["mean_hops_per_byte"]
    )
    assert 0.0 < result.summary["internal_fragmentation"] < 0.2
    assert result.summary["loss_of_capacity"] >= result.summary["external_fragmentation"]
    assert 0.0 < result.cost["scheduling_ms_per_job"] < 1e3 * result.cost["cpu_coupled_s"] / 300


def test_gains_in_mind_by_hand():
    """
    31 jobs of 2 nodes with 4 -> 3 hops, 31 of 20 with 5 -> 6, one of 3 with 9 -> 1, one of 1.

    By size 1/4 and -1/5: the size with one job is left out. By node time (1 s each, 100 s the
    one of 3): 62 x 4 + 620 x 5 + 300 x 9 = 6048 before, 62 x 3 + 620 x 6 + 300 = 4206 after.
    """
    sizes = np.repeat([2, 20, 3, 1], [31, 31, 1, 1])
    seconds = np.repeat([1.0, 1.0, 100.0, 7.0], [31, 31, 1, 1])
    before, after = (np.repeat(hops, [31, 31, 1, 1]) for hops in ([4.0, 5, 9, 0], [3.0, 6, 1, 0]))

    found = mind_gain(sizes, sizes * seconds, before, after)

    assert (found.small, found.large) == pytest.approx((0.25, -0.2))
    assert found.overall == pytest.approx(0.025)
    assert found.hops == pytest.approx(0.0)
    assert found.by_node_time == pytest.approx(1 - 4206 / 6048)
    assert found.jobs == 63
    change = np.repeat([1.0, -1.0, 8.0], [31, 31, 1])  # of t: mean / (deviation / root of n)
    assert found.t == pytest.approx(change.mean() / (change.std(ddof=1) / np.sqrt(63)))
    assert found.p == pytest.approx(0.239, abs=0.003)  # t = 0.71 of 62 degrees: nearly normal


def test_a_job_of_ten_nodes_is_small_and_one_of_eleven_large():
    """31 of each: the small come from 4 hops to 3, the large from 5 to 4."""
    sizes = np.repeat([10, 11], 31)

    found = mind_gain(sizes, np.ones(62), np.repeat([4.0, 5.0], 31), np.repeat([3.0, 4.0], 31))

    assert (found.small, found.large) == pytest.approx((0.25, 0.2))


def test_gains_in_mind_pair_jobs_by_number_and_leave_out_who_did_not_run():
    reference = table([(0.0, 0.0, 10.0, 2, 0), (0.0, 0.0, 30.0, 4, 0), (0.0, 0.0, 5.0, 4, 0)], 2.0)
    jobs = reference.iloc[::-1].assign(aph=[1.0, 4.0, 0.5], dropped=["gone", "", ""])

    found = mind_gain_of(jobs, reference)

    assert found.jobs == 2
    assert found.by_node_time == pytest.approx(1 - (20 * 0.5 + 120 * 4.0) / (140 * 2.0))
    assert json_fields(found)["overall"] is None


def test_nothing_changed_is_no_gain_and_has_no_test():
    jobs = table([(0.0, 0.0, 10.0, 2, 0)] * 40, 2.0)

    found = json_fields(mind_gain_of(jobs, jobs))

    assert (found["overall"], found["by_node_time"], found["t"], found["p"]) == (0, 0, None, None)


def test_lost_node_seconds_are_told_apart_by_cause():
    """
    4 nodes for 180 s at interference 1.5 and placement 1.2: 60 s lost to others, 20 s to placement.

    Alone on its nodes the job takes 120 s, on ideal ones 100 s. A dropped job costs nothing.
    """
    jobs = table([(0.0, 0.0, 180.0, 4, 0), (0.0, 0.0, 50.0, 2, 0)]).assign(
        interference_delay_s=[60.0, 0.0],
        interference=[1.5, 1.0],
        placement_factor=[1.2, 1.0],
        dropped=["", "no"],
    )

    assert node_seconds_lost(jobs) == {
        "node_seconds_lost_to_interference": pytest.approx(240.0),
        "node_seconds_lost_to_placement": pytest.approx(80.0),
    }


def test_ratios_to_the_baseline_by_hand():
    """Speed-ups 1 and 2 of jobs of 3 and 1 node-seconds; what one side lacks has no ratio."""
    speedups = pd.DataFrame({"speedup": [1.0, 2.0], "node_seconds": [3.0, 1.0]})
    here = {"makespan_s": 50.0, "mean_turnaround_s": 30.0}

    found = compare(here, {"makespan_s": 100.0, "mean_turnaround_s": 0}, speedups)

    assert (found["speedup_mean"], found["speedup_weighted"]) == (1.5, 1.25)
    assert found["makespan_ratio"] == 0.5
    assert np.isnan(found["turnaround_ratio"])
    for one, other in ((here, {}), ({}, here), (here, dict.fromkeys(here))):
        missing = compare(one, other, speedups)
        assert np.isnan([missing["makespan_ratio"], missing["turnaround_ratio"]]).all()
    assert compare(here, here, speedups.iloc[:0]) == {}
