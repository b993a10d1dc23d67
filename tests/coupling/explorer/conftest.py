"""A browser, and a result to look at."""

from dataclasses import replace

import pytest
from chromium import NO_BROWSER, PROGRAM

from coupling.inputs.experiment import Experiment
from coupling.runs.campaign import run_campaign

WAIT_MS = 20_000
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking")


@pytest.fixture(scope="session")
def small_experiment():
    """Return two runs of 80 jobs on 16 nodes."""
    return Experiment(
        topology={"kind": "fat-tree", "radix": 4},
        workload={"generator": "synth", "mean_nodes": 4, "n_jobs": 80},
        communication={
            "version": 1,
            "rule": [
                {
                    "match": {"min_nodes": 2},
                    "pattern": {"name": "all-to-all"},
                    "label": "all-to-all",
                    "comm_fraction": 0.5,
                    "bytes_per_flow": "1 MB",
                },
            ]
        },
        routing="d-mod-k",
        compare=["random", "first-free"],
        self_check=False,
        links_timeline=True,
        name="small",
    )  # fmt: skip


@pytest.fixture(scope="session")
def small_result(small_experiment, tmp_path_factory):
    """Return the directory of its result."""
    folder = tmp_path_factory.mktemp("explorer") / "small"
    run_campaign(small_experiment, folder)
    return folder


@pytest.fixture(scope="session")
def small_result_without_load(small_experiment, tmp_path_factory):
    """Return the directory of a result that did not keep load over time."""
    folder = tmp_path_factory.mktemp("explorer") / "small"
    run_campaign(replace(small_experiment, links_timeline=False), folder)
    return folder


@pytest.fixture(scope="session")
def browser():
    """Return a browser without a window."""
    if PROGRAM is None:
        pytest.skip(NO_BROWSER)
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (slow, and needs a browser)

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=PROGRAM, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture
def opened(browser):
    """Return a function that opens an address and waits until it is drawn."""
    contexts = []

    def call(address, *, width=1280, dark=False):
        context = browser.new_context(
            viewport={"width": width, "height": 1000},
            color_scheme="dark" if dark else "light",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        page.asked, page.faults = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on(
            "console",
            lambda line: page.faults.append(line.text) if line.type == "error" else None,
        )
        page.goto(address)
        page.wait_for_selector("body[data-drawn]")
        return page

    yield call
    for context in contexts:
        context.close()
