"""What people see in a terminal: numbers, units, width, words and progress."""

import io
from dataclasses import replace

import pytest
from coupling_samples import sample, with_dropped

from coupling.report.summary_text import headlines, network_matters, reading
from coupling.report.terminal import ProgressDisplay, comparison_table
from coupling.results.comparison import comparison_rows
from coupling.results.notes import dropped_lines, remark_lines


def test_a_row_holds_the_numbers_of_a_run_and_those_relative_to_baseline(runs):
    """
    Jobs of 4, 2 and 1 nodes on 8 nodes, all started at 0.

    Baseline: 7200 s, 3600 s, 1800 s, the first loses 1800 s. Jigsaw: 5400 s instead of 7200 s.
    Speed-ups 4/3, 1, 1: mean 10/9. Node-seconds under Baseline 28800, 7200, 1800:
    weighted (28800 * 4/3 + 7200 + 1800) / 37800 = 47400 / 37800.
    """
    baseline, jigsaw = comparison_rows(runs)

    assert baseline["node_hours_lost"] == pytest.approx(2.0)
    assert baseline["share_lost"] == pytest.approx(7200 / 37800)
    assert baseline["speedup_mean"] == baseline["makespan_ratio"] == 1
    assert jigsaw["speedup_mean"] == pytest.approx(10 / 9)
    assert jigsaw["speedup_weighted"] == pytest.approx(47400 / 37800)
    assert jigsaw["makespan_ratio"] == pytest.approx(0.75)
    assert jigsaw["turnaround_ratio"] == pytest.approx(10800 / 12600)
    assert jigsaw["share_lost"] == 0


@pytest.mark.parametrize("full", [True, False])
def test_no_line_is_wider_than_the_terminal(runs, full):
    """The default width is 80 columns; long names and more runs do not widen a line."""
    many = [*runs, replace(runs[1], name="emergent-adaptive"), replace(runs[1], name="laas")]

    lines = comparison_table(many, width=80, full=full).splitlines()

    assert max(map(len, lines)) <= 80
    assert not any(line.rstrip().endswith("-") for line in lines)
    assert any("emergent" in line for line in lines)


def test_a_wide_terminal_gets_one_table(runs):
    wide = comparison_table(runs, width=230, full=True)

    assert sum(line.startswith("first-free *") for line in wide.splitlines()) == 1


def test_the_first_table_has_six_columns_and_names_the_baseline(runs):
    lines = comparison_table(runs, width=80).splitlines()

    (row,) = (line for line in lines if line.startswith("first-free *"))
    words = row.removeprefix("first-free *").split()
    assert sum(word[0].isdigit() for word in words) == 5  # all start at 0: no utilisation
    assert "* first-free is the baseline." in lines
    assert any("--all" in line for line in lines)


def test_times_of_a_column_share_one_unit(runs):
    text = comparison_table(runs, width=230, full=True)

    assert "2.00 h" in text
    assert "1.50 h" in text


def test_a_slowdown_of_exactly_one_differs_from_one_that_is_rounded_to_it():
    nearly = sample(
        "random", runtimes_s=(7200.0, 3600.0, 1800.0), interference_delay_s=(0.36, 0.0, 0.0)
    )
    exactly = sample("ta", runtimes_s=(7200.0, 3600.0, 1800.0))

    lines = comparison_table([nearly, exactly], width=300, full=True).splitlines()

    assert ["1.000" in line.split() for line in lines if line.startswith(("random", "ta"))] == [
        True,
        False,
    ]


def test_numbers_that_do_not_exist_have_no_column():
    summary = dict(sample("random").summary)
    del summary["infinite_network"]

    table = comparison_table([replace(sample("random"), summary=summary)], width=300, full=True)

    assert "∞" not in table
    assert "ratio" not in table


def test_remarks_are_told_with_the_runs_that_they_hold_for(runs):
    silent = [replace(run, summary={**run.summary, "latency_bound": 3}) for run in runs]
    searched = replace(runs[0], name="lc", summary={"latency_bound": 0, "out_of_steps": 1234})

    assert remark_lines(runs) == []
    (line,) = remark_lines(silent)
    assert line.startswith("3 jobs run as if they did not communicate")
    told = remark_lines([*silent, searched])
    assert told[0] == f"{runs[0].name}, {runs[1].name}: {line}"
    assert told[1].startswith("lc: 1,234 searches for a place were given up")
    assert "3 jobs run as if they did not" in comparison_table(silent, width=200)


def test_dropped_jobs_are_told_once_where_runs_agree(runs):
    dropped = [replace(run, jobs=with_dropped(run.jobs, ["no run time"] * 2)) for run in runs]
    other = replace(runs[0], name="random", jobs=with_dropped(runs[0].jobs, ["too large"]))

    assert dropped_lines(dropped) == ["2 dropped: no run time"]
    assert dropped_lines([*dropped, other])[-1] == "random: 1 dropped: too large"


def test_killed_jobs_are_told(runs):
    killed = runs[0].jobs.assign(killed=[True, False, False])

    assert dropped_lines([replace(runs[0], jobs=killed)]) == ["1 killed at the requested time"]


def test_the_reading_names_who_loses_what(runs):
    assert reading(runs) == [
        (
            "19.0 % of node time is lost to the network (all to interference) under first-free; "
            "none under jigsaw."
        ),
        (
            "14.3 % shorter mean turnaround under jigsaw than under first-free; makespan 25.0 % "
            "shorter; jobs 25.4 % faster by node time."
        ),
    ]


def test_the_reading_of_runs_without_loss_says_so(runs):
    assert reading(runs[1:]) == ["No node time is lost to the network under jigsaw."]


