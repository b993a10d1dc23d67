"""`now`: what the jobs of a queue do to each other, with the spread that ignorance leaves."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from naive.splitmix import uniform

import fabricsim as fs
from coupling.site.now import among_worst
from coupling.site.running_jobs import running_at
from coupling.site.site import read_site

CLOSE = 1e-2  # fixed points, each within its tolerance
ROOT = Path(__file__).parents[3]
SITE = ROOT / "examples" / "site"
CONF, QUEUE, PROFILE = SITE / "topology.conf", SITE / "squeue.json", SITE / "profile.toml"
TREE = {"kind": "fat-tree", "radix": 4, "levels": 2, "latency": "none"}
# two jobs of two nodes, one on each leaf: their flows up from leaf 0 go to even nodes, so D-mod-k
# lets them share one cable; who always communicates is slowed down twofold by another who does
PAIR = [("7", "n0,n2"), ("9", "n1,n4")]


def queue(path, jobs, **fields):
    """Write what squeue prints of running jobs, given by number and hosts."""
    path.write_text(
        json.dumps(
            {
                "jobs": [
                    {
                        "job_id": int(number),
                        "job_state": ["RUNNING"],
                        "user_name": "ann",
                        "name": "app",
                        "nodes": hosts,
                        "submit_time": 1,
                        "start_time": 2,
                    }
                    | fields
                    for number, hosts in jobs
                ]
            }
        )
    )
    return path


def rule(**fields):
    ring = {"pattern": {"name": "one-to-all"}, "comm_fraction": 1.0, "bytes_per_flow": "1 MB"}
    return {"version": 1, "rule": [ring | fields]}


def test_what_samples_say_is_counted_as_by_hand(tmp_path):
    """
    Each job communicates always or never, with chance 1/2 each.

    Where both do, both run at slowdown 2 and lose half of 2 x 24 node-hours a day. How often that
    is among these 40 samples follows from SplitMix64, written anew in tests/naive.
    """
    samples, path = 40, queue(tmp_path / "q.json", PAIR)
    seeds = np.random.SeedSequence(3).generate_state(samples).tolist()
    both = sum(all(uniform(seed, job, 0, 2) >= 0.5 for job in (7, 9)) for seed in seeds)
    assert 4 <= both <= 16
    profile = rule(comm_fraction={"choice": [0.0, 1.0]})

    found = fs.now(TREE, path, profile=profile, samples=samples, seed=3)

    per_sample = np.array([2.0] * both + [1.0] * (samples - both))
    low, middle, high = np.quantile(per_sample, (0.05, 0.5, 0.95))
    for job, other in zip(found.jobs, reversed(found.jobs), strict=True):
        assert (job.low, job.network_slowdown, job.high) == pytest.approx(
            (low, middle, high), CLOSE
        )
        assert job.among_worst == job.culprit_share == both / samples
        assert job.culprit == other.id
        assert job.worst_link == "s1.0>s2.0"
        assert job.lost_node_hours == pytest.approx(24 * both / samples, CLOSE)
    lost = 48 * (per_sample - 1)
    assert found.lost.median == found.to_others.median == pytest.approx(np.median(lost), CLOSE)
    assert found.lost.high == pytest.approx(np.quantile(lost, 0.95), CLOSE)
    assert found.links[0].link == "s1.0>s2.0"
    assert found.links[0].lost_node_hours == pytest.approx(48 * both / samples, CLOSE)
    # alone a job takes the cable wholly, together half of it each
    alone = sum(
        (uniform(seed, 7, 0, 2) >= 0.5) + (uniform(seed, 9, 0, 2) >= 0.5) == 1 for seed in seeds
    )
    assert found.links[0].busy == pytest.approx((alone + both) / samples, CLOSE)


def test_a_profile_without_chance_says_what_estimate_says(tmp_path):
    jobs = [("1", "n[0-5]"), ("2", "n[6-7],n[10-13]"), ("3", "n[8-9],n[14-15]")]
    fabric = {
        "kind": "fat-tree",
        "children": [4, 4],
        "parents": [1, 2],
        "parallel": [1, 1],
        "latency": "none",
    }
    path = queue(tmp_path / "q.json", jobs, tasks_per_node=3)
    pattern = {"name": "pairs", "seed": 5, "nbytes": "1 MiB"}
    scene = {
        "topology": fabric,
        "jobs": [
            {
                "id": int(number),
                "nodes": hosts,
                "ranks_per_node": 3,
                "pattern": pattern,
                "comm_fraction": 0.6,
            }
            for number, hosts in jobs
        ],
    }
    profile = {"version": 1, "rule": [{"pattern": pattern, "comm_fraction": 0.6}]}

    found = {job.id: job for job in fs.now(fabric, path, profile=profile, samples=3).jobs}

    told = fs.estimate(scene)
    assert max(job.interference for job in told.jobs) > 1.05
    for job in told.jobs:
        own = found[job.id]
        assert (
            own.network_slowdown
            == own.low
            == own.high
            == pytest.approx(job.network_slowdown, rel=1e-12)
        )
        assert own.interference == pytest.approx(job.interference, rel=1e-12)
        assert own.culprit == (job.blame[0][0] if job.blame else None)
        assert own.worst_link == job.worst_link


def test_the_mix_of_a_site_is_that_of_all_its_samples(tmp_path):
    """Pairwise exchange of 6 nodes takes five steps; beside as many pairs it has no two thirds."""
    jobs = [("1", "n[0-5]"), ("2", "n[6-11]")]
    path = queue(tmp_path / "q.json", jobs)

    def traffic_class(*patterns):
        rules = [
            {"pattern": {"name": name}, "chance": chance, "comm_fraction": 0.5}
            | {"bytes_per_flow": "1 MB"}
            for name, chance in zip(patterns, (1 / len(patterns), 1.0), strict=False)
        ]
        return fs.now(
            TREE, path, profile={"version": 1, "rule": rules}, samples=30
        ).setting.traffic_class

    assert traffic_class("pairwise") == "multi-step"
    assert traffic_class("pairs") == "low-fanout"
    assert traffic_class("pairs", "pairwise") == "mixed"


def test_who_is_among_the_worst_is_slowed_and_has_fewer_than_five_before_it():
    network_slowdown = np.array([[1.0, 1.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    assert among_worst(network_slowdown).tolist() == [[False, False, True, False], [False] * 4]
    many = np.array([[1.6, 1.1, 1.2, 1.3, 1.4, 1.5]])
    assert among_worst(many).tolist() == [[True, False, True, True, True, True]]


def test_equal_seeds_give_equal_answers_and_more_samples_go_on_from_fewer(tmp_path):
    path = queue(tmp_path / "q.json", PAIR)
    profile = rule(comm_fraction={"uniform": [0.2, 1.0]})

    first, again, other = (
        fs.now(TREE, path, profile=profile, samples=9, seed=seed).to_dict() for seed in (1, 1, 2)
    )

    assert first == again
    assert first["jobs"] != other["jobs"]
    fewer, more = (read_site(TREE, path, profile=profile, samples=n).scene.samples for n in (9, 10))
    assert more[:9] == fewer


def test_the_site_of_the_examples_is_told_whole():
    found = fs.now(CONF, QUEUE, profile=PROFILE)

    assert {job.id: job.nodes for job in found.jobs} == {
        4101: 6,
        4102: 6,
        4105: 6,
        4107: 2,
        4109: 1,
        4111: 1,
    }
    assert found.left_out == {"pending": 2, "completing": 1}
    assert found.unknown_hosts == ("login1",)
    assert found.used_nodes == 22
    assert Counter(line.partition(":")[0] for line in found.remarks) == {
        "1 host not in the fabric (login1); jobs that go on without some of their hosts": 1,
        "Tasks of arrays, each a job of its own": 1,
        "2 jobs on a single node": 1,
    }
    assert found.jobs[0].network_slowdown == max(job.network_slowdown for job in found.jobs)
    assert {job.id for job in found.jobs[:2]} == {4105, 4107}  # they share one cable
    assert repr(found).startswith("<Now ")
    frame = found.to_frame()
    assert list(frame["id"]) == [job.id for job in found.jobs]
    assert len(frame.columns) == 13


def test_nodes_of_two_jobs_are_shared_by_both(tmp_path):
    path = queue(tmp_path / "q.json", [("1", "n[0-1]"), ("2", "n[0-1]")])

    found = fs.now(TREE, path, profile=rule(), samples=1)

    assert [job.network_slowdown for job in found.jobs] == pytest.approx([2.0, 2.0], CLOSE)
    assert found.used_nodes == 2
    assert "2 nodes of several jobs: they share the links of the node." in found.remarks


def test_jobs_without_tasks_have_a_rank_on_each_node_and_that_is_told(tmp_path):
    path = queue(tmp_path / "q.json", PAIR, tasks={"set": False, "number": 0})

    found = fs.now(TREE, path, profile=rule(), samples=1)

    assert "2 jobs have one rank on each node (tasks unknown, or above 2,048)" in found.assumed


def test_jobs_of_more_tasks_than_can_be_told_apart_have_a_rank_on_each_node(tmp_path):
    """An all-to-all of 4,101 ranks took more than 20 s."""
    path = queue(tmp_path / "q.json", PAIR, tasks=4101)

    found = fs.now(TREE, path, profile=rule(), samples=1)

    assert "2 jobs have one rank on each node (tasks unknown, or above 2,048)" in found.assumed


def test_tasks_are_spread_evenly_over_the_nodes(tmp_path):
    """Five tasks on two nodes: three and two; one to all sends two messages over the network."""
    path = queue(tmp_path / "q.json", PAIR[:1], tasks=5)
    profile = rule(comm_fraction={"choice": [1.0]})

    (job,) = fs.now(TREE, path, profile=profile, samples=1).jobs

    assert job.network_slowdown == 1.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"unknown": "ask"}, "unknown: expected one of skip, stop, got 'ask'."),
        ({"samples": 0}, "samples: expected a whole number from 1 to 10000, got 0."),
        ({"seed": -1}, "seed: expected a whole number from 0, got -1."),
        ({"sacct": "x"}, "expected --squeue FILE, or --sacct FILE with --at TIME, got"),
        ({"at": "2024-01-01"}, "expected --squeue FILE, or --sacct FILE with --at TIME, got"),
        ({"routing": "bus"}, "routing: "),
        ({"name_map": "x"}, "--name-map: expected beside a file of a fabric, got topology."),
    ],
)
def test_wrong_options_are_refused(tmp_path, fields, message):
    path = queue(tmp_path / "q.json", PAIR)

    with pytest.raises(fs.FabricsimError) as error:
        fs.now(TREE, path, **fields)
    assert str(error.value).startswith(message)


def test_a_queue_in_which_nobody_runs_is_refused_with_what_is_there(tmp_path):
    path = queue(tmp_path / "q.json", PAIR, job_state=["PENDING"])

    with pytest.raises(fs.FabricsimError, match=r"jobs that run in the queue, got none \(2 pend"):
        fs.now(TREE, path)


def test_unknown_hosts_stop_where_that_is_wanted(tmp_path):
    path = queue(tmp_path / "q.json", [("1", "n0,n1"), ("2", "n2,gpu7")])

    with pytest.raises(
        fs.FabricsimError, match="job 2: host 'gpu7': expected a node of the fabric \\(fat-tree"
    ):
        fs.now(TREE, path, unknown="stop")
    found = fs.now(TREE, path, profile=rule(), samples=1)
    assert found.unknown_hosts == ("gpu7",)
    assert {job.id: job.nodes for job in found.jobs} == {1: 2, 2: 1}


def test_a_queue_of_another_machine_is_refused(tmp_path):
    path = queue(tmp_path / "q.json", [("1", "x0,x1")])

    with pytest.raises(
        fs.FabricsimError, match=r"expected hosts such as 'n0' of the fabric \(fat-tree.*x0, x1"
    ):
        fs.now(TREE, path)


RECORDS = """JobIDRaw|JobID|State|Submit|Start|End|ElapsedRaw|NNodes|NodeList|User|UID
1|1|COMPLETED|2024-05-30T08:00:00|2024-05-30T08:00:00|2024-05-30T10:00:00|7200|2|n0,n2|ann|5
2|2_1|RUNNING|2024-05-30T08:00:00|2024-05-30T09:00:00|Unknown|7200|2|n1,n4|bob|6
3|3|COMPLETED|2024-05-30T08:00:00|2024-05-30T11:00:00|2024-05-30T12:00:00|3600|2|n5,n6|ann|5
4|4|CANCELLED by 5|2024-05-30T08:00:00|None|2024-05-30T08:30:00|0|2|None assigned|ann|5
"""


@pytest.mark.parametrize(
    ("at", "ran", "left_out"),
    [
        ("2024-05-30T09:30", {"1", "2_1"}, {"started later": 1, "never": 1}),
        ("2024-05-30T10:00:00", {"2_1"}, {"ended before": 1, "started later": 1, "never": 1}),
        ("1717059600", {"1", "2_1"}, {"started later": 1, "never": 1}),
        ("2024-05-30T08:59:59", {"1"}, {"started later": 2, "never": 1}),
    ],
)
def test_accounting_records_tell_who_ran_at_a_moment(tmp_path, at, ran, left_out):
    """From the start on, before the end; a job that still runs has none."""
    path = tmp_path / "log.txt"
    path.write_text(RECORDS)

    found = fs.now(TREE, sacct=path, at=at, profile=rule(), samples=1)

    assert {str(job.id) for job in found.jobs} == ran
    told = {
        "never" if reason.startswith("never") else reason: number
        for reason, number in found.left_out.items()
    }
    assert told == left_out


def test_a_job_that_ends_before_it_starts_is_left_out(tmp_path):
    """Job 5 started at ten, ended at two minutes to, and is said to have run five minutes."""
    path = tmp_path / "log.txt"
    odd = "5|5|COMPLETED|2024-05-30T07:00:00|2024-05-30T10:00:00|2024-05-30T09:58:00"
    path.write_text(f"{RECORDS}{odd}|300|2|n3,n7|ann|5\n")

    found = running_at(path, "2024-05-30T09:50", lasting_s=1200.0)

    assert [job.id for job in found.jobs] == [1, 2]
    assert found.left_out["ends before it starts"] == 1


def test_a_job_without_an_end_runs_no_longer_than_its_limit(tmp_path):
    """Job 2 began at nine and may run two hours."""
    path = tmp_path / "log.txt"
    head, *rows = RECORDS.splitlines()
    path.write_text("\n".join([f"{head}|TimelimitRaw", *(f"{row}|120" for row in rows), ""]))

    found = fs.now(TREE, sacct=path, at="2024-05-30T10:59", profile=rule(), samples=1)
    late = fs.now(TREE, sacct=path, at="2024-05-30T11:00", profile=rule(), samples=1)

    assert [job.id for job in found.jobs] == ["2_1"]
    assert [job.id for job in late.jobs] == ["3"]
    assert late.left_out["without an end, past its time limit"] == 1


@pytest.mark.parametrize(
    "at", ["2024-05-30T09:30+02:00", "2024-05-30T09:30:00-0500", "2024-05-30T09:30Z"]
)
def test_a_moment_on_another_clock_is_refused(tmp_path, at):
    path = tmp_path / "log.txt"
    path.write_text(RECORDS)

    with pytest.raises(
        fs.FabricsimError, match="--at: expected a time on the clock of the records"
    ):
        fs.now(TREE, sacct=path, at=at)


def test_jobs_that_latency_keeps_from_communicating_are_told(tmp_path):
    """Two messages in a row of 1 ms latency each do not fit into 1 % of 10 ms."""
    path = queue(tmp_path / "q.json", PAIR)
    profile = {
        "version": 1,
        "rule": [{"pattern": {"name": "ring"}, "comm_fraction": 0.01, "iteration": "10 ms"}],
    }

    found = fs.now(TREE | {"latency_base_s": "1 ms"}, path, profile=profile, samples=3)

    assert {job.network_slowdown for job in found.jobs} == {1.0}
    assert any(line.startswith("Latency alone") and "6 jobs" in line for line in found.remarks)


def test_a_moment_at_which_nobody_ran_is_refused(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text(RECORDS)

    with pytest.raises(fs.FabricsimError, match="jobs that run at 2023-01-01, got none"):
        fs.now(TREE, sacct=path, at="2023-01-01")
    with pytest.raises(fs.FabricsimError, match="--at: field time: expected a time such as"):
        fs.now(TREE, sacct=path, at="noon")


@pytest.mark.parametrize(
    ("fabric", "name_map", "site", "counts"),
    [
        ("topo/iitk-hpc2010-topology.conf", None, "hpc2010", (18, 28)),
        ("site/hpc2010.ibnetdiscover.gz", None, "hpc2010", (18, 28)),
        ("topo/psmn-x5-ibnetdiscover.txt.gz", "topo/psmn-x5-hostnames.map", "psmn", (9, 26)),
    ],
)
def test_all_running_jobs_of_a_site_are_found_on_its_fabric(shared, fabric, name_map, site, counts):
    found = fs.now(
        shared(f"data/{fabric}"),
        shared(f"data/site/{site}.squeue.json.gz"),
        name_map=name_map and shared(f"data/{name_map}"),
        unknown="stop",
        samples=4,
    )

    assert (len(found.jobs), found.left_out) == (counts[0], {"pending": counts[1]})
    assert found.unknown_hosts == ()
    assert all(1.0 <= job.low <= job.network_slowdown <= job.high for job in found.jobs)


def test_two_descriptions_of_one_fabric_give_one_answer(shared):
    """Slurm's topology.conf and ibnetdiscover of HPC2010 tell the same wiring."""
    queue = shared("data/site/hpc2010.squeue.json.gz")

    by_slurm, by_wiring = (
        fs.now(shared(f"data/{file}"), queue, samples=8)
        for file in ("topo/iitk-hpc2010-topology.conf", "site/hpc2010.ibnetdiscover.gz")
    )

    for one, other in zip(by_slurm.jobs, by_wiring.jobs, strict=True):
        assert one.id == other.id
        assert one.network_slowdown == pytest.approx(
            other.network_slowdown, rel=1e-2
        )  # the solver stops at 1e-5
        assert one.culprit == other.culprit


