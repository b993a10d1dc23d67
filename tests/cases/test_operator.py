"""Files and questions of a cluster's operator."""

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from netsim.common.errors import TopologyError
from netsim.common.hostlist import expand_hostlist
from netsim.formats.importers.registry import read_topology
from netsim.infiniband.discover import read_ibnetdiscover


def told(answer, *, status=0):
    """Return the JSON that a command printed, which ended as it should."""
    done, out, err = answer
    assert (done, err) == (status, "")
    return json.loads(out)


def test_names_that_differ_in_padding_alone_are_different_hosts(case):
    command = case("19-padding-mixed")
    site = ("--topology", "topology.conf", "--squeue", "squeue.json", "--json")

    now = told(command("now", *site))
    place = told(command("place", "--nodes", "4", *site))

    assert [now["machine"][key] for key in ("jobs", "used_nodes", "nodes")] == [2, 7, 11]
    assert now["unknown_hosts"] == []
    assert set(expand_hostlist(place["options"][0]["nodelist"])) == {"c10", "c11", "r2c3", "r2c4"}


def test_branches_of_different_height_are_one_machine(case):
    command = case("22-unbalanced-tree")
    site = ("--topology", "topology.conf", "--squeue", "squeue.json", "--json")

    fabric = told(command("topology", "inspect", "topology.conf", "--json"))
    place = told(command("place", "--nodes", "28", *site))

    assert (fabric["nodes"], fabric["switches"]) == (32, 14)
    assert fabric["unreachable"] == {"nodes": [], "pairs": 0}
    assert place["options"]


def test_tables_that_send_packets_in_a_circle_fail_the_check(case):
    command = case("25-lft-loop")

    status, out, _ = command("lft", "load", "dump.txt", "--fabric", "fabric.txt")

    assert status == 1
    assert "the tables loop: packets for cn00010 never arrive" in " ".join(out.split())


def inspected(command, path, *options, status=0):
    return told(command("topology", "inspect", path, "--json", *options), status=status)


def test_a_node_under_two_switches_is_named_with_both(case):
    command = case("03-node-under-two-switches")

    flat = inspected(command, "topology.conf", status=1)  # nothing joins the three
    rooted = inspected(command, "rooted.conf")

    assert (flat["nodes"], flat["switches"], flat["link_classes"][0]["links"]) == (40, 3, 41)
    assert any("cn22 under s1 and s2" in line for line in flat["assumed"])
    assert any("cn03 under s0 and s1" in line for line in rooted["assumed"])


def test_what_scontrol_shows_of_a_tree_is_read(case):
    command = case("13-scontrol-show-topology")

    shown = inspected(command, "topo.txt")

    assert (shown["usable_nodes"], shown["switches"]) == (6, 3)
    text = Path("topo.txt").read_text()
    Path("prompt.txt").write_text("ann@login1 ~ $ scontrol show topology\n" + text)
    assert inspected(command, "prompt.txt")["levels"] == shown["levels"]
    Path("other.txt").write_text(text.replace("Nodes=cn[01-06]", "Nodes=cn[01-07]"))
    status, _, err = command("topology", "inspect", "other.txt")
    assert (status, "cn07" in err) == (2, True)


def test_what_scontrol_shows_of_blocks_is_read(case):
    command = case("13-scontrol-show-topology")
    Path("blocks.txt").write_text(
        "BlockName=b0 BlockIndex=0 Nodes=10.0.0.1,10.0.0.2 BlockSize=2\n"
        "BlockName=b1 BlockIndex=1 Nodes=10.0.0.3,10.0.0.4 BlockSize=2\n"
        "AggregatedBlock=b[0-1] BlockIndex=2 Nodes=10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4 "
        "BlockSize=4\n"
    )

    shown = inspected(command, "blocks.txt")

    assert (shown["nodes"], [level["switches"] for level in shown["levels"]]) == (4, [2, 1])


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("SwitchName=s0 \\\n  Nodes=n[1-4]\nSwitchName=s1 Nodes=n5,\\\n n[6-8]\n", {}),
        ('switchname = "s0" nodes="n[1-4]" # "one"\nSwitchName=s1 Nodes=n[5-8]', {}),
        ("# Include none\nINCLUDE sub/a.conf\n", {"sub/a.conf": "include b.conf\n"}),
        ("Include sub/a.conf\r\n", {"sub/a.conf": "Include\tb.conf\r\n"}),
        ("SwitchName=s0 Nodes=n[1-4] # goes on \\\nSwitchName=s1 Nodes=n[5-8]\\  \n", {}),
    ],
)
def test_configurations_are_read_as_slurm_parses_them(case, text, files):
    command = case("14-slurm-continuation-quotes-include")
    Path("sub").mkdir()
    Path("sub/b.conf").write_text("SwitchName=s0 Nodes=n[1-4]\r\nSwitchName=s1 Nodes=n[5-8]\r\n")
    for name, content in files.items():
        Path(name).write_text(content)
    Path("own.conf").write_text(text + "\nSwitchName=top Switches=s[0-1]\n")

    for name in ("topology.conf", "topology-include.conf", "own.conf"):
        fabric = inspected(command, name)
        assert (fabric["nodes"], fabric["switches"]) == (8, 3)


