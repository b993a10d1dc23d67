"""Experiment files: what is read, what is refused, and how the refusal reads."""

import pickle
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from coupling.errors import ExperimentError
from coupling.inputs.experiment import Experiment
from coupling.inputs.experiment_fields import DRAWN, PLACES

MINIMAL = """
[topology]
kind = "fat-tree"
radix = 8
[workload]
generator = "synth"
mean_nodes = 4
"""


def write(tmp_path, text):
    path = tmp_path / "try.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_resolved_tables_read_back_to_the_same_experiment(tmp_path):
    """What is written as experiment.resolved.toml says all that a run depends on."""
    path = write(
        tmp_path,
        MINIMAL + '[scheduler]\nwindow = 7\nallocator = "ta"\n[compare]\nallocators = ["ta"]\n',
    )
    first = Experiment.read(path)

    tables = tomllib.loads(tomli_w.dumps(first.tables()))
    again = Experiment.from_tables(tables, "again", first.folder, first.name)

    assert again == first
    assert again.window == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[topology\n", "expected TOML, got"),
        (
            MINIMAL + "[schedular]\n",
            r"unknown table \[schedular\] .*; choose from topology",
        ),
        (
            MINIMAL + "[scheduler]\nwindw = 3\n",
            r"\[scheduler\] windw: unknown key .*; choose from .*, window",
        ),
        (MINIMAL + "[scheduler]\nwindow = -3\n", r"\[scheduler\] window: expected a whole number"),
        (
            MINIMAL + "[scheduler]\nwindow = 3\nqueue_options = {window = 4}\n",
            r"\[scheduler\] window: expected it here or in queue_options, not in both, got 3",
        ),
        (MINIMAL + "[scheduler]\nallocator = 3\n", r"\[scheduler\] allocator: expected a text"),
        (MINIMAL + "[run]\nseed = 1.5\n", r"\[run\] seed: expected a whole number from 0, got 1.5"),
        (
            MINIMAL + '[run]\nruntime_means = "x"\n',
            "expected one of isolated, baseline, alone, got 'x'",
        ),
        (MINIMAL + "[run]\nself_check = 1\n", "self_check: expected true or false, got 1"),
        (MINIMAL + "[compare]\nallocators = 'ta'\n", "allocators: expected a list of different"),
        (MINIMAL + "[compare]\nallocators = ['ta', 'ta']\n", "expected a list of different names"),
        (
            MINIMAL + "[compare]\nallocators = ['baseline', 'ta', 'first-free']\n",
            r"\[compare\] allocators: 'baseline' and 'first-free' are one allocator",
        ),
        ('[topology]\nkind = "fat-tree"\n', r"workload: expected a table \[workload\]"),
        (
            MINIMAL.replace("[workload]", '[workload]\nestimates = "magic"'),
            "expected one of requested, runtime, got 'magic'",
        ),
        ("topology = 3\n[workload]\n", "topology: expected a table"),
        (
            MINIMAL + "[scheduler]\nallocator = 'lc'\n[compare]\nallocators = ['ta']\n",
            r"allocator: expected one of those compared \(ta\), got 'lc'",
        ),
        (
            MINIMAL + "[scheduler]\nallocator_options = {x = 1}\n[compare]\nallocators = ['ta']\n",
            "allocator_options: expected an allocator beside it",
        ),
        (
            MINIMAL + "[compare]\nallocators = ['ta']\noptions = {lc = {}}\n",
            "options: expected tables of options named by one of those compared",
        ),
        (MINIMAL + "[scheduler]\nallocator_options = 3\n", "options: expected a table of options"),
        ('scheduler = 3\ntopology = "cab"\n[workload]\n', r"\[scheduler\]: expected a table"),
    ],
)
def test_a_wrong_field_is_an_error_with_file_table_and_field(tmp_path, text, message):
    """The message starts with the file's path."""
    path = write(tmp_path, text)

    with pytest.raises(ExperimentError, match=message) as caught:
        Experiment.read(path)

    assert str(caught.value).startswith(str(path))


def test_set_changes_fields_and_reads_bare_words_and_toml(tmp_path):
    """--set takes what a shell user types."""
    path = write(tmp_path, MINIMAL)

    changed = Experiment.read(
        path, ["scheduler.allocator=ta", "run.seed=7", "compare.allocators=['ta','jigsaw']"]
    )

    assert (changed.allocator, changed.seed, changed.compare) == ("ta", 7, ("ta", "jigsaw"))


@pytest.mark.parametrize("change", ["seed", "=3", "topology.radix.x=3"])
def test_set_without_a_field_or_value_is_an_error(tmp_path, change):
    """Nothing is guessed."""
    with pytest.raises(ExperimentError, match="--set"):
        Experiment.read(write(tmp_path, MINIMAL), [change])


