"""Jobs without barriers, and tails: what can be said by hand."""

import pytest
from estimatescenes import GB, TAPERED, one_flow, scene

from coupling import estimate
from coupling.errors import SnapshotError
from coupling.site.stagger import stagger
from coupling.site.whatif import whatif

# senders of unequal messages, on nodes that tests place
UNEQUAL = {
    "id": "aggressor",
    "nodes": [2, 4, 10, 8],
    "steps": [[[0, 2, "10 MiB"], [1, 3, "1 MiB"]]],
    "compute_s": 0,
}
OURS = one_flow("ours", 0, 12, steps=[[[0, 1, "256 KiB"]]])


def packets(*jobs, iterations=40, **fields):
    fields.setdefault("topology", TAPERED)
    return scene(*jobs, model="packets", model_options={"iterations": iterations}, **fields)


def test_without_barriers_no_sender_waits_for_another():
    """Alone, nodes of 10 and 1 MiB: in a mean node's iteration 2 / (1/10 + 1/1) MiB are sent."""
    apart = UNEQUAL | {"steps": [[[0, 2, "10 MiB"], [3, 1, "1 MiB"]]]}

    barrier, persistent = (
        estimate(packets(apart | {"persistent": own})).jobs[0].alone_s for own in (False, True)
    )

    assert barrier == pytest.approx(10 * 2**20 / GB, rel=0.01)
    assert persistent == pytest.approx(2 / 1.1 * 2**20 / GB, rel=0.1)


def test_a_persistent_aggressor_never_lets_its_queues_drain():
    """
    One message of ten shares our uplink; with a barrier it pauses while the long one goes.

    Without, it always sends: half of the uplink is ours, and our first packet finds its buffer of
    64 KiB full, a quarter of our message.
    """
    nodes = {"nodes": [2, 8, 5, 15], "steps": [[[0, 1, "1 MiB"], [2, 3, "10 MiB"]]]}
    mild, hard = (
        estimate(packets(OURS, UNEQUAL | nodes | {"persistent": own})).jobs[0].interference
        for own in (False, True)
    )

    assert 1.0 < mild < 1.2
    assert hard == pytest.approx(2.25, rel=0.05)


def test_the_99th_percentile_is_that_of_a_neighbour_that_comes_and_goes():
    """A neighbour sends a fiftieth of the time: the mean hardly moves, the tail doubles."""
    rare = one_flow("rare", 2, 14, steps=[[[0, 1, "1 MiB"]]], compute_s=0.05)

    job = estimate(packets(OURS, rare, iterations=4)).jobs[0]

    assert job.interference < 1.1
    assert job.p99_s == pytest.approx(2 * job.alone_s, rel=0.1)


def test_a_job_alone_and_other_models_have_no_tail():
    assert estimate(packets(OURS)).jobs[0].p99_s is None
    assert estimate(scene(OURS)).jobs[0].p99_s is None


@pytest.mark.parametrize(
    ("changes", "model", "words"),
    [
        ({"compute_s": 1.0}, "packets", "persistent: expected compute_s = 0 and no iterations"),
        ({"iterations": 3}, "packets", "persistent: expected compute_s = 0 and no iterations"),
        ({}, "fluid", "persistent: expected model 'packets', the only one"),
    ],
)
def test_what_persistent_jobs_cannot_have_is_refused(changes, model, words):
    job = OURS | {"persistent": True} | changes

    with pytest.raises(SnapshotError, match=words):
        estimate(scene(job, model=model))


@pytest.mark.parametrize(("command", "named"), [(whatif, "'packets'"), (stagger, "to shift")])
def test_comparisons_by_fluid_refuse_persistent_jobs_in_a_line(command, named):
    changes = {"fail": ["s1.0>s2.0"]} if command is whatif else {}

    with pytest.raises(SnapshotError, match=f"job ours persistent: expected jobs with .*{named}"):
        command(scene(OURS | {"persistent": True}, UNEQUAL), **changes)


def test_candidates_for_the_place_of_a_job_are_ranked_beside_a_persistent_one():
    """Away from the incast, on a leaf of its own, the job is as fast as alone; in its way, not."""
    incast = UNEQUAL | {"nodes": [2, 4, 10, 8], "persistent": True}
    incast |= {"steps": [[[k, 0, "1 MiB"] for k in (1, 2, 3)]]}
    candidates = [{"job": "ours", "nodes": [5, 3]}, {"job": "ours", "nodes": [12, 13]}]

    found = estimate(packets(OURS, incast, candidates=candidates, iterations=6))

    rank = {entry.candidate: entry.rank for entry in found.candidates}
    assert rank == {1: 1, 0: 2}


def test_ranks_that_go_apart_and_persistent_jobs_exclude_each_other():
    options = {"stepping": "rank", "iterations": 2}
    jobs = (OURS, UNEQUAL | {"persistent": True})

    with pytest.raises(SnapshotError, match="persistent jobs: expected stepping 'barrier'"):
        estimate(scene(*jobs, model="packets", model_options=options))


def test_an_incast_without_barriers_is_one_whose_senders_all_always_send():
    """Equal messages: the mean iteration of a node is that of the job with a barrier."""
    steps = [[[k, 0, "1 MiB"] for k in range(1, 6)]]
    job = {"id": 1, "nodes": [0, 4, 5, 8, 9, 12], "steps": steps, "compute_s": 0}

    times = [estimate(packets(job | {"persistent": own})).jobs[0].alone_s for own in (False, True)]

    assert times[0] == pytest.approx(5 * 2**20 / GB, rel=0.01)
    assert times[1] == pytest.approx(times[0], rel=0.1)
