"""
Every sentence about runs is true: read back, and held against numbers counted anew.

Runs are drawn with ties, losses of either cause, killed and dropped jobs, runs of other jobs and
runs of none. The numbers that sentences must agree with are plain sums over the drawn jobs.
"""

import re
from dataclasses import replace
from itertools import pairwise
from math import isclose

import numpy as np
import pytest
from drawn_runs import NAMES, Ran, Scene, scenes
from hypothesis import assume
from sampling import drawn

from coupling.report import page
from coupling.report.summary_text import headlines, network_matters, reading
from coupling.report.terminal import comparison_table
from coupling.results.notes import accuracy_lines
from fabricsim.checking.documents import json_fields
from netsim.registries.accuracy import Setting

PERCENT = r"(< 0\.1|> -0\.1|-?[\d,]+\.\d|0) %"


def holds(said, value):
    """Say whether a percentage that was written is the share: its sign, and its one decimal."""
    percent = 100 * value
    if said == "0":
        return abs(percent) < 1e-9
    if said in {"< 0.1", "> -0.1"}:
        return abs(percent) < 0.051 and (percent > 0) == (said == "< 0.1")
    return abs(float(said.replace(",", "")) - percent) <= 0.0501


def differs(said, value):
    """Say whether a difference that was written ("2.0 % shorter") is the relative change."""
    found = re.fullmatch(r"(less than 0\.1|[\d,]+\.\d) % (shorter|slower|longer|faster)", said)
    assert found, said
    size, word = found.groups()
    if (word in {"longer", "faster"}) != (value > 0):
        return False
    percent = abs(100 * value)
    if size == "less than 0.1":
        return percent < 0.051
    return abs(float(size.replace(",", "")) - percent) <= 0.0501


def same(one, other):
    """Say whether two numbers are equal up to rounding."""
    return isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)


def gain(text):
    """Return the parts of the sentence about turnaround, makespan and speed; None without it."""
    return re.search(
        r"(?P<by>[Ll]ess than 0\.1 % \w+|[\d,]+\.\d % \w+|The same) mean turnaround under "
        r"(?P<best>.+?) (?:than|as) under (?P<baseline>first-free)"
        r"(?:, (?P<owner>and first-free has )?the shortest of (?P<count>\d) runs)?"
        r"(?:; makespan (?P<makespan>[^;]+?)|; the same (?P<same_span>makespan))?"
        r"(?:; jobs (?P<speed>[^;]+?) by node time)?\.(?: |$)",
        text,
    )


@drawn(10, 30, scenes())
def test_what_is_said_to_be_lost_is_what_interference_and_placement_cost(scene):
    text = " ".join(reading(scene.results()))

    for name in scene.runs:
        lost = scene.share_lost(name)
        by_others = scene.share_lost(name, "lost_to_interference")
        said = re.search(
            rf"{PERCENT}(?: of node time is lost to the network)? "
            rf"\((all to \w+|{PERCENT} to interference, {PERCENT} to placement)\) "
            rf"under {re.escape(name)}(?:[;.]|$)",
            text,
        )
        if said is None:
            assert all(job.interference == job.placement == 1 for job in scene.runs[name])
            assert re.search(rf"(none|network) under [^;]*{re.escape(name)}", text)
            continue
        assert holds(said[1], lost), (said[0], lost)
        if said[2] == "all to interference":
            assert all(job.placement == 1 for job in scene.runs[name])
        elif said[2] == "all to placement":
            assert all(job.interference == 1 for job in scene.runs[name])
        else:
            assert holds(said[3], by_others)
            assert holds(said[4], lost - by_others)


@drawn(10, 30, scenes(same_jobs=False))
def test_every_line_starts_with_its_number_or_says_that_there_is_none(scene):
    for line in headlines(scene.results()):
        assert re.match(
            r"[<>]? ?-?\d|No |The same |Less than|The runs differ|Not the same work", line
        ), line
        assert line.endswith(".")
        assert not re.search(r"\bnan\b|\binf\b|None|\(\)|  ", line), line


@drawn(10, 30, scenes())
def test_runs_are_named_from_the_greatest_loss_down(scene):
    text = reading(scene.results())[0]

    named = [part.rpartition(" under ")[2].rstrip(".") for part in text.split("; ")]
    named = named if "; none under" not in text else named[:-1]
    losses = [scene.share_lost(name) for name in named if name in scene.runs]

    assert all(here >= there - 1e-12 for here, there in pairwise(losses))


