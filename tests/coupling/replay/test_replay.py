"""`replay`: a record as it was, the queue that made it, and gains of a change."""

import json
import random

import numpy as np
import pytest
from sacct_logs import line, sacct

import fabricsim as fs
from coupling.replay.replay import LEAST_S
from coupling.runs.stored import Stored, line_up

CLOSE = 1e-2
TREE = {"kind": "fat-tree", "radix": 4, "levels": 2, "latency": "none"}
ALWAYS = {
    "version": 1,
    "rule": [{"pattern": {"name": "one-to-all"}, "comm_fraction": 1.0, "bytes_per_flow": "1 MB"}],
}
SILENT = {"version": 1, "rule": [{"comm_fraction": 0}]}
PAIR = line(7, 0, 100, "n0,n2"), line(9, 50, 150, "n[1,4]")
FREED = {"free_from": "2024-05-29T08:00:50"}


def simulated_log(path, **queue):
    """Write as a record what a queue makes of invented jobs, and return their waits."""
    draw = random.Random(5)  # noqa: S311 (a test)
    lines, submit = [], 0
    for number in range(1, 61):
        submit += draw.randrange(120)
        length = draw.randrange(60, 1200)
        limit = 2 * length // 60 + draw.randrange(1, 30)
        lines.append((number, submit, length, limit, draw.choice([1, 1, 2, 3, 4, 8])))
    bare = [
        line(n, at, at + length, "", submit=at, limit=limit, nodes=nodes)
        for n, at, length, limit, nodes in lines
    ]
    run = fs.Experiment(
        topology=TREE,
        workload={"path": str(sacct(path, *bare)), "format": "sacct"},
        communication=SILENT,
        model="null",
        allocator="slurm-best-fit",
        **queue,
    )
    rows = fs.run(run).jobs.to_dict("records")
    limits = {n: limit for n, _, _, limit, _ in lines}
    made = [
        line(
            row["id"],
            round(row["start_s"]),
            round(row["end_s"]),
            row["nodes"],
            submit=round(row["submit_s"]),
            limit=limits[row["id"]],
            nodes=row["n_nodes"],
        )
        for row in rows
    ]
    sacct(path, *made)
    return [row["wait_s"] for row in rows]


@pytest.mark.parametrize(
    ("queue", "wanted"),
    [
        ({"window": 0, "estimates": "requested"}, {"window": 0}),
        ({"window": 200, "estimates": "runtime"}, {"estimates": "runtime"}),
        (
            {"window": 10, "estimates": "requested", "queue_options": {"switches": "1@60"}},
            {"estimates": "requested", "switches": "1@60"},
        ),
    ],
)
def test_settings_that_made_a_record_are_found_and_give_its_waits(tmp_path, queue, wanted):
    waits = simulated_log(tmp_path / "log", **queue)

    found = fs.replay(tmp_path / "log", TREE, free_from="2024-05-29T08:00:00", profile=SILENT).waits

    assert found.jobs == 60
    assert {name: getattr(found.best, name) for name in wanted} == wanted
    assert found.best.error == 0.0
    assert any(fit.error > 0.1 for fit in found.tried)
    assert found.mean_s == pytest.approx([np.mean(waits)] * 2)
    assert found.quantiles[0.9] == pytest.approx([np.quantile(waits, 0.9)] * 2)
    assert sum(own.jobs for own in found.bias if own.of == "size") == 60


def test_waits_are_told_apart_by_their_ratio_by_hand(tmp_path):
    """
    Two jobs on an empty machine that waited 60 s and 540 s start at once when the queue is free.

    The second is submitted at 60, so both wait 0 s: mean of ln(120/60) and ln(600/60).
    """
    log = sacct(
        tmp_path / "log",
        line(1, 0, 10, "n0"),
        line(2, 120, 180, "n1", submit=60),
        line(3, 600, 660, "n2", submit=60, partition="long"),
    )

    found = fs.replay(log, TREE, free_from="2024-05-29T08:00:30", profile=SILENT).waits

    assert found.tried[0].error == pytest.approx((np.log(2) + np.log(10)) / 2)
    assert found.mean_s == (300.0, 0.0)
    assert [(own.of, own.group, own.recorded_s) for own in found.bias] == [
        ("size", "1", 300.0),
        ("partition", "batch", 60.0),
        ("partition", "long", 540.0),
    ]
    assert LEAST_S == 60.0


