"""A moment in a real browser: jobs of a snapshot, whom they slow, and on which cable."""

import json
import re
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from chromium import NO_BROWSER, PROGRAM
from explorer_help import EVIL, panel, point, served, shown

from coupling.cli.view import view
from coupling.errors import CouplingError, ResultError
from coupling.explorer.moment import moment_of
from coupling.explorer.panel import sent_by
from coupling.explorer.server import Explorer, shown_of
from coupling.report.plots.layout import layout_of
from scheduler.traffic import RankFlows

browsing = pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)
PAIR = {"steps": [[[0, 1, "1 MB"]]], "compute_s": 0}


def written(path, other):
    """
    Write a snapshot of two jobs, whose flows up from leaf 0 share one cable under D-mod-k.

    Without latency and buffers each is slowed by exactly 2.
    """
    jobs = [{"id": "one", "nodes": [0, 2], **PAIR}, {"id": other, "nodes": [1, 4], **PAIR}]
    fabric = {"kind": "fat-tree", "radix": 4, "levels": 2, "latency": "none"}
    scene = {"topology": fabric, "routing": "d-mod-k", "jobs": jobs}
    path.write_text(json.dumps({**scene, "model_options": {"tolerance": 1e-6}}))
    return path


@pytest.mark.browser
@browsing
def test_a_moment_is_looked_at_by_clicks(tmp_path, opened):
    """Each of two jobs alone on a cable takes half as long as both on it: both are slowed by 2."""
    moment = moment_of(written(tmp_path / "two.json", "other"))
    topology = moment.snapshot.topology
    with served(moment) as explorer:
        page = opened(explorer.address)
        told = panel(page, "By slowdown")
        assert re.search(r"other\s+2\s+2(\.000)?\s+2(\.000)?", told)
        assert "one" in page.inner_text(".grid")

        page.mouse.click(*point(page, "fabric", 0.5, 0.45))  # the first node
        assert shown(page, "job=")["job"] == "one"
        assert "2 ranks, 1 pairs that send, in 1 step" in panel(page, "Job one")
        worst = page.locator("#panel p:has-text('held up most on') a")
        cable = worst.inner_text()
        worst.click()
        assert unquote(shown(page, "cable=")["cable"]) == cable
        using = panel(page, f"Link {cable}")
        assert re.search(r"one\s+50.0 %", using)
        assert re.search(r"other\s+50.0 %", using)
        page.locator("#panel h3:has-text('Culprits') + table a").click()
        assert "one" in panel(page, "Job other").split("Victims")[1]

        link = topology.link_number(cable)
        place = layout_of(topology).place
        ends = place[[topology.link_tail[link], topology.link_head[link]]]
        page.keyboard.press("Escape")
        page.wait_for_function("() => !location.hash.includes('cable')")
        page.mouse.click(*point(page, "fabric", *(0.7 * ends[0] + 0.3 * ends[1])))
        names = {cable, topology.link_name(int(topology.reverse[link]))}
        assert unquote(shown(page, "cable=")["cable"]) in names
        before = page.url
        page.reload()
        page.wait_for_selector("body[data-drawn]")
        assert page.url == before
        assert page.faults == []
        assert {urlsplit(url).netloc for url in page.asked if not url.startswith("data:")} == {
            f"127.0.0.1:{explorer.port}"
        }


@pytest.mark.browser
@browsing
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_hostile_names_of_a_moment_are_text_and_axe_finds_no_fault(tmp_path, opened, dark):
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415 (with its browser)

    with served(moment_of(written(tmp_path / "two.json", EVIL))) as explorer:
        page = opened(explorer.address, width=400, dark=dark)
        page.keyboard.press("k")  # the last one

        assert f"Job {EVIL}" in panel(page, "Job ")
        assert EVIL in page.inner_text(".grid")
        assert page.evaluate("String(window.hit)") == "undefined"
        assert page.locator("img:not(.pattern)").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        page.keyboard.press("?")
        found = Axe().run(page).response["violations"]
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []


def test_the_command_serves_a_snapshot(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Explorer, "serve", lambda _, told: told())

    view([written(tmp_path / "two.json", "b")], 0, browser=False, as_json=True)

    assert json.loads(capsys.readouterr().out)["address"].startswith("http://127.0.0.1:")


def test_what_is_neither_is_refused_in_a_line(tmp_path, small_result):
    snapshot = written(tmp_path / "two.json", "b")
    half = tmp_path / "half.json"
    half.write_text(snapshot.read_text()[:60])

    with pytest.raises(ResultError, match=r"expected result directories, or one snapshot alone"):
        shown_of([snapshot, small_result])
    with pytest.raises(CouplingError, match=rf"{half}:1: expected JSON") as caught:
        shown_of([half])
    assert "\n" not in str(caught.value)
    with pytest.raises(ResultError, match=r"expected a result directory with manifest.json"):
        shown_of([tmp_path / "absent.json"])


def test_ranks_of_large_jobs_are_put_together():
    """256 ranks in 128 rows: ranks 0 and 1 are row 0; both send 3 bytes to rank 255."""
    src, dst = np.array([0, 1, 7]), np.array([255, 255, 0])
    flows = RankFlows(np.zeros(3, dtype=np.int64), src, dst, np.array([3.0, 3.0, 5.0]))

    sent = sent_by(flows, 256)

    assert sent.shape == (128, 128)
    assert sent[0, 127] == 6.0
    assert sent[3, 0] == 5.0
    assert sent.sum() == 11.0
