"""The explorer in a real browser, as people use it."""

import re
from dataclasses import replace
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from chromium import NO_BROWSER, PROGRAM
from coupling_samples import sample
from explorer_help import EVIL, command, panel, place, point, served, shown

from coupling.explorer.run_view import RunView, exhibit_of
from coupling.report.plots.layout import cables_of, layout_of, segments
from coupling.results.explained import explain_job, why

pytestmark = [pytest.mark.browser, pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)]


@pytest.fixture(scope="module")
def explorer(small_result):
    """Return the explorer of the small result, as it listens."""
    with served(exhibit_of([small_result])) as found:
        yield found


def test_it_opens_and_asks_no_other_host(explorer, opened):
    page = opened(explorer.address)

    assert "small" in page.inner_text("h1")
    assert "16 nodes" in panel(page, "16 nodes")
    assert page.faults == []
    assert {urlsplit(url).netloc for url in page.asked if not url.startswith("data:")} == {
        f"127.0.0.1:{explorer.port}"
    }
    assert explorer.token not in page.url


def test_a_click_chooses_the_job_under_the_pointer(explorer, opened, small_result):
    page = opened(explorer.address)
    box = place(page)

    page.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.5)

    chosen = int(shown(page, "job=")["job"])
    run = exhibit_of([small_result]).run("random")
    at_s = 0.3 * exhibit_of([small_result]).end_s
    job = run.jobs.iloc[run.row[chosen]]
    assert job["start_s"] <= at_s * 1.02
    assert job["end_s"] >= at_s * 0.98
    assert f"Job {chosen}" in panel(page, f"Job {chosen}")


def test_a_drag_over_the_overview_chooses_a_time(explorer, opened):
    page = opened(explorer.address)
    box = place(page, "over-utilization")
    y = box["y"] + box["height"] / 2

    page.mouse.move(box["x"] + box["width"] * 0.25, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, y, steps=4)
    page.mouse.up()

    fields = shown(page, "from=.*to=")
    assert 0 < float(fields["from"]) < float(fields["to"])


def test_a_culprit_leads_to_its_victims(explorer, opened, small_result):
    exhibit = exhibit_of([small_result])
    blame = exhibit.run("random").result.blame
    victim, culprit = blame.sort_values("interference_delay_node_s").iloc[-1][["victim", "culprit"]]
    page = opened(f"{explorer.address}&job={victim}")
    panel(page, f"Job {victim}")

    page.locator("#panel h3:has-text('Culprits') + table a").first.click()

    told = panel(page, f"Job {culprit}")
    assert str(victim) in told.split("Victims")[1]


def test_a_job_tells_why_it_waited_who_sends_in_it_and_when_it_was_slowed_on_which_cable(
    explorer, opened, small_result
):
    run = exhibit_of([small_result]).run("random")
    worst = run.jobs.loc[run.jobs["interference_delay_s"].idxmax()]
    ranks = worst["n_nodes"]
    page = opened(f"{explorer.address}&run=random&beside=first-free&job={worst['id']}")
    told = panel(page, "ranks,")

    assert f"{ranks} ranks, {ranks * (ranks - 1)} pairs that send" in told  # all to all
    rows = explain_job(run.result, int(worst["id"]), "")["waited"][:4]
    for row in rows:
        assert why(row, int(worst["id"])) in told
    page.wait_for_selector("#panel h3:has-text('When it was slowed') + table")
    page.wait_for_function(
        """() => {
          const plot = Bokeh.documents[0].get_model_by_name("rate");
          return plot.visible && plot.renderers[0].data_source.data.xs.length == 2;
        }"""
    )
    found = page.evaluate(
        "() => Bokeh.documents[0].get_model_by_name('rate').renderers[0].data_source.data"
    )
    lost = 0.0  # time between two points of the line, less what it would have taken alone
    for begin, end, job_rate in zip(
        found["xs"][0][::2], found["xs"][0][1::2], found["ys"][0][::2], strict=True
    ):
        lost += (end - begin) / 1e3 * (1 - worst["placement_factor"] / job_rate)
    assert lost == pytest.approx(worst["interference_delay_s"], rel=1e-2)

    page.locator("#panel h3:has-text('When it was slowed') + table a").first.click()
    at_s = float(shown(page, "at=")["at"])
    assert worst["start_s"] <= at_s < worst["end_s"]
    cables = "#panel h3:has-text('When it was slowed') + table td:nth-child(3) a[href*='at=']"
    page.locator(cables).first.click()  # the panel has followed the moment
    shown(page, "cable=")
    page.wait_for_selector("#panel h3:has-text('Jobs on it now') + table")
    users = page.locator("#panel h3:has-text('Jobs on it now') + table a").all_inner_texts()
    assert str(worst["id"]) in users
    assert len(users) > 1
    assert page.faults == []