def test_gains_are_those_of_the_freed_jobs_by_hand(tmp_path):
    """
    Job 9 shares a cable with job 7 where it was, and gets two nodes of one leaf when it is freed.

    On nodes 1 and 4 (given by the lowest free of both leaves under another allocator) it would
    take longer; `slurm-best-fit` loses nothing, and no seed changes that.
    """
    log = sacct(tmp_path / "log", *PAIR)

    found = fs.replay(
        log,
        TREE,
        profile=ALWAYS,
        changes=["scheduler.allocator=random"],
        then=["scheduler.allocator=slurm-best-fit"],
        seeds=4,
        fit=False,
        **FREED,
    )

    gains = {gain.what: gain for gain in found.gains}
    assert gains["mean_interference"].after == 1.0
    assert gains["lost_node_hours"].after == 0.0
    assert gains["mean_wait_s"].difference == 0.0
    assert gains["mean_turnaround_s"].after == pytest.approx(75.0, rel=CLOSE)
    low, high = gains["lost_node_hours"].low, gains["lost_node_hours"].high
    assert low <= gains["lost_node_hours"].difference <= high
    assert found.recorded.summary["node_seconds_lost_to_interference"] == pytest.approx(
        100.0, rel=CLOSE
    )


def test_what_jobs_did_does_not_depend_on_what_is_otherwise_later(tmp_path):
    """Under another routing the two jobs do not meet; their work is what it was where they met."""
    log = sacct(tmp_path / "log", *PAIR)

    found = fs.replay(
        log, TREE, profile=ALWAYS, then=["network.routing=shortest"], seeds=1, fit=False, **FREED
    )

    for run in (found.recorded, found.freed, found.then):
        assert run.jobs["runtime_reference_s"].tolist() == pytest.approx([75.0, 75.0], rel=CLOSE)


@pytest.mark.usefixtures("undrawn")
def test_results_are_ordinary_folders_of_the_same_jobs(tmp_path, command):
    log, out = sacct(tmp_path / "log", *PAIR), tmp_path / "out"
    fabric = tmp_path / "fabric.json"
    fabric.write_text(json.dumps(TREE))

    status, told, err = command(
        "replay",
        log,
        "--topology",
        fabric,
        "--free-from",
        "2024-05-29T08:00:50",
        "--then",
        "scheduler.allocator=jigsaw",
        "--out",
        out,
        "--seeds",
        "2",
    )

    assert status == 0, err
    assert told.startswith("2 jobs on 8 nodes in 2.50 min: 0.111 node-hours")
    assert "scheduler.allocator=jigsaw from 2024-05-29T08:00:50 on, 2 samples" in told
    lineup = line_up([Stored.open(out / name) for name in ("recorded", "freed", "then")])
    assert lineup.same_jobs
    names = ["recorded/recorded", "freed/slurm-best-fit", "then/jigsaw"]
    assert [result.name for result in lineup.results] == names
    drawn = err.splitlines()[-1].split("pictures: fabricsim ")[1].split()
    assert command(*drawn)[0] == 0
    assert "then/jigsaw" in (out / "report.html").read_text()
    assert command("rerun", out / "then")[0] == 0
    assert command("export", out / "recorded", "--to", "perfetto", "--out", tmp_path / "p")[0] == 0