def test_variants_keep_the_options_of_the_allocator_they_belong_to(tmp_path):
    """Options of one allocator are not given to another."""
    path = write(
        tmp_path,
        MINIMAL
        + '[scheduler]\nallocator = "jigsaw"\nallocator_options = {order = "index"}\n'
        + '[compare]\nallocators = ["ta", "jigsaw"]\n',
    )

    variants = Experiment.read(path).variants()

    assert [(v.allocator, dict(v.allocator_options)) for v in variants] == [
        ("ta", {}),
        ("jigsaw", {"order": "index"}),
    ]


def test_naming_one_allocator_on_the_command_line_runs_that_one_alone(tmp_path):
    """--set scheduler.allocator=ta wins over the file's comparison."""
    path = write(tmp_path, MINIMAL + "[compare]\nallocators = ['first-free', 'jigsaw']\n")

    alone = Experiment.read(path, ["scheduler.allocator=ta"])

    assert [variant.allocator for variant in alone.variants()] == ["ta"]


def test_compared_allocators_have_options_of_their_own(tmp_path):
    """[compare] options are given by name."""
    options = "options = {jigsaw = {order = 'index'}}\n"
    path = write(tmp_path, MINIMAL + "[compare]\nallocators = ['ta', 'jigsaw']\n" + options)

    variants = Experiment.read(path).variants()

    assert [dict(variant.allocator_options) for variant in variants] == [{}, {"order": "index"}]


def test_every_path_goes_along_when_an_experiment_is_located(tmp_path):
    """Log, profile, fabric, tables and matrix files; anything else stays as it is."""
    here = Experiment(
        topology={"kind": "file", "path": "t.csv", "name_map": "m.map"},
        workload={"path": "-"},
        communication={"rule": [{"pattern": {"name": "matrix", "file": "m.csv"}}]},
        routing={"lft": "x.lft", "fabric": "f.txt"},
        folder=tmp_path,
    ).located()

    assert here.topology == {
        "kind": "file",
        "path": str(tmp_path / "t.csv"),
        "name_map": str(tmp_path / "m.map"),
    }
    assert here.workload == {"path": "-"}
    assert here.communication["rule"][0]["pattern"]["file"] == str(tmp_path / "m.csv")
    assert here.routing == {"lft": str(tmp_path / "x.lft"), "fabric": str(tmp_path / "f.txt")}


def test_the_fabric_of_a_gpu_cluster_is_no_path(tmp_path):
    table = {"kind": "gpu-cluster", "hosts": 4, "hosts_per_unit": 2, "fabric": "clos"}

    located = Experiment(topology=table, workload={"path": "-"}, folder=tmp_path).located()

    assert located.topology == table


WRONG = {
    "topology": [None, 3, ["cab"], True],
    "workload": [None, 3, []],
    "communication": [3, False],
    "replay": [3, "log", False, {"until": 3}, {"unknown": "ask"}, {"free_from": 5}],
    "events": [3, False, {"until": 3}, {"list": 3}, {"node_mtbf": -1}, {"on_failure": "wait"}],
    "queue": [None, 3, ["easy"], True],
    "queue_options": [None, 3, "window", [("window", 3)]],
    "window": [-1, 2.0, True, "50", float("nan")],
    "allocator": [None, 3, ["ta"]],
    "allocator_options": [None, 3, "x"],
    "kill_at_limit": [None, "no", 0, 1, "false"],
    "node": [3, "cores", {"core": 8}, {"cores": 0}, {"memory": "much"}, {"path": 3}],
    "routing": [3, True, ["jigsaw"]],
    "model": [None, 3],
    "model_options": [None, 3],
    "fairness": [None, "per-node", 1],
    "estimates": ["request", 3, True],
    "seed": [None, -1, 1.0, True, "1", float("nan")],
    "seeds": [None, 3, {"workload": -1}, {"workload": 1.5}, {"routing": True}, {"topology": 1}],
    "runtime_means": [None, "basline", 3],
    "self_check": [None, 1, "yes"],
    "links_timeline": [None, 1, "yes"],
    "attribution": [None, 1, "yes"],
    "compare": [None, "ta", ("ta", "ta"), ("baseline", "first-free"), (3,)],
    "compare_options": [None, 3, {"ta": {}}],
    "plugins": [3, "mine.py", [3], ["no-such-file.py"]],
    "folder": [None, 3],
    "name": [None, 3],
    "source": [None, 3],
}
FEW = {"topology": "cab", "workload": {"generator": "synth", "mean_nodes": 4}}


def test_every_field_has_wrong_values():
    assert WRONG.keys() == {field.name for field in fields(Experiment)}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_wrong_value_is_refused_when_an_experiment_is_made_or_changed(name, value):
    """The constructor and `replace` check as a file is checked."""
    for make in (
        lambda: Experiment(**{**FEW, name: value}),
        lambda: replace(Experiment(**FEW), **{name: value}),
    ):
        with pytest.raises(ExperimentError, match=r"expected|unknown key|are one allocator"):
            make()


