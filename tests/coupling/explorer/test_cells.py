"""Cells of a sweep: run again when they are looked at, and the same as the sweep kept."""

import json
import threading

import pytest
from chromium import NO_BROWSER, PROGRAM
from explorer_help import panel, served, shown

from coupling.errors import ResultError
from coupling.explorer.cells import SweepView
from coupling.explorer.server import shown_of
from coupling.results.manifest import write_file
from coupling.sweep.spec import Spec
from coupling.sweep.sweep import run_sweep

SWEEP = """
[topology]
kind = "fat-tree"
radix = 4

[workload]
generator = "synth"
mean_nodes = 4
n_jobs = 30

[run]
self_check = false

[sweep]
"scheduler.allocator" = ["random", "jigsaw"]
"""


@pytest.fixture
def folder(tmp_path):
    """Return the directory of a sweep with a cell for each of two allocators."""
    (tmp_path / "sweep.toml").write_text(SWEEP)
    run_sweep(Spec.read(tmp_path / "sweep.toml"), tmp_path / "cells")
    return tmp_path / "cells"


def awaited(cells, names):
    """Return what a page says of cells when nothing more comes."""
    told = threading.Event()
    while "being run again" in (words := cells.ready(names, told.set)):
        assert told.wait(60)
        told.clear()
    return words


def test_a_cell_is_run_again_and_is_the_same(folder):
    cells = shown_of([folder])
    names = ["allocator random", "allocator jigsaw"]
    kept = [json.loads(path.read_text()) for path in (folder / "marks").iterdir()]

    assert cells.names == names
    assert awaited(cells, names) == ""
    assert {
        one["factors"]["scheduler.allocator"]: one["summary"]["mean_network_slowdown"]
        for one in kept
    } == {name.split()[-1]: cells.results[name].summary["mean_network_slowdown"] for name in names}
    assert len(cells.run(names[0]).jobs) == kept[0]["summary"]["jobs"]
    assert not cells.run(names[1]).load.why_not  # load over time is there as well


def test_a_cell_that_comes_out_otherwise_is_refused(folder):
    for path in (folder / "marks").iterdir():
        mark = json.loads(path.read_text())
        mark["summary"]["mean_network_slowdown"] *= 2
        write_file(path, json.dumps(mark).encode())

    words = awaited(SweepView(folder), ["allocator random"])

    assert (
        "run again, it has another mean_network_slowdown: files or versions have changed" in words
    )


def test_a_sweep_that_is_half_done_shows_the_finished_cells_and_one_without_any_is_refused(folder):
    marks = sorted((folder / "marks").iterdir())
    marks[0].unlink()
    assert SweepView(folder).about.startswith("1 of 2 cells")
    marks[1].unlink()
    with pytest.raises(ResultError, match="expected a finished cell, found none"):
        SweepView(folder)
    with pytest.raises(ResultError, match="expected a sweep alone, got 2 paths"):
        shown_of([folder, folder])


@pytest.mark.browser
@pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)
def test_a_cell_is_chosen_and_another_set_beside_it(folder, opened):
    with served(SweepView(folder)) as explorer:
        page = opened(f"{explorer.address}&job=3")
        assert "Job 3" in panel(page, "Job 3")
        page.select_option("#beside", "allocator jigsaw")
        page.wait_for_function(
            "() => Bokeh.documents[0].get_model_by_name('gantt-1').visible"
            " && Bokeh.documents[0].get_model_by_name('over-queued').renderers.length == 2"
        )
        page.select_option("#run", "allocator jigsaw")

        shown(page, "run=allocator%20jigsaw")
        page.keyboard.press("Escape")
        assert "2 of 2 cells" in panel(page, "2 of 2 cells")
        assert page.faults == []