def test_a_record_alone_is_one_result_and_json_tells_all(tmp_path, command):
    log, out = sacct(tmp_path / "log", *PAIR), tmp_path / "out"
    fabric = tmp_path / "fabric.json"
    fabric.write_text(json.dumps(TREE))

    status, told, _ = command("replay", log, "--topology", fabric, "--out", out, "--json")

    found = json.loads(told)
    assert status == 0
    assert found["recorded"]["jobs"] == 2
    assert found["freed"] is None
    assert found["waits"] is None
    assert Stored.open(out).experiment.label == "recorded"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--then", "scheduler.allocator=ta"], "--free-from"),
        (["--timezone", ""], "timezone: expected the name of a time zone, got ''"),
        (["--set", "topology.kind=torus"], "[scheduler] or [network]"),
        (
            ["--free-from", "2024-05-29T08:00:50", "--then", "run.seed=3"],
            "[scheduler] or [network]",
        ),
        (["--free-from", "2024-05-29T08:00:50", "--then", "scheduler.allocator=best"], "'best'"),
        (["--free-from", "2034-05-29T08:00:50"], "from the first to the last start"),
        (["--unknown", "ask"], "skip, stop"),
        (["--timezone", "Paris"], "Europe/Paris"),
        (["--seeds", "0"], "--seeds"),
    ],
)
def test_wrong_options_are_one_line_and_write_nothing(tmp_path, command, options, words):
    log, fabric = sacct(tmp_path / "log", *PAIR), tmp_path / "fabric.json"
    fabric.write_text(json.dumps(TREE))

    status, out, err = command(
        "replay", log, "--topology", fabric, "--out", tmp_path / "out", *options
    )

    assert (status, out) == (2, "")
    assert words in err
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


@pytest.fixture
def freed(tmp_path, command):
    """Return a function that frees a record in a folder, with more options."""
    log, fabric = sacct(tmp_path / "log", *PAIR), tmp_path / "fabric.json"
    fabric.write_text(json.dumps(TREE))
    base = ("replay", log, "--topology", fabric, "--free-from", FREED["free_from"], "--no-fit")
    return lambda *options: command(*base, "--seeds", 1, *options)


def test_a_freed_replay_leaves_a_folder_of_other_results_alone(tmp_path, freed):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("a note")

    for options, words in [
        ([], "expected an empty or new directory, found mine.txt"),
        (["--resume"], "holds no result that could be resumed"),
    ]:
        status, _, err = freed("--out", out, *options)

        assert status == 2
        assert f"{out}: {words}" in err
        assert [path.name for path in out.iterdir()] == ["mine.txt"]


def test_a_freed_replay_goes_on_only_with_its_own_folder(tmp_path, freed):
    out, then = tmp_path / "out", ("--then", "scheduler.allocator=jigsaw")
    assert freed("--out", out, *then)[0] == 0

    for options, words in [
        (then, "expected an empty or new directory, found freed"),
        (("--resume",), "holds a result then, for which --then is missing"),
    ]:
        status, _, err = freed("--out", out, *options)

        assert status == 2
        assert f"{out}: {words}" in err
    status, _, err = freed("--out", out, "--resume", *then)
    assert status == 0, err


def test_standard_input_is_refused_by_name(command, tmp_path):
    fabric = tmp_path / "fabric.json"
    fabric.write_text(json.dumps(TREE))

    status, _, err = command("replay", "-", "--topology", fabric)

    assert status == 2
    assert "expected a file" in err


def test_a_site_is_replayed_and_freed(shared):
    fabric = {
        "kind": "file",
        "path": str(shared("data/topo/psmn-x5-ibnetdiscover.txt.gz")),
        "name_map": str(shared("data/topo/psmn-x5-hostnames.map")),
    }

    found = fs.replay(
        shared("data/site/psmn.sacct.gz"),
        fabric,
        free_from="2024-06-04T09:00",
        changes=["scheduler.window=10"],
        then=["scheduler.allocator=random"],
        seeds=3,
        timezone="Europe/Paris",
    )

    jobs = found.recorded.jobs
    assert len(jobs) == 235
    before = found.freed.jobs["start_s"] < found.freed.summary["free_from_s"]
    assert before.sum() > 40
    same = ["id", "start_s", "nodes"]
    assert (found.then.jobs.loc[before, same] == jobs.loc[before, same]).all(axis=None)
    assert {fit.window for fit in found.waits.tried} == {10}
    assert all(gain.low <= gain.difference <= gain.high for gain in found.gains)


