"""Estimates: by hand, against SimGrid, and what must hold for every snapshot."""

import json

import pytest
from estimatescenes import EXAMPLES, GB, TAPERED, THREE, by_id, one_flow, scene
from hypothesis import given, settings
from hypothesis import strategies as st
from simgridcases import FAT_TREE_JOBS, load_case

from coupling import estimate


@pytest.mark.parametrize("fairness", ["per-sender", "per-flow"])
@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_three_flows_on_one_uplink_take_three_times_as_long(model, fairness):
    """By hand: three senders always send through s1.0>s2.0, a third of it each."""
    found = estimate(scene(*THREE, model=model, fairness=fairness))

    for job in found.jobs:
        assert job.alone_s == pytest.approx(1.0)
        assert job.placement_factor == 1.0
        assert job.interference == pytest.approx(3.0, rel=0.02)
        assert job.network_slowdown == pytest.approx(3.0, rel=0.02)
        assert job.together_s == pytest.approx(3.0, rel=0.02)
        assert job.worst_link == "s1.0>s2.0"
        assert {other for other, _ in job.blame} == {"a", "b", "c"} - {job.id}
        assert [share for _, share in job.blame] == pytest.approx([0.5, 0.5], rel=0.01)
        assert job.end_s is None


def test_overlap_and_re_sharing_are_followed_through_time():
    """
    By hand: B computes 0.5 s first.

    A has sent half when B comes; both at half speed, A is done at 1.5 s; B, half sent, at 2 s.
    """
    jobs = [
        one_flow("a", 0, 4, iterations=1),
        one_flow("b", 1, 8, compute_s=0.5, iterations=1),
    ]

    found = by_id(estimate(scene(*jobs)))

    assert found["a"].together_s == pytest.approx(1.5)
    assert found["a"].end_s == pytest.approx(1.5)
    assert found["b"].alone_s == pytest.approx(1.5)
    assert found["b"].end_s == pytest.approx(2.0)
    assert found["b"].interference == pytest.approx(4 / 3)


def test_start_and_iterations_shift_the_end():
    """B starts when A is done: nobody waits; the second of two iterations ends at 4 s."""
    jobs = [one_flow("a", 0, 4, iterations=2), one_flow("b", 1, 8, start_s=2.0, iterations=2)]

    found = by_id(estimate(scene(*jobs)))

    assert [found[name].end_s for name in "ab"] == pytest.approx([2.0, 4.0])
    assert [found[name].interference for name in "ab"] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_own_collisions_are_the_placement_factor(model):
    """
    By hand: 0 to 4 and 1 to 6 share the uplink, so 2 s instead of 1 s of injection.

    At a communication fraction of one half the ideal iteration is 1 + 1 s, alone 1 + 2 s.
    """
    job = {
        "id": 1,
        "nodes": [0, 1, 4, 6],
        "steps": [[[0, 2, "1 GB"], [1, 3, "1 GB"]]],
        "comm_fraction": 0.5,
    }

    (found,) = estimate(scene(job, model=model)).jobs

    assert found.alone_s == pytest.approx(3.0)
    assert found.placement_factor == pytest.approx(1.5)
    assert found.interference == 1.0
    assert found.network_slowdown == pytest.approx(1.5)
    assert found.worst_link is None
    assert found.blame == ()


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_ranks_of_a_node_share_its_link_and_reach_each_other_for_nothing(model):
    """By hand: ranks 0 and 1 on node 0 send 1 GB each to node 4; rank 0 to 1 costs nothing."""
    steps = [[[0, 2, GB], [1, 2, GB], [0, 1, 7 * GB]], [[0, 1, 9 * GB]]]
    job = {"id": 1, "nodes": [0, 0, 4], "steps": steps, "compute_s": 1}

    (found,) = estimate(scene(job, model=model)).jobs

    assert found.alone_s == pytest.approx(3.0)
    assert found.placement_factor == 1.0


def test_a_sender_is_a_node_however_many_ranks_it_has():
    """By hand: two flows of node 0 and one of node 1 on an uplink: a half for each sender."""
    pair = {
        "id": "pair",
        "nodes": "n[0,4,8]",
        "ranks_per_node": 2,
        "steps": [[[0, 2, GB], [1, 4, GB]]],
        "compute_s": 0,
    }
    single = one_flow("single", 1, 12)

    weighted = by_id(estimate(scene(pair, single)))
    plain = by_id(estimate(scene(pair, single, fairness="per-flow")))

    assert weighted["single"].interference == pytest.approx(2.0, rel=0.02)
    assert plain["single"].interference == pytest.approx(3.0, rel=0.02)


