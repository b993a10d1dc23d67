"""The price of each failed part of a GPU cluster: iterations by hand, parts by name."""

import json

import pytest

from coupling import SnapshotError, estimate
from coupling.inputs.snapshot import snapshot_from
from coupling.site.comparison import DISCONNECTED, STOPPED
from coupling.site.site import site_of_snapshot
from coupling.site.whatif import rank_failures, whatif
from netsim.registries.topologies import make_topology

CLUSTER = {"kind": "gpu-cluster", "hosts": 8, "hosts_per_unit": 4, "latency": "none"}
CLUSTER |= {"bandwidth": "400 Gb/s"}
RING = {"operation": "allreduce", "algorithm": "ring", "nbytes": "1 GB", "over": ["dp"]}
COMPUTE_S, RING_S = 0.065, 0.035  # 2 x 7/8 x 1 GB at 50 GB/s


def scene(**fields):
    """Return eight rings of one job over eight hosts, and 65 ms of computation."""
    job = {"id": "a", "nodes": "n[0-7]", "ranks_per_node": 8, "parallel": {"tp": 8}}
    job["phases"] = [{"compute_s": COMPUTE_S, "collectives": [RING]}]
    return {"topology": CLUSTER | fields, "jobs": [job]}


def prices(kind, **fields):
    """Return what fails, and the iteration of the job after it, None where it stops."""
    ranking = rank_failures(site_of_snapshot(snapshot_from(scene(**fields))), kind)
    assert all(job.before_s == pytest.approx(0.1) for own in ranking.failures for job in own.jobs)
    return {
        failure.what: failure.jobs[0].after_s if failure.jobs else 0.1
        for failure in ranking.failures
    }, ranking


@pytest.mark.parametrize(("rule", "longer"), [("respread", 8 / 7), ("double", 2)])
@pytest.mark.parametrize("kind", ["rail", "NIC"])
@pytest.mark.parametrize("fabric", ["rail", "rail-only"])
def test_each_rail_and_each_adapter_has_its_price(rule, longer, kind, fabric):
    found, _ = prices(kind, fabric=fabric, on_failure=rule)

    assert len(found) == {"rail": 8, "NIC": 64}[kind]
    assert {"rail": "rail 3", "NIC": "NIC 3 of n5"}[kind] in found
    assert list(found.values()) == pytest.approx([COMPUTE_S + longer * RING_S] * len(found))


def test_leaves_and_spines_are_named_by_rail_and_unit():
    """Four spines a rail are enough for one ring; a leaf of one unit takes its rail from that."""
    found, _ = prices("switch")

    assert len(found) == 16 + 4
    assert found["leaf s1.11, rail 3, unit 1"] == pytest.approx(COMPUTE_S + 8 / 7 * RING_S)
    assert found["spine s2.3"] == pytest.approx(0.1)


def test_a_leaf_of_a_clos_takes_its_hosts_with_it():
    found, ranking = prices("switch", fabric="clos")

    assert found["leaf s1.1, unit 1"] is None
    assert {own.what: own.cut_off for own in ranking.failures}["leaf s1.1, unit 1"] == 1


def test_planes_are_named_and_an_adapter_fails_with_both_ports():
    two = {"fabric": "dual-plane", "bandwidth": "200 Gb/s"}

    leaves, _ = prices("switch", **two, on_failure="plane")
    adapters, _ = prices("NIC", **two)

    assert len(leaves) == 2 * (16 + 4)
    rail_0 = [name for name in leaves if name.startswith("leaf") and "rail 0, plane 1" in name]
    assert len(rail_0) == 2  # one in each unit
    assert leaves[rail_0[0]] == pytest.approx(COMPUTE_S + 2 * RING_S)
    assert adapters["NIC 0 of n0"] == pytest.approx(COMPUTE_S + 8 / 7 * RING_S)


def test_cores_are_named_in_three_tiers():
    """Two spines of a pod have 16 links down and up each; a core has one to a spine of each pod."""
    found, _ = prices("switch", hosts_per_unit=2, units_per_pod=2)

    assert sum(name.startswith("core") for name in found) == 32


@pytest.mark.parametrize("kind", ["rail", "NIC"])
def test_where_the_rule_is_abort_the_job_stops(kind):
    found, ranking = prices(kind, on_failure="abort")

    assert set(found.values()) == {None}
    assert all(own.cut_off == 1 for own in ranking.failures)
    assert {job.status for own in ranking.failures for job in own.jobs} == {STOPPED}


