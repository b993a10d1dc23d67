"""
Small scenes in packets and in `fluid`, one mechanism at a time.

Run: ``python -m benchmarks.contention.toys``; a minute of CPU time. Exit status 1 if a bar is
missed.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import asking
from benchmarks.evidence import record, verdict
from netsim.flows.contention import Traffic
from netsim.flows.partition import Partition
from netsim.packetsim.simulation import simulate_packets
from netsim.registries.contention_models import make_contention_model
from netsim.registries.routings import make_routing
from netsim.registries.topologies import make_topology
from netsim.topology.base import Topology
from scheduler.traffic import RankFlows, TrafficOf

COMMAND = "python -m benchmarks.contention.toys"
KIB, MIB = 1024.0, 1024.0**2
ITERATIONS = 100  # of the slowest job
SEEDS = 4  # samples of the starts
WITHIN = 0.05
Messages = Sequence[tuple[int, int, float]]  # source, destination, bytes

# Sixteen leaves of eight nodes and two up-links: messages of a leaf to even nodes share one of
# them, those to odd nodes the other.
_LEAF = 8
_TREE = {"kind": "fat-tree", "children": [_LEAF, 16], "parents": [1, 2], "parallel": [1, 1]}


@dataclass(frozen=True, slots=True)
class Toy:
    """A victim and a rival; `bar`: whether the model has to be within `WITHIN`."""

    title: str
    victim: Traffic
    rival: Traffic
    bar: bool = True


def machine() -> Topology:
    """Return the tree of the toys."""
    return make_topology({**_TREE, "bandwidth": "100 Gb/s", "latency": "codes"})


def job(fabric: Topology, messages: Messages, compute_s: float = 0.0) -> Traffic:
    """Return a job that sends messages at once."""
    src, dst, nbytes = (np.array(column) for column in zip(*messages, strict=True))
    flows = RankFlows(np.zeros(src.size, np.int64), src, dst, nbytes.astype(float))
    nodes = Partition(np.arange(fabric.n_nodes), None)
    placed = TrafficOf(fabric, make_routing("d-mod-k", fabric)).of_flows(
        flows, nodes, compute_s=compute_s
    )
    assert placed is not None
    return placed.traffic


def toys(fabric: Topology) -> Iterator[Toy]:
    """Yield the scenes."""
    rate = float(fabric.capacity[0])
    for parts in (1, 4, 16):
        small = 4.0 * MIB / parts
        rival = job(fabric, [(1, 10, small), (2, 9, 4 * MIB)], 4 * MIB / rate)
        yield Toy(
            f"A: 1 MiB beside a flow of 4 MiB / {parts} and one of 4 MiB elsewhere, both f = 0.5",
            job(fabric, [(0, 8, MIB)], MIB / rate),
            rival,
        )
    for leaf, links in ((2, "the link"), (1, "two links in a row")):  # of the rival's receiver
        for size in (64 * KIB, 256 * KIB):
            for ends in (1, 2, 4):  # of the rival's flows one crosses the victim's links
                burst = [(1, _LEAF * leaf + 2, size)]
                burst += [(1, 9 + 2 * k, size) for k in range(ends - 1)]
                yield Toy(
                    f"B: 1 KiB beside bursts of {size / KIB:.0f} KiB at 1/{ends} of {links}, "
                    "f = 0.5",
                    job(fabric, [(0, 8, KIB)]),
                    job(fabric, burst, ends * size / rate),
                    bar=leaf > 1,
                )
    for senders in (2, 4, 7):
        yield Toy(
            f"one flow beside {senders} senders into another node behind its up-link",
            job(fabric, [(0, 8, MIB)]),
            job(fabric, [(k + 1, 10, MIB) for k in range(senders)]),
            bar=False,
        )


def packets(toy: Toy, fabric: Topology) -> float:
    """Return the interference of the victim, a mean over samples of the starts."""
    jobs = {0: toy.victim, 1: toy.rival}
    total = 0.0
    for seed in range(SEEDS):
        rng = np.random.default_rng((11, seed))
        start_s = {number: float(rng.uniform(0.0, own.compute_s)) for number, own in jobs.items()}
        found = simulate_packets(jobs, fabric, start_s=start_s, slowest_does=ITERATIONS, seed=seed)
        total += found.jobs[0].interference
    return total / SEEDS


def fluid(toy: Toy, fabric: Topology) -> float:
    """Return what the model says."""
    model = make_contention_model("fluid", fabric)
    model.start(0, toy.victim)
    model.start(1, toy.rival)
    return model.solve()[0]


def main() -> int:
    """Print and record the table; return the exit status."""
    asking.nothing(__doc__)
    fabric = machine()
    lines = [
        (
            f"Interference of the victim. Packets: means over {SEEDS} samples of the starts, "
            f"{ITERATIONS} iterations of the slower job."
        ),
        "",
        "| scene | packets | fluid |",
        "| --- | ---: | ---: |",
    ]
    worst = 0.0
    for toy in toys(fabric):
        true, said = packets(toy, fabric), fluid(toy, fabric)
        worst = max(worst, abs(said - true)) if toy.bar else worst
        lines.append(f"| {toy.title} | {true:.3f} | {said:.3f} |")
    met = worst <= WITHIN
    lines += ["", f"- A and B within {WITHIN:g}: {worst:.3f}, {verdict(met)}"]
    print("\n".join(lines))
    record("Small scenes, one mechanism each", COMMAND, lines)
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
