"""`whatif`: jobs before and after a change, each side as `estimate` tells it of such a fabric."""

import gzip
import json
import signal
from dataclasses import replace
from inspect import signature
from pathlib import Path

import pytest

import fabricsim as fs
from coupling.cli import now, place, whatif
from coupling.errors import SnapshotError, Stopped
from coupling.inputs.snapshot import read_snapshot, snapshot_from
from coupling.site.changes import Changes
from coupling.site.site import Site, read_site
from coupling.site.state import scene_of_snapshot
from coupling.site.whatif import rank_failures, whatif_of
from netsim.registries.routings import make_routing

EXAMPLES = Path(__file__).parents[3] / "examples"
# leaves of four nodes with two cables up, in pods of two; every job on two leaves or more
FABRIC = {"kind": "fat-tree", "children": [4, 2, 2], "parents": [1, 2, 2], "parallel": [1, 1, 1]}
JOBS = [
    {"id": "a", "nodes": "n[0-1],n[4-5],n[8-9]"},
    {"id": "b", "nodes": "n[2-3],n[6-7]"},
    {"id": "c", "nodes": "n[10-11],n[12-13]"},
]


def document(fabric=FABRIC, **changes):
    """Return a snapshot of three jobs; `changes` are fields of jobs by id, or of the snapshot."""
    jobs = [
        job
        | {"pattern": {"name": "all-to-all", "nbytes": "1 MB"}, "comm_fraction": 0.7}
        | changes.pop(job["id"], {})
        for job in JOBS
    ]
    return {"topology": fabric, "routing": "d-mod-k", "jobs": jobs} | changes


def compared(*, fields=None, **changes):
    """Return what changes do to the jobs."""
    scene = scene_of_snapshot(snapshot_from(fields or document()))
    return whatif_of(Site(scene), Changes(**changes))


def slowdowns(fields):
    """Return the slowdown of each job, by `estimate`."""
    return {job.id: job.network_slowdown for job in fs.estimate(fields).jobs}


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        ({"fail": ("s2.1",)}, document(FABRIC | {"failed_switches": ["s2.1"]})),
        ({"fail": ("s1.0>s2.1",)}, document(FABRIC | {"failed_links": ["s1.0>s2.1"]})),
        (
            {"fail": ("s2.1>s1.0", "s3.3")},
            document(FABRIC | {"failed_links": ["s1.0>s2.1"], "failed_switches": ["s3.3"]}),
        ),
        ({"routing": "s-mod-k"}, document(routing="s-mod-k")),
        (
            {"taper": 4.0},
            document(FABRIC | {"bandwidth": ["100 Gb/s", "50 Gb/s", "100 Gb/s"]}),
        ),
        ({"move": ("b=n[14-15],n[2-3]",)}, document(b={"nodes": "n[14-15],n[2-3]"})),
    ],
    ids=str,
)
def test_before_and_after_are_what_estimate_says_of_both(changes, after):
    found = compared(**changes)

    then = slowdowns(after)
    now = slowdowns(document())
    assert then != now
    for job in found.jobs:
        assert job.before == pytest.approx(now[job.id], rel=1e-9)
        assert job.after == pytest.approx(then[job.id], rel=1e-9)
        assert job.change == pytest.approx(then[job.id] / now[job.id], rel=1e-9)
    hours = {
        name: 24 * sum(job.nodes * (1 - 1 / own[job.id]) for job in found.jobs)
        for name, own in (("before", now), ("after", then))
    }
    assert found.lost_before.median == pytest.approx(hours["before"], rel=1e-9)
    assert found.lost_after.median == pytest.approx(hours["after"], rel=1e-9)
    assert found.cut_off == found.cut_off_hours == 0


