"""Fabrics and allocators as objects: in campaigns, in workers, and when a run is repeated."""

from dataclasses import dataclass, replace

import networkx as nx
import pytest
from sampling import sampled

import fabricsim as fs
from coupling.errors import ExperimentError, ResultError
from coupling.results.manifest import read_manifest
from coupling.runs.campaign import run_campaign
from coupling.runs.rerun import REPEATED, rerun
from coupling.runs.retrace import moment
from coupling.runs.stored import Stored
from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology
from scheduler.allocators import Fifo, FirstFree, Jigsaw

TABLES = {
    "fat-tree": {"kind": "fat-tree", "radix": 6, "excluded": ["n5"]},
    "failed cable": {"kind": "fat-tree", "radix": 6, "failed_links": ["s2.1>s1.0"]},
    "torus": {"kind": "torus", "dims": [4, 4, 4], "duplex": "half", "latency": "codes"},
    "dragonfly": {"kind": "dragonfly", "groups": 5, "routers": [2, 4], "bandwidth": "40 Gb/s"},
}


@dataclass(frozen=True, eq=False, repr=False)
class Own(Topology):
    """A class of fabrics that nobody else knows."""


def own_fabric(kind=Own):
    """Return a torus as an object of a class of one's own."""
    torus = make_topology({"kind": "torus", "dims": [4, 4]})
    names = ("n_nodes", "n_switches", "link_tail", "link_head", "link_cable", "capacity", "channel")
    return kind("mine", *(getattr(torus, name) for name in names))


def ring():
    """Return a graph of eight switches with two nodes each."""
    graph = nx.cycle_graph(8)
    graph.add_edges_from((switch, f"node{switch}-{k}") for switch in range(8) for k in range(2))
    return graph


def small(topology, **fields):
    """Return an experiment of 30 jobs under two allocators."""
    work = {"generator": "synth", "mean_nodes": 4, "n_jobs": 30}
    return fs.Experiment(topology, work, **({"compare": ["first-free", "random"]} | fields))


def bytes_of(folder):
    """Return what a run wrote, by run and file."""
    files = [run / name for run in Stored.open(folder).places for name in REPEATED]
    return [file.read_bytes() for file in files if file.exists()]  # some are written if asked for


@pytest.mark.parametrize("name", sampled(TABLES, {"failed cable", "dragonfly"}))
def test_a_fabric_as_an_object_gives_what_its_table_gives_and_can_be_run_again(tmp_path, name):
    """The results of the table are the expected ones, byte by byte."""
    run_campaign(small(TABLES[name]), tmp_path / "table")
    run_campaign(small(make_topology(TABLES[name])), tmp_path / "object", workers=2)

    assert bytes_of(tmp_path / "object") == bytes_of(tmp_path / "table")
    assert rerun(Stored.open(tmp_path / "object")).agrees


def test_a_graph_is_kept_as_a_table_of_cables(tmp_path):
    run_campaign(small(ring()), tmp_path / "one")
    run_campaign(small(ring()), tmp_path / "two", workers=2)
    moved = (tmp_path / "two").rename(tmp_path / "moved")

    assert len((moved / "fabric.csv").read_text().splitlines()) == 1 + 8 + 16
    assert bytes_of(moved) == bytes_of(tmp_path / "one")
    assert rerun(Stored.open(moved)).agrees
    assert moment(Stored.open(moved), 1.0, "random")["jobs"]


def test_a_changed_table_of_cables_is_refused(tmp_path):
    run_campaign(small(ring()), tmp_path / "out")
    with (tmp_path / "out" / "fabric.csv").open("a") as file:
        file.write("a,b,1,1,switch,switch\n")

    with pytest.raises(ResultError, match=r"fabric\.csv: expected SHA-256"):
        Stored.open(tmp_path / "out")


def test_a_fabric_that_no_table_describes_is_run_and_the_result_says_so(tmp_path):
    out = tmp_path / "out"
    run_campaign(small(own_fabric()), out, workers=2)
    run_campaign(small(own_fabric()), out, resume=True)

    assert "object of class Own" in read_manifest(out)["not_again"]
    assert len(Stored.open(out).results()) == 2
    with pytest.raises(ResultError, match="cannot be run again: its fabric mine was given as an o"):
        rerun(Stored.open(out))
    with pytest.raises(ResultError, match="its links are unknown: its fabric mine"):
        moment(Stored.open(out), 1.0, "random")


def test_a_fabric_that_workers_cannot_be_sent_is_refused_before_anything_is_written(tmp_path):
    class Inside(Own):
        """A class that no other process finds."""

    experiment = small(own_fabric(Inside))

    with pytest.raises(ExperimentError, match=r"cannot be sent to workers .*; define its class at"):
        run_campaign(experiment, tmp_path / "out", workers=2)
    assert not (tmp_path / "out").exists()
    assert len(run_campaign(experiment, tmp_path / "out").results) == 2


def test_another_fabric_is_another_experiment(tmp_path):
    run_campaign(small(own_fabric()), tmp_path / "out")
    other = make_topology({"kind": "torus", "dims": [4, 4], "bandwidth": "1 Gb/s"})

    with pytest.raises(ResultError, match="holds the result of another experiment"):
        run_campaign(small(other), tmp_path / "out", resume=True)


def test_allocators_as_objects_are_their_class_and_options():
    one = small("cab", compare=(), allocator=Jigsaw(order="index"))
    two = small("cab", compare=[Fifo(order="snake"), FirstFree, "ta"])

    assert (one.allocator, one.allocator_options["order"]) == ("jigsaw", "index")
    assert two.compare == ("fifo", "first-free", "ta")
    assert two.compare_options["fifo"]["order"] == "snake"
    assert two.variants()[1].allocator_options == {}
    with pytest.raises(ExperimentError, match=r"options: expected none beside an allocator that"):
        small("cab", compare=(), allocator=Jigsaw(), allocator_options={"order": "index"})


def test_packets_and_buffers_set_on_an_object_can_be_run_again(tmp_path):
    tree = replace(make_topology("cab"), packet_bytes=4096.0, buffer_bytes=65536.0)

    run_campaign(small(tree), tmp_path / "object")

    assert rerun(Stored.open(tmp_path / "object")).agrees


@pytest.mark.parametrize("value", [-1.0, float("nan"), 10.0, 1e30, "4 KiB", True])
def test_a_packet_that_makes_no_sense_is_refused_in_an_object_too(value):
    with pytest.raises(ValueError, match="packet"):
        fs.run(small(replace(make_topology("cab"), packet_bytes=value), compare=[]))
