"""Pages in a real browser: nothing is asked of the network, only our script runs, all is whole."""

import re
from dataclasses import replace
from functools import cache

import pytest
from chromium import NO_BROWSER, PROGRAM, answer, look, printed
from coupling_samples import sample

from coupling.inputs.experiment import Experiment
from coupling.inputs.snapshot import read_snapshot
from coupling.report.estimate import estimate_answer
from coupling.report.fabric import fabric_answer
from coupling.report.page import bullets, figures, page, table
from coupling.report.plots.style import Picture, hint
from coupling.report.report import report_html
from coupling.report.verify import verify_answer
from coupling.results.formatting import duration
from coupling.site.estimate import estimate
from coupling.site.verify import verify
from netsim.registries.topologies import make_topology
from netsim.topology.structure.inspect import inspect_topology

pytestmark = [pytest.mark.browser, pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)]
EVIL = '<img src=x onerror="hit=1"><script>hit=2</script>'
A4_PX = 698  # between the margins, 96 dots per inch


@cache
def report():
    """Return a report of three runs with names that mean no good."""
    lost = {"runtimes_s": (7200.0, 3600.0, 1800.0), "interference_delay_s": (1800.0, 0.0, 0.0)}
    runs = [sample("first-free", **lost), sample("jigsaw"), sample(EVIL, **lost)]
    runs = [replace(run, jobs=run.jobs.assign(pattern=EVIL)) for run in runs]
    tables = Experiment(topology="thunder-1458", workload={"path": "small.swf"}).tables()
    manifest = {"name": EVIL, "fabric": EVIL * 3, "inputs_sha256": {EVIL: "ab" * 32}}
    return report_html(runs, tables, manifest, notes=[EVIL])


def moment():
    """Return the page of an estimate."""
    snapshot = read_snapshot("examples/placed_jobs.json")
    return estimate_answer(snapshot, estimate(snapshot), page=True).html()


def proof():
    """Return the page of a verification."""
    snapshot = read_snapshot("examples/partitions.json")
    return verify_answer(snapshot, verify(snapshot, random=5), page=True).html()


def fabric():
    """Return the page of a fabric."""
    found = inspect_topology(make_topology("synth-1024"))
    return fabric_answer(found, "synth-1024", page=True).html()


PAGES = {page.__name__: page for page in (report, moment, proof, fabric)}


@pytest.fixture(scope="module", params=list(PAGES))
def text(request):
    """Return each kind of page."""
    return PAGES[request.param]()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_asks_nothing_runs_only_its_own_script_and_is_legible(text, tmp_path, dark):
    """The only elements of their kind are that script and the one that looks."""
    seen = look(text, tmp_path, dark=dark)

    assert seen["dark"] is dark
    assert [name for name in seen["asked"] if not name.startswith("data:")] == []
    assert seen["loaded"] == 2
    assert seen["hit"] == "undefined"
    assert seen["faint"] == []


def test_at_400_pixels_nothing_is_cut_off(text, tmp_path):
    seen = look(text, tmp_path, width=400)

    assert seen["width"] == 400
    assert seen["page"] == 400
    assert seen["wide"] == []


def test_on_paper_no_column_is_cut_off(text, tmp_path):
    """What holds for print alone holds for the screen here, at the width of a page."""
    paper = text.replace("@media print", "@media screen").replace(
        "@media screen and (max-width:640px)", "@media not all"
    )

    seen = look(paper, tmp_path, width=A4_PX)

    assert seen["wide"] == []


def test_a_printed_report_has_no_empty_page(tmp_path):
    """Each page has a content of its own, of more than a few letters."""
    pdf = printed(report(), tmp_path)

    pages = len(re.findall(rb"/Type /Page\b", pdf))
    lengths = [int(n) for n in re.findall(rb"/Length (\d+)>> stream", pdf)]
    assert 2 <= pages <= 12
    assert sum(length > 300 for length in lengths) >= pages


USE = """
<script>
addEventListener("load", () => {
  const rows = () => [...document.querySelectorAll("tbody tr")];
  const cells = () => rows().map(row => row.cells[0].textContent).join("");
  const head = document.querySelectorAll("th")[1], orders = [cells()], sorts = [];
  for (let i = 0; i < 3; i++) {
    head.firstElementChild.click();
    orders.push(cells());
    sorts.push(head.getAttribute("aria-sort"));
  }
  const svg = document.querySelector("svg"), tip = document.querySelector(".tip"), tips = [];
  svg.querySelectorAll(".hints rect")[1].dispatchEvent(new Event("pointerover", { bubbles: true }));
  tips.push(tip.textContent);
  for (const key of ["ArrowLeft", "ArrowLeft", "Escape"]) {
    svg.dispatchEvent(new KeyboardEvent("keydown", { key }));
    tips.push(tip.textContent);
  }
  const titles = svg.querySelectorAll("title").length;
  parent.postMessage(JSON.stringify({ orders, sorts, tips, titles }), "*");
});
</script>
"""


def test_a_table_sorts_by_value_and_a_chart_shows_its_values(tmp_path):
    """2 min < 90 min < 3 h; equal rows keep their order; missing values are last."""
    rows = [
        [name, duration(s)] for name, s in zip("abcde", (5400, 10800, None, 120, 5400), strict=True)
    ]

    def paint(figure):
        axes = figure.add_subplot()
        for place, value in enumerate((7, 8)):
            hint(axes, f"value {value}", (place, place + 1))

    sections = [
        ("", table(["run", "time"], rows) + figures([(Picture("x", "x", paint).html(), "")]))
    ]

    seen = answer(page("x", "", bullets([]), sections), tmp_path, USE)

    assert seen["orders"] == ["abcde", "daebc", "baedc", "abcde"]
    assert seen["sorts"] == ["ascending", "descending", None]
    assert seen["tips"] == ["value 8", "value 7", "value 8", ""]
    assert seen["titles"] == 0


def test_without_a_script_a_chart_has_its_values_as_titles():
    """A job of 4 nodes loses half an hour to the last job: 2 node-hours."""
    assert "loses 2.00 node-hours\n" in report()


def test_what_is_looked_for_is_seen(tmp_path):
    """A page that does all that is forbidden."""
    text = (
        "<html><head></head><body style='color:#bbb;background:#fff'><p>faint</p>"
        "<div style='width:900px'>wide</div><script>hit=1</script>"
        "<img src='http://elsewhere.example/x.png'></body></html>"
    )

    seen = look(text, tmp_path, width=400)

    assert seen["hit"] == "1"
    assert seen["loaded"] == 3
    assert seen["asked"] == ["http://elsewhere.example/x.png"]
    assert {tag for tag, _, _ in seen["faint"]} == {"P", "DIV"}
    assert ["DIV", "wide"] in seen["wide"]
