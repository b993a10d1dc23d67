"""No output overwrites what the same call reads, or a file of a stored result."""

import json
import os

import pytest
import typer.main

from coupling.api import write_report
from coupling.cli.options import output, table_output
from coupling.cli.root import app
from coupling.errors import ResultError
from coupling.inputs.experiment import Experiment
from coupling.runs.campaign import run_campaign
from fabricsim.checking.inputs import read_text
from fabricsim.checking.outputs import declare_output, one_call, require_free
from netsim.common.errors import TopologyError
from netsim.formats.exporters.registry import convert
from netsim.formats.importers.registry import read_topology
from netsim.topology.fattree import fat_tree_of_radix
from scheduler.errors import WorkloadError
from scheduler.job import Job
from scheduler.workload.base import Workload
from scheduler.workload.registry import make_workload
from scheduler.workload.swf import read_swf, write_swf
from scheduler.workload.writers import write_trace

OUTPUTS = {"out", "html", "svg", "lft", "per_minute"}
INPUTS = {("calibrate", "lft"), ("ebb", "lft")}  # dumps that are loaded
FOLDERS = {("run", "out"), ("sweep", "out"), ("paper", "out"), ("replay", "out")}


def commands(group, prefix=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*prefix, name))
        else:
            yield " ".join((*prefix, name)), command


@pytest.mark.parametrize("name", ["log.txt", "link.txt", "second.txt", "./log.txt"])
def test_a_file_that_was_read_is_no_output_under_any_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.txt").write_text("x")
    (tmp_path / "link.txt").symlink_to("log.txt")
    (tmp_path / "second.txt").hardlink_to(tmp_path / "log.txt")

    with one_call():
        read_text("log.txt", ValueError)
        with pytest.raises(OSError, match="one that is read") as told:
            require_free(name)
    assert told.value.filename == name


def test_an_output_that_was_named_first_is_not_read(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("x")

    with one_call():
        declare_output(path)
        with pytest.raises(OSError, match="one that is read"):
            read_text(path, ValueError)


def test_other_files_and_other_calls_are_free(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("x")

    with one_call():
        read_text(path, ValueError)
        require_free(tmp_path / "new.txt")
        require_free(os.devnull)
    with one_call():
        require_free(path)
    read_text(path, ValueError)
    require_free(path)


def test_a_file_that_no_result_lists_may_be_replaced(tmp_path):
    """Also one that is called like ours."""
    manifest = {"fingerprint": "x", "files": {"random/jobs.parquet": "0"}}
    (tmp_path / "random").mkdir()
    for name in ("random/jobs.parquet", "random/other.html", "report.html"):
        (tmp_path / name).write_text("")

    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    for name in ("random/other.html", "report.html", "new.html"):
        require_free(tmp_path / name)
    for name in ("random/jobs.parquet", "manifest.json"):
        with pytest.raises(OSError, match="one of a stored result"):
            require_free(tmp_path / name)

    for foreign in ('{"files": {"random/jobs.parquet": "0"}}', "[]", "no JSON", "[" * 100_000):
        (tmp_path / "manifest.json").write_text(foreign)
        for name in ("random/jobs.parquet", "manifest.json"):
            require_free(tmp_path / name)


def test_files_of_a_sweep_are_kept_and_its_pages_are_not(tmp_path):
    (tmp_path / "plan.json").write_text('{"sweep_sha256": "0"}')
    kept = (
        "plan.json",
        "sweep.toml",
        "cells.parquet",
        "marks/c0.json",
        "jobs/cell=c0/jobs.parquet",
    )
    free = ("sweep.html", "forest.svg", "array.sh", "notes/cells.parquet")
    for name in (*kept[1:], *free):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")

    for name in kept:
        with pytest.raises(OSError, match="one of a stored result"):
            require_free(tmp_path / name)
    for name in free:
        require_free(tmp_path / name)


@pytest.mark.parametrize("name", ["manifest.json", "jobs.parquet"])
def test_functions_of_python_refuse_as_the_command_does(tmp_path, name):
    path = tmp_path / name
    manifest = json.dumps({"fingerprint": "x", "files": {"jobs.parquet": "0", "jobs.csv": "0"}})
    (tmp_path / "jobs.parquet").write_text("x")
    (tmp_path / "jobs.csv").write_text("x")
    (tmp_path / "manifest.json").write_text(manifest)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    workload = Workload((Job(1, 0.0, 1, 1.0, 1.0),), "by hand")

    with pytest.raises(TopologyError, match="stored result"):
        convert(fat_tree_of_radix(4, "1 B/s"), "graphml", path)
    with pytest.raises(WorkloadError, match="stored result"):
        write_swf(path, workload.jobs)
    with pytest.raises(WorkloadError, match="stored result"):
        write_trace(workload, tmp_path / "jobs.csv")

    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


def contents(folder):
    return {each.name: each.read_bytes() for each in folder.iterdir() if each.is_file()}


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", ["{}", "link-{}", "second-{}"])
def test_functions_of_python_do_not_overwrite_what_was_read_for_them(tmp_path, name):
    """The fabric with all files that it includes, the log, and the inputs of results."""
    (tmp_path / "top.conf").write_text("Include leaves.conf\nSwitchName=top Switches=s[0-1]\n")
    (tmp_path / "leaves.conf").write_text(
        "SwitchName=s0 Nodes=n[1-4]\nSwitchName=s1 Nodes=n[5-8]\n"
    )
    write_swf(tmp_path / "log.swf", [Job(1, 0.0, 1, 1.0, 1.0)])
    write_trace(read_swf(tmp_path / "log.swf"), tmp_path / "log.csv")
    for file in ("top.conf", "leaves.conf", "log.swf", "log.csv"):
        (tmp_path / f"link-{file}").symlink_to(file)
        (tmp_path / f"second-{file}").hardlink_to(tmp_path / file)
    fabric, log = read_topology(tmp_path / "top.conf"), read_swf(tmp_path / "log.swf")
    sheet = make_workload({"path": str(tmp_path / "log.csv")})
    tables = {"topology": {"kind": "file", "path": "top.conf"}, "network": {"model": "null"}}
    run = Experiment.from_tables(tables | {"workload": {"path": "log.swf"}}, "e", tmp_path, "e")
    campaign = run_campaign(run, tmp_path / "result")
    before = contents(tmp_path)

    def to(file):
        return tmp_path / name.format(file)

    for file in ("top.conf", "leaves.conf"):
        with pytest.raises(TopologyError, match="one that is read"):
            convert(fabric, "graphml", to(file))
    with pytest.raises(WorkloadError, match="one that is read"):
        write_swf(to("log.swf"), log)
    with pytest.raises(WorkloadError, match="one that is read"):
        write_trace(sheet, to("log.csv"))
    for file in ("top.conf", "leaves.conf", "log.swf"):
        with pytest.raises(ResultError, match="one that is read"):
            write_report(campaign.results, run.tables(), campaign.manifest, to(file))

    assert contents(tmp_path) == before


def test_every_output_of_every_command_is_checked_before_anything_is_read():
    found = set()
    for name, command in commands(typer.main.get_command(app)):
        for parameter in command.params:
            key = name, parameter.name
            if parameter.name in OUTPUTS and key not in INPUTS | FOLDERS:
                found.add(key)
                callback = getattr(parameter.callback, "__wrapped__", None)
                assert callback in (output, table_output), key
    assert len(found) > 12