def test_files_that_a_configuration_includes_are_among_the_inputs_of_a_result(case):
    command = case("14-slurm-continuation-quotes-include")
    Path("site").mkdir()
    for name in ("topology-include.conf", "leaves.conf"):
        Path(name).rename(f"site/{name}")
    Path("site/e.toml").write_text(
        '[topology]\nkind = "file"\npath = "topology-include.conf"\n'
        '[workload]\ngenerator = "synth"\nmean_nodes = 2\nn_jobs = 5\n[network]\nmodel = "null"\n'
    )

    assert command("run", "site/e.toml", "--out", "result")[0] == 0
    inputs = json.loads(Path("result/manifest.json").read_text())["inputs_sha256"]

    assert {Path(name).name: digest for name, digest in inputs.items()} == {
        name: hashlib.sha256(Path(f"site/{name}").read_bytes()).hexdigest()
        for name in ("topology-include.conf", "leaves.conf")
    }
    assert command("rerun", "result")[0] == 0
    leaves = Path("site/leaves.conf").read_text()
    Path("site/leaves.conf").write_text(leaves + "# changed\n")
    status, out, err = command("rerun", "result")
    assert status == 1
    assert "leaves.conf: changed" in " ".join((out + err).split())


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("SwitchName=s0 Nodes=n1\nInclude none.conf\n", "own.conf:2: Include"),
        ("Include own.conf\n", "100 files"),
        ('SwitchName="s0 Nodes=n1\n', "expected key=value"),
        ("SwitchName=s0 Nodes=n1 \\", "the line goes on"),
        ("SwitchName=s0 Nodes=n1 Colour=red\n", "unknown key 'colour'"),
    ],
)
def test_broken_configurations_are_refused_at_their_line(case, text, what):
    command = case("14-slurm-continuation-quotes-include")
    Path("own.conf").write_text(text)

    status, out, err = command("topology", "inspect", "own.conf", "--format", "slurm-conf")

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert what in err


def test_block_sizes_beyond_the_machine_add_no_level(case):
    command = case("23-block-sizes-beyond-the-machine")
    text = Path("topology.conf").read_text()
    Path("less.conf").write_text(text.replace(",64", ""))
    one = "BlockName=b1 Nodes=node[01-04]\nBlockSizes=4,8,16\n"
    Path("one.conf").write_text(one)

    fabric, less, alone = (
        inspected(command, name) for name in ("topology.conf", "less.conf", "one.conf")
    )

    assert (fabric["switches"], [level["switches"] for level in fabric["levels"]]) == (
        15,
        [8, 4, 2, 1],
    )
    assert (fabric["name"], fabric["levels"]) == (less["name"], less["levels"])
    assert any("(64)" in line for line in fabric["assumed"])
    assert (alone["nodes"], alone["switches"]) == (4, 1)


HALLS = [range(1, 17), range(17, 33), range(33, 41)]


