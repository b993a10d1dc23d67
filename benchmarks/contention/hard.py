"""
Model `fluid` against packets on hard kinds of scenes, by which its variants were compared, too.

Run: ``python -m benchmarks.contention.hard FOLDER`` with the folder of ``hard.json.gz``.
Exit status 1 if a bar is missed.
"""

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import asking
from benchmarks.evidence import record, verdict
from coupling.site.estimate import estimate
from netsim.common.arrays import Floats

COMMAND = "python -m benchmarks.contention.hard FOLDER"
CONTENDED = 1.02  # in packets or by the model
BARS = (("contended", 0.0, 7.0), ("bias", 0.9, 1.1), ("worst", 0.0, 60.0))


def compared(scene: dict[str, Any]) -> Floats:
    """Return interference in packets and by `fluid`, then seconds alone, of each job (4, J)."""
    document = {key: value for key, value in scene["doc"].items() if key != "switch"}
    jobs = {job.id: job for job in estimate(document, blame=False).jobs}
    own = [jobs[name] for name in scene["names"]]
    return np.array(
        [
            scene["truth"],
            [job.interference for job in own],
            scene["alone_truth_s"],
            [job.alone_s for job in own],
        ]
    )


def quantities(found: Floats) -> dict[str, float]:
    """Return the errors of some jobs in per cent, and the bias."""
    true, said, true_alone_s, alone_s = found
    off, alone = 100.0 * (said / true - 1.0), 100.0 * (alone_s / true_alone_s - 1.0)
    contended = np.maximum(true, said) > CONTENDED
    return {
        "jobs": true.size,
        "null": 100.0 * float(np.mean(np.abs(1.0 / true - 1.0))),
        "mean": float(np.abs(off).mean()),
        "contended": float(np.abs(off[contended]).mean()) if contended.any() else 0.0,
        "bias": float((said - 1.0).sum() / (true - 1.0).sum()),
        "worst": float(np.abs(off).max()),
        "alone": float(np.abs(alone).mean()),
        "alone, signed": float(alone.mean()),
        "alone, least": float(alone.min()),
    }


def row(title: str, parts: Sequence[Floats]) -> str:
    """Return a row of the table."""
    q = quantities(np.concatenate(parts, axis=1))
    return (
        f"| {title} | {q['jobs']} | {q['null']:.1f} | {q['mean']:.1f} | {q['contended']:.1f} | "
        f"{q['bias']:.2f} | {q['worst']:.0f} | {q['alone']:.1f} ({q['alone, signed']:+.1f}) / "
        f"{q['alone, least']:+.0f} |"
    )


def main(folder: Path) -> int:
    """Print and record the table; return the exit status."""
    scenes = json.loads(gzip.decompress((folder / "hard.json.gz").read_bytes()))
    found: dict[str, list[Floats]] = {}
    for scene in scenes:
        found.setdefault(scene["kind"], []).append(compared(scene))
    every = [part for parts in found.values() for part in parts]
    lines = [
        (
            f"{len(scenes)} scenes of hard kinds. Variants of the model were compared on them, so "
            "other scenes of these kinds may have larger errors. Truth: packets, mean over samples "
            "of the starts. Errors in per cent: mean; contended: jobs "
            f"above {CONTENDED:g} in packets or by the model; bias; worst job; null: mean error of "
            "1. Alone: mean error of an iteration alone (with its sign) / the most that it is too "
            "short."
        ),
        "",
        "| kind | jobs | null | mean | contended | bias | worst | alone |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
        *(row(kind, parts) for kind, parts in sorted(found.items())),
        row("all", every),
        "",
    ]
    q, met = quantities(np.concatenate(every, axis=1)), True
    for name, low, high in BARS:
        held = low <= q[name] <= high
        met = met and held
        lines.append(f"- {name}, {low:g} to {high:g}: {q[name]:.3f}, {verdict(held)}")
    print("\n".join(lines))
    record("Hard kinds of scenes", COMMAND, lines)
    return int(not met)


if __name__ == "__main__":
    sys.exit(main(asking.folder(__doc__)))
