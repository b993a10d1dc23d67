"""The command as people and scripts meet it: arguments in; output, status and files out."""

import gzip
import io
import json
import sys
from dataclasses import dataclass

import pandas as pd
import pytest
import typer.main
from small_run import EXPERIMENT, LINE, swf, write_small

from coupling.cli.root import app, main


@dataclass
class Done:
    """What a call left behind."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def fabricsim(tmp_path, monkeypatch, capfd):
    """Return a function that runs the command in a folder with an experiment and a log."""
    write_small(tmp_path)
    monkeypatch.chdir(tmp_path)

    def call(*arguments, stdin=""):
        monkeypatch.setattr(sys, "argv", ["fabricsim", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(ended.value.code or 0, *capfd.readouterr())

    return call


def test_run_prints_a_table_and_writes_results(fabricsim, tmp_path):
    """The main job: a table on stdout, files in results/NAME, a second run beside it."""
    done = fabricsim("run", "try.toml")
    again = fabricsim("run", "try.toml")

    assert (done.returncode, again.returncode) == (0, 0), done.stderr
    assert "random" in done.stdout
    assert (tmp_path / "results" / "try" / "jobs.parquet").exists()
    assert (tmp_path / "results" / "try-2" / "jobs.parquet").exists()


def test_json_alone_is_on_stdout(fabricsim):
    """Programs read the summaries."""
    done = fabricsim("run", "try.toml", "--json", "--out", "there")

    (summary,) = json.loads(done.stdout)
    assert summary["jobs"] == 40
    assert {
        "utilization_steady",
        "utilization_makespan",
        "makespan_s",
        "mean_wait_s",
        "mean_turnaround_s",
        "mean_bounded_slowdown",
        "mean_interference",
        "max_interference",
        "mean_network_slowdown",
        "node_seconds_lost_to_interference",
        "dropped",
        "nodes",
    } <= summary.keys()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((), "full fat-tree, d-mod-k); outside what was compared: 16 nodes (128"),
        pytest.param(
            ("network.fairness=per-flow",),
            "outside what was compared: per-flow (per-sender)",
            marks=pytest.mark.heavy,
        ),
        (("scheduler.allocator=jigsaw", "network.routing=jigsaw"), "Jobs share no link, so interf"),
        (("topology.parents=[1,1]", "topology.children=[4,4]"), "tapered fat-tree, d-mod-k)"),
        pytest.param(("network.routing=ecmp",), "full fat-tree, ecmp)", marks=pytest.mark.heavy),
        (("network.model=null",), "Model null is an infinite network"),
        pytest.param(
            ("network.model=assumed",),
            "Model assumed states what jobs lose",
            marks=pytest.mark.heavy,
        ),
    ],
)
def test_a_run_says_whether_its_kind_of_network_was_compared_with_packets(
    fabricsim, tmp_path, changes, words
):
    """In the terminal, in JSON and in the report, with the same words."""
    if "children" in str(changes):
        text = EXPERIMENT.replace("radix = 4", "parallel = [1, 1]")
        (tmp_path / "try.toml").write_text(text)
    sets = [word for change in changes for word in ("--set", change)]

    done = fabricsim("run", "try.toml", "--out", "one", *sets)
    told = json.loads(fabricsim("run", "try.toml", "--out", "two", "--json", *sets).stdout)

    (run,) = told
    assert words in run["network"]["accuracy"]
    assert run["network"]["accuracy"] in " ".join(done.stdout.split())
    assert fabricsim("report", "one").returncode == 0
    assert run["network"]["accuracy"] in (tmp_path / "one" / "report.html").read_text()
    stored = json.loads((tmp_path / "one" / "summary.json").read_text())["network"]
    assert stored.items() <= run["network"].items()


@pytest.mark.parametrize(
    ("pattern", "model", "traffic_class"),
    [
        ("pairwise", "fluid", "multi-step"),
        ("pairs", "fluid", "low-fanout"),
        ("pairs", "assumed", "mixed"),
    ],
)
def test_a_run_says_how_most_of_its_jobs_talk(fabricsim, tmp_path, pattern, model, traffic_class):
    """Most jobs of the log have 4 to 7 nodes: pairwise exchange then takes 3 to 6 steps."""
    rule = f'pattern = {{name = "{pattern}"}}\ncomm_fraction = 0.5\nbytes_per_flow = "1 MiB"\n'
    profile = f"[communication]\nversion = 1\n[[communication.rule]]\n{rule}"
    (tmp_path / "try.toml").write_text(EXPERIMENT + profile)

    done = fabricsim("run", "try.toml", "--out", "one", "--set", f"network.model={model}")

    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "one" / "summary.json").read_text())["network"]
    assert told["traffic_class"] == traffic_class


def test_experiment_is_read_from_standard_input(fabricsim):
    """- stands for standard input; paths start where the command runs."""
    done = fabricsim("run", "-", "--out", "there", "--json", stdin=EXPERIMENT)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["jobs"] == 40


def test_jobs_larger_than_the_machine_are_counted_with_the_reason(fabricsim, tmp_path):
    """16 nodes: a job of 17 is dropped, and table, manifest and job table say so."""
    with (tmp_path / "log.swf").open("a") as log:
        log.write(LINE.format(id=99, submit=1, run=10, procs=17, asked=10, status=1))

    done = fabricsim("run", "try.toml", "--out", "there")

    assert "larger than the machine (16 nodes)" in done.stdout
    manifest = json.loads((tmp_path / "there" / "manifest.json").read_text())
    assert manifest["dropped"] == {"larger than the machine (16 nodes)": 1}


def test_a_result_as_a_workload_leaves_out_what_it_has_dropped(fabricsim, tmp_path):
    """The job table holds what a dropped job asked for; it is not run the second time either."""
    with (tmp_path / "log.swf").open("a") as log:
        log.write(LINE.format(id=99, submit=1, run=10, procs=17, asked=10, status=1))
    assert fabricsim("run", "try.toml", "--out", "there").returncode == 0
    last = pd.read_parquet(tmp_path / "there" / "jobs.parquet").iloc[-1]
    assert (last["id"], last["n_nodes"], last["runtime_reference_s"]) == (99, 17, 10)

    done = fabricsim("trace", "inspect", "there/jobs.parquet", "--json")

    found = json.loads(done.stdout)
    assert found["dropped_by_reason"] == {"larger than the machine (16 nodes)": 1}


BAD_LOGS = {
    "truncated line": (swf() + "77 1 -1 5 2\n", ["log.swf:42", "18"]),
    "no number": (swf().replace(" 55 ", " fast ", 1), ["log.swf:", "fast"]),
    "negative run time": (swf(run=-7), ["log.swf:2", "-7"]),
    "empty": ("", ["log.swf"]),
    "only comments": ("; nothing\n", ["log.swf"]),
}


@pytest.mark.parametrize("case", BAD_LOGS)
def test_a_broken_log_is_one_line_with_file_and_line(fabricsim, tmp_path, case):
    """Exit status 2, one line on stderr, no traceback, no result directory."""
    text, words = BAD_LOGS[case]
    (tmp_path / "log.swf").write_text(text)

    assert_refused(fabricsim("run", "try.toml"), words, tmp_path)


def test_a_broken_gzip_file_is_refused(fabricsim, tmp_path):
    """A download cut short."""
    whole = gzip.compress(swf(4000).encode())
    (tmp_path / "log.swf").write_bytes(whole[: len(whole) // 2])

    assert_refused(fabricsim("run", "try.toml"), ["log.swf"], tmp_path)


BAD_CALLS = {
    "no such experiment": (["run", "other.toml"], ["other.toml", "cannot be read"]),
    "no such log": (["run", "try.toml", "--set", "workload.path=no.swf"], ["no.swf"]),
    "a directory": (["run", "try.toml", "--set", "workload.path=."], ["directory"]),
    "unknown allocator": (
        ["run", "try.toml", "--set", "scheduler.allocator=jigsav"],
        ["unknown allocator 'jigsav' (did you mean 'jigsaw'?); choose from", "jigsaw"],
    ),
    "unknown option": (
        ["run", "try.toml", "--set", "scheduler.allocator_options={x=1}"],
        ["allocator 'random': unknown option 'x'"],
    ),
    "value of a wrong type": (
        ["run", "try.toml", "--set", 'scheduler.queue_options={window="a"}'],
        ["try.toml: [scheduler]", "window"],
    ),
    "a fabric beyond all memory": (
        ["run", "try.toml", "--set", "topology.radix=1000000"],
        ["try.toml", "topology"],
    ),
    "unknown queue": (["run", "try.toml", "--set", "scheduler.queue=lifo"], ["lifo", "easy"]),
    "unknown routing": (["run", "try.toml", "--set", "network.routing=x"], ["'x'", "d-mod-k"]),
    "unknown model": (["run", "try.toml", "--set", "network.model=x"], ["'x'", "fluid"]),
    "unknown topology": (["run", "try.toml", "--set", "topology.kind=x"], ["'x'", "fat-tree"]),
    "unknown format": (["run", "try.toml", "--set", "workload.format=x"], ["'x'", "swf"]),
    "unknown filter": (["run", "try.toml", "--set", "workload.x=1"], ["x"]),
    "bad bandwidth": (
        ["run", "try.toml", "--set", 'topology.bandwidth="100 furlongs"'],
        ["100 furlongs", "Gb/s"],
    ),
    "no such profile": (
        ["run", "try.toml", "--set", "communication.profile=no.toml"],
        ["no.toml"],
    ),
    "unknown key of a profile": (
        ["run", "try.toml", "--set", "communication={version=1,rule=[{colour=1}]}"],
        ["colour"],
    ),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_a_wrong_name_or_value_is_one_line(fabricsim, tmp_path, case):
    """Exit status 2, one line on stderr that says what was expected."""
    arguments, words = BAD_CALLS[case]

    assert_refused(fabricsim(*arguments), words, tmp_path)


def assert_refused(done, words, folder):
    assert done.returncode == 2, done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("fabricsim: ")
    for word in words:
        assert word in lines[0]
    assert done.stdout == ""
    assert not (folder / "results").exists()


def test_a_queue_without_a_window_ignores_it(fabricsim):
    """Changing the queue of a file that has a window is no error."""
    changes = ["--set", "scheduler.queue=fcfs", "--set", "scheduler.window=5"]

    done = fabricsim("run", "try.toml", "--json", "--out", "there", *changes)

    assert done.returncode == 0, done.stderr


def test_a_place_that_cannot_be_written_is_one_line(fabricsim, tmp_path):
    """A file stands where the result directory should go."""
    (tmp_path / "taken").write_text("")

    done = fabricsim("run", "try.toml", "--out", "taken/inside")

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_run_that_memory_does_not_hold_names_its_experiment(fabricsim, monkeypatch):
    def no_room(*_, **__):
        raise MemoryError

    monkeypatch.setattr("coupling.runs.campaign.run_campaign", no_room)

    done = fabricsim("run", "try.toml")

    assert done.returncode == 2
    assert done.stderr == "fabricsim: try.toml: a run of it needs more memory than there is.\n"


def test_an_error_that_quotes_a_large_input_fits_on_a_screen(fabricsim):
    """File and field first, what was expected last."""
    done = fabricsim("run", "try.toml", "--set", f"topology.radix={'x' * 20_000}")

    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("fabricsim: try.toml")
    assert "radix" in line
    assert len(line) <= 1000


def test_an_internal_error_is_one_line_and_a_status_of_its_own(tmp_path, monkeypatch, capsys):
    """1 means that a check said no; the traceback is in a file."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["fabricsim", "--help"])
    monkeypatch.setattr("coupling.cli.root.app", lambda: {}["lost"])

    with pytest.raises(SystemExit) as ended:
        main()

    place = tmp_path / "fabricsim" / "traceback.txt"
    line = f"fabricsim: internal error, KeyError: 'lost' (traceback: {place})\n"
    assert (ended.value.code, capsys.readouterr().err) == (3, line)
    assert "Traceback (most recent call last)" in place.read_text()


def test_a_traceback_that_cannot_be_kept_goes_to_standard_error(tmp_path, monkeypatch, capsys):
    (tmp_path / "fabricsim").touch()  # a file where the folder would be
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["fabricsim", "--help"])
    monkeypatch.setattr("coupling.cli.root.app", lambda: {}["lost"])

    with pytest.raises(SystemExit) as ended:
        main()

    first, *_, last = capsys.readouterr().err.splitlines()
    assert ended.value.code == 3
    assert first == "Traceback (most recent call last):"
    assert last == "fabricsim: internal error, KeyError: 'lost' (traceback: above)"


def test_every_command_has_json():
    """The README says so."""
    commands = [("", typer.main.get_command(app))]
    without = []
    while commands:
        name, own = commands.pop()
        inner = getattr(own, "commands", {})
        commands += [(f"{name} {part}", one) for part, one in inner.items()]
        if not inner and not any("--json" in option.opts for option in own.params):
            without.append(name)
    assert without == []
