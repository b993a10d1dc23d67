"""What users wait for: whole commands with the default model, beside an older version."""

import argparse
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.evidence import record
from benchmarks.speed.process import STAR, cpu_s

TREE = {"kind": "fat-tree", "children": [22, 22, 22], "parents": [1, 22, 22]}  # 10,648 nodes
LEAVES = {"kind": "fat-tree", "children": [20, 500], "parents": [1, 29]}  # and 29 spines
RUN = """[topology]
kind = "fat-tree"
{tree}
[workload]
generator = "synth"
mean_nodes = {mean_nodes}
n_jobs = {jobs}
[scheduler]
queue = "easy"
allocator = "{allocator}"
{rest}
"""
PATTERNS = (
    {"name": "stencil", "dims": 2, "nbytes": "1 MiB"},
    {"name": "all-to-all", "nbytes": "64 KiB"},
    {"name": "ring", "nbytes": "1 MiB"},
    {"name": "recursive-doubling", "nbytes": "1 MiB"},
)
ROOT = Path(__file__).parents[2]


def rows(folder: Path, log: Path | None) -> dict[str, tuple[str, Sequence[str]]]:
    """Write the inputs; return what is wanted and the command, empty without its log, by row."""
    large = "children = [22, 22, 22]\nparents = [1, 22, 22]"
    files = {
        "large": (large, 28, 4000, "random", ""),
        "null4": ("radix = 18", 16, 4000, "first-free", '[network]\nmodel = "null"'),
        "null20": ("radix = 18", 16, 20_000, "first-free", '[network]\nmodel = "null"'),
        "first": ("radix = 16", 16, 300, "first-free", ""),
    }
    for name, values in files.items():
        names = ("tree", "mean_nodes", "jobs", "allocator", "rest")
        text = RUN.format(**dict(zip(names, values, strict=True)))
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    (folder / "fabric.json").write_text(json.dumps(TREE), encoding="utf-8")
    snapshot(folder / "small.json", {"kind": "fat-tree", "radix": 20}, 2000, 300)
    snapshot(folder / "wide.json", TREE, 10_648, 2000)
    snapshot(folder / "leaves.json", LEAVES, 10_000, 2000)
    squeue(folder / "squeue.json", 10_648, 2000)

    def run(name: str, *more: str) -> Sequence[str]:
        return ("run", f"{folder}/{name}.toml", "--out", "OUT", *more)

    site = ("--topology", f"{folder}/fabric.json", "--squeue", f"{folder}/squeue.json")
    whole = log is not None
    found = {
        "10,648 nodes, 4,000 jobs, random": ("0.6", run("large")),
        "the same, no attribution": ("0.8", run("large", "--set", "run.attribution=false")),
        "EASY without network, 4,000 jobs, 1,458 nodes": ("", run("null4")),
        "EASY without network, 20,000 jobs": ("", run("null20")),
        "first run of 300 jobs, nothing compiled": ("12 s", run("first")),
        "whatif --each-switch, 500 switches, 300 jobs": (
            "20 s",
            ("whatif", f"{folder}/small.json", "--each-switch"),
        ),
        "whatif --each-switch, 529 switches, 2,000 jobs, 10,000 nodes": (
            "120 s",
            ("whatif", f"{folder}/leaves.json", "--each-switch"),
        ),
        "the same, 1,452 switches, 10,648 nodes": (
            "",
            ("whatif", f"{folder}/wide.json", "--each-switch"),
        ),
        "place 32, 10,648 nodes, 2,000 jobs": ("6 s", ("place", "--nodes", "32", *site)),
        "now, 10,648 nodes, 2,000 jobs": ("5 s", ("now", *site)),
        STAR: ("0.3 s", (STAR,)),
        "--help": ("0.2 s", ("--help",)),
        "estimate, small": ("1.1 s", ("estimate", str(ROOT / "examples/placed_jobs.json"))),
    }
    for allocator in ("random", "jigsaw", "first-free"):
        if whole:
            for name in ("thunder.toml", "mixed.toml"):
                shutil.copy(ROOT / "examples" / name, folder)
        chosen = ("--set", f"workload.path={log}", "--set", f"scheduler.allocator={allocator}")
        found[f"Thunder, {allocator}"] = ("0.7", run("thunder", *chosen) if whole else ())
    return found


def snapshot(path: Path, fabric: dict[str, object], n_nodes: int, n_jobs: int) -> None:
    """Write jobs of four patterns on random nodes."""
    jobs = [
        {"id": number, "nodes": own, "pattern": PATTERNS[number % 4], "comm_fraction": 0.3}
        for number, own in enumerate(placed(n_nodes, n_jobs))
    ]
    path.write_text(json.dumps({"topology": fabric, "jobs": jobs}), encoding="utf-8")


def squeue(path: Path, n_nodes: int, n_jobs: int) -> None:
    """Write running jobs on random nodes as Slurm does."""
    jobs = [
        {
            "job_id": number + 1,
            "job_state": ["RUNNING"],
            "nodes": f"n[{','.join(map(str, own))}]",
            "node_count": {"set": True, "number": len(own)},
            "submit_time": {"set": True, "number": 1_700_000_000},
            "start_time": {"set": True, "number": 1_700_000_100},
            "time_limit": {"set": True, "number": 1440},
        }
        for number, own in enumerate(placed(n_nodes, n_jobs))
    ]
    path.write_text(json.dumps({"jobs": jobs}), encoding="utf-8")


def placed(n_nodes: int, n_jobs: int) -> list[list[int]]:
    """Return random nodes of jobs that take four fifths of a machine."""
    chance = np.random.default_rng(1)
    sizes = np.clip(chance.geometric(n_jobs / (0.8 * n_nodes), n_jobs), 2, None)
    ends = np.cumsum(sizes)
    parts = np.split(chance.permutation(n_nodes), ends[ends < n_nodes])
    return [sorted(own.tolist()) for own in parts[:n_jobs] if own.size > 1]


def table(options: argparse.Namespace) -> None:
    """Time what users wait for; rows whose name has none of the words are left unmeasured."""
    trees = [ROOT, *([options.old] if options.old else [])]
    lines = [
        "| work | before (s) | now (s) | ratio | wanted |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, (wanted, command) in rows(Path(folder), options.log).items():
            # of no such option, or of more than 400 s
            alone = "run.attribution=false" in command or " switches, 2,000" in name
            known = trees[:1] if alone else trees
            times: list[list[float]] = [[] for _ in known]
            chosen = not options.only or any(word in name for word in options.only)
            for _ in range(options.runs if command and chosen else 0):
                for own, tree in zip(times, known, strict=True):
                    own.append(cpu_s(tree, name, command))
            lines.append(f"| {name} | {cells(times)} | {wanted or '-'} |")
            print(lines[-1], flush=True)
    only = f" --only {' '.join(options.only)}" if options.only else ""
    command_line = f"python -m benchmarks.speed table --log FILE --old TREE{only}"
    page = ROOT / "docs" / "research" / "timings.md"
    what = f"CPU seconds, user and system, of whole commands; medians of {options.runs}."
    record("What users wait for", command_line, [what, "", *lines], path=page)


def cells(times: Sequence[Sequence[float]]) -> str:
    """Write the medians of the older version and of this one, and the median ratio."""
    if not times[0]:
        return "- | not measured | -"
    now = f"{np.median(times[0]):.2f}"
    if len(times) == 1:
        return f"- | {now} | -"
    ratio = np.median(np.divide(times[0], times[1]))
    return f"{np.median(times[1]):.2f} | {now} | {ratio:.2f}"
