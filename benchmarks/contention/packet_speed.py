"""
Speed of the packet simulation: packets over links in a CPU second, compilation, memory.

Run: ``python -m benchmarks.contention.packet_speed``. Exit status 1 if a bar is missed.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

from benchmarks import asking
from benchmarks.evidence import record, verdict
from netsim.common.arrays import Ints
from netsim.common.jit import load_kernels
from netsim.flows.contention import Traffic
from netsim.packetsim.running import advance
from netsim.packetsim.world import build, scene_of
from netsim.routing.dmodk import DModK
from netsim.topology.fattree import FatTree, fat_tree_of_radix
from netsim.topology.switches import Switch

COMMAND = "python -m benchmarks.contention.packet_speed"
BANDWIDTH = 12.5e9
MIB = 2.0**20
SCENES = {"128 nodes": (8, 4, 150), "1024 nodes": (16, 8, 10)}  # radix, jobs, iterations
BARS = (  # scene, quantity, least, most
    ("128 nodes", "M packet-hops a CPU second", 5.0, np.inf),
    ("1024 nodes", "M packet-hops a CPU second", 4.0, np.inf),
    ("1024 nodes", "CPU s", 0.0, 20.0),
    ("1024 nodes", "peak MB", 0.0, 400.0),
    ("compilation", "CPU s", 0.0, 15.0),
)


def _stencil(size: int) -> list[Ints]:
    """All neighbours on a ring of rows of 8, in one step."""
    ranks = np.arange(size)
    shifts = (1, -1, 8, -8, 64, -64)
    return [np.concatenate([(ranks + shift) % size for shift in shifts])]


def _shifts(size: int) -> list[Ints]:
    """All to all in groups of 8, one shift after the other."""
    ranks = np.arange(size)
    return [ranks // 8 * 8 + (ranks + shift) % 8 for shift in range(1, 8)]


def _doubling(size: int) -> list[Ints]:
    """Recursive doubling."""
    return [np.arange(size) ^ 2**power for power in range(int(np.log2(size)))]


def _pairs(size: int) -> list[Ints]:
    """Draw a permutation."""
    return [(np.random.default_rng(size).permutation(size) + 1) % size]


PATTERNS: tuple[Callable[[int], list[Ints]], ...] = (_stencil, _shifts, _doubling, _pairs)


def jobs_of(tree: FatTree, n_jobs: int) -> list[Traffic]:
    """Return jobs of all patterns on scattered nodes that fill the tree."""
    rng = np.random.default_rng(n_jobs)
    nodes = rng.permutation(tree.n_nodes).reshape(n_jobs, -1)
    parts = []
    for job, mine in enumerate(nodes):
        targets = PATTERNS[job % len(PATTERNS)](mine.size)
        step = np.repeat(np.arange(len(targets)), [target.size for target in targets])
        src = np.concatenate([np.resize(np.arange(mine.size), t.size) for t in targets])
        dst = np.concatenate(targets)
        kept = src != dst
        routes = DModK(tree).routes(mine[src[kept]], mine[dst[kept]])
        nbytes = np.full(routes.n_flows, (0.25, 0.5, 0.25, 1.0)[job % 4] * MIB)
        still = np.zeros(routes.n_flows)
        parts.append(Traffic(step[kept], mine[src[kept]], nbytes, routes, 0.0, still))
    return parts


def measure(name: str) -> dict[str, float]:
    """Run a scene, in this process."""
    radix, n_jobs, iterations = SCENES[name]
    tree = fat_tree_of_radix(radix, BANDWIDTH)
    load_kernels("netsim.packetsim.packet_kernels", "packet simulation", seconds=10)
    begin_s = time.process_time()
    parts = jobs_of(tree, n_jobs)
    links = np.concatenate([part.routes.links for part in parts])
    world = build(scene_of(parts, np.zeros_like(links)), tree.capacity, Switch(), 1, 2**16)
    world.jobs["need"][:-1], world.jobs["wake"][:-1] = iterations, 1.0
    built_s = time.process_time()
    world = advance(world)
    end_s = time.process_time()
    hops = float(world.clock["hops"][0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "M packet-hops": hops / 1e6,
        "CPU s": end_s - begin_s,
        "M packet-hops a CPU second": hops / 1e6 / (end_s - built_s),
        "peak MB": peak,
    }


def compile_kernels() -> dict[str, float]:
    """Load the kernels, in this process."""
    import numba  # noqa: F401, PLC0415 (its own import is not the compilation)

    begin_s = time.process_time()
    load_kernels("netsim.packetsim.packet_kernels", "packet simulation", seconds=10)
    return {"CPU s": time.process_time() - begin_s}


def tell(name: str) -> None:
    """Print what is measured, for the process that asked."""
    print(json.dumps(compile_kernels() if name == "compilation" else measure(name)))


def apart(name: str, cache: str | None = None) -> dict[str, float]:
    """Measure in a process of its own."""
    more = {} if cache is None else {"NUMBA_CACHE_DIR": cache}
    command = [
        sys.executable,
        "-c",
        f"from benchmarks.contention.packet_speed import tell; tell({name!r})",
    ]
    done = subprocess.run(  # noqa: S603 (ourselves)
        command, capture_output=True, text=True, check=True, env={**os.environ, **more}
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    """Print and record the table; return the exit status."""
    with tempfile.TemporaryDirectory() as cache:
        found = {"compilation": apart("compilation", cache)}
        found["compiled code from the cache"] = apart("compilation", cache)
    found |= {name: apart(name) for name in SCENES}
    lines = [
        "| what | M packet-hops | CPU s | M packet-hops a CPU second | peak MB |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, own in found.items():
        cells = [
            f"{own[key]:.1f}" if key in own else ""
            for key in ("M packet-hops", "CPU s", "M packet-hops a CPU second", "peak MB")
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines.append("")
    met = True
    for name, key, low, high in BARS:
        held = low <= found[name][key] <= high
        met = met and held
        wanted = f"at least {low:g}" if np.isinf(high) else f"at most {high:g}"
        lines.append(f"- {name}, {key}, {wanted}: {found[name][key]:.1f}, {verdict(held)}")
    print("\n".join(lines))
    record("Speed of the packet simulation", COMMAND, lines)
    return int(not met)


if __name__ == "__main__":
    asking.nothing(__doc__)
    sys.exit(main())
