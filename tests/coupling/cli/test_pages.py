"""Pages about a moment: what they draw, and that they need nothing else."""

import json
import re

import numpy as np
import pytest
from chromium import only_own_script

from coupling.report.pictures import oversubscription
from netsim.registries.topologies import make_topology

EVIL = "<script>alert(1)</script>&"


@pytest.fixture
def page(command, tmp_path):
    """Return a function that runs a command with --html and gives status and page."""

    def call(*arguments, document=None, status=0):
        out = tmp_path / "page.html"
        found, _, said = command(
            *arguments, "--html", out, stdin="" if document is None else json.dumps(document)
        )
        assert found == status, said
        return out.read_text(encoding="utf-8")

    return call


def inert(text):
    """Say whether a page loads nothing and runs nothing but its own script."""
    addresses = re.findall(r"(?:src|href)=\"([^\"]*)\"", text)
    return only_own_script(text) and all(a.startswith(("#", "data:")) for a in addresses)


def test_estimate_draws_load_jobs_and_blame(page):
    text = page("estimate", "examples/placed_jobs.json")

    assert "what these jobs do to each other" in text
    assert "load of the busier direction" in text
    assert "victim" in text
    assert "ms per iteration" in text
    assert "candidates[0]" in text
    assert inert(text)


def test_names_of_jobs_are_text_and_never_markup(page):
    pair = {"steps": [[[0, 1, "1 MB"]]], "compute_s": 0}
    scene = {
        "topology": {"kind": "fat-tree", "radix": 4, "levels": 2},
        "jobs": [{"id": EVIL, "nodes": [0, 2], **pair}, {"id": "$_{$", "nodes": [1, 4], **pair}],
    }

    text = page("estimate", "-", document=scene)

    assert inert(text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in text
    assert "$_{$" in text


def test_verify_draws_a_certificate(page):
    text = page("verify", "examples/partitions.json")

    assert "Every check passed." in text
    assert text.count("One permutation, routed") == 3
    assert inert(text)


def test_verify_draws_the_cut_of_a_witness_in_red(page):
    """Two leaves of two nodes joined by one cable: swapping them needs two."""
    links = ["s1.0>s2.0", "s2.0>s1.0", "s1.1>s2.0", "s2.0>s1.1"]
    scene = {
        "topology": {"kind": "fat-tree", "radix": 4, "levels": 2},
        "jobs": [{"id": "x", "nodes": [0, 1, 2, 3], "links": links}],
    }

    text = page("verify", "-", document=scene, status=1)

    assert "Red: the cut of the witness." in text
    assert "#d1242f" in text
    assert "The permutation that cannot be routed" in text


def test_flows_draw_their_paths_and_the_load(page):
    text = page("flows", "examples/three_flows.json")

    assert "Paths of the flows" in text
    assert "3 flows; the last ends after 252 us." in text
    assert inert(text)


def test_inspect_draws_the_fabric_and_the_oversubscription_where_leaves_differ(page, tmp_path):
    svg, uneven = tmp_path / "cab.svg", tmp_path / "uneven.toml"
    uneven.write_text(
        'kind = "fat-tree"\nchildren = [3, 4]\nparents = [1, 2]\nfailed_links = ["s1.0>s2.1"]\n',
        encoding="utf-8",
    )

    text = page("topology", "inspect", "cab", "--svg", svg)

    assert "Oversubscription" not in text
    assert "Dotted" not in text
    assert inert(text)
    uneven_text = page("topology", "inspect", uneven)
    assert "Oversubscription" in uneven_text
    assert "Dotted: out of service." in uneven_text
    assert svg.read_text(encoding="utf-8").startswith("<?xml")


def test_oversubscription_counts_what_is_in_service():
    """Leaves of 3 nodes and 2 uplinks: 3 / 2; the first lost one uplink: 3 / 1."""
    fabric = make_topology(
        {
            "kind": "fat-tree",
            "children": [3, 4],
            "parents": [1, 2],
            "failed_links": ["s1.0>s2.1"],
        }
    )

    np.testing.assert_allclose(oversubscription(fabric)["ratio"], [3.0, 1.5, 1.5, 1.5])


def test_a_page_that_cannot_be_written_is_one_line(command, tmp_path):
    place = tmp_path / "absent" / "page.html"

    status, out, said = command("flows", "examples/three_flows.json", "--html", place)

    assert status == 2
    assert out == ""
    assert said.count("\n") == 1
    assert f"{place}: cannot be written" in said
