"""Experiment files: what is read, what is refused, and how the refusal reads."""

import tomllib

import pytest
import tomli_w

from coupling.errors import ExperimentError
from coupling.experiment import Experiment

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
        ("[topology\n", "no valid TOML"),
        (MINIMAL + "[schedular]\n", r"unknown table \[schedular\]; choose from topology"),
        (
            MINIMAL + "[scheduler]\nwindw = 3\n",
            r"\[scheduler\] windw: unknown key; choose from .*, window",
        ),
        (MINIMAL + "[scheduler]\nwindow = -3\n", r"\[scheduler\] window: expected a whole number"),
        (
            MINIMAL + "[scheduler]\nwindow = 3\nqueue_options = {window = 4}\n",
            r"\[scheduler\] window: expected it here or in queue_options, not in both, got 3",
        ),
        (MINIMAL + "[scheduler]\nallocator = 3\n", r"\[scheduler\] allocator: expected a text"),
        (MINIMAL + "[run]\nseed = 1.5\n", r"\[run\] seed: expected a whole number from 0, got 1.5"),
        (MINIMAL + '[run]\nruntime_means = "x"\n', "expected one of isolated, baseline, got 'x'"),
        (MINIMAL + "[run]\nself_check = 1\n", "self_check: expected true or false, got 1"),
        (MINIMAL + "[compare]\nallocators = 'ta'\n", "allocators: expected a list of different"),
        (MINIMAL + "[compare]\nallocators = ['ta', 'ta']\n", "expected a list of different names"),
        (
            MINIMAL + "[compare]\nallocators = ['baseline', 'ta', 'first-free']\n",
            r"\[compare\] allocators: 'baseline' and 'first-free' are one allocator",
        ),
        ('[topology]\nkind = "fat-tree"\n', r"workload: expected a table \[workload\]"),
        (MINIMAL.replace("[workload]", '[workload]\nestimates = "magic"'), "requested or runtime"),
        ("topology = 3\n[workload]\n", "topology: expected a table"),
        (
            MINIMAL + "[scheduler]\nallocator = 'lc'\n[compare]\nallocators = ['ta']\n",
            r"allocator: expected one of those compared \(ta\), got 'lc'",
        ),
        (
            MINIMAL + "[scheduler]\noptions = {x = 1}\n[compare]\nallocators = ['ta']\n",
            "options: expected an allocator beside it",
        ),
        (
            MINIMAL + "[compare]\nallocators = ['ta']\noptions = {lc = {}}\n",
            "options: expected tables of options named by one of those compared",
        ),
        (MINIMAL + "[scheduler]\noptions = 3\n", "options: expected a table of options"),
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
        + '[scheduler]\nallocator = "jigsaw"\noptions = {order = "index"}\n'
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
