"""
Coupled runs replayed in SimGrid, flow by flow: how long each job took there, and here.

Runs 200 synthetic jobs on a full fat-tree of 128 nodes under random and isolating placement,
exports each run with `fabricsim export --to simgrid`, and lets SimGrid replay it: jobs start when
they did, and end as its network has them. Shares are per flow, as SimGrid's are. Needs g++ and
SimGrid's C++ library (Debian: libsimgrid-dev); where they are absent it says so and exits 0. Exit
status 1 if an isolated job takes 2 % longer or shorter in SimGrid, or the mean error of
`flow-level` is above 4 %.
"""

import io
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from benchmarks import asking
from benchmarks.evidence import record
from benchmarks.simgrid_fcfs import simgrid_version
from coupling.inputs.experiment import Experiment
from coupling.report.exchange import PLATFORM, PLAYER, SCHEDULE, simgrid_files
from coupling.runs.campaign import run_campaign
from coupling.runs.retrace import retrace
from coupling.runs.stored import Stored

RUNS = (
    ("jigsaw", "fluid"),
    ("random", "fluid"),
    ("random", "fluid"),
    ("random", "fluid"),
    ("random", "flow-level"),
)
ISOLATED, EXACT = 0.02, 0.04
CONTENDED = 1.05


def experiment(allocator: str, model: str) -> Experiment:
    """Return a run."""
    return Experiment(
        topology={"kind": "fat-tree", "radix": 8},
        workload={"generator": "synth", "mean_nodes": 8, "n_jobs": 200, "seed": 1},
        estimates="runtime",
        allocator=allocator,
        model=model,
        fairness="per-flow",
        self_check=False,
    )


def replayed(stored: Stored, folder: Path) -> pd.DataFrame:
    """Return SimGrid's table of jobs."""
    folder.mkdir()
    for name, text in simgrid_files(retrace(stored)).items():
        (folder / name).write_text(text)
    program = folder / "replay"
    build = ["g++", "-O2", "-o", program, folder / PLAYER, "-lsimgrid"]
    subprocess.run(build, check=True)  # noqa: S603 (our own source)
    done = subprocess.run(  # noqa: S603 (the program compiled above)
        [program, folder / PLATFORM, folder / SCHEDULE], capture_output=True, text=True, check=True
    )
    return pd.read_csv(io.StringIO(done.stdout), index_col="job_id")


def agreement(ours: pd.DataFrame, theirs: pd.DataFrame) -> dict[str, float]:
    """Return how interference in SimGrid and here agree, over jobs that communicate."""
    ours = ours[ours["comm_fraction"] > 0].set_index("id")
    here = ours["interference"]
    took_s = (theirs["finish_time"] - theirs["starting_time"])[ours.index]
    there = took_s * here / (ours["end_s"] - ours["start_s"])
    met = there > CONTENDED
    error = (here / there - 1.0).abs()
    return {
        "jobs": len(here),
        "there": float(there.mean()),
        "error": float(error.mean()),
        "contended": float(error[met].mean()) if met.any() else 0.0,
        "worst": float(error.max()),
        "bias": float((here - 1.0).sum() / (there - 1.0).sum()),
        "rank": float(here.rank().corr(there.rank())) if here.max() > 1.0 else 1.0,
    }


def main() -> int:
    """Run, replay, compare."""
    version = simgrid_version()
    if version is None:
        print("skipped: needs g++ and SimGrid's C++ library (Debian: libsimgrid-dev)")
        return 0
    lines = [
        "| placement | model | jobs | in SimGrid | mean error | contended | worst | bias | rank |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    good = True
    with TemporaryDirectory(prefix="fabricsim-simgrid-") as desk:
        for allocator, model in RUNS:
            folder = Path(desk) / f"{allocator}-{model}"
            run_campaign(experiment(allocator, model), folder)
            stored = Stored.open(folder)
            found = agreement(stored.results()[0].jobs, replayed(stored, folder / "simgrid"))
            isolated = allocator != "random"
            good &= not isolated or found["worst"] <= ISOLATED
            good &= model != "flow-level" or found["error"] <= EXACT
            ends = " | " if isolated else f"{found['bias']:.2f} | {found['rank']:.2f}"
            lines.append(
                f"| {allocator} | {model} | {found['jobs']} | {found['there']:.3f} | "
                f"{found['error']:.1%} | {found['contended']:.1%} | {found['worst']:.1%} | {ends} |"
            )
    print("\n".join(lines))
    about = (
        "200 synthetic jobs on a full fat-tree of 128 nodes, default communication, shares per "
        f"flow. SimGrid {version} simulates every flow of at most 20 iterations a job, from the "
        "starts of our run on; *in SimGrid*: mean time there over the time alone. *Bias*: our "
        f"excess over SimGrid's; *contended*: above {CONTENDED} in SimGrid."
    )
    record(
        "Coupled runs replayed in SimGrid",
        "python -m benchmarks.simgrid_replay",
        [about, "", *lines],
    )
    return int(not good)


if __name__ == "__main__":
    asking.nothing(__doc__)
    sys.exit(main())