def test_added_cables_are_as_if_the_fabric_had_been_built_with_them(tmp_path):
    """The same wiring as a table of cables, with one cable and with three to the first spine."""
    cables = [(f"n{node}", f"leaf{node // 4}", 1) for node in range(8)]
    wires = cables + [(f"leaf{leaf}", f"spine{spine}", 1) for leaf in (0, 1) for spine in (0, 1)]
    more = [(a, b, 3 if (a, b) == ("leaf0", "spine0") else count) for a, b, count in wires]
    for name, rows in (("now.csv", wires), ("then.csv", more)):
        lines = ["source,target,count", *(f"{a},{b},{count}" for a, b, count in rows)]
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    def scene(name):
        jobs = [
            {"id": "a", "nodes": ["n0", "n1", "n4", "n5"]},
            {"id": "b", "nodes": ["n2", "n3", "n6", "n7"]},
        ]
        pattern = {"pattern": {"name": "all-to-all", "nbytes": "1 MB"}, "comm_fraction": 0.7}
        fabric = {"kind": "file", "path": str(tmp_path / name), "bandwidth": "100 Gb/s"}
        return {
            "topology": fabric,
            "routing": "shortest",
            "model_options": {"tolerance": 1e-7},
            "jobs": [job | pattern for job in jobs],
        }

    found = compared(fields=scene("now.csv"), add_cables=("leaf0>spine0*2",))

    now, then = slowdowns(scene("now.csv")), slowdowns(scene("then.csv"))
    assert now != then
    assert {job.id: job.before for job in found.jobs} == pytest.approx(now, rel=1e-9)
    # the new cables are the last, so that a and b, which are alike, may change places
    after = sorted(job.after for job in found.jobs)
    assert after == pytest.approx(sorted(then.values()), rel=1e-6)
    assert [(leaf.leaf, leaf.before, leaf.after) for leaf in found.leaves] == [("leaf0", 2, 1)]


def test_jobs_on_lost_nodes_are_told_with_all_their_node_hours():
    """Leaf 0 holds two nodes of a (of 6) and two of b (of 4): 10 nodes, 240 node-hours a day."""
    found = compared(fail=("s1.0",))

    status = {job.id: (job.status, job.lost_nodes, job.after) for job in found.jobs}
    assert status["a"] == status["b"] == ("cut off", 2, None)
    assert status["c"][:2] == ("", 0)
    assert (found.cut_off, found.cut_off_hours) == (2, 240)
    assert [(leaf.leaf, leaf.before, leaf.after) for leaf in found.leaves] == [("s1.0", 2, None)]
    alone = fs.estimate(document() | {"jobs": document()["jobs"][2:]}).jobs[0]
    assert next(job.after for job in found.jobs if job.id == "c") == pytest.approx(
        alone.network_slowdown
    )


def test_jobs_on_drained_nodes_end_and_nobody_is_cut_off():
    found = compared(drain=("n[0-1]",))

    assert {job.id: job.status for job in found.jobs} == {"a": "drained", "b": "", "c": ""}
    assert found.cut_off == 0
    without = slowdowns(document() | {"jobs": document()["jobs"][1:]})
    assert {job.id: job.after for job in found.jobs if not job.status} == pytest.approx(without)


def test_a_moved_job_escapes_a_failure():
    found = compared(fail=("s1.0",), move=("b=n[14-15],n[6-7]",))

    assert {job.id: job.status for job in found.jobs} == {"a": "cut off", "b": "moved", "c": ""}


