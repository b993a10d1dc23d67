"""What a prompt shows of public objects: one line each, and tables of answers."""

import inspect
from dataclasses import replace
from importlib import import_module

import networkx as nx
import numpy as np
import pytest
from sacct_logs import line, sacct

import fabricsim as fs
from coupling import NetworkLedger, NetworkRateModel
from netsim import (
    CONTENTION_MODELS,
    LatencyOf,
    Partition,
    Traffic,
    make_contention_model,
    make_routing,
    report_flows,
)
from patterns import PATTERNS, make_pattern
from patterns.base import Step
from scheduler import (
    DEFAULT_PROFILE,
    Cluster,
    Communication,
    DrawnFailures,
    FailurePolicy,
    Job,
    JobRate,
    Machine,
    MachineEvent,
    MachineEvents,
    NodeChooser,
    Observer,
    SwitchLimit,
    Verdict,
    WaitReasons,
    Window,
    make_allocator,
    make_policy,
    simulate,
)
from scheduler.allocation import NodeUnits
from scheduler.allocators import ALLOCATORS
from scheduler.footprint import Footprint
from scheduler.queues import POLICIES

PACKAGES = ("netsim", "patterns", "scheduler", "coupling", "fabricsim")
NEEDY = {"hybrid", "sequence", "matrix"}  # patterns that have to be told something
LONG = "a name of many words\n" * 40
PAIR = {"comm_fraction": 0.5, "pattern": {"name": "ring", "nbytes": 1e6}}

SENDS = {"steps": [[[0, 1, "1 MB"]]], "compute_s": "1 ms"}
ON_A_CABLE = {
    "topology": {"kind": "fat-tree", "radix": 4, "levels": 2},
    "jobs": [{"id": 1, "nodes": [0, 2], **SENDS}, {"id": 2, "nodes": [1, 4], **SENDS}],
}


def scene(topology="cab"):
    """Return a snapshot of two jobs."""
    return {
        "topology": topology,
        "jobs": [{"id": 1, "nodes": [0, 20], **PAIR}, {"id": 2, "nodes": [1, 21], **PAIR}],
    }