def test_no_placement_joins_nodes_without_a_path_between_them(case):
    """Free are 12 nodes of hall A, 12 of hall B and 8 of a lone rack, which nothing joins."""
    command = case("01-place-across-halls")
    site = ("--topology", "topology.conf", "--squeue", "squeue.json", "--samples", "2", "--json")

    status, out, _ = command("place", "--nodes", "16", *site)
    sixteen = json.loads(out)
    twelve = told(command("place", "--nodes", "12", *site))
    eight = told(command("place", "--nodes", "8", *site))

    assert (status, sixteen["options"]) == (1, [])
    assert (sixteen["free"], sixteen["connected"]) == (32, 12)
    later = {int(name[2:]) for name in expand_hostlist(sixteen["later"]["nodelist"])}
    assert later in map(set, HALLS[:2])
    assert {own["nodelist"] for own in twelve["options"]} == {"cn[5-16]", "cn[21-32]"}
    assert twelve["all_tried"]
    for own in eight["options"]:
        numbers = {int(name[2:]) for name in expand_hostlist(own["nodelist"])}
        assert any(numbers <= set(hall) for hall in HALLS), own["nodelist"]


def test_among_equal_placements_the_most_compact_comes_first(case):
    """Nothing else sends: all lose nothing; cn5 to cn8 are one leaf, and 5 to 7 one range."""
    command = case("30-exclude-of-another-fabric")
    site = ("--topology", "topology.conf", "--squeue", "squeue.json", "--samples", "2", "--json")

    options = told(command("place", "--nodes", "3", *site))["options"]

    lost = [own["own_node_hours"] + own["others_node_hours"] for own in options]
    assert lost == sorted(lost)
    equal = [own for own in options if abs(own["own_node_hours"] - lost[0]) < 1e-9]
    assert [(own["switches"], own["fragments"]) for own in equal] == sorted(
        (own["switches"], own["fragments"]) for own in equal
    )
    assert options[0]["nodelist"] == "cn[2-4]"


def test_a_name_map_with_host_and_card_names_hosts(case):
    command = case("06-name-map-with-hca")
    site = ("--topology", "fabric.txt", "--name-map", "names.map", "--squeue", "squeue.json")

    now = told(command("now", *site, "--json"))
    place = told(command("place", "--nodes", "3", *site, "--json"))

    assert [now["machine"][key] for key in ("jobs", "used_nodes", "nodes")] == [2, 18, 36]
    hosts = expand_hostlist(place["options"][0]["nodelist"])
    assert set(hosts) <= {f"cn{number:05}" for number in range(19, 37)}


@pytest.mark.parametrize("second", ["cn00001  MT4120", "cn00001  MT4119"])
def test_two_adapters_of_one_host_in_a_map_are_links_of_one_node(case, second):
    """Also where both have the same name."""
    case("06-name-map-with-hca")
    text = Path("names.map").read_text()
    Path("names.map").write_text(text.replace("cn00002  MT4119", second))

    fabric = read_topology("fabric.txt", names="names.map")

    assert fabric.n_nodes == 35
    node = fabric.vertex_number("cn00001")
    assert np.diff(fabric.node_links[1])[node] == 2
    for guid in ("0x0009000000000001", "0x0009000000000002"):
        assert fabric.vertex_number(guid) == node
    with pytest.raises(TopologyError, match="cn00002"):
        fabric.vertex_number("cn00002")


def logged(command, path, *options):
    return told(command("trace", "inspect", path, "--format", "sacct", "--json", *options))


@pytest.mark.parametrize(("name", "node_hours"), [("preempted.txt", 4), ("recycled.txt", 3)])
def test_a_number_and_a_start_are_one_run(case, name, node_hours):
    command = case("15-sacct-same-id-twice")
    lines = Path(name).read_text().splitlines()
    Path("twice.txt").write_text("\n".join([*lines, lines[1], ""]))

    log, twice = logged(command, name), logged(command, "twice.txt")

    assert (log["jobs"], log["load"]["node_seconds"]) == (2, 3600 * node_hours)
    assert log["remarks"] == {"runs whose number an earlier run has: each is a job of its own": 1}
    assert (twice["jobs"], twice["load"]) == (log["jobs"], log["load"])
    assert twice["dropped_by_reason"] == {"listed a second time, with the same number and start": 1}


