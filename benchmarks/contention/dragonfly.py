"""
Why fluid models err on dragonflies: what other predictors make of the scenes of the matrix.

Run: ``python -m benchmarks.contention.dragonfly``; four minutes of CPU time. It looks at scenes
of even number only, so that those that are reported stay untouched.
"""

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from measured.matrix import MACHINES, Scene, scene, truth
from measured.packets import errors

from benchmarks import asking
from benchmarks.contention.matrix import DESIGN, predicted, read_kept
from benchmarks.evidence import record
from netsim.arrays import Floats
from netsim.contention.constants import ConstantsOf
from netsim.packetsim.simulation import PacketTimes, simulate_packets
from netsim.topology.dragonfly import Dragonfly
from netsim.topology.switches import Switch

COMMAND = "python -m benchmarks.contention.dragonfly"
ROUTINGS = MACHINES["dragonfly"][0]
WIDE = 16.0 * 2**20
CROWD, SATURATED = 16, 10  # scenes: with an all-to-one that never computes; with such a stencil
LINKS = ("of a node", "local", "local", "global")


def _again(one: Scene, switch: Switch) -> Floats:
    """Return what packets say with other starts and delays."""
    rng = np.random.default_rng((79, one.number))
    start_s = {job: float(rng.uniform(0.0, own.compute_s)) for job, own in one.traffic.items()}
    times = simulate_packets(
        one.traffic, one.topology, switch, start_s=start_s, slowest_does=12, seed=one.number + 1
    ).jobs
    return np.array([times[job].interference for job in one.traffic])


PREDICTORS: dict[str, Callable[[Scene], Floats | None]] = {
    "packets, other starts and delays": lambda one: _again(one, Switch()),
    "packets, buffers of 16 MiB": lambda one: (
        truth(one, replace(Switch(), buffer_bytes=WIDE)).interference
    ),
    "`flow-level` (no buffers)": lambda one: predicted("flow-level", one),
    "`accurate`, buffers not stated": lambda one: predicted("accurate", one, dry=True),
    "`accurate`": lambda one: predicted("accurate", one),
    "`phased`": lambda one: predicted("phased", one),
}


def judged() -> list[str]:
    """Return a row for each predictor."""
    kept = read_kept()
    lines = [
        "| predictor | " + " | ".join(ROUTINGS) + " |",
        "| --- |" + " --- |" * len(ROUTINGS),
    ]
    scenes = {way: [scene("dragonfly", way, number) for number in DESIGN] for way in ROUTINGS}
    for title, predictor in PREDICTORS.items():
        cells = []
        for found in scenes.values():
            said = [(one, values) for one in found if (values := predictor(one)) is not None]
            if not said:
                cells.append("-")
                continue
            true = np.concatenate([kept[one.digest].interference for one, _ in said])
            e = errors(true, np.concatenate([values for _, values in said]))
            cells.append(f"{e.mean:.1f} / {e.contended:.1f} / {e.bias:.2f}")
        lines.append(f"| {title} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def alone() -> list[str]:
    """Return by how much times alone are off, by the mean message of a job."""
    kept = read_kept()
    found: dict[bool, list[float]] = {False: [], True: []}
    for way in ROUTINGS[:2]:
        for number in DESIGN:
            one = scene("dragonfly", way, number)
            constants = ConstantsOf(one.topology)
            for own, true_s in zip(one.traffic.values(), kept[one.digest].alone_s, strict=True):
                short = bool(own.nbytes.mean() < Switch().packet_bytes)
                found[short].append(constants(own).iteration_s / true_s)
    lines = [
        "| messages | jobs | model / packets, mean | least | most |",
        "| --- |" + " ---: |" * 4,
    ]
    for short, title in ((True, "shorter than a packet"), (False, "longer")):
        off = np.array(found[short])
        lines.append(
            f"| {title} | {off.size} | {off.mean():.2f} | {off.min():.2f} | {off.max():.2f} |"
        )
    return lines


def _times(one: Scene, *jobs: int) -> PacketTimes:
    """Simulate some jobs of a scene."""
    rng = np.random.default_rng((77, one.number))
    start_s = {job: float(rng.uniform(0.0, own.compute_s)) for job, own in one.traffic.items()}
    return simulate_packets(
        {job: one.traffic[job] for job in jobs},
        one.topology,
        start_s={job: start_s[job] for job in jobs},
        slowest_does=12,
        seed=one.number,
    )


def bursts() -> list[str]:
    """Return iterations beside an all-to-one that never computes, in packets and `accurate`."""
    lines = [
        "| routing | all-to-one | job | alone | together | interference | `accurate` |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for way in ROUTINGS:
        one = scene("dragonfly", way, CROWD)
        names = [job.name for job in one.jobs]
        crowd = names.index("all-to-one")
        for name in ("ring", "matrix", "unstructured-mesh", "broadcast"):
            if name not in names:  # its messages are too short for the longer ways of Valiant
                continue
            job = names.index(name)
            found = _times(one, crowd, job).jobs
            both = replace(one, traffic={place: one.traffic[place] for place in (crowd, job)})
            said = predicted("accurate", both)
            assert said is not None
            lines.append(
                f"| {way} | {1e6 * found[crowd].alone_s:.0f} us | {name} | "
                f"{1e6 * found[job].alone_s:.0f} us | {1e6 * found[job].together_s:.0f} us | "
                f"{found[job].interference:.2f} | {said[1]:.2f} |"
            )
    return lines


def queues() -> list[str]:
    """Return how busy links are, and how long packets wait before them, for a job alone."""
    lines = [
        "| routing | links | busy, mean / most | wait, mean / most of a link |",
        "| --- | --- | ---: | ---: |",
    ]
    for way in ROUTINGS:
        one = scene("dragonfly", way, SATURATED)
        fabric = one.topology
        assert isinstance(fabric, Dragonfly)
        job = [own.name for own in one.jobs].index("stencil")
        used = _times(one, job).links
        rank = np.searchsorted(np.array(fabric.bases), used.links, side="right")
        for kind in dict.fromkeys(LINKS):
            mine = np.isin(rank, [place for place, name in enumerate(LINKS) if name == kind])
            mine &= used.utilization > 0.0
            busy, wait_us = used.utilization[mine], 1e6 * used.waited_s[mine]
            lines.append(
                f"| {way} | {kind} | {busy.mean():.2f} / {busy.max():.2f} | "
                f"{wait_us.mean():.2f} / {wait_us.max():.1f} us |"
            )
    return lines


def main() -> int:
    """Print and record the tables."""
    asking.nothing(__doc__)
    lines = [
        (
            "Scenes of even number of the matrix on dragonflies. Against packets with 64 KiB: mean "
            "error / that of jobs above 1.05, in per cent / bias; -: the model refuses the routing."
        ),
        "",
        *judged(),
        "",
        "An iteration alone, minimal and Valiant routing, by the mean message of a job.",
        "",
        *alone(),
        "",
        (
            f"An iteration in packets, alone and beside the all-to-one of scene {CROWD}, which "
            "never computes; nobody else runs."
        ),
        "",
        *bursts(),
        "",
        (
            f"The stencil of scene {SATURATED}, which never computes, alone: buffers hold 5.2 us "
            "of each virtual channel."
        ),
        "",
        *queues(),
    ]
    print("\n".join(lines))
    record("Why models err on dragonflies", COMMAND, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