@pytest.mark.parametrize(
    ("table", "now"), [("scheduler", "allocator_options"), ("network", "model_options")]
)
def test_options_are_refused_with_the_name_that_they_have_now(table, now):
    tables = {**FEW, table: {"options": {"order": "index"}}}

    with pytest.raises(ExperimentError, match=f"options: expected {now}, as it is called now"):
        Experiment.from_tables(tables, "experiment", "", "experiment")


def places():
    """Yield table, key and field of everything that a file can say as well."""
    for name in ("topology", "workload", "communication", "replay"):
        yield None, name, name
    yield "workload", "estimates", "estimates"
    for table, keys in PLACES.items():
        for key, name in keys.items():
            yield table, key, name


@pytest.mark.parametrize(("table", "key", "name"), list(places()))
def test_a_file_and_python_refuse_the_same_with_the_same_words(table, key, name):
    for value in WRONG[name]:
        if value is None:  # no file says so
            continue
        tables = {name: dict(own) if isinstance(own, dict) else own for name, own in FEW.items()}
        (tables if table is None else tables.setdefault(table, {}))[key] = value

        with pytest.raises(ExperimentError) as from_file:
            Experiment.from_tables(tables, "experiment", "", "experiment")
        with pytest.raises(ExperimentError) as from_python:
            Experiment(**{**FEW, name: value})

        assert str(from_file.value) == str(from_python.value)


def test_what_python_has_for_lists_texts_and_numbers_is_taken():
    """Arrays, tuples, paths and numpy's numbers are what a file writes as lists and texts."""
    made = Experiment(
        topology={"kind": "torus", "dims": (3, 4), "nodes_per_router": np.int64(2)},
        workload={"path": Path("a.swf"), "window_s": np.array([0, 10])},
        seed=np.int64(3),
        folder="logs",
        compare=["ta", "jigsaw"],
    )

    assert made.topology == {"kind": "torus", "dims": [3, 4], "nodes_per_router": 2}
    assert made.workload == {"path": "a.swf", "window_s": [0, 10]}
    assert (made.seed, made.folder, made.compare) == (3, Path("logs"), ("ta", "jigsaw"))
    assert tomllib.loads(tomli_w.dumps(made.tables()))["run"]["seed"] == 3


@pytest.mark.parametrize("field", ["topology", "workload", "queue_options", "compare", "allocator"])
def test_lists_inside_lists_without_end_are_refused_in_one_line(field):
    deep = []
    for _ in range(2000):
        deep = [deep]

    with pytest.raises(ExperimentError, match=f"{field}: expected values at most 50 levels"):
        Experiment(**{**FEW, field: {"kind": deep}})


def test_estimates_may_stand_in_the_workload_as_in_a_file_but_not_twice():
    log = {**FEW["workload"], "estimates": "runtime"}

    assert Experiment("cab", log) == Experiment(**FEW, estimates="runtime")
    with pytest.raises(ExperimentError, match=r"estimates: expected it here or beside"):
        Experiment("cab", log, estimates="runtime")


def test_changing_what_was_handed_in_changes_no_experiment():
    log = dict(FEW["workload"])
    made = Experiment("cab", log)
    log["mean_nodes"] = -1

    assert made.workload["mean_nodes"] == 4


def test_an_experiment_survives_the_way_to_a_worker():
    made = Experiment(**FEW, seeds={"routing": 4})

    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301 (our own bytes)


@pytest.mark.parametrize("path", ["text", "path"])
def test_a_file_is_read_by_text_or_path(tmp_path, path):
    file = write(tmp_path, MINIMAL)

    assert Experiment.read(str(file) if path == "text" else file).name == "try"


def test_each_part_draws_from_a_seed_of_its_own_that_follows_from_the_run():
    """By hand: numpy's SeedSequence of the run's seed, spawned with the number of the part."""
    seeds = Experiment(**FEW, seed=7).all_seeds

    assert seeds == {
        part: np.random.SeedSequence(7).spawn(len(DRAWN))[place].generate_state(1)[0]
        for place, part in enumerate(DRAWN)
    }
    assert len({*seeds.values(), *Experiment(**FEW, seed=8).all_seeds.values()}) == 2 * len(DRAWN)


def test_a_seed_that_is_given_stays_when_the_run_takes_another():
    first = Experiment(**FEW, seed=1, seeds={"communication": 5})
    second = replace(first, seed=2)

    assert first.all_seeds["communication"] == second.all_seeds["communication"] == 5
    assert first.all_seeds["workload"] != second.all_seeds["workload"]


def test_a_resolved_file_states_all_seeds_and_another_seed_of_the_run_changes_them(tmp_path):
    """What was derived is derived anew; what was given stays."""
    first = Experiment.read(write(tmp_path, MINIMAL + "[run]\nseeds = {routing = 9}\n"))
    path = write(tmp_path, tomli_w.dumps(first.tables()))

    again, other = Experiment.read(path), Experiment.read(path, ["run.seed=2"])

    assert tomllib.loads(path.read_text())["run"]["seeds"] == dict(first.all_seeds)
    assert again == first
    assert other == replace(first, seed=2)
    assert other.all_seeds["routing"] == 9