def test_ids_of_jobs_stay_whole_numbers_in_tables(tmp_path):
    """Job 11 loses to no other: pandas alone would make the culprit of the others 2.0."""
    found = fs.now(TREE, queue(tmp_path / "q.json", [*PAIR, ("11", "n6,n7")]), samples=40, seed=3)
    frame = found.to_frame()

    assert frame["culprit"].isna().any()
    assert set(frame["culprit"].dropna()) <= set(frame["id"])
    assert all(not str(own).endswith(".0") for own in frame["culprit"])


def test_jobs_of_a_queue_are_compared_with_packets_as_jobs_that_own_no_links(tmp_path):
    """
    Nothing on a site gives links to one job alone.

    Of the routing `jigsaw` only jobs that own links are compared as such: others have D-mod-k.
    """
    jobs = queue(tmp_path / "queue", PAIR)
    found = fs.now(TREE, jobs, profile=rule(), samples=1, routing="jigsaw")

    assert found.setting.routings == ("d-mod-k",)


def test_limiters_of_hosts_slow_jobs_down_and_are_no_links_of_the_answer(tmp_path):
    """By hand: each of two jobs sends to node 4 and back, 2 GB through its 1 GB/s: 2 s, then 4."""
    table = {"kind": "switch", "nodes": 8, "bandwidth": "1 GB/s", "latency": "none"}
    jobs = queue(tmp_path / "queue.json", [("7", "n0,n4"), ("9", "n4,n1")])
    given = {"profile": rule(pattern={"name": "ring"}), "samples": 2}

    found = fs.now({**table, "limiter_link": "1 GB/s"}, jobs, **given)
    changed = fs.whatif(
        topology={**table, "limiter_link": "1 GB/s"}, squeue=jobs, **given, drain="n1"
    )

    assert [job.interference for job in found.jobs] == pytest.approx([2.0, 2.0], rel=CLOSE)
    assert {link["link"] for link in found.to_dict()["links"]} == {"n4>r0", "r0>n4"}
    after = [job["after"] for job in changed.to_dict()["jobs"] if job["status"] != "drained"]
    assert after == pytest.approx([1.0])
