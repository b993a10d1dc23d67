"""
Where the excess is that the models do not find: by how much jobs are slowed, and by their steps.

Run: ``python -m benchmarks.contention.most_slowed``. Nothing is simulated: it reads what
packets said of the scenes of the validation matrix under static routings, both parts apart.
"""

import sys
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from measured.matrix import CELLS, scene

from benchmarks import asking
from benchmarks.contention.matrix import DESIGN, REPORTED, Measured, joined, measure, read_kept
from benchmarks.evidence import record
from netsim.arrays import Floats

COMMAND = "python -m benchmarks.contention.most_slowed"
MODELS = ("fast", "phased", "accurate")
SLOWED = (0.0, 1.05, 1.4, 2.5, np.inf)  # bounds of classes of the true interference
STEPS = (1, 2, 8, np.inf)  # the same of the steps of an iteration


def kept_scenes(numbers: range) -> list[Measured]:
    """Return what is kept of the scenes under routings that do not choose, with the models."""
    kept = read_kept()
    scenes = [
        one
        for machine, routing in CELLS
        if routing not in {"adaptive", "spray"}
        for number in numbers
        if (one := scene(machine, routing, number)).digest in kept
    ]
    return measure(scenes)


def rows(
    found: Sequence[Measured], title: str, bounds: Sequence[float], measure_of: Floats
) -> list[str]:
    """Return a row for each class: its share of the excess, and what of the whole is missing."""
    true, _ = joined(found, "fast")
    said = {name: joined(found, name)[1] for name in MODELS}
    whole = (true - 1.0).sum()
    lines = []
    for low, high in pairwise(bounds):
        part = (measure_of >= low) & (measure_of < high)
        excess = (true[part] - 1.0).sum()
        cells = [
            f"{100.0 * np.mean(np.abs(own[part] / true[part] - 1.0)):.1f} / "
            f"{(own[part] - 1.0).sum() / excess:.2f} / "
            f"{100.0 * (true[part] - own[part]).sum() / whole:+.1f} %"
            for own in said.values()
        ]
        share = 100.0 * excess / whole
        lines.append(f"| {title} {low:g} | {part.sum()} | {share:.1f} % | {' | '.join(cells)} |")
    return lines


def main() -> int:
    """Print and record the tables."""
    asking.nothing(__doc__)
    lines = [
        (
            "Scenes of the validation matrix under static routings. Columns of models: mean error "
            "in per cent / bias / what is missing in the class, of all true excess (-: too much)."
        )
    ]
    for numbers, name in ((REPORTED, "Part that is reported"), (DESIGN, "Part for design")):
        found = kept_scenes(numbers)
        n_steps = [np.unique(own.step).size for one in found for own in one.scene.traffic.values()]
        lines += [
            "",
            f"{name}:",
            "",
            f"| jobs | number | of all excess | {' | '.join(MODELS)} |",
            "| --- | ---: | ---: |" + " ---: |" * len(MODELS),
            *rows(found, "slowed from", SLOWED, joined(found, "fast")[0]),
            *rows(found, "steps from", STEPS, np.array(n_steps)),
        ]
    print("\n".join(lines))
    record("Where the models miss excess", COMMAND, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
