"""Cells: names of factors, labels, hashes, and what can never run."""

import re
import tomllib
from pathlib import Path

import pytest

from coupling.errors import ExperimentError
from coupling.inputs.experiment import Experiment
from coupling.inputs.experiment_fields import DEFAULT_MODEL
from coupling.sweep.plan import Plan, make_plan
from coupling.sweep.spec import Spec
from scheduler.workload import synth, write_swf

BASE = {
    "topology": {"kind": "fat-tree", "radix": 4},
    "workload": {"generator": "synth", "mean_nodes": 3, "n_jobs": 20},
    "run": {"self_check": False},
}


def spec(varied, base=None, **more):
    return Spec.make(base or BASE, varied, source="f.toml", **more)


def experiments(made):
    return [made.experiment(values) for values in made.combinations]


def test_the_same_allocator_stands_twice_with_different_options():
    """Options of the file belong to the allocator that the file names."""
    base = {**BASE, "scheduler": {"allocator": "jigsaw", "allocator_options": {"order": "index"}}}
    made = spec(
        {"scheduler.allocator": ["jigsaw", {"name": "jigsaw", "label": "plain"}, "ta"]}, base
    )

    assert [dict(one.allocator_options) for one in experiments(made)] == [
        {"order": "index"},
        {},
        {},
    ]


def test_labels_tell_options_apart_and_may_be_given():
    values = ["jigsaw", {"name": "jigsaw", "order": "index"}, {"name": "ta", "label": "mine"}]
    made = spec({"scheduler.allocator": values})

    assert list(made.labels["scheduler.allocator"].values()) == [
        "jigsaw",
        "jigsaw(order=index)",
        "mine",
    ]


def test_every_kind_of_factor_reaches_the_experiment():
    """Options, seeds of parts, whole tables, fields inside lists."""
    made = spec(
        {
            "topology": [{"kind": "fat-tree", "radix": 6, "label": "wide"}],
            "scheduler.queue": [{"name": "easy", "reservation": "R3"}],
            "network.model": [{"name": "assumed", "scenario": "5%"}],
            "communication.seed": [7],
            "allocator.seed": [8],
            "communication.rule.0.chance": [0.25],
            "communication.rule.*.comm_fraction": [0.3],
            "workload.mean_nodes": [2],
        }
    )
    (one,) = experiments(made)

    assert one.topology["radix"] == 6
    assert (one.queue, dict(one.queue_options)) == ("easy", {"reservation": "R3"})
    assert (one.model, dict(one.model_options)) == ("assumed", {"scenario": "5%"})
    assert (one.all_seeds["communication"], one.all_seeds["allocator"]) == (7, 8)
    assert one.communication["rule"][0]["chance"] == 0.25
    assert {rule["comm_fraction"] for rule in one.communication["rule"]} == {0.3}
    assert one.workload["mean_nodes"] == 2


def test_profiles_may_vary_together_with_a_field_of_their_rules(tmp_path):
    """Each profile is written out, whatever the base has, before its rules are changed."""
    rule = '[[rule]]\npattern = {name = "PATTERN"}\ncomm_fraction = 0.9\nbytes_per_flow = "1 MiB"\n'
    for pattern in ("pairs", "ring"):
        text = "version = 1\n" + rule.replace("PATTERN", pattern)
        (tmp_path / f"{pattern}.toml").write_text(text)
    named = [{"profile": "pairs.toml", "label": "far"}, {"profile": "ring.toml"}]
    varied = {"communication": named, "communication.rule.*.comm_fraction": [0.1, 0.5]}

    made = spec(varied, folder=tmp_path)

    found = [one.communication["rule"][0] for one in experiments(made)]
    assert [(rule["pattern"]["name"], rule["comm_fraction"]) for rule in found] == [
        ("pairs", 0.1), ("pairs", 0.5), ("ring", 0.1), ("ring", 0.5),
    ]  # fmt: skip
    assert list(made.labels["communication"].values()) == ["far", "ring.toml"]


def test_policies_of_one_sample_stand_together_and_share_its_seeds():
    """Common random numbers: what differs between two policies is the policy."""
    made = spec({"scheduler.allocator": ["ta", "random"], "run.seed": [1, 2]})
    pairs = [(one.allocator, one.all_seeds) for one in experiments(made)]

    assert [name for name, _ in pairs] == ["ta", "random", "ta", "random"]
    assert pairs[0][1] == pairs[1][1] != pairs[2][1] == pairs[3][1]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("scheduler.alocator", "scheduler.allocator"),
        ("run.sed", "run.seed"),
        ("comunication.seed", "communication.seed"),
        ("allocator", "scheduler.allocator"),
        ("compare.allocators", "scheduler.allocator"),
    ],
)
def test_an_unknown_factor_is_told_with_the_nearest_name(name, near):
    with pytest.raises(ExperimentError, match=rf"unknown factor; did you mean '{near}'\?"):
        spec({name: [1, 2]})


def test_allocators_that_a_file_compares_are_a_factor():
    base = {**BASE, "compare": {"allocators": ["ta", "lc"], "options": {"lc": {"steps": 9}}}}

    made = experiments(spec({"run.seed": [1]}, base))
    named = experiments(spec({"scheduler.allocator": ["jigsaw"]}, base))

    assert [(one.allocator, dict(one.allocator_options)) for one in made] == [
        ("ta", {}),
        ("lc", {"steps": 9}),
    ]
    assert [one.allocator for one in named] == ["jigsaw"]


