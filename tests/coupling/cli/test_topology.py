"""Fabrics through the command: counts, taper, what was assumed, irregular or unreachable."""

import json
from pathlib import Path

import pytest

ASSUMED = (
    "buffers of 64 KiB a port and virtual channel, packets of 4096 bytes, 90 ns through a switch "
    "(not stated: preset codes)"
)
TAPERED = {"kind": "fat-tree", "children": [4, 4], "parents": [1, 2], "bandwidth": "10 Gb/s"}


def inspect(command, spec, *, status=0):
    done, out, err = command("topology", "inspect", "-", "--json", stdin=json.dumps(spec))

    assert (done, err) == (status, "")
    return json.loads(out)


def test_a_machine_has_the_published_counts(command):
    """Cab: 1296 nodes, 72 leaves, 72 L2 switches, 36 spines, no taper."""
    status, out, _ = command("topology", "inspect", "cab", "--json")

    told = json.loads(out)
    assert status == 0
    assert (told["nodes"], told["switches"]) == (1296, 180)
    assert [level["switches"] for level in told["levels"]] == [72, 72, 36]
    assert [level["cables_up"] for level in told["levels"]] == [1296, 1296, 0]
    assert [level["taper"] for level in told["levels"]] == [1.0, 1.0, None]
    assert told["assumed"] == [
        "every link has 100 Gb/s in each direction: no bandwidth was given",
        ASSUMED,
    ]
    assert told["irregular"] == []
    assert told["unreachable"] == {"nodes": [], "pairs": 0}


def test_taper_is_capacity_below_over_capacity_above(command):
    told = inspect(command, TAPERED | {"bandwidth": ["10 Gb/s", "40 Gb/s"]})
    even = inspect(command, TAPERED)

    assert told["levels"][0]["taper"] == pytest.approx(0.5)
    assert even["levels"][0]["taper"] == pytest.approx(2.0)
    assert inspect(command, TAPERED | {"latency": "codes"})["assumed"] == []
    assert {kind["class"]: kind["links"] for kind in told["link_classes"]} == {
        "injection": 16, "ejection": 16, "leaf-up": 8, "leaf-down": 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"latency": "none"}, "Latency: none. Buffer of a port: none."),
        (
            {},
            "Latency: 90.0 ns and a packet of 4.10 kB per further link. Buffer of a port: 65.5 kB.",
        ),
        (
            {"latency": "codes"},
            "Latency: 90.0 ns and a packet of 4.10 kB per further link. Buffer of a port: 65.5 kB.",
        ),
        (
            {"latency_base_s": "2 us", "buffer": "16 kB", "packet": 0},
            "Latency: 2.00 us. Buffer of a port: 16.0 kB.",
        ),
    ],
)
def test_latency_and_buffer_are_told(command, fields, line):
    _, out, _ = command("topology", "inspect", "-", stdin=json.dumps(TAPERED | fields))
    told = inspect(command, TAPERED | fields)

    assert line in " ".join(out.split())
    size = 16e3 if "buffer" in fields else {"none": 0.0}.get(fields.get("latency"), 65536.0)
    assert told["buffer_bytes"] == size


def test_failures_show_as_irregular_and_unreachable_with_status_1(command):
    """A cable of leaf 0 and both of leaf 3 failed: its nodes are cut off."""
    broken = TAPERED | {"failed_links": ["s1.0>s2.0", "s1.3>s2.0", "s1.3>s2.1"]}

    told = inspect(command, broken, status=0)

    assert told["usable_nodes"] == 12
    assert told["absent_links"] == 6
    assert "level 1: most switches have 6 cables, s1.0 has 5, s1.3 has 4" in told["irregular"]


def test_nodes_that_should_take_jobs_but_reach_nobody_are_named(command, tmp_path):
    """Up-down paths only: with s1.0 to s2.0 and s1.1 to s2.1 cut, leaves 0 and 1 part."""
    broken = TAPERED | {"failed_links": ["s1.0>s2.0", "s1.1>s2.1"]}
    (tmp_path / "t.json").write_text(json.dumps({"topology": broken, "jobs": []}))

    status, out, _ = command("topology", "inspect", tmp_path / "t.json", "--json")

    assert status == 1
    told = json.loads(out)
    assert told["unreachable"]["nodes"] or told["unreachable"]["pairs"] == 16