@pytest.mark.parametrize("form", ["sacct", "csv", "squeue-json"])
def test_all_readers_tell_runs_apart_alike(case, form):
    """Number 7 ran at 100 and at 500, 7 at 100 is told twice; the one without a number is new."""
    command = case("15-sacct-same-id-twice")
    rows = [(7, 100, 200), (7, 500, 650), (7, 100, 200), ("", 700, 800)]
    if form == "squeue-json":
        jobs = [
            {"job_id": number, "submit_time": 50, "start_time": start, "end_time": end}
            | {"job_state": ["COMPLETED"], "node_count": 1, "nodes": "n1"}
            for number, start, end in rows
        ]
        text = json.dumps({"jobs": jobs})
    elif form == "csv":
        head = "id,submit_s,start_s,runtime_s,nodes\n"
        text = head + "".join(f"{n},50,{start},{end - start},1\n" for n, start, end in rows)
    else:
        head = "JobIDRaw|Submit|Start|End|NNodes\n"
        text = head + "".join(f"{n}|50|{start}|{end}|1\n" for n, start, end in rows)
    Path("log").write_text(text)

    log = told(command("trace", "inspect", "log", "--format", form, "--json"))

    assert (log["jobs"], log["load"]["node_seconds"]) == (3, 100 + 150 + 100)
    assert log["dropped_by_reason"] == {"listed a second time, with the same number and start": 1}
    assert log["remarks"] == {
        "runs whose number an earlier run has: each is a job of its own": 1,
        "jobs whose id is missing: numbered above all others": 1,
    }


def test_a_number_that_comes_twice_without_starts_is_refused(case):
    command = case("15-sacct-same-id-twice")
    Path("log.csv").write_text("id,submit_s,runtime_s,nodes\n7,0,10,1\n7,5,10,1\n")

    status, out, err = command("trace", "inspect", "log.csv")

    assert (status, out) == (2, "")
    assert "field id: expected a number not used before (log.csv:2), got 7" in err


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("01:30.500", 90.5),
        ("00:01:30.500", 90.5),
        ("1-00:01:30.25", 86490.25),
        ("01:30", 90),
        ("1-02", 93600),
        ("1-02:03", 93780),
    ],
)
def test_durations_may_have_parts_of_seconds(case, text, seconds):
    command = case("17-sacct-minutes-with-fraction")
    records = Path("records.txt").read_text()
    assert logged(command, "records.txt")["runtime_s"]["max"] == 90.5
    assert logged(command, "records.txt")["runtime_s"]["min"] == 90

    Path("records.txt").write_text(records.replace("|01:30|", "|00:01|").replace("01:30.500", text))

    assert logged(command, "records.txt")["runtime_s"]["max"] == seconds


@pytest.mark.parametrize("text", ["90.5", "1-02.5", "1-02:03.5", "1:2:3:4", "01:30,500"])
def test_durations_of_no_form_of_slurm_are_refused(case, text):
    command = case("17-sacct-minutes-with-fraction")
    records = Path("records.txt").read_text()
    Path("records.txt").write_text(records.replace("01:30.500", text))

    status, _, err = command("trace", "inspect", "records.txt", "--format", "sacct")

    assert status == 2
    assert (
        f"records.txt:2: field elapsed: expected a duration such as 1-02:03:04, got '{text}'" in err
    )


XDMOD = (
    "jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,"
    "elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname"
)


def test_records_without_a_header_are_read_with_named_columns(case):
    command = case("18-xdmod-noheader")

    status, out, err = command("trace", "inspect", "slurm.log", "--format", "sacct")
    log = logged(command, "slurm.log", "--columns", XDMOD)
    short = command(
        "trace", "inspect", "slurm.log", "--format", "sacct", "--columns", "jobid,submit"
    )

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "slurm.log:1: expected a header line" in err
    assert "without -n (--noheader), or name the 26 columns (--columns" in err
    assert (log["jobs"], log["nodes"]["max"]) == (1, 2)
    assert log["runtime_s"]["max"] == 3 * 86400
    assert (short[0], "expected a column" in short[2]) == (2, True)


@pytest.mark.parametrize(
    ("header", "row", "nodes"),
    [
        ("JobIDRaw|Submit|Start|End|NodeList", "1|50|100|200|n[1-3]", 3),
        ("JobIDRaw|Submit|Start|End|AllocTRES", "1|50|100|200|billing=8,cpu=8,mem=4G,node=2", 2),
        ("JobIDRaw|Submit|Start|End|NNodes|JobName", "1|50|100|200|4|a|b|c", 4),
        ("JobIDRaw|Submit|Start|End|NNodes|", "1|50|100|200|4|", 4),
    ],
)
def test_records_tell_nodes_in_one_of_several_columns(case, header, row, nodes):
    command = case("18-xdmod-noheader")
    Path("log").write_text(f"{header}\r\n{row}\r\n")

    assert logged(command, "log")["nodes"]["max"] == nodes


