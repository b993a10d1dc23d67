"""Jobs that own links on GPU clusters: isolation, certificates and refusals, by brute force."""

import itertools
import json

import numpy as np
import pytest
from estimatescenes import scene

import fabricsim as fs
from coupling import SnapshotError, estimate
from coupling.inputs.snapshot import read_snapshot, snapshot_from
from coupling.site.verify import verify
from netsim.nonblocking.static_table import largest_loads
from netsim.registries.routings import on_changed
from netsim.registries.topologies import make_topology
from netsim.routing.base import RankRouting
from netsim.topology.outage import fail
from scheduler import Job
from scheduler.allocators import make_allocator
from scheduler.cluster import Cluster
from scheduler.traffic import TrafficOf

UNITS = {"kind": "gpu-cluster", "hosts": 16, "hosts_per_unit": 4, "gpus": 4}
FABRICS = [
    UNITS | {"fabric": fabric} | pods
    for fabric in ("rail", "rail-only", "clos", "dual-plane")
    for pods in ({}, {"units_per_pod": 2})
]
RING = {"operation": "allreduce", "algorithm": "ring", "nbytes": "1 GB"}


def placed(spec, sizes, **fields):
    """Return a snapshot of jobs that Jigsaw places one after the other."""
    fabric = make_topology(spec)
    cluster, jobs = Cluster(fabric), []
    for size in sizes:
        found = make_allocator("jigsaw", {}, 1).allocate(Job(size, 0.0, size, 1.0, 1.0), cluster)
        cluster.place(found)
        own = found.partition()
        links = None if own.links is None else [fabric.link_name(n) for n in own.links.tolist()]
        nodes = [fabric.vertex_name(node) for node in own.nodes.tolist()]
        jobs.append(
            {"id": f"j{size}", "nodes": nodes, "ranks_per_node": 4, "links": links}
            | {"phases": [{"collectives": [RING]}]}
        )
    return scene(*jobs, topology=spec, **fields)


def name_of(spec):
    return f"{spec['fabric']}{' of three tiers' * ('units_per_pod' in spec)}"


@pytest.fixture(params=FABRICS, ids=name_of)
def snapshot(request, tmp_path):
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(placed(request.param, (6, 5, 3))))
    return read_snapshot(path)


def test_partitions_of_hosts_are_isolated_and_each_rail_is_non_blocking(snapshot):
    found = verify(snapshot)

    assert found.passed
    for job in found.jobs:
        assert job.isolated
        assert job.conditions.holds
        assert job.rearrangeable.holds
        assert f"each of {snapshot.topology.hosts.ends} endpoints" in job.rearrangeable.method


def test_an_endpoint_whose_leaf_is_lost_is_not_said_to_be_alike(tmp_path):
    """Leaf s1.0 is that of adapter 0 of the first four hosts, of which j6 has all."""
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(placed(UNITS | {"fabric": "rail"}, (6, 3))))
    snapshot = read_snapshot(path)

    first, second = verify(snapshot, fail=["s1.0"]).jobs

    assert first.rearrangeable.method.endswith(
        "each of 3 endpoints of a host, 1 more have lost links"
    )
    assert second.rearrangeable.method.endswith("each of 4 endpoints of a host")


def test_messages_between_all_gpus_stay_on_links_that_one_job_has(snapshot):
    """Every pair of endpoints of equal number, walked link by link."""
    fabric, holder = snapshot.topology, {}
    ways = RankRouting(fabric, snapshot.routing)
    for job in snapshot.jobs:
        nodes = np.unique(job.partition.nodes)
        src, dst = np.array(list(itertools.permutations(nodes.tolist(), 2))).T
        routes, flows = ways.of_nodes(src, dst, job.partition)
        own = [] if job.partition.links is None else job.partition.links.tolist()
        for flow in range(flows.src.size):
            links = routes.of_flow(flow).tolist()
            vertices = [fabric.link_tail[links[0]], *fabric.link_head[links]]
            assert vertices[:-1] == fabric.link_tail[links].tolist()
            assert vertices[0] == src[flows.flow[flow]]
            assert vertices[-1] == dst[flows.flow[flow]]
            assert links[0] == fabric.endpoints.link[flows.src[flow]]
            assert fabric.reverse[links[-1]] == fabric.endpoints.link[flows.dst[flow]]
            assert set(links[1:-1]) <= set(own)
        for link in {*own, *routes.links.tolist()}:
            assert holder.setdefault(link, job.id) == job.id


def test_shifts_of_hosts_have_a_link_each_on_every_rail(snapshot):
    """By the theorem of Jigsaw's wraparound: no shift of ranks puts two flows on a link."""
    for job in snapshot.jobs:
        nodes = np.unique(job.partition.nodes)
        shifts = np.stack([np.roll(nodes, -step) for step in range(1, nodes.size)])

        loads = largest_loads(snapshot.topology, snapshot.routing, job.partition, nodes, shifts)

        assert loads.max() <= 1


def test_jobs_on_links_of_their_own_take_as_long_as_alone(snapshot):
    for job in estimate(snapshot).jobs:
        assert job.interference == 1.0
        assert job.alone_s > 0.0


