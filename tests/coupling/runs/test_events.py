"""Events of an experiment: switches and cables go down while a run goes on."""

from pathlib import Path

import pandas as pd
import pytest

import fabricsim as fs
from coupling.errors import ExperimentError
from coupling.inputs.events import plan_events
from netsim.common.hostlist import expand_hostlist

TREE = {"kind": "fat-tree", "radix": 8}
TWO_LEAVES = {"kind": "fat-tree", "children": [2, 2], "bandwidth": "1 GB/s", "latency": "none"}
JOBS = {"generator": "synth", "mean_nodes": 10, "n_jobs": 40, "seed": 3}
LINK_FAILURES = [
    {"failed_switches": ["s2.3"]},
    {"failed_switches": ["s1.5"]},
    {"failed_links": ["s1.0>s2.1", "s2.6>s3.2"]},
]


def experiment(topology=TREE, **fields):
    return fs.Experiment(topology, JOBS, self_check=False, **fields)


def names_of(failures):
    return [name for names in failures.values() for name in names]


def down(at, names):
    return [{"time": at, "action": "down", "what": name} for name in names]


@pytest.mark.parametrize("allocator", ["first-free", "random"])
@pytest.mark.parametrize("failures", LINK_FAILURES)
def test_what_is_down_from_the_beginning_is_as_if_it_had_always_been(failures, allocator):
    """Only the fabric that a run began with differs."""
    found = fs.run(experiment(allocator=allocator, events={"list": down(0, names_of(failures))}))
    right = fs.run(experiment(TREE | failures, allocator=allocator))

    columns = ["id", "start_s", "end_s", "nodes", "interference", "placement_factor"]
    ran = [result.jobs[result.jobs["dropped"] == ""][columns] for result in (found, right)]
    pd.testing.assert_frame_equal(*ran)
    assert found.links["bytes"].tolist() == pytest.approx(right.links["bytes"].tolist(), rel=1e-9)


@pytest.mark.parametrize("allocator", ["jigsaw", "laas"])
@pytest.mark.parametrize("queue", ["easy", "conservative"])
def test_isolating_allocators_own_no_cable_that_is_down(allocator, queue):
    """A job that owns a cable when it goes down is queued again; all others share no link."""
    names = ["s2.3", "s1.0>s2.1", "s2.6>s3.2"]
    run = fs.run(experiment(allocator=allocator, queue=queue, events={"list": down(700, names)}))

    fabric = fs.topology(TREE | {"failed_switches": names[:1], "failed_links": names[1:]})
    late = set(run.jobs.loc[run.jobs["end_s"] > 700, "id"])
    owned = {
        job: {int(link) for link in expand_hostlist(f"[{links}]")}
        for job, links in zip(run.partitions["id"], run.partitions["links"], strict=True)
    }
    assert owned.keys() & late
    assert not any(owned[job] & set(fabric.absent.tolist()) for job in owned.keys() & late)
    assert run.extras["failures"]["end_s"].tolist() == [700.0] * run.summary["failed_runs"] != []
    assert run.jobs["interference"].max() == 1.0


@pytest.mark.parametrize(  # but those of leaves, whose nodes fail, too
    "failures", [own for own in LINK_FAILURES if names_of(own) != ["s1.5"]]
)
def test_what_is_down_for_no_time_changes_nothing(failures):
    """Jobs leave the network and enter it again at one instant, by the same routes."""
    names = names_of(failures)
    entries = down(500, names) + [{**one, "time": 500.0, "action": "up"} for one in down(0, names)]
    found = fs.run(experiment(allocator="random", events={"list": entries}))
    right = fs.run(experiment(allocator="random"))

    pd.testing.assert_frame_equal(found.jobs, right.jobs)


