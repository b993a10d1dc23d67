"""What a training step is made of, and what it sends by class of link: by hand."""

import json

import pytest
from estimatescenes import scene

from coupling import estimate
from coupling.inputs.snapshot import read_snapshot
from coupling.report.columns import text_of
from coupling.report.estimate import estimate_answer

MS = 1e-3
UNITS = {"hosts": 32, "hosts_per_unit": 16, "bandwidth": "400 Gb/s", "latency": "none"}
CLUSTER = {"kind": "gpu-cluster", **UNITS}
RING = {"operation": "allreduce", "algorithm": "ring", "nbytes": "1 GB", "over": ["dp"]}
TENSOR = {"operation": "allreduce", "algorithm": "ring", "nbytes": "9 GB", "over": ["tp"]}
# 2 x 31/32 x 1 GB at 50 GB/s; 2 x 7/8 x 9 GB at 450 GB/s
RING_S, TENSOR_S = 38.75 * MS, 35 * MS


def step_of(phases, **fields):
    """Return the estimate of a job of all GPUs, and what exposes it."""
    job = {"id": "a", "nodes": list(range(32)), "ranks_per_node": 8, "parallel": {"tp": 8}}
    found = estimate(scene(job | {"phases": phases}, topology=CLUSTER, **fields)).jobs[0]
    return found, {part.what: (part.time_s, part.exposed_s) for part in found.parts}


@pytest.mark.parametrize("routing", ["d-mod-k", "spray"])
def test_exposed_times_add_up_to_the_step(routing):
    """30 ms of computation hide the first of 38.75 ms of rings; tensor parts are not hidden."""
    beside = {"compute_s": "30 ms", "hidden": True, "collectives": [RING]}

    job, parts = step_of([{"compute_s": "70 ms", "collectives": [TENSOR]}, beside], routing=routing)

    assert parts == {
        "computation": pytest.approx((0.100, 0.100)),
        "allreduce over tp": pytest.approx((TENSOR_S, TENSOR_S)),
        "allreduce over dp": pytest.approx((RING_S, 8.75 * MS)),
    }
    assert job.together_s == pytest.approx(0.100 + TENSOR_S + 8.75 * MS)
    assert job.parts_to_dict()["exposed_s_by_dimension"] == pytest.approx(
        {"tp": TENSOR_S, "dp": 8.75 * MS}
    )


def test_of_several_collectives_beside_a_computation_the_last_are_exposed():
    """50 ms hide a ring of 38.75 and 11.25 of the 35 that follow it; reversed, all of the 35."""
    for both, exposed in (([RING, TENSOR], (0, 23.75)), ([TENSOR, RING], (23.75, 0))):
        beside = {"compute_s": "50 ms", "hidden": True, "collectives": both}

        _, parts = step_of([beside])

        found = parts["allreduce over dp"][1], parts["allreduce over tp"][1]
        assert found == pytest.approx(tuple(ms * MS for ms in exposed), abs=1e-9)


@pytest.mark.parametrize(
    ("hidden_s", "said"),
    [
        ([0.030], (38.75, 30)),
        ([0.040], None),  # all is hidden
        ([0], None),  # nothing could hide
        ([0.030, 0.050], (38.75, 30)),
        ([0.030, 0.020], (77.5, 50)),  # both are longer
    ],
)
def test_collectives_longer_than_the_computation_beside_them_are_stated(hidden_s, said):
    """By hand: a ring takes 38.75 ms."""
    job, _ = step_of(
        [{"compute_s": own, "hidden": True, "collectives": [RING]} for own in hidden_s]
    )

    stated = job.parts_to_dict()["overlap"]
    if said is None:
        assert stated is None
    else:
        longer, beside = (ms * MS for ms in said)
        assert stated == pytest.approx(
            {"communication_s": longer, "computation_s": beside, "exposed_s": longer - beside}
        )