def test_a_given_permutation_is_routed_on_real_links(tmp_path):
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(placed(FABRICS[4], (6,))))
    snapshot = read_snapshot(path)
    nodes = snapshot.jobs[0].partition.nodes[::4].tolist()

    (job,) = verify(snapshot, permutation=list(zip(nodes, nodes[::-1], strict=True))).jobs

    assert job.permutation.holds
    routes = job.permutation.certificate.routes
    for flow, (src, dst) in enumerate(zip(nodes, nodes[::-1], strict=True)):
        links = routes.of_flow(flow)
        assert snapshot.topology.link_tail[links[0]] == src
        assert snapshot.topology.link_head[links[-1]] == dst


def test_a_job_that_is_given_another_ones_links_is_not_isolated(tmp_path):
    document = placed(FABRICS[0], (6, 5))
    document["jobs"][1]["links"] = document["jobs"][0]["links"]
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(document))

    found = verify(read_snapshot(path))

    assert not found.passed
    assert not any(job.isolated for job in found.jobs)


def test_messages_across_rails_are_refused_where_jobs_own_links():
    document = placed(FABRICS[0] | {"pxn": False}, (6,))
    exchange = {"operation": "all-to-all", "nbytes": "1 MB"}
    document["jobs"][0]["phases"] = [{"collectives": [exchange]}]

    with pytest.raises(SnapshotError, match="expected pxn = true on rail: a job owns no links bet"):
        estimate(document)


@pytest.mark.parametrize("spec", FABRICS[:4], ids=name_of)
def test_after_a_rail_is_lost_messages_take_the_owned_links_of_the_others(spec):
    """By hand: four adapters a host, of which three are left: a ring takes 4/3 of its time."""
    snapshot = snapshot_from(placed(spec | {"latency": "none"}, (6,)), "jobs.json")
    job, hosts = snapshot.jobs[0], np.unique(snapshot.jobs[0].partition.nodes)

    after = fail(snapshot.topology, [], [f"s1.{unit * 4}" for unit in range(4)])
    routing = on_changed(snapshot.routing, after)
    ways = RankRouting(after, routing).of_nodes(hosts, np.roll(hosts, 1), job.partition)

    links = ways[0].links
    between = links[np.minimum(after.link_tail[links], after.link_head[links]) >= after.n_nodes]
    assert set(between.tolist()) <= set(job.partition.links.tolist())
    assert not np.isin(links, after.absent).any()
    assert np.array_equal(np.unique(ways[1].flow, return_counts=True)[1], np.full(6, 3))
    before, lost = (
        TrafficOf(fabric, way).of_flows(job.flows, job.partition, compute_s=0.0).alone_s
        for fabric, way in ((snapshot.topology, snapshot.routing), (after, routing))
    )
    assert lost == pytest.approx(before * 4 / 3)


def test_links_up_that_do_not_part_among_adapters_are_refused_in_a_line():
    """A leaf of 16 adapters with 3 links up, of four hosts with four adapters each."""
    document = placed(FABRICS[4], (6,))
    document["topology"] = document["topology"] | {"oversubscription": "16:3"}
    document["jobs"][0]["links"] = ["s1.0>s2.0"]

    (job,) = verify(document).jobs

    assert job.conditions.reason.endswith("3 x 1 do not part among 4")
    assert job.unroutable.startswith(
        "routing 'jigsaw': owned links need as many links up of a leaf"
    )


def test_other_routings_do_not_look_at_what_jobs_own():
    """As on other trees: the times are those without owned links."""
    document = placed(FABRICS[0], (6, 5), routing="spray")
    without = placed(FABRICS[0], (6, 5), routing="spray")
    for job in without["jobs"]:
        job["links"] = None

    found, plain = ([job.together_s for job in estimate(own).jobs] for own in (document, without))

    assert found == plain


def test_without_pxn_a_clos_has_the_same_links():
    """On a Clos all adapters of a host are on one leaf: the receiver's tree leads there."""
    document = placed(FABRICS[4] | {"pxn": False}, (6, 5))

    assert [job.interference for job in estimate(document).jobs] == [1.0, 1.0]


@pytest.mark.parametrize("fabric", ["rail", "clos"])
@pytest.mark.parametrize("allocator", ["jigsaw", "laas", "ta", "lc"])
def test_runs_with_isolating_allocators_have_no_interference(allocator, fabric):
    experiment = fs.Experiment(
        UNITS | {"fabric": fabric, "units_per_pod": 2},
        {"generator": "synth", "mean_nodes": 4, "n_jobs": 40, "max_nodes": 8},
        communication={
            "version": 1,
            "rule": [{"pattern": "all-to-all", "comm_fraction": 0.5, "bytes_per_flow": 1e6}],
        },
        allocator=allocator,
        routing="jigsaw",
    )

    found = fs.run(experiment)

    assert found.summary["max_interference"] == 1.0
    assert found.jobs["interference"].notna().sum() > 30


def test_after_a_spine_is_lost_jobs_get_what_is_left():
    fabric = UNITS | {"fabric": "rail", "failed_switches": ["s2.0"]}

    document = placed(fabric, (5, 3))

    assert not any("s2.0" in link for job in document["jobs"] for link in job["links"] or ())
    assert all(job.isolated for job in verify(document).jobs)