def test_what_a_reader_ignores_or_changes_is_counted(case, tmp_path):
    """Three preceding jobs, two think times, a time limit below 1 ns; blanks in two cells."""
    command = case("18-xdmod-noheader")
    fields = "1 -1 -1 1 {} -1 1 1 1 1 1 -1"
    swf = [
        f"1 0 -1 10 {fields.format('1e-10')} -1 -1",
        f"2 1 -1 10 {fields.format('20')} 1 5",
        f"3 2 -1 10 {fields.format('20')} 1 -1",
        f"4 3 -1 10 {fields.format('-1')} 2 60",
    ]
    Path("log.swf").write_text("\n".join(swf) + "\n")
    Path("log.csv").write_text("id,submit_s,runtime_s,nodes,kind\n1,0,10,1, a \n2 ,0,10,1,a\n")

    swf, table = (told(command("trace", "inspect", f"log.{x}", "--json")) for x in ("swf", "csv"))
    text = command("trace", "inspect", "log.swf")[1]

    assert swf["remarks"] == {
        "preceding jobs (field 17): not used": 3,
        "think times (field 18): not used": 2,
        "requested times below 1 ns: taken as missing": 1,
    }
    assert "2 think times (field 18): not used." in text
    assert table["remarks"] == {"cells with blanks around their text: without them": 2}
    Path("run.toml").write_text(
        '[topology]\nkind="fat-tree"\nchildren=[4,1]\nparents=[1,1]\n[workload]\npath="log.swf"\n'
        '[scheduler]\nallocator="first-free"\n[network]\nmodel="null"\n'
    )
    assert command("run", "run.toml", "--out", tmp_path / "res")[0] == 0
    summary = json.loads(next((tmp_path / "res").rglob("summary.json")).read_text())
    assert summary["log_remarks"] == swf["remarks"]


SITE = ("--topology", "topology.conf", "--squeue", "squeue.json", "--samples", "2")


@pytest.mark.parametrize("hosts", ["cn2,gpu7", "gpu7,cn[2]", "cn2,login[01-02],gpu7", "gpu7", ""])
def test_drained_hosts_of_another_fabric_are_skipped_and_named(case, hosts):
    command = case("30-exclude-of-another-fabric")
    asked = ("place", "--nodes", "3", *SITE, "--exclude", hosts)

    found = told(command(*asked, "--json"))
    text = " ".join(command(*asked)[1].split())
    queue = Path("squeue.json").read_text()
    Path("squeue.json").write_text(queue.replace(",login1", ""))
    status, _, err = command(*asked, "--unknown", "stop")

    free = {f"cn{number}" for number in range(3 if "cn" in hosts else 2, 9)}
    assert all(set(expand_hostlist(own["nodelist"])) <= free for own in found["options"])
    assert ("gpu7" in text and "skipped" in text) == bool(hosts)
    assert status == (2 if hosts else 0)
    assert not hosts or ("gpu7" in err or "login01" in err)


def test_a_drained_host_that_is_nearly_called_as_one_of_the_fabric_is_asked_about(case):
    command = case("30-exclude-of-another-fabric")

    out = command("place", "--nodes", "3", *SITE, "--exclude", "gpu7,cn3.cluster")[1]

    asked = (
        "--exclude: 2 hosts not in the fabric (gpu7, cn3.cluster; did you mean 'cn3'?), skipped."
    )
    assert asked in " ".join(out.split())


def test_hosts_that_are_drained_follow_the_same_rule(case):
    command = case("30-exclude-of-another-fabric")
    asked = ("whatif", *SITE, "--drain", "cn1,gpu7")

    status, out, _ = command(*asked)

    queue = Path("squeue.json").read_text()
    Path("squeue.json").write_text(queue.replace(",login1", ""))
    assert status == 0
    assert "--drain: 1 host not in the fabric (gpu7), skipped." in " ".join(out.split())
    assert command(*asked, "--unknown", "stop")[0] == 2
    assert command("whatif", *SITE, "--drain", "gpu7")[0] == 2