def test_seeds_of_an_experiment_follow_the_swept_one():
    """An experiment writes out all seeds; only those that it states stay."""
    base = Experiment(BASE["topology"], BASE["workload"], seeds={"communication": 5})
    one, two = experiments(Spec.make(base, {"run.seed": [1, 2]}))

    assert one.all_seeds["communication"] == two.all_seeds["communication"] == 5
    assert one.all_seeds["workload"] != two.all_seeds["workload"]


def test_all_cells_that_can_never_run_are_told_at_once():
    """By reason, with what they have in common."""
    made = spec(
        {"scheduler.allocator": ["ta", "tta"], "communication.rule.*.comm_fraction": [0.5, 1.5]}
    )

    with pytest.raises(ExperimentError) as told:
        make_plan(made)

    text = str(told.value)
    assert text.startswith("f.toml: 3 of 4 cells can never run: ")
    assert "unknown allocator 'tta'" in text
    assert "(1 cell: scheduler.allocator = tta; communication.rule.*.comm_fraction = 0.5)" in text
    assert "expected fractions in 0..1, got 1.5" in text
    assert "(2 cells: communication.rule.*.comm_fraction = 1.5)" in text
    assert "\n" not in text


def test_two_cells_that_are_the_same_run_are_refused():
    with pytest.raises(ExperimentError, match=r"allocator = ta and .* = ta are the same run"):
        make_plan(spec({"zip": [{"scheduler.allocator": ["lc", "ta", "ta"]}]}))


def test_two_values_of_one_label_are_refused():
    values = [{"name": "ta", "label": "x"}, {"name": "lc", "label": "x"}]

    with pytest.raises(ExperimentError, match=r"two values are called 'x'; give their tables"):
        spec({"scheduler.allocator": values})


@pytest.mark.parametrize(("name", "value"), [("network.routing", None), ("run.seed", object())])
def test_what_no_file_can_hold_is_refused(name, value):
    """From Python; a plan is a file."""
    with pytest.raises(ExperimentError, match=r"f.toml: expected values that a file can hold"):
        spec({name: [value, 1]})


def test_standard_input_is_refused():
    """It could be read once."""
    with pytest.raises(ExperimentError, match=r"expected a file, which each worker can read"):
        make_plan(spec({"run.seed": [1]}, {**BASE, "workload": {"path": "-"}}))


def test_a_cell_is_known_by_what_it_computes(tmp_path):
    """Contents of the log and settings count; places and other factors do not."""
    for name, n_jobs in (("a", 20), ("b", 20), ("c", 21)):
        (tmp_path / name).mkdir()
        write_swf(tmp_path / name / "log.swf", synth(3, n_jobs=n_jobs, seed=2).jobs)

    def names(folder, varied):
        base = {**BASE, "workload": {"path": "log.swf"}}
        return [cell.name for cell in make_plan(spec(varied, base, folder=tmp_path / folder)).cells]

    first = names("a", {"run.seed": [1, 2]})
    assert names("b", {"run.seed": [1, 2]}) == first
    assert names("b", {"run.seed": [2, 3], "scheduler.allocator": ["first-free"]})[0] == first[1]
    assert not set(names("c", {"run.seed": [1, 2]})) & set(first)


def test_a_plan_reads_back_from_anywhere(tmp_path, monkeypatch):
    """Paths are absolute, random values are written out."""
    write_swf(tmp_path / "log.swf", synth(3, n_jobs=20, seed=2).jobs)
    (tmp_path / "f.toml").write_text(
        """
        topology = {kind = "fat-tree", radix = 4}
        [sweep]
        "workload.path" = ["log.swf"]
        scheduler.queue = ["easy", {name = "easy", reservation = "R3"}]
        samples = 3
        random."communication.rule.*.comm_fraction" = {uniform = [0.1, 0.5]}
        """
    )
    (tmp_path / "plan").mkdir()
    plan = make_plan(Spec.read(tmp_path / "f.toml"))
    plan.save(tmp_path / "plan")
    monkeypatch.chdir("/")

    again = Plan.load(tmp_path / "plan")

    assert again.cells == plan.cells
    assert [again.experiment(at).tables() for at in range(6)] == [
        plan.experiment(at).tables() for at in range(6)
    ]


def test_the_examples_of_the_page_are_sweeps():
    """As many cells as the page leads one to expect."""
    page = (Path(__file__).parents[3] / "docs" / "reference" / "experiment.md").read_text(
        encoding="utf-8"
    )
    examples = re.findall(r"```toml\n(\[sweep\]\n.*?)```", page, re.DOTALL)

    made = [spec(tomllib.loads(example)["sweep"]) for example in examples]

    assert [len(one.design) for one in made] == [3 * 3 * 5 * 2, 2 * 100]
    assert all(experiments(one) for one in made)


def test_a_field_that_varies_cannot_be_set():
    with pytest.raises(ExperimentError, match=r"--set run.seed=3: .* varies this field"):
        spec({"run.seed": [1]}, changes=["run.seed=3"])


@pytest.mark.parametrize(
    ("varied", "named"),
    [
        ({"run.seed": [1, 2]}, {"model": DEFAULT_MODEL}),
        ({"network.model": ["null", "fluid"]}, None),
    ],
)
def test_a_planned_sweep_names_the_model_of_its_cells(varied, named):
    """Another version, with another default, does not compute other cells then."""
    assert tomllib.loads(spec(varied).to_toml()).get("network") == named
