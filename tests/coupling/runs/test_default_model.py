"""The model of a run that names none: said alike everywhere, and never mixed with another."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from coupling.errors import ResultError
from coupling.inputs.experiment import Experiment
from coupling.inputs.experiment_fields import DEFAULT_MODEL
from coupling.runs.campaign import run_campaign
from coupling.runs.engine import run
from coupling.runs.stored import Stored
from netsim.registries.accuracy import comparisons

ROOT = Path(__file__).parents[3]
SMALL = {"workload": {"generator": "synth", "mean_nodes": 6, "n_jobs": 30}, "self_check": False}
SAID = {  # where the default is written out, and how
    "docs/reference/experiment.md": r"^\| `model` \|.*\| `([\w-]+)` \|$",
}


@pytest.mark.parametrize("page", SAID)
def test_pages_say_which_model_a_run_has_that_names_none(page):
    text = (ROOT / page).read_text(encoding="utf-8")

    assert re.findall(SAID[page], text, re.MULTILINE) == [DEFAULT_MODEL]


def test_the_class_says_which_model_an_experiment_has_that_names_none():
    (default,) = (own.default for own in fields(Experiment) if own.name == "model")

    assert default == DEFAULT_MODEL
    assert f'    model : str, default "{DEFAULT_MODEL}"\n' in Experiment.__doc__


def test_the_default_is_compared_with_packets_wherever_another_model_is():
    def settings(model):
        return {
            (one.machine, one.routing, one.fairness, one.buffer_bytes, one.traffic_class, one.load)
            for one in comparisons()
            if one.model == model
        }

    assert settings("null") | settings("flow-level") <= settings(DEFAULT_MODEL)


def test_no_example_names_a_model_so_that_all_show_the_default():
    named = [
        path.name
        for path in (ROOT / "examples").glob("*.toml")
        if re.search(r"^model\s*=", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert named == []


def test_a_result_names_its_model_and_is_not_gone_on_with_under_another_default(
    experiment, tmp_path
):
    """What an older version began with its own default goes on where that is named."""
    older = experiment(**SMALL, model="flow-level", compare=("random", "jigsaw"))
    run_campaign(older, tmp_path)
    (tmp_path / "jigsaw").rename(tmp_path.parent / "lost")  # as if it were killed before

    with pytest.raises(ResultError, match=rf"\(network.model was flow-level, is {DEFAULT_MODEL}\)"):
        run_campaign(experiment(**SMALL, compare=("random", "jigsaw")), tmp_path, resume=True)

    assert Stored.open(tmp_path).experiment.model == "flow-level"
    kept = (tmp_path / "random" / "jobs.parquet").read_bytes()
    again = run_campaign(older, tmp_path, resume=True)
    assert {result.summary["network"]["model"] for result in again.results} == {"flow-level"}
    assert (tmp_path / "random" / "jobs.parquet").read_bytes() == kept


def test_isolated_jobs_run_as_on_an_infinite_network_but_for_their_placement(experiment):
    """The log's run times are those alone on the placement, so that the placement costs nothing."""
    own = {**SMALL, "allocator": "jigsaw", "routing": "jigsaw", "runtime_means": "alone"}
    usual, infinite = (
        run(experiment(**own, model=model, links_timeline=True))
        for model in (DEFAULT_MODEL, "null")
    )

    assert set(usual.jobs["interference"]) == {1.0}
    assert usual.jobs.equals(infinite.jobs)
