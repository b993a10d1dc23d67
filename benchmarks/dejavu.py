"""
Repeat Yang: what the shape of an allocation costs, and its two queue policies.

Usage: python -m benchmarks.dejavu --logs FOLDER [--jobs N] [--only shapes|policies] [--out FOLDER]

FOLDER holds SDSC-BLUE-2000-4.2-cln.swf.gz of the Parallel Workloads Archive and
iitk-3000/intrepid.csv (columns job, submit, runtime, nodes). Writes a section of docs/papers.md;
with --only it prints that part and writes nothing. Finished runs are kept in the folder of --out.
Takes about six minutes of CPU.

The draft's tables of results are empty and its figures are marked obsolete, so there are no
numbers to compare with: what stands beside ours are its statements.
"""

import argparse
import csv
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from benchmarks.dejavu_shapes import HYBRID, shape_lines
from benchmarks.evidence import PAPERS, record
from coupling.experiments.assembly import assemble
from coupling.experiments.engine import run_parts
from coupling.experiments.experiment import Experiment
from scheduler.allocators.torus.shapes import Box
from scheduler.workload import make_workload

SECTION = "Shapes, Reckless and Cautious (Yang et al., Deja Vu)"
WIDTH = 100  # characters of a line
SAMPLES, N_JOBS = 3, 400
A2A: Mapping[str, Any] = {"name": "all-to-all"}
NN: Mapping[str, Any] = {"name": "nearest-neighbor"}


@dataclass(frozen=True)
class Policy:
    """A row of the tables of policies."""

    label: str
    queue: str
    allocator: str
    reservation: str | None = None


CC = Policy("CC", "easy", "compact-contiguous")
NC = Policy("NC", "easy", "non-contiguous")
POLICIES = (
    CC,
    NC,
    Policy("chunks, EASY", "easy", "torus-chunk"),
    Policy("chunks, EASY, R3", "easy", "torus-chunk", "R3"),
    Policy("Reckless", "reckless", "torus-chunk"),
    Policy("Cautious", "cautious", "torus-chunk"),
    Policy("Reckless or NC", "reckless", "non-contiguous"),
    Policy("Cautious or NC", "cautious", "non-contiguous"),
)


@dataclass(frozen=True)
class Scene:
    """A log on a torus, with how much of their time its jobs communicate."""

    title: str
    log: str
    dims: Box
    divide: int  # logged nodes or processors per node of the torus
    dense: float  # factor on logged arrival times
    fraction: tuple[float, float]
    model: str = "fast"


INTREPID = ("Intrepid", "intrepid", (16, 8, 8), 32, 0.5)
SCENES = (
    Scene(*INTREPID, (0.1, 0.5)),
    Scene(*INTREPID, (0.1, 0.5), "null"),
    Scene(*INTREPID, (0.5, 0.9)),
    Scene("SDSC-BLUE", "blue", (12, 12, 8), 1, 0.4, (0.1, 0.5)),
)
DENSEST = 256  # nodes of the largest job with A2A: the flows grow with the square


def profile(fraction: tuple[float, float]) -> Mapping[str, Any]:
    """Return a third of the jobs A2A, a third NN, a third a hybrid of equal bytes of both."""
    common = {"comm_fraction": {"uniform": list(fraction)}}
    small = common | {"match": {"min_nodes": 2, "max_nodes": DENSEST}}
    rules = [
        small | {"chance": 1 / 3, "pattern": A2A, "bytes_per_flow": "2 KB"},
        small | {"chance": 1 / 2, "pattern": HYBRID, "iteration": 0.1},
        common | {"match": {"min_nodes": 2}, "pattern": NN, "bytes_per_flow": "1 MB"},
    ]
    return {"version": 1, "rule": rules}


