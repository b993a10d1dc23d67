"""Nodes of several links, as GPU nodes have: what their ranks get, by hand, at every door."""

from pathlib import Path

import numpy as np
import pytest
from estimatescenes import GB, by_id, scene

from coupling import Experiment, SnapshotError, estimate, verify
from coupling.runs.engine import run
from coupling.site.flows import answer_flows
from fabricsim.checking.errors import FabricsimError

LINK = 50e9  # bytes per second: 400 Gb/s
RAIL_TREE = {
    "kind": "fat-tree",
    "children": [32, 2],
    "parents": [8, 32],
    "parallel": [1, 1],
    "bandwidth": "400 Gb/s",
    "latency": "none",
}  # 2 x 32 nodes
ROUTINGS = ("d-mod-k", "s-mod-k", "ecmp", "least-loaded-per-job", "shortest", "jigsaw")
RINGS = {"name": "training", "nbytes": "1 GB", "activation_bytes": "1 B"}
MS = 1e-3
RING_S = 2 * 31 / 32 * GB / LINK  # a ring of 32 that sums 1 GB, each part over one link


def ring_of(ranks, topology=RAIL_TREE, nodes=32, **fields):
    """Return a job of as many data-parallel rings of 1 GB as a node has ranks."""
    pattern = RINGS | {"tp": ranks}
    job = {"id": "a", "nodes": list(range(nodes)), "ranks_per_node": ranks, "pattern": pattern}
    return scene(job | {"compute_s": 0}, topology=topology, **fields)


def times(document):
    """Return the seconds of the only job alone, and at its node links alone."""
    (job,) = estimate(document).jobs
    return job.alone_s, job.alone_s / job.placement_factor


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_eight_rings_of_32_gpu_nodes_take_a_rail_each(routing, model):
    """2 x 31/32 x 1 GB at 50 GB/s: 38.75 ms; the node links alone would take as long."""
    found = times(ring_of(8, routing=routing, model=model))

    assert found == pytest.approx((38.75 * MS, 38.75 * MS))


@pytest.mark.parametrize("routing", ["d-mod-k", "s-mod-k", "shortest", "spray"])
@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_eight_rings_on_a_classic_clos_take_as_long_as_on_rails(routing, model):
    """All 8 cards of a node on one leaf of 32 uplinks: 38.75 ms, not 8 times as long."""
    clos = {"kind": "fat-tree", "children": [4, 8], "parents": [1, 32], "parallel": [8, 1]}
    clos |= {"bandwidth": "400 Gb/s", "latency": "none"}

    found = times(ring_of(8, clos, routing=routing, model=model))

    assert found == pytest.approx((38.75 * MS, 38.75 * MS))


def test_queue_pairs_of_ecmp_split_a_message():
    """A node to another by 2 spines: on 16 queue pairs the busier has 8 to 16 sixteenths."""
    tree = {"kind": "fat-tree", "children": [1, 2], "parents": [1, 2], "parallel": [1, 1]}
    tree |= {"bandwidth": GB, "latency": "none"}
    job = {"id": "a", "nodes": [0, 1], "steps": [[[0, 1, GB]]], "compute_s": 0}

    found = estimate(scene(job, topology=tree, routing={"name": "ecmp", "qps": 16}))

    loads = {load.link: load.nbytes for load in found.links}
    spines = [loads.get(f"s1.0>s2.{spine}", 0.0) for spine in (0, 1)]
    assert sum(spines) == pytest.approx(GB)
    assert 0 < min(spines) < GB
    assert loads["n0>s1.0"] == pytest.approx(GB)


@pytest.mark.parametrize(
    ("routing", "words"),
    [
        ({"name": "ecmp", "qps": 0}, "routing option qps: expected a whole number from 1 to 128"),
        ({"name": "d-mod-k", "qps": 2}, "qps"),
    ],
)
def test_queue_pairs_that_cannot_be_are_refused(routing, words):
    with pytest.raises(FabricsimError, match=words):
        estimate(ring_of(8, routing=routing))


@pytest.mark.parametrize("mapping", ["block", "round-robin"])
def test_the_ranks_rail_does_not_depend_on_the_numbering_of_ranks(mapping):
    """A matrix of rings: rank i of each node to rank i of the next."""
    rank = np.arange(256).reshape(32, 8) if mapping == "block" else np.arange(256).reshape(8, 32).T
    step = [
        [int(a), int(b), GB]
        for a, b in zip(rank.ravel(), np.roll(rank, -1, axis=0).ravel(), strict=True)
    ]
    job = {"id": "a", "nodes": list(range(32)), "ranks_per_node": 8, "mapping": mapping}

    found = times(scene(job | {"steps": [step], "compute_s": 0}, topology=RAIL_TREE))

    assert found == pytest.approx((GB / LINK, GB / LINK))