def test_a_click_on_a_link_tells_when_it_was_busy_and_who_used_it(explorer, opened):
    page = opened(f"{explorer.address}&at=1")
    page.wait_for_function("() => document.getElementById('moment').textContent")
    box = place(page, "heat")

    page.mouse.click(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.98)

    cable = unquote(shown(page, "cable=")["cable"])
    assert re.fullmatch(r"n[0-3]>s1\.[01]", cable)  # at the bottom are links of the first nodes
    told = panel(page, f"Link {cable}")
    assert "When it was busiest" in told
    page.locator("#panel h3:has-text('Jobs on it now') + table a").first.click()
    chosen = shown(page, "job=")["job"]
    assert f"Job {chosen}" in panel(page, f"Job {chosen}")


def test_a_click_on_a_cable_of_the_fabric_chooses_it(explorer, opened, small_result):
    fabric = exhibit_of([small_result]).run("random").topology
    page = opened(explorer.address)
    page.wait_for_function("() => document.getElementById('moment').textContent == 'the whole run'")
    box = place(page, "fabric")
    middle = segments(fabric, layout_of(fabric), cables_of(fabric)[:1])[0].mean(axis=0)
    there = point(page, "fabric", *middle.tolist())
    assert box["width"] > 100

    page.mouse.click(*there)

    assert unquote(shown(page, "cable=")["cable"]) == fabric.link_name(cables_of(fabric)[0])
    page.wait_for_selector("#panel h3:has-text('Jobs on it in what is shown') + table a")


def test_the_fabric_is_stepped_and_played_through_the_run(explorer, opened):
    page = opened(explorer.address)
    page.wait_for_function("() => document.getElementById('moment').textContent == 'the whole run'")

    page.keyboard.press(".")
    shown(page, "at=")
    page.keyboard.press("Space")
    page.wait_for_function("() => /at=[1-9]/.test(location.hash)")
    page.keyboard.press("Space")
    assert page.inner_text("#play") == "play"
    page.wait_for_function(
        "() => document.getElementById('moment').textContent.includes('from the begin')"
    )
    page.keyboard.press("w")

    page.wait_for_function("() => !location.hash.includes('at=')")


def test_load_over_time_that_was_not_kept_is_computed_when_a_moment_is_looked_at(
    small_result_without_load, small_result, opened
):
    """It is what the same run kept where it was asked to."""
    exhibit = exhibit_of([small_result_without_load])
    with served(exhibit) as found:
        page = opened(found.address)
        page.wait_for_function("() => document.body.innerText.includes('was not recorded')")

        page.keyboard.press(".")
        page.wait_for_function("() => Bokeh.documents[0].get_model_by_name('heat').visible")

        assert page.faults == []
    kept = exhibit_of([small_result]).run("random").load
    np.testing.assert_array_equal(exhibit.run("random").load.bins, kept.bins)


def test_keys_alone_do_everything(explorer, opened):
    page = opened(explorer.address)

    page.keyboard.press("+")
    first = shown(page, "from=")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("text => !location.hash.includes(text)", arg=f"from={first['from']}&")
    second = shown(page, "from=")
    assert float(second["to"]) > float(first["to"])
    page.keyboard.press("]")
    shown(page, "low=")
    page.keyboard.press("j")
    chosen = shown(page, "job=")["job"]
    panel(page, f"Job {chosen}")
    page.keyboard.press("b")
    shown(page, "by=pattern")
    page.keyboard.press("c")
    shown(page, "beside=")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !location.hash.includes('job=')")
    page.keyboard.press("0")
    page.wait_for_function("() => !location.hash.includes('from=')")
    page.keyboard.press("/")
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    shown(page, "job=5")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("t")
    assert "dark" in page.locator("html").get_attribute("class")


