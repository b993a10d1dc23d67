"""What is known of the models' errors: one table, quoted by results and by the documentation."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fabricsim.checking.documents import json_fields
from netsim.registries import accuracy
from netsim.registries.accuracy import (
    Comparison,
    Setting,
    accuracy_line,
    known_accuracy,
    machine_kind,
    nearest_comparisons,
    routing_kind,
    setting_of,
)
from netsim.registries.routings import ROUTINGS, make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.fattree import FatTree

ROOT = Path(__file__).parents[3]
FULL = Setting("fluid", "per-sender", "full fat-tree", ("d-mod-k",), (1,), 65536.0)
TORUS = Setting("fluid", "per-sender", "torus", ("dimension-order",), (1,), 0.0, nodes=64)
TREE = {"kind": "fat-tree", "radix": 4}


def row(**changes):
    """Return a comparison with made-up numbers."""
    fields = {
        "machine": "torus",
        "routing": "dimension-order",
        "ranks_per_node": 1,
        "fairness": "per-sender",
        "buffer_bytes": 0.0,
        "load": "made up",
        "model": "fluid",
        "nodes": 64,
        "cases": 3,
        "jobs": 7,
        "mean_error": 0.051,
        "p90_error": 0.1,
        "worst_error": 0.2,
        "contended_error": 0.07,
        "bias": 1.25,
        "rank": 0.8,
        "source": "somewhere",
    }
    return Comparison(**(fields | changes))


def test_comparisons_of_a_model_are_those_of_all_that_name_it():
    every = accuracy.comparisons()
    for model in {row.model for row in every}:
        assert accuracy.comparisons(model) == tuple(row for row in every if row.model == model)
    assert accuracy.comparisons("nobody's") == ()


@pytest.fixture
def table(monkeypatch):
    """Return a function that puts other comparisons in the place of the table."""

    def put(*rows):
        monkeypatch.setattr(accuracy, "comparisons", lambda _: rows)

    return put


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (TREE, "full fat-tree"),
        ("thunder-1458", "full fat-tree"),
        ({"kind": "fat-tree", "radix": 8, "levels": 2}, "full fat-tree"),
        (TREE | {"bandwidth": [1e9, 2e9, 2e9]}, "full fat-tree, unequal links"),
        (TREE | {"duplex": "half"}, "full fat-tree, half duplex"),
        (TREE | {"failed_links": ["s1.0>s2.0"]}, "full fat-tree, parts missing"),
        (TREE | {"missing": ["n3"]}, "full fat-tree, parts missing"),
        (
            {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2], "parallel": [1, 1]},
            "tapered fat-tree",
        ),
        (
            {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2], "parallel": [1, 2]},
            "full fat-tree of parallel cables",
        ),
        (
            {"kind": "fat-tree", "children": [2, 4], "parents": [1, 4], "parallel": [1, 1]},
            "fat-tree with spare uplinks",
        ),
        (
            {"kind": "fat-tree", "children": [4, 2], "parents": [2, 4], "parallel": [1, 1]},
            "rail tree",
        ),
        ({"kind": "torus", "dims": [4, 4]}, "torus"),
        ({"kind": "torus", "dims": [4, 4], "wrap": False}, "mesh"),
        ({"kind": "dragonfly", "groups": 3, "routers": 2}, "dragonfly"),
        ({"kind": "dragonfly", "groups": 3, "routers": [2, 3]}, "dragonfly of rows and columns"),
    ],
)
def test_machines_are_distinguished_by_kind_not_by_size(spec, kind):
    assert machine_kind(make_topology(spec)) == kind


def test_a_fabric_of_no_known_shape_is_irregular():
    tree = make_topology(TREE)
    fields = ("name", "n_nodes", "n_switches", "link_tail", "link_head", "link_cable")
    plain = type(tree).__mro__[1](
        **{name: getattr(tree, name) for name in (*fields, "capacity", "channel")}
    )

    assert isinstance(tree, FatTree)
    assert machine_kind(plain) == "irregular fabric"


def test_every_routing_has_its_name_where_errors_are_looked_up():
    """Jigsaw's is two: what it does on links that a job owns, and D-mod-k."""
    fabrics = [
        TREE,
        {"kind": "torus", "dims": [4]},
        {"kind": "dragonfly", "groups": 3, "routers": 2},
    ]
    home = {"dimension-order": 1, "minimal": 2, "valiant": 2}

    for name in ROUTINGS:
        routing = make_routing(name, make_topology(fabrics[home.get(name, 0)]))
        assert routing_kind(routing) == ("d-mod-k" if name == "jigsaw" else name)
        assert routing_kind(routing, owned=True) == ("wraparound" if name == "jigsaw" else name)
    order = make_routing("dimension-order", make_topology({"kind": "hyperx", "dims": [3, 3]}))
    assert routing_kind(order) == "dimension-order"


def test_detours_round_failures_and_routings_of_users_were_never_compared():
    torn = make_topology(TREE | {"failed_links": ["s1.0>s2.0"]})

    assert routing_kind(make_routing("d-mod-k", torn)) == "d-mod-k round failures"
    assert routing_kind(object()) == "a routing of its own"


