"""Job logs from the command: what inspect counts, what convert keeps, what generate draws."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from coupling.cli.root import main
from scheduler.job import Job
from scheduler.workload import READERS, Workload
from scheduler.workload.statistics import busy_steps, job_frame, trace_numbers

DATA = Path(__file__).parents[2] / "data"
LOG = """\
; Version: 2.2
3 100 -1 60 4 -1 -1 4 120 -1 1 7 1 1 1 1 -1 -1
1 0 -1 100 8 -1 -1 8 50 -1 1 7 1 1 1 1 -1 -1
2 0 -1 10 2 -1 -1 2 -1 -1 1 9 1 1 1 1 -1 -1
5 0 -1 10 2 -1 -1 2 -1 -1 1 9 1 1 1 1 -1 -1
4 50 -1 30 2 -1 -1 2 30 -1 5 9 1 1 1 1 -1 -1
6 50 -1 -1 2 -1 -1 2 30 -1 1 9 1 1 1 1 -1 -1
"""
FORMATS = {
    "alea-swf": "alea.swf",
    "sacct": "sacct.txt",
    "squeue-json": "squeue.json",
    "batsim-json": "batsim.json",
    "flux-json": "flux.json",
    "placement-log": "placement.log",
}


@pytest.fixture
def fabricsim(tmp_path, monkeypatch, capfd):
    """Return a function that runs the command in a folder with a log."""
    for name in ("log.swf", "log.txt"):
        (tmp_path / name).write_text(LOG)
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["fabricsim", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code or 0, *capfd.readouterr())

    return call


def refused(done, *words):
    """Exit status 2, one line on stderr with these words, nothing on stdout."""
    status, out, err = done
    assert status == 2, err
    assert out == ""
    assert len(err.strip().splitlines()) == 1, err
    for word in words:
        assert word in err


def test_inspect_counts_what_the_log_holds(fabricsim):
    """By hand: 4 jobs kept; 2 nodes twice, 4, 8; work 20 + 20 + 240 + 800 in 100 s on 8 nodes."""
    status, out, _ = fabricsim("trace", "inspect", "log.swf", "--json")

    found = json.loads(out)
    assert status == 0
    assert found["jobs"] == 4
    assert found["dropped_by_reason"] == {"cancelled (status 5)": 1, "no run time": 1}
    assert found["not_in_order_of_submission"] == 1  # job 1 after job 3
    assert found["repeated"] == 1  # job 5 is job 2 again
    assert found["nodes"] == {
        "min": 2.0,
        "median": 3.0,
        "p95": pytest.approx(7.4),
        "max": 8.0,
        "mean": 4.0,
        "share_of_one": 0.0,
        "share_of_powers_of_two": 1.0,
    }
    assert found["load"]["node_seconds"] == 1080
    assert found["load"]["offered"] == pytest.approx(1080 / (8 * 100))
    assert found["load"]["peak_nodes"] == 12
    requests = found["requested_time"]
    assert (requests["jobs"], requests["over_runs"], requests["exact"]) == (2, 1, 0)
    assert requests["longest_over_run_s"] == 50
    assert requests["median_used"] == pytest.approx((60 / 120 + 100 / 50) / 2)
    assert found["missing"]["requested time"] == 2
    assert found["users"]["top"][0] == {
        "user": "7",
        "jobs": 2,
        "job_share": 0.5,
        "node_time_share": pytest.approx(1040 / 1080),
    }
    assert [part["nodes"] for part in found["size_classes"]] == ["2", "3-4", "5-8"]


def test_inspect_fits_eighty_columns(fabricsim):
    status, out, err = fabricsim("trace", "inspect", "log.swf", "--nodes", 6)

    assert status == 0, err
    assert max(map(len, out.splitlines())) <= 80
    text = " ".join(out.split())
    assert "1 job is larger than that." in text
    assert "1 job ran longer than requested, by up to 50.0 s" in text


@pytest.mark.parametrize("form", FORMATS)
def test_inspect_reads_every_format(fabricsim, form):
    """And its JSON has no NaN."""
    status, out, err = fabricsim("trace", "inspect", DATA / FORMATS[form], "--format", form)

    assert status == 0, err
    assert "jobs kept" in out


def test_the_page_needs_no_other_file_and_has_all_pictures(fabricsim, tmp_path):
    status, _, err = fabricsim("trace", "inspect", "log.swf", "--html", "log.html")

    page = (tmp_path / "log.html").read_text()
    assert status == 0, err
    assert page.count("<svg ") == 6
    assert "src=" not in page.replace('src="data:', "")
    assert "://" not in page.replace("http://www.w3.org", "")


def test_a_log_of_which_nothing_is_kept_is_shown_with_reasons(fabricsim):
    status, out, err = fabricsim(
        "trace", "inspect", "log.swf", "--window", 500, 600, "--html", "x.html"
    )

    assert status == 0, err
    assert "0 jobs kept, 6 dropped" in out
    assert "outside the time window" in out


def test_jobs_that_all_come_at_once_have_no_offered_load():
    jobs = tuple(Job(i, 0.0, 4, 10.0, 10.0) for i in (1, 2))

    found = trace_numbers(Workload(jobs, "by hand"))

    assert found["load"]["offered"] is None
    assert found["requested_time"] == {"jobs": 0}


def test_busy_nodes_are_those_of_a_loop_over_instants():
    """Against the definition, at every half second."""
    random = np.random.default_rng(1)
    jobs = tuple(
        Job(i, float(random.integers(30)), int(random.integers(1, 9)), length, length)
        for i, length in enumerate(random.integers(1, 12, 40).astype(float).tolist())
    )
    times, busy = busy_steps(job_frame(Workload(jobs, "drawn")))

    for now in np.arange(0.5, times[-1], 1.0):
        direct = sum(j.n_nodes for j in jobs if j.submit_s <= now < j.submit_s + j.runtime_s)
        assert busy[np.searchsorted(times, now, "right") - 1] == direct


@pytest.mark.parametrize("end", [".swf", ".swf.gz", ".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("form", FORMATS)
def test_what_is_converted_reads_back_the_same(fabricsim, tmp_path, form, end):
    """Numbers, times and sizes in every format; names and further columns but in SWF."""
    source = READERS[form](DATA / FORMATS[form])
    status, out, err = fabricsim(
        "trace", "convert", DATA / FORMATS[form], f"out{end}", "--format", form, "--json"
    )
    kind = end.removesuffix(".gz")[1:]
    again = READERS[kind](tmp_path / f"out{end}")

    def core(workload):
        return [(j.id, j.submit_s, j.n_nodes, j.runtime_s, j.requested_s) for j in workload.jobs]

    assert status == 0, err
    assert core(again) == core(source)
    assert again.has_requested == source.has_requested
    lost = " ".join(json.loads(out)["lost"])
    if kind == "swf":
        assert all(key in lost for job in source.jobs for key, _ in job.extra)
    else:
        assert [j.name for j in again.jobs] == [j.name for j in source.jobs]
        assert [dict(j.extra) for j in again.jobs] == [dict(j.extra) for j in source.jobs]


def test_filters_apply_to_what_is_converted_and_dropped_jobs_are_told(fabricsim, tmp_path):
    status, out, _ = fabricsim(
        "trace", "convert", "log.swf", "out.csv", "--processors-per-node", 2, "--max-nodes", 3,
        "--arrivals", 0.5,
    )  # fmt: skip

    jobs = READERS["csv"](tmp_path / "out.csv").jobs
    assert status == 0
    assert [(j.id, j.submit_s, j.n_nodes) for j in jobs] == [(2, 0, 1), (5, 0, 1), (3, 50, 2)]
    assert "1 more than 3 nodes" in out
    assert "3 dropped jobs" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("synth", "--mean-nodes", 4),
        ("laas",),
        ("lublin", "--n-nodes", 64),
        ("hector-like", "--load", 0.5),
    ],
    ids=lambda arguments: arguments[0],
)
def test_equal_seeds_generate_equal_bytes(fabricsim, tmp_path, arguments):
    """And other seeds other ones; compressed, where a time stamp would differ."""
    name, *options = arguments
    for out, seed in (("a", 1), ("b", 1), ("c", 2)):
        done = fabricsim(
            "trace", "generate", name, f"{out}.swf.gz", *options, "--n-jobs", 50, "--seed", seed
        )
        assert done[0] == 0, done

    a, b, c = ((tmp_path / f"{out}.swf.gz").read_bytes() for out in "abc")
    assert a == b
    assert READERS["swf"](tmp_path / "a.swf.gz").jobs != READERS["swf"](tmp_path / "c.swf.gz").jobs
    assert a != c


WRONG = {
    "no file": (["inspect", "no.swf"], ["no.swf"]),
    "no format": (["inspect", "log.txt"], ["log.txt", "--format", "sacct"]),
    "standard input without format": (["inspect", "-"], ["--format"]),
    "unknown format": (["inspect", "log.swf", "--format", "x"], ["'x'", "swf"]),
    "bad arrivals": (["inspect", "log.swf", "--arrivals", "often"], ["often", "zero"]),
    "bad filter": (["inspect", "log.swf", "--max-nodes", "0"], ["max_nodes", "0"]),
    "bad machine": (["inspect", "log.swf", "--nodes", "0"], ["--nodes", "0"]),
    "itself": (["convert", "log.swf", "./log.swf"], ["log.swf", "another file"]),
    "bad target": (["convert", "log.swf", "log.xls"], ["log.xls", ".parquet"]),
    "no such folder": (["convert", "log.swf", "no/log.csv"], ["no/log.csv"]),
    "nothing left": (["convert", "log.swf", "x.csv", "--max-nodes", "1"], ["no job is left"]),
    "unknown generator": (["generate", "x", "x.swf"], ["'x'", "lublin"]),
    "missing argument": (["generate", "synth", "x.swf"], ["mean_nodes"]),
    "foreign argument": (["generate", "laas", "x.swf", "--load", "1"], ["'load'"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_one_line_and_writes_nothing(fabricsim, tmp_path, case):
    arguments, words = WRONG[case]
    before = sorted(path.name for path in tmp_path.iterdir())

    refused(fabricsim("trace", *arguments), *words)

    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_number_used_twice_is_told_with_its_line(fabricsim, tmp_path):
    (tmp_path / "log.swf").write_text(LOG.replace("\n5 0", "\n2 0"))

    refused(fabricsim("trace", "inspect", "log.swf"), "log.swf:5", "job number", "line 4")