def test_mapping_deals_ranks_out_to_nodes():
    job = {"id": 1, "nodes": [0, 4], "ranks_per_node": 2, "steps": [[[0, 1, GB]]], "compute_s": 1}

    block = estimate(scene(job)).jobs[0]
    dealt = estimate(scene(job | {"mapping": "round-robin"})).jobs[0]

    assert block.alone_s == 1.0
    assert dealt.alone_s == pytest.approx(2.0)


@pytest.mark.parametrize(
    "model",
    ["null", "fluid", "flow-level"],
)
def test_isolated_jobs_have_interference_exactly_one(model):
    """Three legal partitions under the wraparound rule, all always communicating."""
    document = json.loads((EXAMPLES / "partitions.json").read_text())
    for job in document["jobs"]:
        job |= {"pattern": {"name": "all-to-all"}, "comm_fraction": 1.0}

    found = estimate(document | {"model": model})

    assert [job.interference for job in found.jobs] == [1.0, 1.0, 1.0]
    assert all(job.blame == () and job.worst_link is None for job in found.jobs)


@pytest.mark.parametrize("model", ["fluid", "flow-level"])
def test_a_job_that_meets_nobody_changes_nobody(model):
    alone = estimate(scene(*THREE[:2], model=model))

    more = estimate(scene(*THREE[:2], one_flow("far", 9, 13), model=model))

    assert more.jobs[:2] == alone.jobs
    assert more.jobs[2].interference == 1.0


def test_null_is_an_infinite_network():
    """Placement factor and interference are both 1."""
    job = {"id": 1, "nodes": [0, 1, 4, 6], "steps": [[[0, 2, GB], [1, 3, GB]]], "compute_s": 1}

    for found in estimate(scene(job, *THREE[1:], model="null", shared=True)).jobs:
        assert (found.network_slowdown, found.interference, found.placement_factor) == (
            1.0,
            1.0,
            1.0,
        )
        assert found.together_s == found.alone_s
        assert found.worst_link is None
    assert estimate(scene(job, model="null")).jobs[0].alone_s == pytest.approx(2.0)


@pytest.mark.parametrize("model", ["fluid", "flow-level", "null"])
def test_jobs_that_spend_no_time_on_the_network(model):
    """Fraction 0, one node, no message: 1 in every respect; times where they are known."""
    jobs = [
        one_flow("silent", 0, 4) | {"compute_s": None, "comm_fraction": 0},
        one_flow("inside", 5, 5, compute_s=2.5, iterations=None),
        {"id": "mute", "nodes": [6], "steps": [], "compute_s": "3 ms"},
        one_flow("half", 7, 7) | {"compute_s": None, "comm_fraction": 0.5},
    ]

    found = estimate(scene(*jobs, model=model))

    assert [(job.network_slowdown, job.interference) for job in found.jobs] == [(1.0, 1.0)] * 4
    assert [job.together_s for job in found.jobs] == [None, 2.5, 0.003, None]
    assert found.links == ()


def test_loads_are_per_link_and_job():
    """By hand: A and B are on s1.0>s2.0 half of the time each."""
    found = estimate(scene(*THREE[:2]))

    loads = {(load.link, load.job): load for load in found.links}
    assert len(loads) == 8
    for name in "ab":
        assert loads["s1.0>s2.0", name].nbytes == GB
        assert loads["s1.0>s2.0", name].utilization == pytest.approx(0.5)
    assert ("s2.0>s1.1", "b") not in loads


def test_candidates_are_ranked_by_the_jobs_time_then_by_the_others():
    """Leaf 1 to 2 is free; from leaf 0 the job meets the others, on the odd uplink it does not."""
    others = [one_flow("b", 1, 8), one_flow("c", 2, 12)]
    places = [[0, 4], [3, 5], [5, 8], [6, 9]]

    found = estimate(
        scene(
            one_flow("a", 0, 4),
            *others,
            candidates=[{"job": "a", "nodes": nodes} for nodes in places],
            shared=True,
        )
    )

    assert [entry.rank for entry in found.candidates] == [4, 1, 3, 2]
    assert found.candidates[0].job.interference == pytest.approx(3.0, rel=0.02)
    assert found.candidates[0].others_network_slowdown == pytest.approx(3.0, rel=0.02)
    assert found.candidates[1].job.interference == 1.0
    assert found.candidates[1].others_network_slowdown == pytest.approx(2.0, rel=0.02)
    assert found.candidates[2].job.interference == pytest.approx(2.0, rel=0.02)
    assert found.to_dict()["ranking"] == [{"job": "a", "candidates": [1, 3, 2, 0]}]


def test_a_candidate_computes_as_long_as_the_job_does_now():
    """Half of the flows go inside a node there, so the job communicates less, not more often."""
    job = {
        "id": 1,
        "nodes": [0, 1, 4, 5],
        "steps": [[[0, 2, GB], [0, 1, GB]]],
        "comm_fraction": 0.5,
    }

    found = estimate(scene(job, candidates=[{"job": 1, "nodes": [0, 0, 4, 4]}]))

    assert found.jobs[0].together_s == pytest.approx(4.0)
    assert found.candidates[0].job.together_s == pytest.approx(3.0)