def read_log(scene: Scene, folder: Path) -> list[tuple[float, float, int, int]]:
    """Return submission, run time, nodes of the torus and user of the jobs of a log."""
    if scene.log == "blue":
        path = folder / "SDSC-BLUE-2000-4.2-cln.swf.gz"
        jobs = make_workload({"path": str(path), "format": "swf"}).jobs
        rows = [(job.submit_s, job.runtime_s, job.n_nodes, job.user) for job in jobs]
    else:
        with (folder / "iitk-3000" / "intrepid.csv").open(newline="") as file:
            rows = [
                (float(row["submit"]), float(row["runtime"]), int(row["nodes"]), -1)
                for row in csv.DictReader(file)
            ]
    return [(s, t, -(-n // scene.divide), user) for s, t, n, user in rows]


def samples(scene: Scene, folder: Path, n_jobs: int, out: Path) -> list[Path]:
    """Write consecutive parts of a log as files of jobs, spread over the log."""
    rows = read_log(scene, folder)
    paths = []
    for part in range(SAMPLES):
        first = part * (len(rows) // SAMPLES)
        path = out / f"{scene.log}-{part}-{n_jobs}.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(("submit", "runtime", "nodes", "user"))
            table.writerows(rows[first : first + n_jobs])
        paths.append(path)
    return paths


def run_one(scene: Scene, path: Path, policy: Policy, seed: int) -> dict[str, Any]:
    """Run a sample under a policy and return its summary; one that is finished is read."""
    done = path.with_name(f"{path.stem} {policy.label} {scene.fraction[0]} {scene.model}.json")
    if done.exists():
        return dict(json.loads(done.read_text(encoding="utf-8")))
    experiment = Experiment(
        topology={"kind": "torus", "dims": list(scene.dims), "bandwidth": "16 Gb/s"},
        workload={"path": str(path), "format": "csv", "arrivals": scene.dense},
        communication=profile(scene.fraction),
        allocator=policy.allocator,
        queue=policy.queue,
        queue_options={"reservation": policy.reservation} if policy.reservation else {},
        model=scene.model,
        estimates="runtime",
        self_check=False,
        seed=seed,
        seeds={"communication": seed, "allocator": seed},  # the draws of what is recorded
        window=50,
    )
    summary: dict[str, Any] = dict(run_parts(experiment, assemble(experiment)).summary)
    done.write_text(json.dumps(summary), encoding="utf-8")
    return summary


def policy_lines(scene: Scene, folder: Path, n_jobs: int, out: Path) -> list[str]:
    """Return a table of policies on the samples of one scene."""
    found: dict[str, list[dict[str, Any]]] = {policy.label: [] for policy in POLICIES}
    for seed, path in enumerate(samples(scene, folder, n_jobs, out), 1):
        for policy in POLICIES:
            found[policy.label].append(run_one(scene, path, policy, seed))
            print(scene.title, seed, policy.label, flush=True)
    least, most = scene.fraction
    share = f"communication {least:.0%} to {most:.0%} of the run time"
    if scene.model == "null":
        share = "infinite network: no communication costs anything"
    heads = ("utilisation", "loss of capacity", "slowdown", "hops per byte", "mean wait")
    changes = ("wait / CC", "response / CC", "wait / NC", "response / NC")
    lines = [
        "",
        f"#### {scene.title}, {share}",
        "",
        f"| policy | {' | '.join((*heads, *changes))} |",
        "| --- |" + " ---: |" * (len(heads) + len(changes)),
    ]
    for label, own in found.items():
        cells = [
            f"{_mean(own, 'utilization_makespan'):.1%}",
            f"{_mean(own, 'loss_of_capacity'):.1%}",
            f"{_mean(own, 'mean_slowdown'):.3f}",
            f"{_mean(own, 'mean_hops_per_byte'):.2f}",
            f"{_mean(own, 'mean_wait_s') / 3600:.2f} h",
        ]
        for base in (found[CC.label], found[NC.label]):
            for key in ("mean_wait_s", "mean_turnaround_s"):
                ratios = [a[key] / b[key] for a, b in zip(own, base, strict=True)]
                ratio, low, high = _mean(own, key) / _mean(base, key), min(ratios), max(ratios)
                cells.append("1" if own is base else f"{ratio:.2f} ({low:.2f}-{high:.2f})")
        lines.append(f"| {label} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def _mean(summaries: Sequence[Mapping[str, Any]], key: str) -> float:
    """Return the mean of a number over the samples."""
    return float(np.mean([summary[key] for summary in summaries]))


def repetition(folder: Path) -> str:
    """Return how often the same user submits the same size again, and how the record grows."""
    rows = read_log(SCENES[-1], folder)
    users, counts = np.unique([user for *_, user in rows], return_counts=True)
    active = users[np.argsort(-counts)[:5]]
    seen: set[tuple[int, int]] = set()
    again = dict.fromkeys(active.tolist(), 0)
    sizes = []
    for _, _, n_nodes, user in rows:
        again[user] = again.get(user, 0) + ((user, n_nodes) in seen)
        seen.add((user, n_nodes))
        sizes.append(len(seen))
    shares = [again[user] / counts[users == user][0] for user in active.tolist()]
    growth = ", ".join(f"{sizes[int(len(sizes) * q) - 1]:,}" for q in (0.1, 0.25, 0.5, 1.0))
    text = (
        f"Repetition (figures 1 and 5): of the {len(rows):,} jobs of SDSC-BLUE the five most "
        f"active users repeat an earlier size in {min(shares):.1%} to {max(shares):.1%} of their "
        "submissions (the log names no executables; paper, Mira: as much as 90 %). The record "
        f"holds {growth} users and sizes after 10, 25, 50 and 100 % of the jobs."
    )
    return wrapped(text)


def wrapped(text: str) -> str:
    """Return paragraphs in lines of the page's width."""
    paragraphs = [" ".join(part.split()) for part in text.strip().split("\n\n")]
    return "\n\n".join(fill(part, WIDTH, break_on_hyphens=False) for part in paragraphs)


def main() -> None:
    """Run and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=N_JOBS, help="jobs of each part of a log")
    parser.add_argument("--only", choices=("shapes", "policies"))
    parser.add_argument("--out", type=Path, help="where finished runs are kept")
    options = parser.parse_args()
    lines = []
    if options.only != "policies":
        lines += shape_lines()
    if options.only != "shapes":
        lines += ["", "### Policies (sections VIII to X)", "", wrapped(POLICIES_TEXT)]
        out = options.out or Path(tempfile.mkdtemp())
        out.mkdir(parents=True, exist_ok=True)
        for scene in SCENES:
            lines += policy_lines(scene, options.logs, options.jobs, out)
        lines += ["", POLICIES_READING, "", repetition(options.logs)]
    print("\n".join(lines))
    if options.only is None:
        command = "python -m benchmarks.dejavu --logs FOLDER"
        record(SECTION, command, [wrapped(INTRODUCTION), "", *lines], path=PAPERS)


INTRODUCTION = """
The draft's tables of results are empty and its figures are marked obsolete: there are no
numbers to compare with. Beside ours stand its statements."""
POLICIES_TEXT = f"""
The draft's two logs, SDSC-BLUE and Intrepid, {SAMPLES} parts of consecutive jobs of each, every
part with its own draw of patterns. A third of the jobs of up to {DENSEST} nodes is A2A, a third
hybrid (half of the bytes A2A, half NN), all others NN. Intrepid: sizes rounded to powers of two
by whoever published the log, 32 logged nodes a node here, torus of 16 x 8 x 8, arrivals twice
as dense. SDSC-BLUE: a processor is a node, torus of 12 x 12 x 8, arrivals two and a half times
as dense. (At the logged arrivals a third to a half of the machine is busy.) Window of 50,
isolated run times known, model `fast`, dimension order, all links alike.

CC and NC are the draft's (section IX), under EASY. *Chunks* are boxes of all shapes
(`torus-chunk`, the draft's set of v), under EASY for comparison, with the head's place fixed
(R3) and without; *Reckless* and *Cautious* choose among them, and with *or NC* take any free
nodes where no chunk is free. Utilisation is the draft's: to the last end, and what the network
makes longer counts as used. Slowdown: run time over that on an ideal network. Means over the
parts; ratios of these means, and the least and most of a part."""
POLICIES_READING = """\
What the draft says, and what holds here:

- *Both policies improve wait and response time against NC* (section X): response time in every
  part, and the more the jobs communicate the more. But so does CC, by nearly as much: what pays
  is contiguity, as NC's slowdown shows, not that the scheduler knows patterns. NC's longer run
  times also fill the machine: a higher utilisation that is no work.
- *... and against CC*: by less, but yes in the mean. It is not the preference for shapes that
  does it: chunks under EASY with a fixed place for the head (R3), which know nothing of
  patterns, wait about as long, and on an infinite network, where no shape is faster than
  another, there is a gain too. Exact boxes pack better, and who reserves a place instead of a
  time lets more jobs past.
- *Reckless and Cautious are comparable* (section VIII): yes, as long as they choose among
  chunks. A single part can differ where hardly anybody waits (one of SDSC-BLUE: a minute), so
  there look at the ratio of means and at response times.
- *Reckless can hand out bad places, Cautious weighs first*: Cautious does not do better. Where
  scattered nodes are allowed (*or NC*) jobs under both wait and run longer than on chunks
  alone, much more so where the network counts: scattered jobs slow down themselves and others.
  Evaluate() does not prevent it. It has nothing to go by for a shape on which a job never ran,
  and takes it; it weighs a job's own time, not what the job does to others. Learning alone is
  no cure: a part repeated with the record that it had left still waited far longer than on
  chunks alone.
- *Optimal shapes cost capacity* (section VIII-B): yes, on the infinite network clearly. On a
  real one the longer runs of scattered jobs take back much of it, or more."""

if __name__ == "__main__":
    main()
