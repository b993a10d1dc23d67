"""
Attribution by `fluid` itself against leave-one-out in the same model, on random scenes.

Run: ``python -m benchmarks.contention.blame [SCENES]``. Exit status 1 if the bar is missed.
"""

import sys
from collections.abc import Iterator, Mapping

import numpy as np
from measured.draws import draw_scene
from scipy.stats import spearmanr

from benchmarks import asking
from benchmarks.evidence import record, verdict
from netsim.flows.contention import Traffic
from netsim.fluid.model import Fluid
from netsim.topology.base import Topology

COMMAND = "python -m benchmarks.contention.blame"
SCENES = 100
SAME = 85.0  # per cent of victims with the same main culprit
HELD_UP = 1.02  # interference from which a job counts as a victim
Shares = tuple[list[float], list[float]]


def solved(topology: Topology, jobs: Mapping[int, Traffic]) -> tuple[Fluid, Mapping[int, float]]:
    """Return the model of some jobs, and their interference."""
    model = Fluid(topology, tolerance=1e-5)
    for job, own in jobs.items():
        model.start(job, own)
    return model, model.solve()


def shares_of(scenes: int) -> Iterator[Shares]:
    """Yield for each victim the shares of all culprits, by the model and by leave-one-out."""
    for seed in range(scenes):
        scene = draw_scene(seed)
        model, value = solved(scene.topology, scene.traffic)
        without = {
            gone: solved(
                scene.topology, {job: own for job, own in scene.traffic.items() if job != gone}
            )[1]
            for gone in scene.traffic
        }
        for victim in (job for job in value if value[job] > HELD_UP):
            blamed = model.blame(victim)
            gain = {k: max(0.0, value[victim] - without[k][victim]) for k in value if k != victim}
            culprits = [k for k in gain if gain[k] > 0.0 or k in blamed]
            total = sum(gain.values()) or 1.0
            yield [blamed.get(k, 0.0) for k in culprits], [gain[k] / total for k in culprits]


def main(scenes: int) -> int:
    """Print and record the table; return the exit status."""
    found = list(shares_of(scenes))
    several = [one for one in found if len(one[0]) > 1]
    same = 100.0 * np.mean([np.argmax(own) == np.argmax(other) for own, other in several])
    own, other = (np.concatenate([one[i] for one in found]) for i in range(2))
    sums = max(abs(sum(shares) - 1.0) for shares, _ in found)
    held = bool(same >= SAME and sums < 1e-6)  # noqa: PLR2004
    lines = [
        (
            f"{scenes} random scenes (`tests/measured/draws.py`); victims: jobs with interference "
            f"above {HELD_UP:g}. The main culprit is compared where a victim has several."
        ),
        "",
        "| victims | of several | pairs | rank correlation | linear | same main culprit |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
        (
            f"| {len(found)} | {len(several)} | {own.size} | {spearmanr(own, other).statistic:.3f} "
            f"| {np.corrcoef(own, other)[0, 1]:.3f} | {same:.0f} % |"
        ),
        "",
        f"- same main culprit in at least {SAME:g} %, shares add up to 1: {verdict(held)}",
    ]
    print("\n".join(lines))
    record("Blame against leave-one-out", COMMAND, lines)
    return int(not held)


if __name__ == "__main__":
    sys.exit(main(asking.count(__doc__, "SCENES", SCENES)))