def test_a_spine_of_the_only_path_disconnects():
    found = whatif(scene(oversubscription=4), fail="s2.0")

    assert [job.status for job in found.jobs] in (["cut off"], [DISCONNECTED])


def test_a_change_gives_seconds_before_and_after():
    (job,) = whatif(scene(), fail=["s1.0", "s1.8"]).jobs

    assert (job.before_s, job.after_s) == pytest.approx((0.1, COMPUTE_S + 8 / 7 * RING_S))
    assert job.change == pytest.approx(job.after_s / job.before_s)


@pytest.mark.parametrize(
    ("kind", "fabric", "words"),
    [
        ("rail", {"fabric": "clos"}, "--each-rail: expected a GPU cluster with rails, got GPU"),
        ("NIC", {"kind": "fat-tree", "radix": 4}, "--each-nic: expected a GPU cluster, got fat"),
    ],
)
def test_parts_that_a_fabric_has_not_are_refused(kind, fabric, words):
    topology = fabric if "kind" in fabric else CLUSTER | fabric
    job = {"id": "a", "nodes": [0, 1], "steps": [[[0, 1, 1e6]]], "compute_s": 0}
    site = site_of_snapshot(snapshot_from({"topology": topology, "jobs": [job]}))

    with pytest.raises(SnapshotError, match=words):
        rank_failures(site, kind)


def test_cables_are_not_added_to_hosts_of_adapters_and_gpus():
    with pytest.raises(SnapshotError, match="added cables: expected no GPU cluster"):
        whatif(scene(), add_cables="s1.0>s2.0")


@pytest.mark.parametrize("what", ["h0", "n0>h0#3"])
def test_a_failure_inside_a_host_is_to_name_the_host(what):
    with pytest.raises(SnapshotError, match="a host whose own network fails is out: name the host"):
        whatif(scene(), fail=what)


def test_the_command_lists_iterations_and_takes_one_kind_at_a_time(tmp_path, command):
    path = tmp_path / "scene.json"
    path.write_text(json.dumps(scene()))

    status, printed, _ = command("whatif", path, "--each-rail")
    both, _, refused = command("whatif", path, "--each-rail", "--each-nic")

    assert status == 0
    assert "rail 3  a       100 ms  105 ms  +5.0 %" in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert both == 2
    assert "expected one kind of part that fails, got --each-rail and --each-nic" in refused


@pytest.mark.parametrize("pxn", [True, False])
@pytest.mark.parametrize("kind", ["ring", "all-to-all"])
@pytest.mark.parametrize(
    ("planes", "rule", "longer"),
    [
        ((0,), "respread", 2),  # the other port carries both shares, whatever the rule
        ((0,), "double", 2),
        ((0,), "plane", 2),
        ((0, 1), "respread", 8 / 7),
        ((0, 1), "double", 2),  # both ports of the next adapter
    ],
)
def test_ports_stand_in_for_each_other_before_adapters_do(pxn, kind, planes, rule, longer):
    """Eight hosts, adapters of 2 x 25 GB/s; rail 0 lost in one plane, or in both."""
    fabric = {"kind": "gpu-cluster", "hosts": 8, "hosts_per_unit": 8, "fabric": "dual-plane"}
    fabric |= {"bandwidth": "200 Gb/s", "latency": "none", "pxn": pxn, "on_failure": rule}
    cluster = make_topology(fabric)
    names = [cluster.switch_words(own) for own in cluster.switches_of_rail(0).tolist()]
    lost = [name for name in names if any(f"plane {plane}," in name for plane in planes)]
    fabric["failed_switches"] = [name.split(",")[0].removeprefix("leaf ") for name in lost]
    job = {"id": "a", "nodes": "n[0-7]", "ranks_per_node": 8}
    if kind == "ring":
        job |= {"parallel": {"tp": 8}, "phases": [{"collectives": [RING]}]}
    else:
        job |= {"pattern": {"name": "all-to-all", "nbytes": "1 MB"}, "compute_s": 0}

    (found,) = estimate({"topology": fabric, "jobs": [job], "routing": "spray"}).jobs

    intact = RING_S if kind == "ring" else 56e6 / 50e9
    assert found.alone_s == pytest.approx(intact * longer)