def test_a_job_goes_on_by_other_links_when_a_cable_goes_down():
    """
    By hand: two leaves of two nodes, joined by two switches; every node sends to the other leaf.

    Under D-mod-k the nodes of a leaf have an uplink each. When a cable is down both share the
    other: half the rate, so the 1,000 s of work take 300 + 2 x 700 s. The placement factor is that
    of the whole run: run time / 1,000 s.
    """
    tree = TWO_LEAVES | {"parents": [1, 2]}
    workload = pd.DataFrame(
        {"id": [1], "submit_s": [0], "n_nodes": [4], "runtime_s": [1000], "requested_s": [2000]}
    )

    def end_s(*entries):
        run = fs.run(
            fs.Experiment(
                tree,
                workload,
                pattern={"name": "shift", "distance": 2},
                comm_fraction=1.0,
                routing="d-mod-k",
                events={"list": list(entries)},
                self_check=False,
            )
        )
        assert run.jobs["network_slowdown"].tolist() == pytest.approx(run.jobs["end_s"] / 1000)
        return run.jobs["end_s"].tolist()

    cable = down(300, ["s1.0>s2.0"])[0]
    assert end_s() == pytest.approx([1000])
    assert end_s(cable) == pytest.approx([300 + 2 * 700])
    # up again at 500: 300 + 200 / 2 of the work are done
    assert end_s(cable, {**cable, "time": "500 s", "action": "up"}) == pytest.approx([500 + 600])


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ({"list": [{"time": 1, "action": "donw", "what": "n0"}]}, "(did you mean 'down'?)"),
        ({"list": down(1, ["n900"])}, "list[0] what: no node or switch 'n900'"),
        ({"list": down(1, ["s1.0>s3.0"])}, "list[0] what: "),
        ({"list": down(-1, ["n0"])}, "list[0] time: expected a duration"),
        ({"list": [{"time": 1, "action": "maintenance", "what": "n0"}]}, "until: expected a time"),
        (
            {"list": [{"time": 5, "action": "maintenance", "what": "n0", "until": 5}]},
            "list[0] until: expected a time after its start, got 5",
        ),
        (
            {"list": [{"time": 1, "action": "drain", "what": "s1.0>s2.0"}]},
            "expected nodes or switches, got the cable 's1.0>s2.0'",
        ),
        ({"list": [{"time": 1, "what": "n0"}]}, "list[0] action: expected one of"),
        (
            {"list": [{"time": 1, "action": "drain", "what": "s2.0"}]},
            "list[0] what: expected nodes, or a switch that all of some need, got 's2.0'",
        ),
        (
            {"list": [{"time": 1, "action": "reservation", "what": "n0", "until": 2}]},
            "list[0] users: expected a list of numbers of users, it is missing",
        ),
        ({"node_repair": 3}, "node_mtbf: expected a time beside node_repair"),
        ({"node_mtbf": 0}, "node_mtbf: expected a positive time"),
        ({"on_failure": "cry"}, "on_failure: expected one of requeue, end"),
        ({"path": "absent.csv"}, "absent.csv: cannot be read"),
        ({"node_mtfb": 3}, "node_mtfb: unknown key (did you mean 'node_mtbf'?)"),
    ],
)
def test_events_that_cannot_be_are_refused_in_one_line(events, message):
    with pytest.raises(ExperimentError) as refused:
        fs.run(experiment(events=events))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "fields", [{"routing": "adaptive"}, {"routing": "spray"}, {"model": "flow-level"}]
)
def test_routes_change_only_where_paths_are_fixed(fields):
    events = {"list": down(1, ["s2.0"])}
    with pytest.raises(ExperimentError, match="switches and cables go down, which needs"):
        fs.run(experiment(events=events, **fields))


def test_what_a_failed_job_had_done_is_known_where_every_flow_is_simulated():
    """
    By hand: two leaves of two nodes joined by one cable, which both senders share: half the rate.

    Nodes of the same leaf are the ideal, so half of the 300 s until the failure are work, and the
    job, queued again after 120 s, needs 2,000 s.
    """
    tree = TWO_LEAVES | {"parents": [1, 1]}
    workload = pd.DataFrame({"id": [1], "submit_s": [0], "n_nodes": [4], "runtime_s": [1000]})
    fields = {"pattern": {"name": "shift", "distance": 2}, "comm_fraction": 1.0}
    events = {"list": [*down(300, ["n0"]), {"time": 400, "action": "up", "what": "n0"}]}

    run = fs.run(fs.Experiment(tree, workload, model="flow-level", events=events, **fields))

    ran_s = float((run.jobs["end_s"] - run.jobs["start_s"]).iloc[0])
    assert run.jobs["start_s"].tolist() == [420.0]
    assert run.extras["failures"]["lost_s"].tolist() == pytest.approx([300 * 1000 / ran_s])
    assert run.summary["node_seconds_lost_to_failures"] == pytest.approx(4 * 300_000 / ran_s)


def test_checkpoints_are_refused_where_every_flow_is_simulated():
    """Its jobs begin with all of their work."""
    events = {"list": down(1, ["n0"]), "checkpoint": "30 min"}
    with pytest.raises(
        ExperimentError, match=r"\[events\] checkpoint: expected a model other than"
    ):
        fs.run(experiment(events=events, model="flow-level"))