@drawn(10, 30, scenes())
def test_a_run_is_called_shorter_longer_or_equal_as_its_times_are(scene):
    text = " ".join(reading(scene.results()))
    said = gain(text)

    if "first-free" not in scene.runs or len(scene.runs) == 1:
        assert said is None
        assert "turnaround" not in text
        return
    assert said is not None, text
    others = [name for name in scene.runs if name != "first-free"]
    ratio = {
        name: scene.mean_turnaround(name) / scene.mean_turnaround("first-free") for name in others
    }
    best = re.split(r", | and ", said["best"])
    assert set(best) <= set(others)
    assert all(same(ratio[name], min(ratio.values())) for name in best)
    if said["by"] == "The same":
        assert same(ratio[best[0]], 1.0)
    else:
        assert differs(said["by"].lower(), ratio[best[0]] - 1)
    assert (said["count"] is None) == (len(others) == 1)
    if said["count"] is not None:
        assert int(said["count"]) == len(scene.runs)
        assert (said["owner"] is not None) == (ratio[best[0]] > 1)
    if len(best) == 1:
        span = scene.makespan(best[0]) / scene.makespan("first-free")
        assert same(span, 1) if said["same_span"] else differs(said["makespan"], span - 1)
        speed = scene.speed(best[0], "first-free")
        equal = said["speed"] == "equally fast"
        assert same(speed, 1) if equal else differs(said["speed"], speed - 1)


@drawn(10, 30, scenes())
def test_jobs_killed_in_one_run_only_are_told_beside_its_times(scene):
    """A run that kills jobs looks shorter without having done the work."""
    text = " ".join(reading(scene.results()))

    killed = {name: {job.id for job in jobs if job.killed} for name, jobs in scene.runs.items()}
    differ = len({frozenset(ids) for ids in killed.values()}) > 1
    said = "Not the same work was done" in text

    assert said == (differ and "first-free" in scene.runs)
    if said:
        assert all(f"{len(ids)} under {name}" in text for name, ids in killed.items())


@drawn(10, 30, scenes(same_jobs=False))
def test_runs_of_other_jobs_are_never_weighed_against_each_other(scene):
    text = " ".join(headlines(scene.results()))
    jobs = {frozenset(job.id for job in ran) for ran in scene.runs.values()}
    assume(len(jobs) > 1)

    assert gain(text) is None
    assert "faster" not in text
    if frozenset() in jobs:
        idle = [name for name, ran in scene.runs.items() if not ran]
        assert f"No job ran under {idle[0]}" in text
    assert "The runs differ in their jobs" in text


@drawn(10, 30, scenes())
def test_the_job_called_slowest_has_the_largest_slowdown_of_all(scene):
    lines = headlines(scene.results())
    jobs = [(name, job) for name, ran in scene.runs.items() for job in ran]
    most = max(job.network_slowdown for _, job in jobs)
    line = next((line for line in lines if "largest slowdown" in line), None)

    if line is None:
        assert most == 1
        return
    said = re.fullmatch(
        r"([\d.]+) is the largest slowdown, of job (\d+) \((\d+) nodes?, ring\) under (.+?)"
        r"(?:, and of (\d+) more)?: interference ([\d.]+) times placement ([\d.]+)\.",
        line,
    )
    value, number, size, name, more, interference, placement = said.groups()
    job = next(job for job in scene.runs[name] if job.id == int(number))
    assert job.network_slowdown == most
    assert float(value) == pytest.approx(most, abs=5.01e-4)
    assert int(size) == job.size
    assert float(interference) == pytest.approx(job.interference, abs=5.01e-4)
    assert float(placement) == pytest.approx(job.placement, abs=5.01e-4)
    assert int(more or 0) == sum(one.network_slowdown == most for _, one in jobs) - 1


@drawn(10, 30, scenes())
def test_the_network_is_said_to_change_what_it_changes(scene):
    """On the infinite network the jobs wait as long and run for their work alone."""
    results = scene.results()
    free = {
        name: sum(job.wait_s + job.work_s for job in jobs) / len(jobs)
        for name, jobs in scene.runs.items()
    }
    change = {name: scene.mean_turnaround(name) / free[name] - 1 for name in scene.runs}

    for name, line in zip(scene.runs, network_matters(results), strict=True):
        found = re.match(rf"{re.escape(name)}: (.+?) mean turnaround and (.+?) makespan", line)
        if found[1] == "the same":
            assert same(change[name], 0)
        else:
            assert differs(found[1], change[name])
        if "no job is slowed" in line:
            assert all(job.network_slowdown == 1 for job in scene.runs[name])
    (line,) = [line for line in headlines(results) if "infinite network" in line]
    found = re.match(r"(.+?) mean turnaround under (.+?) (?:than|as) on an infinite", line)
    name = re.split(r", | and ", found[2])[0]
    if found[1] == "The same":
        assert all(same(value, 0) for value in change.values())
        return
    assert differs(found[1].lower(), change[name])
    assert abs(change[name]) >= max(map(abs, change.values())) - 1e-12


