"""What people see of a sweep: the command, the page, Python."""

import json

import pandas as pd
import pytest

import fabricsim as fs

BASE = {
    "topology": {"kind": "fat-tree", "radix": 4},
    "workload": {"generator": "synth", "mean_nodes": 3, "n_jobs": 30},
    "run": {"self_check": False},
}
VARIED = {"scheduler.allocator": ["random", "jigsaw"], "run.seed": range(1, 4)}


def test_the_command_tells_differences_and_writes_page_and_pictures(command, small, tmp_path):
    folder = tmp_path / "out"

    status, out, err = command("sweep", small, "--out", folder)

    assert status == 0, err
    assert "jigsaw beats random in" in out
    assert "8 of 8 cells in" in err
    page = (folder / "sweep.html").read_text()
    assert "<svg" in page
    assert "Over two factors" in page
    assert (folder / "forest.png").read_bytes()[1:4] == b"PNG"
    assert (folder / "heat.svg").read_text().startswith("<?xml")


def test_compare_answers_for_programs_what_it_tells_people(command, done):
    """JSON holds the numbers of Python's table."""
    status, out, _ = command("compare", done, "--json")
    told = json.loads(out)

    assert status == 0
    assert told["baseline"] == "random"
    found = fs.Sweep.open(done).compare().to_frame()
    assert len(told["differences"]) == len(found)
    assert told["differences"][0]["difference"] == pytest.approx(found["difference"].iloc[0])


def test_report_writes_the_same_page_again(command, done):
    assert command("report", done)[0] == 0
    first = (done / "sweep.html").read_bytes()

    status, out, _ = command("report", done)

    assert (status, out) == (0, f"{done / 'sweep.html'}\n")
    assert (done / "sweep.html").read_bytes() == first


@pytest.mark.usefixtures("undrawn")
def test_report_writes_the_page_of_a_sweep_to_another_file(command, done, tmp_path):
    assert command("report", done)[0] == 0
    first = (done / "sweep.html").read_bytes()

    status, out, err = command("report", done, "--out", tmp_path / "page.html")

    assert (status, out, err) == (0, f"{tmp_path / 'page.html'}\n", "")
    assert (tmp_path / "page.html").read_bytes() == first
    status, _, err = command("report", done, "--figures", tmp_path / "figures")
    assert status == 2
    assert "--figures: expected results, got the sweep" in err


def test_a_map_may_be_over_any_two_factors(command, done):
    status, _, err = command("compare", done, "--heat", "run.seed,policy")

    assert status == 0, err
    assert "seed" in (done / "heat.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--metric", "nix"], "unknown metric 'nix'"),
        (["--over", "days"], "expected a log of several days"),
        (["--heat", "a"], "--heat: expected two of scheduler.allocator"),
        (["--baseline", "ta"], "--baseline: unknown policy 'ta'; choose from random, jigsaw"),
    ],
)
def test_wrong_questions_are_one_line(command, done, arguments, told):
    status, out, err = command("compare", done, *arguments)

    assert (status, out) == (2, "")
    assert told in err
    assert err.count("\n") == 1


def test_questions_about_sweeps_are_refused_beside_runs(command, done):
    status, _, err = command("compare", done, done, "--by", "run.seed")

    assert status == 2
    assert "--by: expected one directory of a sweep beside it" in err


def test_python_sweeps_in_memory_and_shows_itself_in_a_line():
    """An object with to_frame and repr; the same numbers as single runs."""
    swept = fs.sweep(BASE, VARIED)
    cells = swept.to_frame()

    assert repr(swept) == "<Sweep 'sweep': 6 cells (2 scheduler.allocator, 3 run.seed)>"
    assert repr(swept.compare()) == "<Comparison with 'random': 1 policies, 3 samples>"
    one = fs.Experiment(
        **{k: BASE[k] for k in ("topology", "workload")}, allocator="random", seed=2
    )
    own = cells[(cells["scheduler.allocator"] == "random") & (cells["run.seed"] == 2)]
    told = fs.run(one).summary
    assert own["mean_turnaround_s"].item() == told["mean_turnaround_s"]
    assert isinstance(swept.compare().to_frame(), pd.DataFrame)


def test_python_takes_a_file_with_other_factors(small):
    swept = fs.sweep(small, {"scheduler.allocator": ["ta"], "run.seed": [7]})

    assert swept.to_frame()[["scheduler.allocator", "run.seed"]].to_numpy().tolist() == [["ta", 7]]


def test_a_fabric_given_as_an_object_is_refused():
    """A cell must be known by what it computes."""
    made = fs.Experiment(fs.topology("fat-tree", radix=4), BASE["workload"])

    with pytest.raises(fs.FabricsimError, match="topology: expected a name or a table"):
        fs.sweep(made, VARIED)


def test_an_allocator_of_ones_own_is_swept_by_reference(tmp_path):
    """Two processes find it in its file."""
    (tmp_path / "mine.py").write_text(
        "from scheduler import NodeChooser\n"
        "class Corner(NodeChooser):\n"
        "    def choose(self, job, free, cluster):\n"
        "        return free[-job.n_nodes :]\n"
    )
    names = ["random", f"{tmp_path / 'mine.py'}:Corner"]

    swept = fs.sweep(BASE, {"scheduler.allocator": names, "run.seed": [1]}, workers=2)

    assert swept.to_frame()["scheduler.allocator"].tolist() == names
