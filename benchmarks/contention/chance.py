"""
How far chance moves the errors of the validation matrix: intervals over its scenes.

Run: ``python -m benchmarks.contention.chance``. Jobs of a scene meet each other, so scenes are
what is drawn again.
"""

import sys
from collections.abc import Sequence

import numpy as np
from measured.matrix import CELLS, Scene, Truth, scene

from benchmarks import asking
from benchmarks.contention.matrix import DESIGN, REPORTED, predicted, read_kept
from benchmarks.evidence import record
from coupling.sweeps.intervals import LEVEL, block_interval
from netsim.arrays import Floats

COMMAND = "python -m benchmarks.contention.chance"
MODEL = "phased"
AIM = (0.9, 1.1)  # of the bias
Judged = tuple[Floats, Floats]  # of a scene: true and predicted interference


def judged(machine: str, routing: str, numbers: range, kept: dict[str, Truth]) -> list[Judged]:
    """Return what packets and the model say of each scene of such numbers whose truth is known."""
    drawn: list[Scene] = [scene(machine, routing, n) for n in numbers]
    known = [one for one in drawn if one.digest in kept]
    said = [(kept[one.digest].interference, predicted(MODEL, one)) for one in known]
    return [(true, own) for true, own in said if own is not None]


def error_and_bias(scenes: Sequence[Judged]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean error (in per cent) and bias, each with the ends of its interval."""
    of_scene = np.array(
        [
            (
                100.0 * np.sum(np.abs(said - true) / true),
                true.size,
                np.sum(said - 1.0),
                np.sum(true - 1.0),
            )
            for true, said in scenes
        ]
    )
    off, jobs, found, excess = of_scene.T
    error = float(off.sum() / jobs.sum()), *block_interval(off, jobs, length=1)
    bias = float(found.sum() / excess.sum()), *block_interval(found, excess, length=1)
    return error, bias


def main() -> int:
    """Print and record the table."""
    asking.nothing(__doc__)
    kept = read_kept()
    lines = [
        (
            f"Model `{MODEL}`, part that is reported and part for design, with intervals of "
            f"{100 * LEVEL:g} % over scenes (bootstrap). A scene or two often hold most of the "
            "excess of a row. Outside: the whole interval of the bias is below "
            f"{AIM[0]:g} or above {AIM[1]:g}."
        ),
        "",
        (
            "| machine | routing | scenes | mean error, % | bias | outside | mean error, % "
            "(design) | bias (design) | outside (design) |"
        ),
        "| --- | --- | ---: | --- | --- | --- | --- | --- | --- |",
    ]
    for machine, routing in CELLS:
        cells, count = [], 0
        for numbers in (REPORTED, DESIGN):
            scenes = judged(machine, routing, numbers, kept)
            count += len(scenes)
            error, bias = error_and_bias(scenes)
            cells.append(
                f"{error[0]:.1f} ({error[1]:.1f} to {error[2]:.1f}) | "
                f"{bias[0]:.2f} ({bias[1]:.2f} to {bias[2]:.2f}) | "
                f"{'yes' if bias[2] < AIM[0] or bias[1] > AIM[1] else 'no'}"
            )
        lines.append(f"| {machine} | {routing} | {count} | {' | '.join(cells)} |")
    print("\n".join(lines))
    record("How far chance moves the rows of the matrix", COMMAND, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
