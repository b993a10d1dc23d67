"""Jobs on GPU clusters: times by hand, byte by byte of the busiest link."""

import pytest
from estimatescenes import scene

from coupling import SnapshotError, estimate

MS, LINK = 1e-3, 50e9  # seconds; bytes per second of an adapter
CLUSTER = {"kind": "gpu-cluster", "hosts": 32, "bandwidth": "400 Gb/s", "latency": "none"}
CLOS = {"fabric": "clos", "hosts_per_unit": 4}  # 32 adapters on each of 8 leaves
RINGS = {"name": "training", "tp": 8, "nbytes": "1 GB", "activation_bytes": "1 B"}


def alone(pattern, cluster=None, nodes=32, ranks=8, **fields):
    """Return the seconds of an iteration of one job of GPUs."""
    job = {"id": "a", "nodes": list(range(nodes)), "ranks_per_node": ranks, "compute_s": 0}
    (found,) = estimate(
        scene(job | {"pattern": pattern}, topology=CLUSTER | (cluster or {}), **fields)
    ).jobs
    return found.alone_s


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
@pytest.mark.parametrize(
    "cluster", [{}, {"fabric": "rail-only"}, CLOS, {"fabric": "dual-plane", "bandwidth": LINK / 2}]
)
def test_eight_rings_take_as_long_on_every_fabric(cluster, model):
    """2 x 31/32 x 1 GB by an adapter of 50 GB/s each."""
    assert alone(RINGS, cluster, model=model) == pytest.approx(38.75 * MS)


@pytest.mark.parametrize(
    ("lost", "rule", "expected"),
    [
        (1, "respread", 44.29),  # 38.75 x 8 / 7
        (1, "double", 77.50),
        (2, "respread", 51.67),
        (2, "double", 77.50),
    ],
)
@pytest.mark.parametrize("fabric", ["rail", "rail-only"])
def test_a_lost_rail_costs_what_its_messages_take_elsewhere(lost, rule, expected, fabric):
    failed = {"failed_switches": [f"s1.{rail}" for rail in range(lost)], "on_failure": rule}

    assert alone(RINGS, failed | {"fabric": fabric}) == pytest.approx(expected * MS, abs=5e-6)


def test_in_two_planes_the_other_port_carries_twice_as_much():
    lost = {"fabric": "dual-plane", "bandwidth": LINK / 2, "failed_switches": ["s1.0"]}

    assert alone(RINGS, lost | {"on_failure": "plane"}) == pytest.approx(77.50 * MS)


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ({"on_failure": "abort"}, "job a: rail 0 is lost between n0 and n1; the job stops"),
        (
            {"on_failure": "plane", "fabric": "dual-plane", "failed_switches": ["s1.0", "s1.1"]},
            "rail 0 of plane 0 is lost between n0 and n1; the job stops",
        ),
    ],
)
def test_a_job_that_a_lost_rail_stops_is_refused_by_name(cluster, words):
    with pytest.raises(SnapshotError, match=words):
        alone(RINGS, {"failed_switches": ["s1.0"]} | cluster)


ALL_TO_ALL = {"name": "all-to-all", "nbytes": "1 MB"}


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        ({}, 4.96),  # 248 of 256 MB leave by each adapter
        ({"hosts_per_unit": 16, "oversubscription": 2}, 5.12),  # 2,048 MB by 8 uplinks
        # 8 x 31 MB by the adapter, 7 x 32 MB by the GPU's link of 10 GB/s
        ({"gpu_link": "10 GB/s"}, 22.4),
    ],
)
def test_an_all_to_all_is_as_long_as_its_busiest_link(cluster, expected):
    assert alone(ALL_TO_ALL, cluster) == pytest.approx(expected * MS)


def test_an_all_to_all_over_seven_to_one_is_as_long_as_the_uplinks_of_a_pod():
    """448 hosts of one GPU, 56 a pod: 392 of 447 messages cross a seventh of the links, 6.1387."""
    pods = {"hosts": 448, "gpus": 1, "hosts_per_unit": 28, "units_per_pod": 2, "spines": 4}
    above = {"oversubscription": [1, 7], "fabric": "clos"}
    args = {"nodes": 448, "ranks": 1, "routing": "spray"}
    free = alone(ALL_TO_ALL, pods, **args)

    assert free == pytest.approx(447e6 / LINK)
    assert alone(ALL_TO_ALL, pods | above, **args) / free == pytest.approx(392 * 7 / 447)
    ring = {"name": "allreduce", "algorithm": "ring", "nbytes": "1 GB"}
    ratio = alone(ring, pods | above, **args) / alone(ring, pods, **args)
    assert ratio == pytest.approx(1.0)


def test_links_of_failed_rails_are_named_among_what_is_assumed():
    topology = CLUSTER | {"failed_switches": ["s1.3"]}
    job = {"id": "a", "nodes": [0, 1], "ranks_per_node": 8, "pattern": RINGS, "compute_s": 0}

    found = estimate(scene(job, topology=topology))

    assert "rail out of service: 3 on 32 hosts; on_failure = respread" in found.assumed
