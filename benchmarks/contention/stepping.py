"""
Whether a simple law turns interference with barriers into that of ranks without.

Run: ``python -m benchmarks.contention.stepping [SCENES]``: scenes of the validation matrix, of
each machine named below. Laws are fitted to scenes of even number and judged on those of odd
number. What packets say with barriers is what the matrix keeps.
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np
from measured.matrix import scene, truth
from measured.packets import CONTENDED

from benchmarks import asking
from benchmarks.contention.matrix import predicted, read_kept
from benchmarks.evidence import record
from netsim.accuracy import STEPS
from netsim.arrays import Bools, Floats
from scheduler.mix import kind_of_pattern

COMMAND = "python -m benchmarks.contention.stepping"
SCENES = 12
CELLS = (("full tree, 2 levels", "d-mod-k"), ("tapered tree, 3 levels", "d-mod-k"))
_STRONG = 1.2
_SPLITS: dict[str, Callable[[Bools, Floats], Bools]] = {  # of in steps, interference
    "one factor": lambda steps, _: np.zeros_like(steps),
    "one for jobs not in steps, one for those in steps": lambda steps, _: steps,
    "one below 1.2, one above": lambda _, told: told > _STRONG,
}
"""By law: into which of two classes a job falls."""


def gathered(numbers: range) -> Iterator[tuple[int, Floats]]:
    """Yield number of the scene, and of each job: barriers, ranks, `phased`, alone, in steps."""
    kept = read_kept()
    for number in numbers:
        for cell in CELLS:
            one = scene(*cell, number)
            before, after = kept[one.digest], truth(one, stepping="rank")
            said = predicted("phased", one)
            steps = [kind_of_pattern(job.pattern, job.nodes.size) == STEPS for job in one.jobs]
            alone = after.alone_s / before.alone_s
            columns = (before.interference, after.interference, said, alone, steps)
            yield number, np.array(columns, dtype=np.float64).T
            print(number, *cell, file=sys.stderr, flush=True)


def law(
    split: Callable[[Bools, Floats], Bools], design: Floats, report: Floats
) -> tuple[str, Floats]:
    """Fit the factors on one half; return them, and what the law makes of the other."""
    barriers, ranks, *_, steps = design.T
    inside, others = split(steps > 0, barriers), split(report[:, 4] > 0, report[:, 0])
    made, factors = report[:, 0].copy(), []
    for one in (False, True):
        if not (inside == one).any():
            continue
        own, mine = inside == one, others == one
        factor = (ranks[own] - 1.0).sum() / (barriers[own] - 1.0).sum()
        made[mine] = 1.0 + factor * (report[mine, 0] - 1.0)
        factors.append(f"{factor:.2f}")
    return " / ".join(factors), made


def _shown(title: str, said: Floats, true: Floats) -> str:
    """Return a row: errors against ranks without barriers."""
    off = 100.0 * np.abs(said / true - 1.0)
    bias = (said - 1.0).sum() / (true - 1.0).sum()
    return f"| {title} | {off.mean():.1f} % | {off[true > CONTENDED].mean():.1f} % | {bias:.2f} |"


def main() -> int:
    """Print and record the table."""
    found = list(gathered(range(asking.count(__doc__, "SCENES", SCENES))))
    design, report = (
        np.concatenate([rows for number, rows in found if number % 2 == half]) for half in (0, 1)
    )
    barriers, ranks, phased, alone, _ = report.T
    lines = [
        (
            f"{len(found)} scenes of the validation matrix ({', '.join(n for n, _ in CELLS)}; "
            f"D-mod-k), {len(design)} jobs of even and {len(report)} of odd number. Error against "
            "packets without barriers, on the odd half: mean / of jobs above 1.05 / bias; factors "
            "on the excess from the even half. Time alone without barriers: x "
            f"{alone.mean():.3f} (5 to 95 %: {np.quantile(alone, 0.05):.2f} to "
            f"{np.quantile(alone, 0.95):.2f})."
        ),
        "",
        "| what is said | mean | contended | bias |",
        "| --- | ---: | ---: | ---: |",
        _shown("packets with barriers, as they are", barriers, ranks),
    ]
    for title, split in _SPLITS.items():
        factors, made = law(split, design, report)
        lines.append(_shown(f"the same, excess x {factors}: {title}", made, ranks))
    lines.append(_shown("`phased`, as it is", phased, ranks))
    for title, split in _SPLITS.items():
        # the law of packets with barriers, applied to what the model says
        factors, made = law(split, design, np.column_stack([phased, report[:, 1:]]))
        lines.append(_shown(f"`phased`, excess x {factors}: {title}", made, ranks))
    print("\n".join(lines))
    record("Ranks without barriers", COMMAND, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
