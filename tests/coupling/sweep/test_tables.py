"""Results of many cells: opened in few files, and checked where they are read."""

import json
import sys

import pandas as pd
import pytest

from coupling.errors import ResultError
from coupling.sweep.plan import Plan
from coupling.sweep.spec import Spec
from coupling.sweep.store import Store
from coupling.sweep.sweep import Sweep, gather, run_sweep

FEW = {"plan.json", "sweep.toml", "gathered.json", "cells.parquet", "classes.parquet"}
_LISTENERS = []


def _heard(event, arguments):
    if event == "open" and _LISTENERS:
        _LISTENERS[0].append(str(arguments[0]))


@pytest.fixture
def opened():
    """Return the list of files that are opened from now on."""
    if not hasattr(sys, "_fabricsim_hears_opens"):  # a hook cannot be taken away
        sys.addaudithook(_heard)
        sys._fabricsim_hears_opens = True
    _LISTENERS.append([])
    yield _LISTENERS[0]
    _LISTENERS.clear()


def inside(opened, folder):
    """Return the names of the opened files of a sweep."""
    return {name.removeprefix(f"{folder}/") for name in opened if name.startswith(f"{folder}/")}


def test_comparing_opens_five_files_however_many_cells_there_are(done, opened):
    Sweep.open(done).compare()

    assert inside(opened, done) == FEW


def test_days_are_read_only_where_they_are_asked_for(done, opened):
    """All jobs come within a day, so that there is nothing to compare."""
    with pytest.raises(ResultError, match="expected a log of several days"):
        Sweep.open(done).compare(over="days")

    assert inside(opened, done) == FEW - {"classes.parquet"} | {"days.parquet"}


def test_gathering_opens_marks_and_sums_but_no_job_table(done, opened):
    gather(Plan.load(done), done)

    kinds = {name.partition("/")[0] for name in inside(opened, done) if "/" in name}
    assert kinds == {"marks", "classes"}


def test_gathered_sums_are_those_of_the_cells(done):
    """Also where pandas opens them."""
    each = pd.read_parquet(done / "classes").astype({"cell": str})
    for name, keys in (("classes", ["cell", "size", "pattern"]), ("days", ["cell", "day"])):
        own = pd.read_parquet(done / f"{name}.parquet").set_index(keys).sort_index()
        sums = each.groupby(keys)[list(own)].sum().sort_index()

        pd.testing.assert_frame_equal(own, sums, check_index_type=False)


def test_an_opened_sweep_says_what_the_computed_one_said(small, tmp_path):
    computed = run_sweep(Spec.read(small), tmp_path / "out")
    read = Sweep.open(tmp_path / "out")

    pd.testing.assert_frame_equal(read.to_frame(), computed.to_frame())
    pd.testing.assert_frame_equal(read.compare().to_frame(), computed.compare().to_frame())


def test_a_job_table_is_checked_where_it_is_read(done):
    """A byte of it is another; the length is the same."""
    cell = Plan.load(done).cells[3]
    path = Store(done).table("jobs", cell)
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)

    Sweep.open(done)
    with pytest.raises(ResultError, match=r"jobs.parquet: expected SHA-256"):
        Store(done).read("jobs", cell)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["cells", "classes"])
def test_a_damaged_table_over_all_cells_is_refused_and_made_again(command, done, name):
    path = done / f"{name}.parquet"
    before = path.read_bytes()
    path.write_bytes(before[:-9])

    status, out, err = command("compare", done)
    assert (status, out) == (2, "")
    assert f"{name}.parquet: expected SHA-256" in err
    assert f"fabricsim gather {done} makes it again" in err
    assert command("gather", done)[0] == 0
    assert path.read_bytes() == before


def test_cells_of_an_older_version_that_counted_no_bytes_are_still_read(done):
    """Their tables are read whole instead."""
    for path in done.glob("marks/*.json"):
        document = json.loads(path.read_text())
        del document["bytes"]
        path.write_text(json.dumps(document))
    victim = next(done.glob("jobs/*/jobs.parquet"))

    assert len(gather(Plan.load(done), done).cells) == 8
    victim.write_bytes(victim.read_bytes()[:-7])
    with pytest.raises(ResultError, match=r"jobs.parquet: expected SHA-256"):
        gather(Plan.load(done), done)
