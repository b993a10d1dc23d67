"""Commands, results and messages know the site's own names of its nodes."""

import gzip
import json

import pandas as pd
import pytest
from small_site import GUID, HOSTS, discovered, forms

from coupling.errors import SnapshotError
from coupling.site.estimate import estimate
from netsim import make_topology
from netsim.common.hostlist import expand_hostlist

SPINES = ("core1", "core2")
RING = {"pattern": {"name": "ring", "nbytes": "1 MB"}, "compute_s": 0}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Go to a folder with a fabric and a name map; return its table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fabric.ib").write_text(discovered([f"{host} HCA-1" for host in HOSTS]))
    (tmp_path / "names.map").write_text(f"0x{GUID:x} gpu1\n")
    return {"kind": "file", "path": "fabric.ib"}


def pair(first, second, **further):
    return {"id": "a", "nodes": [first, second], **further}


def owned(first, second):
    """Links of a partition of two nodes on two leaves, by the names given."""
    cables = [(first, "edge1"), ("edge1", "core1"), ("core1", "edge2"), ("edge2", second)]
    return [f"{a}>{b}" for x, y in cables for a, b in ((x, y), (y, x))]


def test_estimate_verify_and_export_know_a_node_by_all_its_names(command, site, tmp_path):
    said = set()
    for form, other in zip(forms(0), forms(5), strict=True):
        links = owned(form, other)
        job = pair(form, other, links=links[2:6])
        for document in ({"topology": site, "jobs": [job]}, {"jobs": [job]}):
            (tmp_path / "s.json").write_text(json.dumps(document))
            exported = command(
                *("lft", "export", "s.json", "--fabric", "fabric.ib", "--out", "-"),
            )
            assert exported[0] == 0, exported
            tables = exported[1]
        (tmp_path / "s.json").write_text(json.dumps({"topology": site, "jobs": [job]}))
        status, verdict, error = command("verify", "s.json", "--json")
        assert status == 0, error
        (tmp_path / "e.json").write_text(json.dumps({"topology": site, "jobs": [job | RING]}))
        status, estimated, error = command("estimate", "e.json", "--json")
        assert status == 0, error
        said.add((tables, verdict, estimated))
    assert len(said) == 1
    assert "cn001>MF0;edge1:SX6036/U1" in estimated


def test_export_takes_names_of_a_map_from_the_snapshot_or_the_option(command, site, tmp_path):
    plain = {"jobs": [pair("cn001", "cn006", links=owned("cn001", "cn006")[2:6])]}
    mapped = {"jobs": [pair("gpu1", "cn006", links=owned("gpu1", "cn006")[2:6])]}
    export = ("lft", "export", "s.json", "--fabric", "fabric.ib", "--out", "-")

    (tmp_path / "s.json").write_text(json.dumps(plain))
    _, tables, _ = command(*export)
    (tmp_path / "s.json").write_text(json.dumps(mapped))
    status, out, error = command(*export)
    assert (status, out) == (2, "")
    assert "s.json: jobs[0] (id a) nodes: no node or switch 'gpu1' in" in error
    assert command(*export, "--name-map", "names.map")[:2] == (0, tables)
    known = {"topology": site | {"name_map": "names.map"}} | mapped
    (tmp_path / "s.json").write_text(json.dumps(known))
    assert command(*export)[:2] == (0, tables)


def test_messages_use_the_names_of_the_site(command, site, tmp_path):
    job = pair("cn001", "cn006", links=owned("cn001", "cn006")[2:4])
    (tmp_path / "s.json").write_text(json.dumps({"topology": site, "jobs": [job]}))

    _, out, _ = command("verify", "s.json", "--json")
    assert "no shortest path from cn001 to cn006 on the links that the job owns" in out
    assert "MF0;edge2:SX6036/U1 has L2 [], expected the same S as MF0;edge1:SX6036/U1" in out
    _, out, error = command("lft", "export", "s.json", "--fabric", "fabric.ib", "--out", "-")
    assert out == ""
    assert "cn001" in error
    away = {"topology": site | {"excluded": "cn[001-002]"}, "jobs": [pair("cn002", "cn006")]}
    (tmp_path / "s.json").write_text(json.dumps(away))
    assert "jobs[0] (id a) nodes: node cn002 takes no jobs" in command("verify", "s.json")[2]


def test_an_ambiguous_name_is_one_line_with_the_choices(command, site, tmp_path):
    twin = ["Mellanox ConnectX", "Mellanox ConnectX", *(f"{host} HCA-1" for host in HOSTS[2:])]
    (tmp_path / "fabric.ib").write_text(discovered(twin))
    (tmp_path / "s.json").write_text(
        json.dumps({"topology": site, "jobs": [pair("Mellanox ConnectX", "cn006")]})
    )

    status, out, error = command("verify", "s.json")
    assert (status, out, error.count("\n")) == (2, "", 1)
    assert "jobs[0] (id a) nodes: 'Mellanox ConnectX' is 2 nodes or switches of" in error


