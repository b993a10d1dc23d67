"""How time and memory grow with the work, and what two workers and large fabrics cost."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from math import log2
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.evidence import record
from benchmarks.speed.process import COMMAND, Process, repeated, run_process
from coupling.inputs.experiment import Experiment
from coupling.inputs.snapshot import read_snapshot
from coupling.runs.engine import run
from coupling.site.estimate import estimate
from netsim.common.arrays import Floats

ROOT = Path(__file__).parents[2]
ROUTES = """
import time
import numpy as np
from netsim import make_routing, make_topology
fabric = make_topology({"kind": "fat-tree", "children": [32, 128], "parents": [8, 32],
                        "bandwidth": "100 Gb/s"})
nodes = np.arange(fabric.n_nodes).repeat(8)
ends = nodes, np.random.default_rng(1).permutation(nodes)
make_routing("d-mod-k", fabric).routes(*ends)
routing = make_routing("shortest", fabric)
begin = time.process_time()
routing.routes(*ends)
print(time.process_time() - begin)
"""
FINISH = """
import importlib, json, sys, time
import numpy as np
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import fat_tree_of_radix
places = "netsim.flows", "netsim.flowsim.flow_report"
found = (getattr(importlib.import_module(place), "finish_times", None) for place in places)
finish_times = next(filter(None, found))
fairness, radix, *grid = json.loads(sys.argv[1])
tree = fat_tree_of_radix(radix, 1e9)
ranks = np.random.default_rng(1).permutation(tree.n_nodes)[: np.prod(grid)].reshape(grid)
ends = np.concatenate([np.roll(ranks, by, axis).ravel() for axis in range(3) for by in (-1, 1)])
sources = np.tile(ranks.ravel(), 6)
routes, nbytes = DModK(tree).routes(sources, ends), np.full(ends.size, 1e8)
for _ in range(2):  # the first loads or compiles the kernel
    begin = time.process_time()
    _, finish_s = finish_times(routes, sources, nbytes, tree.capacity, fairness=fairness)
    took_s = time.process_time() - begin
np.save(sys.argv[2], np.append(finish_s, took_s))
"""
STENCILS = {1024: (16, 8, 8, 16), 4096: (28, 16, 16, 16)}  # radix of the tree, grid
MACHINES: dict[int, dict[str, Any]] = {
    1458: {"kind": "fat-tree", "radix": 18},
    5488: {"kind": "fat-tree", "radix": 28},
    10_648: {"kind": "fat-tree", "children": [22, 22, 22], "parents": [1, 22, 22]},
}
DRAGONFLIES = ((289, 24, 12), (969, 44, 22), (1059, 46, 23))  # groups, routers, nodes a router
PLAIN = {"NUMBA_CPU_NAME": "generic", "PYTHONHASHSEED": "1"}  # known to Valgrind; repeatable
OLD_CAN = 100_000  # nodes that the older version inspects without gigabytes
MIX = """topology = "synth-1024"
[workload]
generator = "synth"
mean_nodes = 16
n_jobs = {jobs}
[scheduler]
queue = "easy"
[compare]
allocators = ["first-free", "jigsaw", "random", "balanced"]
"""
THUNDER = """topology = {{kind = "fat-tree", radix = 18}}
[workload]
path = "{log}"
processors_per_node = 4
estimates = "runtime"
[scheduler]
queue = "easy"
allocator = "jigsaw"
[network]
routing = "jigsaw"
model = "fluid"
"""


def fabrics(options: argparse.Namespace) -> None:
    """Time what large fabrics cost: inspection of dragonflies, shortest routes on rails."""
    lines = [
        "| work | before (s) | before (MiB) | now (s) | now (MiB) |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for groups, routers, per_router in DRAGONFLIES:
            path = Path(folder) / "dragonfly.json"
            kind = {"kind": "dragonfly", "groups": groups, "routers": routers}
            fabric = {**kind, "nodes_per_router": per_router, "bandwidth": "100 Gb/s"}
            path.write_text(json.dumps({"topology": fabric}), encoding="utf-8")
            command = ("-c", COMMAND, "topology", "inspect", str(path))
            n_nodes = groups * routers * per_router
            known = options.old if n_nodes <= OLD_CAN else None
            cells = [taken(run_process(tree, command)) for tree in (known, ROOT) if tree]
            before = cells[0] if known else "- | -"
            name = f"`topology inspect`, dragonfly of {n_nodes:,} nodes"
            lines.append(f"| {name} | {before} | {cells[-1]} |")
            print(lines[-1], flush=True)
    before = f"{routed_s(options.old, options.runs):.2f}" if options.old else "-"
    now = f"{routed_s(ROOT, options.runs):.2f}"
    work = "routes by `shortest`, 4,096 nodes of 8 rails, a flow a rail"
    lines.append(f"| {work} | {before} | - | {now} | - |")
    print(lines[-1])
    record("Large fabrics", "python -m benchmarks.speed fabrics --old TREE", lines)


def routed_s(tree: Path, runs: int) -> float:
    """Return the CPU seconds of the routes of rails in a version of the project."""
    return median(float(run_process(tree, ("-c", ROUTES)).printed) for _ in range(runs))


def finish(options: argparse.Namespace) -> None:
    """Time when the flows of a stencil end that share per flow, and per sender."""
    lines = [
        "Finish times of a 3D stencil with its ranks at random on a full tree, arrays built from",
        "routes included, in turn with the older version; *apart*: greatest relative difference.",
        "",
        "| ranks | shares | ends | before (s) | now (s) | now / before | apart |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    trees = options.old, ROOT
    for n_ranks, shape in STENCILS.items():
        for fairness in ("per-flow", "per-sender"):
            what = json.dumps([fairness, *shape])
            runs = np.array([[finished(tree, what) for tree in trees] for _ in range(options.runs)])
            before_s, now_s = np.median(runs[:, :, -1], axis=0)
            ratio = np.median(runs[:, 1, -1] / runs[:, 0, -1])
            before, now = runs[0, :, :-1]
            cells = (n_ranks, fairness, f"{np.unique(now).size:,}", f"{before_s:.4f}")
            cells += (f"{now_s:.4f}", f"{ratio:.2f}", f"{np.max(np.abs(now / before - 1)):.1e}")
            lines.append(f"| {' | '.join(map(str, cells))} |")
            print(lines[-1], flush=True)
    record("Finish times", "python -m benchmarks.speed finish --old TREE", lines)


def finished(tree: Path, what: str) -> Floats:
    """Return finish times in a version of the project, and after them the CPU seconds they took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "finish.npy"
        run_process(tree, ("-c", FINISH, what, str(path)))
        times: Floats = np.load(path)
    return times