@pytest.mark.parametrize("kind", ["switch", "cable"])
@pytest.mark.parametrize("routing", ["d-mod-k", "shortest"])
def test_a_ranking_says_of_each_failure_what_it_does_alone(kind, routing):
    fields = document(routing=routing, model_options={"tolerance": 1e-7})
    site = Site(scene_of_snapshot(snapshot_from(fields)))

    found = rank_failures(site, kind)

    assert len(found.failures) + found.idle == {"switch": 4 + 4 + 4, "cable": 8 + 8}[kind]
    lost = [failure.lost_node_hours for failure in found.failures]
    assert lost == sorted(lost, reverse=True)
    for failure in found.failures:
        alone = compared(fields=fields, fail=(failure.what,))
        more = alone.lost_after.median - alone.lost_before.median
        assert failure.lost_node_hours == pytest.approx(alone.cut_off_hours + more, abs=1e-3)
        assert failure.cut_off == alone.cut_off
        assert failure.slowed == sum(
            job.change is not None and job.change > 1.01 for job in alone.jobs
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fail": ("s9.9",)}, "no node or switch 's9.9'"),
        ({"fail": ("s1.0>s3.3",)}, "no link 's1.0>s3.3'"),
        ({"drain": ("x",)}, "no node or switch 'x'"),
        ({"add_cables": ("s1.0",)}, "--add-cables: expected SWITCH>SWITCH or SWITCH>SWITCH*4"),
        ({"add_cables": ("s1.0>n3",)}, "n3: expected a switch, got a node."),
        ({"add_cables": ("s1.0>s1.0",)}, "expected two switches and 1 to 10000 cables, got 1."),
        ({"add_cables": ("s1.0>s2.0*0",)}, "expected two switches and 1 to 10000 cables, got 0."),
        ({"routing": "bus"}, "unknown routing 'bus'"),
        ({"taper": 0.0}, "--taper: expected a number from 0.01 to 1000, got 0.0."),
        ({"taper": float("nan")}, "--taper: expected a number"),
        ({"taper": "2:1"}, "--taper: expected a number from 0.01 to 1000, got '2:1'."),
        ({"move": ("d=n1",)}, "--move: expected JOB=NODES with a job (c, b, a), got 'd=n1'."),
        ({"move": ("b=n[0-3]",)}, "--move b: node n0 is of job a; expected free nodes."),
        ({"move": ("b=n14",)}, "--move b: expected 4 different nodes, got 'n14', which is 1."),
    ],
)
def test_wrong_changes_are_refused(changes, message):
    with pytest.raises(SnapshotError) as error:
        compared(**changes)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("changes", [{"fail": 5}, {"move": ["b=n14", 3]}, {"drain": b"n0"}])
def test_changes_that_are_no_names_are_refused(changes):
    with pytest.raises(SnapshotError, match="whatif: expected a name, or a list of names, got "):
        fs.whatif(document(), **changes)


def test_a_job_that_owns_links_is_not_moved():
    fields = document(b={"links": ["s1.0>s2.0"]}, routing="jigsaw")

    with pytest.raises(SnapshotError, match="--move b: expected a job that owns no links, got one"):
        compared(fields=fields, move=("b=n[14-15],n[2-3]",))


def test_another_model_is_refused():
    with pytest.raises(SnapshotError, match=r"model: expected fluid, .*got 'hop-cost'"):
        compared(fields=document(model="hop-cost"), fail=("s3.3",))


def test_a_site_is_compared_sample_by_sample():
    """What no change touches is exactly as before in every sample."""
    site = read_site(
        EXAMPLES / "site" / "topology.conf",
        EXAMPLES / "site" / "squeue.json",
        profile=EXAMPLES / "site" / "profile.toml",
        samples=6,
    )

    found = whatif_of(site, Changes(move=("4107=cn[18,24]",)))

    jobs = {job.id: job for job in found.jobs}
    assert jobs[4107].status == "moved"
    assert jobs[4107].after == jobs[4105].after == 1.0  # they shared one cable
    assert (jobs[4101].low, jobs[4101].change, jobs[4101].high) == pytest.approx((1, 1, 1), 1e-4)
    assert found.to_frame()["id"].tolist() == [job.id for job in found.jobs]
    assert repr(found) == "<WhatIf '4107=cn[18,24] moved': 6 jobs>"


def test_a_site_of_a_real_fabric_is_changed(shared):
    site = read_site(
        shared("data/topo/iitk-hpc2010-topology.conf"),
        shared("data/site/hpc2010.squeue.json.gz"),
        samples=2,
    )

    found = whatif_of(site, Changes(fail=("ibsw2",)))

    assert 0 < found.cut_off < 18
    hosts = {
        str(job["job_id"])
        for job in json.loads(_unpacked(shared("data/site/hpc2010.squeue.json.gz")))["jobs"]
        if job["job_state"] == ["RUNNING"] and _on_leaf(job)
    }
    cut_off = {str(job.id) for job in found.jobs if job.status == "cut off"}
    assert cut_off == hosts