def test_a_job_of_the_queue_without_a_number_is_counted(case):
    command = case("30-exclude-of-another-fabric")
    queue = json.loads(Path("squeue.json").read_text())
    del queue["jobs"][0]["job_id"]
    Path("squeue.json").write_text(json.dumps(queue))

    now = told(command("now", *SITE, "--json"))
    log = told(command("trace", "inspect", "squeue.json", "--format", "squeue-json", "--json"))

    assert "1 job whose id is missing: numbered above all others." in now["remarks"]
    assert log["remarks"] == {"jobs whose id is missing: numbered above all others": 1}


def test_replayed_records_without_a_header_are_refused_with_what_to_do(case):
    command = case("32-replay-hours-column")
    text = Path("records.txt").read_text()
    Path("records.txt").write_text(text.partition("\n")[2])

    status, out, err = command("replay", "records.txt", "--topology", "fabric.txt", "--no-fit")

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "expected a header line" in err
    assert err.endswith("run sacct without -n (--noheader).\n")


IBSIM = """# two switches of two hosts each, as in ibsim's examples
Switch\t8 "Switch1"
[1]\t"Hca1"[1]
[2]\t"Hca1"[2]\t\tw=2 s=4
# a comment
[3]\t"Switch2" [3]
[5]\t"Switch2"[5]

Switch 8 "Switch2"
[1]\t"Hca2"
[3]\t"Switch1"[3]
[5]\t"Switch1"[5]

Hca \t2 "Hca1"
[1]\t"Switch1"[1]
[2]\t"Switch1"[2]

Ca\t2 "Hca2"
[1]\t"Switch2"[1]
"""


def test_networks_in_the_own_form_of_ibsim_are_read(case):
    command = case("09-ibsim-net")
    Path("two.net").write_text(IBSIM)

    net, two = inspected(command, "net"), inspected(command, "two.net")

    def counted(fabric):
        links = sum(kind["links"] for kind in fabric["link_classes"])
        return fabric["nodes"], fabric["switches"], links // 2

    assert (counted(net), counted(two)) == ((2, 2, 4), (2, 2, 5))
    assert net["levels"][0]["parallel_cables"] == [2, 2]
    assert any("w= and s= (1)" in line for line in two["assumed"])


def report_of(text):
    """Write what `ibnetdiscover` tells of a fabric as its ports report (-p)."""
    fabric = read_ibnetdiscover(text)
    kind = {True: "SW", False: "CA"}
    lines = []
    for i, device in enumerate(fabric.devices):
        for port in range(device.n_ports, 0, -1):
            own = f"{kind[device.is_switch]} {device.lid:5} {port:2} 0x{device.port_guid:016x} "
            if (i, port) not in fabric.cables:
                lines.append(f"{own}4x SDR{'':36}'{device.name}'")
                continue
            j, far = fabric.cables[i, port]
            peer, rate = fabric.devices[j], fabric.rates[i, port].replace("x", "x ")
            lines.append(
                f"{own}{rate} - {kind[peer.is_switch]} {peer.lid:5} {far:2} "
                f"0x{peer.port_guid:016x} ( '{device.name}' - '{peer.name}' )"
            )
    return "\n".join(lines) + "\n"


def test_all_forms_of_ibnetdiscover_tell_the_same_fabric(case):
    command = case("11-ibnetdiscover-ext-ports")
    text = Path("fabric.txt").read_text()
    plain = text.replace("[ext 1]", "")
    full = plain.replace("4xHDR\n", "4xHDR s=4 w=2 v=4\n")
    grouped = (
        plain.replace(
            "\nvendid=", "\nChassis 1 (guid 0x1000000000000)\n\n# Spine Nodes\nvendid=", 1
        ).replace("\ncaguid", "\t\t# Chassis 1\ncaguid", 1)
        + "\nNon-Chassis Nodes\n"
    )
    typed = "[root@mgmt1 ~]# ibnetdiscover -g\nibwarn: [77] mad_rpc: timed out\n" + plain
    forms = {
        "full": full,
        "grouped": grouped,
        "typed": typed + "[root@mgmt1 ~]# \n",
        "crlf": plain.replace("\n", "\r\n"),
        "report": report_of(plain),
    }

    whole = inspected(command, "fabric.txt")

    assert (whole["nodes"], whole["switches"]) == (36, 33)
    assert sum(kind["links"] for kind in whole["link_classes"]) == 2 * 108
    for name, content in forms.items():
        Path(name).write_text(content)
        fabric = inspected(command, name)
        assert (fabric["name"], fabric["link_classes"]) == (whole["name"], whole["link_classes"])
        assert any("lines of a terminal (2)" in a for a in fabric["assumed"]) == (name == "typed")


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ('"cn00001 HCA-1" lid 2 4xHDR', '"cn00001 HCA-1" lid 2 4xEDR', "fabric.txt:11: port 1"),
        ('"cn00001 HCA-1" lid 2 4xHDR', '"cn00001 HCA-1" lid 2 2xHDR', "(line 23) 4xHDR"),
        ("vendid=0x2c9\n", "Ca\t : 0x0009000000000001 ports 1 devid 0x1\n", "a list of devices"),
        ("[2]\t", "[2][int 4]\t", "fabric.txt:12: expected a device or port"),
    ],
)
def test_what_no_form_of_ibnetdiscover_says_is_refused(case, before, after, what):
    command = case("11-ibnetdiscover-ext-ports")
    text = Path("fabric.txt").read_text()
    Path("fabric.txt").write_text(text.replace(before, after, 1))

    status, out, err = command("topology", "inspect", "fabric.txt")

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert what in err


