"""Cluster: what is free, refusals, copies, and the marks of pods."""

import numpy as np
import pytest

from netsim.topology.fattree import build_fat_tree, fat_tree_of_radix
from netsim.topology.gpucluster import Hosts, build_gpu_cluster
from netsim.topology.outage import exclude, fail
from netsim.topology.torus import build_torus
from scheduler.allocation import Allocation
from scheduler.cluster import Cluster
from scheduler.errors import AllocationError
from scheduler.geometry import Geometry
from scheduler.job import Job

RADIX_4 = fat_tree_of_radix(4, "1 B/s")  # 4 pods of 2 leaves of 2 nodes


def job(n_nodes, number=1):
    return Job(number, 0.0, n_nodes, 1.0, 1.0)


def test_an_empty_tree_has_all_nodes_and_uplinks_free():
    cluster = Cluster(build_fat_tree((3, 2, 4), (1, 2, 2), (1, 2, 3), "1 B/s"))

    assert (cluster.n_nodes, cluster.n_leaves, cluster.n_pods) == (24, 8, 4)
    assert cluster.leaf_free == [0b111] * 8
    assert cluster.leaf_up == [0b1111] * 8
    assert cluster.l2_up == [0b111111] * 8
    assert cluster.pod_free == [6] * 4


def test_other_machines_have_blocks_of_64_nodes_and_no_links():
    cluster = Cluster(build_torus((5, 5, 4), "1 B/s"))

    assert [mask.bit_count() for mask in cluster.leaf_free] == [64, 36]
    assert (cluster.leaf_up, cluster.l2_up, cluster.pod_free) == ([0, 0], [], [100])


def test_groups_of_a_two_rail_tree_are_the_nodes_that_share_leaves():
    cluster = Cluster(build_fat_tree((3, 3, 2), (2, 3, 3), (1, 1, 1), "1 B/s"))

    assert (cluster.n_nodes, cluster.n_leaves, cluster.leaf_free) == (18, 6, [0b111] * 6)


def test_excluded_nodes_and_failed_cables_are_never_free():
    """Node 5 is bit 1 of leaf 2; one direction named means the cable."""
    fabric = fail(exclude(RADIX_4, ["n5"]), ["s2.1>s1.0", "s2.2>s3.2"])
    cluster = Cluster(fabric)

    assert cluster.n_nodes == cluster.n_free == 15
    assert cluster.leaf_free[2] == 0b01
    assert cluster.pod_free == [4, 3, 4, 4]
    assert (cluster.leaf_up[0], cluster.leaf_up[1]) == (0b01, 0b11)
    assert (cluster.l2_up[2], cluster.l2_up[3]) == (0b01, 0b11)


GEOMETRY = Geometry.of(RADIX_4)
FIRST = Allocation(job(2), GEOMETRY, ((0, 0b11, 0b01),), ((0, 0b01),))
CLASHES = {
    "node": Allocation(job(1, 2), GEOMETRY, ((0, 0b01, 0),)),
    "leaf uplink": Allocation(job(1, 2), GEOMETRY, ((0, 0, 0b01),)),
    "spine link": Allocation(job(1, 2), GEOMETRY, ((1, 0b01, 0),), ((0, 0b01),)),
    "running job": Allocation(job(1, 1), GEOMETRY, ((1, 0b01, 0),)),
    "units of an owned link": Allocation(job(1, 2), GEOMETRY, ((0, 0, 0b01),), units=1),
}


@pytest.mark.parametrize("clash", CLASHES)
def test_what_is_taken_is_not_given_again(clash):
    cluster = Cluster(RADIX_4)
    cluster.place(FIRST)

    with pytest.raises(AllocationError, match="taken, or runs already"):
        cluster.place(CLASHES[clash])