class Corner(NodeChooser):
    """An allocator with an option."""

    def __init__(self, step):
        self.step = step

    def choose(self, job, free, cluster):  # noqa: ARG002 (the protocol's)
        return free[: job.n_nodes]


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Return an object of every public class."""
    tree, torus = fs.topology("cab"), fs.topology("torus", dims=[3, 4])
    experiment = fs.Experiment(
        topology="cab",
        workload={"generator": "synth", "mean_nodes": 4, "n_jobs": 12},
        name=LONG,
    )
    campaign = fs.run_campaign(experiment, tmp_path_factory.mktemp("results") / "out")
    varied = {"name": LONG, "scheduler.allocator": ["random", "jigsaw"], "run.seed": [1]}
    swept = fs.sweep(experiment, varied)
    job = Job(1, 0.0, 4, 100.0, 100.0, name=LONG, extra=(("column", LONG),))
    schedule = simulate(
        [job], Cluster(tree), make_allocator("jigsaw", {}, 1), make_policy("easy", {})
    )
    routing = make_routing("d-mod-k", tree)
    ends = np.arange(200)
    network = NetworkRateModel(tree, routing, make_contention_model("fluid", tree))
    traffic = Traffic(
        np.zeros(200, dtype=int), ends, np.ones(200), routing.routes(ends, ends), 1.0, np.zeros(200)
    )
    return [
        *(tree, torus, fs.topology("dragonfly", groups=3, routers=4)),
        *(fs.from_networkx(nx.star_graph(30), bandwidth="1 GB/s", name=LONG), routing),
        *(Partition(ends, None), Partition(ends, ends), routing.routes(ends, ends), traffic),
        LatencyOf(tree),
        NodeUnits(cores=4),
        *(report_flows(tree, routing, ends, ends[::-1].copy(), np.ones(200)),),
        *(make_contention_model(name, tree) for name in CONTENTION_MODELS),
        *(make_allocator(name, {}, 1) for name in ALLOCATORS),
        *(make_policy(name, {"command": "true"} if name == "batsim" else {}) for name in POLICIES),
        *(
            make_pattern({"name": name})
            for name in PATTERNS.keys() - {"hybrid", "sequence", "matrix"}
        ),
        *(Step(ends, ends, np.ones(200)), Communication(LONG, make_pattern({"name": "ring"}), 0.5)),
        *(job, *schedule.records, schedule.records[0].allocation, schedule, Cluster(tree)),
        *(Corner(list(range(1000))), JobRate(), replace(DEFAULT_PROFILE, source=LONG)),
        *(network, NetworkLedger(network), Observer(), Cluster(tree).geometry),
        Machine(Cluster(tree), make_allocator("jigsaw", {}, 1), lambda job: job.runtime_s),
        *(Verdict("nodes"), WaitReasons(), SwitchLimit("2@60")),
        *(MachineEvents(), MachineEvent(1.0, "down", tuple(range(1000)), cause=LONG)),
        *(FailurePolicy(), DrawnFailures(range(1000), 10.0, 1.0, 1)),
        Window(0.0, 1.0, Footprint(), frozenset(range(1000))),
        *(fs.ecmp_audit(ON_A_CABLE, seeds=1), fs.stagger(ON_A_CABLE)),
        *(swept, swept.plan.spec, swept.compare()),
        *(fs.flows(topology="cab", flows=[(0, 18, "1 MB")]), fs.ebb("cab", samples=1)),
        *(experiment, campaign, campaign.results[0], fs.estimate(scene()), fs.verify(scene())),
        fs.now("examples/site/topology.conf", "examples/site/squeue.json", samples=1),
        fs.whatif("examples/placed_jobs.json", fail="s2.0"),
        fs.place("examples/site/topology.conf", "examples/site/squeue.json", nodes=1, samples=1),
        fs.replay(sacct(tmp_path_factory.mktemp("log") / "log", line(1, 0, 9, "n0")), "cab"),
        fs.calibrate(
            "examples/site/fabric.txt",
            "examples/site/squeue.json",
            before="examples/site/ports_before.txt",
            after="examples/site/ports_after.txt",
            seconds=60,
            samples=1,
        ),
        fs.read_log("examples/data/synth16.swf.gz"),
        import_module("coupling.inputs.snapshot").snapshot_from(scene(), LONG),
    ]


def test_every_public_object_has_a_repr_of_one_line(objects):
    for shown in objects:
        text = repr(shown)
        assert text.isprintable(), text
        assert len(text) < 200, text
        assert " at 0x" not in text, text


def test_every_public_class_is_among_the_objects(objects):
    """All classes of every `__all__` but errors and protocols, which have no objects."""
    modules = [import_module(package) for package in PACKAGES]
    public = [getattr(module, name) for module in modules for name in module.__all__]
    classes = {
        own
        for own in public
        if inspect.isclass(own)
        and not issubclass(own, BaseException)
        and not getattr(own, "_is_protocol", False)
    }

    assert {own for own in classes if not any(isinstance(one, own) for one in objects)} == set()


def test_a_fabric_says_its_shape():
    assert repr(fs.topology("thunder-1458")) == (
        "<FatTree: fat-tree, 1,458 nodes, 3 levels, full bisection; 405 switches, 8,748 links>"
    )


def test_answers_are_tables(objects):
    """A row for each job or flow, with what `to_dict` says."""
    found, checked = fs.estimate(scene()), fs.verify(scene())
    frame = found.to_frame()

    assert frame["id"].tolist() == [1, 2]
    assert frame["network_slowdown"].tolist() == [
        job["network_slowdown"] for job in found.to_dict()["jobs"]
    ]
    assert checked.to_frame()["isolated"].tolist() == [
        job["isolated"] for job in checked.to_dict()["jobs"]
    ]
    tables = [own for own in objects if hasattr(own, "to_frame")]
    assert {type(own).__name__ for own in tables} == {
        *("Estimate", "Verification", "Result", "FlowReport", "Now", "WhatIf", "Placing", "Replay"),
        *("Sweep", "Comparison", "Calibration", "Flows", "Workload", "EffectiveBisection"),
        *("EcmpAudit", "Stagger"),
    }
    for own in tables:
        assert own._repr_html_().startswith("<table")
        assert len(own.to_frame()) > 0


def test_texts_of_a_table_cannot_act_on_the_notebook():
    document = scene()
    document["jobs"][0]["id"] = "<script>"

    assert "<script>" not in fs.estimate(document)._repr_html_()


def test_graphs_fabrics_and_patterns_stand_where_names_can():
    """The same answer as by name."""
    graph = nx.Graph()
    graph.add_edges_from([("a", "b")])
    graph.add_edges_from(("ab"[n % 2], n) for n in range(8))
    by_name, made = scene(), scene(fs.topology("cab"))
    for job in made["jobs"]:
        job["pattern"] = fs.pattern("ring", nbytes=1e6)
    drawn = {"topology": graph, "jobs": [{"id": 1, "nodes": ["0", "1"], **PAIR}]}

    assert fs.estimate(made) == fs.estimate(by_name)
    assert fs.estimate(drawn) == fs.estimate({**drawn, "topology": fs.topology(graph)})
    assert repr(fs.topology(graph)) == repr(fs.from_networkx(graph))


@pytest.mark.parametrize("wrong", [3, [], PATTERNS["ring"], object()])
def test_what_is_no_pattern_is_refused(wrong):
    document = scene()
    document["jobs"][0]["pattern"] = wrong

    with pytest.raises(fs.FabricsimError, match="the name of a pattern, or a table with"):
        fs.estimate(document)
