"""The report: one file that needs no other, whatever the runs."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib as mpl
import pytest
from chromium import only_own_script
from coupling_samples import with_dropped

from coupling.api import write_report
from coupling.errors import ResultError
from coupling.inputs.experiment import Experiment
from coupling.inputs.experiment_fields import DEFAULT_MODEL
from coupling.report.provenance import assumptions
from coupling.report.report import report_html
from coupling.report.tables import hottest_links
from fabricsim.checking.documents import json_fields
from netsim.registries.accuracy import Setting, accuracy_line

MANIFEST = {
    "name": "small",
    "seed": 7,
    "fabric": "PGFT(2; 4,2; 1,2; 1,1)",
    "inputs_sha256": {"small.swf": "ab" * 32},
    "estimates": "runtime",
    "versions": {"fabricsim": "0.1.0"},
    "created": "2026-01-02T03:04:05+00:00",
}
VOID = {"meta"}


@pytest.fixture(scope="module")
def tables():
    """Return the tables of an experiment."""
    return Experiment(topology="thunder-1458", workload={"path": "small.swf"}).tables()


@pytest.fixture(scope="module")
def text(runs, tables):
    """Return the report of both runs."""
    return report_html(runs, tables, MANIFEST)


def test_remarks_stand_among_the_assumptions(runs, tables):
    searched = replace(runs[1], summary={**runs[1].summary, "out_of_steps": 17})

    assert "jigsaw: 17 searches for a place were given up" in assumptions(
        [runs[0], searched], tables, MANIFEST
    )
    assert "given up" not in assumptions(runs, tables, MANIFEST)


class Page(HTMLParser):
    """Collects text, headings and references; every element must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.attributes, self.pictures = [], [], [], 0
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.attributes += attrs
        self.pictures += tag == "figure"
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, _tag, attrs):
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)
        self.text += data


def test_a_report_of_two_runs_has_all_sections_and_pictures(text):
    page = Page(text)

    assert page.headings == [
        "Runs compared",
        "Over time",
        "Interference and slowdown of jobs",
        "Delay by victim and culprit",
        "Speed-up against first-free",
        "Links",
        "Does my topology matter?",
        "What had to be assumed",
        "Where this comes from",
    ]
    assert page.pictures == 4 + 6 + 1 + 2 + 2 + 2


def test_a_report_refers_to_nothing_outside_itself(text):
    """References are to ids of the page or hold their data; an id is defined once."""
    attributes = Page(text).attributes

    ids = [value for name, value in attributes if name == "id"]
    references = [v for name, v in attributes if name in {"src", "href", "xlink:href"}]
    references += [f"#{name}" for name in re.findall(r"url\(#([^)]*)\)", text)]

    assert len(ids) == len(set(ids))
    assert references
    assert all(r.startswith("data:") or r.removeprefix("#") in ids for r in references)
    assert "@import" not in text
    assert only_own_script(text)


def test_equal_input_gives_equal_bytes_whatever_the_user_has_set(runs, tables, text, tmp_path):
    path = tmp_path / "report.html"

    with mpl.rc_context({"font.size": 20, "axes.grid": False, "lines.linewidth": 5}):
        write_report(runs, tables, MANIFEST, path)

    assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_says_what_was_assumed_and_where_it_comes_from(text):
    text = Page(text).text

    assert "the default profile, with the seed. 66.7 % of the jobs communicate" in text
    assert "alone on an ideal placement" in text
    assert "as if users guessed them exactly" in text
    assert f"small.swf: {'ab' * 32}" in text
    assert "2026-01-02T03:04:05+00:00" in text
    assert f'model = "{DEFAULT_MODEL}"' in text


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"run": {"runtime_means": "baseline"}}, "divided by the mean slowdown"),
        ({"scheduler": {"kill_at_limit": True}}, "ended at the requested time"),
        ({"network": {"model": "null"}}, "an infinite network, on which nothing slows a job"),
        ({"network": {"model": "hop-cost"}}, "Contention model hop-cost, the usual routing"),
        ({"run": {"runtime_means": "x (one), y (two)"}}, "differ in runtime_means: x (one), y"),
        ({"scheduler": {"kill_at_limit": "True (a), False (b)"}}, "kill_at_limit: True (a), Fal"),
        ({"communication": {"profile": "mine.toml"}}, "the profile mine.toml"),
        ({"communication": {"rule": []}}, "the profile of the experiment"),
    ],
)
def test_every_choice_of_the_experiment_has_its_words(runs, tables, words):
    assert words in assumptions(runs, tables, MANIFEST)