def test_flows_and_permutations_go_by_any_name(command, site, tmp_path):
    flows = {"topology": site, "flows": [["cn001", "cn006 HCA-1", 1000], ["n0", "cn[008]", 1000]]}
    (tmp_path / "f.json").write_text(json.dumps(flows))
    status, out, error = command("flows", "f.json", "--json")
    assert status == 0, error
    assert [route[-1].split(">")[1] for route in json.loads(out)["routes"]] == ["cn006", "cn008"]
    flows["flows"] = [["cn001", "cn[006-007]", 1000]]
    (tmp_path / "f.json").write_text(json.dumps(flows))
    assert (
        "flows[0]: expected one node, got 'cn[006-007]', which is 2"
        in command("flows", "f.json")[2]
    )

    jobs = {"topology": site, "jobs": [pair("cn001", "cn006")]}
    (tmp_path / "s.json").write_text(json.dumps(jobs))
    for text in (
        "cn001 'cn006 HCA-1'\n",
        '[["cn001", "cn006 HCA-1"]]',
        f"0x{GUID:x} cn006 # two\n",
    ):
        (tmp_path / "p.txt").write_text(text)
        status, out, error = command("verify", "s.json", "--permutation", "p.txt", "--json")
        assert '"permutation"' in out, error


def test_a_run_tells_its_nodes_by_the_names_of_the_site(command, site, tmp_path):
    (tmp_path / "log.csv").write_text(
        "id,submit_s,runtime_s,n_nodes\n1,0,100,3\n2,0,100,1\n3,5,100,4\n"
    )
    (tmp_path / "try.toml").write_text(
        '[topology]\nkind = "file"\npath = "fabric.ib"\nname_map = "names.map"\n'
        '[workload]\npath = "log.csv"\nformat = "csv"\n'
    )
    status, _, error = command("run", "try.toml", "--csv", "--out", "result")
    assert status == 0, error

    jobs = pd.read_csv(tmp_path / "result" / "jobs.csv", index_col="id")
    topology = make_topology(site | {"name_map": "names.map", "path": str(tmp_path / "fabric.ib")})
    names = [topology.vertex_name(node) for node in range(8)]
    assert set(names) == {"gpu1", *HOSTS[1:]}
    told = [expand_hostlist(jobs.loc[job, "nodes"]) for job in (1, 2, 3)]
    assert told == [names[:3], names[3:4], names[4:]]


def test_no_name_of_the_site_is_a_formula_in_the_job_table(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fabric.csv").write_text("source,target,bandwidth\n=n1,s,1 GB/s\n@n2,s,1 GB/s\n")
    (tmp_path / "log.csv").write_text("id,submit_s,runtime_s,n_nodes\n1,0,100,2\n2,0,50,1\n")
    (tmp_path / "try.toml").write_text(
        '[topology]\nkind = "file"\npath = "fabric.csv"\n'
        '[workload]\npath = "log.csv"\nformat = "csv"\n'
    )

    status, _, error = command("run", "try.toml", "--csv", "--out", "result")

    assert status == 0, error
    table = pd.read_csv(tmp_path / "result" / "jobs.csv", index_col="id")
    assert table.loc[1, "nodes"] == "'=n1,@n2"
    assert table.loc[2, "nodes"] == "'=n1"
    kept = pd.read_parquet(tmp_path / "result" / "jobs.parquet").set_index("id")
    assert kept.loc[1, "nodes"] == "=n1,@n2"
    texts = ["nodes", "dropped", "pattern"]  # of which pandas takes none for missing
    pd.testing.assert_frame_equal(table.drop(columns=texts), kept.drop(columns=texts))


def test_python_takes_the_same_names(site, tmp_path):
    topology = make_topology(site | {"path": str(tmp_path / "fabric.ib")})
    answers = {
        estimate({"topology": topology, "jobs": [pair(a, b) | RING]}).jobs[0].together_s
        for a, b in zip(forms(0), forms(5), strict=True)
    }

    assert len(answers) == 1


@pytest.mark.parametrize(
    ("name", "fabric", "names"),
    [
        ("hpc2010", "site/hpc2010.ibnetdiscover.gz", None),
        ("psmn", "topo/psmn-x5-ibnetdiscover.txt.gz", "topo/psmn-x5-hostnames.map"),
    ],
)
def test_the_running_jobs_of_a_site_are_known_by_lists_and_by_guids(shared, name, fabric, names):
    """What squeue prints, and the same nodes by the GUIDs that the fabric's tools print."""
    spec = {"kind": "file", "path": str(shared(f"data/{fabric}"))}
    if names:
        spec["name_map"] = str(shared(f"data/{names}"))
    topology = make_topology(spec)
    by_guid = {vertex: alias for alias, vertex in topology.origin.aliases if alias[:2] == "0x"}
    queue = json.loads(gzip.decompress(shared(f"data/site/{name}.squeue.json.gz").read_bytes()))
    placed = [(job["job_id"], job["nodes"]) for job in queue["jobs"] if job["nodes"]]
    lists, guids = (
        [{"id": number, "nodes": of(text)} | RING for number, text in placed]
        for of in (str, lambda text: [by_guid[node] for node in topology.names.nodes([text])])
    )

    found, again = (
        estimate({"topology": topology, "model": "fluid", "jobs": jobs}) for jobs in (lists, guids)
    )

    assert found == again
    assert len(found.jobs) == len(placed)
    assert {load.link for load in found.links} <= set(topology.links_by_name)
    with pytest.raises(SnapshotError, match=rf"jobs\[{len(placed)}\] \(id more\) nodes: node "):
        estimate({"topology": topology, "jobs": [*lists, lists[0] | {"id": "more"}]})
