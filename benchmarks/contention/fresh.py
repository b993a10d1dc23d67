"""
Contention models against packets on scenes of long and of short messages that were drawn for it.

Run: ``python -m benchmarks.contention.fresh [MINUTES]``. What packets say is kept in
`benchmarks/contention/fresh.json`, and the command goes on where it stopped, for so many
minutes of CPU time (20; 0 judges the models anew on what is kept). Scenes of even number are
for design, those of odd number are reported.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from measured.fresh import ITERATIONS, KINDS, Scene, fresh_scene
from measured.matrix import Truth
from measured.packets import errors

from benchmarks import asking
from benchmarks.contention.matrix import read_kept, write_kept
from benchmarks.evidence import record
from netsim.arrays import Floats
from netsim.contention_models import make_contention_model
from netsim.packetsim.simulation import simulate_packets

COMMAND = "python -m benchmarks.contention.fresh"
KEPT = Path(__file__).with_name("fresh.json")
WANTED = 40  # scenes of each kind
MINUTES = 20  # of CPU time
MODELS = ("null", "fast", "phased", "accurate")


def truth(one: Scene) -> Truth:
    """Simulate the packets of a scene."""
    rng = np.random.default_rng((78, one.number))
    start_s = {job: float(rng.uniform(0.0, own.compute_s)) for job, own in one.traffic.items()}
    times = simulate_packets(
        one.traffic, one.topology, start_s=start_s, slowest_does=ITERATIONS, seed=one.number
    ).jobs
    jobs = [times[job] for job in one.traffic]
    return Truth(
        np.array([own.interference for own in jobs]), np.array([own.alone_s for own in jobs])
    )


def gather(minutes: float) -> tuple[list[Scene], Mapping[str, Truth]]:
    """Simulate scenes until the time is over; return all whose truth is known."""
    kept, found = read_kept(KEPT), []
    end_s = time.process_time() + 60.0 * minutes
    for number in range(WANTED):
        for kind in KINDS:
            one = fresh_scene(kind, number)
            if one.digest not in kept:
                if time.process_time() > end_s:
                    continue
                kept[one.digest] = truth(one)
                write_kept(kept, KEPT)
            found.append(one)
    return found, kept


def predicted(name: str, one: Scene) -> Floats:
    """Return the interference that a model predicts."""
    model = make_contention_model(name, one.topology)
    for job, own in one.traffic.items():
        model.start(job, own)
    values = model.solve()
    return np.array([values[job] for job in one.traffic])


def rows(found: Sequence[Scene], kept: Mapping[str, Truth], half: int) -> list[str]:
    """Return a row for each kind of scene."""
    lines = [
        f"| scenes | number | jobs | true mean / worst | {' | '.join(MODELS)} |",
        "| --- | ---: | ---: | --- |" + " --- |" * len(MODELS),
    ]
    for kind in KINDS:
        part = [one for one in found if one.kind == kind and one.number % 2 == half]
        if not part:
            continue
        true = np.concatenate([kept[one.digest].interference for one in part])
        cells = []
        for name in MODELS:
            e = errors(true, np.concatenate([predicted(name, one) for one in part]))
            cells.append(f"{e.mean:.2f} / {e.contended:.2f} / {e.bias:.2f}")
        lines.append(
            f"| {kind} | {len(part)} | {true.size} | {true.mean():.2f} / {true.max():.1f} | "
            f"{' | '.join(cells)} |"
        )
    return lines


def main() -> int:
    """Go on with the scenes, print and record the tables."""
    found, kept = gather(asking.count(__doc__, "MINUTES", MINUTES, least=0))
    lines = [
        (
            f"{len(found)} of {WANTED * len(KINDS)} scenes on a full tree of 128 nodes, D-mod-k, a "
            "rank a node, 64 KiB buffers; 3 to 6 jobs of stencils, meshes, pairs, sub-all-to-alls, "
            "recursive doubling and all-to-alls on random nodes. Long: messages of 64 to 512 KiB; "
            "short: 20 to 400 us of communication an iteration. f 0.2 to 0.9, or 1. Truth: model "
            f"`packets`, switch `codes`, {ITERATIONS} iterations of the slowest job. Columns of "
            "models, in per cent: mean error / that of jobs above 1.05 / bias. Half that is "
            "reported:"
        ),
        "",
        *rows(found, kept, 1),
        "",
        "Half for design:",
        "",
        *rows(found, kept, 0),
    ]
    print("\n".join(lines))
    record("Scenes of long and short messages", COMMAND, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
