"""
Whether the fixed point has one answer: from any start, and event by event as from scratch.

Run: ``python -m benchmarks.contention.starts [EVENTS]``. Exit status 1 if a bar is missed.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from measured.draws import draw_scene
from measured.scenes import Stream

from benchmarks import asking
from benchmarks.evidence import record, verdict
from coupling.papers.pollard18_workloads import SETTINGS, Bench
from netsim.contention.cold.fixedpoint import ColdSolution, accurate, cold_fast, cold_phased
from netsim.contention.constants import ConstantsOf, JobConstants
from netsim.contention.events.fast import Fast
from netsim.contention.events.phased import Phased
from netsim.topology.fattree import fat_tree_of_radix

Jobs = Mapping[int, JobConstants]

EVENTS = 3_000
WORKLOADS = 5  # of Pollard18, section V-B
CHECK_EVERY = 100
SCENES = 50
FRACTIONS = (0.3, 0.5, 0.7, 0.9, 1.0)  # of communication, the same for all jobs of a scene
STARTS = (1.0, 2.0, 6.0)  # stretch of all steps before the first sweep
TOLERANCE = 1e-6
SAME = 1e-4  # answers from two starts differ by no more
STREAMS = ((0.05, 0.95), (0.7, 1.0), (1.0, 1.0))  # range of f
EXACTING = STREAMS[0]  # its errors must sink with the tolerance
TOLERANCES = (1e-3, 1e-4)
WORST, MEAN = 1e-2, 5e-4  # of event by event against from scratch, at a tolerance of 1e-3


SOLVERS: dict[str, Callable[..., ColdSolution]] = {
    "fast": cold_fast,
    "phased": cold_phased,
    "accurate": accurate,
}
FOLLOWED = {"fast": Fast, "phased": Phased}  # event by event


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the answers from all starts lie apart."""

    gaps: tuple[float, ...]  # largest of each scene
    settled: bool
    sweeps: int  # most


def solve(model: str, jobs: Jobs, start: float) -> ColdSolution:
    """Solve from a start."""
    return SOLVERS[model](jobs, tolerance=TOLERANCE, start=start)


def spread(model: str, scenes: Sequence[Jobs]) -> Spread:
    """Solve each scene from all starts."""
    gaps, settled, sweeps = [], True, 0
    for jobs in scenes:
        found = [solve(model, jobs, start) for start in STARTS]
        values = np.array([list(one.interference.values()) for one in found])
        gaps.append(float(np.ptp(values, axis=0).max()))
        settled = settled and all(one.converged for one in found)
        sweeps = max(sweeps, *(one.sweeps for one in found))
    return Spread(tuple(gaps), settled, sweeps)


def random_scenes(fraction: float) -> Iterator[Jobs]:
    """Yield random scenes, all jobs of which communicate for the same share of their time."""
    for seed in range(SCENES):
        scene = draw_scene(seed)
        constants_of = ConstantsOf(scene.topology)
        jobs = {}
        for job, own in scene.traffic.items():
            busy_s = constants_of(replace(own, compute_s=0.0)).iteration_s
            compute_s = busy_s * (1.0 / fraction - 1.0) if busy_s > 0.0 else own.compute_s
            jobs[job] = constants_of(replace(own, compute_s=compute_s))
        yield jobs


def large_scenes() -> Iterator[Jobs]:
    """Yield the workloads of Pollard18, section V-B, that always communicate on random nodes."""
    bench = Bench(SETTINGS[0])
    constants_of = ConstantsOf(bench.tree)
    for workload in range(WORKLOADS):
        traffic, _ = bench.on_random_nodes(workload)
        yield {job: constants_of(own) for job, own in enumerate(traffic)}


def event_by_event(
    name: str, f: tuple[float, float], tolerance: float, n_events: int
) -> tuple[float, float]:
    """Return the largest and mean difference between the state kept and a cold solve."""
    tree = fat_tree_of_radix(18, 12.5e9, latency_per_link_s=90e-9)
    tree = replace(tree, packet_bytes=4096.0)
    stream = Stream(tree, 1, 16, random_nodes=True, f=f)
    model = FOLLOWED[name](tree, tolerance=tolerance)
    jobs: dict[int, JobConstants] = {}
    values: dict[int, float] = {}
    off = []
    for event, (kind, job, traffic) in enumerate(stream.events(), start=1):
        if kind == "start":
            model.start(job, traffic)
            jobs[job] = stream.constants_of(traffic)
        else:
            model.end(job)
            del jobs[job], values[job]
        values.update(model.solve())
        if event % CHECK_EVERY == 0:
            cold = SOLVERS[name](jobs, tolerance=1e-8).interference
            off.append([abs(values[one] - cold[one]) for one in jobs])
        if event == n_events:
            break
    every = np.concatenate(off)
    return float(every.max()), float(every.mean())


def main(n_events: int) -> int:
    """Print and record the tables; return the exit status."""
    starts = ", ".join(f"{start:g}" for start in STARTS)
    lines = [
        (
            "Largest difference of a job's interference between the answers from the starts "
            f"{starts} (stretch of all steps), solver tolerance {TOLERANCE:g}; f is the fraction "
            f"of communication, the same for all jobs. {SCENES} random scenes "
            f"(`tests/measured/draws.py`) for each f, and the {WORKLOADS} workloads of "
            "10,648 nodes of Pollard18, section V-B."
        ),
        "",
        "| scenes | f | model | mean | largest | all settle | sweeps at most |",
        "| --- | ---: | --- | ---: | ---: | --- | ---: |",
    ]
    held = True
    rows = [("random", f, list(random_scenes(f))) for f in FRACTIONS]
    for title, f, scenes in [*rows, ("10,648 nodes", 1.0, list(large_scenes()))]:
        for model in SOLVERS:
            found = spread(model, scenes)
            held = held and found.settled and max(found.gaps) <= SAME
            lines.append(
                f"| {title} | {f:g} | {model} | {np.mean(found.gaps):.1e} | "
                f"{max(found.gaps):.1e} | {verdict(found.settled)} | {found.sweeps} |"
            )
            print(lines[-1], flush=True)
    lines += [
        "",
        (
            f"Event by event against a cold solve, every {CHECK_EVERY} of {n_events:,} "
            "random starts and ends, about 95 jobs on random nodes of 1458:"
        ),
        "",
        "| model | f | tolerance | worst | mean |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    agree = True
    for name, f, tolerance in product(FOLLOWED, STREAMS, TOLERANCES):
        worst, mean = event_by_event(name, f, tolerance, n_events)
        if tolerance == TOLERANCES[0] or f == EXACTING:
            scale = tolerance / TOLERANCES[0]
            agree = agree and worst <= WORST * scale and mean <= MEAN * scale
        title = f"{f[0]:g}" if f[0] == f[1] else f"{f[0]:g} to {f[1]:g}"
        lines.append(f"| {name} | {title} | {tolerance:g} | {worst:.1e} | {mean:.1e} |")
        print(lines[-1], flush=True)
    lines += [
        "",
        f"- bar: every scene settles, at one answer within {SAME:g}: {verdict(held)}",
        (
            f"- bar: within {WORST:g}, in the mean within {MEAN:g}, at a tolerance of 0.001; "
            f"for f of 0.05 to 0.95 a tenth of that at 0.0001: {verdict(agree)}"
        ),
    ]
    print("\n".join(lines[-2:]))
    record("One answer from any start", "python -m benchmarks.contention.starts", lines)
    return int(not (held and agree))


if __name__ == "__main__":
    sys.exit(main(asking.count(__doc__, "EVENTS", EVENTS)))