def _unpacked(path):
    return gzip.decompress(path.read_bytes())


def _on_leaf(job):
    """Whether a job has one of cn209 to cn224, which ibsw2 joins."""
    names = {node["nodename"] for node in job["job_resources"]["allocated_nodes"]}
    return bool(names & {f"cn{number}" for number in range(209, 225)})


def test_the_door_of_python_takes_files_fields_and_sites():
    path, site = EXAMPLES / "placed_jobs.json", EXAMPLES / "site"
    fields = json.loads(path.read_text())

    by_path, by_fields = (fs.whatif(jobs, fail="s2.0").to_dict() for jobs in (str(path), fields))
    files = {"topology": site / "topology.conf", "squeue": site / "squeue.json", "samples": 2}
    found = fs.whatif(**files, fail=["spine1", "leaf1>spine2"], move="4107=cn[18,24]")

    assert by_path["jobs"] == by_fields["jobs"]
    assert found.changes == ("spine1 fails", "leaf1>spine2 fails", "4107=cn[18,24] moved")
    for wrong in ({}, {"fail": "s2.0", "topology": "cab"}):
        with pytest.raises(SnapshotError, match="whatif: expected"):
            fs.whatif(fields, **wrong)
    with pytest.raises(SnapshotError, match="whatif: expected a change, and a snapshot"):
        fs.whatif(fail="s2.0")


def test_the_snapshot_of_the_examples_is_changed():
    site = Site(scene_of_snapshot(read_snapshot(EXAMPLES / "placed_jobs.json")))

    found = whatif_of(site, Changes(fail=("s2.0",)))

    assert found.cut_off == 0
    assert [leaf.after for leaf in found.leaves] == pytest.approx([8 / 3] * 8)


def test_another_routing_changes_no_taper():
    """Leaves keep their cables where switches choose among them."""
    assert compared(routing="adaptive").leaves == ()
    (leaf,) = {own.after for own in compared(routing="adaptive", fail=("s2.1",)).leaves}
    (same,) = {own.after for own in compared(fail=("s2.1",)).leaves}
    assert leaf == same


def test_a_ranking_that_is_stopped_has_what_was_tried():
    site = Site(scene_of_snapshot(snapshot_from(document())))

    def stop_at_three(_what, tried, _of_all):
        if tried == 3:
            raise Stopped(signal.SIGINT)

    found = rank_failures(site, "switch", stop_at_three)

    assert found.stopped
    assert len(found.failures) == 3
    assert "Stopped: 3 of 12 failures tried." in found.remarks


def test_a_failure_costs_the_same_in_a_ranking_as_alone():
    """With several samples, of jobs of which some are cut off."""
    site = read_site(
        EXAMPLES / "site" / "topology.conf", EXAMPLES / "site" / "squeue.json", samples=7
    )
    site = replace(site, scene=replace(site.scene, options={"tolerance": 1e-7}))

    ranking = rank_failures(site, "switch")

    assert any(failure.cut_off for failure in ranking.failures)
    for failure in ranking.failures:
        alone = whatif_of(site, Changes(fail=(failure.what,)))
        more = alone.lost_more
        expected = (more.median, more.low, more.high)
        found = (failure.lost_node_hours, failure.low, failure.high)
        assert found == pytest.approx(expected, abs=1e-3)
        assert failure.cut_off == alone.cut_off


def test_every_question_about_a_site_has_the_same_samples_and_seed_by_default():
    questions = [now.now, whatif.whatif, place.place]
    questions += [fs.now, fs.place, read_site]
    defaults = [
        {name: part.default for name, part in signature(question).parameters.items()}
        for question in questions
    ]
    assert {own["samples"] for own in defaults} == {50}
    assert {own["seed"] for own in defaults} == {1}
    others = [fs.routing, fs.whatif, fs.calibrate, fs.calibrate_runs, fs.replay, make_routing]
    assert {signature(one).parameters["seed"].default for one in others} == {1}
