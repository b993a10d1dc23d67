"""Given flows: the contract's fields, hand cases, SimGrid, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from mutants import mutants
from simgridcases import fat_tree_link, fat_tree_of, load_case

from coupling.errors import CouplingError, SnapshotError
from coupling.site.flows import answer_flows

EXAMPLES = Path(__file__).parents[3] / "examples"
TREE = {"kind": "fat-tree", "radix": 4, "bandwidth": "100 Gb/s", "latency": "none"}


def answer(**changes):
    document = {"topology": TREE, "routing": "d-mod-k", "flows": []} | changes
    return answer_flows(json.loads(json.dumps(document)), "f", Path())


def test_three_flows_by_hand(command):
    """
    Node 0 opens two flows, node 1 one; s1.0>s2.0 carries one of each.

    C = 12.5 GB/s. Per sender the shared cable is parted 1/2 : 1, so C/3 and 2C/3, and node 0's
    other flow gets the 2C/3 that its link has left. Both of 2C/3 end after 1 MiB / (2C/3); the
    first, of which 1.5 MiB are left, then has C: 3 MiB / C in all.
    """
    status, out, err = command("flows", EXAMPLES / "three_flows.json", "--json")

    assert (status, err) == (0, "")
    told = json.loads(out)
    c, mib = 12.5e9, 2**20
    assert told["rates_bytes_per_s"] == pytest.approx([c / 3, 2 * c / 3, 2 * c / 3])
    assert told["finish_s"] == pytest.approx([3 * mib / c, 1.5 * mib / c, 1.5 * mib / c])
    assert told["routes"][1] == [
        "n1>s1.0", "s1.0>s2.0", "s2.0>s3.0", "s3.0>s2.6", "s2.6>s1.6", "s1.6>n12",
    ]  # fmt: skip
    loads = {entry["link"]: (entry["flows"], entry["bytes"]) for entry in told["links"]}
    assert loads["s1.0>s2.0"] == (2, 3 * mib)
    assert loads["n0>s1.0"] == (2, 3 * mib)
    assert len(loads) == 11  # 6 links, then 4 and 1 more


def test_plain_max_min_parts_the_cable_evenly():
    """By hand: C/2 each, and C/2 is left on node 0's link."""
    told = answer(
        fairness="per-flow", flows=[["n0", "n8", 1e6], [1, 12, "1 MB"], [0, 1, 1e6]]
    ).to_dict()

    assert told["rates_bytes_per_s"] == pytest.approx([6.25e9] * 3)


def test_a_flow_within_a_node_has_no_rate_and_ends_at_once():
    told = answer(flows=[[3, 3, 5], [0, 4, 12.5e9]]).to_dict()

    assert told["rates_bytes_per_s"] == [None, pytest.approx(12.5e9)]
    assert told["finish_s"] == [0.0, pytest.approx(1.0)]
    assert told["routes"][0] == []


def test_no_flows_at_all():
    assert answer().to_dict() == {
        "rates_bytes_per_s": [],
        "finish_s": [],
        "routes": [],
        "links": [],
    }


@pytest.mark.parametrize("name", ["tap3-3jobs", "half-3jobs", "cab-3jobs"])
def test_flows_agree_with_simgrid_through_a_document(name, shared):
    case = load_case(shared, name)
    shape, tree = case["topology"], fat_tree_of(case)
    document = {
        "topology": {
            "kind": "fat-tree",
            "latency": "none",
            "children": shape["m"],
            "parents": shape["w"],
            "parallel": shape["p"],
            "bandwidth": shape["bw"],
            "duplex": "half" if shape["sharing"] == "shared" else "full",
            "down_cable": "source",
        },
        "fairness": "per-flow",
        "flows": [list(flow) for flow in zip(case["src"], case["dst"], case["bytes"], strict=True)],
    }

    told = answer_flows(document, "f", Path()).to_dict()

    np.testing.assert_allclose(told["finish_s"], case["finish"], rtol=1e-9)
    np.testing.assert_allclose(told["rates_bytes_per_s"], case["rate0"], rtol=1e-9)
    if name == "half-3jobs":  # SimGrid has one link for both directions of a cable
        return
    names = [tree.link_name(fat_tree_link(tree, link)) for link in case["links"]]
    assert told["routes"] == [[names[link] for link in route] for route in case["routes"]]


WRONG = {
    "no flows": ({"flows": None}, "f: flows: expected a list of [source, destination, bytes]"),
    "two entries": ({"flows": [[0, 1]]}, "f: flows[0]: expected [source, destination, bytes]"),
    "unknown node": (
        {"flows": [[0, 1, 5], [0, 16, 5]]},
        "f: flows[1]: no node 16 in the fabric (fat-tree",
    ),
    "no bytes": ({"flows": [[0, 1, 0]]}, "f: flows[0]: expected a size from 0.001"),
    "bytes of a wrong type": ({"flows": [[0, 1, None]]}, "f: flows[0]: expected a size"),
    "fairness": ({"fairness": "fair"}, "f: fairness: expected one of per-sender, per-flow"),
    "unknown key": ({"flow": []}, "f: flow: unknown key (did you mean 'flows'?)"),
    "no path": (
        {"topology": TREE | {"failed_links": ["n0>s1.0"]}, "flows": [[0, 1, 5]]},
        "f: flows: ",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_flows_are_one_line_with_the_place(case):
    changes, words = WRONG[case]

    with pytest.raises(SnapshotError) as error:
        answer(**changes)

    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_the_tables_for_people_fit_80_columns(command):
    flows = [[i, (7 * i + 3) % 16, "1 MiB"] for i in range(16)]

    status, out, _ = command("flows", "-", stdin=json.dumps({"topology": TREE, "flows": flows}))

    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "6 more (--json has all)" in out
    assert "busiest links" in out


SMALL = {
    "topology": TREE | {"latency_base_s": 1e-6},
    "routing": "d-mod-k",
    "fairness": "per-flow",
    "flows": [[0, 1, 1e6], ["n3", "n9", "1 MB"], [2, 2, 5]],
}


@settings(deadline=None, max_examples=100)
@given(mutants(SMALL))
def test_mutated_documents_are_answered_or_refused_in_one_line(document):
    found, message = None, "f: "
    try:
        found = answer_flows(document, "f", Path())
    except CouplingError as error:
        message = str(error)

    assert message.startswith("f: ")
    assert "\n" not in message
    assert found is None or json.dumps(found.to_dict(), allow_nan=False)