def test_a_result_within_what_was_compared_has_one_line(table):
    """Two loads of one setting: errors and biases are means over their 30 and 10 jobs."""
    table(row(jobs=30, mean_error=0.04, bias=1.0), row(jobs=10, mean_error=0.08, bias=1.2))

    assert accuracy_line(TORUS) == (
        "How true: mean error 5.0 %, bias 1.05 against packet simulation (40 jobs, torus, "
        "dimension-order)."
    )
    assert known_accuracy(TORUS)["outside"] == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nodes": 24}, "24 nodes (64 to 1,024)"),
        ({"nodes": 2048}, "2,048 nodes (64 to 1,024)"),
        ({"machine": "irregular fabric"}, "irregular fabric (torus)"),
        ({"machine": "torus, parts missing"}, "torus, parts missing (torus)"),
        ({"routings": ("dimension-order", "valiant")}, "valiant (dimension-order)"),
        ({"ranks_per_node": (1, 8)}, "8 ranks a node (1)"),
        ({"fairness": "per-flow"}, "per-flow (per-sender)"),
        ({"buffer_bytes": 65536.0}, "buffers of 65,536 bytes (0)"),
    ],
)
def test_what_lies_outside_of_what_was_compared_is_in_the_same_line(change, said, table):
    table(row(most_nodes=1024))
    setting = replace(TORUS, **change)

    assert accuracy_line(setting) == (
        "How true: mean error 5.1 %, bias 1.25 against packet simulation (7 jobs, torus, "
        f"dimension-order); outside what was compared: {said}."
    )
    assert known_accuracy(setting)["outside"] == [said]


def test_a_model_that_was_never_compared_says_so():
    assert nearest_comparisons(replace(TORUS, model="hop-cost")) == ()
    assert accuracy_line(replace(TORUS, model="hop-cost")) == (
        "How true: not known; model hop-cost was never compared with packet simulation."
    )


def test_a_fabric_of_24_nodes_is_outside_of_the_table():
    """The smallest machine of the matrix has 128 nodes."""
    said = accuracy_line(replace(FULL, nodes=24))

    assert "outside what was compared: 24 nodes (128 to " in said
    assert len(said) <= 160
    assert "outside" not in accuracy_line(replace(FULL, nodes=128))


def test_the_nearest_comparison_has_the_routing_and_the_ranks_of_the_result(table):
    near = row(ranks_per_node=2)
    table(row(machine="mesh"), row(routing="adaptive"), row(), near, row(most_ranks=8))

    assert nearest_comparisons(replace(TORUS, ranks_per_node=(2,))) == (near,)


def test_a_setting_is_what_the_network_of_a_result_was():
    tree = make_topology(TREE | {"buffer": "64 KiB"})
    jigsaw = make_routing("jigsaw", tree)

    plain = setting_of(tree, jigsaw, model="fluid", fairness="per-sender")
    mixed = setting_of(
        tree,
        jigsaw,
        model="fluid",
        fairness="per-sender",
        owned=[True, False],
        ranks_per_node=[4, 1],
    )

    assert plain == replace(FULL, nodes=16)
    assert mixed == replace(
        FULL, nodes=16, routings=("d-mod-k", "wraparound"), ranks_per_node=(1, 4)
    )
    assert Setting.from_dict(json.loads(json.dumps(json_fields(mixed)))) == mixed
    assert setting_of(tree, None, model="assumed", fairness="per-sender").routings == ()


@pytest.mark.parametrize("model", ["null", "assumed"])
def test_what_simulates_no_network_has_nothing_to_compare(model):
    setting = replace(FULL, model=model)

    assert "nothing to compare with packets" in accuracy_line(setting)


def test_jobs_that_talk_alike_are_quoted_where_there_are_twenty(table):
    own, every = row(traffic_class="multi-step", most_ranks=8, jobs=20), row()
    stepping = replace(TORUS, traffic_class="multi-step")

    table(own, every)
    assert nearest_comparisons(stepping) == (own,)
    assert nearest_comparisons(TORUS) == (every,)

    table(replace(own, jobs=19), every)
    assert nearest_comparisons(stepping) == (every,)
    assert "compared: pattern: multi-step (fewer than 20 jobs)." in accuracy_line(stepping)


def test_results_that_do_not_say_how_jobs_talk_count_as_mixed():
    old = {key: value for key, value in json_fields(TORUS).items() if key != "traffic_class"}

    assert Setting.from_dict(old) == TORUS
    assert TORUS.traffic_class == "mixed"


@pytest.mark.parametrize(
    ("model", "packet", "options", "fairness"),
    [
        ("fluid", "4 KiB", {}, "per-sender"),
        ("fluid", "1 KiB", {}, "per-sender, packets of 1,024 bytes"),
        ("packets", "4 KiB", {"stepping": "rank"}, "per-sender, without barriers"),
        ("packets", "1 KiB", {}, "of other switches"),
    ],
)
def test_other_packets_and_ranks_without_barriers_are_settings_of_their_own(
    model, packet, options, fairness
):
    tree = make_topology(TREE | {"buffer": "64 KiB", "packet": packet})

    told = setting_of(tree, None, model=model, fairness="per-sender", options=options)

    assert told.fairness == fairness
