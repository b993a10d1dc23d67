"""What is known of the models' errors: one table, quoted by results and by the documentation."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from netsim import accuracy
from netsim.accuracy import (
    Comparison,
    Setting,
    accuracy_details,
    accuracy_sentence,
    compared,
    known_accuracy,
    routing_kind,
    setting_of,
)
from netsim.routings import ROUTINGS, make_routing
from netsim.topologies import make_topology
from netsim.topology.fattree import FatTree
from netsim.topology.structure.kind import machine_kind

ROOT = Path(__file__).parents[2]
FULL = Setting("fluid", "per-sender", "full fat-tree", ("d-mod-k",), (1,), 65536.0)
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
            {"kind": "rail-tree", "rails": 2, "nodes_per_group": 4, "groups": 2},
            "rail tree",
        ),
        ({"kind": "torus", "dims": [4, 4]}, "torus"),
        ({"kind": "torus", "dims": [4, 4], "wrap": False}, "mesh"),
        ({"kind": "dragonfly", "groups": 3, "routers": 2}, "dragonfly"),
        ({"kind": "dragonfly", "groups": 3, "routers": [2, 3]}, "dragonfly of rows and columns"),
    ],
)
def test_machines_are_told_apart_by_kind_not_by_size(spec, kind):
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


def test_detours_round_failures_and_routings_of_users_were_never_compared():
    torn = make_topology(TREE | {"failed_links": ["s1.0>s2.0"]})

    assert routing_kind(make_routing("d-mod-k", torn)) == "d-mod-k round failures"
    assert routing_kind(object()) == "a routing of its own"


def test_a_result_like_the_packet_cases_quotes_their_errors():
    """The sentence is put together here from the table itself."""
    rows = [
        {"mix": "mixed", "most_ranks": None} | one
        for one in json.loads((ROOT / "netsim/accuracy.json").read_text())
    ]
    wanted = {
        "model": "fluid",
        "buffer_bytes": 65536.0,
        "machine": "full fat-tree",
        "routing": "d-mod-k",
        "ranks_per_node": 1,
        "mix": "mixed",
        "most_ranks": None,
    }
    mine = [one for one in rows if wanted.items() <= one.items()]
    off = [round(100 * one["mean_error"], 1) for one in mine]
    bias = [round(one["bias"], 2) for one in mine]
    sizes = [one[key] for one in mine for key in ("nodes", "most_nodes") if one.get(key)]

    assert len(mine) >= 2
    said = re.sub(r", so [^(]+ isolation gains[^(]* \(", " (", accuracy_sentence(FULL))
    assert said == (
        f"Model fast was compared with packets on {sum(one['jobs'] for one in mine)} jobs like "
        f"yours: mean error {min(off):.1f} to {max(off):.1f} %, bias {min(bias):.2f} to "
        f"{max(bias):.2f} (a full fat-tree with d-mod-k routing, 1 rank a node, port buffers of "
        f"65,536 bytes, {min(sizes)} to {max(sizes)} nodes)."
    )
    worst = max(one["worst_error"] for one in mine)
    assert accuracy_details(FULL).startswith(f"{100 * worst:.0f} % is the error of the worst job")


@pytest.mark.parametrize(
    "change",
    [
        {"machine": "tapered fat-tree"},
        {"machine": "irregular fabric"},
        {"machine": "torus", "routings": ("dimension-order",)},
        {"routings": ("wraparound",)},
        {"routings": ("d-mod-k", "wraparound")},
        {"routings": ("valiant",)},
        {"ranks_per_node": (8,)},
        {"ranks_per_node": (1, 2)},
        {"fairness": "per-flow"},
        {"buffer_bytes": 1e6},
        {"model": "hop-cost"},
    ],
)
def test_what_differs_from_the_packet_cases_in_one_point_was_never_compared(change, table):
    table(row(machine=FULL.machine, routing="d-mod-k", buffer_bytes=FULL.buffer_bytes))
    assert len(compared(FULL)) == 1
    setting = replace(FULL, **change)

    assert compared(setting) == ()
    text = accuracy_sentence(setting)
    assert text.startswith(f"No error is known: model {setting.model} was never compared with")
    assert setting.machine in text
    assert all(way in text for way in setting.routings)
    assert known_accuracy(setting)["compared_with_packets"] == []


def test_a_row_more_in_the_table_makes_a_kind_a_compared_one(table):
    torus = replace(FULL, machine="torus", routings=("dimension-order",), buffer_bytes=0.0)
    table(row())

    assert compared(torus) == (row(),)
    assert accuracy_sentence(torus) == (
        "Model fast was compared with packets on 7 jobs like yours: mean error 5.1 %, bias 1.25, "
        "so it rather overstates what isolation gains (a torus with dimension-order routing, "
        "1 rank a node, no port buffers stated, 64 nodes)."
    )


@pytest.mark.parametrize(
    ("bias", "words"),
    [
        ((1.02,), "bias 1.02, so what isolation gains comes out about right (a torus"),
        ((0.9, 1.1), "bias 0.90 to 1.10, so what isolation gains comes out about right (a torus"),
        ((0.89,), "bias 0.89, so it rather understates what isolation gains (a torus"),
        ((1.11,), "bias 1.11, so it rather overstates what isolation gains (a torus"),
        (
            (0.5, 1.04),
            "bias 0.50 to 1.04, so it understates what isolation gains or is about right (a torus",
        ),
        (
            (0.98, 1.2),
            "bias 0.98 to 1.20, so it overstates what isolation gains or is about right (a torus",
        ),
        ((0.8, 1.2), "bias 0.80 to 1.20 (a torus"),
    ],
)
def test_a_bias_that_may_be_chance_is_called_about_right(bias, words, table):
    """Drawing scenes anew moves a bias of 150 to 190 jobs by 0.04 to 0.12 (standard error)."""
    torus = Setting("fluid", "per-sender", "torus", ("dimension-order",), (1,), 0.0)
    table(*(row(bias=one) for one in bias))

    assert words in accuracy_sentence(torus)


def test_several_ranks_and_routings_need_a_comparison_each(table):
    both = replace(
        FULL,
        machine="torus",
        routings=("dimension-order",),
        ranks_per_node=(1, 8),
        buffer_bytes=0.0,
    )
    table(row())
    assert compared(both) == ()

    table(row(), row(ranks_per_node=8, bias=0.8))
    assert len(compared(both)) == 2
    assert "bias 0.80 to 1.25 (a torus" in accuracy_sentence(both)


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

    assert plain == FULL
    assert mixed == replace(FULL, routings=("d-mod-k", "wraparound"), ranks_per_node=(1, 4))
    assert Setting.from_dict(json.loads(json.dumps(mixed.to_dict()))) == mixed
    assert setting_of(tree, None, model="assumed", fairness="per-sender").routings == ()


@pytest.mark.parametrize("model", ["null", "assumed"])
def test_what_simulates_no_network_has_nothing_to_compare(model):
    setting = replace(FULL, model=model)

    assert "nothing to compare with packets" in accuracy_sentence(setting)
    assert accuracy_details(setting) == ""


def test_a_comparison_over_machines_of_several_sizes_names_the_least_and_the_largest(table):
    table(row(nodes=128, most_nodes=1024))
    torus = Setting("fluid", "per-sender", "torus", ("dimension-order",), (1,), 0.0)

    assert "no port buffers stated, 128 to 1024 nodes)" in accuracy_sentence(torus)
    assert "on 7 jobs like yours" in accuracy_sentence(torus)


TORUS = Setting("fluid", "per-sender", "torus", ("dimension-order",), (2,), 0.0)
STEPPING = replace(TORUS, mix="in steps")
WIDE = {"most_ranks": 8, "jobs": 20}


def test_jobs_that_talk_alike_are_quoted_before_those_with_as_many_ranks(table):
    own, ranks, every = row(mix="in steps", **WIDE), row(ranks_per_node=2), row(**WIDE)
    table(every, ranks, own, row(mix="few at once", **WIDE))

    assert compared(STEPPING) == (own,)
    assert accuracy_sentence(STEPPING) == (
        "Model fast was compared with packets on 20 jobs like yours: mean error 5.1 %, bias 1.25, "
        "so it rather overstates what isolation gains (a torus with dimension-order routing, "
        "1 to 8 ranks a node, no port buffers stated, jobs that communicate in steps, 64 nodes)."
    )
    assert compared(TORUS) == (ranks,)
    assert compared(replace(TORUS, ranks_per_node=(3,))) == (every,)


@pytest.mark.parametrize("change", [{"jobs": 19}, {"mix": "one with all"}, {"routing": "valiant"}])
def test_with_too_few_jobs_that_talk_alike_the_row_of_all_is_quoted_and_says_so(change, table):
    """Twenty jobs are enough (above); here there are nineteen, or others."""
    own = row(mix="in steps", **WIDE)
    table(replace(own, **change), row(ranks_per_node=2, jobs=33))

    assert compared(STEPPING) == (row(ranks_per_node=2, jobs=33),)
    assert accuracy_sentence(STEPPING).startswith(
        "Model fast was compared with packets on 33 jobs of all patterns, as too few communicate "
        "in steps like yours: mean error 5.1 %, bias 1.25"
    )
    assert "(a torus with dimension-order routing, 2 ranks a node" in accuracy_sentence(STEPPING)


@pytest.mark.parametrize("ranks", [(9,), (1, 9)])
def test_more_ranks_than_any_comparison_had_were_never_compared(ranks, table):
    table(row(mix="in steps", **WIDE), row(), row(**WIDE))

    assert compared(replace(STEPPING, ranks_per_node=ranks)) == ()
    assert "never compared" in accuracy_sentence(replace(STEPPING, ranks_per_node=ranks))


def test_results_that_do_not_say_how_jobs_talk_count_as_mixed():
    old = {key: value for key, value in TORUS.to_dict().items() if key != "mix"}

    assert Setting.from_dict(old) == TORUS
    assert TORUS.mix == "mixed"


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