@pytest.mark.usefixtures("undrawn")
def test_a_report_says_how_far_each_model_is_off_on_its_network(runs, tables):
    """In short on top, and in full among the assumptions; D-mod-k was compared, tori never."""
    compared = Setting("fluid", "per-sender", "full fat-tree", ("d-mod-k",), (1,), 0.0)
    never = replace(compared, machine="torus", routings=("valiant",))
    told = [
        replace(run, summary={**run.summary, "network": json_fields(network)})
        for run, network in zip(runs, (compared, never), strict=True)
    ]

    page = Page(report_html(told, tables, MANIFEST)).text

    for text in (page.split("Runs compared")[0], page.split("What had to be assumed")[-1]):
        assert f"first-free: {accuracy_line(compared)}" in text
        assert f"jigsaw: {accuracy_line(never)}" in text
    assert "jigsaw: Contention model fluid, valiant routing" in page


@pytest.mark.usefixtures("undrawn")
def test_a_result_that_does_not_name_its_network_has_no_known_error(runs, tables):
    assert "No error is known: the result does not say" in report_html(runs, tables, MANIFEST)


def with_model(run, model):
    """Return a run on a fat-tree under a model."""
    network = Setting(model, "per-sender", "full fat-tree", ("d-mod-k",), (1,), 0.0)
    return replace(run, summary={**run.summary, "network": json_fields(network)})


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("models", "heading", "words"),
    [
        (("fast", "fast"), "Speed-up against first-free", "these numbers are not put in"),
        (("assumed", "assumed"), "Assumed speed-up against", "numbers are what the scenario of"),
        (
            ("fluid", "assumed"),
            "Speed-up against first-free",
            "run times under jigsaw are what the",
        ),
    ],
)
def test_a_speed_up_is_said_to_emerge_only_where_it_does(runs, tables, models, heading, words):
    told = [with_model(run, model) for run, model in zip(runs, models, strict=True)]

    page = Page(report_html(told, tables, MANIFEST))

    assert any(title.startswith(heading) for title in page.headings)
    assert words in page.text


@pytest.mark.usefixtures("undrawn")
def test_a_slowed_job_is_shown_even_if_it_does_not_communicate(runs, tables):
    """As under the model that assumes slowdowns."""
    silent = replace(runs[0], jobs=runs[0].jobs.assign(comm_fraction=0.0))

    text = Page(report_html([silent], tables, MANIFEST)).text

    assert "none is slowed" not in text
    assert "Interference by size, of jobs that communicate or are slowed" in text


@pytest.mark.usefixtures("undrawn")
def test_runs_of_other_jobs_are_described_one_by_one(runs, tables):
    """The first run has 3 jobs, the second one: neither stands for both."""
    fewer = runs[1].jobs.iloc[1:2].assign(comm_fraction=0.7)
    other = replace(runs[1], jobs=fewer, summary={**runs[1].summary, "jobs": 1})

    text = Page(report_html([runs[0], other], tables, MANIFEST)).text

    assert "1 to 3 jobs · 8 nodes" in text
    assert "2.00 to 10.5 node-hours" in text
    assert "66.7 % of the jobs communicate; communication takes 20 % to 40 %" in text
    assert "(first-free). 100.0 % of the jobs communicate; communication takes 70 % of" in text
    assert "Jobs by pattern, as drawn: first-free" in text
    assert "Jobs by pattern, as drawn: jigsaw" in text


@pytest.mark.usefixtures("undrawn")
def test_a_report_without_self_check_says_why(runs, empty, tables):
    unchecked = [
        replace(run, summary={k: v for k, v in run.summary.items() if k != "infinite_network"})
        for run in runs
    ]

    assert "Not checked: the experiment has self_check" in report_html(unchecked, tables, MANIFEST)
    assert "Not checked: no job ran." in report_html([empty], tables, MANIFEST)


@pytest.mark.usefixtures("undrawn")
def test_nested_values_of_the_manifest_are_toml_and_never_python(runs, tables):
    rule = {"rule": [{"match": {"min_nodes": 2}, "chance": 0.5, "more": None}]}

    text = Page(report_html(runs, tables, {**MANIFEST, "communication": rule})).text

    assert "[communication]" in text
    assert "chance = 0.5" in text
    assert "{'" not in text
    assert "None" not in text


def test_a_cell_names_its_column_for_narrow_screens(text):
    assert '<td data-head="makespan" data-value="7200.0">2.00 h</td>' in text


EVIL = "<script>alert(1)</script>&"
LABELS = ("$_{$", "$\\frac{1}$", "a\x1b[31m\u202e\u672c")
"""Two that matplotlib would read as formulas, and one with letters that cannot be shown."""


@pytest.fixture(scope="module")
def named_by_users(runs, tables):
    """Return a report of which file names, reasons and labels are odd; a warning is an error."""
    odd, evil = (runs[0].jobs.assign(pattern=own, comm_fraction=0.4) for own in (LABELS, EVIL))
    named = [
        replace(runs[0], name=EVIL, jobs=with_dropped(evil, [EVIL])),
        replace(runs[0], name="odd", jobs=odd),
    ]
    return report_html(named, tables, {"name": EVIL, "w": EVIL})


