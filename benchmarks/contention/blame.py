"""
Blame by the fixed point itself against leave-one-out, on random scenes.

Run: ``python -m benchmarks.contention.blame [SCENES]``. Exit status 1 if the bar is missed.
"""

import sys
from collections.abc import Callable, Mapping

import numpy as np
from measured.draws import draw_scene
from scipy.stats import spearmanr

from benchmarks import asking
from benchmarks.evidence import record, verdict
from netsim.contention.cold.fixedpoint import ColdSolution, accurate, cold_fast
from netsim.contention.constants import ConstantsOf, JobConstants

SCENES = 200
RANK = 0.8
HELD_UP = 1.02  # interference from which a job counts as a victim
Solve = Callable[[Mapping[int, JobConstants]], ColdSolution]

MODELS: dict[str, Solve] = {
    "fast": lambda jobs: cold_fast(jobs, tolerance=1e-6),
    "accurate": lambda jobs: accurate(jobs, tolerance=1e-5),
}


def shares_of(solve: Solve, scenes: int) -> list[tuple[list[float], list[float]]]:
    """Return for each victim the shares of its culprits, by the model and by leave-one-out."""
    found = []
    for seed in range(scenes):
        scene = draw_scene(seed)
        constants_of = ConstantsOf(scene.topology)
        jobs = {job: constants_of(own) for job, own in scene.traffic.items()}
        solution = solve(jobs)
        value = solution.interference
        without = {
            gone: solve({job: own for job, own in jobs.items() if job != gone}).interference
            for gone in jobs
        }
        for victim in (job for job in jobs if value[job] > HELD_UP):
            assert solution.state is not None
            told = solution.state.culprits([victim]).by_culprit()
            gain = {k: max(0.0, value[victim] - without[k][victim]) for k in jobs if k != victim}
            met = [k for k in gain if gain[k] > 0.0 or k in told]
            total = sum(gain.values()) or 1.0
            found.append(([told.get(k, 0.0) for k in met], [gain[k] / total for k in met]))
    return found


def main(scenes: int) -> int:
    """Print and record the table; return the exit status."""
    intro = (
        f"{scenes} random scenes (`tests/measured/draws.py`); shares of all pairs of a job "
        f"with interference above {HELD_UP:g} and another that either method blames."
    )
    head = "model | victims | pairs | rank correlation | linear | inside a victim, mean"
    lines = [
        intro,
        "",
        f"| {head} | same main culprit |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    held = True
    for name, solve in MODELS.items():
        found = shares_of(solve, scenes)
        told = np.concatenate([own for own, _ in found])
        saved = np.concatenate([other for _, other in found])
        rank = float(spearmanr(told, saved).statistic)
        several = [(own, other) for own, other in found if len(own) > 2]  # noqa: PLR2004
        inside = np.nanmean([spearmanr(own, other).statistic for own, other in several])
        same = np.mean([np.argmax(own) == np.argmax(other) for own, other in several])
        sums = max(abs(sum(own) - 1.0) for own, _ in found)
        held = held and rank >= RANK and sums < 1e-9  # noqa: PLR2004
        lines.append(
            f"| {name} | {len(found)} | {told.size} | {rank:.3f} | "
            f"{np.corrcoef(told, saved)[0, 1]:.3f} | {inside:.3f} | {100 * same:.0f} % |"
        )
    lines += ["", f"- rank correlation at least {RANK:g}, shares add up to 1: {verdict(held)}"]
    print("\n".join(lines))
    record("Blame against leave-one-out", "python -m benchmarks.contention.blame", lines)
    return int(not held)


if __name__ == "__main__":
    sys.exit(main(asking.count(__doc__, "SCENES", SCENES)))