def test_tori_and_dragonflies_have_one_level(command):
    torus = inspect(command, {"kind": "torus", "dims": [4, 4, 2], "nodes_per_router": 2})
    fly = inspect(command, {"kind": "dragonfly", "groups": 3, "routers": 2, "duplex": "half"})

    (level,) = torus["levels"]
    assert (level["level"], level["switches"]) == (1, 32)
    assert level["cables_across"] == 32 * 6 // 2  # two cables between the two of a short axis
    assert fly["half_duplex"] is True


def test_topologies_are_found_in_experiments(command, tmp_path):
    (tmp_path / "e.toml").write_text('[topology]\nkind = "fat-tree"\nradix = 4\n[workload]\n')

    status, out, _ = command("topology", "inspect", tmp_path / "e.toml")

    assert status == 0
    assert "PGFT(3; 2,2,4; 1,2,2; 1,1,1): 16 nodes, 20 switches" in out
    assert "Assumed: every link has 100 Gb/s" in out
    assert "All nodes that take jobs reach each other." in out
    assert max(map(len, out.splitlines())) <= 80


def test_what_limits_hosts_is_told_and_that_none_takes_jobs(command):
    fields = {"kind": "switch", "nodes": 1, "limiter_link": "10 Gb/s", "excluded": ["n0"]}

    status, out, _ = command("topology", "inspect", "-", stdin=json.dumps(fields))

    assert status == 0
    assert "switch(1): 1 node (0 take jobs), 1 switch\n2 directed links (0 absent)" in out
    assert "Hosts send and receive 10 Gb/s in all." in out
    assert "No node takes jobs." in out
    assert "reach each other" not in out


def test_a_file_with_two_fabrics_is_refused(command, tmp_path):
    two = {"kind": "fat-tree", "radix": 4, "topology": {"kind": "torus", "dims": [2, 2]}}
    (tmp_path / "t.json").write_text(json.dumps(two))

    status, out, err = command("topology", "inspect", tmp_path / "t.json")

    assert (status, out) == (2, "")
    assert "expected fields of a fabric or a table topology, got both." in err


def test_wrong_input_is_one_line(command, tmp_path):
    (tmp_path / "bad.toml").write_text("[topology\n")
    for what, words in (
        ("cabb", "cabb: expected a file or a machine (aries-edison-like"),
        (tmp_path / "bad.toml", "expected TOML, got"),
        (tmp_path / "e.json", "expected a file or a machine"),
    ):
        status, out, err = command("topology", "inspect", what)

        assert (status, out) == (2, "")
        assert words in err
        assert err.count("\n") == 1
    status, _, err = command("topology", "inspect", "-", stdin='{"kind": "ring"}')
    assert status == 2
    assert "unknown topology 'ring'; choose from" in err


def test_a_fabric_is_converted_and_what_is_lost_is_told(command, tmp_path):
    """Machine to table and back: 16 nodes; the notes go to stderr."""
    tree = json.dumps(TAPERED | {"duplex": "half"})

    status, out, err = command(
        "topology", "convert", "-", "--to", "edge-csv", "--out", tmp_path / "t.csv", stdin=tree
    )
    told, back, _ = command("topology", "inspect", tmp_path / "t.csv", "--json")

    assert (status, out, told) == (0, "", 0)
    assert "note: both directions of a cable share its capacity" in err
    assert json.loads(back)["nodes"] == 16
    assert json.loads(back)["name"] == "PGFT(2; 4,4; 1,2; 1,1)"


def test_a_conversion_may_go_to_standard_output_with_routes(command):
    status, out, _ = command(
        "topology", "convert", "-", "--to", "simgrid-xml", "--out", "-", "--routing", "d-mod-k",
        stdin=json.dumps(TAPERED),
    )  # fmt: skip

    assert status == 0
    assert out.startswith("<?xml")
    assert out.count("<route ") == 16 * 15


def test_a_conversion_that_cannot_be_is_one_line_and_writes_nothing(command, tmp_path):
    torus = json.dumps({"kind": "torus", "dims": [3, 3]})
    for options, words in (
        (("--to", "slurm-conf"), "joined on one level"),
        (("--to", "visio"), "unknown format 'visio'; choose from edge-csv"),
        (("--to", "edge-csv", "--routing", "shortest"), "holds no routes"),
        (("--to", "simgrid-xml", "--routing", "d-mod-k"), "needs a fat-tree"),
    ):
        status, out, err = command(
            "topology", "convert", "-", *options, "--out", tmp_path / "t", stdin=torus
        )

        assert (status, out) == (2, "")
        assert words in err
        assert err.count("\n") == 1
        assert list(tmp_path.iterdir()) == []