def test_names_from_outside_are_text_and_never_markup(named_by_users):
    assert only_own_script(named_by_users)
    assert EVIL in Page(named_by_users).text


def test_a_label_is_no_formula(named_by_users):
    """What matplotlib would read as a formula stands in the picture as it is."""
    text = Page(named_by_users).text

    assert all(label in text for label in LABELS[:2])


def test_what_of_a_label_cannot_be_shown_is_an_escape_and_no_warning(named_by_users):
    assert "a\\x1b[31m\\u202e\u672c" in Page(named_by_users).text
    assert not set(named_by_users) & {"\x1b", "\u202e"}


@pytest.mark.usefixtures("undrawn")
def test_one_run_needs_no_baseline(runs, tables):
    page = Page(report_html(runs[1:], tables, MANIFEST))

    assert page.headings[0] == "The run"
    assert not any("speed-up" in heading for heading in page.headings)


def test_a_run_without_traffic_says_so(runs, tables):
    silent = [
        replace(
            run,
            jobs=run.jobs.assign(
                comm_fraction=0.0, pattern="", interference=1.0, network_slowdown=1.0
            ),
            links=run.links.assign(bytes=0.0, busy_fraction=0.0, interference_delay_node_s=0.0),
        )
        for run in runs
    ]

    text = Page(report_html(silent, tables, MANIFEST)).text

    assert "No job communicates, and none is slowed." in text
    assert "No link carried anything." in text


@pytest.mark.usefixtures("undrawn")
def test_links_that_lead_only_one_way_have_loads_but_no_map(runs, tables):
    links = runs[0].links.assign(link=[f"r{index}>r{index + 1}" for index in range(10)])
    other = [replace(runs[0], links=links)]

    page = Page(report_html(other, tables, MANIFEST))

    assert "No map: the names of links do not show the wiring." in page.text
    assert "r2>r3" in page.text


@pytest.fixture(scope="module")
def empty(runs):
    """Return a run whose jobs were all dropped."""
    jobs = with_dropped(runs[0].jobs.iloc[:0], ["larger than the machine (8 nodes)"] * 3)
    return replace(
        runs[0],
        jobs=jobs,
        timeline=runs[0].timeline.iloc[:0],
        links=runs[0].links.assign(bytes=0.0, busy_fraction=0.0, interference_delay_node_s=0.0),
        summary={"name": "first-free", "jobs": 0, "dropped": 3, "killed": 0, "nodes": 8},
        cost={},
    )


def test_a_log_of_which_no_job_ran_has_a_report(empty, tables):
    text = Page(report_html([empty], tables, {})).text

    assert "No job ran." in text
    assert "3 dropped: larger than the machine (8 nodes)" in text


def test_a_report_that_cannot_be_written_is_an_error_and_leaves_nothing(empty, tables, tmp_path):
    with pytest.raises(ResultError, match="cannot be written"):
        write_report([empty], tables, MANIFEST, tmp_path / "absent" / "report.html")
    with pytest.raises(ResultError, match="at least one run"):
        write_report([], tables, MANIFEST, tmp_path / "report.html")

    assert list(tmp_path.iterdir()) == []


def test_losses_of_links_are_in_node_hours(runs):
    """9,000 node-seconds are 2.5 node-hours."""
    links = runs[0].links.assign(interference_delay_node_s=0.0)
    links.loc[0, ["interference_delay_node_s", "bytes"]] = [9000.0, 1e9]

    table = str(hottest_links([replace(runs[0], links=links)], {runs[0].name: "#123456"}))

    assert ">2.50</td>" in table
    assert ">100.0 %</td>" in table


@pytest.mark.usefixtures("undrawn")
def test_the_price_of_waiting_is_told_where_it_is_known_and_somebody_waited(runs, tables):
    """Of 40 node-hours a quarter is isolation itself and half stands behind such a job."""
    hours = {"nodes": 10.0, "isolation": 10.0, "window": 20.0, "switches": 0.0}
    price = {"direct_share_of_node_hours": 0.25, "behind_share_of_node_hours": 0.5}
    told = {"wait_node_hours": hours, "price_of_isolation": price}
    knowing = replace(runs[0], summary={**runs[0].summary, **told})
    idle = {"wait_node_hours": {"nodes": 0.0}, "price_of_isolation": price}

    page = Page(report_html([knowing], tables, MANIFEST))
    without = Page(report_html([runs[0]], tables, MANIFEST))
    quiet = replace(runs[0], summary={**runs[0].summary, **idle})

    assert "Price of waiting" in page.headings
    for words in ("isolation itself", "behind such a job", "25.0 %", "50.0 %"):
        assert words in page.text
    assert "Price of waiting" not in without.headings
    assert "Price of waiting" not in Page(report_html([quiet], tables, MANIFEST)).headings
