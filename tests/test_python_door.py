"""The public names from Python: what cannot be meant is an error of ours, never an answer."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fabricsim
import netsim
import scheduler
from coupling import (
    Experiment,
    NetworkRateModel,
    Result,
    estimate,
    read_snapshot,
    run_campaign,
    speedup,
    summarize,
    verify,
    write_report,
)
from coupling.errors import CouplingError
from coupling.runs.engine import run
from coupling.sweep.sweep import run_sweep
from netsim.common.errors import NetsimError
from patterns import PatternError, make_pattern
from scheduler.errors import SchedulerError

ROOT = Path(__file__).parents[1]
NAN, INF = float("nan"), float("inf")
OWN = (NetsimError, PatternError, SchedulerError, CouplingError)
TREE = netsim.make_topology({"kind": "fat-tree", "radix": 4})
DRAGONFLY = netsim.make_topology({"kind": "dragonfly", "groups": 3, "routers": [2, 2]})
TORUS = netsim.make_topology({"kind": "torus", "dims": [3, 3]})
D_MOD_K = netsim.make_routing("d-mod-k", TREE)
ROUTES = netsim.Routes.from_lists([[0], [0, 1]], 2)
SMALL = {"topology": {"kind": "fat-tree", "radix": 4}, "workload": {"generator": "synth"}}
JOB = {"id": 1, "submit_s": 0.0, "n_nodes": 2, "runtime_s": 10.0, "requested_s": 10.0}


def small():
    return Experiment(SMALL["topology"], {"generator": "synth", "mean_nodes": 2, "n_jobs": 5})


def partition(nodes, links=()):
    return netsim.Partition(nodes, list(links))


def flows(**changes):
    return netsim.report_flows(
        TREE, D_MOD_K, **({"src": [0], "dst": [9], "nbytes": [1.0]} | changes)
    )


def tree(**changes):
    fields = {"children": [2, 2], "parents": [1, 2], "parallel": [1, 1], "bandwidth": 1e9}
    return netsim.build_fat_tree(**(fields | changes))


def traffic(model="fluid", **changes):
    fields = {
        "step": np.array([0]),
        "sender": np.array([0]),
        "nbytes": np.array([1.0]),
        "routes": D_MOD_K.routes([0], [9]),
        "compute_s": 1.0,
        "latency_s": np.array([0.0]),
    }
    netsim.make_contention_model(model, TREE).start(1, netsim.Traffic(**(fields | changes)))


def non_blocking(**options):
    return netsim.rearrangeable(TREE, partition([0, 1]), **options)


def simulate(*jobs, **options):
    return scheduler.simulate(
        [scheduler.Job(**(JOB | job)) for job in jobs],
        scheduler.Cluster(TREE),
        scheduler.make_allocator("first-free", {}, 1),
        scheduler.make_policy("fcfs", {}),
        **options,
    )


def profile(**rule):
    ring = {"pattern": {"name": "ring"}, "comm_fraction": 0.5, "bytes_per_flow": "1 MB"}
    return scheduler.profile_from({"version": 1, "rule": [ring | rule]})


def placed(**options):
    return estimate(read_snapshot(ROOT / "examples" / "placed_jobs.json"), **options)


def checked(**options):
    return verify(read_snapshot(str(ROOT / "examples" / "partitions.json")), **options)


ATTACKS = {
    "hops of a node that is not there": lambda: netsim.average_pairwise_hops(TREE, [0, 999]),
    "hops of node -1": lambda: netsim.average_pairwise_hops(TORUS, [0, -1]),
    "hops of halves": lambda: netsim.average_pairwise_hops(TREE, [0.5, 1.5]),
    "hops on a name": lambda: netsim.average_pairwise_hops("cab", [0, 1]),
    "hops to a node that is not there": lambda: TREE.hops([0], [999]),
    "hops from node -1": lambda: TORUS.hops([-1], [0]),
    "hops from half a node": lambda: DRAGONFLY.hops(np.array([0.5]), [1]),
    "hops from true": lambda: DRAGONFLY.hops([True], [1]),
    "hops of other lengths": lambda: TORUS.hops([0], [1, 2]),
    "hops of a text": lambda: TREE.hops("x", [1]),
    "searched hops of node 999": lambda: netsim.Topology.hops(TREE, [0], [999]),
    "all hops of node 999": lambda: TREE.total_hops([0, 999]),
    "all hops of node -1": lambda: TORUS.total_hops([0, -1]),
    "all hops of halves": lambda: DRAGONFLY.total_hops([0.5, 1.0]),
    "a turn at a node that is not there": lambda: TREE.turning_level([0], [999]),
    "a turn at node -1": lambda: TREE.turning_level([-1], [0]),
    "hop-bytes outside": lambda: netsim.hop_bytes(TREE, [0], [99], [1.0]),
    "hop-bytes below 0": lambda: netsim.hop_bytes(TREE, [0], [9], [-1.0]),
    "hop-bytes nan": lambda: netsim.hop_bytes(TREE, [0], [9], [NAN]),
    "hop-bytes of other lengths": lambda: netsim.hop_bytes(TREE, [0], [9], [1.0, 2.0]),
    "name of vertex -1": lambda: TREE.vertex_name(-1),
    "name of link -1": lambda: TREE.link_name(-1),
    "class of no link": lambda: TREE.link_class(10**6),
    "class of no link of a torus": lambda: TORUS.link_class(10**6),
    "class of link -1": lambda: TORUS.link_class(-1),
    "position of vertex -1": lambda: TREE.position(-1),
    "flows from half a node": lambda: flows(src=[0.5]),
    "flows from true": lambda: flows(src=[True]),
    "flows of text": lambda: flows(nbytes=["x"]),
    "flows of other lengths": lambda: flows(nbytes=[1.0, 2.0]),
    "shared links below 0": lambda: netsim.shared_links([[-1], [-1]]),
    "shared halves": lambda: netsim.shared_links([[1.5], [1.5]]),
    "shared links by id": lambda: netsim.shared_links({7: [1]}),
    "partition of a text": lambda: partition("abc"),
    "partition of booleans": lambda: partition([True, False]),
    "partition below 0": lambda: partition([-1]),
    "conditions on a torus": lambda: netsim.broken_conditions(TORUS, partition([0, 1])),
    "proof on a torus": lambda: netsim.rearrangeable(TORUS, partition([0, 1])),
    "-1 random permutations": lambda: non_blocking(n_random=-1),
    "true random permutations": lambda: non_blocking(n_random=True),
    "random seed -1": lambda: non_blocking(seed=-1),
    "exhaustion below 0": lambda: non_blocking(exhaustive_limit=-1),
    "half a permutation": lambda: non_blocking(permutations=[3]),
    "a lopsided permutation": lambda: non_blocking(permutations=[([0], [0, 1])]),
    "rates of capacities of text": lambda: netsim.max_min_rates(ROUTES, ["a", "b"]),
    "rates of true": lambda: netsim.max_min_rates(ROUTES, [True, True]),
    "half channels": lambda: netsim.max_min_rates(ROUTES, [1.0, 2.0], None, [0.0, 0.5]),
    "a channel of two speeds": lambda: netsim.max_min_rates(ROUTES, [1.0, 2.0], None, [0, 0]),
    "rates of lists": lambda: netsim.max_min_rates([[0]], [1.0]),
    "rates over no link": lambda: netsim.max_min_rates(
        netsim.Routes.from_lists([[5]], 2), [1.0, 2.0]
    ),
    "rates of cut-off routes": lambda: netsim.max_min_rates(
        netsim.Routes(np.array([0, 5]), np.array([0]), 2), [1.0, 2.0]
    ),
    "a tree of 2.5 children": lambda: tree(children=[2.5, 2]),
    "a tree of true children": lambda: tree(children=[True, 2]),
    "a tree of text": lambda: tree(children="22"),
    "a tree of no list": lambda: tree(parents=4),
    "half duplex 'no'": lambda: tree(half_duplex="no"),
    "latency nan": lambda: tree(latency_base_s=NAN),
    "radix 4.0": lambda: netsim.fat_tree_of_radix(4.0, 1e9),
    "radix nothing": lambda: netsim.fat_tree_of_radix(None, 1e9),
    "routing seed -1": lambda: netsim.make_routing("ecmp", TREE, -1),
    "routing seed true": lambda: netsim.make_routing("ecmp", TREE, True),
    "routing seed text": lambda: netsim.make_routing("d-mod-k", TREE, "x"),
    "routing on a name": lambda: netsim.make_routing("d-mod-k", "cab"),
    "model on a name": lambda: netsim.make_contention_model("fluid", "cab"),
    "model of a list": lambda: netsim.make_contention_model(["fluid"], TREE),
    "model options of a list": lambda: netsim.make_contention_model("fluid", TREE, options=[1]),
    "model seed -1": lambda: netsim.make_contention_model("flow-level", TREE, options={"seed": -1}),
    "traffic of endless bytes": lambda: traffic(nbytes=np.array([INF])),
    "traffic that computes for ever": lambda: traffic(compute_s=INF),
    "traffic that computes a text": lambda: traffic(compute_s="1"),
    "latency of nan": lambda: traffic(latency_s=np.array([NAN])),
    "latency below 0": lambda: traffic("fluid", latency_s=np.array([-1.0])),
    "traffic on -1 nodes": lambda: traffic(n_nodes=-1),
    "exact traffic of nobody": lambda: traffic("flow-level", sender=np.array([99])),
    "traffic over no link": lambda: traffic(routes=netsim.Routes.from_lists([[999]], TREE.n_links)),
    "a topology file that is a number": lambda: netsim.read_topology(3),
    "inspection of a name": lambda: netsim.inspect_topology("cab"),
    "half a rank": lambda: make_pattern({"name": "ring"}).steps(2.5),
    "true ranks": lambda: make_pattern({"name": "ring"}).steps(True),
    "a job on true nodes": lambda: simulate({"n_nodes": True}),
    "a job on 1.5 nodes": lambda: simulate({"n_nodes": 1.5}),
    "a job that runs for nan": lambda: simulate({"runtime_s": NAN}),
    "a job that runs for -1": lambda: simulate({"runtime_s": -1.0}),
    "a job that runs for ever": lambda: simulate({"runtime_s": INF}),
    "a job that runs for a text": lambda: simulate({"runtime_s": "10"}),
    "a job of no time": lambda: simulate({"submit_s": NAN}),
    "a job with nan requested": lambda: simulate({"requested_s": NAN}),
    "a job with a text for its id": lambda: simulate({"id": "x"}),
    "jobs out of order": lambda: simulate({"id": 2, "submit_s": 5.0}, {}),
    "killing 'no'": lambda: simulate({}, kill_at_limit="no"),
    "a machine of a name": lambda: scheduler.Cluster("cab"),
    "communication beyond all": lambda: scheduler.Communication("x", None, 1.5),
    "communication nan": lambda: scheduler.Communication("x", None, NAN),
    "an allocator without options": lambda: scheduler.make_allocator("jigsaw", None, 1),
    "an allocator's seed of text": lambda: scheduler.make_allocator("random", {}, "x"),
    "a queue without options": lambda: scheduler.make_policy("easy", None),
    "no workload": lambda: scheduler.make_workload(None),
    "a workload in folder 3": lambda: scheduler.make_workload({"path": "a.swf"}, 3),
    "a log that is a number": lambda: scheduler.read_swf(3),
    "a profile that is a number": lambda: scheduler.read_profile(3),
    "no profile": lambda: scheduler.profile_from(None),
    "a profile of odd keys": lambda: scheduler.profile_from({3: 1, "x": 2}),
    "a chance of nan": lambda: profile(chance=NAN),
    "a chance of true": lambda: profile(chance=True),
    "communication by seed -1": lambda: scheduler.assign([], scheduler.DEFAULT_PROFILE, -1),
    "communication by seed 1.5": lambda: scheduler.assign([], scheduler.DEFAULT_PROFILE, 1.5),
    "communication over -1 bytes/s": lambda: scheduler.assign(
        [], scheduler.DEFAULT_PROFILE, 1, node_bandwidth=-1
    ),
    "jobs of a mean of text": lambda: scheduler.synth("4"),
    "2.0 jobs": lambda: scheduler.synth(4, n_jobs=2.0),
    "a log written to 3": lambda: scheduler.write_swf(3, []),
    "a log written nowhere": lambda: scheduler.write_swf("/nowhere/a.swf", []),
    "a log of 0 processors a node": lambda: scheduler.write_swf("a.swf", [], processors_per_node=0),
    "a run of tables": lambda: run(SMALL),
    "a campaign of tables": lambda: run_campaign(SMALL, "out"),
    "a campaign into 3": lambda: run_campaign(Experiment(**SMALL), 3),
    "0 workers": lambda: run_campaign(Experiment(**SMALL), "out", workers=0),
    "true workers": lambda: run_campaign(Experiment(**SMALL), "out", workers=True),
    "resume 'no'": lambda: run_campaign(Experiment(**SMALL), "out", resume="no"),
    "an experiment that is a number": lambda: Experiment.read(3),
    "changes as one text": lambda: Experiment.read(
        ROOT / "examples" / "synth16.toml", "run.seed=2"
    ),
    "a result that is a number": lambda: Result.load(3),
    "a report of no run": lambda: write_report([], {}, {}, "x.html"),
    "a speed-up of nothing": lambda: speedup(None, None),
    "a speed-up of other tables": lambda: speedup(pd.DataFrame(), pd.DataFrame({"id": [1]})),
    "a rate on a name": lambda: NetworkRateModel("cab", D_MOD_K, None),
    "a rate without a routing": lambda: NetworkRateModel(TREE, "d-mod-k", None),
    "a rate of a model's name": lambda: NetworkRateModel(TREE, D_MOD_K, "fluid"),
    "a rate of nan": lambda: scheduler.JobRate(NAN),
    "a rate of a text": lambda: scheduler.JobRate("2"),
    "a placement factor of 0": lambda: scheduler.JobRate(placement_factor=0.0),
    "an endless placement factor": lambda: scheduler.JobRate(placement_factor=INF),
    "a true rate": lambda: scheduler.JobRate(interference=True),
    "a run told to 3": lambda: run(small(), progress=3),
    "a campaign told to a text": lambda: run_campaign(small(), "out", progress="no"),
    "a sweep told to 3": lambda: run_sweep(None, "out", progress=3),
    "a summary of 0 nodes": lambda: summarize(None, 0),
    "a summary of nan nodes": lambda: summarize(None, NAN),
    "a snapshot that is a number": lambda: read_snapshot(3),
    "an estimate of a number": lambda: estimate(3),
    "flows of a number": lambda: fabricsim.flows(3),
    "pairs on a routing of a number": lambda: fabricsim.ebb("synth-1024", routing=3),
    "a sweep of a number": lambda: fabricsim.sweep(3),
    "blame 'no'": lambda: placed(blame="no"),
    "-1 permutations": lambda: checked(random=-1),
    "true permutations": lambda: checked(random=True),
    "exhaustive 'no'": lambda: checked(exhaustive="no"),
    "half a pair": lambda: checked(permutation=[3]),
    "three of a pair": lambda: checked(permutation=[(0, 1, 2)]),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_what_cannot_be_meant_is_refused_in_one_line(attack, tmp_path, monkeypatch):
    """An error of our own, that says what was expected and what came."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(OWN) as caught:
        attack()

    assert "\n" not in str(caught.value)
    assert re.search("expected| must |choose from|cannot be written|no vertex", str(caught.value))
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("undrawn")
def test_paths_are_texts_or_paths_everywhere(tmp_path):
    """What is written by a text is read by a path, and the other way round."""
    log = str(tmp_path / "a.swf")
    scheduler.write_swf(log, scheduler.synth(2, n_jobs=5).jobs)
    made = Experiment(SMALL["topology"], {"path": Path(log)}, self_check=False)

    campaign = run_campaign(made, str(tmp_path / "out"))
    other = tmp_path / "other"
    other.mkdir()
    campaign.results[0].save(str(other))
    write_report(campaign.results, made.tables(), campaign.manifest, str(tmp_path / "x.html"))

    assert len(scheduler.make_workload({"path": Path("a.swf")}, str(tmp_path)).jobs) == 5
    assert Result.load(str(other)).jobs.equals(Result.load(tmp_path / "out").jobs)
    assert (tmp_path / "x.html").exists()