def test_a_link_of_which_units_are_taken_cannot_be_owned():
    cluster = Cluster(RADIX_4)
    cluster.place(Allocation(job(1, 7), GEOMETRY, ((0, 0b01, 0b01),), ((0, 0b01),), units=1))

    for clash in (((1, 0b01, 0),), ((0, 0b01),)), (((0, 0b10, 0b01),), ()):
        with pytest.raises(AllocationError, match="taken, or runs already"):
            cluster.place(Allocation(job(1, 8), GEOMETRY, *clash))


def test_a_placement_on_another_machine_is_refused():
    other = Geometry.of(build_torus((4, 4), "1 B/s"))

    with pytest.raises(AllocationError, match=r"job 1: expected a placement on .*, got one on ano"):
        Cluster(RADIX_4).place(Allocation(job(2), other, ((0, 0b11, 0),)))


def test_nodes_of_an_allocation_are_numbered_by_its_own_geometry():
    """Leaves of 2 nodes: bit 0 of leaf 1 is node 2; blocks of 64: node 64."""
    torus = Geometry.of(build_torus((5, 5, 4), "1 B/s"))
    rows = ((0, 0b10, 0), (1, 0b01, 0))

    assert Allocation(job(2), GEOMETRY, rows).nodes().tolist() == [1, 2]
    assert Allocation(job(2), torus, rows).nodes().tolist() == [1, 64]
    assert torus.masks([1, 64, 65]) == {0: 0b10, 1: 0b11}


@pytest.mark.parametrize("fabric", ["rail", "rail-only", "clos", "dual-plane"])
@pytest.mark.parametrize("lost", [([], []), (["n3>s1.0"], []), ([], ["s1.0"])])
def test_hosts_of_a_unit_are_a_group_whatever_adapters_they_lack(fabric, lost):
    shape = {"hosts_per_unit": 4, "units_per_pod": 2}
    cluster = build_gpu_cluster(16, Hosts(4, 4), fabric, bandwidth="1 B/s", **shape)
    if fabric == "clos":  # where a lost leaf is that of all adapters
        lost = [f"{name}#0" for name in lost[0]], []

    groups = Geometry.of(fail(cluster, *lost)).groups(np.arange(16))

    assert groups.tolist() == [host // 4 for host in range(16)]


def test_a_job_that_does_not_run_cannot_be_released():
    with pytest.raises(AllocationError, match="job 3 is released but does not run"):
        Cluster(RADIX_4).release(3)


def test_a_copy_lives_its_own_life():
    """Shared units included."""
    cluster = Cluster(RADIX_4)
    cluster.place(Allocation(job(1, 7), GEOMETRY, ((0, 0b01, 0b01),), ((0, 0b01),), units=4))
    twin = cluster.copy()
    twin.release(7)
    twin.place(FIRST)

    assert list(cluster.running) == [7]
    assert (cluster.n_free, twin.n_free) == (15, 14)
    assert cluster.shared.leaf[0][3] == 0b01
    assert twin.shared.leaf[0][3] == 0


@pytest.mark.parametrize(
    ("allocation", "changed"),
    [
        (Allocation(job(1), GEOMETRY, ((2, 0b01, 0),)), {1}),
        (Allocation(job(2), GEOMETRY, ((1, 0b01, 0), (7, 0b01, 0))), {0, 3}),
        (Allocation(job(1), GEOMETRY, ((0, 0b01, 0),), ((5, 0b01),)), {0, 2}),
    ],
)
def test_the_marks_of_just_the_pods_that_change_are_replaced(allocation, changed):
    """Leaf 2 is in pod 1, leaf 7 in pod 3, L2 switch 5 in pod 2."""
    cluster = Cluster(RADIX_4)
    before = cluster.copy()
    cluster.place(allocation)
    during = cluster.copy()
    cluster.release(1)

    for old, new in ((before, during), (during, cluster)):
        marks = zip(old.stamp, new.stamp, strict=True)
        assert {pod for pod, (a, b) in enumerate(marks) if a is not b} == changed