@pytest.mark.parametrize(
    ("ranks", "nbytes"),
    [
        (8, 1e6 / 64),  # every GPU to every other of other nodes
        (1, 1e6),  # the nodes as wholes, over all their links
        (2, 1e6 / 4),
        (16, 1e6 / 256),
    ],
)
@pytest.mark.parametrize("routing", ["d-mod-k", "shortest"])
def test_an_all_to_all_of_1_mb_a_node_pair_uses_all_links(ranks, nbytes, routing):
    """31 MB leave and enter each node by 8 links of 50 GB/s: 0.0775 ms."""
    pattern = {"name": "all-to-all", "nbytes": nbytes}
    job = {"id": "a", "nodes": list(range(32)), "ranks_per_node": ranks, "pattern": pattern}

    found = times(scene(job | {"compute_s": 0}, topology=RAIL_TREE, routing=routing))

    assert found == pytest.approx((0.0775 * MS, 0.0775 * MS))


@pytest.mark.parametrize(
    ("failed", "worst"),
    [
        (["s1.0"], 8 / 7),  # 8 rings on 7 rails
        (["s1.0", "s1.1"], 8 / 6),
        ([f"s1.{rail}" for rail in range(5)], 8 / 3),
        ([f"s1.{rail}" for rail in range(7)], 8),
        (["s1.8"], 1),  # a leaf of the other group
        (["s2.0", "s2.1"], 1),  # two spines of 32 in two rails: no flow leaves the group
    ],
)
@pytest.mark.parametrize("routing", ROUTINGS)
def test_messages_of_lost_rails_are_spread_over_the_others(failed, worst, routing):
    """All rails that are left carry as much; the ideal is that of the whole node, as built."""
    found = times(ring_of(8, RAIL_TREE | {"failed_switches": failed}, routing=routing))

    assert found == pytest.approx((worst * RING_S, RING_S))


@pytest.mark.parametrize("routing", ROUTINGS)
def test_a_node_that_sends_as_one_loses_only_its_share(routing):
    """One ring over 7 rails of 8, or 6."""
    for lost in (1, 2):
        failed = [f"s1.{rail}" for rail in range(lost)]
        found = times(ring_of(1, RAIL_TREE | {"failed_switches": failed}, routing=routing))

        assert found == pytest.approx((RING_S / (8 - lost), RING_S / 8))


def test_without_any_rail_there_is_an_error():
    cut = {"failed_links": [f"n3>s1.{rail}" for rail in range(8)]}

    with pytest.raises(SnapshotError, match="3"):
        estimate(ring_of(8, RAIL_TREE | cut))


def test_the_ideal_counts_all_links_of_a_node():
    """One rank of eight sends 1 GB: 20 ms by its own link, 2.5 ms by all of the node's."""
    job = {"id": "a", "nodes": [0, 1], "ranks_per_node": 8, "steps": [[[0, 8, GB]]], "compute_s": 0}

    assert times(scene(job, topology=RAIL_TREE)) == pytest.approx((20 * MS, 2.5 * MS))


def test_a_flow_between_different_gpus_arrives_at_the_rail_of_its_receiver():
    """Rank 3 of node 0 to rank 5 of node 1."""
    steps = [[[3, 13, GB]]]
    job = {"id": "a", "nodes": [0, 1], "ranks_per_node": 8, "steps": steps, "compute_s": 0}

    found = estimate(scene(job, topology=RAIL_TREE))

    assert [load.link for load in found.links] == ["n0>s1.5", "s1.5>n1"]


def test_several_ranks_of_a_node_of_one_link_share_it():
    """Four rings of 4 nodes through one link each of 50 GB/s: 4 x 2 x 3/4 x 1 GB / 50 GB/s."""
    tree = {"kind": "fat-tree", "radix": 4, "bandwidth": "400 Gb/s", "latency": "none"}
    ring_s = 2 * 3 / 4 * GB / LINK

    assert times(ring_of(4, tree, nodes=4)) == pytest.approx((4 * ring_s, 4 * ring_s))


SMALL = {
    "kind": "fat-tree",
    "children": [4, 3],
    "parents": [2, 4],
    "parallel": [1, 1],
    "bandwidth": GB,
    "latency": "none",
}


