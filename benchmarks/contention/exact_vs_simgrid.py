"""
Exact simulation against SimGrid's solver, the same flows, CPU time of one run on one machine.

A 3D stencil (8 x 8 x 16 periodic, 6 neighbours) of 1024 ranks on the 1024 nodes of a full
fat-tree, ranks at random: 6144 flows, per flow, re-shared at each completion. SimGrid's time
is that of its simulation loop, without building the platform; ours is that of
`finish_times`, arrays built from routes included. Needs g++ and SimGrid's C++ library
(Debian: libsimgrid-dev); where they are absent it says so and exits 0. Exit status 1 if
finish times differ by more than 1e-9, or ours takes more than a tenth of SimGrid's time.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import asking
from benchmarks.evidence import record
from netsim.common.arrays import Floats, Ints
from netsim.flowsim.flow_report import finish_times
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree, build_fat_tree

SOURCE = Path(__file__).with_suffix(".cpp")
GRID = (8, 8, 16)
BANDWIDTH, NBYTES = 1e9, 1e8
REQUIRED = 10


def stencil(seed: int) -> tuple[Ints, Ints]:
    """Return source and destination nodes of a periodic 3D stencil with ranks at random."""
    node = np.random.default_rng(seed).permutation(int(np.prod(GRID))).reshape(GRID)
    shifted = [np.roll(node, by, axis).ravel() for axis in range(3) for by in (-1, 1)]
    return np.tile(node.ravel(), len(shifted)), np.concatenate(shifted)


def build_simgrid_program(folder: Path) -> Path | None:
    """Compile the SimGrid side, or return None where that is impossible."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    program = folder / "flows"
    command = [compiler, "-O2", "-o", program, SOURCE, "-lsimgrid"]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 (our own source)
    return program if done.returncode == 0 else None


def simgrid(program: Path, tree: FatTree, src: Ints, dst: Ints) -> tuple[float, Floats]:
    """Return SimGrid's CPU seconds and finish times."""
    shape = [tree.levels, *tree.children, *tree.parents, *tree.parallel]
    lines = [" ".join(map(str, [*shape, BANDWIDTH, src.size]))]
    lines += [f"{a} {b} {NBYTES}" for a, b in zip(src, dst, strict=True)]
    done = subprocess.run(  # noqa: S603 (the program compiled above)
        [program], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    seconds, *finish = map(float, done.stdout.split())
    return seconds, np.array(finish)


def main() -> int:
    """Compare times and results."""
    with tempfile.TemporaryDirectory() as folder:
        program = build_simgrid_program(Path(folder))
        if program is None:
            print("skipped: needs g++ and SimGrid's C++ library (Debian: libsimgrid-dev)")
            return 0
        tree = build_fat_tree((8, 8, 16), (1, 8, 8), (1, 1, 1), BANDWIDTH, down_cable="source")
        src, dst = stencil(seed=1)
        theirs_s, expected = simgrid(program, tree, src, dst)
    routes, nbytes = DModK(tree).routes(src, dst), np.full(src.size, NBYTES)
    times = []
    for _ in range(4):  # the first compiles or loads the kernel
        begin = time.process_time()
        _, finish = finish_times(routes, src, nbytes, tree.capacity, fairness="per-flow")
        times.append(time.process_time() - begin)
    ours_s = min(times[1:])
    difference = float(np.max(np.abs(finish / expected - 1)))
    lines = [
        (
            f"- {src.size} flows, {np.unique(finish).size} finish times: SimGrid {theirs_s:.3f} s, "
            f"ours {ours_s * 1e3:.1f} ms"
        ),
        f"- greatest relative difference of finish times {difference:.1e}",
        f"- ratio {theirs_s / ours_s:.0f} (required {REQUIRED})",
    ]
    print("\n".join(lines))
    record(
        "Exact simulation against SimGrid",
        "python -m benchmarks.contention.exact_vs_simgrid",
        lines,
    )
    return int(difference > 1e-9 or theirs_s < REQUIRED * ours_s)  # noqa: PLR2004 (the bar)


if __name__ == "__main__":
    asking.nothing(__doc__)
    sys.exit(main())
