"""
Strict first come, first served against SimGrid: starts, ends, and CPU time.

Synthetic jobs with default communication on full fat-trees, on the lowest-numbered free nodes,
shares per flow, at most 20 iterations a job. SimGrid simulates the same jobs, which queue and nodes
included are its own. SimGrid's time is that of its simulation loop; ours is that of the event loop,
once kernels are loaded, that of a whole fresh Python process which reads the experiment and runs
it, and that of the whole command `fabricsim run`, which also writes tables and a report; both with
kernels compiled, medians of three. Needs g++ and SimGrid's C++ library (Debian: libsimgrid-dev;
another version: CPATH, LIBRARY_PATH, LD_LIBRARY_PATH); without them it says so and exits 0.
Exit status 1 if a job under `flow-level` starts or ends elsewhen than in SimGrid by more than 1e-6,
or the event loop takes more than a third of SimGrid's time. Then streams on a tapered tree, as
SimGrid cuts messages to whole bytes or to smaller parts. With a number, only streams of at most so
many jobs; below 300 nothing is written.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks import asking
from benchmarks.evidence import record
from benchmarks.speed.process import COMMAND, run_process
from coupling.inputs.experiment import Experiment
from coupling.rates.simulated import shaped
from coupling.runs.assembly import assemble
from coupling.runs.engine import run
from netsim.common.arrays import Floats
from netsim.flows.partition import Partition
from netsim.flowsim.snapshot import SLOWEST_DOES
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree
from scheduler.job import Job
from scheduler.traffic import PlacedTraffic, TrafficOf, rank_flows

SOURCE = Path(__file__).with_suffix(".cpp")
ROOT = Path(__file__).parents[1]
STREAMS = (
    (60, 8, "flow-level"),
    (300, 16, "flow-level"),
    (1000, 16, "fluid"),
)  # jobs, radix, model
TAPERED = (1, 4)  # seeds
PRECISION, REQUIRED, RECORDED = 1e-6, 3, 300
TIMES = 3
PROCESS = """
import sys
from pathlib import Path
from coupling.runs.engine import run
from coupling.inputs.experiment import Experiment
run(Experiment.read(Path(sys.argv[1])))
"""
TOML = """
[topology]
kind = "fat-tree"
radix = {radix}
bandwidth = "8 Gb/s"
latency = "none"
[workload]
generator = "synth"
mean_nodes = {mean}
n_jobs = {jobs}
[scheduler]
queue = "fcfs"
allocator = "first-free"
[network]
routing = "d-mod-k"
model = "{model}"
fairness = "per-flow"
[run]
self_check = false
"""


def simgrid_version() -> str | None:
    """Return the version of SimGrid's library that the compiler finds."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    asked = "#include <simgrid/version.h>\nSIMGRID_VERSION_MAJOR . SIMGRID_VERSION_MINOR\n"
    done = subprocess.run(  # noqa: S603 (our own source)
        [compiler, "-E", "-P", "-x", "c++", "-"],
        input=asked, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.splitlines()[-1].replace(" ", "") if done.returncode == 0 else None


def built(folder: Path) -> Path | None:
    """Compile the SimGrid side, or return None where that is impossible."""
    compiler, program = shutil.which("g++"), folder / "fcfs"
    if compiler is None:
        return None
    command = [compiler, "-O2", "-o", program, SOURCE, "-lsimgrid"]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 (our own source)
    return program if done.returncode == 0 else None


def described(job: Job, placed: PlacedTraffic | None) -> list[str]:
    """Write a job for SimGrid."""
    head = f"{job.submit_s!r} {job.n_nodes}"
    if job.communication is None or placed is None:
        return [f"{head} {job.runtime_s!r} 1 0"]
    count, scale = shaped(job.runtime_s, placed.ideal_s, SLOWEST_DOES)
    flows = rank_flows(job.communication.pattern, job.n_nodes)
    nbytes = placed.traffic.nbytes * scale
    first = np.flatnonzero(np.diff(flows.step, prepend=-1)).tolist()
    lines = [f"{head} {float(placed.traffic.compute_s * scale)!r} {count} {len(first)}"]
    for begin, end in zip(first, [*first[1:], flows.step.size], strict=True):
        lines.append(str(end - begin))
        rows = zip(
            flows.src[begin:end].tolist(), flows.dst[begin:end].tolist(),
            nbytes[begin:end].tolist(), strict=True,
        )  # fmt: skip
        lines += [f"{src} {dst} {size!r}" for src, dst, size in rows]
    return lines


def stream(experiment: Experiment) -> str:
    """Return the machine and the jobs for SimGrid."""
    parts = assemble(experiment)
    tree, jobs = parts.topology, parts.workload.jobs
    assert isinstance(tree, FatTree)
    traffic = TrafficOf(tree, DModK(tree))
    shape = [tree.levels, *tree.children, *tree.parents, *tree.parallel]
    lines = [" ".join(map(str, [*shape, float(tree.capacity[0]), len(jobs)]))]
    for job in jobs:  # bytes and compute time are the same on all nodes
        nodes = Partition(np.arange(job.n_nodes), None)
        lines += described(job, traffic(job.communication, nodes))
    return "\n".join(lines)


def simgrid(program: Path, text: str, *options: str) -> tuple[float, Floats, Floats]:
    """Return SimGrid's CPU seconds, starts and ends."""
    done = subprocess.run(  # noqa: S603 (the program compiled above)
        [program, *options], input=text, capture_output=True, text=True, check=True
    )
    seconds, *times = map(float, done.stdout.split())
    starts, ends = np.array(times).reshape(-1, 2).T
    return seconds, starts, ends


def ours(path: Path) -> tuple[tuple[float, float, float], Floats, Floats]:
    """Return CPU seconds of the event loop, of a process and of the command; starts and ends."""
    experiment = Experiment.read(path)
    results = [run(experiment) for _ in range(3)]  # the first loads or compiles the kernels
    jobs = results[-1].jobs.sort_values("id")
    loop_s = min(result.cost["cpu_coupled_s"] for result in results[1:])
    process_s = whole(lambda _: (PROCESS, str(path)))
    command_s = whole(lambda n: (COMMAND, "run", str(path), "--out", f"{path}.{n}"))
    times_s = loop_s, process_s, command_s
    return times_s, jobs["start_s"].to_numpy(), jobs["end_s"].to_numpy()


def whole(code: Callable[[int], tuple[str, ...]]) -> float:
    """Return the CPU seconds of fresh processes: the median, after one that is not counted."""
    times_s = [run_process(ROOT, ("-c", *code(number))).cpu_s for number in range(TIMES + 1)]
    return median(times_s[1:])


def apart(one: Floats, other: Floats) -> float:
    """Return the greatest relative difference of times."""
    return float(np.max(np.abs(one - other) / np.maximum(other, 1.0)))


def whole_bytes(program: Path, folder: Path) -> list[str]:
    """Return how far streams on a tapered tree come out apart, by what SimGrid cuts off sizes."""
    tree = {"kind": "fat-tree", "children": [4, 4, 8], "parents": [1, 2, 2]}
    tree |= {"bandwidth": "8 Gb/s", "latency": "none"}
    lines = ["| stream | in whole bytes | in parts of 2^-20 byte |", "| ---: | ---: | ---: |"]
    for seed in TAPERED:
        workload = {"generator": "synth", "mean_nodes": 8, "n_jobs": 200, "seed": seed}
        fields = {"queue": "fcfs", "allocator": "first-free", "routing": "d-mod-k"}
        experiment = Experiment(
            topology=tree,
            workload=workload,
            model="flow-level",
            fairness="per-flow",
            self_check=False,
            folder=folder,
            **fields,
        )
        jobs = run(experiment).jobs.sort_values("id")
        cells = []
        for units in ("1", "1048576"):
            _, starts, ends = simgrid(program, stream(experiment), units)
            far = apart(jobs["start_s"].to_numpy(), starts), apart(jobs["end_s"].to_numpy(), ends)
            cells.append(f"{max(far):.1e}")
        lines.append(f"| {seed} | {' | '.join(cells)} |")
    about = (
        "200 jobs on a tapered tree of 128 nodes under `flow-level`, greatest relative difference "
        "of a start or end. SimGrid sends whole bytes: it cuts the rest off, some 1e-10 of a "
        "message, and a stream makes more of it from job to job, as it does of rounding. Its "
        "precisions (`surf/precision`, `maxmin/precision`) do not decide it."
    )
    return [about, "", *lines]


def main() -> int:
    """Compare times and results."""
    most = asking.count(__doc__, "JOBS", STREAMS[-1][0], least=STREAMS[0][0])
    heads = ("jobs", "nodes", "model", "SimGrid (s)", "event loop (s)", "times faster")
    heads += ("process (s)", "times faster", "command (s)", "times faster", "starts and ends apart")
    lines = [f"| {' | '.join(heads)} |", "| ---: | ---: | --- |" + " ---: |" * 8]
    good = True
    with TemporaryDirectory(prefix="fabricsim-fcfs-") as name:
        folder = Path(name)
        program = built(folder)
        if program is None:
            print("skipped: needs g++ and SimGrid's C++ library (Debian: libsimgrid-dev)")
            return 0
        for n_jobs, radix, model in STREAMS:
            if n_jobs > most:
                continue
            path = folder / f"{n_jobs}-{model}.toml"
            path.write_text(TOML.format(radix=radix, mean=radix, jobs=n_jobs, model=model))
            times_s, starts, ends = ours(path)
            theirs_s, *theirs = simgrid(program, stream(Experiment.read(path)))
            far = max(apart(starts, theirs[0]), apart(ends, theirs[1]))
            good &= (far <= PRECISION or model != "flow-level") and REQUIRED * times_s[
                0
            ] <= theirs_s
            timed = " | ".join(f"{own_s:.3f} | {theirs_s / own_s:.3g}" for own_s in times_s)
            lines.append(
                f"| {n_jobs} | {radix**3 // 4} | {model} | {theirs_s:.2f} | {timed} | {far:.1e} |"
            )
            print(lines[-1], flush=True)
        bytes_matter = whole_bytes(program, folder)
    print("\n".join(bytes_matter))
    if most >= RECORDED:
        about = (
            "Synthetic jobs in strict order on the lowest-numbered free nodes of full fat-trees, "
            "default communication, at most 20 iterations a job, shares per flow. CPU seconds. "
            f"SimGrid {simgrid_version()}: its simulation loop alone. Event loop: ours, with "
            "ledgers, kernels loaded. Process: a fresh Python process, start and imports included, "
            "that reads the experiment and runs it; the result stays in memory. Command: "
            "`fabricsim run`, which also writes tables and the report. Both with kernels "
            "compiled, medians of three."
        )
        command = f"python -m benchmarks.simgrid_fcfs {most}"
        record("Strict order against SimGrid", command, [about, "", *lines, "", *bytes_matter])
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
