"""
Error of `accurate`, `phased` and `fast` against `flow-level` on random scenes, beside `null`.

Run: ``python -m benchmarks.contention.vs_exact [SCENES]``. Exit status 1 if a bar is missed.
No latency and no buffers: both sides are fluid. The exact values are means over draws of the
jobs' starts.
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from time import process_time

import numpy as np
from measured.draws import MACHINES, MOST_FLOWS, Scene, draw_scene
from measured.packets import Errors, errors

from benchmarks import asking
from benchmarks.evidence import record, verdict
from netsim.arrays import Floats
from netsim.contention_models import make_contention_model
from netsim.flowsim.snapshot import simulate_jobs
from patterns.registry import PATTERNS

SCENES = 210
DRAWS = 2  # of the starts; they differ by about 0.005 in the mean
MODELS = ("null", "fast", "phased", "accurate")
BARS = {"accurate": 3.0, "fast": 4.0}  # mean error in per cent
BIAS = (0.85, 1.1)  # of `accurate`


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A scene, its exact interference per draw and job, and what the models say."""

    scene: Scene
    exact: Floats
    predicted: dict[str, Floats]


def exact(scene: Scene, draws: int) -> Floats:
    """Return the interference of each job for several draws of the starts."""
    tree, traffic = scene.topology, scene.traffic
    rng = np.random.default_rng(7)
    until_s = max(own.compute_s for own in traffic.values()) + 1e-3
    rows = []
    for _ in range(draws):
        start_s = {job: float(rng.uniform(0.0, until_s)) for job in traffic}
        times = simulate_jobs(traffic, tree.capacity, tree.channel, start_s=start_s)
        rows.append([own.interference for own in times.values()])
    return np.array(rows)


def predict(name: str, scene: Scene) -> Floats:
    """Return the interference of each job by a model with its default options."""
    model = make_contention_model(name, scene.topology)
    for job, own in scene.traffic.items():
        model.start(job, own)
    values = model.solve()
    return np.array([values[job] for job in scene.traffic])


def compare(n_scenes: int, draws: int = DRAWS) -> list[Compared]:
    """Return scenes with what was found."""
    found = []
    for seed in range(n_scenes):
        scene = draw_scene(seed)
        predicted = {name: predict(name, scene) for name in MODELS}
        found.append(Compared(scene, exact(scene, draws), predicted))
    return found


def table(found: Sequence[Compared]) -> dict[str, Errors]:
    """Return the errors of each model over all jobs of the scenes."""
    true = np.concatenate([one.exact.mean(axis=0) for one in found])
    return {
        name: errors(true, np.concatenate([one.predicted[name] for one in found]))
        for name in MODELS
    }


def lines_of(found: Sequence[Compared]) -> list[str]:
    """Return the tables as Markdown."""
    head = "| model | jobs | mean | p90 | worst | contended | bias | rank |"
    rule = "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    lines = [head, rule]
    for name, e in table(found).items():
        lines.append(
            f"| {name} | {e.n_jobs} | {e.mean:.2f} % | {e.p90:.1f} % | {e.worst:.0f} % | "
            f"{e.contended:.1f} % | {e.bias:.2f} | {e.rank:.2f} |"
        )
    lines += ["", "| scenes | jobs | null | fast | accurate | bias of accurate |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in MACHINES:
        part = table([one for one in found if one.scene.machine == name])
        lines.append(
            f"| {name} | {part['null'].n_jobs} | {part['null'].mean:.2f} % | "
            f"{part['fast'].mean:.2f} % | {part['accurate'].mean:.2f} % | "
            f"{part['accurate'].bias:.2f} |"
        )
    return [*lines, "", *_by_pattern(found)]


def _by_pattern(found: Sequence[Compared]) -> list[str]:
    """Return the errors by pattern, and what was halved to keep flows few."""
    true, wide, halved = defaultdict(list), defaultdict(list), defaultdict(list)
    off: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in MODELS}
    for one in found:
        mean = one.exact.mean(axis=0)
        for place, job in enumerate(one.scene.jobs):
            true[job.pattern].append(mean[place])
            wide[job.pattern].append(job.n_ranks)
            halved[job.pattern].append(job.n_ranks < job.wanted)
            for name in MODELS:
                error = abs(one.predicted[name][place] - mean[place]) / mean[place]
                off[name][job.pattern].append(100.0 * error)
    models = " | ".join(MODELS)
    lines = [f"| pattern | jobs | ranks at most | halved | mean true | {models} |"]
    lines.append("| --- " + "| ---: " * (4 + len(MODELS)) + "|")
    for pattern in sorted(true):
        means = [f"{np.mean(off[name][pattern]):.1f} %" for name in MODELS]
        lines.append(
            f"| {pattern} | {len(true[pattern])} | {max(wide[pattern])} | "
            f"{sum(halved[pattern])} | {np.mean(true[pattern]):.3f} | {' | '.join(means)} |"
        )
    return lines


def main(n_scenes: int) -> int:
    """Print and record the tables; return the exit status."""
    begin_s = process_time()
    found = compare(n_scenes)
    spent_s = process_time() - begin_s
    errors_of = table(found)
    checks = [
        (f"{name}: mean error at most {bar:g} %", errors_of[name].mean <= bar)
        for name, bar in BARS.items()
    ]
    low, high = BIAS
    bias = errors_of["accurate"].bias
    checks.append((f"accurate: bias {low:g} to {high:g}", low <= bias <= high))
    missing = sorted(set(PATTERNS) - {job.pattern for one in found for job in one.scene.jobs})
    checks.append(
        (f"every pattern occurs{', but ' + ', '.join(missing) if missing else ''}", not missing)
    )
    spread = np.concatenate([np.ptp(one.exact, axis=0) for one in found])
    faster = sum(int((one.exact.mean(axis=0) < 1.0 - 1e-9).sum()) for one in found)
    intro = (
        f"{n_scenes} random scenes of 2 to 12 jobs, all patterns, f 0.05 to 0.95, 1, 2 or 4 ranks "
        "per node, full and tapered trees (`tests/measured/draws.py`); `flow-level` per sender, "
        f"mean of {DRAWS} draws of the starts. To keep simulations short a job has at "
        f"most {MOST_FLOWS} flows per iteration: larger ones had their ranks halved (counted "
        "below), and iterations alone last 0.2 to 2 ms. Nothing else was left out."
    )
    noise = (
        f"- Two draws of the starts differ by {spread.mean():.4f} in the mean, {spread.max():.3f} "
        "at most (noise of the truth)."
    )
    lines = [
        intro,
        "",
        *lines_of(found),
        "",
        noise,
        f"- Jobs that the flow-level simulation finds faster together than alone: {faster}.",
        f"- CPU: {spent_s:.0f} s.",
        *(f"- {what}: {verdict(holds)}" for what, holds in checks),
    ]
    print("\n".join(lines))
    record(
        "Fixed point against exact simulation", "python -m benchmarks.contention.vs_exact", lines
    )
    return int(not all(holds for _, holds in checks))


if __name__ == "__main__":
    sys.exit(main(asking.count(__doc__, "SCENES", SCENES)))