@drawn(10, 30, scenes(same_jobs=False))
def test_a_table_is_printed_of_whatever_ran(scene):
    text = comparison_table(scene.results(), width=80)

    assert max(map(len, text.splitlines())) <= 80
    assert "nan" not in text.lower().replace("finance", "")
    assert "inf " not in text


def test_a_damaged_fabric_does_not_win_by_losing_elsewhere():
    """Interference falls from 1.2 to 1.1 where placements cost 1.3 instead of nothing."""
    whole = Ran(1, 4, 100.0, 0.0, 1.2, 1.0)
    broken = Ran(1, 4, 100.0, 0.0, 1.1, 1.3)

    lines = reading(Scene({"first-free": (whole,), "day-3": (broken,)}).results())

    assert lines == [
        (
            "30.1 % of node time is lost to the network (9.1 % to interference, 21.0 % to "
            "placement) under day-3; 16.7 % (all to interference) under first-free."
        ),
        (
            "19.2 % longer mean turnaround under day-3 than under first-free; makespan 19.2 % "
            "longer; jobs 16.1 % slower by node time."
        ),
    ]


def test_where_every_alternative_is_worse_baseline_is_named_as_the_best():
    runs = {
        "first-free": (Ran(1, 4, 100.0, 0.0, 1.0, 1.0),),
        "random": (Ran(1, 4, 100.0, 0.0, 1.1, 1.0),),
        "ta": (Ran(1, 4, 100.0, 20.0, 1.0, 1.0),),
    }

    line = reading(Scene(runs).results())[1]

    assert line == (
        "10.0 % longer mean turnaround under random than under first-free, and first-free has the "
        "shortest of 3 runs; makespan 10.0 % longer; jobs 9.1 % slower by node time."
    )


def with_model(result, model):
    """Return a run that says on what network it was computed."""
    network = json_fields(Setting(model, "per-sender", "torus", ("minimal",), (1,), 0.0))
    return replace(result, summary={**result.summary, "network": network})


def test_runs_on_an_infinite_network_are_equal_and_say_why():
    run = (Ran(1, 4, 100.0, 5.0, 1.0, 1.0),)
    results = [with_model(r, "null") for r in Scene({"first-free": run, "ta": run}).results()]

    assert reading(results) == [
        "No node time is lost to the network under first-free and ta.",
        (
            "The same mean turnaround under ta as under first-free; the same makespan; jobs "
            "equally fast by node time."
        ),
    ]
    assert accuracy_lines(results) == [
        "Model null is an infinite network: there is nothing to compare with packets."
    ]


def test_a_run_without_a_network_is_marked_beside_one_with_a_network():
    run = (Ran(1, 4, 100.0, 5.0, 1.2, 1.0),)
    models = ("null", "assumed", "fast")
    drawn = zip(Scene(dict.fromkeys(NAMES[:3], run)).results(), models, strict=True)

    text = reading([with_model(result, model) for result, model in drawn])[0]

    assert "under first-free (infinite network);" in text
    assert "under ta (assumed, not simulated);" in text
    assert text.endswith("under day-3.")


def test_runs_whose_jobs_have_other_work_are_not_weighed():
    """The log's run times were divided by the slowdown on each fabric, say."""
    short, long = (Ran(1, 4, work_s, 0.0, 1.1, 1.0) for work_s in (90.0, 100.0))

    text = " ".join(reading(Scene({"first-free": (short,), "ta": (long,)}).results()))

    assert "The runs differ in their run times of the jobs alone" in text
    assert gain(text) is None


def test_a_link_without_a_known_loss_is_not_the_worst():
    (result,) = Scene({"ta": (Ran(1, 4, 100.0, 0.0, 1.5, 1.0),)}).results()
    result.links["interference_delay_node_s"] = [np.nan, 7200.0, 36000.0, *[np.nan] * 7]

    (line,) = [line for line in headlines([result]) if "node-hours" in line]

    assert line.startswith("10.0 node-hours are lost to interference at s1.0>s2.0 (leaf-up)")


def test_what_stands_between_backticks_is_code_and_all_else_is_escaped():
    found = str(page.bullets(["ask `packets`, or <b>"]))

    assert "<li>ask <code>packets</code>, or &lt;b&gt;</li>" in found
