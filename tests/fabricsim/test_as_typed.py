"""What somebody types who knows pandas and NetworkX: it works, or one short error says why."""

import subprocess
import sys
from dataclasses import replace

import matplotlib as mpl
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sampling import thinned

import fabricsim as fs
from coupling.runs.rerun import rerun
from coupling.runs.stored import Stored
from netsim.common.errors import NetsimError
from patterns import PATTERNS
from scheduler import write_swf

mpl.use("Agg")
LOG = "examples/data/synth16.swf.gz"
FEW = {"max_nodes": 32}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Return the path of a short log."""
    place = tmp_path_factory.mktemp("log") / "short.swf"
    write_swf(place, fs.read_log(LOG).jobs[:40])
    return str(place)


@pytest.fixture(scope="module")
def log(path):
    """Return a short log without large jobs."""
    return fs.read_log(path, **FEW)


def experiment(workload, **fields):
    return fs.Experiment("cab", workload, self_check=False, **fields)


def test_a_log_that_was_read_is_run_as_its_table_says(log, path):
    """The object, the table of fields and the path are the same experiment."""
    made = experiment(log)

    assert made.workload == {**FEW, "path": log.table["path"], "format": "swf"}
    assert fs.run(made).jobs.equals(fs.run(experiment({"path": path, **FEW})).jobs)
    assert experiment(path).workload == {"path": path}


def test_jobs_that_were_chosen_in_python_are_run_and_can_be_run_again(log, tmp_path):
    first = replace(log, jobs=log.jobs[:10])
    made = experiment(first, pattern="ring", comm_fraction=0.5)

    campaign = fs.run_campaign(made, tmp_path / "out")

    assert first.table is None
    jobs = campaign.results[0].jobs
    ran = jobs[jobs["dropped"] == ""]
    assert ran["id"].tolist() == [job.id for job in log.jobs[:10]]
    assert set(ran["comm_fraction"]) <= {0.0, 0.5}
    assert rerun(Stored.open(tmp_path / "out")).agrees


def test_a_pandas_table_is_a_log(log):
    frame = log.to_frame()
    chosen = frame[frame["n_nodes"] <= 8]

    result = fs.run(experiment(chosen))

    assert len(frame) == len(log) == len(list(log))
    assert result.jobs["id"].tolist() == chosen["id"].tolist()
    assert fs.read_log(chosen).jobs == tuple(
        replace(job, submit_s=job.submit_s - chosen["submit_s"].iloc[0])
        for job in log
        if job.n_nodes <= 8
    )


@pytest.mark.parametrize(
    "given", ["ring", {"name": "ring"}, fs.pattern("ring"), fs.pattern({"name": "ring"})]
)
def test_a_pattern_is_a_name_a_table_or_an_object(log, given):
    as_typed = fs.run(experiment(log, pattern=given))
    in_full = {"pattern": {"name": "ring"}, "comm_fraction": 0.3}
    size = {} if not isinstance(given, (str, dict)) else {"bytes_per_flow": "1 MiB"}
    nbytes = {"nbytes": given.nbytes} if not size else {}
    rule = {**in_full, **size, "pattern": {"name": "ring", **nbytes}}

    table = {"version": 1, "rule": [rule]}
    assert as_typed.jobs.equals(fs.run(experiment(log, communication=table)).jobs)


def test_a_pattern_stands_for_all_jobs_in_a_file_and_in_a_snapshot_too(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(
        'topology = "cab"\n[workload]\npath = "x"\n[communication]\npattern = "all-to-all"\n'
    )
    job = {"id": 1, "nodes": [0, 20, 40], "comm_fraction": 0.5}

    assert fs.Experiment.read(path).communication == {"pattern": "all-to-all"}
    named, table = (
        fs.estimate({"topology": "cab", "jobs": [{**job, "pattern": own}]})
        for own in ("ring", {"name": "ring"})
    )
    assert named == table


def test_an_experiment_is_changed_by_fields_and_by_settings_of_the_command(log):
    made = experiment(log, allocator="jigsaw", allocator_options={"order": "index"})

    assert made.replace(allocator="ta").allocator_options == {}
    assert made.replace("scheduler.queue=fcfs", seed=3).queue == "fcfs"
    assert made.replace("seed=3") == made.replace(seed=3)
    assert made.replace(compare=["jigsaw", "ta"]).replace(allocator="lc").compare == ()
    assert fs.run(made, "scheduler.allocator=first-free").name == "first-free"
    with pytest.raises(fs.FabricsimError, match=r"unknown field 'alocator' .*'allocator'"):
        made.replace(alocator="ta")


def test_a_sweep_takes_settings_of_the_command(log):
    made = experiment(log)

    swept = fs.sweep(made, {"run.seed": [1, 2]}, "scheduler.allocator=random")

    assert len(swept.cells) == 2
    with pytest.raises(fs.FabricsimError, match=r"\[sweep\]"):
        fs.sweep("examples/synth16.toml", "run.seed=3")


def test_a_fabric_becomes_a_graph_and_the_graph_the_fabric():
    """By hand: radix 4 has 16 nodes, 20 switches, 16 + 16 + 16 cables."""
    tree = fs.topology("fat-tree", radix=4)
    graph = tree.to_networkx()
    again = fs.from_networkx(graph)

    assert (graph.number_of_nodes(), graph.number_of_edges()) == (36, 48)
    assert nx.get_node_attributes(graph, "kind")["n3"] == "node"
    assert (again.n_nodes, again.n_links) == (tree.n_nodes, tree.n_links)
    assert sorted(again.capacity) == sorted(tree.capacity)
    cab = fs.topology("cab").to_networkx()
    assert sum(cables for *_, cables in cab.edges(data="cables")) == 1296 * 3


def test_a_call_draws_what_suits(log):
    runs = [fs.run(experiment(log), allocator=name) for name in ("first-free", "jigsaw", "ta")]
    estimate = fs.estimate("examples/placed_jobs.json")

    assert fs.speedup(runs[1], runs[0]).equals(fs.speedup(runs[1].jobs, runs[0].jobs))
    assert fs.plot(runs[0]).get_title() == "first-free"
    assert fs.plot.speedups(runs[0], runs[1]) is not None
    beside = fs.plot.speedups(runs[1], runs[2], baseline="ta")
    assert beside.get_ylabel() == "run time under ta / here"
    assert fs.plot(*runs) is not None
    for what in (estimate, fs.topology("cab"), fs.read_snapshot("examples/placed_jobs.json")):
        assert fs.plot(what) is not None
    assert fs.plot.fabric(estimate) is not None
    assert dir(fs.plot) == sorted(["blame", "fabric", "gantt", "link_load", "speedups"])
    with pytest.raises(fs.FabricsimError, match=r"plot: expected a Result, .* or an Estimate"):
        fs.plot("cab")


def test_names_are_listed_with_a_line_each():
    for names in (fs.allocators(), fs.queues(), fs.patterns(), fs.topologies(), fs.routings()):
        assert all(line and len(line) <= 70 for line in names.values())
        assert len(repr(names).splitlines()) == len(names)
        assert "<table>" in names._repr_html_()
    assert set(PATTERNS) == set(fs.patterns())
    assert {"cab", "torus"} <= set(fs.topologies())
    assert "null" in fs.models()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fs.pattern("alltoall"), "did you mean 'all-to-all'"),
        (lambda: fs.topology("fattree"), "did you mean 'fat-tree'"),
        (lambda: fs.Experiment("cab", LOG, model="packet").replace(seed=2), ""),
        (lambda: fs.routing("dmodk", "cab"), "did you mean 'd-mod-k'"),
        (lambda: fs.run({"topology": "cab", "workload": {"path": LOG}}, queue="eazy"), "'easy'"),
        (lambda: fs.topology("dragonfly"), "groups, routers: expected values"),
        (lambda: fs.run({}), "topology, workload: expected values"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_one(call, words):
    if not words:
        assert call()
        return
    with pytest.raises(fs.FabricsimError, match=words):
        call()


LINES = (
    "fs.topology('fattree')",
    "x = fs.run('examples/synth16.toml', 'scheduler.queue=eazy')",
    "fs.Experiment('cab', 3)",
    "fs.estimate({'topology': 'cab'})",
    "fs.now('cab', 'nowhere.json')",
    "fs.plot('cab')",
    "fs.read_log('nowhere.swf')",
    "fs.from_networkx(3)",
    "fs.Experiment.read('nowhere.toml')",
    "fs.place('cab', nodes=3)",
    "fs.whatif('examples/placed_jobs.json', fail='spine9')",
    "fs.Result.load('nowhere')",
)


@pytest.mark.parametrize("line", thinned(LINES, 3))
def test_a_traceback_ends_in_the_line_of_the_caller(line, tmp_path):
    script = tmp_path / "a.py"
    script.write_text(f"import fabricsim as fs\n{line}\n")

    done = subprocess.run(  # noqa: S603 (ours)
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )

    head, *shown, last = done.stderr.strip().splitlines()
    assert head.startswith("Traceback")
    assert len(shown) <= 5, done.stderr
    assert shown[1].strip() == line
    assert "Error: " in last


def test_errors_are_one_base_and_its_children():
    assert issubclass(fs.FabricsimError, ValueError)
    assert "FabricsimError" in fs.run.__doc__
    with pytest.raises(fs.FabricsimError) as caught:
        fs.topology("x")
    assert type(caught.value).__mro__[1:3] == (NetsimError, fs.FabricsimError)


def test_ids_are_whole_numbers_where_some_are_missing():
    """One of two jobs has no culprit."""
    found = fs.now("examples/site/topology.conf", "examples/site/squeue.json", samples=2).to_frame()

    assert found["culprit"].isna().any()
    assert all(float(own).is_integer() for own in found["culprit"].dropna())
    assert found["culprit"].dtype == "Int64"


def test_frames_of_a_result_have_whole_ids(log):
    result = fs.run(experiment(log))

    for table in (result.jobs, result.blame, result.to_frame()):
        for name in table.columns.intersection(["id", "job", "victim", "culprit", "n_nodes"]):
            assert pd.api.types.is_integer_dtype(table[name]) or not len(table), name
    assert np.issubdtype(result.jobs["id"].dtype, np.integer)


def test_a_notebook_shows_fabrics_experiments_and_logs_as_tables(log):
    made = experiment(log)

    assert "fat-tree, 1,296 nodes, 3 levels, full bisection" in fs.topology("cab")._repr_html_()
    assert "scheduler.allocator" in made._repr_html_()
    assert log._repr_html_().startswith("<table")
    evil = made.replace(name="<script>")
    assert "<script>" not in evil._repr_html_()


def test_a_snapshot_is_typed_as_keywords_and_a_campaign_is_a_collection(log, tmp_path):
    jobs = [
        {"id": n, "nodes": [n, n + 20], "pattern": "ring", "comm_fraction": 0.5} for n in (0, 1)
    ]
    document = {"topology": "cab", "jobs": jobs}

    assert fs.estimate(topology="cab", jobs=jobs) == fs.estimate(document)
    assert fs.verify(document, random=3).to_dict() == fs.verify(**document, random=3).to_dict()
    with pytest.raises(fs.FabricsimError, match="none beside a snapshot"):
        fs.estimate("examples/placed_jobs.json", jobs=jobs)

    campaign = fs.run_campaign(experiment(log, compare=["ta", "jigsaw"]), tmp_path / "out")
    assert [run.name for run in campaign] == ["ta", "jigsaw"]
    assert campaign["jigsaw"] is campaign[1]
    assert len(campaign) == 2
    with pytest.raises(fs.FabricsimError, match="did you mean 'jigsaw'"):
        campaign["jigsav"]