def taken(done: Process) -> str:
    """Write what a process took as two cells."""
    return f"{done.cpu_s:.1f} | {done.peak_mib:.0f}"


def workers(options: argparse.Namespace) -> None:
    """Count what four compared allocators take in one process, and in two workers."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "four.toml"
        path.write_text(MIX.format(jobs=options.jobs), encoding="utf-8")
        found = {}
        for count in (1, 2):
            for _ in range(2):  # the first may compile
                with tempfile.TemporaryDirectory() as folder:
                    command = ["run", str(path), "--workers", str(count), "--out", f"{folder}/out"]
                    found[count] = run_process(ROOT, ("-c", COMMAND, *command))
    alone, both = found[1], found[2]
    busiest = sorted(both.children_s, reverse=True)
    parent_s = both.cpu_s - sum(busiest)
    path_s = parent_s + busiest[0]
    shown = ", ".join(f"{s:.1f}" for s in busiest)
    parts = (f"{both.cpu_s:.1f}", f"{parent_s:.1f}", shown)
    lines = [
        f"{options.jobs:,} jobs on 1024 nodes under four allocators, CPU seconds. *Path*: the",
        "parent and its busiest worker, which is what a machine with idle cores would wait for.",
        "",
        "| workers | all processes | parent | workers | path | times as fast |",
        "| ---: | ---: | ---: | --- | ---: | ---: |",
        f"| 1 | {alone.cpu_s:.1f} | {alone.cpu_s:.1f} | - | {alone.cpu_s:.1f} | 1 |",
        f"| 2 | {' | '.join((*parts, f'{path_s:.1f}', f'{alone.cpu_s / path_s:.2f}'))} |",
    ]
    print("\n".join(lines))
    command_line = f"python -m benchmarks.speed workers --jobs {options.jobs}"
    record("Two workers", command_line, lines)


def growth(options: argparse.Namespace) -> None:
    """
    Find by which power CPU time grows with jobs, nodes, and jobs of a snapshot.

    Sizes come in turns, as a machine with other users is not always equally fast.
    """
    works: dict[str, tuple[Sequence[int], Callable[[int], object]]] = {
        "jobs of a run, 1458 nodes, jigsaw": ((2000, 4000, 8000), run_jobs),
        "nodes of a run, 2000 jobs of 1/64 of them each": ((1024, 2000, 4394), run_nodes),
        "nodes of a run, 2000 jobs of 28 each, random": (tuple(MACHINES), run_larger),
        "jobs of a snapshot, 4 nodes each, on 5488": ((320, 640, 1280), snapshot_of),
        "jobs of a snapshot, and nodes of its machine, 4 a job": ((256, 500, 1098), machine_of),
    }
    lines = [
        "| of | sizes | CPU (s) | exponent | last step |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    for name, (sizes, work) in works.items():
        timed(work, sizes[0])  # what is loaded or compiled is so then
        turns = [[timed(work, size) for size in sizes] for _ in range(options.runs)]
        times = [median(of_size) for of_size in zip(*turns, strict=True)]
        slope, last = (
            log2(times[-1] / times[first]) / log2(sizes[-1] / sizes[first]) for first in (0, -2)
        )
        shown = (", ".join(f"{s:,}" for s in sizes), ", ".join(f"{t:.2f}" for t in times))
        lines.append(f"| {name} | {' | '.join(shown)} | {slope:.2f} | {last:.2f} |")
        print(lines[-1], flush=True)
    record("Growth", "python -m benchmarks.speed growth", lines)


def instructions(options: argparse.Namespace) -> None:
    """Count by Valgrind what further jobs of a run cost: no cache and no neighbour is in that."""
    lines = [
        "Instructions of whole processes, kernels compiled for any processor, as Valgrind counts",
        "them: where each further job costs the same, what grows is the time of instructions,",
        "by caches of the processor and by what else runs, not the work.",
        "",
        "| jobs | instructions (10^9) | for each job more (10^6) |",
        "| ---: | ---: | ---: |",
    ]
    before: tuple[int, int] | None = None
    with tempfile.TemporaryDirectory() as name:
        for n_jobs in options.sizes:
            code = f"from benchmarks.speed.scale import run_jobs; run_jobs({n_jobs})"
            counted = counted_instructions(code, Path(name) / "counted")
            more = "-"
            if before is not None:
                more = f"{(counted - before[1]) / (n_jobs - before[0]) / 1e6:.2f}"
            before = (n_jobs, counted)
            lines.append(f"| {n_jobs:,} | {counted / 1e9:.2f} | {more} |")
            print(lines[-1], flush=True)
    sizes = " ".join(map(str, options.sizes))
    command = f"python -m benchmarks.speed instructions --sizes {sizes}"
    record("Instructions of longer runs", command, lines)


def counted_instructions(code: str, told: Path) -> int:
    """Return the instructions of a process; what it compiles is compiled before it is counted."""
    python = [sys.executable, "-c", code]
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={told}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **PLAIN}
    for command in (python, [*valgrind, *python]):
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)  # noqa: S603
    (total,) = re.findall(r"^summary: (\d+)", told.read_text(encoding="utf-8"), re.MULTILINE)
    return int(total)


def timed(work: Callable[[int], object], size: int) -> float:
    """Return the CPU seconds of work of a size."""
    begin = time.process_time()
    work(size)
    return time.process_time() - begin


def run_jobs(n_jobs: int) -> None:
    """Run so many jobs."""
    run(experiment(18, 16, n_jobs))


def run_nodes(n_nodes: int) -> None:
    """Run jobs on so many nodes, of sizes that grow with them."""
    radix = round((4 * n_nodes) ** (1 / 3))
    run(experiment(radix, n_nodes // 64, 2000))


def run_larger(n_nodes: int) -> None:
    """Run jobs of one size at random on so many nodes."""
    run(
        Experiment(
            topology=MACHINES[n_nodes],
            workload={"generator": "synth", "mean_nodes": 28, "n_jobs": 2000},
            allocator="random",
            self_check=False,
        )
    )


def experiment(radix: int, mean_nodes: int, n_jobs: int) -> Experiment:
    """Return a coupled run without what it is checked against."""
    return Experiment(
        topology={"kind": "fat-tree", "radix": radix},
        workload={"generator": "synth", "mean_nodes": mean_nodes, "n_jobs": n_jobs},
        allocator="jigsaw",
        routing="jigsaw",
        model="fluid",
        self_check=False,
    )


def machine_of(n_jobs: int) -> None:
    """Estimate so many jobs on a machine that they fill."""
    snapshot_of(n_jobs, radix=round((16 * n_jobs) ** (1 / 3)))


def snapshot_of(n_jobs: int, radix: int = 28) -> None:
    """Estimate so many jobs of four nodes, placed at random on a full tree."""
    n_nodes = radix**3 // 4
    nodes = np.random.default_rng(1).permutation(n_nodes)[: 4 * n_jobs].reshape(n_jobs, 4)
    pattern = {"name": "stencil", "dims": 2, "nbytes": "1 MiB"}
    document = {
        "topology": {"kind": "fat-tree", "radix": radix},
        "jobs": [
            {"id": number, "nodes": sorted(own), "pattern": pattern, "comm_fraction": 0.5}
            for number, own in enumerate(nodes.tolist())
        ],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "placed.json"
        path.write_text(json.dumps(document), encoding="utf-8")
        estimate(read_snapshot(path))


def memory(options: argparse.Namespace) -> None:
    """Find the peak memory of runs of a log, and what each further job adds."""
    lines = [
        "| jobs | CPU (s) | peak (MiB) | KiB for each job more |",
        "| ---: | ---: | ---: | ---: |",
    ]
    before: tuple[int, float] | None = None
    for n_jobs in options.sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            log = repeated(options.log, n_jobs, folder)
            path = folder / "run.toml"
            path.write_text(THUNDER.format(log=log), encoding="utf-8")
            done = run_process(ROOT, ("-c", COMMAND, "run", str(path), "--out", f"{folder}/out"))
        more = "-"
        if before is not None:
            more = f"{(done.peak_mib - before[1]) * 1024 / (n_jobs - before[0]):.2f}"
        before = (n_jobs, done.peak_mib)
        lines.append(f"| {n_jobs:,} | {done.cpu_s:.0f} | {done.peak_mib:.0f} | {more} |")
        print(lines[-1], flush=True)
    sizes = " ".join(map(str, options.sizes))
    record(
        "Memory of long runs",
        f"python -m benchmarks.speed memory --log FILE --sizes {sizes}",
        lines,
    )
