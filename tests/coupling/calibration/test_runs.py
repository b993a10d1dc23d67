"""`calibrate_runs`: run times that grow with predicted interference tell the fraction."""

import re

import numpy as np
import pytest
import tomli_w
from measured.ports import KINDS, profile_of
from measured.repeated import FABRIC, repeated_runs

import fabricsim as fs
from coupling.calibration.runs import _slope
from coupling.errors import SnapshotError

GUESS = profile_of({name: (pattern, 0.3) for name, (pattern, _) in KINDS.items()})


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    return repeated_runs(tmp_path_factory.mktemp("runs"), jobs=120)


@pytest.fixture(scope="module")
def found(record):
    return fs.calibrate_runs(record, FABRIC, profile=GUESS)


def test_run_times_tell_the_fraction_of_every_group(found):
    """
    The truth is a coupled run in which interference emerges; a run takes whole seconds.

    Its fixed points are within the default tolerance of the solver, 1e-2 of every rate.
    """
    for group in found.groups:
        assert group.identifiable
        assert group.fraction == pytest.approx(KINDS[group.group][1], rel=0.06)


def test_replay_and_fit_that_do_not_agree_yet_say_so(found, record, monkeypatch):
    monkeypatch.setattr("coupling.calibration.runs._TURNS", 2)

    early = fs.calibrate_runs(record, FABRIC, profile=GUESS)

    assert not any("still differed" in told for told in found.remarks)
    (told,) = [told for told in early.remarks if "still differed" in told]
    assert re.fullmatch(r"Replay and fit still differed by 0\.\d+ after 2 turns\.", told)


def test_the_written_profile_is_read_by_replay(found, record, tmp_path):
    profile = tmp_path / "told.toml"
    profile.write_text(tomli_w.dumps(dict(found.profile)))

    told = fs.replay(record, FABRIC, profile=profile)

    assert set(told.recorded.jobs["pattern"]) == {
        "stencil",
        "all-to-all",
        "allreduce",
        "sub-all-to-all",
    }


def test_runs_follow_the_straight_line_by_hand():
    """100 s (1 + f (x - 1)) with f = 0.4, and 300 s on more nodes."""
    stretch = np.array([1.0, 2.0, 3.0, 1.5, 1.0, 2.5, 4.0])
    sizes = np.array([4, 4, 4, 4, 8, 8, 8])
    work = np.where(sizes == 4, 100.0, 300.0)

    slope = _slope(work * (1.0 + 0.4 * (stretch - 1.0)), stretch, sizes)

    assert slope.fraction == pytest.approx(0.4, abs=1e-4)
    assert slope.low == pytest.approx(slope.high, abs=0.005)
    assert not slope.why


def test_runs_that_all_met_the_same_tell_nothing():
    slope = _slope(np.array([10.0, 11, 12, 13, 14]), np.full(5, 2.0), np.full(5, 4))

    assert slope.why == "all its runs had the same interference"


def test_few_runs_tell_nothing():
    slope = _slope(np.array([10.0, 11, 12]), np.array([1.0, 2, 3]), np.array([4, 4, 8]))

    assert slope.why == "too few: 3 whole runs on 2 sizes"


def test_run_times_that_scatter_by_themselves_tell_nothing():
    chance = np.random.default_rng(1)
    stretch = 1.0 + 0.05 * chance.random(12)

    slope = _slope(np.exp(chance.normal(5.0, 0.5, 12)), stretch, np.full(12, 4))

    assert slope.why == "too much noise in its run times"


def test_runs_from_standard_input_are_refused():
    with pytest.raises(SnapshotError, match="-: expected a file, which is read several times"):
        fs.calibrate_runs("-", FABRIC)
