"""A moment of a run as a snapshot: what was owned then is proved isolated and non-blocking."""

import json

import pandas as pd
import pytest
from ib_fabrics import tree_fabric, write_ibnetdiscover

from coupling import Experiment, run_campaign
from coupling.errors import ResultError
from coupling.results.columns import read_table
from coupling.runs.retrace import moment
from coupling.runs.stored import Stored
from netsim import fat_tree_of_radix
from netsim.common.hostlist import expand_hostlist


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the result directory of a run on 128 nodes under two allocators."""
    out = tmp_path_factory.mktemp("moment") / "result"
    experiment = Experiment(
        topology={"kind": "fat-tree", "radix": 8},
        workload={"generator": "synth", "mean_nodes": 8, "n_jobs": 120, "seed": 3},
        compare=("jigsaw", "first-free"),
        self_check=False,
    )
    return run_campaign(experiment, out).folder


def middle(folder, run):
    """Return a time between the events in the midst of a run, and its job table."""
    jobs = pd.read_parquet(folder / run / "jobs.parquet")
    times = sorted({*jobs["start_s"], *jobs["end_s"]})
    half = len(times) // 2
    return (times[half] + times[half + 1]) / 2, jobs


def test_partitions_of_a_jigsaw_run_are_proved_isolated_and_non_blocking(command, folder, tmp_path):
    at, jobs = middle(folder, "jigsaw")

    status, out, _ = command(
        *("snapshot", folder, "--at", at, "--run", "jigsaw", "--out", tmp_path / "then.json")
    )
    verified, told, _ = command("verify", tmp_path / "then.json", "--json", "--random", 3)

    assert (status, out, verified) == (0, "", 0)
    document = json.loads((tmp_path / "then.json").read_text())
    there = jobs[(jobs["start_s"] < at) & (jobs["end_s"] > at)]
    assert [job["id"] for job in document["jobs"]] == there["id"].tolist()
    for job, hosts in zip(document["jobs"], there["nodes"], strict=True):
        assert job["nodes"] == expand_hostlist(hosts)
    assert sum("links" in job for job in document["jobs"]) > 5
    for job in json.loads(told)["jobs"]:
        assert (job["isolated"], job["rearrangeable"]["status"]) == (True, "proved")


def test_a_moment_of_a_run_is_exported_as_routing_tables(command, folder, tmp_path):
    """Onto the very fabric, as ibnetdiscover would list it."""
    at, _ = middle(folder, "jigsaw")
    (tmp_path / "fabric.ib").write_text(
        write_ibnetdiscover(tree_fabric(fat_tree_of_radix(8, "1 B/s")))
    )
    _, document, _ = command("snapshot", folder, "--at", f"{at:.9f} s", "--run", "jigsaw")

    status, out, _ = command(
        *("lft", "export", "-", "--fabric", tmp_path / "fabric.ib", "--json"),
        *("--out", tmp_path / "new.lft"),
        stdin=document,
    )

    owners = [job["id"] for job in json.loads(document)["jobs"] if "links" in job]
    assert status == 0
    assert json.loads(out)["jobs"] == owners
    assert json.loads(out)["changed"] > 0


def test_jobs_that_own_nothing_have_no_links_and_no_row(command, folder):
    at, _ = middle(folder, "first-free")

    status, out, _ = command("snapshot", folder, "--at", at, "--run", "first-free")
    verified, _, _ = command("verify", "-", stdin=out)

    assert (status, verified) == (0, 1)
    assert not any("links" in job for job in json.loads(out)["jobs"])
    assert pd.read_parquet(folder / "first-free" / "partitions.parquet").empty


def test_every_owned_link_is_recorded_in_both_directions_and_little_room_is_taken(folder):
    """Jigsaw owns as many uplinks as nodes at the leaves, and no more at the switches above."""
    jobs = pd.read_parquet(folder / "jigsaw" / "jobs.parquet").set_index("id")
    names = pd.read_parquet(folder / "jigsaw" / "links.parquet")["link"]
    partitions = pd.read_parquet(folder / "jigsaw" / "partitions.parquet")

    for job, text in zip(partitions["id"], partitions["links"], strict=True):
        links = {names[int(link)] for link in expand_hostlist(f"[{text}]")}
        assert links == {">".join(reversed(link.split(">"))) for link in links}
        n_nodes = jobs.loc[job, "n_nodes"]
        assert sum(link.startswith("s1.") for link in links) == n_nodes
        assert len(links) <= 4 * n_nodes
    size = (folder / "jigsaw" / "partitions.parquet").stat().st_size
    assert size < (folder / "jigsaw" / "jobs.parquet").stat().st_size


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--at", "1 h"), "expected --run and one of jigsaw, first-free"),
        (("--at", "1 h", "--run", "ta"), "--run: unknown run 'ta'; choose from jigsaw, first-free"),
        (("--at", "soon", "--run", "jigsaw"), "--at: expected a duration such as '1.5 s'"),
        (("--at", "1e9", "--run", "jigsaw"), "no job runs at 1e+09 s; jobs run from "),
    ],
)
def test_a_moment_that_is_none_is_one_line(command, folder, arguments, words):
    status, out, err = command("snapshot", folder, *arguments)

    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_a_partition_of_another_fabric_is_refused(folder, monkeypatch):
    """A table that was exchanged for that of a larger machine."""
    at, _ = middle(folder, "jigsaw")
    stored = Stored.open(folder)
    read = read_table

    def larger(name, path, data):
        table = read(name, path, data)
        if name == "partitions":
            table["links"] = "99999"
        return table

    monkeypatch.setattr("coupling.results.result.read_table", larger)
    with pytest.raises(ResultError, match=r"its tables do not fit its fabric: job \d+ owns"):
        moment(stored, at, "jigsaw")


def test_a_moment_at_which_a_switch_is_down_is_refused(command, tmp_path):
    """Its fabric is not that of the experiment."""
    lost = {"time": "50 s", "action": "down", "what": "s3.0"}
    experiment = Experiment(
        topology={"kind": "fat-tree", "radix": 8},
        workload={"generator": "synth", "mean_nodes": 6, "n_jobs": 60, "seed": 3},
        events={"list": [lost, {**lost, "time": "400 s", "action": "up"}]},
        self_check=False,
    )
    folder = run_campaign(experiment, tmp_path / "run").folder

    found = [command("snapshot", folder, "--at", at, "--out", tmp_path / at) for at in ("99", "20")]

    assert [status for status, *_ in found] == [2, 0]
    assert found[0][2] == (
        f"fabricsim: {folder}: expected a moment at which no switch and no cable is down, got 99 s "
        "with s3.0.\n"
    )
    assert not (tmp_path / "99").exists()