def test_tables_and_wiring_without_guids_of_ports_are_matched_by_lid(case):
    """One switch alone, with two hosts; the wiring has no line 'switchguid=', the dump no names."""
    command = case("26-lft-unreachable")
    Path("one.ib").write_text(
        'Switch\t8 "S-0000000000000001"\t\t# "sw" base port 0 lid 1 lmc 0\n'
        '[1]\t"H-0000000000000002"[1]\t\t# "n1 HCA-1" lid 2 4xHDR\n'
        '[2]\t"H-0000000000000003"[1]\t\t# "n2 HCA-1" lid 3 4xHDR\n'
        'Ca\t1 "H-0000000000000002"\t\t# "n1 HCA-1"\n'
        '[1]\t"S-0000000000000001"[1]\t\t# lid 2 lmc 0 "sw" lid 1 4xHDR\n'
        'Ca\t1 "H-0000000000000003"\t\t# "n2 HCA-1"\n'
        '[1]\t"S-0000000000000001"[2]\t\t# lid 3 lmc 0 "sw" lid 1 4xHDR\n'
    )
    Path("one.lft").write_text(
        "Unicast lids [0x0-0x3] of switch Lid 1 guid 0x0000000000000001 ('sw'):\n"
        "0x0001 000\n0x0002 001\n0x0003 002\n3 valid lids dumped\n"
    )
    Path("jobs.json").write_text('{"jobs": [{"id": 1, "nodes": ["n1", "n2"]}]}')

    status, out, _ = command("lft", "load", "one.lft", "--fabric", "one.ib", "--json")
    checked = command("lft", "check", "jobs.json", "--fabric", "one.ib", "--base", "one.lft")

    assert (status, json.loads(out)["pairs"]) == (0, 2)
    assert (checked[0], checked[2]) == (0, "")


def test_unreachable_in_a_dump_of_tables_is_no_entry(case):
    command = case("26-lft-unreachable")
    text = Path("dump.txt").read_text()
    line = next(line for line in text.splitlines() if "UNREACHABLE" in line)
    Path("bare.txt").write_text(text.replace(line, "0x001a : UNREACHABLE"))
    Path("without.txt").write_text(text.replace(line + "\n", ""))

    answers = [
        command("lft", "load", name, "--fabric", "fabric.txt")[:2]
        for name in ("dump.txt", "bare.txt", "without.txt")
    ]

    assert answers[0][0] == 1
    assert "leaf001:MQM8700/U1 has no entry towards cn00010" in " ".join(answers[0][1].split())
    words = [out.split("Not all")[1] for _, out in answers]
    assert words == [words[0]] * 3


def printed(answer, status=0):
    """Return what a command printed for people."""
    found, out, err = answer
    assert (found, err) == (status, "")
    return out