def test_a_snapshot_speaks_the_names_of_the_file(command, tmp_path):
    """Two leaves of two nodes below one root, a cable for each node, in the words of the site."""
    (tmp_path / "topology.conf").write_text(
        "SwitchName=east Nodes=n[01-02]\nSwitchName=west Nodes=n[03-04]\n"
        "SwitchName=core Switches=east,west\n"
    )
    links = ["n01>east", "east>n01", "n03>west", "west>n03"]
    links += [f"{a}>{b}#0" for a, b in (("east", "core"), ("west", "core"))]
    links += [f"{b}>{a}#0" for a, b in (("east", "core"), ("west", "core"))]
    job = {"id": "a", "nodes": "n[01,03]", "links": links, "comm_fraction": 0.5}
    job["steps"] = [[[0, 1, 1e6]], [[1, 0, 1e6]]]
    snapshot = {"topology": {"kind": "file", "path": "topology.conf"}, "jobs": [job]}
    (tmp_path / "s.json").write_text(json.dumps(snapshot))

    status, out, err = command("verify", tmp_path / "s.json", "--json")

    assert (status, err) == (0, "")
    assert json.loads(out)["jobs"][0]["isolated"] is True
    job["nodes"] = "n[05-06]"
    (tmp_path / "s.json").write_text(json.dumps(snapshot))
    status, _, err = command("verify", tmp_path / "s.json")
    assert status == 2
    assert "no node or switch 'n05'" in err


@pytest.mark.parametrize("options", [(), ("--format", "slurm-conf")])
def test_a_file_of_a_site_comes_from_standard_input_too(command, options):
    path = Path(__file__).parents[3] / "examples" / "site" / "topology.conf"
    _, named, _ = command("topology", "inspect", path, "--json")

    status, out, err = command(
        "topology", "inspect", "-", "--json", *options, stdin=path.read_text()
    )

    assert (status, err) == (0, "")
    assert json.loads(out) == json.loads(named)


def test_hosts_are_named_by_a_name_map(command, shared):
    """Of 89 hosts of PSMN X5 the map leaves 3 without a name, as `grep -c` on the map tells."""
    fabric = shared("data/topo/psmn-x5-ibnetdiscover.txt.gz")
    names = shared("data/topo/psmn-x5-hostnames.map")

    _, plain, _ = command("topology", "inspect", fabric, "--json")
    status, named, _ = command("topology", "inspect", fabric, "--json", "--name-map", names)

    lines = [
        [line for line in json.loads(out)["irregular"] if "without a name" in line]
        for out in (plain, named)
    ]
    assert status == 0
    assert [line.split(":")[0].split()[-1] for (line,) in lines] == ["(89)", "(3)"]
    status, out, err = command("topology", "inspect", "cab", "--name-map", names)
    assert (status, out) == (2, "")
    assert "--name-map: expected beside a file of a fabric, got cab" in err


def test_a_file_that_is_a_pgft_stays_as_it_is(command, tmp_path):
    (tmp_path / "t.conf").write_text(
        "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=top Switches=a,b\n"
    )
    description = tmp_path / "t.json"
    description.write_text(json.dumps({"kind": "file", "path": "t.conf", "as_tree": True}))

    status, out, err = command("topology", "inspect", description, "--json")

    assert (status, err) == (0, "")
    assert json.loads(out)["name"] == "PGFT(2; 2,2; 1,1; 1,2)"
    description.write_text(json.dumps({"kind": "file", "path": "t.conf", "as_tree": "yes"}))
    status, out, err = command("topology", "inspect", description)
    assert (status, out) == (2, "")
    assert "as_tree" in err


def test_what_is_no_fabric_on_standard_input_is_refused(command):
    for text, message in (("hello", "<stdin>: unknown format"), ("[1]", "JSON object")):
        status, out, err = command("topology", "inspect", "-", stdin=text)
        assert (status, out) == (2, "")
        assert message in err


def test_a_bandwidth_that_is_assumed_is_that_of_both_directions_where_they_share_it(command):
    found = inspect(command, {"kind": "torus", "dims": [4, 4], "duplex": "half"})

    assert (
        "every link has 100 Gb/s in both directions together: no bandwidth was given"
        in (found["assumed"])
    )
