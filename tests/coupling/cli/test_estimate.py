"""Estimates from the command: options, refusals, what is printed."""

import json
import re
from dataclasses import replace
from inspect import signature

import pytest
from estimatescenes import EXAMPLES, TAPERED, THREE, one_flow, scene

from coupling import estimate, read_snapshot
from coupling.cli import estimate as command_file
from coupling.errors import SnapshotError
from coupling.inputs.snapshot import snapshot_from
from netsim.registries.contention_models import CONTENTION_MODELS


def test_options_reach_the_model():
    """Another order of phases or tolerance gives another answer; an unknown one is refused."""
    document = json.loads((EXAMPLES / "placed_jobs.json").read_text())

    plain, *others = (
        estimate(document | {"model_options": options}, blame=False).jobs[1].interference
        for options in ({}, {"seed": 2}, {"tolerance": 1e-6})
    )

    assert plain not in others
    with pytest.raises(SnapshotError, match="unknown option 'sample'"):
        estimate(document | {"model_options": {"sample": 2}})
    with pytest.raises(SnapshotError, match="model 'flow-level' has none"):
        estimate(document | {"model_options": {"seed": 2}, "model": "flow-level"})


REFUSED = {
    "no pattern": (
        scene({"id": 1, "nodes": [0, 1]}),
        "job 1 pattern: expected a pattern or steps",
    ),
    "some iterations": (
        scene(one_flow("a", 0, 4, iterations=3), one_flow("b", 1, 8)),
        "job b iterations: expected them for all jobs or for none, 1 of 2",
    ),
    "not routable": (
        scene(one_flow("a", 0, 4, links=[]), routing="jigsaw"),
        "job a: no shortest path from n0 to n4 on the links that the job owns",
    ),
    "candidate not routable": (
        scene(
            one_flow("a", 0, 4),
            routing="jigsaw",
            candidates=[{"job": "a", "nodes": [0, 5]}, {"job": "a", "nodes": [0, 5], "links": []}],
        ),
        "candidates[1], job a: no shortest path from n0 to n5",
    ),
    "buffer": (
        scene(one_flow("a", 0, 4), topology=TAPERED | {"buffer": "1 TB"}),
        "topology: buffer: expected a buffer of at most 1 GiB, got 1e+12",
    ),
    "too long": (
        scene(one_flow("a", 0, 4, compute_s=None, comm_fraction=1e-9, steps=[[[0, 1, 1e18]]])),
        "expected an iteration of at most 1e+15 s",
    ),
    "practically endless": (
        scene(
            one_flow("a", 0, 4, compute_s=1e12),
            one_flow("b", 1, 8, steps=[[[0, 1, "0.01 B"]]]),
        ),
        "give iterations or another model",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_estimated_is_refused_with_the_job(case):
    document, words = REFUSED[case]

    with pytest.raises(SnapshotError) as error:
        estimate(document)

    assert words in str(error.value)
    assert str(error.value).startswith("snapshot: ")


def test_the_command_prints_what_the_function_returns(command):
    """--json: the contract's fields, numbers alone on stdout."""
    path = EXAMPLES / "placed_jobs.json"

    status, out, err = command("estimate", path, "--json")

    assert (status, err) == (0, "")
    told = json.loads(out)
    assert told == json.loads(json.dumps(estimate(read_snapshot(path)).to_dict()))
    assert {
        "id", "alone_s", "together_s", "network_slowdown", "interference", "placement_factor",
        "worst_link", "end_s", "p99_s", "blame",
    } == told["jobs"][0].keys()  # fmt: skip
    assert told["jobs"][0]["blame"] == [{"job": "training", "share": 1.0}]
    assert told["ranking"] == [{"job": "training", "candidates": [0, 1, 2]}]


def test_the_command_reads_standard_input_and_takes_another_model(command):
    document = json.dumps(scene(*THREE, model="fluid", model_options={"seed": 4}))

    status, out, _ = command(
        "estimate", "-", "--json", "--model", "flow-level", "--fairness", "per-flow", stdin=document
    )

    assert status == 0
    assert json.loads(out)["jobs"][0]["interference"] == pytest.approx(3.0)


def test_the_tables_for_people_fit_80_columns(command):
    status, out, _ = command("estimate", EXAMPLES / "placed_jobs.json")

    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    for words in ("stencil loses", "100 % to training", "s1.0>s2.0", "1. candidates[0]"):
        assert words in out


PAIR = {"steps": [[[0, 1, "1 MB"]]], "compute_s": 0}
NEVER = {  # topology, further fields of the snapshot, of its job, words
    "tapered tree": (TAPERED, {"routing": "s-mod-k"}, {}, "s-mod-k"),
    "mesh": ({"kind": "torus", "dims": [4, 4], "wrap": False}, {}, {}, "mesh"),
    "dragonfly": (
        {"kind": "dragonfly", "groups": 3, "routers": 2}, {"routing": "shortest"}, {}, "shortest",
    ),
    "routing by load": (
        {"kind": "fat-tree", "radix": 4}, {"routing": "least-loaded-per-job"}, {},
        "least-loaded-per-job",
    ),
    "nine ranks a node": (
        {"kind": "fat-tree", "radix": 4}, {}, {"nodes": [0] * 9 + [1] * 9}, "9 ranks a node",
    ),
    "a failed cable": (
        {"kind": "fat-tree", "radix": 4, "failed_links": ["s1.0>s2.0"]}, {}, {}, "parts missing",
    ),
    "fair per flow": (
        {"kind": "fat-tree", "radix": 4}, {"fairness": "per-flow"}, {}, "per-flow (per-sender)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NEVER)
def test_what_was_never_compared_with_packets_is_named(command, case):
    topology, more, of_job, words = NEVER[case]
    job = {"id": 1, "nodes": [0, 5], **PAIR, **of_job}
    document = json.dumps({"topology": topology, "jobs": [job], **more})

    told = json.loads(command("estimate", "-", "--json", stdin=document)[1])["network"]
    lines = " ".join(command("estimate", "-", stdin=document)[1].split())

    assert "outside what was compared: " in lines
    assert any(words in one for one in told["outside"])
    assert told["accuracy"] in lines


def test_a_kind_of_network_that_was_compared_with_packets_has_its_error(command):
    job = {"id": 1, "nodes": [0, 5], **PAIR}
    document = json.dumps({"topology": {"kind": "fat-tree", "radix": 4}, "jobs": [job]})

    told = json.loads(command("estimate", "-", "--json", stdin=document)[1])["network"]
    lines = " ".join(command("estimate", "-", stdin=document)[1].split())

    assert {one["load"] for one in told["compared_with_packets"]} >= {
        "compute phases",
        "always communicating",
    }
    assert "How true: mean error" in lines
    assert told["accuracy"] in lines


@pytest.mark.parametrize(
    ("fractions", "traffic_class"),
    [((0.5, 0.25), "multi-step"), ((0.5, 0.5), "mixed"), ((0.1, 0.9), "low-fanout")],
)
def test_the_mix_of_a_snapshot_is_that_of_what_keeps_most_nodes_communicating(
    command, fractions, traffic_class
):
    """Four nodes each: 4 x 0.5 beside 4 x 0.25 are two thirds, one half are not."""
    patterns = ({"name": "recursive-doubling"}, {"name": "pairs"})
    jobs = [
        {"id": at, "nodes": nodes, "pattern": pattern, "comm_fraction": fraction}
        for at, (nodes, pattern, fraction) in enumerate(
            zip(([0, 1, 4, 5, 8], [2, 3, 6, 7, 9]), patterns, fractions, strict=True)
        )
    ]
    document = json.dumps({"topology": {"kind": "fat-tree", "radix": 4}, "jobs": jobs})

    told = json.loads(command("estimate", "-", "--json", stdin=document)[1])["network"]

    assert told["traffic_class"] == traffic_class


def test_help_names_every_model():
    (option,) = signature(command_file.estimate).parameters["model"].annotation.__metadata__

    assert CONTENTION_MODELS.keys() <= set(re.findall(r"[a-z-]+", option.help))


def test_a_wrong_model_is_one_line(command):
    status, out, err = command("estimate", EXAMPLES / "placed_jobs.json", "--model", "quick")

    assert (status, out) == (2, "")
    assert err.startswith("fabricsim: --model: expected one of fluid, flow-level, packets, null")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("fluid", {"tolerance": [1]}, "contention model 'fluid': tolerance: expected"),
        ("fluid", {"seed": "8"}, "contention model 'fluid': seed: expected"),
    ],
)
def test_wrong_options_are_one_line_that_names_the_file(command, model, options, words):
    document = json.dumps(scene(*THREE, model=model, model_options=options))

    status, out, err = command("estimate", "-", stdin=document)

    assert (status, out) == (2, "")
    assert err.startswith("fabricsim: -: model_options: ")
    assert words in err
    assert err.count("\n") == 1


def test_blame_can_be_left_out():
    snapshot = read_snapshot(EXAMPLES / "placed_jobs.json")

    found = estimate(replace(snapshot, candidates=()), blame=False)

    assert all(job.blame == () for job in found.jobs)
    assert found.jobs[0].interference > 1.0
    assert snapshot_from(scene()).jobs == ()