def test_dates_are_written_in_the_time_zone_of_the_record(tmp_path):
    """The first start is 08:00 in Paris, which is 06:00 UTC."""
    log = sacct(tmp_path / "log", line(7, 0, 36000, "n0,n2"))

    found = fs.replay(log, TREE, timezone="Europe/Paris", out=tmp_path / "out")

    axes = fs.plot.gantt(found.recorded)
    assert axes.get_xlabel() == "date [Europe/Paris]"
    axes.figure.canvas.draw()
    assert axes.get_xticklabels()[0].get_text() == "08:00"
    assert Stored.open(tmp_path / "out").results()[0].summary["log_time_zone"] == "Europe/Paris"


def test_settings_that_are_given_are_not_fitted(tmp_path):
    log = sacct(tmp_path / "log", *PAIR)
    given = [
        "scheduler.window=7",
        "scheduler.queue_options.switches=1@9",
        "workload.estimates=runtime",
    ]

    found = fs.replay(log, TREE, changes=given, **FREED).waits

    assert [(fit.window, fit.switches, fit.estimates) for fit in found.tried] == [
        (7, "1@9", "runtime")
    ]


def test_a_page_shows_dates_waits_settings_and_gains(tmp_path, command):
    log, page = sacct(tmp_path / "log", *PAIR), tmp_path / "replay.html"
    (tmp_path / "tree.json").write_text(json.dumps({"topology": TREE}))
    freed = ("--free-from", "2024-05-29T08:00:50", "--then", "scheduler.allocator=random")
    options = (*freed, "--seeds", "2", "--timezone", "Europe/Berlin", "--html", str(page))

    status, _, told = command(
        "replay", str(log), "--topology", str(tmp_path / "tree.json"), *options,
        "--out", str(tmp_path / "out"),
    )  # fmt: skip

    assert status == 0, told
    text = page.read_text()
    assert text.count("<svg") == 3
    assert "date [Europe/Berlin]" in text
    for heading in ("Recorded against simulated waits", "Settings of the queue", "gains"):
        assert heading in text
    identities = [part.split('"')[0] for part in text.split(' id="')[1:]]
    assert len(identities) == len(set(identities))


def test_a_replay_that_was_killed_goes_on_and_ends_with_the_same_results(tmp_path):
    """What is left of it: the first result whole, the second begun, the third not there."""
    log = sacct(tmp_path / "log", *PAIR)
    options = FREED | {"then": ["scheduler.allocator=random"], "seeds": 2, "profile": ALWAYS}
    whole = fs.replay(log, TREE, out=tmp_path / "whole", **options)
    fs.replay(log, TREE, out=tmp_path / "killed", **options)
    for name in ("summary.json", "jobs.parquet"):
        (tmp_path / "killed" / "freed" / name).unlink()
    for path in sorted((tmp_path / "killed" / "then").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (tmp_path / "killed" / "then").rmdir()
    kept = (tmp_path / "killed" / "recorded" / "summary.json").stat().st_mtime_ns

    found = fs.replay(log, TREE, out=tmp_path / "killed", resume=True, **options)

    assert (tmp_path / "killed" / "recorded" / "summary.json").stat().st_mtime_ns == kept
    assert found.gains == whole.gains
    for name in ("recorded", "freed", "then"):
        one, other = (tmp_path / own / name / "jobs.parquet" for own in ("whole", "killed"))
        assert one.read_bytes() == other.read_bytes()


def test_going_on_with_other_inputs_is_refused(tmp_path):
    log = sacct(tmp_path / "log", *PAIR)
    fs.replay(log, TREE, out=tmp_path / "out", profile=ALWAYS)

    with pytest.raises(fs.FabricsimError, match=r"other inputs|another|differ"):
        fs.replay(log, TREE, out=tmp_path / "out", profile=SILENT, resume=True)
    with pytest.raises(fs.FabricsimError, match=r"resume: expected .*a directory"):
        fs.replay(log, TREE, resume=True)