def test_each_link_of_a_node_is_a_sender_of_its_own():
    """
    By hand: rank 0 of node 0 and that of node 1 share the way up to spine 0 of rail 0.

    Both destinations, 4 and 8, are 0 mod 4. The flow of node 0 has its card to itself, whatever
    the other card sends, so each has half of the cable.
    """
    flows = [[0, 4, GB, 0], [0, 4, GB, 1], [1, 8, GB, 0]]

    told = answer_flows({"topology": SMALL, "flows": flows}, "f", Path()).to_dict()

    assert told["routes"][0] == ["n0>s1.0", "s1.0>s2.0", "s2.0>s1.2", "s1.2>n4"]
    assert told["routes"][1] == ["n0>s1.1", "s1.1>s2.1", "s2.1>s1.3", "s1.3>n4"]
    assert told["routes"][2] == ["n1>s1.0", "s1.0>s2.0", "s2.0>s1.4", "s1.4>n8"]
    assert told["rates_bytes_per_s"] == pytest.approx([GB / 2, GB, GB / 2])
    assert told["finish_s"] == pytest.approx([2.0, 1.0, 2.0])


@pytest.mark.parametrize("model", ["flow-level", "fluid"])
def test_gpu_jobs_share_a_cable_by_cards(model):
    """The same as jobs: each always sends, so both take twice as long."""
    jobs = [
        {"id": "a", "nodes": [0, 4], "steps": [[[0, 2, GB], [1, 3, GB]]]},
        {"id": "b", "nodes": [1, 8], "steps": [[[0, 2, GB]]]},
    ]
    fields = {"ranks_per_node": 2, "compute_s": 0}

    found = by_id(estimate(scene(*(job | fields for job in jobs), topology=SMALL, model=model)))

    for job in found.values():
        assert job.alone_s == pytest.approx(1.0)
        assert job.interference == pytest.approx(2.0, rel=0.01)
        assert job.worst_link == "s1.0>s2.0"


@pytest.mark.parametrize(
    ("flow", "words"),
    [
        ([0, 4, GB, 2], "f: flows[1]: expected a rail from 0 to 1, the links of n4, got 2."),
        ([0, 4, GB, -1], "f: flows[1]: expected a rail from 0 to 1"),
        ([0, 4, GB, True], "f: flows[1]: expected a rail from 0 to 1"),
        ([0, 4, GB], "f: flows: expected a rail for every flow or for none."),
        ([0, 4, GB, 0, 0], "f: flows[1]: expected [source, destination, bytes]"),
    ],
)
def test_a_wrong_rail_is_one_line_with_the_place(flow, words):
    with pytest.raises(SnapshotError) as error:
        answer_flows({"topology": SMALL, "flows": [[0, 4, GB, 0], flow]}, "f", Path())

    assert words in str(error.value)


def test_jobs_of_gpu_nodes_share_links_on_every_rail():
    """Two jobs across the same two groups meet wherever their destinations choose one spine."""
    jobs = [
        {"id": "a", "nodes": [0, 4]},
        {"id": "b", "nodes": [1, 8]},
        {"id": "c", "nodes": [2, 7]},
    ]

    found = verify({"topology": SMALL, "jobs": [job | {"ranks_per_node": 2} for job in jobs]})

    name = found.topology.link_name
    shares = {job.id: {name(link): ids for link, ids in job.shares.items()} for job in found.jobs}
    assert shares["a"] == {"s1.0>s2.0": ["b"], "s1.1>s2.1": ["b"]}
    assert shares["b"] == {"s1.0>s2.0": ["a"], "s1.1>s2.1": ["a"]}
    assert shares["c"] == {}


def coupled(tmp_path, topology, **quantities):
    """Run one job of 16 nodes, which communicate in a ring."""
    (tmp_path / "jobs.csv").write_text("id,submit_s,nodes,runtime_s\n1,0,16,100\n")
    pattern = {"name": "allreduce", "algorithm": "ring"}
    result = run(
        Experiment(
            topology=topology,
            workload={"path": str(tmp_path / "jobs.csv"), "format": "csv"},
            communication={"version": 1, "rule": [{"pattern": pattern, **quantities}]},
            allocator="first-free",
            routing="d-mod-k",
        )
    )
    return result.jobs.iloc[0]


def test_a_run_on_gpu_nodes_uses_all_their_links(tmp_path):
    """With one rail of 8 lost, communication takes 8/7 of its time: 1/14 more in all."""
    half = {"comm_fraction": 0.5, "bytes_per_flow": "1 MB"}
    whole = coupled(tmp_path, RAIL_TREE, **half)
    damaged = coupled(tmp_path, RAIL_TREE | {"failed_switches": ["s1.0"]}, **half)

    assert whole["placement_factor"] == pytest.approx(1.0)
    assert damaged["placement_factor"] == pytest.approx(1 + 0.5 / 7)


def test_the_bandwidth_of_a_node_in_a_run_is_that_of_all_its_links(tmp_path):
    """
    By hand: a ring of 16 sends 2 x 15/16 of 80 MB, 0.375 ms at 8 x 50 GB/s.

    In an iteration of 0.75 ms that is half of the time.
    """
    job = coupled(tmp_path, RAIL_TREE, bytes_per_flow="80 MB", iteration="0.75 ms")

    assert job["comm_fraction"] == pytest.approx(0.5)
