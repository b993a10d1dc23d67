"""`place`: the best nodes for one more job, and links of its own."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from sacct_logs import line, sacct

import fabricsim as fs
from coupling.errors import SnapshotError
from coupling.site.place import document_of, place_on
from coupling.site.site import read_site
from netsim.routing.base import RankRouting

CLOSE = 1e-4
ROOT = Path(__file__).parents[3]
SITE = ROOT / "examples" / "site"
TREE = {"kind": "fat-tree", "radix": 4, "levels": 2}  # 8 nodes, 2 on each of 4 leaves, 2 spines
BEGIN = 1717000000


def queue(path, *jobs):
    """Write a queue: number, hosts, and optionally state and minutes of the limit."""
    rows = []
    for number, hosts, *more in jobs:
        state, limit = [*more, *("RUNNING", 60)[len(more) :]]
        rows.append(
            {
                "job_id": number,
                "job_state": [state],
                "nodes": hosts,
                "submit_time": BEGIN,
                "start_time": BEGIN,
                "time_limit": limit,
            }
        )
    path.write_text(json.dumps({"jobs": rows}))
    return path


NEAR = 2 * 1e-3 * 8 * 24  # node-hours of the model's tolerance, before and after


def profile(**fields):
    rule = {"pattern": {"name": "all-to-all"}, "comm_fraction": 1.0, "bytes_per_flow": "1 MB"}
    return {"version": 1, "rule": [rule | fields]}


def lost_by_all(nodes, running):
    """
    Return the node-hours that all lose in a day, as `estimate` says, with nodes for the new.

    Jobs are met in phases drawn from their numbers: the new one has the next, as in `place`.
    """
    running = [(int(name), own) for name, own in running]
    jobs = [(max(name for name, _ in running) + 1, nodes), *running]
    snapshot = {
        "topology": TREE,
        "routing": "d-mod-k",
        "jobs": [
            {
                "id": name,
                "nodes": list(own),
                "pattern": {"name": "all-to-all", "nbytes": 1e6},
                "comm_fraction": 1.0,
            }
            for name, own in jobs
            if own
        ],
    }
    found = {job.id: job.network_slowdown for job in fs.estimate(snapshot, blame=False).jobs}
    return sum(24 * len(own) * (1 - 1 / found[name]) for name, own in jobs if own)


@pytest.mark.parametrize(
    "running",
    [
        [("1", (0, 2)), ("2", (4, 7))],
        [("1", (0, 3, 5))],
        [("1", (1, 6)), ("2", (0, 2))],
    ],
)
def test_best_placement_is_the_best_of_all_by_brute_force(tmp_path, running):
    jobs = [(int(name), ",".join(f"n{node}" for node in own)) for name, own in running]
    log = queue(tmp_path / "queue", *jobs)

    found = fs.place(TREE, log, nodes=3, profile=profile(), samples=1)

    free = sorted(set(range(8)) - {node for _, own in running for node in own})
    without = lost_by_all((), running)
    brute = {nodes: lost_by_all(nodes, running) - without for nodes in combinations(free, 3)}
    assert found.all_tried
    assert found.tried == len(brute)
    assert {own.nodes for own in found.options} == brute.keys()
    for own in found.options:
        assert own.lost_node_hours == pytest.approx(brute[own.nodes], abs=NEAR)
    assert found.options[0].lost_node_hours == pytest.approx(min(brute.values()), abs=NEAR)
    assert max(brute.values()) > min(brute.values()) + 1.0


@pytest.mark.parametrize("wanted", [12, 15])  # by allocators, and all placements
def test_ranks_follow_names_as_slurm_will_put_them_wherever_the_file_lists_the_hosts(
    tmp_path, wanted
):
    """Names are dealt out over the leaves: a ring in their order leaves its leaf at every step."""
    conf = tmp_path / "topology.conf"
    leaves = [",".join(f"n{node}" for node in range(leaf, 16, 4)) for leaf in range(4)]
    lines = [f"SwitchName=l{leaf} Nodes={hosts}" for leaf, hosts in enumerate(leaves)]
    conf.write_text("\n".join([*lines, "SwitchName=s1 Switches=l[0-3]"]) + "\n")
    idle = tmp_path / "idle.json"
    idle.write_text('{"jobs": []}')
    ring = {"pattern": "ring", "comm_fraction": 0.5, "samples": 1}

    found = fs.place(conf, idle, nodes=wanted, routing="shortest", **ring)

    for own in found.options[:3]:
        named = [found.topology.vertex_name(node) for node in own.nodes]
        assert named == sorted(named, key=lambda name: int(name[1:]))
        job = {"id": 1, "nodes": named, "pattern": "ring", "comm_fraction": 0.5}
        told = fs.estimate({"topology": found.topology, "routing": "shortest", "jobs": [job]})
        assert own.network_slowdown == pytest.approx(told.jobs[0].network_slowdown, abs=1e-3)
    assert found.all_tried is (wanted == 15)


def test_nodes_that_somebody_holds_or_that_are_excluded_are_never_proposed(tmp_path):
    """Job 2 ends, 3 is suspended, n7 is down: two nodes are left, and there is one placement."""
    log = queue(
        tmp_path / "queue",
        (1, "n[0-1]"),
        (2, "n2", "COMPLETING"),
        (3, "n[3-4]", "SUSPENDED"),
        (4, "n5", "PENDING"),
    )

    found = fs.place(TREE, log, nodes=2, exclude="n7", samples=2)

    assert found.free == 2
    assert [own.nodelist for own in found.options] == ["n[5-6]"]


def test_without_room_time_limits_say_when_there_will_be(tmp_path):
    """Two nodes are free; jobs end after 10, 20 and 30 minutes; five nodes need two of them."""
    log = queue(
        tmp_path / "queue",
        (1, "n[0-1]", "RUNNING", 20),
        (2, "n[2-3]", "RUNNING", 10),
        (3, "n[4-5]", "RUNNING", 30),
    )

    found = fs.place(TREE, log, nodes=5, samples=1)

    assert found.options == ()
    assert found.later.wait_s == 1200.0
    assert found.later.ended == (2, 1)
    assert found.later.end_s == BEGIN + 1200
    assert found.later.clock == "2024-05-29T16:46:40Z"


def test_the_date_of_room_is_on_the_clock_of_records_without_a_zone(tmp_path):
    log = sacct(tmp_path / "log", line(1, 0, None, "n[0-5]", state="RUNNING", limit=60))

    found = fs.place(TREE, sacct=log, at="2024-05-29T08:10", nodes=5, samples=1)

    assert found.later.clock == "2024-05-29T09:00:00"


def test_a_pattern_takes_the_place_of_the_profile(tmp_path):
    log = queue(tmp_path / "queue", (1, "n0,n2"))
    silent = {"version": 1, "rule": [{"comm_fraction": 0}]}

    quiet = fs.place(TREE, log, nodes=4, profile=silent, samples=1)
    loud = fs.place(
        TREE, log, nodes=4, profile=silent, pattern="all-to-all", comm_fraction=1.0, samples=1
    )

    assert {own.network_slowdown for own in quiet.options} == {1.0}
    assert max(own.network_slowdown for own in loud.options) > 1.1


def test_isolated_links_are_those_over_which_nobody_sends(tmp_path):
    """
    Nodes 0 and 3 exchange over the cables that D-mod-k gives them; the job takes none of these.

    Its own traffic and theirs are walked here, link by link.
    """
    log = queue(tmp_path / "queue", (1, "n0,n3"))
    site = read_site(TREE, log, profile=profile(), samples=1)

    found = place_on(site, 4, isolated=True, rules=profile())

    tree = site.scene.topology
    assert found.options
    for own in found.options:
        assert own.certified
        routes = site.scene.routing.routes(np.array([0, 3]), np.array([3, 0]))
        assert not set(routes.links.tolist()) & set(own.owned)
        assert own.network_slowdown == 1.0
        checked = fs.verify(document_of(site, own), allow_unknown=True)
        assert next(job for job in checked.jobs if job.id == "new").isolated
    assert tree.n_nodes == 8


@pytest.mark.parametrize("fabric", ["rail", "clos"])
def test_isolated_links_of_hosts_of_gpus_are_those_over_which_nobody_sends(tmp_path, fabric):
    """Two adapters a host, two hosts a unit: job 1 sends over the first half of the spines."""
    shape = {"kind": "gpu-cluster", "hosts": 8, "hosts_per_unit": 2, "gpus": 2}
    log = queue(tmp_path / "queue", (1, "n0,n2"), (2, "n4,n5"), (3, "n6,n7"))
    site = read_site(shape | {"fabric": fabric}, log, profile=profile(), samples=1)

    found = place_on(site, 2, isolated=True, rules=profile())

    ways = RankRouting(site.scene.topology, site.scene.routing)
    used = ways.of_nodes(np.array([0, 2]), np.array([2, 0]))[0].links
    names = [site.scene.topology.link_name(link) for link in used.tolist()]
    assert found.options
    for own in found.options:
        assert own.certified
        assert own.owned
        assert not set(used.tolist()) & set(own.owned), names
        assert own.network_slowdown == 1.0


def test_isolation_waits_for_links_as_well_as_nodes(tmp_path):
    """
    Three jobs send over all four cables of leaf 0 and 1, up and down: no two leaves can be joined.

    Seven nodes are held by nobody of the others when the first of them ends.
    """
    log = queue(
        tmp_path / "queue",
        (1, "n0,n2", "RUNNING", 10),
        (2, "n4,n6", "RUNNING", 20),
        (3, "n1,n3", "RUNNING", 30),
        (4, "n5", "RUNNING", 40),
    )

    found = fs.place(TREE, log, nodes=2, isolated=True, samples=1)

    assert found.free == 1
    assert found.options == ()
    assert found.later.wait_s in {600.0, 1200.0, 1800.0}


def test_fabrics_that_no_isolating_allocator_knows_are_refused_by_name(tmp_path):
    log = queue(tmp_path / "queue", (1, "n0,n3"))

    with pytest.raises(SnapshotError, match="no isolating allocator knows this fabric"):
        fs.place({"kind": "torus", "dims": [3, 3]}, log, nodes=2, isolated=True, samples=1)


def test_more_nodes_than_the_machine_has_are_refused(tmp_path):
    with pytest.raises(SnapshotError, match="nodes"):
        fs.place(TREE, queue(tmp_path / "queue", (1, "n0")), nodes=9, samples=1)


def test_hosts_are_named_as_slurm_does(shared):
    found = fs.place(
        shared("data/topo/psmn-x5-ibnetdiscover.txt.gz"),
        shared("data/site/psmn.squeue.json.gz"),
        name_map=shared("data/topo/psmn-x5-hostnames.map"),
        nodes=2,
        samples=1,
    )

    assert "HCA" not in found.options[0].nodelist
    assert " " not in found.options[0].nodelist


def test_on_an_idle_machine_one_leaf_is_best(tmp_path):
    log = queue(tmp_path / "queue", (4, "", "PENDING"))

    found = fs.place(TREE, log, nodes=2, profile=profile(), samples=1)

    assert found.free == 8
    assert found.all_tried
    assert found.options[0].network_slowdown == 1.0
