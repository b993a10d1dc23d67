"""Figures of runs: files for a paper, whole letters and numbers, everything at its place."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from coupling.report.figures import run_figures, write_figures
from coupling.report.plots.links import level_links
from coupling.report.plots.style import palette
from coupling.results.over_time import binned
from netsim.topology.fattree import build_fat_tree


@pytest.mark.parametrize(
    "drawn", [("time", "maps"), pytest.param(None, marks=pytest.mark.heavy)], ids=["some", "all"]
)
def test_figures_for_a_paper_are_files_with_their_numbers(runs, tmp_path, drawn):
    """Each as PDF, SVG and CSV; the same bytes twice; names of runs are no paths."""
    named = [replace(run, name=name) for run, name in zip(runs, ("../a b", "..\\a b"), strict=True)]

    sections = run_figures(named)

    first = write_figures({key: sections[key] for key in drawn or sections}, tmp_path / "one")
    again = write_figures({"time": run_figures(named)["time"]}, tmp_path / "two")

    assert {path.parent for path in first} == {tmp_path / "one"}
    assert len(again) >= 9
    for path in again:
        assert (tmp_path / "one" / path.name).read_bytes() == path.read_bytes()
    stems = {path.stem for path in first}
    assert {f"{stem}.{form}" for stem in stems for form in ("pdf", "svg", "csv")} == {
        path.name for path in first
    }
    assert {"maps-.._a_b", "maps-.._a_b-2"} <= stems
    time = pd.read_csv(tmp_path / "one" / "time-utilization.csv")
    assert time.columns.tolist() == ["time_s", "../a b", "..\\a b"]
    assert time.iloc[0, 1] == pytest.approx(7 / 8)


@pytest.fixture(scope="module")
def pictures(runs):
    """Return the pictures of the report of a run by name."""
    sections = run_figures(runs[:1])
    return {own.name: own.picture.html() for part in sections.values() for own in part.figures}


def test_no_letter_of_a_label_is_cut_off(pictures):
    """Letters of 9 points stand left of their line, also where a new size has other ticks."""
    lines = {
        name: [float(x) for x in re.findall(r"rotate\(-90 ([-0-9.]+)", picture)]
        for name, picture in pictures.items()
    }

    assert {name for name, places in lines.items() if places and min(places) < 9} == set()
    assert len(lines["mean_interference"]) == len(lines["lost"]) == 1


def test_jobs_are_counted_in_whole_numbers(pictures):
    """Nobody waits, three run; elsewhere on the axes is one more 0 at most."""
    for name, counts in (("queued", ["0", "1"]), ("running", ["0", "1", "2", "3"])):
        ticks = re.findall(r">([0-9]+)</text>", pictures[name])
        assert [tick for tick in ticks if tick in counts] == counts


def test_shares_of_few_jobs_are_no_formulas(pictures):
    assert "mathdefault" not in pictures["tail"]


def test_bins_hold_the_mean_over_time_of_a_step_function():
    """4 for 1 s, then 8 for 3 s: bins of 2 s have 6 and 8; past the last instant there is none."""
    timeline = pd.DataFrame({"time_s": [0.0, 1.0, 4.0], "queued": [4, 8, 0]})

    means = binned(timeline, "queued", np.array([0.0, 2.0, 4.0, 6.0]))

    np.testing.assert_allclose(means, [6.0, 8.0, np.nan])


def test_links_of_a_tree_lie_at_the_port_that_their_number_says():
    """
    The place found by levels is that of the tree's own numbering.

    Up-port q of level-l element x is link up_base[l] + x * ports[l] + q, also with parallel cables;
    the same cable downwards has down_base.
    """
    tree = build_fat_tree([2, 3, 2], [1, 2, 2], [1, 2, 1], "1 B/s")
    places = level_links(tree, np.arange(tree.n_links, dtype=float))

    assert len(places) == sum(2 * tree.counts[level] * tree.ports[level] for level in (1, 2))
    for row in places.itertuples():
        base = (tree.up_base if row.up else tree.down_base)[row.level]
        assert row.busy_fraction == base + row.switch * tree.ports[row.level] + row.port


def test_an_allocator_keeps_its_colour_and_no_two_share_one():
    names = ["first-free", "contiguous", "laas", "greedy", "jigsaw", "random", "lc+s"]

    assert palette(names)["jigsaw"] == palette(["jigsaw"])["jigsaw"]
    assert len(set(palette(names).values())) == len(names)
