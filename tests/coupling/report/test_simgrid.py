"""Runs for SimGrid: platform and schedule by hand, and what cannot be replayed."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

EXPERIMENT = """
[topology]
kind = "fat-tree"
radix = 4
bandwidth = "1 GB/s"
latency = "none"

[workload]
path = "log.csv"
format = "csv"
estimates = "runtime"

[communication]
version = 1
[[communication.rule]]
match = {min_nodes = 2}
pattern = {name = "ring"}
comm_fraction = 0.5
bytes_per_flow = "1 MB"

[scheduler]
allocator = "first-free"

[network]
routing = "d-mod-k"
model = "fluid"
fairness = "per-flow"

[run]
self_check = false
"""
LOG = "id,submit_s,runtime_s,n_nodes\n1,0,100,3\n2,0,50,1\n3,10,7,2\n"


@pytest.fixture
def result(tmp_path, command):
    """Return the result of three jobs on sixteen nodes, two to a leaf."""
    (tmp_path / "three.toml").write_text(EXPERIMENT)
    (tmp_path / "log.csv").write_text(LOG)
    status, _, told = command("run", tmp_path / "three.toml", "--out", tmp_path / "out")
    assert status == 0, told
    return tmp_path / "out"


def test_the_schedule_has_each_job_with_what_it_computes_and_sends(result, command, tmp_path):
    """
    Each of a ring of three sends to both others for half of the time.

    100 s in 4 iterations: 12.5 s to compute, and two flows of 6.25 GB that share a link of 1 GB/s.
    """
    status, out, _ = command(
        "export", result, "--to", "simgrid", "--out", tmp_path / "sg", "--iterations", "4"
    )

    assert status == 0
    assert out == "links are shared evenly among flows, not among senders.\n"
    first, step, *flows = (tmp_path / "sg" / "schedule.txt").read_text().splitlines()
    assert [float(word) for word in first.split()[1:]] == [1, 0.0, 0.0, 3, 4, 12.5, 1]
    assert step == "step 6"
    pairs = sorted(line.rsplit(" ", 1)[0] for line in flows[:6])
    assert pairs == ["0 1", "0 2", "1 0", "1 2", "2 0", "2 1"]
    assert [float(line.split()[2]) for line in flows[:6]] == pytest.approx([6.25e9] * 6)
    assert flows[6] == "job 2 0.0 0.0 1 1 50.0 0"


def test_a_job_sends_as_much_as_in_the_run_though_latency_is_left_out(result, command, tmp_path):
    """
    The default switch adds three packets of 4096 ns and three delays of 90 ns to a step of 2 ms.

    So iterations are longer and there are fewer of them in 50 s, each of which sends as much.
    """
    text = (tmp_path / "three.toml").read_text().replace('latency = "none"\n', "")
    (tmp_path / "three.toml").write_text(text)
    assert command("run", tmp_path / "three.toml", "--out", tmp_path / "codes")[0] == 0
    folders = {"none": result, "codes": tmp_path / "codes"}

    said, sent = {}, {}
    for name, folder in folders.items():
        there = tmp_path / f"sg-{name}"
        status, said[name], _ = command(
            "export", folder, "--to", "simgrid", "--out", there, "--iterations", "4"
        )
        assert status == 0
        sent[name] = float((there / "schedule.txt").read_text().splitlines()[2].split()[2])

    assert said["codes"] == said["none"] + "latency and buffers are left out.\n"
    assert sent["codes"] == pytest.approx(6.25e9 * 2e-3 / (2e-3 + 3 * 4.186e-6), rel=1e-9)


def test_the_platform_has_the_way_that_each_flow_took(result, command, tmp_path):
    """Nodes 0 and 1 lie on leaf 0, node 2 on leaf 1: from 1 to 2 by up-port 2 mod 2 = 0."""
    command("export", result, "--to", "simgrid", "--out", tmp_path / "sg")

    root = ET.parse(tmp_path / "sg" / "platform.xml").getroot()  # noqa: S314 (ours)
    routes = {
        (route.get("src"), route.get("dst")): [one.get("id") for one in route]
        for route in root.iter("route")
    }
    assert routes["j1.0", "j1.1"] == ["n0>s1.0", "s1.0>n1"]
    assert routes["j1.1", "j1.2"] == ["n1>s1.0", "s1.0>s2.0", "s2.0>s1.1", "s1.1>n2"]
    links = {link.get("id"): link.get("bandwidth") for link in root.iter("link")}
    assert {name for way in routes.values() for name in way} == set(links)
    assert set(links.values()) == {"1000000000.0Bps"}
    assert not [host for host in root.iter("host") if host.get("id").startswith("j2.")]


def test_the_player_stands_beside_them(result, command, tmp_path):
    status, out, _ = command(
        "export", result, "--to", "simgrid", "--out", tmp_path / "sg", "--json"
    )

    assert status == 0
    names = json.loads(out)["files"]
    assert sorted(names) == sorted(path.name for path in (tmp_path / "sg").iterdir())
    assert "fabricsim compare" in (tmp_path / "sg" / "replay.cpp").read_text()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("fluid", "assumed"), "expected a run with a network, got model 'assumed'"),
        (("d-mod-k", "adaptive"), "adaptive"),
        (("10,7,2", "10,8,2"), "log.csv: the input has changed since"),
    ],
)
def test_what_cannot_be_replayed_is_one_line(result, command, tmp_path, change, told):
    if change[0] in LOG:
        (tmp_path / "log.csv").write_text(LOG.replace(*change))
    else:
        (tmp_path / "other.toml").write_text(EXPERIMENT.replace(*change))
        result = tmp_path / "other"
        assert command("run", tmp_path / "other.toml", "--out", result)[0] == 0

    status, out, error = command("export", result, "--to", "simgrid", "--out", tmp_path / "sg")

    assert (status, out) == (2, "")
    assert told in error
    assert len(error.splitlines()) == 1
    assert not Path(tmp_path / "sg").exists()


def test_too_many_flows_are_refused_with_what_helps(result, command, tmp_path, monkeypatch):
    monkeypatch.setattr("coupling.report.exchange._MOST_FLOWS", 50)

    status, _, error = command("export", result, "--to", "simgrid", "--out", tmp_path / "sg")

    assert status == 2
    assert "expected at most 50 flows, got 160; take fewer --iterations" in error


def test_a_folder_cannot_be_standard_output(result, command):
    status, _, error = command("export", result, "--to", "simgrid", "--out", "-")

    assert status == 2
    assert "--out: expected a folder beside --to simgrid, got '-'." in error


def test_iterations_are_for_simgrid_alone(result, command):
    words = ("export", result, "--to", "batsim", "--out", "-", "--iterations", "3")
    status, _, error = command(*words)

    assert status == 2
    assert "--iterations: expected beside --to simgrid" in error