@pytest.mark.parametrize("name", FAT_TREE_JOBS)
def test_exact_per_flow_agrees_with_simgrid_through_a_snapshot(name, shared):
    """Iterating jobs on full, tapered and half-duplex trees: times alone, together, and ends."""
    case = load_case(shared, name)
    shape = case["topology"]
    jobs = []
    for number, job in enumerate(case["jobs"]):
        rank = {node: place for place, node in enumerate(job["nodes"])}
        jobs.append(
            {
                "id": number,
                "nodes": job["nodes"],
                "steps": [[[rank[a], rank[b], n] for a, b, n in step] for step in job["steps"]],
                "compute_s": job["compute"],
                "start_s": job["start"],
                "iterations": job["iters"],
            }
        )
    topology = {
        "kind": "fat-tree",
        "latency": "none",
        "children": shape["m"],
        "parents": shape["w"],
        "parallel": shape["p"],
        "bandwidth": shape["bw"],
        "duplex": "half" if shape["sharing"] == "shared" else "full",
        "down_cable": "source",
    }

    found = estimate(scene(*jobs, topology=topology, fairness="per-flow"), blame=False)

    for job, told in zip(case["jobs"], found.jobs, strict=True):
        place = case["jobs"].index(job)
        assert told.alone_s * job["iters"] == pytest.approx(case["alone"][place], rel=1e-9)
        assert told.together_s * job["iters"] == pytest.approx(case["together"][place], rel=1e-9)
        assert told.end_s == pytest.approx(case["end"][place], rel=1e-9)
        assert told.interference == pytest.approx(case["slowdown"][place], rel=1e-9)


@st.composite
def snapshots(draw):
    """Return jobs of several patterns on disjoint nodes of the tapered tree."""
    nodes = draw(st.permutations(range(16)))
    sizes = draw(st.lists(st.integers(2, 5), min_size=2, max_size=4).filter(lambda s: sum(s) <= 16))
    patterns = [
        {"name": "ring", "nbytes": 2e5},
        {"name": "all-to-all", "nbytes": 1e5},
        {"name": "recursive-doubling", "nbytes": 3e5},
        {"name": "pairs", "nbytes": 5e5},
    ]
    jobs, first = [], 0
    for number, size in enumerate(sizes):
        job = {
            "id": draw(st.sampled_from([number, f"job {number}"])),
            "nodes": nodes[first : first + size],
            "pattern": draw(st.sampled_from(patterns)),
            "comm_fraction": draw(st.floats(0.1, 1.0)),
        }
        jobs.append(job)
        first += size
    return scene(*jobs, model=draw(st.sampled_from(["fluid", "flow-level"])))


@settings(deadline=None, max_examples=40)
@given(snapshots(), st.randoms(use_true_random=False))
def test_what_holds_for_every_estimate(document, random):
    """Products, bounds, shares, and nothing depends on the order of jobs."""
    found = estimate(document)
    shuffled = random.sample(document["jobs"], len(document["jobs"]))
    again = by_id(estimate(document | {"jobs": shuffled}))

    for job in found.jobs:
        assert job.network_slowdown == pytest.approx(job.interference * job.placement_factor)
        assert job.together_s == pytest.approx(job.alone_s * job.interference)
        assert job.placement_factor >= 1.0
        assert job.interference >= (0.3 if document["model"] == "flow-level" else 1.0)
        assert job.blame == () or sum(s for _, s in job.blame) == pytest.approx(1.0)
        assert all(share > 0 and other != job.id for other, share in job.blame)
        assert bool(job.blame) == (job.interference > 1 + 1e-9) == (job.worst_link is not None)
        assert again[job.id] == job
    json.dumps(found.to_dict(), allow_nan=False)


@settings(deadline=None, max_examples=15)
@given(snapshots())
def test_scaling_bytes_and_bandwidth_together_changes_no_ratio(document):
    """Twice the bytes on links of twice the capacity: everything takes as long."""
    found = estimate(document, blame=False)
    twice = [
        job | {"pattern": job["pattern"] | {"nbytes": 2 * job["pattern"]["nbytes"]}}
        for job in document["jobs"]
    ]

    scaled = estimate(
        document | {"jobs": twice, "topology": TAPERED | {"bandwidth": 2 * GB}}, blame=False
    )

    for one, two in zip(found.jobs, scaled.jobs, strict=True):
        assert two.interference == pytest.approx(one.interference, rel=1e-6)
        assert two.together_s == pytest.approx(one.together_s, rel=1e-6)
