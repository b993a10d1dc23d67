"""The commands that documents name can be started, and measure nothing when mistyped."""

import json
import re
import runpy
import sys
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from measured.matrix import CELLS, Truth, scene

from benchmarks import evidence, golden, measured, structure, words
from benchmarks.accuracy import PLACE, record_comparisons
from benchmarks.contention import matrix
from benchmarks.finding import __main__ as finding
from benchmarks.finding import page as finding_page
from netsim.registries.accuracy import Comparison, comparisons

ROOT = Path(__file__).parents[1]
SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "benchmarks").rglob("*.py"))
    if path.stem != "__init__"
}
COMMANDS = sorted(
    name.removeprefix("benchmarks.").removesuffix(".__main__")
    for name, text in SOURCES.items()
    if '__name__ == "__main__"' in text
)
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("name", SOURCES)
def test_benchmarks_are_imported_as_python_m_does(name):
    """From the top level, where `python -m benchmarks.name` is typed."""
    import_module(name)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks").rglob("*.toml")), ids=lambda path: path.stem
)
def test_profiles_that_experiments_name_are_there(path):
    """Beside the experiment or in the examples."""
    named = re.findall(r'profile = "(.+?)"', path.read_text(encoding="utf-8"))

    assert all((path.parent / name).is_file() for name in named)


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_pictures_of_pages_can_be_shown(picture):
    """A browser shows nothing of a picture that is no XML."""
    root = ET.parse(picture).getroot()  # noqa: S314 (our own)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_pages_name_commands_that_exist(page):
    """Every command of a page is a module of the folder that can be run."""
    text = page.read_text(encoding="utf-8")

    assert "python benchmarks/" not in text
    assert set(re.findall(r"python -m benchmarks\.([\w.]*\w)", text)) <= set(COMMANDS)


def _module(name):
    """Return the module that `python -m benchmarks.name` runs."""
    whole = f"benchmarks.{name}"
    return whole if whole in SOURCES else f"{whole}.__main__"


def started(name, monkeypatch, folder, *arguments):
    """Run a command in a folder and return its exit status; recording anything is a fault."""

    def refuse(*_, **__):
        raise AssertionError("the command measured")

    import_module(_module(name))
    for source in SOURCES:
        module = sys.modules.get(source)
        for writer in ("record", "record_comparisons"):
            if hasattr(module, writer):
                monkeypatch.setattr(module, writer, refuse)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [f"benchmarks/{name}.py", *arguments])
    with (
        pytest.warns(RuntimeWarning, match="found in sys.modules"),
        pytest.raises(SystemExit) as end,
    ):
        runpy.run_module(_module(name), run_name="__main__")
    return end.value.code


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_told_and_nothing_measured(name, monkeypatch, tmp_path, capsys):
    before = evidence.EVIDENCE.read_bytes()

    assert started(name, monkeypatch, tmp_path, "--help") == 0

    assert "usage" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
    assert evidence.EVIDENCE.read_bytes() == before


@pytest.mark.parametrize("name", COMMANDS)
def test_a_typing_mistake_is_refused_and_nothing_measured(name, monkeypatch, tmp_path, capsys):
    before = evidence.EVIDENCE.read_bytes()

    assert started(name, monkeypatch, tmp_path, "--helf") == 2

    told = capsys.readouterr()
    assert "error" in told.err
    assert not told.out
    assert not list(tmp_path.iterdir())
    assert evidence.EVIDENCE.read_bytes() == before


@pytest.mark.parametrize("wrong", ["0", "-3", "many", "1.5"])
def test_a_count_is_a_whole_number_from_1(wrong, monkeypatch, tmp_path, capsys):
    assert started("contention.blame", monkeypatch, tmp_path, wrong) == 2
    assert wrong in capsys.readouterr().err


def test_a_folder_that_is_absent_is_refused(monkeypatch, tmp_path, capsys):
    assert started("contention.packet_judge", monkeypatch, tmp_path, "nowhere") == 2
    assert "expected a folder, got 'nowhere'" in capsys.readouterr().err


def test_the_table_of_accuracy_is_written_where_results_read_it():
    assert (
        json.loads(PLACE.read_text(encoding="utf-8"))[0].keys() == asdict(comparisons()[0]).keys()
    )


def test_a_command_replaces_its_own_rows_alone(tmp_path):
    row, path = asdict(comparisons()[0]), tmp_path / "accuracy.json"

    def changed(**changes):
        return [Comparison(**(row | changes))]

    record_comparisons("one", changed(source="one", jobs=1), path)
    record_comparisons("two", changed(source="two", mean_error=0.1234567, jobs=7), path)
    record_comparisons("one", changed(source="one", jobs=2), path)

    found = [Comparison(**entry) for entry in json.loads(path.read_text())]

    assert [(one.source, one.jobs) for one in found] == [("two", 7), ("one", 2)]
    assert found[0].mean_error == 0.123457


