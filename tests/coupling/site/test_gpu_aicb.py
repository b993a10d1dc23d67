"""Workloads of AICB: iterations by hand, and what is refused."""

import pytest
from estimatescenes import scene

from coupling import SnapshotError, estimate

CLUSTER = {"kind": "gpu-cluster", "hosts": 4, "hosts_per_unit": 4, "bandwidth": "400 Gb/s"}
CLUSTER |= {"latency": "none"}
HEADER = {"model_parallel_NPU_group": 8, "ep": 1, "pp": 1, "vpp": 1, "ga": 1, "all_gpus": 32}
MS = 1e-3
LAYERS = [
    "grads -1 1000000 NONE 0 2000000 NONE 0 3000000 NONE 0 100",
    "linear 0 4000000 ALLREDUCE 450000000 5000000 ALLREDUCE 900000000 0 ALLREDUCE 1000000000 100",
]


def workload(layers=LAYERS, count=None, policy="HYBRID_TRANSFORMER_FWD_IN_BCKWD", **fields):
    """Return the text of a workload."""
    header = " ".join(f"{name}: {value}" for name, value in (HEADER | fields).items())
    return "\n".join([f"{policy} {header}", str(len(layers) if count is None else count), *layers])


def iteration(folder, text, hosts=4, ranks=8):
    """Return the estimate of a job of all GPUs that runs a workload."""
    (folder / "w.txt").write_text(text)
    job = {"id": "a", "nodes": list(range(hosts)), "ranks_per_node": ranks}
    topology = CLUSTER | {"hosts": hosts, "hosts_per_unit": hosts}
    document = scene(job | {"aicb": str(folder / "w.txt")}, topology=topology)
    (found,) = estimate(document).jobs
    return found, {part.what: (part.time_s, part.exposed_s) for part in found.parts}


def test_a_workload_takes_what_its_layers_take(tmp_path):
    """
    15 ms of computation; tensor parts 2 x 7/8 x 1.35 GB at 450 GB/s: 5.25 ms.

    Weight gradients: 8 rings of 4, 2 x 3/4 x 1 GB at 50 GB/s: 30 ms, beside the 5 ms of the layer
    that is left.
    """
    found, parts = iteration(tmp_path, workload())

    assert parts["computation"] == pytest.approx((15 * MS, 15 * MS))
    assert parts["allreduce over tp"] == pytest.approx((5.25 * MS, 5.25 * MS))
    assert parts["allreduce over dp"] == pytest.approx((30 * MS, 25 * MS))
    assert found.together_s == pytest.approx(45.25 * MS)


def test_experts_exchange_in_their_groups(tmp_path):
    """
    Two experts over four replicas: half of 100 MB to the other host; replicas of an expert are two.

    1 ms, and a ring of two hosts 1 GB: 20 ms.
    """
    layers = ["moe -1 0 ALLTOALL_EP 100000000 0 NONE 0 0 ALLREDUCE_DP_EP 1000000000 1"]

    _, parts = iteration(tmp_path, workload(layers, ep=2))

    assert parts["all-to-all over ep"][0] == pytest.approx(1 * MS)
    assert parts["allreduce over edp"][0] == pytest.approx(20 * MS)


def test_a_pipeline_has_its_bubble_and_sends(tmp_path):
    """
    4 stages of a host each, 4 micro-batches in 2 parts: 3/8 more.

    A stage in the middle sends 10 MB both ways, 8 times, of which once is waited for.
    """
    found, parts = iteration(tmp_path, workload(LAYERS[:1], pp=4, ga=4, vpp=2, pp_comm=10**7))

    assert parts["computation"][0] == pytest.approx(6 * MS * (1 + 3 / 8))
    assert parts["send over pp"] == pytest.approx((3.2 * MS, 0.4 * MS))
    assert found.together_s == pytest.approx(6 * MS * (1 + 3 / 8) + 0.4 * MS)


def test_the_example_of_simai_takes_what_it_says(tmp_path, shared):
    """1.112 ms of computation and 84 MB summed over 8 GPUs of a host."""
    text = shared("reference/gpu/simai/microAllReduce.txt").read_text()

    found, _ = iteration(tmp_path, text, hosts=1)

    summed = 2 * 7 / 8 * (16777216 + 67108864) / 450e9
    assert found.alone_s == pytest.approx(1.112 * MS + summed, rel=1e-4)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (workload(all_gpus=64), "aicb: all_gpus: expected 32, the ranks of the job, got 64"),
        (workload(policy="DATA"), "line 1: expected a workload that begins with HYBRID"),
        (workload(model_parallel_NPU_group=5), "tp x pp = 5 must divide the ranks, such as 30"),
        (workload(ep=3), r"ep = 3 must divide the replicas \(dp\)"),
        (workload(ga=0), "line 1: ga: expected a whole number from 1"),
        (workload(pp=2), "line 1: pp_comm: expected bytes beside pp = 2"),
        (workload(count=3), "line 2: expected the number of layers, got '3' before 2"),
        (workload([LAYERS[0].replace("-1", "1"), LAYERS[1]]), "line 3: dependency 1 of layer 0"),
        (workload([LAYERS[0], LAYERS[1].replace(" 0 4", " 7 4")]), "line 4: dependency 7"),
        (workload(["short -1 0 NONE 0"]), "line 3: expected 12 columns, got 5"),
        (workload([LAYERS[0].replace("3000000", "3.5")]), "line 3: expected whole numbers"),
        (workload([LAYERS[1].replace("ALLREDUCE", "GATHER", 1).replace("r 0", "r -1")]), "GATHER"),
        (
            workload(["moe -1 0 ALLTOALL_EP 100 0 NONE 0 0 NONE 0 1"]),
            "line 3: ALLTOALL_EP: a group over ep has one rank",
        ),
        ("", "line 1: expected a workload that begins with HYBRID"),
    ],
)
def test_workloads_that_are_not_of_the_job_are_refused_by_line(tmp_path, text, words):
    with pytest.raises(SnapshotError, match=words):
        iteration(tmp_path, text)


def test_a_missing_workload_and_one_beside_phases_are_refused(tmp_path):
    job = {"id": "a", "nodes": [0, 1, 2, 3], "ranks_per_node": 8, "aicb": str(tmp_path / "no.txt")}

    with pytest.raises(SnapshotError, match=r"aicb: expected a text file of AICB, .* be read"):
        estimate(scene(job, topology=CLUSTER))
    with pytest.raises(SnapshotError, match="aicb: expected one of model, phases"):
        estimate(scene(job | {"parallel": {"tp": 8}}, topology=CLUSTER))
