"""EASY without a network beside CQSim: whole commands on the same jobs, in turn."""

import argparse
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.evidence import record
from benchmarks.speed.process import COMMAND, run_process
from scheduler.workload import read_swf, write_swf

ROOT = Path(__file__).parents[2]
CASES = (  # jobs, factor of arrival times, logs written, ratio wanted, most runs
    (4000, 0.3, False, 2, 9),
    (4000, 0.3, True, 2, 9),
    (20_000, 0.5, False, 6, 9),
    (20_000, 0.5, True, 6, 9),
    (20_000, 0.4, False, 6, 1),
)
NAMES = "path_in=InputFiles/ path_out=Results/ path_fmt=Fmt/ path_debug=Debug/ pre_name=C_"
NAMES += " ext_fmt_j=.j ext_fmt_n=.n ext_fmt_j_c=.jc ext_fmt_n_c=.nc ext_jr=.rst ext_si=.ult"
NAMES += " ext_ai=.adp ext_debug=.log"
SYSTEM = "cluster_fraction=1.0 start=0 start_date= anchor=0 read_num=-1 alg=w alg_sign=0 backfill=1"
SYSTEM += " bf_para= win=0 win_para=5,0,0 ad_win=0 ad_bf=0 ad_alg=0 ad_win_para= ad_bf_para="
SYSTEM += " ad_alg_para= config_n=config_n.set job_trace=log.swf node_struc=log.swf"
LOGS = {False: (" debug_lvl=0 monitor=", "1000"), True: (" debug_lvl=3 monitor=500", "1")}
THEIRS = """
import os, runpy, sys
sys.stdout = open(os.devnull, "w")
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""
OURS = """topology = {{kind = "fat-tree", radix = 18}}
workload = {{path = "data/InputFiles/log.swf"}}
scheduler = {{queue = "easy", window = {jobs}}}
network = {{model = "null"}}
"""
ELSEWHEN_S = 1e-3
HEADS: tuple[str, ...] = ("jobs", "arrivals", "CQSim's logs", "jobs that wait", "mean wait (s)")
HEADS += ("CQSim (s)", "ours (s)", "times as fast", "wanted", "other starts")


def cqsim(options: argparse.Namespace) -> None:
    """Time EASY without a network in turn with CQSim, and compare the starts."""
    lines = [f"| {' | '.join(HEADS)} |", "|" + " ---: |" * 2 + " --- |" + " ---: |" * 7]
    for n_jobs, arrivals, logs, wanted, most in CASES:
        seen = ["-"] * 2 + ["not measured"] + ["-"] * 3
        if options.cqsim and options.log:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                write_inputs(folder, options.log, n_jobs, arrivals, LOGS[logs][0])
                program = f"{options.cqsim.resolve()}/src/cqsim.py"
                jobs = ("-j", "log.swf", "-n", "log.swf", "-I", LOGS[logs][1])
                command = ("-c", THEIRS, program, *jobs)
                seen = measured(folder, command, min(most, options.runs))
        row = (f"{n_jobs:,}", arrivals, "written" if logs else "off", *seen[:-1], wanted, seen[-1])
        lines.append(f"| {' | '.join(map(str, row))} |")
        print(lines[-1], flush=True)
    if not (options.cqsim and options.log):
        return
    about = f"""CPU seconds, user and system, of whole commands in turn: medians of {options.runs}, of the last
row one run; CQSim {version(options.cqsim)}. The first jobs of Thunder on 1,458 nodes under EASY, model `null`; times
of arrival by a factor, run times known, each waiting job tried, fractions of a second added by
chance: where events fall on one instant, CQSim schedules after each, and some starts differ. Its
logs as shipped, or off."""  # noqa: E501 (a page)
    page = ROOT / "docs" / "research" / "timings.md"
    command_line = "python -m benchmarks.speed cqsim --log FILE --cqsim SOURCES"
    record("Beside CQSim", command_line, [about, "", *lines], path=page)


def version(tree: Path) -> str:
    """Return the commit of CQSim's sources, where they are a checkout of their own."""
    if not (tree / ".git").exists():
        return "of no known commit"
    command = ["git", "-C", str(tree), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.strip()


def write_inputs(folder: Path, log: Path, n_jobs: int, arrivals: float, logs: str) -> None:
    """Write the first jobs of the log for both, no two events of which fall on one instant."""
    for name in ("data/InputFiles", "run/Config"):
        (folder / name).mkdir(parents=True)
    late, longer = np.random.default_rng(1).random((2, n_jobs)).round(6).tolist()
    found = read_swf(log, processors_per_node=4, arrivals=arrivals).jobs[:n_jobs]
    jobs = []
    for job, late_s, more_s in zip(found, late, longer, strict=True):
        run_s = job.runtime_s + more_s
        at_s = round(job.submit_s + late_s, 6)
        jobs.append(replace(job, submit_s=at_s, runtime_s=run_s, requested_s=run_s))
    jobs.sort(key=lambda job: job.submit_s)
    write_swf(folder / "data/InputFiles/log.swf", jobs, ["MaxNodes: 1458", "MaxProcs: 1458"])
    for name, settings in (("config_n", NAMES), ("config_sys", SYSTEM + logs)):
        text = "\n".join([*settings.split(" "), ""])
        (folder / f"run/Config/{name}.set").write_text(text, encoding="utf-8")
    (folder / "ours.toml").write_text(OURS.format(jobs=n_jobs), encoding="utf-8")


def measured(folder: Path, theirs: tuple[str, ...], runs: int) -> list[str]:
    """Return waits, CPU seconds, their ratio, and how many jobs start elsewhen."""
    times = []
    for number in range(runs):
        ours = ("-c", COMMAND, "run", f"{folder}/ours.toml", "--out", f"{folder}/{number}")
        times.append((run_process(folder / "run", theirs).cpu_s, run_process(ROOT, ours).cpu_s))
    (path,) = (folder / "0").rglob("jobs.parquet")
    here = pd.read_parquet(path).set_index("id")
    there = pd.read_csv(folder / "data/Results/log.rst", sep=";", header=None, index_col=0)
    wait_s = here["start_s"] - here["submit_s"]
    apart = (wait_s - there[5][here.index]).abs() > ELSEWHEN_S
    cpu_s = np.median(times, axis=0)
    ratio = np.median([there_s / here_s for there_s, here_s in times])
    waits = (f"{(wait_s > 0).mean():.0%}", f"{wait_s.mean():.0f}")
    return [*waits, *(f"{s:.2f}" for s in cpu_s), f"{ratio:.2f}", f"{apart.sum():,}"]