def test_the_address_shows_the_same_to_another(explorer, opened):
    page = opened(explorer.address)
    page.keyboard.press("j")
    page.keyboard.press("+")
    page.keyboard.press("b")
    shown(page, "by=.*from=.*job=")
    before = page.url, panel(page, "Job ")

    other = opened(f"{explorer.address}&{urlsplit(page.url).fragment}")
    page.reload()
    page.wait_for_selector("body[data-drawn]")

    assert panel(page, "Job ") == panel(other, "Job ") == before[1]
    assert urlsplit(page.url).fragment == urlsplit(other.url).fragment
    assert page.url == before[0]


def test_back_returns_to_what_was_looked_at(explorer, opened):
    page = opened(explorer.address)
    page.keyboard.press("j")
    first = panel(page, "Job ")
    page.keyboard.press("j")
    page.wait_for_function("text => document.getElementById('panel').innerText != text", arg=first)

    page.go_back()

    page.wait_for_function("text => document.getElementById('panel').innerText == text", arg=first)


def test_two_runs_stand_beside_each_other_in_the_same_time(explorer, opened):
    page = opened(explorer.address)
    page.select_option("#beside", "first-free")
    shown(page, "beside=first-free")

    page.keyboard.press("+")
    page.keyboard.press("j")
    shown(page, "job=")

    page.wait_for_function(
        """() => {
          const doc = Bokeh.documents[0];
          const [a, b] = [0, 1].map(i => doc.get_model_by_name(`gantt-${i}`));
          const marks = plot => plot.renderers.find(r => r.name === "marks").data_source;
          return a.visible && b.visible && a.x_range === b.x_range
            && doc.get_model_by_name("fabric-1").title.text.startsWith("first-free: load")
            && [a, b].every(plot => marks(plot).data.left.length > 0);
        }"""
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_no_fault(explorer, opened, dark):
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415 (with its browser)

    page = opened(explorer.address, dark=dark)
    page.keyboard.press("j")
    panel(page, "Job ")
    page.keyboard.press("?")

    found = Axe().run(page).response["violations"]

    assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []


def test_at_400_pixels_nothing_is_cut_off(explorer, opened):
    page = opened(explorer.address, width=400)
    page.keyboard.press("j")
    panel(page, "Job ")

    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_hostile_names_are_text(opened):
    runs = [sample(EVIL, interference_delay_s=(600.0, 0.0, 0.0)), sample("jigsaw")]
    runs = [replace(run, jobs=run.jobs.assign(pattern=EVIL)) for run in runs]
    runs = [
        replace(
            run,
            links=run.links.assign(link=run.links["link"].str.replace("n0", "n[0-7]")),
            blame=run.blame.assign(link_class=EVIL),
        )
        for run in runs
    ]
    links = [f"n{i}>s1.0" for i in range(8)]
    runs = [replace(run, links=run.links.iloc[[0] * 8].assign(link=links)) for run in runs]
    exhibit = RunView(EVIL, EVIL, {run.name: run for run in runs}, {})
    with served(exhibit) as explorer:
        page = opened(f"{explorer.address}&job=11&by=pattern")
        told = panel(page, "Job 11")
        page.goto(f"{explorer.address}&job={EVIL}&cable={EVIL}")
        panel(page, "No job")

        assert EVIL in told
        assert EVIL in page.inner_text("h1")
        assert page.evaluate("String(window.hit)") == "undefined"
        assert page.locator("img").count() == 0
        assert page.faults == []


def test_the_command_serves_it(small_result, opened):
    with command(small_result) as (_, address):
        page = opened(address)

        assert re.search(r"\d+ jobs", panel(page, "jobs"))
