"""Every paper: its quick mode, its table, its figures with the paper's values, its page."""

import gzip
import re
from dataclasses import replace
from math import exp, isclose, isnan, nan
from pathlib import Path

import pandas as pd
import pytest
from sampling import sampled

from coupling.papers.claims import QUICK, claim_table, decide, number_table, summarise
from coupling.papers.page import (
    PAPERS,
    PaperRecord,
    decisions_of,
    drawn_charts,
    page_text,
    write_page,
)
from coupling.papers.paper import Claim
from coupling.papers.runs import Runs, experiment_files, specs_of
from coupling.papers.stoltzfus13 import best_gap
from coupling.sweep.plan import make_plan

ROOT = Path(__file__).parents[3]
NAMES = sorted(PAPERS)
IN_FIGURES = {  # values that the papers print, by figure: read off them by hand
    "mishra20": {
        "execution-rhvd": {2435 / 3289, 1251 / 1382, 3956 / 3289},
        "individual-rhvd": {3.65, 10.84, 7.81, 21.71},
        "individual-rd": {1.7, 13.56, 8.12, 24.91},
        "mixes": {2.59, 7.2, 5.49, 15.27, 11.11},
        "cost": {5.72, 17.84, 5.4, 15.87},
        "shares-turnaround": {0.9745, 0.889, 0.972, 0.994},
        "shares-node-hours": {0.9739, 0.9215},
    },
    "pollard18": {
        "aph-synthetic-2x-cab": {2.0},
        "isolation": {1.26, 1.14, 1.1, 1.55, 1.3, 1.32, 1.29, 1.08, 1.74, 1.35},
        "isolation-shares": {1.08, 1.35},
        "utilisation-synthetic": {10.0},
        "makespan-synthetic": {1.09},
        "waits-synthetic": {8.0, 0.5, 0.15, 0.98, 0.8, 0.3},
        "waits-synthetic-3x-pinot": {110, 148, 126, 103},
    },
    "yang": {
        "turnaround-cc-synthetic": {1.0},
        "turnaround-nc-synthetic": {1.0},
        "shapes": {1.0},
    },
    "stoltzfus13": {
        "improvement-mix": {30.88, 29.037, 28.94, 35.21, 33.28},
        "improvement-small": {71.28, 94.99},
        "improvement-large": {27.95, 30.87},
        "gaps-mix": {28.94},
        "gaps-small": {69.29},
        "gaps-large": {26.28},
    },
    "smith21": {
        "utilisation": {97, 100, 95, 96, 90, 91, 85, 88},
        "makespan-synth-16": {1.06, 1.08, 1.14, 0.85, 1.0},
        "turnaround-synth-16-all": {1.0, 0.89},
        "turnaround-synth-16-large": {1.05, 0.95},
        "time": {2.83, 2.94, 3.05, 55.5},
    },
}


@pytest.mark.parametrize("name", NAMES)
def test_quick_and_full_mode_have_experiment_files_that_are_sweeps(name):
    for quick in (True, False):
        assert experiment_files(name, quick=quick)
        specs = specs_of(name, quick=quick, logs=Path("/nowhere"), changes=())
        assert all(len(spec.design) > 0 for spec in specs.values())


def test_a_table_is_kept_for_what_it_is_made_of_alone(tmp_path):
    runs, made = Runs(tmp_path, {}, quick=True, logs=None), []

    def table(value):
        def make():
            made.append(value)
            return pd.DataFrame({"value": [value]})

        return runs.stored("one", {"settings": [value]}, make)["value"].tolist()

    assert [table(value) for value in (1, 2, 1, 2)] == [[1], [2], [1], [2]]
    assert made == [1, 2]


@pytest.mark.parametrize("name", NAMES)
def test_a_paper_needs_files_that_both_modes_have(name):
    for quick in (True, False):
        files = experiment_files(name, quick=quick)
        assert all(any(one in files for one in group) for group in PAPERS[name].needs)


@pytest.mark.parametrize("name", NAMES)
def test_quick_mode_reads_no_file(name):
    texts = experiment_files(name, quick=True).values()

    assert not any(re.search(r"path\b", text) for text in texts)


@pytest.mark.parametrize("name", NAMES)
def test_full_mode_names_the_logs_that_it_reads(name):
    said = {log.file for log in PAPERS[name].logs}
    read = set(
        re.findall(
            r'"([^"]+\.(?:swf\.gz|csv))"', "".join(experiment_files(name, quick=False).values())
        )
    )

    assert read <= said


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_is_a_sentence_with_a_verdict_on_numbers(sampled, name):
    decisions = decisions_of(sampled(name))

    assert len(decisions) >= 5
    for one in decisions:
        assert one.claim.sentence.endswith(".")
        assert (one.claim.near, one.claim.least, one.claim.most) != (None, None, None)
        assert one.verdict == QUICK or one.numbers
        if not one.claim.quick:
            assert one.verdict == QUICK