def test_cables_between_modules_of_a_director_are_printed_as_they_are_read(case):
    command = case("07-director-modules")
    site = ("--topology", "fabric.txt", "--squeue", "squeue.json", "--samples", "2")

    now = printed(command("now", *site))
    ranking = printed(command("whatif", *site, "--each-cable"))
    switches = printed(command("whatif", *site, "--each-switch"))

    cables = set(re.findall(r"core1/[LS]0[1-3]/P\d+>core1/[LS]0[1-3]/P\d+", now))
    assert "core1/L01/P19>core1/S01/P1" in cables
    assert len(cables) == 8
    assert not re.search(r"core1[ >]", now + ranking + switches)
    for cable in cables:
        failed = told(command("whatif", *site, "--fail", cable, "--json"))
        assert failed["changes"] == [f"{cable} fails"]
    shown = re.search(r"^(core1\S*P\d+) +0 +\d+ +(\S+)", ranking, re.MULTILINE)
    failed = told(command("whatif", *site, "--fail", shown[1], "--json"))
    more = failed["machine"]["lost_node_hours_per_day"]["more"]["median"]
    assert more == pytest.approx(float(shown[2]), rel=0.01)
    spine = re.search(r"^(core1/S01)\b", switches, re.MULTILINE)[1]
    assert command("whatif", *site, "--fail", spine)[0] == 0


@pytest.mark.parametrize("columns", ["20", "80", "500"])
def test_a_nodelist_is_one_line_whatever_the_terminal(case, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    command = case("08-nodelist-broken-by-wrap")
    site = ("--topology", "topology.conf", "--squeue", "squeue.json", "--samples", "2")

    for nodes, status in ((40, 0), (100, 1)):
        answer = told(command("place", "--nodes", nodes, *site, "--json"), status=status)
        expected = [own["nodelist"] for own in answer["options"][:5]]
        expected = expected or [answer["later"]["nodelist"]]
        out = printed(command("place", "--nodes", nodes, *site), status)
        lines = [line for line in out.splitlines() if "--nodelist=" in line]
        assert [line.partition("--nodelist=")[2] for line in lines] == expected
        assert len(expand_hostlist(expected[0])) == nodes


def test_node_hours_are_called_node_hours(case):
    """Nine nodes for two hours are 18 node-hours."""
    command = case("32-replay-hours-column")

    site = ("--topology", "fabric.txt", "--timezone", "UTC", "--no-fit", "--out", "found")
    status, out, _ = command("replay", "records.txt", *site)

    assert status == 0
    heads = next(line.split("  ") for line in out.splitlines() if line.startswith("job"))
    heads = [head.strip() for head in heads if head.strip()]
    row = next(line.split() for line in out.splitlines() if line.startswith("1 "))
    assert heads[:3] == ["job", "nodes", "node-h"]
    assert row[:3] == ["1", "9", "18.0"]
    assert "hours" not in heads


def test_a_calibration_says_where_no_pattern_of_the_profile_fits(case):
    """Two all-to-alls at 0.30 and 0.10, 7,500 and 2,500 MB/s a node; a third job is idle."""
    command = case("28-calibrate-all-to-all")
    site = ("--topology", "fabric.txt", "--squeue", "squeue.json", "--seconds", "60")
    site = (*site, "--before", "before.txt", "--after", "after.txt", "--json")

    right = told(command("calibrate", *site, "--profile", "profile.toml"))
    wrong = told(command("calibrate", *site))

    found = {group["group"]: group for group in right["groups"]}
    for name, fraction in (("a2a", 0.3), ("a2b", 0.1)):
        assert found[name]["identifiable"]
        assert found[name]["fraction"] == pytest.approx(fraction, abs=0.002)
        assert found[name]["bytes_per_s"] == pytest.approx(fraction * 25e9, rel=0.01)
    assert right["noise"] == 1.0
    off = {group["group"]: group for group in wrong["groups"] if group["group"] != "idle"}
    for group in off.values():
        assert not group["identifiable"]
        assert group["why"].startswith("no pattern of the profile fits")
    assert wrong["noise"] > 4.0  # most ports are idle, and idle ports fit anything
    named = [rule.get("match", {}).get("name") for rule in wrong["profile"]["rule"]]
    assert not {"a2a", "a2b"} & set(named)


def test_adapters_of_one_host_are_links_of_one_node(case):
    """Four hosts with four adapters each, one on every leaf, under one spine."""
    command = case("04-hosts-with-several-hcas")

    fabric = inspected(command, "fabric.txt")
    now = told(command("now", "--topology", "fabric.txt", "--squeue", "squeue.json", "--json"))

    assert (fabric["nodes"], fabric["switches"], fabric["link_classes"][0]["links"]) == (4, 5, 16)
    assert [now["machine"][key] for key in ("jobs", "used_nodes", "nodes")] == [2, 4, 4]
