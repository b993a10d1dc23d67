"""Inputs of somebody who breaks things."""

import json
from pathlib import Path

import pytest

from coupling.site import verify


def test_a_matrix_whose_last_line_does_not_end_is_read_as_one_that_does(case):
    command = case("01-mtx-segfault")
    here = command("estimate", "s.json", "--json")
    text = Path("z.mtx").read_text()
    assert not text.endswith("\n")

    Path("z.mtx").write_text(text.rstrip() + "\n")
    ended = command("estimate", "s.json", "--json")
    Path("z.mtx").write_text(text + "x")
    letter = command("estimate", "s.json", "--json")

    assert here == ended
    assert (here[0], here[2]) == (0, "")
    assert (letter[0], letter[1], letter[2].count("\n")) == (2, "", 1)


@pytest.mark.parametrize("value", ["7,5 GB", "1e3x", "7,5", "1 2", "seven"])
def test_a_value_of_a_matrix_that_is_no_number_is_refused(case, value):
    command = case("02-mtx-garbage-value")
    text = Path("z.mtx").read_text()
    Path("z.mtx").write_text(text.replace("7,5 GB", value))

    status, out, err = command("estimate", "s.json", "--json")

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert f"z.mtx: line 3: expected two ranks and a number, got '4 1 {value}'" in err


@pytest.mark.parametrize(
    "options", [{"iterations": 2}, {"samples": 0}, {"tolerance": "a"}, {"seed": -1}], ids=str
)
@pytest.mark.parametrize("change", [("--fail", "s2.0"), ("--each-switch",)], ids=str)
def test_options_of_a_snapshot_are_refused_by_whatif_as_by_estimate(case, options, change):
    command = case("03-whatif-unknown-option")
    fields = json.loads(Path("s.json").read_text())
    del fields["options"]
    Path("s.json").write_text(json.dumps({**fields, "model_options": options}))

    refused = command("estimate", "s.json")

    assert refused[:2] == (2, "")
    assert "contention model " in refused[2]
    assert command("whatif", "s.json", *change) == refused


def contents(folder):
    """Return the bytes of every file below a folder, by name."""
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


SITE = ("--topology", "topology.conf", "--sacct", "records.txt", "--at", "2024-05-27T12:00")
OVER_INPUTS = [
    "topology convert topology.conf --to graphml --out topology.conf",
    "topology convert topology.conf --to graphml --out ./topology.conf",
    "topology convert topology.conf --to graphml --out link.conf",
    "topology convert link.conf --to graphml --out topology.conf",
    "topology convert topology.conf --to graphml --out second.conf",
    "topology inspect topology.conf --html topology.conf",
    "topology inspect topology.conf --svg topology.conf",
    "topology inspect topology.conf --html new.html --svg topology.conf",
    "calibrate --topology topology.conf --runs records.txt --out records.txt",
    "calibrate --topology topology.conf --runs records.txt --out topology.conf",
    "calibrate --topology topology.conf --runs records.txt --out new.toml --html records.txt",
    "trace inspect records.txt --format sacct --html records.txt",
    "trace convert records.csv ./records.csv --format sacct",
    "replay records.txt --topology topology.conf --out new --html records.txt",
    "estimate s.json --html s.json",
    "verify s.json --html s.json",
    "flows f.json --html f.json",
    *(
        f"{command} {' '.join(SITE)} --{option} {name}"
        for command in ("now", "place --nodes 4")
        for option, name in [("html", "records.txt"), ("html", "topology.conf"), ("out", "r.csv")]
    ),
]


@pytest.mark.parametrize("line", OVER_INPUTS)
def test_no_output_overwrites_an_input(case, line):
    command, here = case("04-output-overwrites-input"), Path()
    Path("records.csv").write_bytes(Path("records.txt").read_bytes())
    Path("link.conf").symlink_to("topology.conf")
    Path("second.conf").hardlink_to("topology.conf")
    Path("r.csv").symlink_to("records.txt")
    tree = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
    job = {"id": 1, "nodes": [0, 1], "pattern": "ring", "comm_fraction": 0.5}
    Path("s.json").write_text(json.dumps({"topology": tree, "jobs": [job]}))
    Path("f.json").write_text(json.dumps({"topology": tree, "flows": [[0, 1, 10]]}))
    before = contents(here)

    status, out, err = command(*line.split())

    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "expected another file for the output than one that is read" in err
    assert contents(here) == before


@pytest.mark.parametrize(
    "line",
    [
        f"now {' '.join(SITE)} --html new.csv --out ./new.csv",
        "topology inspect topology.conf --html new.svg --svg new.svg",
        "topology inspect topology.conf --html old.svg --svg old.svg",
    ],
)
def test_no_output_overwrites_another(case, line):
    command, here = case("04-output-overwrites-input"), Path()
    Path("old.svg").write_text("old")
    before = contents(here)

    status, out, err = command(*line.split())

    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "expected another file for each output" in err
    assert contents(here) == before


@pytest.mark.usefixtures("undrawn")
def test_no_output_overwrites_a_file_of_a_result(case):
    command, here = case("05-output-overwrites-result"), Path()
    assert command("run", "e.toml", "--out", "res")[0] == 0
    before = contents(here)
    assert len(before) > 20

    for line in (
        "export res --run random --to perfetto --out res/random/jobs.parquet",
        "snapshot res --at 100 --run random --out res/manifest.json",
        "metrics res --per-minute res/random/summary.json",
        "report res --out res/experiment.resolved.toml",
        "report res --out new.html --figures res/random/jobs.parquet",
        "trace inspect log.swf --html res/jigsaw/links.parquet",
        "trace convert log.swf res/random/jobs.parquet",
        "topology convert fat-tree --to graphml --out res/manifest.json",
    ):
        status, out, err = command(*line.split())
        assert (status, out) == (2, ""), line
        assert err.count("\n") == 1, line
        assert contents(here) == before | {
            name: data for name, data in contents(here).items() if name == "new.html"
        }, line

    assert command("report", "res")[0] == 0
    assert command("metrics", "res")[0] == 0


def test_a_private_page_stays_private(case):
    command = case("04-output-overwrites-input")
    page = Path("page.html")
    page.write_text("old")
    page.chmod(0o600)

    assert command("topology", "inspect", "topology.conf", "--html", "page.html")[0] == 0

    assert page.read_text() != "old"
    assert page.stat().st_mode & 0o777 == 0o600


def test_a_permutation_of_one_long_word_is_refused_without_taking_it_apart(case, monkeypatch):
    """Each place of its own is looked at once: a word of so many letters took 45 s."""
    command = case("06-permutation-long-word")
    tree = {"kind": "fat-tree", "radix": 4, "bandwidth": "1 GB/s"}
    ring = {"name": "ring", "nbytes": "1 MiB"}
    job = {"id": 1, "nodes": [0, 1, 2], "pattern": ring, "comm_fraction": 0.5}
    Path("s.json").write_text(json.dumps({"topology": tree, "jobs": [job]}))
    taken, real = [], verify.shlex.split

    def split(line, **options):
        taken.append(len(line))
        return real(line, **options)

    monkeypatch.setattr(verify.shlex, "split", split)
    Path("p.txt").write_text("# " + "x" * 3_000_000 + "\n0 1\n1 2\n2 " + "x" * 3_000_000 + "\n")

    status, out, err = command("verify", "s.json", "--permutation", "p.txt", "--allow-unknown")

    assert (status, out) == (2, "")
    assert err == "fabricsim: p.txt:4: expected two names, got a line of 3,000,002 characters.\n"
    assert max(taken[1:]) < 10