def pictures_of(record):
    """Return the pictures of a record by name."""
    tables = record.paper.tables(record.frames)
    return {one.name: one.picture for one in drawn_charts(record.paper, tables)}


@pytest.mark.parametrize("name", NAMES)
def test_figures_have_the_values_of_the_paper(sampled, name):
    pictures = pictures_of(sampled(name))
    for figure, values in IN_FIGURES[name].items():
        numbers = pictures[figure].data()
        marks = [*numbers["paper_low"], *numbers["paper_high"]]
        assert all(any(isclose(mark, value) for mark in marks) for value in values)
        drawn = pictures[figure].file("svg").decode()
        assert {f"{value:g}" for value in values} <= set(
            " ".join(re.findall(r'id="paper ([^"]+)"', drawn)).split()
        )


@pytest.mark.parametrize("name", NAMES)
def test_page_names_every_figure_and_has_a_number_a_row(sampled, name):
    record = sampled(name)
    page = page_text(record)

    assert re.findall(rf"\({name}/(.+?)\.svg\)", page) == list(pictures_of(record))
    assert len(number_table(decisions_of(record))) > 10


def test_figures_are_written_beside_the_page_as_pdf_svg_and_numbers(sampled, tmp_path):
    """Of the paper with the fewest: what is written does not depend on what is drawn."""
    record = sampled("yang")
    page, folder = write_page(record, tmp_path), tmp_path / "yang"

    assert page.read_text(encoding="utf-8") == page_text(record)
    for name in pictures_of(record):
        assert (folder / f"{name}.svg").read_bytes().startswith(b"<?xml")
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert "paper_low" in (folder / f"{name}.csv").read_text(encoding="utf-8")
    assert (folder / "numbers.csv").read_text(encoding="utf-8").count("\n") > 10


@pytest.mark.parametrize("name", NAMES)
def test_record_read_back_makes_the_same_page(sampled, name, tmp_path):
    record = sampled(name)
    record.save(tmp_path / "record.json")
    again = PaperRecord.read(tmp_path / "record.json", PAPERS[name])

    assert page_text(again) == page_text(record)