def test_a_table_of_events_is_read_as_a_list_is(tmp_path):
    """Bare numbers are seconds; a file of the experiment's folder."""
    (tmp_path / "events.csv").write_text(
        "time,action,what,until,users\n600,down,s1.3,,\n1 h,up,s1.3,,\n"
        "20 min,drain,n[0-3],,\n2 h,reservation,s1.0,3 h,3 4\n"
    )
    entries = [
        *down(600, ["s1.3"]),
        {"time": 3600, "action": "up", "what": "s1.3"},
        {"time": 1200, "action": "drain", "what": "n[0-3]"},
        {"time": 7200, "action": "reservation", "what": "s1.0", "until": 10800, "users": [3, 4]},
    ]

    read = fs.run(experiment(events="events.csv", folder=tmp_path))
    given = fs.run(experiment(events={"list": entries}))

    pd.testing.assert_frame_equal(read.jobs, given.jobs)
    assert read.summary == given.summary
    assert read.extras["events"]["what"].tolist() == ["s1.3", "n[0-3]", "s1.3"]


def test_users_by_name_in_a_table_of_events_are_refused(tmp_path):
    (tmp_path / "events.csv").write_text(
        "time,action,what,until,users\n2 h,reservation,s1.0,3 h,3 bob\n"
    )
    with pytest.raises(ExperimentError, match=r"events\.csv:2 users: expected a list of numbers"):
        fs.run(experiment(events="events.csv", folder=tmp_path))


def test_a_run_with_failures_by_chance_is_repeated_by_its_seed():
    chance = {"node_mtbf": "40 h", "node_repair": "30 min", "cable_mtbf": "900 h"}
    first, second = (fs.run(experiment(events=chance, seed=4)) for _ in range(2))

    assert first.summary == second.summary
    assert first.summary["failed_runs"] > 0
    assert fs.run(experiment(events=chance, seed=5)).summary != first.summary
    stated = {**chance, "seed": 9}
    own = [fs.run(experiment(events=stated, seed=seed)).extras["events"] for seed in (4, 5)]
    n_common = min(map(len, own))
    assert own[0]["time_s"].tolist()[:n_common] == own[1]["time_s"].tolist()[:n_common]


def test_jobs_that_wait_for_what_stays_down_are_dropped_with_the_reason():
    workload = pd.DataFrame(
        {"id": [1, 2], "submit_s": [0, 0], "n_nodes": [4, 128], "runtime_s": [50, 50]}
    )
    run = fs.run(fs.Experiment(TREE, workload, events={"list": down(10, ["n0"])}))

    assert run.jobs["dropped"].tolist() == ["", "waits for nodes that stay down"]
    assert run.summary["unfinished_jobs"] == 1


def test_a_run_in_which_no_job_ever_starts_is_refused_in_one_line():
    workload = pd.DataFrame({"id": [1], "submit_s": [5], "n_nodes": [128], "runtime_s": [50]})
    with pytest.raises(ExperimentError, match="no job has ended: waits for nodes that stay down"):
        fs.run(fs.Experiment(TREE, workload, events={"list": down(0, ["n0"])}))


@pytest.mark.parametrize(
    ("policy", "requeued"), [({}, 1), ({"on_failure": "end"}, 0), ({"max_requeues": 0}, 0)]
)
def test_jobs_that_a_failure_ends_are_not_counted_as_queued_again(policy, requeued):
    workload = pd.DataFrame({"id": [1], "submit_s": [0], "n_nodes": [4], "runtime_s": [50]})
    events = {"list": down(10, ["n0"]), **policy}
    run = fs.run(fs.Experiment(TREE, workload, events=events))

    assert (run.summary["failed_runs"], run.summary["jobs_requeued"]) == (1, requeued)


GPUS = {"kind": "gpu-cluster", "hosts": 4, "hosts_per_unit": 4, "gpus": 2, "latency": "none"}


@pytest.mark.parametrize("what", ["n0>h0#0", "h0>n0#1", "h0"])
def test_hosts_whose_own_network_fails_are_to_be_named(what):
    with pytest.raises(ExperimentError, match="a host whose own network fails is out: name the h"):
        fs.run(experiment(GPUS, events={"list": down(1, [what])}))


def test_networks_inside_hosts_do_not_fail_by_chance():
    """Two leaves, one of each rail, and as many spines as these have hosts."""
    plan = plan_events({"switch_mtbf": "9 h"}, fs.topology(GPUS), "x", Path(), 1)

    ((things, *_),) = plan.chances
    assert things == ["s1.0", "s1.1", "s2.0", "s2.1", "s2.2", "s2.3"]


def test_a_job_that_a_lost_adapter_stops_is_named():
    table = pd.DataFrame({"id": [7], "submit_s": [0], "n_nodes": [2], "runtime_s": [9]})
    one = fs.Experiment(
        GPUS | {"on_failure": "abort"},
        table,
        pattern="ring",
        comm_fraction=0.5,
        events={"list": down(1, ["n0>s1.1"])},
        self_check=False,
    )

    with pytest.raises(Exception, match="job 7: rail 1 is lost between n0 and n1; the job stops"):
        fs.run(one)