def test_the_structure_of_a_tree_is_counted(tmp_path):
    """By hand: three rooms, of which two know each other; 3 of 9 lines are docstrings."""
    for room, text in {
        "low": '"""Low."""\n',
        "one": '"""One."""\nfrom netsim.two import here\nfrom netsim.low import here\n\nx = 1\n',
        "two": '"""Two."""\nimport netsim.one.here\nimport numpy\n',
    }.items():
        (tmp_path / "netsim" / room).mkdir(parents=True)
        (tmp_path / "netsim" / room / "here.py").write_text(text)

    found = structure.count(tmp_path, "netsim", set())

    assert (found.files, found.lines, found.docstring_lines) == (3, 9, 3)
    assert found.rooms == {"netsim.low", "netsim.one", "netsim.two"}
    assert len(found.arrows) == 3
    assert found.upward() == 2


def test_a_renamed_column_is_told_from_a_changed_number():
    """Of two tables: one column has another name, one another value, one is gone."""
    before = {"files": {"jobs.parquet": {"slowdown": "#1", "wait_s": "#2", "told": "#3"}}}
    after = {"files": {"jobs.parquet": {"network_slowdown": "#1", "wait_s": "#4"}}}
    step = {"command": "run e.toml", "status": 0}

    found = golden.differences({"steps": [step], **before}, {"steps": [step], **after})

    assert found == [
        "jobs.parquet: renamed: slowdown -> network_slowdown",
        "jobs.parquet: gone: told = #3",
        "jobs.parquet: changed: wait_s: #2 -> #4",
    ]


def test_a_refusal_and_a_table_are_kept_without_places_and_times():
    """A trace is converted; then a file that is not there is asked for."""
    log = b"id,submit_s,runtime_s,nodes\n1,0,5,2\n2,1,0.1,1\n"
    argv = ("trace", "convert", "log.csv", "out.parquet", "--format", "csv", "--json")
    entry = golden.Entry("two", (argv, ("trace", "inspect", "none.csv")), {"log.csv": log})

    found = golden.answer(entry)

    assert [step["status"] for step in found["steps"]] == [0, 2]
    (line,) = found["steps"][1]["error"]
    assert line == "fabricsim: none.csv: cannot be read: No such file or directory."
    assert found["files"]["out.parquet"]["n_nodes"] == golden.digest([2, 1])


def test_every_entry_of_the_golden_file_is_run():
    """None is left over from an earlier state of the script."""
    assert list(json.loads(golden.GOLDEN.read_text())) == [one.name for one in golden.entries()]


def test_what_is_known_is_kept_and_no_more_is_simulated_when_time_is_over(tmp_path, monkeypatch):
    """Two scenes of made-up truth: they come back as they were, and nothing else does."""
    path = tmp_path / "matrix.json"
    known = [scene(*CELLS[0], number) for number in (0, 1)]
    said = {
        one.digest: Truth(np.linspace(1.0, 1.3, len(one.jobs)), np.ones(len(one.jobs)))
        for one in known
    }
    matrix.write_kept(said, path)
    monkeypatch.setattr(matrix, "CELLS", CELLS[:1])
    monkeypatch.setattr(matrix.read_kept, "__defaults__", (path,))
    monkeypatch.setattr(matrix.write_kept, "__defaults__", (path,))
    monkeypatch.setattr(matrix, "NUMBERS", (0, 1, 2, 3))

    found = matrix.measure(matrix.gather(0))

    assert [one.scene.number for one in found] == [0, 1]
    true, null = matrix.joined(found, "null")
    assert true == pytest.approx(np.concatenate([said[one.digest].interference for one in known]))
    assert np.all(null == 1.0)
    assert [row for row in matrix.table(found, matrix.REPORTED) if "| d-mod-k | 1 |" in row]
    ranks = {job.per_node for job in known[1].jobs}
    rows = matrix.comparisons(found)
    assert {row.ranks_per_node for row in rows} <= ranks  # of odd scenes alone


@pytest.mark.heavy
def test_all_cases_of_the_other_packet_simulation_meet_their_bars(shared, monkeypatch):
    """Each case, as the evidence has it."""
    judge = import_module("benchmarks.contention.packet_judge")
    monkeypatch.setattr(judge, "record", lambda *_: None)
    monkeypatch.setattr(judge, "record_comparisons", lambda *_: None)

    assert judge.main(Path(shared("reference/packet/micro.json")).parent) == 0


def test_the_page_of_the_finding_is_that_of_its_record():
    """Who changes the record, the words or the code makes the page anew."""
    document = json.loads(finding.RECORD.read_text(encoding="utf-8"))
    found = pd.DataFrame(document["cells"], columns=document["columns"])

    assert finding_page.page(document["made"], found) == finding.PAGE.read_text(encoding="utf-8")
    assert finding_page.numbers(found).to_csv(index=False) == finding.NUMBERS.read_text("utf-8")