@pytest.mark.parametrize("routing", ["d-mod-k", "spray"])
def test_bytes_by_class_of_link_are_those_of_the_rings(routing):
    """256 GPUs send 2 x 31/32 GB; of each of 8 rings two of 32 messages cross the spines."""
    job, _ = step_of([{"collectives": [RING, TENSOR]}], routing=routing)

    sent = {own.links: (own.nbytes, own.busiest_s) for own in job.bytes_by_class}
    assert sent["inside hosts"] == pytest.approx((256 * 1.75 * 9e9, TENSOR_S))
    assert sent["host to leaf"] == pytest.approx((256 * 1.9375e9, RING_S))
    assert sent["leaf to spine"][0] == pytest.approx(16 * 1.9375e9)


def test_three_tiers_have_a_class_for_cores():
    """Two pods of one unit each: 16 of the messages of 8 rings go over the cores, each way."""
    pods = {"units_per_pod": 1}
    job = {"id": "a", "nodes": list(range(32)), "ranks_per_node": 8, "parallel": {"tp": 8}}

    (found,) = estimate(
        scene(job | {"phases": [{"collectives": [RING]}]}, topology=CLUSTER | pods)
    ).jobs

    sent = {own.links: own.nbytes for own in found.bytes_by_class}
    assert sent["spine to core"] == sent["leaf to spine"] == pytest.approx(16 * 1.9375e9)


def test_the_parts_of_a_model_carry_their_dimensions():
    model = {"params": "8e9", "layers": 8, "hidden": 4096, "seq": 4096, "compute_s": 1.0}
    job = {"id": "a", "nodes": list(range(32)), "ranks_per_node": 8}
    cases = (
        ({"tp": 4, "pp": 2, "ep": 2, "cp": 2}, {"tp", "cp", "ep", "pp", "dp+cp"}),
        ({"fsdp": True}, {"fsdp"}),
    )
    for fields, dimensions in cases:
        (found,) = estimate(scene(job | {"model": model | fields}, topology=CLUSTER)).jobs

        assert {part.dimension for part in found.parts} == dimensions | {""}
        assert sum(part.exposed_s for part in found.parts) == pytest.approx(found.together_s)


def test_time_lost_to_other_jobs_is_a_part_of_the_step():
    narrow = CLUSTER | {"oversubscription": "16:1"}
    jobs = [
        {
            "id": name,
            "nodes": [*range(first, first + 8), *range(first + 16, first + 24)],
            "ranks_per_node": 8,
            "parallel": {"tp": 8},
            "phases": [{"compute_s": "40 ms", "collectives": [RING]}],
        }
        for name, first in (("a", 0), ("b", 8))
    ]

    for found in estimate(scene(*jobs, topology=narrow)).jobs:
        parts = {part.what: part.exposed_s for part in found.parts}
        assert parts["other jobs"] == pytest.approx(found.together_s - found.alone_s)
        assert parts["other jobs"] > 0.001


def test_what_a_simulation_has_more_of_a_step_alone_is_no_other_job():
    """A double tree's messages share links at once under flow-level: longer than the busiest."""
    tree = RING | {"algorithm": "tree"}

    for model in ("fluid", "flow-level"):
        job, parts = step_of([{"compute_s": 1, "collectives": [tree]}], model=model)

        assert ("own messages on shared links" in parts) == (model == "flow-level")
        assert "other jobs" not in parts
        assert sum(exposed for _, exposed in parts.values()) == pytest.approx(job.together_s)


def test_steps_fit_80_columns_and_stand_on_the_page(tmp_path):
    model = {"params": "70e9", "layers": 80, "hidden": 8192, "seq": 4096, "micro_batches": 8}
    model |= {"tp": 8, "pp": 2, "ep": 2, "compute_s": "2 s"}
    job = {"id": "llama-70b-nightly", "nodes": list(range(32)), "ranks_per_node": 8}
    path = tmp_path / "scene.json"
    path.write_text(json.dumps(scene(job | {"model": model}, topology=CLUSTER)))
    snapshot = read_snapshot(path)
    found = estimate(snapshot)

    lines = text_of(*estimate_answer(snapshot, found).parts()).splitlines()
    page = estimate_answer(snapshot, found, page=True)

    assert max(map(len, lines)) <= 80
    assert any(line.startswith("llama-70b-nightly: collectives take longer") for line in lines)
    heads = {section.title: section.heads for section in page.sections}
    assert {"Steps", "Bytes of a step"} <= heads.keys()
    assert any("all-to-all over ep" in line for line in lines)
    assert any("leaf to spine" in line for line in lines)
