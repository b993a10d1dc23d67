"""A sample of the fault suite; `python -m benchmarks.faults` is the whole of it."""

from random import Random

import pytest

from coupling.inputs.experiment import Experiment
from coupling.runs.campaign import run_campaign
from faults.disk import fill_at
from faults.kills import Killer
from faults.same import EXPERIMENT, differences


def test_a_run_that_was_killed_ends_with_the_same_bytes(tmp_path):
    killer = Killer(tmp_path, Random(5), n_jobs=200, workers=(1,))  # noqa: S311

    killed = killer.torment(0, workers=1, most=1)

    assert killer.faults == []
    assert killer.results == {True: 1}
    assert killed == sum(killer.kills.values()) == 1


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return an experiment and its result."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "try.toml").write_text(EXPERIMENT.format(n_jobs=30))
    experiment = Experiment.read(folder / "try.toml")
    run_campaign(experiment, folder / "whole")
    return experiment, folder / "whole"


@pytest.mark.parametrize("number", [1, 2, 3, 9, 10, 39])
def test_a_disk_that_is_full_at_one_write_is_one_line_and_the_rest_is_resumed(
    small, number, tmp_path
):
    """At the first manifest, the experiment, tables, the manifest of a run, and the last one."""
    experiment, reference = small

    assert fill_at(number, experiment, tmp_path / "out", reference) == []


def test_there_are_no_more_writes(small, tmp_path):
    experiment, reference = small

    assert fill_at(40, experiment, tmp_path / "out", reference) is None


def test_a_difference_is_found(small, tmp_path):
    """The suite sees another byte, a file too many, and one too few."""
    experiment, reference = small
    run_campaign(experiment, tmp_path / "out")
    assert differences(tmp_path / "out", reference) == []

    (tmp_path / "out" / ".lock").write_text("")
    (tmp_path / "out" / "ta" / "links.parquet").unlink()
    with (tmp_path / "out" / "random" / "jobs.parquet").open("ab") as file:
        file.write(b" ")
    found = "; ".join(differences(tmp_path / "out", reference))

    assert ".lock: only in one" in found
    assert "ta/links.parquet: only in one" in found
    assert "random/jobs.parquet: other bytes" in found
