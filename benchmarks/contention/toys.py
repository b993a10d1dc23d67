"""
Where fluid models fail, one mechanism at a time: small scenes in packets and in the models.

Run: ``python -m benchmarks.contention.toys``; three minutes of CPU time.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from measured.matrix import scene, truth

from benchmarks import asking
from benchmarks.contention.matrix import predicted, read_kept
from benchmarks.evidence import record
from netsim.arrays import Ints
from netsim.contention.base import Traffic
from netsim.contention_models import make_contention_model
from netsim.packetsim.simulation import simulate_packets
from netsim.partition import Partition
from netsim.routings import make_routing
from netsim.topologies import make_topology
from netsim.topology.base import Topology
from netsim.topology.switches import Switch
from patterns.registry import make_pattern
from scheduler.traffic import RankFlows, TrafficOf, rank_flows

COMMAND = "python -m benchmarks.contention.toys"
KIB = 1024.0
BUFFER = 64 * KIB
ITERATIONS = 12
DRAWS = 2
MODELS = ("fast", "accurate", "flow-level")
Messages = Sequence[tuple[int, int, int]]  # step, source, destination
Jobs = Mapping[int, Traffic]

# Sixteen leaves of eight nodes and two up-links: messages to the even nodes of a leaf share the
# link of one spine down to it.
_LEAF = 8
_TREE = {"kind": "fat-tree", "children": [_LEAF, 16], "parents": [1, 2], "parallel": [1, 1]}


@lru_cache
def machine(buffer: float = BUFFER, kind: str = "tapered") -> Topology:
    """Return the tree of the toys, or the full tree of 128 nodes."""
    spec = _TREE if kind == "tapered" else {"kind": "fat-tree", "radix": 8}
    return make_topology({**spec, "bandwidth": "100 Gb/s", "latency": "codes", "buffer": buffer})


def job(fabric: Topology, messages: Messages, nbytes: float, compute_s: float = 0.0) -> Traffic:
    """Return a job that sends messages of one size between nodes of the machine."""
    step, src, dst = (np.array(column) for column in zip(*messages, strict=True))
    flows = RankFlows(step, src, dst, np.full(step.size, nbytes))
    nodes = Partition(np.arange(fabric.n_nodes), None)
    placed = TrafficOf(fabric, make_routing("d-mod-k", fabric)).of_flows(
        flows, nodes, compute_s=compute_s
    )
    assert placed is not None
    return placed.traffic


def pattern_job(
    fabric: Topology, name: str, nodes: Ints, fraction: float, nbytes: float
) -> Traffic:
    """Return a job of a pattern on given nodes."""
    flows = rank_flows(make_pattern({"name": name, "nbytes": nbytes}), len(nodes))
    placed = TrafficOf(fabric, make_routing("d-mod-k", fabric)).of_flows(
        flows, Partition(np.sort(nodes), None), fraction=fraction
    )
    assert placed is not None
    return placed.traffic


def packets(
    jobs: Jobs, fabric: Topology, buffer: float = BUFFER, stepping: str = "barrier"
) -> dict[int, float]:
    """Return the interference of each job, a mean over two draws of the starts."""
    switch, found = replace(Switch(), buffer_bytes=buffer), dict.fromkeys(jobs, 0.0)
    for seed in range(DRAWS):
        rng = np.random.default_rng((11, seed))
        start_s = {number: float(rng.uniform(0.0, own.compute_s)) for number, own in jobs.items()}
        times = simulate_packets(
            jobs,
            fabric,
            switch,
            start_s=start_s,
            slowest_does=ITERATIONS,
            seed=seed,
            stepping=stepping,
        ).jobs
        for number in found:
            found[number] += times[number].interference / DRAWS
    return found


def said(jobs: Jobs, fabric: Topology, names: Sequence[str] = MODELS) -> list[dict[int, float]]:
    """Return what models say."""
    found = []
    for name in names:
        model = make_contention_model(name, fabric)
        for number, own in jobs.items():
            model.start(number, own)
        found.append(dict(model.solve()))
    return found


def _cells(jobs: Jobs, fabric: Topology, numbers: Sequence[int]) -> str:
    """Write packets and models for some jobs of a scene."""
    answers = [packets(jobs, fabric, fabric.buffer_bytes), *said(jobs, fabric)]
    return " | ".join(" / ".join(f"{own[n]:.2f}" for n in numbers) for own in answers)


_HEADS = ("packets", *MODELS)


def _head(first: str) -> list[str]:
    """Return the head of a table with a column for packets and each model."""
    return [f"| {first} | {' | '.join(_HEADS)} |", "| --- |" + " ---: |" * len(_HEADS)]


SIX = ((1, 2), (1, 3), (3, 2), (2, 3), (6, 1))  # contested links, rivals on each


def six_flows(fabric: Topology, contested: int, rivals: int, nbytes: float) -> dict[int, Traffic]:
    """Return a sender of six flows, of which some meet flows of lone senders."""
    own = [(0, 0, _LEAF * (1 + k)) for k in range(6)]
    jobs = {0: job(fabric, own, nbytes)}
    for k in range(contested):
        for r in range(rivals):
            source, end = _LEAF * (7 + len(jobs)), _LEAF * (1 + k) + 2 * (r + 1)
            jobs[len(jobs)] = job(fabric, [(0, source, end)], 4096 * KIB)
    return jobs


def closed_windows() -> list[str]:
    """Return what becomes of a sender of six flows, by message and what is contested."""
    titles = " | ".join(f"{links} x {rivals}" for links, rivals in SIX)
    lines = [f"| message, who says | {titles} |", "| --- |" + " ---: |" * len(SIX)]
    rows = [(16 * KIB, BUFFER), (64 * KIB, BUFFER), (256 * KIB, BUFFER), (4096 * KIB, BUFFER)]
    for nbytes, buffer in (*rows, (4096 * KIB, 2.0**30)):
        fabric = machine(min(buffer, 1e9))
        scenes = [six_flows(fabric, *each, nbytes) for each in SIX]
        what = f"{nbytes / KIB:.0f} KiB" + ("" if buffer == BUFFER else ", buffers of 1 GiB")
        truth_of = [packets(jobs, fabric, buffer)[0] for jobs in scenes]
        lines.append(f"| {what}, packets | {' | '.join(f'{s:.3f}' for s in truth_of)} |")
        for name in ("flow-level", "accurate"):
            found = [said(jobs, fabric, (name,))[0][0] for jobs in scenes]
            lines.append(f"| {what}, `{name}` | {' | '.join(f'{s:.3f}' for s in found)} |")
    return lines


def hot_spot() -> list[str]:
    """Return what becomes of a flow that leaves its leaf with one that waits elsewhere."""
    fabric = machine()
    lines = _head("our flow, beside one of five to")
    for title, ends in (("five nodes", (64, 72, 80, 88, 96)), ("one node", (64,) * 5)):
        for nbytes in (64 * KIB, 600 * KIB):
            crowd = [(0, _LEAF * (1 + k), end) for k, end in enumerate(ends)]
            jobs = {
                0: job(fabric, [(0, _LEAF + 1, _LEAF * 15)], nbytes),
                1: job(fabric, crowd, 4 * nbytes),
            }
            lines.append(f"| {title}, {nbytes / KIB:.0f} KiB | {_cells(jobs, fabric, [0])} |")
    return lines


def all_to_alls() -> list[str]:
    """Return large all-to-alls beside jobs of few flows; nobody computes."""
    fabric = machine(kind="full")
    order = np.random.default_rng(5).permutation(fabric.n_nodes)
    lines = _head("all-to-all of n nodes / a permutation of 32 nodes beside it")
    for n in (16, 32, 64):
        few = 4 * KIB * n
        jobs = {
            0: pattern_job(fabric, "all-to-all", order[:n], 1.0, 16 * KIB),
            1: pattern_job(fabric, "permutation", order[64:96], 1.0, few),
        }
        lines.append(f"| {n} | {_cells(jobs, fabric, [0, 1])} |")
    return lines


def in_steps() -> list[str]:
    """Return exchanges of all with all, at once and in steps, beside pairs that compute as well."""
    fabric = machine(kind="full")
    order = np.random.default_rng(6).permutation(fabric.n_nodes)
    lines = [
        f"| 32 nodes beside pairs on 64 | packets | no barriers | {' | '.join(MODELS)} |",
        "| --- |" + " ---: |" * 5,
    ]
    for name in ("all-to-all", "pairwise", "recursive-doubling"):
        for nbytes in (8 * KIB, 64 * KIB):
            jobs = {
                0: pattern_job(fabric, name, order[:32], 0.5, nbytes),
                1: pattern_job(fabric, "pairs", order[32:96], 0.5, 8 * nbytes),
            }
            answers = [packets(jobs, fabric), packets(jobs, fabric, stepping="rank")]
            row = " | ".join(f"{own[0]:.2f}" for own in [*answers, *said(jobs, fabric)])
            lines.append(f"| {name}, {nbytes / KIB:.0f} KiB | {row} |")
    return lines


def waits() -> list[str]:
    """Return a flow beside another on a link, by the lengths of both and the buffer."""
    lines = _head("message of the job / of its rival, buffers")
    for mine, other in ((4, 4), (4, 64), (16, 64), (64, 16), (64, 256), (256, 256)):
        for buffer in (64, 1024):
            fabric = machine(buffer * KIB)
            rate = float(fabric.capacity[0])
            jobs = {
                0: job(fabric, [(0, 0, 8)], mine * KIB, mine * KIB / rate),
                1: job(fabric, [(0, 16, 10)], other * KIB, other * KIB / rate),
            }
            cells = _cells(jobs, fabric, [0])
            lines.append(f"| {mine} / {other} KiB, {buffer} KiB | {cells} |")
    return lines


WORST = (  # machine, routing, number of the scene, place of the job: worst of the kept truth
    ("tapered tree, 2 levels", "d-mod-k", 10, 0),
    ("tapered tree, 2 levels", "d-mod-k", 14, 0),
    ("tapered tree, 3 levels", "d-mod-k", 14, 4),
    ("rail tree", "d-mod-k", 12, 6),
    ("full tree, 2 levels", "d-mod-k", 0, 5),
    ("torus", "dimension-order", 18, 2),
    ("dragonfly", "minimal", 16, 0),
    ("dragonfly", "minimal", 27, 1),
    ("dragonfly", "valiant", 16, 2),
    ("dragonfly", "valiant", 37, 2),
)


def worst() -> list[str]:
    """Return the largest errors of the matrix, and what larger buffers make of their truth."""
    kept = read_kept()
    lines = [
        "| scene of the matrix | job | f | 16 KiB | 64 KiB | 16 MiB | `phased` |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for machine_name, routing, number, place in WORST:
        one = scene(machine_name, routing, number)
        own = one.jobs[place]
        small, large = (
            truth(one, replace(Switch(), buffer_bytes=size * KIB)).interference[place]
            for size in (16, 16384)
        )
        model = predicted("phased", one)
        assert model is not None
        lines.append(
            f"| {machine_name}, {routing}, {number} | {own.name}, {own.nodes.size} ranks | "
            f"{own.fraction:.2f} | {small:.2f} | {kept[one.digest].interference[place]:.2f} | "
            f"{large:.2f} | {model[place]:.2f} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def short_packets() -> list[str]:
    """Return two senders over one up-link, of which one sends a short last packet each time."""
    fabric, count = machine(), 256  # messages of a packet: 1 MiB
    lines = _head("messages of the second, first sends")
    for nbytes in (2048, 4200, 8300, 12388):
        for times in (1, 10):
            whole = [(0, 0, 8 + 2 * (i % 2)) for i in range(count * times)]
            other = [(0, 1, 12 + 2 * (i % 2)) for i in range(2**20 // nbytes)]
            jobs = {0: job(fabric, whole, 4 * KIB), 1: job(fabric, other, nbytes)}
            cells = _cells(jobs, fabric, [0, 1])
            lines.append(f"| {nbytes:,} B, {times} MiB | {cells} |")
    return lines


PARTS = {
    "Closed windows: slowdown of a sender of six flows, by contested links x rivals on each; a "
    "rival sends 4 MiB at a time. Nobody computes.": closed_windows,
    "Blocking by others' hot spots: another job has five senders on five leaves, our flow the "
    "up-link of one of them and no other link of theirs. Nobody computes.": hot_spot,
    "Large all-to-alls beside jobs of few flows, f = 1, messages of 16 KiB.": all_to_alls,
    "All-to-all in steps: the job in steps, f = 0.5.": in_steps,
    "The buffer's wait and short steps: a lone flow beside another on one link; both compute for "
    "as long as their message takes.": waits,
    "Short last packets: first and second of two senders that share a link and never compute, "
    "one in messages of 4 KiB, the other 1 MiB at a time in others.": short_packets,
    "The largest errors of the matrix, by the buffer of a port that packets have (the matrix: "
    "64 KiB).": worst,
}


def main() -> int:
    """Print and record the tables."""
    asking.nothing(__doc__)
    lines = [
        (
            "Packets: switch `codes`, means over two draws of the starts, 12 iterations of the "
            "slowest job; buffers of 64 KiB unless stated, known to the models too."
        )
    ]
    for title, part in PARTS.items():
        lines += ["", title, "", *part()]
        print("\n".join(lines[-40:]), flush=True)
    record("Where fluid models fail", COMMAND, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