def test_headlines_name_the_job_and_the_link_that_suffer_most(runs):
    lines = headlines(runs)

    assert lines[2:4] == [
        (
            "1.333 is the largest slowdown, of job 11 (4 nodes, pairs) under first-free: "
            "interference 1.333 times placement 1."
        ),
        (
            "2.00 node-hours are lost to interference at s1.0>s2.0 (leaf-up) under first-free, "
            "100.0 % of all node time lost there; no link costs more. It carries 10.0 % of its "
            "capacity on average."
        ),
    ]


def test_a_network_without_effect_is_explained():
    """A run that equals its twin on an infinite network is no mistake, and the reason is told."""
    same = sample("ta", infinite_runtimes_s=(5400.0, 3600.0, 1800.0))
    silent = replace(same, jobs=same.jobs.assign(comm_fraction=0.0))
    null = replace(same, summary={**same.summary, "network": {"model": "null"}})
    start = (
        "ta: the same mean turnaround and the same makespan, compared with an infinite network; "
    )

    assert network_matters([same]) == [f"{start}no job is slowed."]
    assert network_matters([silent]) == [f"{start}no job communicates."]
    assert network_matters([null]) == [f"{start}model null is an infinite network."]


def test_a_network_with_effect_is_measured():
    changed = sample(
        "random",
        runtimes_s=(5940.0, 3600.0, 1800.0),
        infinite_runtimes_s=(5400.0, 3600.0, 1800.0),
    )

    assert network_matters([changed]) == [
        (
            "random: 5.0 % longer mean turnaround and 10.0 % longer makespan, compared with an "
            "infinite network."
        )
    ]


def test_a_log_without_a_job_to_run_has_a_table():
    empty = replace(
        sample("ta"),
        jobs=with_dropped(sample("ta").jobs.iloc[:0], ["too large"]),
        summary={"name": "ta", "jobs": 0, "dropped": 1, "killed": 0, "nodes": 8},
    )

    assert "1 dropped: too large" in comparison_table([empty])


def test_progress_off_a_terminal_is_a_line_per_finished_run():
    stream = io.StringIO()

    with ProgressDisplay(stream) as progress:
        for what in ("ta", "jigsaw"):
            for done in range(101):
                progress(what, done, 100)
            progress(what, 100, 100)

    lines = stream.getvalue().splitlines()
    assert [line.split(" in ")[0] for line in lines] == ["ta: 100 jobs", "jigsaw: 100 jobs"]


def test_a_run_of_the_same_name_is_told_again():
    stream = io.StringIO()

    with ProgressDisplay(stream) as progress:
        for done in (0, 5, 10, 0, 5, 10):
            progress("first-free", done, 10)

    assert len(stream.getvalue().splitlines()) == 2


def test_progress_on_a_terminal_shows_a_bar_and_draws_seldom(monkeypatch):
    """100,000 calls in no time redraw a few times only."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()

    with ProgressDisplay(stream) as progress:
        for done in range(100_001):
            progress("jigsaw", done, 100_000)

    assert "100,000/100,000 jobs" in stream.getvalue()
    assert stream.getvalue().count("jigsaw") < 50


def test_off_a_terminal_a_line_now_and_then_says_how_long_all_runs_take(monkeypatch):
    """
    Four runs of 100 jobs, one job a second: a line each 30 s.

    After 30 of 400 jobs 30 s have gone by, so that 370 s (6.17 min) are left.
    """
    clock = iter(range(1000))
    monkeypatch.setattr("coupling.report.terminal.time.monotonic", lambda: float(next(clock)))
    stream = io.StringIO()

    with ProgressDisplay(stream, plan=dict.fromkeys("abcd", 1.0)) as progress:
        for done in range(1, 101):
            progress("a", done, 100)

    lines = stream.getvalue().splitlines()
    assert lines[0] == "a: 30 of 100 jobs; 8 % of all runs, about 6.2 min left"
    assert [line.split(" jobs")[0] for line in lines] == [
        *("a: 30 of 100", "a: 60 of 100", "a: 90 of 100", "a: 100")
    ]


def test_runs_that_nobody_has_planned_tell_how_far_they_are_without_a_guess(monkeypatch):
    clock = iter(range(0, 10_000, 40))
    monkeypatch.setattr("coupling.report.terminal.time.monotonic", lambda: float(next(clock)))
    stream = io.StringIO()

    with ProgressDisplay(stream, unit="cells") as progress:
        progress("a", 0, 3)
        progress("a", 1, 3)

    assert stream.getvalue() == "a: 0 of 3 cells\na: 1 of 3 cells\n"


def test_a_bar_for_all_runs_stands_beside_those_of_each(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    stream = io.StringIO()

    with ProgressDisplay(stream, plan={"ta": 1.0, "jigsaw": 1.0}) as progress:
        for what in ("ta", "jigsaw"):
            for done in range(11):
                progress(what, done, 10)

    shown = stream.getvalue()
    assert "all runs" in shown
    assert "100 %" in shown


def test_a_pass_without_network_counts_less(monkeypatch):
    """Half of a run that takes ten times as long as what follows: 5/11 of all, 6/5 as long left."""
    clock = iter([0.0, 0.0, 50.0, 50.0])
    monkeypatch.setattr("coupling.report.terminal.time.monotonic", lambda: next(clock))
    stream = io.StringIO()

    with ProgressDisplay(stream, plan={"ta": 1.0, "ta, infinite network": 0.1}) as progress:
        progress("ta", 0, 10)
        progress("ta", 5, 10)

    assert stream.getvalue() == "ta: 5 of 10 jobs; 45 % of all runs, about 60 s left\n"