RECORDS = sorted((ROOT / "docs" / "research" / "papers").glob("*.json"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_pages_of_the_documentation_are_those_of_their_records(path):
    """A number that was changed by hand differs from the record's."""
    page = path.with_suffix(".md").read_text(encoding="utf-8")

    record = PaperRecord.read(path, PAPERS[path.stem])
    assert page == page_text(record)
    decisions = decisions_of(record)
    for name, table in (("claims", claim_table(decisions)), ("numbers", number_table(decisions))):
        stored = pd.read_csv(path.with_suffix("") / f"{name}.csv", dtype=str, keep_default_na=False)
        assert stored.to_numpy().tolist() == table.to_numpy().tolist()


def decided(own, *, quick=False, **more):
    """Return the verdict on a claim about the value of policies a and b."""
    table = pd.DataFrame(own, columns=["policy", "value", "value low", "value high"])
    claim = Claim("1", "It is so.", "t", "value", ("policy",), **more)
    return decide(claim, {"t": table}, quick=quick).verdict


NONE = float("nan")


@pytest.mark.parametrize(
    ("own", "more", "verdict"),
    [
        ([("a", 0.8, 0.7, 0.9)], {"most": 1.0}, "holds"),
        ([("a", 0.95, 0.8, 1.1)], {"most": 1.0}, "the samples cannot tell"),
        ([("a", 1.2, 1.1, 1.3)], {"most": 1.0}, "does not hold"),
        ([("a", 0.8, NONE, NONE), ("b", 1.2, NONE, NONE)], {"most": 1.0}, "does not hold (1 of 2)"),
        ([("a", 1.1, NONE, NONE)], {"paper": {"a": 1.0}, "near": 0.2}, "holds"),
        ([("a", 1.1, NONE, NONE)], {"paper": {"*": (1.5, 2.0)}, "near": 0.2}, "does not hold"),
        ([("a", 1.3, NONE, NONE)], {"paper": {"*": (1.5, 2.0)}, "near": 0.2}, "holds"),
        ([("a", 1.1, NONE, NONE)], {"paper": {"b": 1.0}, "near": 0.2}, "not run"),
    ],
)
def test_a_claim_holds_if_the_whole_interval_agrees(own, more, verdict):
    assert decided(own, **more) == verdict


def test_quick_mode_says_what_it_cannot_tell():
    assert decided([("a", 0.95, 0.8, 1.1)], most=1.0, quick=True) == QUICK


def test_a_mean_has_the_interval_of_student():
    """Of 1, 2 and 3: mean 2, standard error 1 / sqrt(3), t = 4.303 for two degrees of freedom."""
    table = pd.DataFrame({"policy": "a", "sample": [1, 2, 3], "value": [1.0, 2.0, 3.0]})
    row = summarise(table, ("policy",), ("value",)).iloc[0]

    assert row["value"] == 2.0
    assert row["value high"] - 2.0 == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert 2.0 - row["value low"] == pytest.approx(4.303 / 3**0.5, rel=1e-3)


def test_a_ratio_is_paired_by_sample_and_one_sample_has_no_interval():
    """Half of the base in each sample: 0.5, and nothing varies."""
    table = pd.DataFrame(
        {"policy": ["base", "a"] * 2, "sample": [1, 1, 2, 2], "value": [2.0, 1.0, 6.0, 3.0]}
    )
    over = {"policy": "base"}
    own = summarise(table, ("policy",), ("value",), over=over).set_index("policy").loc["a"]
    alone = summarise(table[:2], ("policy",), ("value",), over=over, saved=True).iloc[1]

    assert own.tolist() == pytest.approx([0.5, 0.5, 0.5])
    assert alone["value"] == 50.0
    assert isnan(alone["value low"])
    assert isnan(alone["value high"])


def test_the_interval_of_a_ratio_lies_above_zero():
    """
    1, 2 and 3 beside 1: without one of them 2.5, 2 and 1.5.

    Their logarithms are 0.9163, 0.6931 and 0.4055; the jackknife's error is 0.2957, t 4.303.
    """
    table = pd.DataFrame(
        {"policy": ["base", "a"] * 3, "sample": [1, 1, 2, 2, 3, 3], "value": [1.0, 1, 1, 2, 1, 3]}
    )
    own = summarise(table, ("policy",), ("value",), over={"policy": "base"}).iloc[1]

    assert own["value"] == 2.0
    assert own["value low"] == pytest.approx(2 * exp(-4.303 * 0.2957), rel=1e-3)
    assert own["value high"] == pytest.approx(2 * exp(4.303 * 0.2957), rel=1e-3)


def test_the_documentation_has_a_page_of_every_paper():
    assert [path.stem for path in RECORDS] == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_papers_are_in_the_bibliography(name):
    text = (ROOT / "docs" / "about" / "bibliography.md").read_text(encoding="utf-8")

    assert f"| {PAPERS[name].key} |" in text


def stand_in(file):
    """Return seven jobs of 8 to 112 processors or nodes, as the format of a log has them."""
    hours = (0, 1, 180, 210, 410, 7801, 15601)
    if file.endswith(".csv"):
        rows = [f"{i},{3600 * hour},600,{16 * i}" for i, hour in enumerate(hours, start=1)]
        return "\n".join(["job,submit,runtime,nodes", *rows]).encode()
    jobs = [
        f"{i} {3600 * hour} -1 600 {8 * i} -1 -1 {8 * i} 900 -1 1 {i} 1 1 1 1 -1 -1"
        for i, hour in enumerate(hours, start=1)
    ]
    return gzip.compress("\n".join(jobs).encode())


def with_one_seed(spec):
    """Return a sweep with the first of its seeds: cells of others differ in nothing else."""
    groups = tuple(
        {name: values[:1] for name, values in group.items()} if [*group] == ["run.seed"] else group
        for group in spec.design.groups
    )
    return replace(spec, design=replace(spec.design, groups=groups))


@pytest.mark.parametrize("name", sampled(NAMES, {"mishra20", "pollard18", "yang"}))
def test_every_cell_of_the_full_mode_can_run_on_logs_of_this_form(name, tmp_path):
    """Seven jobs stand for each log, in all parts of it that are read."""
    for log in PAPERS[name].logs:
        (tmp_path / log.file).write_bytes(stand_in(log.file))
    specs = specs_of(name, quick=False, logs=tmp_path, changes=())
    specs = {key: with_one_seed(spec) for key, spec in specs.items()}

    assert all(len(make_plan(spec).cells) == len(spec.design) for spec in specs.values())


def test_no_gap_saves_most_where_too_few_jobs_of_a_size_ran():
    gaps = pd.DataFrame({"gap": [1.0, 4.0, 16.0], "mix": [nan] * 3, "small": [2.0, 3.0, nan]})

    assert isnan(best_gap(gaps, "mix"))
    assert best_gap(gaps, "small") == 4.0