def test_cells_of_logs_that_are_not_run_again_stay_recorded_with_their_date(tmp_path, monkeypatch):
    """Atlas is run again; Thunder keeps its cells, and the model it was run with."""
    old = {"date": "2001-02-03", "fabricsim": "0.0.1", "model_code": "abc1234"}
    record = tmp_path / "cells.json"
    bias, columns = finding_page.biases(), ["log", "draw"]
    made = {"bias": bias, "logs": {"Thunder": old, "Atlas": old}}
    cells = [["Thunder", 1], ["Atlas", 1], ["Atlas", 2]]
    record.write_text(json.dumps({"made": made, "columns": columns, "cells": cells}))
    monkeypatch.setattr(finding, "RECORD", record)

    finding._record(pd.DataFrame([["Atlas", 7]], columns=columns), ["Atlas"])

    new = json.loads(record.read_text())
    assert new["cells"] == [["Thunder", 1], ["Atlas", 7]]
    assert new["made"]["logs"]["Thunder"] == old
    assert new["made"]["logs"]["Atlas"]["date"] > "2026"

    changed = {**made, "bias": {**bias, "always": 0.5}}
    record.write_text(json.dumps({"made": changed, "columns": columns, "cells": cells}))
    with pytest.raises(SystemExit, match="run all logs"):
        finding._record(pd.DataFrame([["Atlas", 7]], columns=columns), ["Atlas"])


def test_losses_of_the_finding_are_means_over_draws_and_the_nearest_assumption_is_named():
    """Baseline loses 1 and 3 % to neighbours, and 4, 8, 16, 5 and 7 % by the assumptions."""
    names = ["log", "part", "allocator", "model", "mix", "fraction", "draw", "neighbours"]
    met = [
        ("Atlas", "simulated", "first-free", "fluid", "far", 1.0, n, 0.02 * n - 0.01)
        for n in (1, 2)
    ]
    told = [
        ("Atlas", "assumed", "first-free", name, "mixed", 0.0, n, loss)
        for name, loss in (("5%", 0.04), ("10%", 0.08), ("20%", 0.16), ("V1", 0.05), ("V2", 0.07))
        for n in (1, 2)
    ]

    table = finding_page.losses(pd.DataFrame([*met, *told], columns=names))

    (own,) = table[table["scenario"] == ""].to_dict("records")
    assert own["loss"] == pytest.approx(0.02)
    near = [finding_page.nearest(table, "Atlas", loss) for loss in (0.01, 0.03, 0.055, 0.2, 0.3)]
    assert near == ["nothing", "5%", "V1", "20%", "more than all"]


def test_no_page_is_longer_than_it_may_be(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["words"])

    assert words.main() == 0, capsys.readouterr().out


MEASURED = measured.Row("machine", "workload", "source", 2.0, 4.0, 4.5, 50.0, "nothing")


def test_a_verdict_is_a_factor_from_what_was_measured():
    values = {1.9: "agrees", 3.0: "agrees", 5.0: "agrees", 5.1: "order of magnitude"}
    values |= {0.21: "order of magnitude", 39.9: "order of magnitude", 40.0: "wrong", 0.2: "wrong"}

    assert {value: MEASURED.verdict(value) for value in values} == values


def test_a_row_holds_both_verdicts_and_what_is_assumed():
    single = replace(MEASURED, high=2.0)

    assert measured.written([MEASURED]).splitlines()[2] == (
        "| machine | workload | 2 to 4 | 4.5: agrees | 50: wrong | nothing | source |"
    )
    assert "| 2 | 4.5: order of magnitude | 50: wrong |" in measured.written([single])


@pytest.mark.heavy
def test_an_incast_on_slingshot_is_within_a_factor_of_two():
    """De Sensi et al. 2020: at most 2.3, any of 576 cells; without a limit it is above 10."""
    nodes = measured.parted(1024, linear=False)

    limited, _ = measured.beside(measured.SHANDY, nodes, switch=measured.LIMIT, iterations=10)

    assert 0.5 <= limited <= 2 * 2.3


@pytest.mark.heavy
@pytest.mark.parametrize(("linear", "impact"), [(True, 66), (False, 154)])
def test_an_incast_on_aries_is_within_an_order_of_magnitude(linear, impact):
    """De Sensi et al. 2020: figure 9, and the maximum of figure 10 where placement is random."""
    nodes = measured.parted(768, linear=linear)

    packets, _ = measured.beside(measured.CRYSTAL, nodes, victim=("allreduce", 128), iterations=8)

    assert impact / 10 < packets < impact * 10


def test_the_mix_on_cab_has_the_bytes_of_its_paper():
    """Smith18, table I: KiB that a process sends in each iteration, on average, and processes."""
    jobs = measured.cab_workload(16, 1)
    sent = [len(job["steps"][0]) * 64 / (len(job["nodes"]) * 16) for job in jobs[:4]]

    # a grid of 18 x 64 without its wrap-around neighbours has 4 - 2 / 18 - 2 / 64 for each
    assert sent == pytest.approx([64, 64 * (4 - 2 / 18 - 2 / 64), 32, 960])
    assert len({node for job in jobs for node in job["nodes"]}) == 1152


@pytest.mark.parametrize("source", ["DeSensi20", "Geoffray08", "Smith18", "HPE", "Hoefler08"])
def test_the_page_names_its_sources_and_what_was_read_of_them(source):
    text = measured.PAGE.read_text(encoding="utf-8")

    assert source in text.split("## Sources")[1]
    assert "Not read" in text
